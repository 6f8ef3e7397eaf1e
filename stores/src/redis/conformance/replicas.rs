//! Two servers, one of which follows the other: the cases of `replicas.txt`, for the model and for
//! a pair of real servers.

use super::{Compared, ConformanceSubject, run_cases, transcript};
use std::io;
use std::time::Duration;

/// The time that the second server has to answer as it must, and the pause between two questions.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Runs the cases. The subject's connection 0 leads to the first server, 1 to the second; `master`
/// is the first server's address for the second, as REPLICAOF takes it.
pub fn run(subject: &mut dyn ConformanceSubject, master: &str) -> Compared {
    run_cases(subject, include_str!("replicas.txt"), Some(master))
}

/// Empties both and has the second follow the first.
pub fn join(subject: &mut dyn ConformanceSubject, master: &str, case: &str) -> io::Result<()> {
    let follow = format!("REPLICAOF {master}");
    let steps = [(1, "REPLICAOF NO ONE"), (1, "FLUSHALL"), (0, "FLUSHALL"), (1, &*follow)];
    for (connection, text) in steps {
        subject.call(connection, &transcript::command(text))?;
    }
    subject.call(0, redis::cmd("SET").arg("joined").arg(case))?;
    let joined = format!("{case:?}");
    answer(subject, 1, "GET joined", &[joined])?;
    subject.call(0, redis::cmd("DEL").arg("joined"))?;
    answer(subject, 1, "EXISTS joined", &["(integer) 0".to_owned()])?;
    Ok(())
}

/// Asks a server. The first answers at once; the second is asked again until it answers as it must.
/// A refused command has no effect, so that it can be asked again.
pub fn answer(
    subject: &mut dyn ConformanceSubject,
    connection: usize,
    text: &str,
    expected: &[String],
) -> io::Result<Vec<String>> {
    let command = transcript::command(text);
    let mut waited = Duration::ZERO;
    loop {
        let got = transcript::render(&subject.call(connection, &command)?);
        if connection == 0 || waited >= ANSWER_LIMIT || transcript::agree(expected, &got) {
            return Ok(got);
        }
        subject.wait(PAUSE);
        waited += PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_network::ModelNetwork;
    use crate::redis::Redis;
    use crate::redis::conformance::Moments;
    use redis::{Cmd, Value};

    /// Servers of which the second can follow the first.
    struct Models(ModelNetwork<Redis>);

    impl ConformanceSubject for Models {
        fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
            Ok(self.0.ask(connection as u32, command))
        }

        fn timed(&mut self, _: usize, _: &Cmd) -> io::Result<(Moments, Value)> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn send(&mut self, _: usize, _: &Cmd) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn take(&mut self, _: usize) -> io::Result<Option<Value>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn hang_up(&mut self, _: usize) {}

        fn wait(&mut self, duration: Duration) {
            self.0.run(duration);
        }
    }

    #[test]
    fn a_pair_of_models_answers_as_a_pair_of_servers_does() {
        let mut models = Models(ModelNetwork::redis("redis-x5", 1));
        models.0.latency = Duration::from_millis(30);
        let report = run(&mut models, "master 0");
        assert!(report.passed(84), "{report}");
    }
}
