//! A recorded schedule: every decision of a run that matters, as data. It replays exactly, and it
//! goes on doing so when the way in which seeds draw schedules changes: a replay draws nothing.
//!
//! A schedule is made of pieces that can be taken out one by one (turns, faults, delays), with
//! times that do not shift when one is gone. [`crate::shrink`] takes out what an anomaly does not
//! need.

use base::{
    Ability, Action, Anomaly, Cause, ClockChange, Ensemble, ExtraPromise, Fault, Run, Task,
    WrongVersion,
};
use checkers::{CHECKERS, Case};
use serde::{Deserialize, Serialize};
use sim::Chances;
use std::path::Path;
use std::time::Duration;
use stores::StoreId;

use crate::input::{self, JudgingBudget};
use crate::links;
use crate::plan::{FaultTiming, Options, Planned, PlannedTurn, Played, Replay};
use crate::setup::{Setup, check_ensemble, check_task, check_topology};

mod error;

pub use error::{NoSchedule, ReadError, ScheduleError};

/// The version of the stored form that this build writes and reads.
const VERSION: u32 = 3;

/// A recorded schedule. Times count from the start of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The version of this format.
    pub picklock_schedule: u32,
    /// The name of the lock.
    pub algo: String,
    /// The nemeses that made it, joined by commas: what is expected of the lock depends on them.
    pub nemesis: String,
    /// The anomaly that it shows, where somebody has said so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shows: Option<Shows>,
    /// The lock's time to live, or its session time-out.
    pub ttl_ns: u64,
    /// The task, where it is not to contend.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task: Option<String>,
    /// The topology, where it is not the usual one of the lock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub topology: Option<String>,
    /// The properties to which the lock is held beyond its promises.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub demand: Vec<ExtraPromise>,
    /// The settings of the servers, where they have some that matter to sessions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ensemble: Option<Ensemble>,
    /// The longest time that a call to a server may take.
    pub call_timeout_ns: u64,
    /// The longest time that an acquire may wait.
    pub acquire_timeout_ns: u64,
    /// The time at which the faults still in force are healed.
    pub time_limit_ns: u64,
    /// The time that the run goes on after that.
    pub quiet_ns: u64,
    /// The delay of each client-server link beyond a fast one, each way.
    pub link_delay_ns: u64,
    /// The turns of each worker: those of the first client, then those of the second, and so on.
    pub clients: Vec<Vec<PlannedTurn>>,
    /// The faults, in order.
    pub faults: Vec<Planned>,
    /// The random decisions of the simulator.
    pub chance: Chances,
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
        seen.name == self.anomaly && self.cause.is_none_or(|cause| seen.cause == Some(cause))
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
    /// The schedule of a run that was made.
    pub fn of(setup: &Setup, played: Played, chance: Chances) -> Self {
        let world = setup.world();
        let nanos = |d: Duration| d.as_nanos() as u64;
        let info = setup.info_for("sim");
        Self {
            picklock_schedule: VERSION,
            algo: info.algo,
            nemesis: info.nemesis,
            shows: None,
            ttl_ns: info.ttl_ns,
            task: Some(info.task).filter(|task| task != Task::CONTEND.name),
            topology: setup.unusual_topology().map(|topology| topology.name.into()),
            demand: setup.extra_promises().to_vec(),
            ensemble: info.ensemble,
            call_timeout_ns: nanos(world.call_timeout),
            acquire_timeout_ns: info.acquire_timeout_ns,
            time_limit_ns: info.time_limit_ns,
            quiet_ns: info.quiet_ns,
            link_delay_ns: nanos(world.link_delay),
            clients: (0..info.clients * info.workers).map(|it| played.turns_of(it)).collect(),
            faults: played.faults,
            chance,
        }
    }

    /// Returns the setup that runs it, with the faults at their times or by their triggers.
    ///
    /// # Errors
    /// One line that names what is wrong with the schedule.
    pub fn setup(&self, aim: FaultTiming) -> Result<Setup, ScheduleError> {
        self.check()?;
        match aim {
            FaultTiming::Time => self.as_it_is(aim, 0),
            FaultTiming::Trigger => self.loose_setup(0),
        }
    }

    /// Returns what runs it where nothing is exact: with the faults by their triggers, over links
    /// with delays of their own, which are drawn from `seed`.
    ///
    /// # Errors
    /// As [`setup`](Self::setup).
    pub fn loose_setup(&self, seed: u64) -> Result<Setup, ScheduleError> {
        self.with_slack().as_it_is(FaultTiming::Trigger, seed)
    }

    /// The same with longer faults and holds, as far as the lock allows, over links as slow as its
    /// own: a hold of no length and a crash stay what they are.
    fn with_slack(&self) -> Self {
        let slack = (self.ttl_ns as f64 * SLACK) as u64;
        let longest = workloads::find(&self.algo).map_or(0.0, |lock| lock.longest_hold);
        let longest = (self.ttl_ns as f64 * longest) as u64;
        let mut slow = self.clone();
        for turn in slow.clients.iter_mut().flatten().filter(|turn| turn.hold_ns > 0) {
            turn.hold_ns = turn.hold_ns.max((turn.hold_ns + slack).min(longest));
        }
        for planned in &mut slow.faults {
            if let Action::Pause | Action::Cut(_) | Action::Vanish = planned.fault.action() {
                planned.lasts_ns += slack;
            }
        }
        let usual = links::usual_delay(Duration::ZERO).as_nanos() as u64;
        slow.link_delay_ns = self.link_delay_ns.max(self.chance.link_ns.saturating_sub(usual));
        slow.time_limit_ns += LATE.as_nanos() as u64 + slack * slow.faults.len() as u64;
        slow
    }

    /// The same with a quarter more quiet. What an anomaly of progress shows at the very end of its
    /// bound is gone when somebody moves the bound a little.
    pub fn with_more_quiet(&self) -> Self {
        Self { quiet_ns: self.quiet_ns + self.quiet_ns / 4, ..self.clone() }
    }

    /// Returns what runs it exactly as it is, over links whose delays are drawn from `seed`.
    pub(crate) fn as_it_is(&self, aim: FaultTiming, seed: u64) -> Result<Setup, ScheduleError> {
        let nanos = Duration::from_nanos;
        let turns = self.clients.iter().flatten();
        let options = Options {
            clients: self.client_count(),
            time_limit: nanos(self.time_limit_ns),
            link_delay: nanos(self.link_delay_ns),
            keys: turns.map(|turn| turn.key + 1).max().unwrap_or(1),
            ..self.servers(seed)?
        };
        let replay = Replay {
            turns: self.clients.clone(),
            faults: self.faults.clone(),
            aim,
            call_timeout: nanos(self.call_timeout_ns),
            acquire_timeout: nanos(self.acquire_timeout_ns),
            quiet: nanos(self.quiet_ns),
            slowest_message: nanos(match aim {
                FaultTiming::Time => self.chance.slowest(),
                FaultTiming::Trigger => self.link_delay_ns,
            }),
        };
        Ok(Setup::replaying(options, replay)?)
    }

    /// Returns default options but for the session and the servers.
    fn servers(&self, seed: u64) -> Result<Options, ScheduleError> {
        let named = |name: &String| {
            let topology = StoreId::topology(name);
            topology.ok_or_else(|| ScheduleError::Topology(name.clone()))
        };
        Ok(Options {
            topology: self.topology.as_ref().map(named).transpose()?,
            task: self.task()?,
            extra_promises: self.demand.clone(),
            ttl: Duration::from_nanos(self.ttl_ns),
            tick: self.ensemble.map(|it| Duration::from_nanos(it.tick_ns)),
            sync_limit: self.ensemble.map(|it| it.sync_limit),
            ..Options::new(&self.algo, &self.nemesis, seed)
        })
    }

    /// Returns the task of its clients.
    fn task(&self) -> Result<&'static Task, ScheduleError> {
        let Some(name) = &self.task else { return Ok(&Task::CONTEND) };
        workloads::task(name).ok_or_else(|| ScheduleError::Task(name.clone()))
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
    fn check(&self) -> Result<(), ScheduleError> {
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
        let lock =
            workloads::find(&self.algo).ok_or_else(|| ScheduleError::Lock(self.algo.clone()))?;
        let options = self.servers(0)?;
        check_topology(lock, &options)?;
        check_task(lock, task)?;
        check_ensemble(lock, &options)?;
        let servers = options.topology.unwrap_or_else(|| lock.topology()).servers();
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
        let mut times =
            turns.chain(faults).chain([self.time_limit_ns, self.quiet_ns, self.acquire_timeout_ns]);
        match times.any(|time| time > day) || self.ttl_ns == 0 || self.ttl_ns > day {
            true => Err(ScheduleError::Time),
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
    /// Fails when the text is not a schedule: says what it is instead.
    pub fn from_json(text: &str) -> Result<Self, NoSchedule> {
        let version: ScheduleVersion =
            serde_json::from_str(text).map_err(|error| match error.is_data() {
                true => NoSchedule::Other,
                false => NoSchedule::Json(error),
            })?;
        WrongVersion::check(version.picklock_schedule, VERSION)?;
        let schedule: Self = serde_json::from_str(text).map_err(NoSchedule::Data)?;
        schedule.check()?;
        Ok(schedule)
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// One line with the file's name.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::read_within(path, JudgingBudget::default())
    }

    /// The same, within a budget.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_within(path: &Path, budget: JudgingBudget) -> Result<Self, ReadError> {
        let text = input::text(path, budget).map_err(ReadError::File)?;
        Self::from_json(&text).map_err(|why| ReadError::Text { file: path.into(), why })
    }
}

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
        let says = |text: &str| Schedule::from_json(text).expect_err("refused").to_string();
        assert!(says("hello").contains("not valid JSON"));
        assert!(says("{}").contains("not a schedule of picklock"));
        assert!(says("{\"picklock_schedule\": 7}").contains("version 7, of a newer picklock"));
        let older = "has version 1, of an older picklock; this one reads version 3";
        assert_eq!(says("{\"picklock_schedule\": 1}"), older);
        assert!(says("{\"picklock_schedule\": 3}").contains("algo"));
        let (_, schedule) = recorded("zk-rw", "crash", 1);
        let broken = |change: &dyn Fn(&mut Schedule)| {
            let mut schedule = schedule.clone();
            change(&mut schedule);
            says(&schedule.to_json())
        };
        assert!(broken(&|s| s.clients.clear()).contains("0 clients"));
        let pause = Fault::at(base::Node::Server(9), Action::Pause);
        assert!(broken(&|s| s.faults[0].fault = pause.clone()).contains("server 9"));
        assert!(broken(&|s| s.algo = "zk-wr".into()).contains("zk-wr"));
        let tick = Ensemble { tick_ns: schedule.ttl_ns, sync_limit: 2 };
        assert!(broken(&|s| s.ensemble = Some(tick)).contains("2 to 20 ticks"));
        assert!(broken(&|s| s.quiet_ns = u64::MAX).contains("24 h"));
        assert!(broken(&|s| s.clients[0][0].key = u32::MAX).contains("key 4294967295"));
    }
}
