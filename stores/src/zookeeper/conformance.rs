//! The conformance suite: the behaviour of ZooKeeper, as scripts of requests from several sessions.
//! The same scripts run against the model and against real servers; where they differ, the model is
//! wrong.

mod cases;
#[cfg(any(test, feature = "real"))]
mod random;
#[cfg(feature = "real")]
mod real;

use super::{Refusal, Reply, Request, WatchEvent, WatchId};
use base::{CallError, LocalFuture};
use std::fmt;
use std::time::Duration;

#[cfg(feature = "real")]
pub use real::real_arm;

/// The end of a session of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnding {
    /// The client closes the session.
    Closed,
    /// The client falls silent, and the session expires.
    Silent,
}

/// A provider of sessions: the model or real servers. Sessions are numbered by the case.
pub trait ConformanceSubject {
    /// Opens a session.
    fn open(
        &mut self,
        session: usize,
        ending: SessionEnding,
    ) -> LocalFuture<'_, Result<(), String>>;

    /// Ends a session in the way that was chosen when it was opened.
    fn end(&mut self, session: usize) -> LocalFuture<'_, ()>;

    /// Makes a request and waits for its answer.
    fn call(
        &mut self,
        session: usize,
        request: Request,
    ) -> LocalFuture<'_, Result<Reply, CallError<Refusal>>>;

    /// The event of a watch, if it fires within this time; with no time, if it has fired already.
    fn fired(
        &mut self,
        session: usize,
        watch: WatchId,
        within: Duration,
    ) -> LocalFuture<'_, Option<WatchEvent>>;

    /// Lets time pass.
    fn wait(&mut self, time: Duration) -> LocalFuture<'_, ()>;

    /// Ends all sessions and forgets them.
    fn reset(&mut self) -> LocalFuture<'_, ()>;
}

/// One step of a case. Paths are below the case's own root.
#[derive(Clone, Debug)]
enum CaseStep {
    Open(usize, SessionEnding),
    End(usize),
    Call(usize, Request, Expect),
    /// The watch fires soon.
    Fires(usize, WatchId, WatchEvent),
    /// The watch has fired: its event came before the reply of the last call.
    Fired(usize, WatchId, WatchEvent),
    /// The watch does not fire.
    Silent(usize, WatchId),
    /// The node is gone soon, as this session sees it.
    Gone(usize, &'static str),
    /// The node stays for this long, as this session sees it.
    Stays(usize, &'static str, Duration),
}

/// The expected result of a call.
#[derive(Clone, Debug)]
enum Expect {
    /// Exactly this reply.
    Is(Reply),
    /// A node of this path, created by a later transaction than any before.
    Created(&'static str),
    /// The node exists.
    There,
    /// These children, in any order.
    Children(&'static [&'static str]),
    /// This refusal by the server.
    No(Refusal),
}

/// The results of the cases.
#[derive(Clone, Debug, Default)]
pub struct ConformanceReport {
    /// Each case, by name, with the reason if it failed.
    pub cases: Vec<(String, Result<(), String>)>,
    /// The number of random sequences that were compared.
    pub sequences: u64,
}

impl ConformanceReport {
    /// Returns true if every case passed, and there were some.
    pub fn passed(&self) -> bool {
        !self.cases.is_empty() && self.cases.iter().all(|(_, result)| result.is_ok())
    }
}

impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, result) in &self.cases {
            match result {
                Ok(()) => writeln!(f, "ok    {name}")?,
                Err(why) => writeln!(f, "FAIL  {name}: {why}")?,
            }
        }
        writeln!(f, "{} random sequences compared", self.sequences)
    }
}

/// Runs all named cases below nodes whose names begin with `root`. `limit` is the time within
/// which something that must happen has to: longer than the longest session time-out in use.
pub async fn run(
    subject: &mut dyn ConformanceSubject,
    root: &str,
    limit: Duration,
) -> ConformanceReport {
    let mut report = ConformanceReport::default();
    for (name, steps) in cases::all() {
        let base = format!("/{root}-{}", report.cases.len());
        let mut run = CaseRun { subject, base, limit, last_czxid: 0 };
        let result = run.case(steps()).await;
        run.subject.reset().await;
        report.cases.push((name.to_owned(), result));
    }
    report
}

