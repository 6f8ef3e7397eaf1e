//! The arguments of each command, and what they mean.

use base::ToxiproxyAt;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

mod backend;
mod budget;
mod check;
mod client;
mod exhaustive;
mod expected;
mod explore;
mod load;
mod lock;
mod servers;
mod suite;
mod survey;
mod sweep;

pub use backend::{AUTO_SUMMARY, BackendArg, SuiteBackendArg, backend, suite_backend};
pub use budget::BudgetArgs;
pub use check::{CHECK_ABOUT, CheckArgs, ExportFormat, InputFormat};
pub use client::{ClientArgs, ClientCheckArgs, ClientCommands};
pub use exhaustive::ExhaustiveArgs;
pub use expected::ExpectedOutcome;
pub use explore::{ExploreArgs, MergeArgs, ReplayArgs, Shard};
pub use load::{LoadArgs, SweepLoadArgs};
pub use lock::LockArgs;
pub use servers::ServersArgs;
pub use suite::SuiteArgs;
pub use survey::SurveyArgs;
pub use sweep::{SweepArgs, TtlRange};

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
  picklock test --client \"python3 my_lock.py\" --on redis --promises recovers --nemesis pause
  picklock test --lock my-lock.toml --nemesis crash-client
  picklock test --algo redis-set-nx-px --nemesis pause-client --servers server-0=redis.staging:6379
  picklock test --algo redis-set-nx-px --nemesis link-slow --backend local --links toxiproxy=http://127.0.0.1:8474
  picklock test --algo redis-set-nx-px --task try --hold exact:200ms --think exact:0ms
  picklock test --algo redis-set-nx-px --nemesis pause --backend sim --seed 1 --expect violated";

/// The arguments of `test`.
#[derive(Args)]
#[command(after_help = TEST_EXAMPLES)]
pub struct TestArgs {
    /// The lock under test.
    #[command(flatten)]
    pub lock: LockArgs,
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
    #[arg(long, value_name = "BACKEND", value_parser = backend(), default_value = "auto")]
    pub backend: BackendArg,
    /// Servers in the place of a backend.
    #[command(flatten)]
    pub servers: ServersArgs,
    /// Observes the servers of --servers, too, so that a report names exact causes. For as long as
    /// the run lasts, a Redis tells of all commands (MONITOR) and of all changes to its keys
    /// (notify-keyspace-events), a memcached of all that is looked for and stored (watch), an etcd
    /// of all changes (a watch), and a ZooKeeper of changes below the node of the run (a watch; 3.6
    /// or later). Programs are not seen that talk gRPC to an etcd.
    #[arg(long, requires = "servers")]
    pub observe: bool,
    /// A Toxiproxy server on this machine for the links between clients and servers: it does the
    /// faults on them, as far as it can, instead of picklock's own proxies (a build with the
    /// feature `toxiproxy`).
    #[arg(long, value_name = "toxiproxy=URL")]
    pub links: Option<ToxiproxyAt>,
    /// The load on the lock.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Takes just this schedule. Without it, one is drawn at random on real servers, and the
    /// simulator tries 200 in about a second and shows the first that breaks a promise.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The memory that a run in the simulator may take; one that takes more is ended.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = budget::size, default_value = "4GiB")]
    pub memory_budget: usize,
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
    /// Also what belongs to a run that cannot be seen from here and may live, as one in another
    /// container.
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
    /// The promises of a lock of one's own, as --promises takes them.
    Promises,
    /// The checkers.
    Checkers,
    /// The models that histories are held against.
    Models,
    /// The backends.
    Backends,
}
