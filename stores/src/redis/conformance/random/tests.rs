//! The comparison compares: the model agrees with itself, and every command that answers wrongly
//! or does nothing is found.

use super::*;
use crate::redis::conformance::model::Modelled;
use crate::redis::model::command_names;
use redis::Arg;
use std::io;

const SEEDS: Range<u64> = 0..300;

/// The model, but for one command: that does nothing and says OK.
struct Broken {
    model: Modelled,
    command: &'static str,
}

impl Broken {
    /// The answer to the broken command.
    fn answer(&self, command: &Cmd) -> Option<Value> {
        let words: Vec<String> = command
            .args_iter()
            .filter_map(|arg| match arg {
                Arg::Simple(bytes) => Some(String::from_utf8_lossy(bytes).to_lowercase()),
                _ => None,
            })
            .collect();
        let broken = self.command.split('|').zip(&words).all(|(name, word)| name == word);
        // The suite itself empties its server by these two.
        let empties = words == ["flushall"] || words == ["script", "flush"];
        (broken && !empties).then_some(Value::Okay)
    }
}

impl ConformanceSubject for Broken {
    fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
        self.answer(command).map_or_else(|| self.model.call(connection, command), Ok)
    }

    fn timed(&mut self, connection: usize, command: &Cmd) -> io::Result<(Moments, Value)> {
        let (moments, _) = self.model.timed(connection, &redis::cmd("PING"))?;
        Ok((moments, self.call(connection, command)?))
    }

    fn send(&mut self, connection: usize, command: &Cmd) -> io::Result<()> {
        match self.answer(command) {
            Some(value) => self.model.replies.push((peer(connection), value)),
            None => self.model.send(connection, command)?,
        }
        Ok(())
    }

    fn take(&mut self, connection: usize) -> io::Result<Option<Value>> {
        self.model.take(connection)
    }

    fn hang_up(&mut self, connection: usize) {
        self.model.hang_up(connection);
    }

    fn wait(&mut self, duration: Duration) {
        self.model.wait(duration);
    }
}

fn compared(subject: &mut dyn ConformanceSubject, seeds: Range<u64>) -> Compared {
    let mut report = Compared::default();
    compare(subject, seeds, &mut report);
    report
}

#[test]
fn the_model_agrees_with_itself() {
    let report = compared(&mut Modelled::new(), SEEDS);
    assert!(report.differences.is_empty(), "{report}");
    assert_eq!((report.sequences, report.lost), (300, 0));
}

/// Commands that are not drawn: they have no reply that could be compared, or take several servers.
const UNCOMPARED: &[&str] = &[
    "time",
    "client",
    "client|id",
    "cluster",
    "cluster|keyslot",
    "cluster|myid",
    "cluster|slots",
    "replicaof",
    "role",
    "wait",
];

#[test]
fn every_command_is_drawn_and_compared() {
    for command in command_names().filter(|name| !UNCOMPARED.contains(name)) {
        let mut broken = Broken { model: Modelled::new(), command };
        let mut seeds = SEEDS;
        let found = seeds.any(|seed| !compared(&mut broken, seed..seed + 1).differences.is_empty());
        assert!(found, "{command} can say and do what it likes");
    }
}

#[test]
fn a_difference_is_reported_with_its_least_sequence() {
    let report = compared(&mut Broken { model: Modelled::new(), command: "persist" }, SEEDS);
    let difference = &report.differences[0];
    let steps: Vec<&str> = difference.lines().filter(|line| line.contains("> ")).collect();
    assert_eq!(steps.len(), 1, "{difference}");
    assert!(steps[0].to_lowercase().contains("persist"), "{difference}");
}

#[test]
fn times_stand_for_themselves() {
    assert_eq!(at("{now+7} {now/1000+1} {nowhere} now", 5_250), "5257 6 {nowhere} now");
}

#[test]
fn an_active_cycle_may_have_come_between_two_ends() {
    let mut server = Server::new(Engine::of_this_thread());
    for text in ["SET a 1 PX 7", "SET b 1 PX 15"] {
        server.execute(wall(100), &transcript::command(text));
    }
    let left = |at| cycled(&server, at).map(|it| it.entries().count()).collect::<Vec<_>>();
    assert!(left(107).is_empty(), "nothing has run out yet");
    assert_eq!(left(110), [1]);
    assert_eq!(left(124), [1, 0]);
}
