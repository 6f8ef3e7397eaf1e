//! The arguments of each command, and what they mean.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

use base::{ExtraPromise, Task};
use stores::{StoreId, Topology};

use crate::ExpectedOutcome;
use crate::nearest::{self, Unlisted};
use crate::plan::{Length, NamedServer, Options, ToxiproxyAt, UNLIMITED};

mod budget;
mod check;
mod exhaustive;
mod explore;
mod suite;
mod sweep;

pub use budget::BudgetArgs;
pub use check::{CHECK_ABOUT, CheckArgs, ExportFormat, InputFormat};
pub use exhaustive::ExhaustiveArgs;
pub use explore::{ExploreArgs, MergeArgs, ReplayArgs, Shard};
pub use suite::{SuiteArgs, SuiteBackend};
pub use sweep::{SweepArgs, TtlRange};

/// The backend of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// Real servers when this machine is ready for them, docker before local, else the simulator.
    Auto,
    /// The simulator: virtual time, replayed exactly by its seed.
    Sim,
    /// Real servers in containers; builds the image when it is missing.
    Docker,
    /// Real servers as child processes on the loopback, from the programs of this machine.
    Local,
}

/// The format of the output on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON object.
    Json,
}

const TEST_EXAMPLES: &str = "Examples:
  picklock test --algo zk-rw --nemesis partition
  picklock test --algo redis-set-nx-px --nemesis pause --backend sim --seed 7
  picklock test --algo redis-setnx-expire --nemesis crash --link-delay 100ms
  picklock test --algo zk-sequential --nemesis partition,crash --backend docker --ttl 4s
  picklock test --algo zk-rw --nemesis crash-server --on zookeeper-x5
  picklock test --algo redis-set-nx-px --script scripts/pause-holder.toml
  picklock test --algo redis-set-nx-px --nemesis pause --backend local
  picklock test --algo redis-set-nx-px --nemesis pause-client --servers server-0=redis.staging:6379
  picklock test --algo redis-set-nx-px --nemesis link-slow --backend local --links toxiproxy=http://127.0.0.1:8474
  picklock test --algo redis-set-nx-px --task try --hold exact:200ms --think exact:0ms
  picklock test --algo redis-set-nx-px --nemesis pause --backend sim --seed 1 --expect violated";

/// The arguments of `test`.
#[derive(Debug, Args)]
#[command(after_help = TEST_EXAMPLES)]
pub struct TestArgs {
    /// The lock under test (`picklock list locks`).
    #[arg(long, value_name = "LOCK")]
    pub algo: String,
    /// The faults (`picklock list nemeses`); several are joined by commas.
    #[arg(long, value_name = "NEMESIS", default_value = "none")]
    pub nemesis: String,
    /// A fault script in the place of nemeses: a TOML file that says what happens when
    /// (docs/scripts.md).
    #[arg(long, value_name = "FILE", conflicts_with = "nemesis")]
    pub script: Option<PathBuf>,
    /// Writes the faults of the run as a fault script, to a file or, alone, to stdout (`-`).
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub print_script: Option<PathBuf>,
    /// The world to run in.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendChoice,
    /// Servers that somebody else runs, in the place of a backend: those of the topology by their names.
    /// Faults hit clients and their links only, and all keys have a name of the run in front and are
    /// removed at the end.
    #[arg(long, value_name = "NAME=HOST:PORT", value_delimiter = ',', conflicts_with = "backend")]
    pub servers: Vec<NamedServer>,
    /// A Toxiproxy server on this machine for the links between clients and servers: it does the faults on
    /// them, as far as it can, instead of picklock's own proxies (a build with the feature `toxiproxy`).
    #[arg(long, value_name = "toxiproxy=URL")]
    pub links: Option<ToxiproxyAt>,
    /// The load on the lock.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Runs the same schedule again. Drawn at random when not given.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Makes the exit code say whether this outcome came: 0 as expected, 1 not as expected,
    /// 2 inconclusive.
    #[arg(long, value_enum)]
    pub expect: Option<ExpectedOutcome>,
    /// The folder in which run folders are made.
    #[arg(long, value_name = "FOLDER", default_value = "store")]
    pub store: PathBuf,
    /// The format of the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The load on the lock: who contends, for how long, over which links.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The topology: the layout of the servers (`picklock list topologies`) [default: the lock's
    /// usual one].
    #[arg(long, value_name = "TOPOLOGY", value_parser = topology)]
    pub on: Option<&'static Topology>,
    /// The task of the clients: the steps of their turns (`picklock list tasks`).
    #[arg(long, value_name = "TASK", value_parser = task, default_value = "contend")]
    pub task: &'static Task,
    /// The number of clients that contend [default: 5; 2 in an exhaustive search].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub clients: Option<u32>,
    /// The time for which faults are injected; a quiet phase follows.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration, default_value = "30s")]
    pub time_limit: Duration,
    /// The lock's time to live, or its session time-out [default: 2s on ZooKeeper,
    /// PostgreSQL and etcd, 4s on other stores].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ttl)]
    pub ttl: Option<Duration>,
    /// The time that the lengths of faults count in, so that they stay when the ttl does not
    /// [default: --ttl].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub fault_scale: Option<Duration>,
    /// The tick of the ZooKeeper servers; sessions live 2 to 20 of them [default: a sixth of
    /// --ttl].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub tick: Option<Duration>,
    /// The ticks of silence that end a connection between ZooKeeper servers [default: 2].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub sync_limit: Option<u32>,
    /// The mean of a short hold; one hold in four is long, as the lock allows. `exact:6s` makes
    /// every hold last 6 s.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, default_value = "50ms")]
    pub hold: Length,
    /// The mean time between two turns of a worker; `exact:10ms` for exactly that [default: half
    /// of --hold].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub think: Option<Length>,
    /// Delays each client-server link by this, each way.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration, default_value = "0s")]
    pub link_delay: Duration,
    /// The number of keys that the clients contend for.
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1)]
    pub keys: u32,
    /// Holds the lock to properties that it does not promise: availability, herd, reentrancy.
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',', value_parser = extra_promise)]
    pub demand: Vec<ExtraPromise>,
}

