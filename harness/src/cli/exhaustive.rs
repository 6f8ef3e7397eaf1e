//! The arguments of `explore --exhaustive` beyond those of `explore`.

use clap::{Args, ValueEnum};
use sim::exhaustive::FaultKind;

/// An exhaustive search.
#[derive(Debug, Args)]
#[command(next_help_heading = "Exhaustive search")]
pub struct ExhaustiveArgs {
    /// Takes every interleaving of few clients, in a world without time.
    #[arg(long, conflicts_with_all = DRAWN)]
    pub exhaustive: bool,
    /// The number of times that each client asks for the lock.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "exhaustive")]
    pub cycles: u32,
    /// Places at most so many faults, at every moment.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "exhaustive")]
    pub faults: u32,
    /// The kinds of faults, joined by commas.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "crash,expire,reset",
        requires = "exhaustive"
    )]
    pub kinds: Vec<KindArg>,
    /// Gives up after so many different states.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, requires = "exhaustive")]
    pub states: u64,
}

/// The arguments that belong to schedules that are drawn, and mean nothing here.
const DRAWN: [&str; 11] = [
    "nemesis",
    "seeds",
    "first_seed",
    "jobs",
    "shard",
    "fixed",
    "time-limit",
    "tick",
    "sync-limit",
    "hold",
    "link-delay",
];

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// A client dies.
    Crash,
    /// A ttl or a session runs out though its client lives, as under a pause.
    Expire,
    /// A connection is lost, and the answers on it.
    Reset,
}

impl From<KindArg> for FaultKind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Crash => Self::Crash,
            KindArg::Expire => Self::Expire,
            KindArg::Reset => Self::Reset,
        }
    }
}