struct CaseRun<'a> {
    subject: &'a mut dyn ConformanceSubject,
    base: String,
    limit: Duration,
    last_czxid: i64,
}

impl CaseRun<'_> {
    /// Session 0 is always there, and has made the case's root.
    async fn case(&mut self, steps: Vec<CaseStep>) -> Result<(), String> {
        self.subject.open(0, SessionEnding::Closed).await?;
        let root = cases::create("", super::CreateMode::Persistent);
        self.step(CaseStep::Call(0, root, Expect::Created(""))).await?;
        for (n, step) in steps.into_iter().enumerate() {
            let what = format!("step {n}, {step:?}");
            self.step(step).await.map_err(|why| format!("{what}: {why}"))?;
        }
        Ok(())
    }

    async fn step(&mut self, step: CaseStep) -> Result<(), String> {
        match step {
            CaseStep::Open(session, ending) => self.subject.open(session, ending).await,
            CaseStep::End(session) => {
                self.subject.end(session).await;
                Ok(())
            }
            CaseStep::Call(session, request, expect) => {
                let answer = self.subject.call(session, self.rooted(request)).await;
                self.judge(answer, &expect)
            }
            CaseStep::Fires(session, watch, event) => self.fires(session, watch, event, true).await,
            CaseStep::Fired(session, watch, event) => {
                self.fires(session, watch, event, false).await
            }
            CaseStep::Silent(session, watch) => {
                let within = Duration::from_millis(200);
                match self.subject.fired(session, watch, within).await {
                    None => Ok(()),
                    Some(event) => Err(format!("fired: {event:?}")),
                }
            }
            CaseStep::Gone(session, path) => self.gone(session, path).await,
            CaseStep::Stays(session, path, time) => {
                self.subject.wait(time).await;
                if self.is_there(session, path).await? { Ok(()) } else { Err("it is gone".into()) }
            }
        }
    }

    async fn fires(
        &mut self,
        session: usize,
        watch: WatchId,
        event: WatchEvent,
        wait: bool,
    ) -> Result<(), String> {
        let within = if wait { self.limit } else { Duration::ZERO };
        match self.subject.fired(session, watch, within).await {
            Some(fired) if fired == event => Ok(()),
            other => Err(format!("fired: {other:?}")),
        }
    }

    async fn gone(&mut self, session: usize, path: &'static str) -> Result<(), String> {
        let pause = Duration::from_millis(50);
        for _ in 0..self.limit.as_millis() / pause.as_millis() {
            if !self.is_there(session, path).await? {
                return Ok(());
            }
            self.subject.wait(pause).await;
        }
        Err("it is still there".into())
    }

    async fn is_there(&mut self, session: usize, path: &str) -> Result<bool, String> {
        let sync = self.rooted(Request::Sync { path: String::new() });
        self.subject.call(session, sync).await.map_err(|error| error.to_string())?;
        let exists = self.rooted(Request::Exists { path: path.into(), watch: None });
        match self.subject.call(session, exists).await {
            Ok(Reply::Exists(found)) => Ok(found.is_some()),
            other => Err(format!("exists answered {other:?}")),
        }
    }

    fn judge(
        &mut self,
        answer: Result<Reply, CallError<Refusal>>,
        expect: &Expect,
    ) -> Result<(), String> {
        let said = format!("answered {answer:?}");
        let right = match (answer, expect) {
            (Ok(Reply::Created { path, czxid }), Expect::Created(name)) => {
                let later = czxid > self.last_czxid;
                self.last_czxid = czxid;
                path == format!("{}{name}", self.base) && later
            }
            (Ok(Reply::Children(mut names)), Expect::Children(expected)) => {
                names.sort();
                names == *expected
            }
            (Ok(Reply::Exists(found)), Expect::There) => found.is_some(),
            (Ok(reply), Expect::Is(expected)) => reply == *expected,
            (Err(CallError::Refused(refusal)), Expect::No(expected)) => refusal == *expected,
            _ => false,
        };
        if right { Ok(()) } else { Err(said) }
    }

    /// The request, below this case's root. Malformed paths stay malformed.
    fn rooted(&self, mut request: Request) -> Request {
        let path = request.path_mut();
        *path = format!("{}{path}", self.base);
        request
    }
}

#[cfg(test)]
mod model;
