//! The link over loopback, with an echo server behind it. Nothing here waits for time to pass: each
//! step waits for its own sign, with a generous limit that turns a hang into a failure.

use super::*;
use std::sync::atomic::AtomicUsize;
use stores::Login;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const LIMIT: Duration = Duration::from_secs(20);

/// A link under test, with its server's view: "open", "close" and the text in between.
struct Rig {
    link: Arc<LinkProxy>,
    seen: UnboundedReceiver<String>,
    passed: Arc<AtomicUsize>,
}

async fn rig(delay: Delay) -> Rig {
    let (tell, seen) = unbounded_channel();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let server = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo(stream, tell.clone()));
        }
    });
    let passed = Arc::new(AtomicUsize::new(0));
    let counter = passed.clone();
    let events = Box::new(Counter(counter));
    let link = LinkProxy::open(delay, Rng::new(1), |bytes| bytes != b"ping", events).unwrap();
    link.set_target(Some(Endpoint::without_login(server))).unwrap();
    link.serve(7);
    Rig { link: Arc::new(link), seen, passed }
}

/// Counts what passes for process 7.
struct Counter(Arc<AtomicUsize>);

impl LinkEvents for Counter {
    fn connected(&self, process: u32, port: u16) {
        assert_eq!(process, 7);
        assert_ne!(port, 0);
    }

    fn passed(&self, process: u32) {
        assert_eq!(process, 7);
        self.0.fetch_add(1, Relaxed);
    }
}

async fn echo(mut stream: TcpStream, tell: UnboundedSender<String>) {
    let mut buffer = [0; 64 << 10];
    let _ = tell.send("open".into());
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) => break,
            Err(_) => return drop(tell.send("reset".into())),
            Ok(n) => {
                let _ = tell.send(String::from_utf8_lossy(&buffer[..n]).into_owned());
                if stream.write_all(&buffer[..n]).await.is_err() {
                    break;
                }
            }
        }
    }
    let _ = tell.send("close".into());
}

impl Rig {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.link.address()).await.unwrap()
    }

    async fn sees(&mut self, what: &str) {
        let seen = within(self.seen.recv()).await.unwrap();
        assert_eq!(seen, what);
    }

    fn has_seen_nothing(&mut self) {
        assert!(self.seen.try_recv().is_err());
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.expect("it took too long")
}

async fn say(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
}

async fn hears(stream: &mut TcpStream, text: &str) {
    let mut buffer = vec![0; text.len()];
    within(stream.read_exact(&mut buffer)).await.unwrap();
    assert_eq!(String::from_utf8(buffer).unwrap(), text);
}

/// Waits until the hold has held this.
async fn until_held(hold: &HeldDirection, bytes: u64, connections: u64) {
    within(async {
        while hold.held() != (HeldBack { bytes, connections }) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_open_link_carries_both_ways_and_passes_the_close_on() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    say(&mut client, "hello").await;
    hears(&mut client, "hello").await;
    rig.sees("open").await;
    rig.sees("hello").await;
    assert_eq!((rig.passed.load(Relaxed), rig.link.passed()), (1, 1));
    drop(client);
    rig.sees("close").await;
}

#[tokio::test]
async fn held_requests_arrive_late_and_in_order_with_the_close_behind_them() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    say(&mut client, "a").await;
    hears(&mut client, "a").await;
    let hold = rig.link.hold(Direction::Forward);
    say(&mut client, "bc").await;
    until_held(&hold, 2, 0).await;
    say(&mut client, "def").await;
    until_held(&hold, 5, 0).await;
    drop(client);
    until_held(&hold, 5, 1).await;
    rig.sees("open").await;
    rig.sees("a").await;
    rig.has_seen_nothing();
    assert_eq!(hold.release(), HeldBack { bytes: 5, connections: 1 });
    let mut late = String::new();
    while !late.ends_with("close") {
        late += &within(rig.seen.recv()).await.unwrap();
    }
    assert_eq!(late, "bcdefclose");
}

#[tokio::test]
async fn held_replies_were_applied_and_come_after_the_release() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    say(&mut client, "a").await;
    hears(&mut client, "a").await;
    let hold = rig.link.hold(Direction::Backward);
    say(&mut client, "bc").await;
    until_held(&hold, 2, 0).await;
    rig.sees("open").await;
    rig.sees("a").await;
    rig.sees("bc").await;
    assert_eq!(rig.passed.load(Relaxed), 1, "a held reply has not passed");
    drop(hold);
    hears(&mut client, "bc").await;
    assert_eq!(rig.passed.load(Relaxed), 2);
}

