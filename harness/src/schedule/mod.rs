//! A recorded schedule: every decision of a run that matters, as data. It replays exactly, and it
//! goes on doing so when the way in which seeds draw schedules changes: a replay draws nothing.
//!
//! A schedule is made of pieces that can be taken out one by one (turns, faults, delays), with
//! times that do not shift when one is gone. [`shrink`] takes out what an anomaly does not need.

mod scripted;
mod shrink;
mod story;

use base::{Ability, ClockChange, Fault, Mode, Run};
use checkers::{CHECKERS, Case};
use serde::{Deserialize, Serialize};
use sim::Chances;
use std::path::Path;
use std::time::Duration;

use crate::drive::{Played, Script};
use crate::setup::{Options, Setup};
use crate::simulate;

pub use scripted::{Aim, Scripted};
pub use shrink::{CutShort, Shrunk, shrink, size};
pub use story::{Line, is_small, story_of};

/// The version of the stored form that this build writes, and the newest that it reads.
const VERSION: u32 = 1;

/// A recorded schedule. Durations and times are in nanoseconds; times count from the start of the
/// run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The version of this format.
    pub picklock_schedule: u32,
    /// The lock.
    pub algo: String,
    /// The nemeses that made it, joined by commas: what is expected of the lock depends on them.
    pub nemesis: String,
    /// What it shows, where somebody has said so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shows: Option<Shows>,
    /// The lock's time to live, or its session time-out.
    pub ttl: u64,
    /// How long a call to a server may take.
    pub call_timeout: u64,
    /// How long an acquire may wait.
    pub patience: u64,
    /// When the faults that are still in force are healed.
    pub time_limit: u64,
    /// How long the run goes on after that.
    pub quiet: u64,
    /// How long each client-server link delays beyond a fast one, each way.
    pub link_delay: u64,
    /// The turns of each client, by seat.
    pub clients: Vec<Vec<Turn>>,
    /// The faults, in order.
    pub faults: Vec<Planned>,
    /// What the simulator leaves to chance.
    pub chance: Chances,
}

/// An anomaly by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shows {
    /// The property that is broken.
    pub property: String,
    /// How.
    pub anomaly: String,
}

impl Shows {
    /// Whether a run shows it.
    pub fn is_in(&self, run: &Run) -> bool {
        let checker = CHECKERS.iter().find(|checker| checker.name() == self.property);
        checker.is_some_and(|checker| checker.check(&Case::of(run)).shows(&self.anomaly))
    }
}

/// One turn of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// When it asks for the lock; later if it is not done with its last turn by then.
    pub at: u64,
    /// Which key, from 0.
    #[serde(default)]
    pub key: u32,
    /// How it asks.
    pub mode: Mode,
    /// How long it works between its read and its last touch.
    pub hold: u64,
}

/// A fault of a schedule. It stands at a time, for an exact replay, and at a moment in the life of
/// the lock, for real servers, whose timing is their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The fault.
    pub fault: Fault,
    /// When it is injected.
    pub at: u64,
    /// How long it lasts.
    pub lasts: u64,
    /// The same in terms of the lock.
    pub moment: Moment,
}

/// A moment in the life of the lock: after so many grants, so long after the client that is hit
/// came into such a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// How many grants the run has seen.
    pub grants: u64,
    /// What the client that is hit is doing.
    pub victim: Victim,
    /// How long it has been doing so; for `any`, how long ago the last grant was.
    pub later: u64,
}

/// What the client that a fault hits is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Victim {
    /// It holds the lock.
    Holding,
    /// It has asked for the lock, and a server has answered something; counted from that answer.
    Answered,
    /// It has asked for the lock, and no server has answered yet.
    Asking,
    /// Something else, or the fault hits no client.
    Any,
}

/// How much later than in the simulator the last moment may come on real servers.
const LATE: Duration = Duration::from_secs(5);

/// Real servers keep no time to the millisecond, and a schedule that was shrunk has not one to spare:
/// there this part of a ttl is added to what has to last.
const SLACK: f64 = 0.25;

