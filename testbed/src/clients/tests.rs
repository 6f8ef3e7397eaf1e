//! Clients that are shell scripts, and what becomes of them.

use super::*;
use crate::clock::RunClock;
use crate::notices::{NoticeReceiver, notices};
use base::{Command as Op, Message};
use expect_test::expect;
use nix::sys::signal::Signal;
use std::collections::VecDeque;
use std::time::Duration;
use stores::real::monotonic_nanos;

/// Answers each request with `ok`.
const OBLIGING: &str = r#"while read line; do
    id=${line#*\"id\":}
    echo "{\"id\":${id%%,*},\"type\":\"ok\"}"
done"#;

struct Rig {
    client: Arc<RunningClient>,
    clock: RunClock,
    inbox: NoticeReceiver,
    /// Messages that have come and were not looked at yet.
    pending: VecDeque<Message>,
}

fn rig(script: &str) -> Rig {
    let clock = RunClock::start();
    let (outbox, inbox) = notices(clock);
    let command = ProgramCommand::new("/bin/sh", vec!["-c".into(), script.into()]);
    let client = RunningClient::start(&command, 3, None, Arc::new(outbox)).unwrap();
    Rig { client, clock, inbox, pending: VecDeque::new() }
}

impl Rig {
    fn asks(&self, id: u64) {
        self.client.send(ClientRequest { id, worker: 0, command: Op::Touch { hold: 0 } });
    }

    /// The next message. Waits for many seconds before it gives up.
    async fn next(&mut self) -> Message {
        if self.pending.is_empty() {
            let mut messages = Vec::new();
            self.inbox.take(Duration::from_secs(20), &mut messages).await.unwrap();
            self.pending.extend(messages);
        }
        self.pending.pop_front().expect("it took too long")
    }

    async fn answers(&mut self, id: u64) {
        let response = Response { id: Some(id), worker: 0, reply: ClientReply::ok() };
        assert_eq!(self.next().await.notice, Notice::Client { process: 3, response });
    }

    /// The reason that is given for the client's death.
    async fn death(&mut self) -> String {
        match self.next().await.notice {
            Notice::Died { process: 3, error } => error,
            other => panic!("{other:?}"),
        }
    }

    async fn is_silent(&mut self) -> bool {
        let mut messages = Vec::new();
        self.inbox.take(Duration::from_millis(50), &mut messages).await.unwrap();
        messages.is_empty() && self.pending.is_empty()
    }
}

#[tokio::test]
async fn a_paused_client_answers_when_it_goes_on() {
    let mut rig = rig(OBLIGING);
    rig.asks(1);
    rig.answers(1).await;
    assert!(rig.client.pause().await);
    rig.asks(2);
    assert!(rig.is_silent().await);
    assert!(rig.client.resume());
    rig.answers(2).await;
    assert!(!rig.client.resume(), "it was not stopped any more");
}

#[tokio::test]
async fn a_killed_client_is_gone_and_no_news() {
    let mut rig = rig(OBLIGING);
    rig.asks(1);
    rig.answers(1).await;
    assert!(rig.client.pause().await);
    assert!(rig.client.kill().await, "a stopped one dies, too");
    assert!(rig.is_silent().await);
    assert!(!rig.client.pause().await);
}

#[tokio::test]
async fn a_client_that_ends_by_itself_has_died_after_its_last_line() {
    let mut rig = rig(r#"echo '{"id":7,"type":"ok"}'; exit 3"#);
    rig.answers(7).await;
    expect!["it ended by itself (exit status: 3)"].assert_eq(&rig.death().await);
    assert!(!rig.client.kill().await, "it was not this that killed it");
}

#[tokio::test]
async fn a_client_that_is_given_up_ends_and_is_no_news() {
    let mut rig = rig(OBLIGING);
    rig.asks(1);
    rig.answers(1).await;
    rig.client.end();
    rig.client.process.gone().await;
    assert!(rig.is_silent().await);
}

#[tokio::test]
async fn what_others_do_to_a_client_is_seen_however_short_it_is() {
    let mut rig = rig(OBLIGING);
    rig.asks(1);
    rig.answers(1).await;
    assert_eq!(rig.client.interference(), None);
    let group = rig.client.process.group();
    group.stop().await.unwrap();
    assert_eq!(rig.client.interference().as_deref(), Some("process 3 was stopped"));
    group.signal(Signal::SIGCONT).unwrap();
    let seen = rig.client.interference();
    assert_eq!(seen.as_deref(), Some("process 3 was stopped and continued"));
    // The harness's own faults are not reported.
    assert!(rig.client.pause().await);
    assert_eq!(rig.client.interference(), None);
    assert!(rig.client.resume());
    assert_eq!(rig.client.interference(), None);
    assert!(rig.client.pause().await);
    group.signal(Signal::SIGCONT).unwrap();
    let seen = rig.client.interference();
    assert_eq!(seen.as_deref(), Some("process 3 was continued while a fault paused it"));
}

#[tokio::test]
async fn a_client_asked_to_exit_is_no_news_when_it_does() {
    let mut rig = rig("read line; exit 0");
    rig.client.send(ClientRequest { id: 1, worker: 0, command: Op::Exit });
    rig.client.process.gone().await;
    assert!(rig.is_silent().await);
}

#[tokio::test]
async fn a_line_that_means_nothing_ends_the_client() {
    let mut rig = rig("echo hello; exec sleep 1000");
    expect!["it wrote a line to stdout that is no response (expected value at line 1 column 1): `hello` (whatever else it says belongs on stderr)"].assert_eq(&rig.death().await);
}

#[tokio::test]
async fn a_client_that_cannot_do_what_it_is_asked_for_ends_and_says_why() {
    let mut deaths = String::new();
    for answer in [
        r#""fail","code":"unsupported","error":"no readers""#,
        r#""fail","code":"connection""#,
        r#""info","code":"busy""#,
        r#""ok","code":"busy""#,
        r#""fail","code":"no-such-code""#,
    ] {
        let mut rig = rig(&format!("echo '{{\"id\":1,\"type\":{answer}}}'; exec sleep 1000"));
        deaths += &format!("{answer}: {}\n", rig.death().await);
    }
    expect![[r#"
        "fail","code":"unsupported","error":"no readers": it cannot do what it was asked for, as it says: no readers
        "fail","code":"connection": it said `fail` with the code `connection` (a connection broke before the answer), which is `info`
        "info","code":"busy": it said `info` with the code `busy` (somebody else has the lock), which is `fail`
        "ok","code":"busy": it said `ok` with the code `busy` (somebody else has the lock)
        "fail","code":"no-such-code": it wrote a line to stdout that is no response (unknown variant `no-such-code`, expected one of `busy`, `timeout`, `not-held`, `unsupported`, `connection`, `server` at line 1 column 44): `{"id":1,"type":"fail","code":"no-such-code"}` (whatever else it says belongs on stderr)
    "#]].assert_eq(&deaths);
}

#[tokio::test]
async fn a_grant_runs_out_when_its_client_says() {
    let answer = r#""valid_ns":2000000000"#;
    let mut rig = rig(&format!("echo '{{\"id\":1,\"type\":\"ok\",{answer}}}'; exec sleep 1000"));
    let message = rig.next().await;
    let Notice::Client { response, .. } = message.notice else { panic!("an answer") };
    let facts = response.reply.outcome().and_then(|it| it.facts).expect("facts");
    let expires_ns = facts.expires_ns.expect("it says when");
    let left = Duration::from_nanos(expires_ns - message.at.nanos());
    assert!((1_900..=2_000).contains(&left.as_millis()), "{left:?}");
}

#[tokio::test]
async fn a_lost_is_as_old_as_the_client_says_within_reason() {
    let (past, future) = (0, u64::MAX);
    let now = monotonic_nanos();
    let lost = |at| format!(r#"echo '{{"type":"lost","key":"k","at_ns":{at},"error":"e"}}'"#);
    let script = format!(
        "read line; echo '{{\"id\":1,\"type\":\"ok\"}}'
        {}; read line; {}; read line; {}; exec sleep 1000",
        lost(past),
        lost(now),
        lost(future)
    );
    let mut rig = rig(&script);
    rig.asks(1);
    let (answered, clamped) = (rig.next().await.at, rig.next().await.at);
    assert_eq!(answered, clamped, "not before what it said before");
    rig.asks(2);
    assert_eq!(rig.next().await.at, answered, "the rig is younger than the reading");
    rig.asks(3);
    assert!(rig.next().await.at <= rig.clock.now(), "not after its receipt");
}
