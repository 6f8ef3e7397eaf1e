//! The options of a run, one entry each: the command line, suites and the commands that are printed
//! all go by this list.

use base::{ExtraPromise, Length, LockInfo, RunSpec, UNLIMITED_NS, nanos};
use std::time::Duration;
use stores::StoreId;
use stores::zookeeper::Timing;

use crate::nearest::{self, Unlisted};

/// An option of a run.
pub struct RunOption {
    /// The name, of its flag and of its field in a suite.
    pub name: &'static str,
    /// The name of its value.
    pub value: &'static str,
    /// The help about it, in a sentence or two.
    pub help: &'static str,
    /// The value that the command line shows as its default, if that is always the same.
    pub default: Option<&'static str>,
    /// True if its value is a list, joined by commas.
    pub is_list: bool,
    /// Reads a value.
    pub read: fn(&mut RunSpec, &str) -> Result<(), String>,
    /// Returns the value, if it is not the default of the lock.
    pub print: fn(&RunSpec, &LockInfo) -> Option<String>,
}

/// All of them, in the order in which commands are printed.
pub const OPTIONS: &[RunOption] = &[
    RunOption {
        name: "on",
        value: "TOPOLOGY",
        help: "The topology: the layout of the servers (`picklock list topologies`) [default: the \
               lock's usual one]",
        default: None,
        is_list: false,
        read: |run, text| {
            let all = || StoreId::all_topologies().map(|topology| topology.name);
            let found = StoreId::topology(text).map(|it| run.topology = Some(it.name.into()));
            found.ok_or_else(|| Unlisted::new("topology", text, all()).to_string())
        },
        print: |run, lock| {
            let usual = |on: &String| on == &lock.topology;
            run.topology.clone().filter(|on| !usual(on))
        },
    },
    RunOption {
        name: "task",
        value: "TASK",
        help: "The task of the clients: the steps of their turns (`picklock list tasks`)",
        default: Some("contend"),
        is_list: false,
        read: |run, text| {
            let all = || workloads::TASKS.iter().map(|task| task.name);
            let found = workloads::task(text).map(|it| run.task = it.name.into());
            found.ok_or_else(|| Unlisted::new("task", text, all()).to_string())
        },
        print: |run, lock| unusual(run, lock, |run| run.task.clone()),
    },
    RunOption {
        name: "clients",
        value: "N",
        help: "The number of clients that contend [default: 5; 2 in an exhaustive search]",
        default: None,
        is_list: false,
        read: |run, text| number(text).map(|it| run.clients = it),
        print: |run, lock| unusual(run, lock, |run| run.clients.to_string()),
    },
    RunOption {
        name: "time-limit",
        value: "DURATION",
        help: "The time for which faults are injected; a quiet phase follows",
        default: Some("30s"),
        is_list: false,
        read: |run, text| duration(text).map(|it| run.time_limit_ns = nanos(it)),
        print: |run, lock| unusual(run, lock, |run| time(run.time_limit())),
    },
    RunOption {
        name: "ttl",
        value: "DURATION",
        help: "The lock's time to live, or its session time-out [default: 2s on ZooKeeper, \
               PostgreSQL and etcd, 4s on other stores]",
        default: None,
        is_list: false,
        read: |run, text| {
            run.ttl_ns = if text == "unlimited" { UNLIMITED_NS } else { nanos(duration(text)?) };
            Ok(())
        },
        print: |run, lock| unusual(run, lock, |run| time(run.ttl())),
    },
    RunOption {
        name: "fault-scale",
        value: "DURATION",
        help: "The time that the lengths of faults count in, so that they stay when the ttl does \
               not [default: --ttl]",
        default: None,
        is_list: false,
        read: |run, text| duration(text).map(|it| run.fault_scale_ns = Some(nanos(it))),
        print: |run, _| Some(run.fault_scale()).filter(|it| *it != run.ttl()).map(time),
    },
    RunOption {
        name: "tick",
        value: "DURATION",
        help: "The tick of the ZooKeeper servers; sessions live 2 to 20 of them [default: a sixth \
               of --ttl]",
        default: None,
        is_list: false,
        read: |run, text| duration(text).map(|it| run.ensemble.tick_ns = Some(nanos(it))),
        print: |run, _| {
            let tick = run.ensemble.tick_ns.map(Duration::from_nanos);
            tick.filter(|it| *it != Timing::of(run.ttl()).tick).map(time)
        },
    },
    RunOption {
        name: "sync-limit",
        value: "N",
        help: "The ticks of silence that end a connection between ZooKeeper servers [default: 2]",
        default: None,
        is_list: false,
        read: |run, text| number(text).map(|it| run.ensemble.sync_limit = Some(it)),
        print: |run, _| {
            let safe = Timing::of(run.ttl()).sync_limit;
            run.ensemble.sync_limit.filter(|it| *it != safe).map(|it| it.to_string())
        },
    },
    RunOption {
        name: "hold",
        value: "DURATION",
        help: "The mean of a short hold; one hold in four is long, as the lock allows. `exact:6s` \
               makes every hold last 6 s",
        default: Some("50ms"),
        is_list: false,
        read: |run, text| length(text).map(|it| run.hold = it),
        print: |run, lock| unusual(run, lock, |run| run.hold.to_string()),
    },
    RunOption {
        name: "think",
        value: "DURATION",
        help: "The mean time between two turns of a worker; `exact:10ms` for exactly that [default: \
               half of --hold]",
        default: None,
        is_list: false,
        read: |run, text| length(text).map(|it| run.think = Some(it)),
        print: |run, _| {
            let usual = RunSpec { think: None, ..run.clone() }.think();
            run.think.filter(|it| *it != usual).map(|it| it.to_string())
        },
    },
    RunOption {
        name: "wait",
        value: "DURATION",
        help: "The longest time that an acquire waits before it gives up [default: long enough for \
               every other worker to have a long hold before it]",
        default: None,
        is_list: false,
        read: |run, text| match duration(text)? {
            Duration::ZERO => Err("an acquire waits for some time: give 1ms or more".into()),
            wait => {
                run.wait_ns = Some(nanos(wait));
                Ok(())
            }
        },
        print: |run, _| run.wait_ns.map(|it| time(Duration::from_nanos(it))),
    },
    RunOption {
        name: "link-delay",
        value: "DURATION",
        help: "Delays each client-server link by this, each way",
        default: Some("0s"),
        is_list: false,
        read: |run, text| duration(text).map(|it| run.link_delay_ns = nanos(it)),
        print: |run, lock| unusual(run, lock, |run| time(run.link_delay())),
    },
    RunOption {
        name: "keys",
        value: "N",
        help: "The number of keys that the clients contend for",
        default: Some("1"),
        is_list: false,
        read: |run, text| number(text).map(|it| run.keys = it),
        print: |run, lock| unusual(run, lock, |run| run.keys.to_string()),
    },
    RunOption {
        name: "demand",
        value: "PROPERTY",
        help: "Holds the lock to properties that it does not promise: availability, herd, \
               reentrancy",
        default: None,
        is_list: true,
        read: |run, text| {
            let all = ExtraPromise::ALL.map(ExtraPromise::property);
            let find = |name: &str| {
                let found = ExtraPromise::ALL.into_iter().find(|it| it.property() == name);
                found.ok_or_else(|| nearest::unknown("property to be demanded", name, &all))
            };
            run.demand = text.split(',').map(find).collect::<Result<_, _>>()?;
            Ok(())
        },
        print: |run, _| {
            let all: Vec<&str> = run.demand.iter().map(|it| it.property()).collect();
            (!all.is_empty()).then(|| all.join(","))
        },
    },
];