impl Schedule {
    /// The schedule of a run that was made.
    pub fn of(setup: &Setup, played: Played, chance: Chances) -> Self {
        let plan = setup.plan();
        let world = setup.world();
        let nanos = |d: Duration| d.as_nanos() as u64;
        let info = setup.info_for("sim");
        Self {
            picklock_schedule: VERSION,
            algo: info.algo,
            nemesis: info.nemesis,
            shows: None,
            ttl: info.ttl,
            call_timeout: nanos(world.call_timeout),
            patience: info.patience,
            time_limit: info.time_limit,
            quiet: info.quiet,
            link_delay: nanos(world.link_delay),
            clients: (0..plan.clients).map(|seat| played.turns_of(seat)).collect(),
            faults: played.faults,
            chance,
        }
    }

    /// What runs it, with the faults at their times or at their moments.
    ///
    /// # Errors
    /// One line that names what is wrong with the schedule.
    pub fn setup(&self, aim: Aim) -> Result<Setup, String> {
        self.check()?;
        match aim {
            Aim::Time => self.as_it_is(aim, 0),
            Aim::Moment => self.with_slack().as_it_is(aim, 0),
        }
    }

    /// Whether it shows its anomaly where nothing is exact, too: with the faults at their moments, over
    /// links with delays of their own. Then it most likely does so on real servers.
    pub fn is_robust(&self) -> bool {
        let slow = self.with_slack();
        let shows = |seed: u64| {
            let setup = slow.as_it_is(Aim::Moment, seed).ok()?;
            let run = simulate::run(&setup).ok()?;
            Some(self.shows.as_ref()?.is_in(&run))
        };
        (0..3).all(|seed| shows(seed) == Some(true))
    }

    /// The same with longer faults and holds, as far as the lock allows, over links as slow as its own: a
    /// hold of no length and a crash stay what they are.
    fn with_slack(&self) -> Self {
        let slack = (self.ttl as f64 * SLACK) as u64;
        let longest = workloads::find(&self.algo).map_or(0.0, |lock| lock.longest_hold);
        let longest = (self.ttl as f64 * longest) as u64;
        let mut slow = self.clone();
        for turn in slow.clients.iter_mut().flatten().filter(|turn| turn.hold > 0) {
            turn.hold = turn.hold.max((turn.hold + slack).min(longest));
        }
        for planned in &mut slow.faults {
            if let Fault::Pause { .. } | Fault::Cut { .. } = planned.fault {
                planned.lasts += slack;
            }
        }
        let usual = simulate::usual_delay(Duration::ZERO).as_nanos() as u64;
        slow.link_delay = self.link_delay.max(self.chance.link.saturating_sub(usual));
        slow.time_limit += LATE.as_nanos() as u64 + slack * slow.faults.len() as u64;
        slow
    }

    fn as_it_is(&self, aim: Aim, seed: u64) -> Result<Setup, String> {
        let nanos = Duration::from_nanos;
        let turns = self.clients.iter().flatten();
        let options = Options {
            clients: self.clients.len() as u32,
            time_limit: nanos(self.time_limit),
            ttl: nanos(self.ttl),
            link_delay: nanos(self.link_delay),
            keys: turns.map(|turn| turn.key + 1).max().unwrap_or(1),
            ..Options::new(&self.algo, &self.nemesis, seed)
        };
        let script = Script {
            turns: self.clients.clone(),
            faults: self.faults.clone(),
            aim,
            call_timeout: nanos(self.call_timeout),
            patience: nanos(self.patience),
            quiet: nanos(self.quiet),
        };
        Setup::scripted(options, script)
    }

    /// What a backend must be able to do for its faults.
    pub fn needs(&self) -> Vec<Ability> {
        self.faults.iter().map(|planned| planned.fault.ability()).collect()
    }

