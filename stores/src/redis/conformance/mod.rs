//! The conformance suite: one list of cases (`cases.txt`), run against the model and against a
//! real server. Where the two differ, the model is wrong.

mod cluster;
#[cfg(feature = "real")]
mod failover;
#[cfg(test)]
mod model;
mod random;
#[cfg(feature = "real")]
mod real;
mod replicas;
mod transcript;

use crate::conformance::{Compared, Comparison, Stop};
use base::Data;
use futures_util::FutureExt;
use redis::{Cmd, Value};
use std::io;
use std::time::Duration;
use transcript::CaseStep;

pub use cluster::{ClusterFigures, ClusterRange, ClusterSubject, NO_CONNECTION, cluster_failover};
#[cfg(feature = "real")]
pub use failover::{RealCluster, failover_arm};
#[cfg(feature = "real")]
pub use real::{real_arm, replicas_arm, restarts_arm};
#[cfg(test)]
pub(crate) use transcript::command;
pub(crate) use transcript::render;

/// The first and the last moment at which something may have happened, in milliseconds since the
/// Unix epoch.
pub type Moments = (i64, i64);

/// A server that the suite can be run against.
pub trait ConformanceSubject {
    /// Sends a command over one of its connections, which are numbered from 0 and opened when they
    /// are first used. An error reply is a value.
    ///
    /// # Errors
    /// Fails when no reply came.
    fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value>;

    /// Sends a command which may wait.
    ///
    /// # Errors
    /// Fails when it cannot be sent.
    fn send(&mut self, connection: usize, command: &Cmd) -> io::Result<()>;

    /// Takes the reply that a connection waits for, if it has come: all that was done before has
    /// its replies by now.
    ///
    /// # Errors
    /// Fails when the connection is lost.
    fn take(&mut self, connection: usize) -> io::Result<Option<Value>>;

    /// Does the same as `call`, and returns the times of the server's wall clock between which it was
    /// executed.
    ///
    /// # Errors
    /// Fails when no reply came.
    fn timed(&mut self, connection: usize, command: &Cmd) -> io::Result<(Moments, Value)>;

    /// Crashes the server and starts it again, with its data or without.
    ///
    /// # Errors
    /// Fails when it cannot be done, or it does not come back.
    fn restart(&mut self, _data: Data) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Closes a connection. The next call opens it anew.
    fn hang_up(&mut self, connection: usize);

    /// Lets this much time pass.
    fn wait(&mut self, duration: Duration);
}

/// Runs what is at its end when it is first asked, as all of this suite is: its subjects answer
/// before they return.
fn at_once<T>(run: impl Future<Output = T>) -> T {
    run.now_or_never().expect("no subject has anybody wait")
}

/// Runs all cases of the one server.
pub fn run(subject: &mut dyn ConformanceSubject) -> Compared {
    run_cases(subject, include_str!("cases.txt"), None)
}

/// Runs the cases of a server that crashes, which show what it keeps and what it loses.
pub fn run_restarts(subject: &mut dyn ConformanceSubject) -> Compared {
    run_cases(subject, include_str!("restarts.txt"), None)
}

fn run_cases(subject: &mut dyn ConformanceSubject, cases: &str, master: Option<&str>) -> Compared {
    let mut report = Compared::default();
    let mut cases_of = Cases { subject, master };
    for case in transcript::parse(cases) {
        at_once(report.case(&mut cases_of, &case.name, &case.steps));
    }
    report
}

/// A subject beside the replies that the cases tell.
struct Cases<'a> {
    subject: &'a mut dyn ConformanceSubject,
    /// The address of the first of two servers, which the second follows, as REPLICAOF takes it.
    master: Option<&'a str>,
}

impl Comparison for Cases<'_> {
    type Step = CaseStep;

    async fn begin(&mut self, name: &str) -> Result<(), Stop> {
        match self.master {
            Some(master) => Ok(replicas::join(self.subject, master, name)?),
            None => Ok(empty(self.subject)?),
        }
    }

    async fn step(&mut self, step: &CaseStep, report: &mut Compared) -> Result<(), Stop> {
        let (connection, text, expected) = match step {
            CaseStep::Wait(duration) => {
                self.subject.wait(*duration);
                return Ok(());
            }
            CaseStep::Restart(data) => return Ok(self.subject.restart(*data)?),
            CaseStep::HangUp(connection) => {
                self.subject.hang_up(*connection);
                return Ok(());
            }
            CaseStep::Reply { connection, expected } => {
                let got = late_reply(self.subject, *connection)?;
                report.replies += 1;
                return if got == *expected { Ok(()) } else { Err(other_reply(expected, &got)) };
            }
            CaseStep::Call { connection, text, expected } => (*connection, text, expected),
        };
        if *expected == [WAITS] {
            self.subject.send(connection, &transcript::command(text))?;
            let early = self.subject.take(connection)?.map(|it| transcript::render(&it));
            report.replies += 1;
            return early.map_or(Ok(()), |early| Err(other_reply(expected, &early)));
        }
        let got = match self.master {
            Some(master) => {
                let text = text.replace("MASTER", master);
                replicas::answer(self.subject, connection, &text, expected)?
            }
            None => transcript::render(&self.subject.call(connection, &transcript::command(text))?),
        };
        report.replies += 1;
        if transcript::agree(expected, &got) { Ok(()) } else { Err(other_reply(expected, &got)) }
    }
}

/// The reply of the cases to a command that waits.
const WAITS: &str = "(waits)";

/// The time that a command which waits has to come to its end, and the pause between two questions.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

/// The reply to a command that has waited.
fn late_reply(subject: &mut dyn ConformanceSubject, connection: usize) -> io::Result<Vec<String>> {
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        if let Some(value) = subject.take(connection)? {
            return Ok(transcript::render(&value));
        }
        subject.wait(PAUSE);
        waited += PAUSE;
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// The difference that a reply shows which is not the expected one.
fn other_reply(expected: &[String], got: &[String]) -> Stop {
    let lines = |lines: &[String]| lines.join("\n         ");
    Stop::Differs(format!("\nexpected {}\ngot      {}", lines(expected), lines(got)))
}

/// The number of connections that cases and sequences use.
const CONNECTIONS: usize = 3;

/// Makes an empty server, whose connections are in no transaction.
fn empty(subject: &mut dyn ConformanceSubject) -> io::Result<()> {
    (0..CONNECTIONS).for_each(|connection| subject.hang_up(connection));
    subject.call(0, &redis::cmd("FLUSHALL"))?;
    subject.call(0, redis::cmd("SCRIPT").arg("FLUSH"))?;
    Ok(())
}