#[tokio::test]
async fn a_connection_begun_under_a_hold_is_made_after_it() {
    let mut rig = rig(Delay::default()).await;
    let hold = rig.link.hold(Direction::Both);
    let mut client = rig.connect().await;
    say(&mut client, "late").await;
    until_held(&hold, 0, 1).await;
    rig.has_seen_nothing();
    drop(hold);
    hears(&mut client, "late").await;
}

#[tokio::test]
async fn a_connection_given_up_under_a_hold_never_reaches_the_server() {
    for direction in [Direction::Both, Direction::Forward, Direction::Backward] {
        given_up_under(direction).await;
    }
}

async fn given_up_under(direction: Direction) {
    let mut rig = rig(Delay::default()).await;
    let hold = rig.link.hold(direction);
    let mut ghost = rig.connect().await;
    say(&mut ghost, "ghost").await;
    until_held(&hold, 0, 1).await;
    drop(ghost);
    let mut client = rig.connect().await;
    until_held(&hold, 0, 2).await;
    drop(hold);
    say(&mut client, "alive").await;
    hears(&mut client, "alive").await;
    rig.sees("open").await;
    rig.sees("alive").await;
    rig.has_seen_nothing();
}

#[tokio::test]
async fn two_holds_open_with_the_second_release() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    say(&mut client, "a").await;
    hears(&mut client, "a").await;
    let (first, second) = (rig.link.hold(Direction::Both), rig.link.hold(Direction::Forward));
    drop(first);
    say(&mut client, "b").await;
    until_held(&second, 1, 0).await;
    rig.sees("open").await;
    rig.sees("a").await;
    rig.has_seen_nothing();
    drop(second);
    hears(&mut client, "b").await;
}

#[tokio::test]
async fn a_hold_bounds_what_it_queues() {
    let rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    say(&mut client, "a").await;
    hears(&mut client, "a").await;
    let hold = rig.link.hold(Direction::Forward);
    let flood = vec![b'x'; 64 << 20];
    let (_, mut write) = client.split();
    let written = tokio::select! {
        _ = write.write_all(&flood) => flood.len() as u64,
        () = async {
            while hold.held().bytes < pump::BUDGET as u64 {
                tokio::task::yield_now().await;
            }
        } => hold.held().bytes,
    };
    assert!(written <= (pump::BUDGET + (64 << 10)) as u64, "{written} bytes were taken in");
}

#[tokio::test]
async fn jitter_keeps_the_order_and_the_delay_is_waited_out() {
    let base = Duration::from_millis(30);
    let rig = rig(Delay { base, jitter: base }).await;
    let mut client = rig.connect().await;
    client.set_nodelay(true).unwrap();
    let begin = tokio::time::Instant::now();
    let text: String = ('a'..='z').collect();
    for letter in text.split_inclusive(|_| true) {
        say(&mut client, letter).await;
        tokio::task::yield_now().await;
    }
    hears(&mut client, &text).await;
    assert!(begin.elapsed() >= 2 * base, "{:?} there and back", begin.elapsed());
}

#[tokio::test]
async fn a_reset_aborts_both_sides_and_throws_away_what_is_held() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    say(&mut client, "a").await;
    hears(&mut client, "a").await;
    let hold = rig.link.hold(Direction::Forward);
    say(&mut client, "b").await;
    until_held(&hold, 1, 0).await;
    assert_eq!(rig.link.reset(), 1);
    let error = within(client.read_u8()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    rig.sees("open").await;
    rig.sees("a").await;
    rig.sees("reset").await;
}