/// Returns a value as a flag takes it, if a run of the lock has another unless asked for this one.
fn unusual(run: &RunSpec, lock: &LockInfo, value: fn(&RunSpec) -> String) -> Option<String> {
    let usual = value(&lock.run(&run.nemesis, run.seed));
    Some(value(run)).filter(|value| *value != usual)
}

/// Returns the flags for what differs from the defaults of a lock, each behind a blank.
pub fn flags(run: &RunSpec, lock: &LockInfo) -> String {
    let flag = |option: &RunOption| {
        (option.print)(run, lock).map(|value| format!(" --{} {value}", option.name))
    };
    OPTIONS.iter().filter_map(flag).collect()
}

/// Options of a run as somebody gave them, each with a value that can be read.
#[derive(Clone, Default)]
pub struct GivenOptions(Vec<(&'static RunOption, String)>);

impl GivenOptions {
    /// Adds an option.
    ///
    /// # Errors
    /// Fails when there is no such value, with what to write instead.
    pub fn add(&mut self, option: &'static RunOption, value: String) -> Result<(), String> {
        check(option, &value)?;
        self.0.push((option, value));
        Ok(())
    }

    /// Returns true if the option of this name is among them.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(option, _)| option.name == name)
    }

    /// Returns a run that differs from another one by these options.
    pub fn apply(&self, mut run: RunSpec) -> RunSpec {
        for (option, value) in &self.0 {
            (option.read)(&mut run, value).expect("it was read before");
        }
        run
    }
}

/// Checks that a text is a value of an option.
///
/// # Errors
/// Fails when it is not, with what to write instead.
pub fn check(option: &RunOption, value: &str) -> Result<(), String> {
    (option.read)(&mut RunSpec::new("none", Duration::ZERO, 0), value)
}

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}; write it as 500ms, 2s or 1m30s")]
pub struct NoDuration(humantime::DurationError);

/// Reads a duration.
///
/// # Errors
/// Fails when the text is none.
pub fn parse_duration(text: &str) -> Result<Duration, NoDuration> {
    humantime::parse_duration(text).map_err(NoDuration)
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|why| why.to_string())
}

fn length(text: &str) -> Result<Length, String> {
    text.parse::<Length>().map_err(|why| why.to_string())
}

fn number(text: &str) -> Result<u32, String> {
    text.parse::<u32>().map_err(|why| why.to_string())
}

/// Returns a time as a flag takes it.
pub fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string().replace(' ', "")
}
