//! A recorded schedule: every decision of a run that matters, as data. It replays exactly, and it
//! goes on doing so when the way in which seeds draw schedules changes: a replay draws nothing.
//!
//! A schedule is made of pieces that can be taken out one by one (turns, faults, delays), with
//! times that do not shift when one is gone. [`crate::shrink`] takes out what an anomaly does not
//! need.

use base::{
    Ability, Action, Anomaly, Cause, ClockChange, Fault, LockInfo, LockName, Run, RunSpec, Task,
    WrongVersion, nanos,
};
use checkers::{CHECKERS, Case};
use serde::{Deserialize, Serialize};
use sim::Chances;
use std::path::Path;
use std::time::Duration;
use stores::StoreId;
use workloads::TestedLock;

use crate::input::{self, JudgingBudget};
use crate::links;
use crate::setup::{Setup, check_ensemble, check_task, check_topology};
use drive::plan::{FaultTiming, Planned, PlannedTurn, Played, Replay};

mod error;

pub use error::{NoSchedule, ReadError, ScheduleError};

/// The version of the stored form that this build writes and reads.
const VERSION: u32 = 3;

/// A recorded schedule. Times count from the start of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The version of this format.
    pub picklock_schedule: u32,
    /// The name of the lock.
    pub algo: LockName,
    /// The anomaly that it shows, where that is stated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shows: Option<Shows>,
    /// The longest time that a call to a server may take.
    pub call_timeout_ns: u64,
    /// The longest time that an acquire may wait.
    pub acquire_timeout_ns: u64,
    /// The time that the run goes on after the last heal.
    pub quiet_ns: u64,
    /// The turns of each worker: those of the first client, then those of the second, and so on.
    pub clients: Vec<Vec<PlannedTurn>>,
    /// The faults, in order.
    pub faults: Vec<Planned>,
    /// The random decisions of the simulator.
    pub chance: Chances,
    /// The run, but for what the turns and the random decisions say of it.
    #[serde(flatten, with = "stored_run")]
    pub run: RunSpec,
}

/// The stored form of a schedule's run: what its turns decide has no place in it.
mod stored_run {
    use base::{RunSpec, Task};
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::{Map, Value};

    const DECIDED: [&str; 7] = ["seed", "swarm", "script_file", "clients", "hold", "think", "keys"];

    pub fn serialize<S: Serializer>(run: &RunSpec, to: S) -> Result<S::Ok, S::Error> {
        let Value::Object(mut fields) = serde_json::to_value(run).map_err(S::Error::custom)? else {
            return Err(S::Error::custom("a run is an object"));
        };
        fields.retain(|name, value| {
            !(DECIDED.contains(&&**name) || name == "task" && value == Task::CONTEND.name)
        });
        fields.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<RunSpec, D::Error> {
        let fields = Map::deserialize(from)?;
        if let Some(name) = fields.keys().find(|name| DECIDED.contains(&&***name)) {
            return Err(D::Error::custom(format!("unknown field `{name}`")));
        }
        serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)
    }
}

/// An anomaly by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shows {
    /// The property that is broken.
    pub property: String,
    /// The name of the anomaly.
    pub anomaly: String,
    /// Its cause. `None`: whatever it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<Cause>,
}

impl Shows {
    /// Returns true if a run shows it.
    pub fn is_in(&self, run: &Run) -> bool {
        let checker = CHECKERS.iter().find(|checker| checker.name() == self.property);
        let seen = checker.map(|checker| checker.check(&Case::of(run)).anomalies);
        seen.is_some_and(|seen| seen.iter().any(|anomaly| self.fits(anomaly)))
    }

    /// Returns true if an anomaly of the same property is the one that is shown.
    pub(crate) fn fits(&self, seen: &Anomaly) -> bool {
        seen.name == self.anomaly && self.cause.is_none_or(|cause| seen.cause.contains(cause))
    }
}

/// The largest number of keys.
const KEYS: u32 = 1_000;

/// The extra time by which the last trigger may come later on real servers than in the simulator.
const LATE: Duration = Duration::from_secs(5);

/// Real servers keep no time to the millisecond, and a schedule that was shrunk has not one to
/// spare: there this part of a ttl is added to what has to last.
const SLACK: f64 = 0.25;