#[tokio::test]
async fn a_machine_that_was_gone_knows_no_connection_and_says_so_to_who_sends_something() {
    let rig = rig(Delay::default()).await;
    let (mut sends, mut has_sent) = (rig.connect().await, rig.connect().await);
    for client in [&mut sends, &mut has_sent] {
        say(client, "a").await;
        hears(client, "a").await;
    }
    let hold = rig.link.hold(Direction::Both);
    say(&mut has_sent, "b").await;
    until_held(&hold, 1, 0).await;
    rig.link.forget();
    drop(hold);
    let error = within(has_sent.read_u8()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    // The other one, which only listens, would have heard of it by now.
    let mut fresh = rig.connect().await;
    say(&mut fresh, "c").await;
    hears(&mut fresh, "c").await;
    assert!(sends.try_read(&mut [0]).is_err_and(|why| why.kind() == io::ErrorKind::WouldBlock));
    say(&mut sends, "d").await;
    let error = within(sends.read_u8()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

/// Waits until nobody listens any more: whoever had connected by then is aborted.
async fn until_refused(rig: &Rig) {
    within(async {
        let refused = loop {
            match TcpStream::connect(rig.link.address()).await {
                Ok(mut early) => drop(early.read_u8().await.unwrap_err()),
                // It was about to be accepted when the port was closed.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Err(error) => break error,
            }
        };
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_down_refuses_and_behind_a_hold_not_even_that_is_heard() {
    let mut rig = rig(Delay::default()).await;
    let server = rig.link.shared.target();
    rig.link.set_target(None).unwrap();
    until_refused(&rig).await;
    let hold = rig.link.hold(Direction::Backward);
    let mut client = rig.connect().await;
    say(&mut client, "late").await;
    until_held(&hold, 0, 1).await;
    rig.link.set_target(server).unwrap();
    rig.has_seen_nothing();
    drop(hold);
    hears(&mut client, "late").await;
    rig.link.set_target(None).unwrap();
    until_refused(&rig).await;
    say(&mut client, "open").await;
    hears(&mut client, "open").await;
}

#[tokio::test]
async fn connections_are_aborted_while_refused() {
    let rig = rig(Delay::default()).await;
    let refusing = rig.link.refuse();
    let error = within(rig.connect().await.read_u8()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(refusing.end(), 1);
    let mut client = rig.connect().await;
    say(&mut client, "a").await;
    hears(&mut client, "a").await;
}

/// Waits until so many bytes have met the limit.
async fn until_carried(throttling: &Throttling, bytes: u64) {
    within(async {
        while throttling.carried() < bytes {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_throttled_link_carries_so_many_bytes_a_second() {
    let rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    let throttling = rig.link.throttle(1_000);
    let begin = tokio::time::Instant::now();
    say(&mut client, &"a".repeat(40)).await;
    hears(&mut client, &"a".repeat(40)).await;
    assert!(begin.elapsed() >= Duration::from_millis(80), "{:?}", begin.elapsed());
    assert_eq!(throttling.end(), 80, "there and back");
}

#[tokio::test]
async fn what_waits_for_a_throttled_link_goes_on_when_that_ends() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    // A byte takes a minute.
    let throttling = rig.link.throttle(1);
    let text = "b".repeat(60);
    say(&mut client, &text).await;
    until_carried(&throttling, 60).await;
    rig.sees("open").await;
    rig.has_seen_nothing();
    assert_eq!(throttling.end(), 60);
    hears(&mut client, &text).await;
}

/// Waits until the connection is aborted.
async fn is_aborted(stream: &mut TcpStream) {
    let error = within(stream.read(&mut [0])).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_lost_request_never_arrives_and_breaks_its_connection() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    let loss = Arc::<CallLoss>::default();
    let _losing = rig.link.lose(Half::Request, &loss);
    say(&mut client, "ping").await;
    hears(&mut client, "ping").await;
    assert_eq!(loss.lost(), 0, "housekeeping");
    say(&mut client, "call").await;
    is_aborted(&mut client).await;
    for seen in ["open", "ping", "reset"] {
        rig.sees(seen).await;
    }
    assert_eq!(loss.lost(), 1);
    let mut again = rig.connect().await;
    say(&mut again, "call").await;
    hears(&mut again, "call").await;
}

#[tokio::test]
async fn a_lost_reply_has_been_carried_out() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    let loss = Arc::<CallLoss>::default();
    let losing = rig.link.lose(Half::Reply, &loss);
    say(&mut client, "call").await;
    is_aborted(&mut client).await;
    for seen in ["open", "call", "reset"] {
        rig.sees(seen).await;
    }
    assert_eq!((loss.lost(), rig.passed.load(Relaxed)), (1, 0), "nobody heard of it");
    drop(losing);
}

#[tokio::test]
async fn a_loss_that_has_ended_or_struck_elsewhere_loses_nothing() {
    let (here, there) = (rig(Delay::default()).await, rig(Delay::default()).await);
    let loss = Arc::<CallLoss>::default();
    let _losing = [&here, &there].map(|rig| rig.link.lose(Half::Request, &loss));
    let mut client = here.connect().await;
    say(&mut client, "call").await;
    is_aborted(&mut client).await;
    drop(there.link.lose(Half::Request, &Arc::default()));
    let mut client = there.connect().await;
    say(&mut client, "call").await;
    hears(&mut client, "call").await;
}

#[tokio::test]
async fn a_slow_link_takes_many_times_as_long() {
    let rig = rig(Delay { base: Duration::from_millis(5), jitter: Duration::ZERO }).await;
    let mut client = rig.connect().await;
    let slowing = rig.link.slow(4);
    let begin = tokio::time::Instant::now();
    say(&mut client, "a").await;
    hears(&mut client, "a").await;
    assert!(begin.elapsed() >= Duration::from_millis(40), "{:?}", begin.elapsed());
    assert_eq!(slowing.end(), 2, "there and back");
}

#[tokio::test]
async fn a_jitter_delays_what_is_sent_and_keeps_its_order() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    rig.sees("open").await;
    let jittering = rig.link.jitter(Duration::from_millis(20));
    let mut seen = String::new();
    for letter in 'a'..='h' {
        say(&mut client, &letter.to_string()).await;
    }
    while seen.len() < 8 {
        seen += &tokio::time::timeout(LIMIT, rig.seen.recv()).await.unwrap().unwrap();
    }
    assert_eq!(seen, "abcdefgh");
    hears(&mut client, "abcdefgh").await;
    assert!(jittering.end() >= 2, "there and back");
}

#[tokio::test]
async fn an_aborting_client_is_passed_on_as_an_abort() {
    let mut rig = rig(Delay::default()).await;
    let mut client = rig.connect().await;
    say(&mut client, "a").await;
    hears(&mut client, "a").await;
    client.set_zero_linger().unwrap();
    drop(client);
    rig.sees("open").await;
    rig.sees("a").await;
    rig.sees("reset").await;
}

/// A server that answers what it is asked with these bytes, and then repeats what it hears.
async fn answering(answer: &'static [u8], asked: usize) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut vec![0; asked]).await.unwrap();
        stream.write_all(answer).await.unwrap();
        let (mut read, mut write) = stream.split();
        tokio::io::copy(&mut read, &mut write).await
    });
    address
}

#[tokio::test]
async fn a_login_opens_each_connection_and_the_client_hears_of_it_only_if_it_is_refused() {
    for (answer, heard) in [(&b"+OK\r\n"[..], "hello"), (b"-ERR too many\r\n", "-ERR too many\r\n")]
    {
        let rig = rig(Delay::default()).await;
        let request = b"AUTH word\r\n".to_vec();
        let address = answering(answer, request.len()).await;
        let login = Login::Ahead { request, accepted: b"+OK\r\n" };
        rig.link.set_target(Some(Endpoint { address, login: Some(login) })).unwrap();
        let mut client = rig.connect().await;
        say(&mut client, "hello").await;
        hears(&mut client, heard).await;
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as i32).to_be_bytes(), body].concat()
}

/// The body of an answer to a request for a session: a version and a time-out.
fn session(time_out: i32) -> Vec<u8> {
    [0, time_out].map(i32::to_be_bytes).concat()
}

/// The body of an answer to a step of a login: an error, and a token.
fn step(error: i32, token: &str) -> Vec<u8> {
    let head = [-102, 0, 0, error, token.len() as i32].map(i32::to_be_bytes).concat();
    [&head[..], token.as_bytes()].concat()
}

/// A server that hears a frame for each of these answers before it gives it, then hears what there
/// is until the end. Tells all that it hears.
async fn answers(answers: Vec<Vec<u8>>) -> (SocketAddr, UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, heard) = unbounded_channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for answer in answers {
            let mut body = vec![0; stream.read_i32().await.unwrap() as usize];
            stream.read_exact(&mut body).await.unwrap();
            tell.send(body).unwrap();
            stream.write_all(&framed(&answer)).await.unwrap();
        }
        stream.shutdown().await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        tell.send(rest).unwrap();
    });
    (address, heard)
}

/// A link to a server that asks for a password within a session, and a client that has sent
/// something over it and is done.
async fn sent_in_session(server: SocketAddr, sent: &[&[u8]]) -> (Rig, std::io::Result<Vec<u8>>) {
    let rig = rig(Delay::default()).await;
    let login = Some(Login::InSession("word".into()));
    rig.link.set_target(Some(Endpoint { address: server, login })).unwrap();
    let mut client = rig.connect().await;
    for part in sent {
        client.write_all(part).await.unwrap();
        tokio::task::yield_now().await;
    }
    client.shutdown().await.unwrap();
    let mut heard = Vec::new();
    let ended = within(client.read_to_end(&mut heard)).await;
    (rig, ended.map(|_| heard))
}

const CHALLENGE: &str = "realm=\"here\",nonce=\"0\"";

#[tokio::test]
async fn a_login_within_a_session_comes_before_all_else_of_its_client() {
    let (opening, request) = (framed(b"a session"), framed(b"a request"));
    let (first, rest) = opening.split_at(6);
    let sent = [first, &[rest, &request].concat()];
    let answered = vec![session(2000), step(0, CHALLENGE), step(0, "rspauth"), b"done".to_vec()];
    let (server, mut heard) = answers(answered).await;
    let (_rig, client) = sent_in_session(server, &sent).await;
    assert_eq!(client.unwrap(), [framed(&session(2000)), framed(b"done")].concat());
    assert_eq!(heard.recv().await.unwrap(), b"a session");
    let steps = [heard.recv().await.unwrap(), heard.recv().await.unwrap()];
    for step in &steps {
        assert_eq!(step[..8], [-102, 102].map(i32::to_be_bytes).concat());
    }
    assert_eq!(steps[0].len(), 12);
    assert!(String::from_utf8_lossy(&steps[1]).contains("username=\"picklock\",realm=\"here\""));
    assert_eq!(heard.recv().await.unwrap(), b"a request");
    assert_eq!(heard.recv().await.unwrap(), b"");
}

#[tokio::test]
async fn a_session_that_is_refused_needs_no_login() {
    let (server, mut heard) = answers(vec![session(0)]).await;
    let (_rig, client) = sent_in_session(server, &[&framed(b"a session")]).await;
    assert_eq!(client.unwrap(), framed(&session(0)));
    assert_eq!(heard.recv().await.unwrap(), b"a session");
    assert_eq!(heard.recv().await.unwrap(), b"");
}

#[tokio::test]
async fn a_login_within_a_session_that_fails_breaks_the_connection() {
    let (server, _heard) = answers(vec![session(2000), step(-124, "")]).await;
    let (_rig, client) = sent_in_session(server, &[&framed(b"a session")]).await;
    assert_eq!(client.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_server_that_closes_in_the_middle_of_a_login_has_closed_for_the_client() {
    let (server, _heard) = answers(vec![session(2000), step(0, CHALLENGE)]).await;
    let (_rig, client) = sent_in_session(server, &[&framed(b"a session")]).await;
    assert_eq!(client.unwrap(), framed(&session(2000)));
}

#[tokio::test]
async fn who_says_four_letters_or_nothing_is_not_logged_in() {
    for sent in [&b"srvr"[..], b""] {
        let (server, mut heard) = answers(Vec::new()).await;
        let (_rig, client) = sent_in_session(server, &[sent]).await;
        assert_eq!(client.unwrap(), b"");
        assert_eq!(heard.recv().await.unwrap(), sent);
    }
}
