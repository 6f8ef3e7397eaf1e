//! Clients that are shell scripts, and what becomes of them.

use super::*;
use crate::docker::clock::{Clock, monotonic_nanos};
use crate::docker::news::{Inbox, news};
use base::{Command as Op, Message};
use std::time::Duration;

/// Answers each request with `ok`.
const OBLIGING: &str = r#"while read line; do
    id=${line#*\"id\":}
    echo "{\"id\":${id%%,*},\"type\":\"ok\"}"
done"#;

struct Rig {
    client: Arc<Client>,
    clock: Clock,
    inbox: Inbox,
}

fn rig(script: &str) -> Rig {
    let clock = Clock::start();
    let (outbox, inbox) = news(clock);
    let command =
        ClientCommand { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] };
    let client = Client::start(&command, 3, None, Arc::new(outbox)).unwrap();
    Rig { client, clock, inbox }
}

impl Rig {
    fn asks(&self, id: u64) {
        self.client.send(Request { id, command: Op::Touch { key: "k".into() } });
    }

    /// What happens next. Many seconds pass before it is given up.
    fn next(&self) -> Message {
        let mut messages = Vec::new();
        self.inbox.take(Duration::from_secs(20), &mut messages).unwrap();
        assert_eq!(messages.len(), 1, "{messages:?}");
        messages.remove(0)
    }

    fn answers(&self, id: u64) {
        let response = Response { id: Some(id), reply: Reply::Ok { token: None } };
        assert_eq!(self.next().notice, Notice::Client { process: 3, response });
    }

    fn is_silent(&self) -> bool {
        let mut messages = Vec::new();
        self.inbox.take(Duration::from_millis(50), &mut messages).unwrap();
        messages.is_empty()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_client_answers_when_it_goes_on() {
    let rig = rig(OBLIGING);
    rig.asks(1);
    rig.answers(1);
    assert!(rig.client.pause().await);
    rig.asks(2);
    assert!(rig.is_silent());
    assert!(rig.client.resume());
    rig.answers(2);
    assert!(!rig.client.resume(), "it was not stopped any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_client_is_gone_and_no_news() {
    let rig = rig(OBLIGING);
    rig.asks(1);
    rig.answers(1);
    assert!(rig.client.pause().await);
    assert!(rig.client.kill().await, "a stopped one dies, too");
    assert!(rig.is_silent());
    assert!(!rig.client.pause().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_ends_by_itself_has_died_after_what_it_said() {
    let rig = rig(r#"echo '{"id":7,"type":"ok"}'; exit 3"#);
    let mut messages = vec![rig.next()];
    messages.push(rig.next());
    let died = &messages[1].notice;
    assert!(matches!(&messages[0].notice, Notice::Client { process: 3, .. }));
    assert!(
        matches!(died, Notice::Died { process: 3, error } if error.contains("exit status: 3")),
        "{died:?}"
    );
    assert!(!rig.client.kill().await, "it was not this that killed it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_told_to_exit_is_no_news_when_it_does() {
    let rig = rig("read line; exit 0");
    rig.client.send(Request { id: 1, command: Op::Exit });
    let mut ended = rig.client.ended.subscribe();
    ended.wait_for(Option::is_some).await.unwrap();
    assert!(rig.is_silent());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_means_nothing_ends_the_client() {
    let rig = rig("echo hello; exec sleep 1000");
    let died = rig.next().notice;
    assert!(matches!(&died, Notice::Died { error, .. } if error.contains("hello")), "{died:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_is_as_old_as_the_client_says_within_reason() {
    let (past, future) = (0, u64::MAX);
    let now = monotonic_nanos();
    let lost = |at| format!(r#"echo '{{"type":"lost","key":"k","at":{at},"error":"e"}}'"#);
    let script = format!(
        "read line; echo '{{\"id\":1,\"type\":\"ok\"}}'
        {}; read line; {}; read line; {}; exec sleep 1000",
        lost(past),
        lost(now),
        lost(future)
    );
    let rig = rig(&script);
    rig.asks(1);
    let mut messages = Vec::new();
    while messages.len() < 2 {
        rig.inbox.take(Duration::from_secs(20), &mut messages).unwrap();
    }
    let (said, clamped) = (messages[0].at, messages[1].at);
    assert_eq!(said, clamped, "not before what it said before");
    rig.asks(2);
    assert_eq!(rig.next().at, said, "the rig is younger than the reading");
    rig.asks(3);
    assert!(rig.next().at <= rig.clock.now(), "not after its receipt");
}
