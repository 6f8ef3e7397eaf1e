//! Random sequences of requests from several sessions, with watches, and with sessions that are
//! closed or fall silent, held reply by reply and event by event against a tree and a list of
//! watches: they find what nobody thought of writing down as a case.
//!
//! Nothing of the model is left to chance but the sequence itself; of real servers it is how far
//! each has got, so that only a difference that comes again is reported. A read that could be stale
//! follows a write of its session; an event must have come before the next reply to its session; a
//! session's end has come when its ephemeral nodes are gone.

mod draw;
mod reference;
#[cfg(test)]
mod tests;

use super::{ConformanceSubject, SessionEnding};
use crate::conformance::{Compared, Comparison, Stop};
use crate::zookeeper::{CreateMode, Refusal, Reply, Request, WatchEvent, WatchId};
use base::CallError;
use reference::Reference;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The session of this number falls silent at its end; the others are closed.
const SILENT: usize = 3;

/// The pause before a second look for something that comes soon.
const PAUSE: Duration = Duration::from_millis(20);

/// A step of a sequence. A session is opened when it is first used, and anew after its end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SequenceStep {
    Call(usize, Request),
    End(usize),
}

/// Runs the sequences of these seeds, each below a node whose name begins with `root`.
pub async fn compare(
    subject: &mut impl ConformanceSubject,
    root: &str,
    seeds: impl Iterator<Item = u64>,
    limit: Duration,
) -> Compared {
    let mut report = Compared::default();
    let mut both = BesideModel {
        subject,
        root,
        base: String::new(),
        limit,
        reference: Reference::new(""),
        sessions: BTreeMap::new(),
        opened: 0,
        current: BTreeSet::new(),
        czxids: BTreeMap::new(),
    };
    for seed in seeds {
        report.compare(&mut both, &seed.to_string(), draw::sequence(seed)).await;
    }
    report
}

/// A subject beside the reference.
struct BesideModel<'a, S> {
    subject: &'a mut S,
    root: &'a str,
    base: String,
    limit: Duration,
    reference: Reference,
    /// The open sessions, and the reference's number for each.
    sessions: BTreeMap<usize, i64>,
    opened: i64,
    /// The sessions whose servers have everything that was written so far.
    current: BTreeSet<usize>,
    /// The subject's numbers of the reference's transactions.
    czxids: BTreeMap<i64, i64>,
}

impl<S: ConformanceSubject> Comparison for BesideModel<'_, S> {
    type Step = SequenceStep;

    /// A model that is wrong is wrong again; what does not come again is how fast each server was.
    const CHANCY: bool = true;

    /// Makes the roots, which the reference has already.
    async fn begin(&mut self, name: &str) -> Result<(), Stop> {
        self.base = format!("/{}-random-{name}", self.root);
        self.reference = Reference::new(&self.base);
        (self.sessions, self.opened, self.czxids) = (BTreeMap::new(), 0, BTreeMap::new());
        self.open(0).await?;
        for (path, zxid) in [(self.base.clone(), 1), (rooted(&self.base, ""), 2)] {
            let (data, mode) = (Vec::new(), CreateMode::Persistent);
            let root = Request::Create { path, data, mode };
            match self.subject.call(0, root).await {
                Ok(Reply::Created { czxid, .. }) => self.czxids.insert(zxid, czxid),
                other => return Err(format!("a root was answered {other:?}").into()),
            };
        }
        self.current = BTreeSet::from([0]);
        Ok(())
    }

    async fn step(&mut self, step: &SequenceStep, report: &mut Compared) -> Result<(), Stop> {
        report.replies += 1;
        match step {
            SequenceStep::Call(session, request) => {
                let number = self.open(*session).await?;
                let request = below(&self.base, request.clone());
                self.call(*session, number, request).await?;
            }
            SequenceStep::End(session) => self.finish(*session).await?,
        }
        Ok(())
    }

    async fn end(&mut self, _: &mut Compared) -> Result<(), Stop> {
        let end = self.nothing_else_fired().await;
        self.subject.reset();
        Ok(end?)
    }
}