impl Schedule {
    /// Returns the schedule of a run that was made.
    pub fn of(setup: &Setup, played: Played, chance: Chances) -> Self {
        let (plan, lock, run) = (&setup.plan, &setup.lock.info, setup.run());
        let run = RunSpec {
            topology: run.topology.clone().filter(|on| *on != lock.topology),
            ensemble: setup.ensemble(),
            script: None,
            fault_scale_ns: None,
            ..run.clone()
        };
        let workers = run.clients * plan.load.task.workers;
        Self {
            picklock_schedule: VERSION,
            algo: lock.name.clone(),
            shows: None,
            call_timeout_ns: nanos(setup.world.call_timeout),
            acquire_timeout_ns: nanos(plan.acquire_timeout),
            quiet_ns: nanos(plan.quiet),
            clients: (0..workers).map(|it| played.turns_of(it)).collect(),
            faults: played.faults,
            chance,
            run,
        }
    }

    /// Returns the setup that runs it with this lock, with the faults at their times or by their
    /// triggers.
    ///
    /// # Errors
    /// One line that names what is wrong with the schedule.
    pub fn setup(&self, lock: &TestedLock, aim: FaultTiming) -> Result<Setup, ScheduleError> {
        self.check(lock)?;
        match aim {
            FaultTiming::Time => self.as_it_is(lock, aim, 0),
            FaultTiming::Trigger => self.loose_setup(lock, 0),
        }
    }

    /// Returns what runs it where nothing is exact: with the faults by their triggers, over links
    /// with delays of their own, which are drawn from `seed`.
    ///
    /// # Errors
    /// As [`setup`](Self::setup).
    pub fn loose_setup(&self, lock: &TestedLock, seed: u64) -> Result<Setup, ScheduleError> {
        self.with_slack(&lock.info).as_it_is(lock, FaultTiming::Trigger, seed)
    }

    /// The same with longer faults and holds, as far as the lock allows, over links as slow as its
    /// own: a hold of no length and a crash stay what they are.
    fn with_slack(&self, lock: &LockInfo) -> Self {
        let slack = (self.run.ttl_ns as f64 * SLACK) as u64;
        let longest = nanos(lock.longest_hold(self.run.ttl()));
        let mut slow = self.clone();
        for turn in slow.clients.iter_mut().flatten().filter(|turn| turn.hold_ns > 0) {
            turn.hold_ns = turn.hold_ns.max((turn.hold_ns + slack).min(longest));
        }
        for planned in &mut slow.faults {
            if let Action::Pause | Action::Cut(_) | Action::Vanish = planned.fault.action() {
                planned.lasts_ns += slack;
            }
        }
        let usual = nanos(links::usual_delay(Duration::ZERO));
        let delay_ns = self.chance.link_ns.saturating_sub(usual);
        slow.run.link_delay_ns = self.run.link_delay_ns.max(delay_ns);
        slow.run.time_limit_ns += nanos(LATE) + slack * slow.faults.len() as u64;
        slow
    }

    /// The same with a quarter more quiet. What an anomaly of progress shows at the very end of its
    /// bound is gone when somebody moves the bound a little.
    pub fn with_more_quiet(&self) -> Self {
        Self { quiet_ns: self.quiet_ns + self.quiet_ns / 4, ..self.clone() }
    }

    /// Returns what runs it exactly as it is, over links whose delays are drawn from `seed`.
    pub(crate) fn as_it_is(
        &self,
        lock: &TestedLock,
        aim: FaultTiming,
        seed: u64,
    ) -> Result<Setup, ScheduleError> {
        let time = Duration::from_nanos;
        let turns = self.clients.iter().flatten();
        let run = RunSpec {
            seed,
            swarm: false,
            clients: self.client_count(),
            keys: turns.map(|turn| turn.key + 1).max().unwrap_or(1),
            ..self.run.clone()
        };
        let replay = Replay {
            turns: self.clients.clone(),
            faults: self.faults.clone(),
            aim,
            call_timeout: time(self.call_timeout_ns),
            acquire_timeout: time(self.acquire_timeout_ns),
            quiet: time(self.quiet_ns),
            slowest_message: time(match aim {
                FaultTiming::Time => self.chance.slowest(),
                FaultTiming::Trigger => self.run.link_delay_ns,
            }),
        };
        Ok(Setup::replaying(lock, run, replay)?)
    }

