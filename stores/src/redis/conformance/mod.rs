//! The conformance suite: one list of cases (`cases.txt`), run against the model and against a
//! real server. Where the two differ, the model is wrong.

#[cfg(any(test, feature = "real"))]
mod cluster;
#[cfg(feature = "real")]
mod failover;
#[cfg(any(test, feature = "real"))]
mod replicas;
mod transcript;

use crate::model::{Clocks, ServerModel};
use crate::redis::Server;
use crate::redis::script::Engine;
use base::{Data, Mono, WallTime};
use redis::{Cmd, Value};
use std::fmt;
use std::io;
use std::time::Duration;
use transcript::{CaseStep, ConformanceCase};

#[cfg(any(test, feature = "real"))]
pub(crate) use transcript::render;

#[cfg(any(test, feature = "real"))]
mod random;
#[cfg(feature = "real")]
mod real;

#[cfg(any(test, feature = "real"))]
pub use cluster::{ClusterFigures, ClusterRange, ClusterSubject, NO_CONNECTION, cluster_failover};
#[cfg(feature = "real")]
pub use failover::{FailoverFigures, Killing, RealCluster, failover_arm};
#[cfg(feature = "real")]
pub use real::{real_arm, replicas_arm, restarts_arm};

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

    /// Does the same, and returns the times of the server's wall clock between which it was
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

    /// Lets this much time pass.
    fn wait(&mut self, duration: Duration);
}

/// A reply that is not the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the case.
    pub case: String,
    /// The command as it was sent.
    pub command: String,
    /// The expected reply, as redis-cli shows it.
    pub expected: String,
    /// The reply that came.
    pub got: String,
}

/// The findings of a run of the suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConformanceReport {
    /// The number of replies that were compared.
    pub replies: usize,
    /// The number of random sequences that the model agreed with from end to end.
    pub sequences: usize,
    /// The number of others that could not be decided to their end, since time went on at a wrong
    /// moment.
    pub lost: usize,
    /// The replies that were not the expected ones.
    pub differences: Vec<Difference>,
}

impl ConformanceReport {
    /// Counts a reply of a case, and keeps it if it is not the expected one.
    fn compare(
        &mut self,
        case: &ConformanceCase,
        command: &str,
        expected: &[String],
        got: &[String],
    ) {
        self.replies += 1;
        if !transcript::agree(expected, got) {
            self.differences.push(Difference {
                case: case.name.clone(),
                command: command.to_owned(),
                expected: expected.join("\n         "),
                got: got.join("\n         "),
            });
        }
    }

    /// Returns true if everything agreed, and hardly a random sequence was given up.
    pub fn passed(&self) -> bool {
        self.replies > 350 && self.differences.is_empty() && self.lost * 20 <= self.sequences
    }
}

/// Displays the counts, and then each difference.
impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replies, sequences, lost, differences } = self;
        writeln!(f, "{} of {replies} replies differ", differences.len())?;
        if sequences + lost > 0 {
            writeln!(f, "{sequences} random sequences agree to their end, {lost} were given up")?;
        }
        for Difference { case, command, expected, got } in &self.differences {
            writeln!(f, "\n{case}\n> {command}\nexpected {expected}\ngot      {got}")?;
        }
        Ok(())
    }
}

/// Runs the whole suite.
///
/// # Errors
/// Fails when the subject does not answer at all.
pub fn run(subject: &mut dyn ConformanceSubject) -> io::Result<ConformanceReport> {
    run_cases(subject, include_str!("cases.txt"))
}

/// Runs the cases of a server that crashes, which show what it keeps and what it loses.
///
/// # Errors
/// Fails when the subject does not answer at all, or cannot be restarted.
pub fn run_restarts(subject: &mut dyn ConformanceSubject) -> io::Result<ConformanceReport> {
    run_cases(subject, include_str!("restarts.txt"))
}

fn run_cases(subject: &mut dyn ConformanceSubject, cases: &str) -> io::Result<ConformanceReport> {
    let mut report = ConformanceReport::default();
    for case in transcript::parse(cases) {
        run_case(subject, &case, &mut report)?;
    }
    Ok(report)
}

fn empty(subject: &mut dyn ConformanceSubject) -> io::Result<()> {
    subject.call(0, &redis::cmd("FLUSHALL"))?;
    subject.call(0, redis::cmd("SCRIPT").arg("FLUSH"))?;
    Ok(())
}

fn run_case(
    subject: &mut dyn ConformanceSubject,
    case: &ConformanceCase,
    report: &mut ConformanceReport,
) -> io::Result<()> {
    empty(subject)?;
    for step in &case.steps {
        match step {
            CaseStep::Wait(duration) => subject.wait(*duration),
            CaseStep::Restart(data) => subject.restart(*data)?,
            CaseStep::Call { connection, text, expected } => {
                let value = subject.call(*connection, &transcript::command(text))?;
                let got = transcript::render(&value);
                report.compare(case, text, expected, &got);
            }
        }
    }
    Ok(())
}

/// Runs the suite against the model, in virtual time.
///
/// # Errors
/// Never; the signature is that of the real arm.
pub fn model_arm() -> io::Result<ConformanceReport> {
    run(&mut Modelled::new())
}

struct Modelled {
    server: Server,
    clocks: Clocks,
}

impl Modelled {
    fn new() -> Self {
        let wall = WallTime::ZERO + Duration::from_secs(1_700_000_000);
        Self { server: Server::new(Engine::new()), clocks: Clocks { wall, mono: Mono::ZERO } }
    }
}

impl ConformanceSubject for Modelled {
    fn call(&mut self, _connection: usize, command: &Cmd) -> io::Result<Value> {
        Ok(self.server.execute(self.clocks.wall, command))
    }

    fn timed(&mut self, connection: usize, command: &Cmd) -> io::Result<(Moments, Value)> {
        let now = self.clocks.wall.millis() as i64;
        Ok(((now, now), self.call(connection, command)?))
    }

    fn restart(&mut self, data: Data) -> io::Result<()> {
        self.server.restart(self.clocks, data);
        Ok(())
    }

    fn wait(&mut self, duration: Duration) {
        self.clocks.wall = self.clocks.wall + duration;
        self.clocks.mono = self.clocks.mono + duration;
        self.server.tick(self.clocks, &mut Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_answers_as_redis_does() {
        let report = model_arm().expect("the model always answers");
        assert!(report.passed(), "{report}");
    }

    #[test]
    fn the_model_crashes_as_redis_does() {
        let report = run_restarts(&mut Modelled::new()).expect("the model always answers");
        assert!(report.differences.is_empty() && report.replies > 15, "{report}");
    }
}