    /// Whether it can be run at all: nobody is named who is not there.
    fn check(&self) -> Result<(), String> {
        let clients = self.clients.len() as u32;
        if !(1..=200).contains(&clients) {
            return Err(format!("it has {clients} clients; give 1 to 200"));
        }
        let lock = workloads::find(&self.algo)
            .ok_or_else(|| format!("there is no lock `{}` in this picklock", self.algo))?;
        let servers = lock.servers();
        for planned in &self.faults {
            for node in planned.fault.nodes() {
                let there = match node {
                    base::Node::Client(seat) => seat < clients,
                    base::Node::Server(number) => number < servers,
                };
                if !there {
                    return Err(format!("it has a fault at {node}, which is not there"));
                }
            }
        }
        let day = 24 * 3_600 * 1_000_000_000;
        let turns = self.clients.iter().flatten().flat_map(|turn| [turn.at, turn.hold]);
        let faults = self.faults.iter();
        let faults = faults.flat_map(|p| [p.at, p.lasts].into_iter().chain(jump(&p.fault)));
        let mut times = turns.chain(faults).chain([self.time_limit, self.quiet, self.patience]);
        match times.any(|time| time > day) || self.ttl == 0 || self.ttl > day {
            true => Err("it has a time beyond 24 h, or no ttl".into()),
            false => Ok(()),
        }
    }

    /// The stored form.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a schedule is plain data") + "\n"
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// What it is instead.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
        match value.get("picklock_schedule").and_then(serde_json::Value::as_u64) {
            None => return Err("is no schedule of picklock".into()),
            Some(version) if version != u64::from(VERSION) => {
                return Err(format!("has version {version}; this picklock reads {VERSION}"));
            }
            Some(_) => {}
        }
        let schedule: Self =
            serde_json::from_value(value).map_err(|error| format!("is no schedule: {error}"))?;
        schedule.check().map_err(|why| format!("cannot be run: {why}"))?;
        Ok(schedule)
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// One line with the file's name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read `{file}`: {error}"))?;
        Self::from_json(&text).map_err(|why| format!("`{file}` {why}"))
    }
}

/// How far a fault sets a clock, ahead or back.
fn jump(fault: &Fault) -> Option<u64> {
    match fault {
        Fault::Clock { change: ClockChange::Jump(nanos), .. } => Some(nanos.unsigned_abs()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(algo: &str, nemesis: &str, seed: u64) -> (base::Run, Schedule) {
        let mut options = Options::new(algo, nemesis, seed);
        options.swarm = true;
        options.time_limit = Duration::from_secs(10);
        let setup = Setup::new(options).unwrap_or_else(|error| panic!("{error}"));
        simulate::record(&setup).expect("the simulator runs")
    }

    #[test]
    fn a_recorded_schedule_replays_byte_for_byte() {
        for (algo, nemesis) in [
            ("redis-set-nx-px", "pause,crash"),
            ("redis-setnx-expire", "crash,partition"),
            ("zk-rw", "partition,crash"),
            ("zk-sequential", "pause"),
            ("redlock", "clock,crash,link"),
            ("zk-rw", "clock-freeze,clock-drift"),
        ] {
            for seed in 0..5 {
                let (run, schedule) = recorded(algo, nemesis, seed);
                let read = Schedule::from_json(&schedule.to_json()).expect("what was written");
                assert_eq!(read, schedule);
                let again = simulate::replay(&read).expect("the simulator runs");
                let (one, two) = (run.history.to_jsonl(), again.history.to_jsonl());
                assert!(one == two, "{algo} under {nemesis}, seed {seed}");
            }
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        let says = |text: &str| Schedule::from_json(text).err().unwrap_or_default();
        assert!(says("hello").contains("no JSON"));
        assert!(says("{}").contains("no schedule of picklock"));
        assert!(says("{\"picklock_schedule\": 7}").contains("version 7"));
        assert!(says("{\"picklock_schedule\": 1}").contains("algo"));
        let (_, schedule) = recorded("zk-rw", "crash", 1);
        let broken = |change: &dyn Fn(&mut Schedule)| {
            let mut schedule = schedule.clone();
            change(&mut schedule);
            says(&schedule.to_json())
        };
        assert!(broken(&|s| s.clients.clear()).contains("0 clients"));
        let pause = base::Fault::Pause { node: base::Node::Server(9) };
        assert!(broken(&|s| s.faults[0].fault = pause.clone()).contains("server 9"));
        assert!(broken(&|s| s.algo = "zk-wr".into()).contains("zk-wr"));
        assert!(broken(&|s| s.quiet = u64::MAX).contains("24 h"));
    }
}