    /// Returns the task of its clients.
    fn task(&self) -> Result<&'static Task, ScheduleError> {
        workloads::task(&self.run.task).ok_or_else(|| ScheduleError::Task(self.run.task.clone()))
    }

    /// The number of workers in each client.
    pub(crate) fn workers_each(&self) -> u32 {
        self.task().map_or(1, |task| task.workers)
    }

    /// The number of clients.
    pub fn client_count(&self) -> u32 {
        self.clients.len() as u32 / self.workers_each()
    }

    /// Returns the abilities that a backend needs for its faults.
    pub fn needs(&self) -> Vec<Ability> {
        self.faults.iter().map(|planned| planned.fault.ability()).collect()
    }

    /// Checks that it can be run at all: that every client, server and key that it names exists.
    fn check(&self, lock: &TestedLock) -> Result<(), ScheduleError> {
        let (clients, task) = (self.client_count(), self.task()?);
        if !(1..=200).contains(&clients) {
            return Err(ScheduleError::Clients(clients));
        }
        if !(self.clients.len() as u32).is_multiple_of(task.workers) {
            return Err(ScheduleError::Workers(task.workers));
        }
        let mut turns = self.clients.iter().flatten();
        if let Some(turn) = turns.find(|turn| turn.script as usize >= task.scripts.len()) {
            return Err(ScheduleError::Script(turn.script));
        }
        if let Some(turn) = self.clients.iter().flatten().find(|turn| turn.key >= KEYS) {
            return Err(ScheduleError::Key(turn.key));
        }
        let named = |name: &String| {
            let topology = StoreId::topology(name);
            topology.ok_or_else(|| ScheduleError::Topology(name.clone()))
        };
        let topology = self.run.topology.as_ref().map(named).transpose()?;
        check_topology(lock, &self.run)?;
        check_task(lock, task)?;
        check_ensemble(lock, &self.run)?;
        let servers = topology.unwrap_or_else(|| lock.topology()).servers();
        for planned in &self.faults {
            for node in planned.fault.nodes() {
                let there = match node {
                    base::Node::Client(client) => client < clients,
                    base::Node::Server(number) => number < servers,
                    base::Node::Vault => planned.fault.is_sound(),
                };
                if !there {
                    return Err(ScheduleError::Fault(node));
                }
            }
            if planned.fault.ability() == Ability::Evict
                && let Err(why) = lock.store().junk()
            {
                return Err(ScheduleError::Eviction { fault: planned.fault.to_string(), why });
            }
        }
        let day = 24 * 3_600 * 1_000_000_000;
        let turns = self.clients.iter().flatten().flat_map(|turn| [turn.at_ns, turn.hold_ns]);
        let faults = self.faults.iter();
        let faults = faults.flat_map(|p| [p.at_ns, p.lasts_ns].into_iter().chain(jump(&p.fault)));
        let mut times = turns.chain(faults).chain([
            self.run.time_limit_ns,
            self.quiet_ns,
            self.acquire_timeout_ns,
        ]);
        match times.any(|time| time > day) || self.run.ttl_ns == 0 || self.run.ttl_ns > day {
            true => Err(ScheduleError::Time),
            false => Ok(()),
        }
    }

    /// The stored form of a whole run, of which nobody reads the thousands of turns and delays: in
    /// one line, which is a third as long.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a schedule is plain data") + "\n"
    }

    /// The stored form, for people.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a schedule is plain data") + "\n"
    }

    /// Reads the stored form, with its lock as `lock_of` gives it by its name.
    ///
    /// # Errors
    /// Fails when the text is not a schedule: says what it is instead.
    pub fn from_json(text: &str, lock_of: LockOf<'_>) -> Result<(Self, TestedLock), NoSchedule> {
        let version: ScheduleVersion =
            serde_json::from_str(text).map_err(|error| match error.is_data() {
                true => NoSchedule::Other,
                false => NoSchedule::Json(error),
            })?;
        WrongVersion::check(version.picklock_schedule, VERSION)?;
        let schedule: Self = serde_json::from_str(text).map_err(NoSchedule::Data)?;
        let lock = lock_of(&schedule.algo);
        let lock = lock.ok_or_else(|| ScheduleError::Lock(schedule.algo.to_string()))?;
        schedule.check(&lock)?;
        Ok((schedule, lock))
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// One line with the file's name.
    pub fn read(path: &Path, lock_of: LockOf<'_>) -> Result<(Self, TestedLock), ReadError> {
        Self::read_within(path, JudgingBudget::default(), lock_of)
    }

    /// The same, within a budget.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_within(
        path: &Path,
        budget: JudgingBudget,
        lock_of: LockOf<'_>,
    ) -> Result<(Self, TestedLock), ReadError> {
        let text = input::text(path, budget).map_err(ReadError::File)?;
        Self::from_json(&text, lock_of).map_err(|why| ReadError::Text { file: path.into(), why })
    }
}