/// The arguments of `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  picklock list\n  picklock list locks --format json")]
pub struct ListArgs {
    /// The kind of thing to list; everything when not given.
    #[arg(value_enum)]
    pub what: Option<ListWhat>,
    /// The output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

const DOCTOR_EXAMPLES: &str = "Examples:
  picklock doctor
  picklock doctor --format json

Exit codes:
    0  every topology can stand on real servers here
    2  some can only stand in the simulator; the last lines say what to install";

/// The arguments of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub struct DoctorArgs {
    /// The output format.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The arguments of `picklock clean`.
#[derive(Clone, Copy, Debug, Args)]
pub struct CleanArgs {
    /// Also what belongs to a run that cannot be seen from here and may live, as one in another container.
    #[arg(long)]
    pub all: bool,
}

/// The lists of `picklock list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListWhat {
    /// The locks.
    Locks,
    /// The topologies: layouts of servers.
    Topologies,
    /// The tasks of clients.
    Tasks,
    /// The nemeses.
    Nemeses,
    /// The actions of faults, as fault scripts name them.
    Actions,
    /// The targets of faults, as fault scripts name them.
    Targets,
    /// The moments of the lock at which fault scripts let faults come.
    Moments,
    /// The checkers.
    Checkers,
    /// The models that histories are held against.
    Models,
    /// The backends.
    Backends,
}

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}; write it as 500ms, 2s or 1m30s")]
pub(crate) struct NoDuration(humantime::DurationError);

pub(crate) fn duration(text: &str) -> Result<Duration, NoDuration> {
    humantime::parse_duration(text).map_err(NoDuration)
}

fn ttl(text: &str) -> Result<Duration, NoDuration> {
    if text == "unlimited" { Ok(UNLIMITED) } else { duration(text) }
}

fn topology(name: &str) -> Result<&'static Topology, Unlisted> {
    StoreId::topology(name).ok_or_else(|| {
        Unlisted::new("topology", name, StoreId::all_topologies().map(|topology| topology.name))
    })
}

fn task(name: &str) -> Result<&'static Task, Unlisted> {
    workloads::task(name)
        .ok_or_else(|| Unlisted::new("task", name, workloads::TASKS.iter().map(|task| task.name)))
}

/// Returns the promise about the property of this name.
fn extra_promise(name: &str) -> Result<ExtraPromise, String> {
    let found = ExtraPromise::ALL.into_iter().find(|it| it.property() == name);
    found.ok_or_else(|| {
        let known = ExtraPromise::ALL.map(ExtraPromise::property);
        nearest::unknown("property to be demanded", name, &known)
    })
}

impl LoadArgs {
    /// The options of a run under this load.
    pub fn options(&self, algo: &str, nemesis: &str, seed: u64) -> Options {
        let defaults = Options::new(algo, nemesis, seed);
        Options {
            topology: self.on,
            task: self.task,
            clients: self.clients.unwrap_or(defaults.clients),
            time_limit: self.time_limit,
            ttl: self.ttl.unwrap_or(defaults.ttl),
            fault_scale: self.fault_scale,
            tick: self.tick,
            sync_limit: self.sync_limit,
            hold: self.hold,
            think: self.think,
            link_delay: self.link_delay,
            keys: self.keys,
            extra_promises: self.demand.clone(),
            ..defaults
        }
    }
}
