//! The comparison compares: the model agrees with itself, and every command that answers wrongly
//! or does nothing is found.

use super::*;
use crate::redis::conformance::Modelled;
use crate::redis::model::command_names;
use redis::{Arg, Value};

const SEEDS: std::ops::Range<u64> = 0..300;

/// The model, but for one command: that does nothing and says OK.
struct Broken {
    model: Modelled,
    command: &'static str,
}

impl ConformanceSubject for Broken {
    fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
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
        if broken && !empties { Ok(Value::Okay) } else { self.model.call(connection, command) }
    }

    fn timed(&mut self, connection: usize, command: &Cmd) -> io::Result<(Moments, Value)> {
        let (moments, _) = self.model.timed(connection, &redis::cmd("PING"))?;
        Ok((moments, self.call(connection, command)?))
    }

    fn wait(&mut self, duration: Duration) {
        self.model.wait(duration);
    }
}

fn compared(real: &mut dyn ConformanceSubject, seeds: std::ops::Range<u64>) -> ConformanceReport {
    let mut report = ConformanceReport::default();
    let engine = Engine::of_this_thread();
    compare(&engine, real, seeds, &mut report).expect("the model always answers");
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
fn a_difference_is_told_by_its_least_sequence() {
    let report = compared(&mut Broken { model: Modelled::new(), command: "persist" }, SEEDS);
    let case = &report.differences[0].case;
    let steps: Vec<&str> = case.lines().skip(1).collect();
    assert_eq!(steps.len(), 1, "{case}");
    assert!(steps[0].to_lowercase().contains("persist"), "{case}");
}

#[test]
fn times_stand_for_themselves() {
    let words = ["{now+7}", "{now/1000+1}", "{nowhere}", "now"].map(str::to_owned);
    assert_eq!(at(&words, 5_250), ["5257", "6", "{nowhere}", "now"]);
}

#[test]
fn an_active_cycle_may_have_come_between_two_ends() {
    let mut server = Server::new(Engine::of_this_thread());
    for words in [["SET", "a", "1", "PX", "7"], ["SET", "b", "1", "PX", "15"]] {
        server.execute(wall(100), &command(&words.map(String::from)));
    }
    let left = |at| cycled(&server, at).map(|it| it.entries().count()).collect::<Vec<_>>();
    assert!(left(107).is_empty(), "nothing has run out yet");
    assert_eq!(left(110), [1]);
    assert_eq!(left(124), [1, 0]);
}