impl<S: ConformanceSubject> BesideModel<'_, S> {
    async fn open(&mut self, session: usize) -> Result<i64, String> {
        if let Some(number) = self.sessions.get(&session) {
            return Ok(*number);
        }
        let ending = if session == SILENT { SessionEnding::Silent } else { SessionEnding::Closed };
        self.subject.open(session, ending).await?;
        self.opened += 1;
        self.sessions.insert(session, self.opened);
        Ok(self.opened)
    }

    async fn call(&mut self, session: usize, number: i64, request: Request) -> Result<(), String> {
        let writes = matches!(
            request,
            Request::Create { .. } | Request::Delete { .. } | Request::SetData { .. }
        );
        // A write goes by the leader's state, a read by that of the session's server.
        if !writes {
            self.catch_up(session).await?;
        }
        let (expected, fired) = self.reference.apply(session, number, &request);
        let answer = self.answer(session, &request, expected.is_ok()).await?;
        if let (Ok(Reply::Created { czxid: actual, .. }), Ok(Reply::Created { czxid, .. })) =
            (&answer, &expected)
        {
            if self.czxids.values().any(|before| before >= actual) {
                return Err(format!("{request:?}: transaction {actual} is not a later one"));
            }
            self.czxids.insert(*czxid, *actual);
        }
        if sorted(answer.clone()) != self.translated(sorted(expected.clone())) {
            return Err(format!("{request:?}: answered {answer:?}, not {expected:?}"));
        }
        if writes && answer.is_ok() {
            self.current = BTreeSet::from([session]);
        }
        self.expect(fired).await
    }

    /// The answer to a request. A leader judges a delete by what it has yet to apply as well, and
    /// there a session that ends does not take its nodes out of their parents: for a moment a node
    /// may be "not empty" that is empty for everybody. It is then asked for again.
    async fn answer(
        &mut self,
        session: usize,
        request: &Request,
        granted: bool,
    ) -> Result<Result<Reply, Refusal>, String> {
        for _ in 0..50 {
            match self.subject.call(session, request.clone()).await {
                Err(CallError::Refused(Refusal::NotEmpty)) if granted => {}
                Err(CallError::Refused(refusal)) => return Ok(Err(refusal)),
                Err(CallError::Unknown(why)) => return Err(format!("{request:?}: {why}")),
                Ok(reply) => return Ok(Ok(reply)),
            }
            self.subject.wait(PAUSE).await;
        }
        Ok(Err(Refusal::NotEmpty))
    }

    /// The reference's answer, in the subject's numbers of transactions.
    fn translated(&self, answer: Result<Reply, Refusal>) -> Result<Reply, Refusal> {
        let translate = |czxid: i64| self.czxids.get(&czxid).copied().unwrap_or(-1);
        answer.map(|reply| match reply {
            Reply::Created { path, czxid } => Reply::Created { path, czxid: translate(czxid) },
            Reply::Exists(found) => Reply::Exists(found.map(translate)),
            other => other,
        })
    }

    /// Checks that these watches have fired, each before the next reply to its session.
    async fn expect(&mut self, fired: Vec<(usize, WatchId, WatchEvent)>) -> Result<(), String> {
        for (session, watch, event) in fired {
            self.catch_up(session).await?;
            match self.subject.fired(session, watch, Duration::ZERO).await {
                Some(came) if came == event => {}
                came => {
                    return Err(format!(
                        "watch {watch} of session {session}: {came:?}, not {event:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    async fn catch_up(&mut self, session: usize) -> Result<(), String> {
        if self.current.contains(&session) { Ok(()) } else { self.write_a_mark(session).await }
    }

    /// Brings a session's server up to date: it has all that was written once it has answered a
    /// write of its own. A `sync` is not enough: a leader answers that of its own client at once,
    /// and a follower may have reported a write that the leader has yet to apply.
    async fn write_a_mark(&mut self, session: usize) -> Result<(), String> {
        let path = self.base.clone();
        let mark = Request::SetData { path, data: Vec::new(), version: None };
        match self.subject.call(session, mark).await {
            Ok(Reply::DataSet { .. }) => {
                self.current.insert(session);
                Ok(())
            }
            other => Err(format!("a mark of session {session} was answered {other:?}")),
        }
    }

    async fn finish(&mut self, session: usize) -> Result<(), String> {
        let Some(number) = self.sessions.remove(&session) else { return Ok(()) };
        let (gone, fired) = self.reference.end(session, number);
        self.subject.end(session);
        self.current.remove(&session);
        // Who has nothing leaves no trace.
        let Some(path) = gone.first() else { return Ok(()) };
        let witness = (0..SILENT).find(|other| *other != session).unwrap_or_default();
        self.open(witness).await?;
        self.gone(witness, path).await?;
        self.current = BTreeSet::from([witness]);
        self.expect(fired).await
    }

    async fn gone(&mut self, witness: usize, path: &str) -> Result<(), String> {
        for _ in 0..self.limit.as_millis() / PAUSE.as_millis() {
            self.write_a_mark(witness).await?;
            let exists = Request::Exists { path: path.to_owned(), watch: None };
            match self.subject.call(witness, exists).await {
                Ok(Reply::Exists(None)) => return Ok(()),
                Ok(Reply::Exists(Some(_))) => self.subject.wait(PAUSE).await,
                other => return Err(format!("exists {path}: answered {other:?}")),
            }
        }
        Err(format!("{path} has outlived its session"))
    }

    /// Checks that the watches that wait for something wait still.
    async fn nothing_else_fired(&mut self) -> Result<(), String> {
        for session in self.sessions.keys().copied().collect::<Vec<_>>() {
            self.write_a_mark(session).await?;
        }
        for (session, watch) in self.reference.waiting() {
            if let Some(event) = self.subject.fired(session, watch, Duration::ZERO).await {
                return Err(format!("watch {watch} of session {session} fired: {event:?}"));
            }
        }
        Ok(())
    }
}

/// The answer with its children sorted, since they come in no order.
fn sorted(answer: Result<Reply, Refusal>) -> Result<Reply, Refusal> {
    answer.map(|reply| match reply {
        Reply::Children(mut names) => {
            names.sort();
            Reply::Children(names)
        }
        other => other,
    })
}

/// A path of the sequence. Its root lies in a node of its own, so that sequence numbers beside it
/// are its own, too.
fn rooted(base: &str, path: &str) -> String {
    format!("{base}/r{path}")
}

fn below(base: &str, mut request: Request) -> Request {
    let path = request.path_mut();
    *path = rooted(base, path);
    request
}