/// A source of locks by their names.
pub type LockOf<'a> = &'a dyn Fn(&str) -> Option<TestedLock>;

/// The first thing that is read of a schedule. The rest is passed over, without a copy of it.
#[derive(Deserialize)]
struct ScheduleVersion {
    picklock_schedule: u64,
}

/// Returns the distance by which a fault sets a clock, ahead or back; `None` for other faults.
fn jump(fault: &Fault) -> Option<u64> {
    match fault.action() {
        Action::Clock(ClockChange::Jump(nanos)) => Some(nanos.unsigned_abs()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate;
    use expect_test::expect;

    fn recorded(algo: &str, nemesis: &str, seed: u64) -> (base::Run, Schedule) {
        let lock = workloads::lock(algo).expect("a lock of the list");
        let run = lock.info.run(nemesis, seed);
        let run = RunSpec { swarm: true, time_limit_ns: 10_000_000_000, ..run };
        let setup = Setup::new(&lock, run).unwrap_or_else(|error| panic!("{error}"));
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
                let stored = schedule.to_line();
                let (read, lock) =
                    Schedule::from_json(&stored, &workloads::lock).expect("what was written");
                assert_eq!(read.to_line(), stored);
                let (short, long) = (stored.len(), schedule.to_json().len());
                assert!(short * 5 < long * 3, "{short} of {long} bytes");
                let again = simulate::replay(&lock, &read).expect("the simulator runs");
                let (one, two) = (run.history.to_jsonl(), again.history.to_jsonl());
                assert!(one == two, "{algo} under {nemesis}, seed {seed}");
            }
        }
    }

    #[test]
    fn delays_are_a_list_where_none_is_missing() {
        let (_, mut schedule) = recorded("zk-rw", "none", 1);
        let delays = |schedule: &Schedule| {
            let stored: serde_json::Value =
                serde_json::from_str(&schedule.to_line()).expect("JSON");
            let (read, _) = Schedule::from_json(&stored.to_string(), &workloads::lock)
                .expect("what was written");
            assert_eq!(read.to_line(), schedule.to_line());
            stored["chance"]["delays"][0]["delays_ns"].clone()
        };
        assert!(delays(&schedule).is_array());
        schedule.chance.delays[0].delays_ns.remove(&1);
        assert!(delays(&schedule).is_object());
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        let (_, schedule) = recorded("zk-rw", "crash", 1);
        let broken = |change: &dyn Fn(&mut Schedule)| {
            let mut schedule = schedule.clone();
            change(&mut schedule);
            schedule.to_json()
        };
        let pause = Fault::at(base::Node::Server(9), Action::Pause);
        let refused = [
            "hello".into(),
            "{}".into(),
            "{\"picklock_schedule\": 7}".into(),
            "{\"picklock_schedule\": 1}".into(),
            "{\"picklock_schedule\": 3}".into(),
            broken(&|s| s.clients.clear()),
            broken(&|s| s.faults[0].fault = pause.clone()),
            broken(&|s| s.algo = "zk-wr".try_into().expect("a name")),
            broken(&|s| s.run.ensemble.tick_ns = Some(s.run.ttl_ns)),
            broken(&|s| s.quiet_ns = u64::MAX),
            broken(&|s| s.clients[0][0].key = u32::MAX),
        ]
        .map(|text: String| {
            let read = Schedule::from_json(&text, &workloads::lock);
            read.err().expect("refused").to_string()
        });
        expect![[r#"
            is not valid JSON: expected value at line 1 column 1
            is not a schedule of picklock
            has version 7, of a newer picklock; this one reads version 3
            has version 1, of an older picklock; this one reads version 3
            is not a schedule: missing field `algo` at line 1 column 24
            cannot be run: it has 0 clients; give 1 to 200
            cannot be run: it has a fault at server 9, which is not there
            cannot be run: there is no lock `zk-wr` in this picklock; one of your own is named by --lock FILE
            cannot be run: --ttl 2s is out of range for --tick 2s: a server grants sessions of 2 to 20 ticks, 4s to 40s
            cannot be run: it has a time beyond 24 h, or no ttl
            cannot be run: it has a turn on key 4294967295; there are 1000 at most"#]].assert_eq(&refused.join("\n"));
    }
}
