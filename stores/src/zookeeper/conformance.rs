//! The conformance suite: the behaviour of ZooKeeper, as scripts of requests from several sessions.
//! The same scripts run against the model and against real servers; where they differ, the model is
//! wrong.

mod cases;
mod random;
#[cfg(feature = "real")]
mod real;

use super::{Refusal, Reply, Request, WatchEvent, WatchId};
use crate::conformance::{Compared, Comparison, Stop, same};
use base::CallError;
use std::future::Future;
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
    ) -> impl Future<Output = Result<(), String>>;

    /// Ends a session in the way that was chosen when it was opened.
    fn end(&mut self, session: usize);

    /// Makes a request and waits for its answer.
    fn call(
        &mut self,
        session: usize,
        request: Request,
    ) -> impl Future<Output = Result<Reply, CallError<Refusal>>>;

    /// The event of a watch, if it fires within this time; with no time, if it has fired already.
    fn fired(
        &mut self,
        session: usize,
        watch: WatchId,
        within: Duration,
    ) -> impl Future<Output = Option<WatchEvent>>;

    /// Lets time pass.
    fn wait(&mut self, time: Duration) -> impl Future<Output = ()>;

    /// Ends all sessions and forgets them.
    fn reset(&mut self);
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

/// Runs all named cases below nodes whose names begin with `root`. `limit` is the time within
/// which something that must happen has to: longer than the longest session time-out in use.
pub async fn run(subject: &mut impl ConformanceSubject, root: &str, limit: Duration) -> Compared {
    let mut report = Compared::default();
    let mut cases = Cases { subject, root, number: 0, base: String::new(), limit, last_czxid: 0 };
    for (name, steps) in cases::all() {
        report.case(&mut cases, name, &steps()).await;
    }
    report
}

/// A subject beside the answers that the cases tell.
struct Cases<'a, S> {
    subject: &'a mut S,
    root: &'a str,
    /// The number of cases so far.
    number: usize,
    base: String,
    limit: Duration,
    last_czxid: i64,
}

impl<S: ConformanceSubject> Comparison for Cases<'_, S> {
    type Step = CaseStep;

    /// Session 0 is always there, and has made the case's root.
    async fn begin(&mut self, _: &str) -> Result<(), Stop> {
        self.base = format!("/{}-{}", self.root, self.number);
        self.number += 1;
        self.subject.open(0, SessionEnding::Closed).await?;
        let root = cases::create("", super::CreateMode::Persistent);
        Ok(self.call(0, root, &Expect::Created("")).await?)
    }

    async fn step(&mut self, step: &CaseStep, report: &mut Compared) -> Result<(), Stop> {
        report.replies += 1;
        match step.clone() {
            CaseStep::Open(session, ending) => self.subject.open(session, ending).await?,
            CaseStep::End(session) => self.subject.end(session),
            CaseStep::Call(session, request, expect) => {
                self.call(session, request, &expect).await?
            }
            CaseStep::Fires(session, watch, event) => {
                self.fires(session, watch, Some(event), self.limit).await?;
            }
            CaseStep::Fired(session, watch, event) => {
                self.fires(session, watch, Some(event), Duration::ZERO).await?;
            }
            CaseStep::Silent(session, watch) => {
                self.fires(session, watch, None, Duration::from_millis(200)).await?;
            }
            CaseStep::Gone(session, path) => self.gone(session, path).await?,
            CaseStep::Stays(session, path, time) => {
                self.subject.wait(time).await;
                same(&self.is_there(session, path).await?, &true)?;
            }
        }
        Ok(())
    }

    async fn end(&mut self, _: &mut Compared) -> Result<(), Stop> {
        self.subject.reset();
        Ok(())
    }
}

impl<S: ConformanceSubject> Cases<'_, S> {
    async fn call(
        &mut self,
        session: usize,
        request: Request,
        expect: &Expect,
    ) -> Result<(), String> {
        let answer = self.subject.call(session, self.rooted(request)).await;
        self.judge(answer, expect)
    }

    async fn fires(
        &mut self,
        session: usize,
        watch: WatchId,
        event: Option<WatchEvent>,
        within: Duration,
    ) -> Result<(), Stop> {
        same(&self.subject.fired(session, watch, within).await, &event)
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
        let message = format!("answered {answer:?}");
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
        if right { Ok(()) } else { Err(message) }
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
