//! Two servers, one of which follows the other: the cases of `replicas.txt`, for the model and for
//! a pair of real servers.

use super::transcript::{self, CaseStep};
use super::{ConformanceReport, ConformanceSubject};
use std::io;
use std::time::Duration;

/// The time that the second server has to answer as it must, and the pause between two questions.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Runs the cases. The subject's connection 0 leads to the first server, 1 to the second; `master`
/// is the first server's address for the second, as REPLICAOF takes it.
///
/// # Errors
/// Fails when the subject does not answer at all.
pub fn run(subject: &mut dyn ConformanceSubject, master: &str) -> io::Result<ConformanceReport> {
    let mut report = ConformanceReport::default();
    for case in transcript::parse(include_str!("replicas.txt")) {
        join(subject, master, &case.name)?;
        for step in &case.steps {
            let CaseStep::Call { connection, text, expected } = step else {
                if let CaseStep::Wait(duration) = step {
                    subject.wait(*duration);
                }
                continue;
            };
            let got = answer(subject, *connection, &text.replace("MASTER", master), expected)?;
            report.compare(&case, text, expected, &got);
        }
    }
    Ok(report)
}

/// Empties both and has the second follow the first.
fn join(subject: &mut dyn ConformanceSubject, master: &str, case: &str) -> io::Result<()> {
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
fn answer(
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
    use crate::model::{Clocks, Out, Peer, ServerModel};
    use crate::redis::conformance::Moments;
    use crate::redis::script::Engine;
    use crate::redis::{Packet, Server};
    use base::{Mono, WallTime};
    use redis::{Cmd, Value};
    use std::collections::VecDeque;

    /// A packet's way from one server to the other.
    const LAG: Duration = Duration::from_millis(30);
    const TICK: Duration = Duration::from_millis(10);

    struct Pair {
        servers: [Server; 2],
        wire: VecDeque<(Mono, u32, u32, Packet)>,
        now: Mono,
    }

    impl Pair {
        fn clocks(&self) -> Clocks {
            let since = self.now.since(Mono::ZERO);
            Clocks {
                wall: WallTime::ZERO + Duration::from_secs(1_700_000_000) + since,
                mono: self.now,
            }
        }

        /// Sends on what a server wants sent; the replies among it are returned.
        fn carry(&mut self, from: u32, out: Vec<Out<Packet>>) -> Option<Value> {
            let mut reply = None;
            for out in out {
                match out {
                    Out::Send(Peer::Server(to), packet) => {
                        self.wire.push_back((self.now + LAG, from, to, packet));
                    }
                    Out::Send(_, Packet::Reply { value, .. }) => reply = Some(*value),
                    other => panic!("{other:?}"),
                }
            }
            reply
        }
    }

    impl ConformanceSubject for Pair {
        fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
            let (clocks, mut out) = (self.clocks(), Vec::new());
            let packet = Packet::Request { id: 1, command: command.clone().into() };
            self.servers[connection].receive(clocks, Peer::Connection(1), packet, &mut out);
            Ok(self.carry(connection as u32, out).expect("every request has a reply"))
        }

        fn timed(&mut self, connection: usize, command: &Cmd) -> io::Result<(Moments, Value)> {
            let now = self.clocks().wall.millis() as i64;
            Ok(((now, now), self.call(connection, command)?))
        }

        fn wait(&mut self, duration: Duration) {
            let end = self.now + duration;
            while self.now < end {
                self.now = self.now + TICK;
                while self.wire.front().is_some_and(|(at, ..)| *at <= self.now)
                    && let Some((_, from, to, packet)) = self.wire.pop_front()
                {
                    let (clocks, mut out) = (self.clocks(), Vec::new());
                    let server = &mut self.servers[to as usize];
                    server.receive(clocks, Peer::Server(from), packet, &mut out);
                    self.carry(to, out);
                }
                for number in 0..2 {
                    let (clocks, mut out) = (self.clocks(), Vec::new());
                    self.servers[number as usize].tick(clocks, &mut out);
                    self.carry(number, out);
                }
            }
        }
    }

    #[test]
    fn a_pair_of_models_answers_as_a_pair_of_servers_does() {
        let engine = Engine::new();
        let servers = [Server::new(engine.clone()), Server::new(engine)];
        let mut pair = Pair { servers, wire: VecDeque::new(), now: Mono::ZERO };
        let report = run(&mut pair, "master 0").expect("the models always answer");
        assert!(report.differences.is_empty() && report.replies > 50, "{report}");
    }
}
