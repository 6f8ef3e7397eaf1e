//! The arguments of `explore`, `merge` and `replay`.

use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;

use base::{LockInfo, RunSpec};

use super::{BackendArg, BudgetArgs, ExhaustiveArgs, Format, LoadArgs, backend};
use crate::explore::SearchPart;

const EXPLORE_EXAMPLES: &str = "Examples:
  picklock explore --algo redis-set-nx-px --nemesis pause --seeds 1000
  picklock explore --algo zk-rw --nemesis partition,crash --seeds 100000 --jobs 8
  picklock explore --algo redis-getset --nemesis pause --until-found
  picklock explore --algo zk-rw-as-printed --shrink
  picklock explore --algo zk-rw --nemesis crash --seeds 100000 --shard 3/16 --out 3.json
  picklock explore --exhaustive --algo zk-sequential --clients 3
  picklock explore --exhaustive --algo redis-setnx-expire --faults 1 --kinds crash

Unless --fixed is given, each seed draws its own configuration: 2 clients up to --clients, short \
or long holds, slow or fast links, some kinds of faults switched off and the others weighted. The \
exit code is that of `test`: 0 when no schedule broke a promise, 2 when most of them cannot tell.

With --exhaustive no schedule is drawn: all of them are taken, in a world without time. The exit \
code is 2 when --states ended the search first.";

/// The arguments of `explore`.
#[derive(Args)]
#[command(after_help = EXPLORE_EXAMPLES)]
pub struct ExploreArgs {
    /// The lock under test (`picklock list locks`).
    #[arg(long, value_name = "LOCK")]
    pub algo: String,
    /// The faults (`picklock list nemeses`); several are joined by commas.
    #[arg(long, value_name = "NEMESIS", default_value = "none")]
    pub nemesis: String,
    /// A fault script in the place of nemeses: each seed follows it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nemesis", "exhaustive"])]
    pub script: Option<PathBuf>,
    /// The number of schedules to search, each from a seed of its own.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub seeds: u64,
    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub first_seed: u64,
    /// The number of threads [default: one per core].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Searches only this part of the seeds, for `merge`: 3/16 is the third of sixteen.
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    pub shard: Shard,
    /// Stops at the first schedule that breaks a promise, and shrinks it.
    #[arg(long)]
    pub until_found: bool,
    /// Shrinks the first schedule of each anomaly to the least that still shows it, and stores it.
    #[arg(long)]
    pub shrink: bool,
    /// The folder in which shrunk schedules are stored.
    #[arg(long, value_name = "FOLDER", default_value = "counterexamples")]
    pub counterexamples: PathBuf,
    /// Runs every seed exactly as `test` does, without a configuration of its own.
    #[arg(long)]
    pub fixed: bool,
    /// The load on the lock.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Writes the result to a file as well, as JSON.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The format of the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
    /// All schedules instead of many.
    #[command(flatten)]
    pub exhaustive: ExhaustiveArgs,
}

impl ExploreArgs {
    /// Returns the run of the first seed; the others differ in their seed alone.
    pub fn run(&self, lock: &LockInfo) -> RunSpec {
        let run = self.load.run(lock, &self.nemesis, self.first_seed);
        RunSpec { swarm: !self.fixed, ..run }
    }
}

const MERGE_EXAMPLES: &str = "Examples:
  picklock merge shards/*.json
  picklock merge 1.json 2.json --format json --out all.json";

/// The arguments of `merge`.
#[derive(Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub struct MergeArgs {
    /// Results of `explore --out`, of the same lock, nemesis, settings and version.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Writes the sum to a file as well, as JSON.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The limits on time and memory.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// The format of the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

const REPLAY_EXAMPLES: &str = "Examples:
  picklock replay counterexamples/redis-set-nx-px+pause+double-hold.json
  picklock replay counterexamples/redis-set-nx-px+pause+double-hold.json --backend docker
  picklock replay store/latest
  picklock replay 17 --algo zk-rw-as-printed";

/// The arguments of `replay`.
#[derive(Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub struct ReplayArgs {
    /// A schedule file, a run folder, or a seed of `explore`.
    #[arg(value_name = "FILE|RUN|SEED")]
    pub what: String,
    /// The world to run in: the simulator, exactly, or real servers, with the same faults at the
    /// same moments in the life of the lock.
    #[arg(long, value_name = "BACKEND", value_parser = backend(), default_value = "sim")]
    pub backend: BackendArg,
    /// For a seed: the lock.
    #[arg(long, value_name = "LOCK")]
    pub algo: Option<String>,
    /// For a schedule of a lock of your own: its definition file (docs/own-lock.md). Such a lock
    /// runs on real servers only.
    #[arg(long, value_name = "FILE", conflicts_with = "algo")]
    pub lock: Option<PathBuf>,
    /// For a seed: the faults; several are joined by commas.
    #[arg(long, value_name = "NEMESIS", default_value = "none")]
    pub nemesis: String,
    /// For a seed: a fault script in the place of nemeses.
    #[arg(long, value_name = "FILE", conflicts_with = "nemesis")]
    pub script: Option<PathBuf>,
    /// For a seed: as `explore --fixed` ran it.
    #[arg(long)]
    pub fixed: bool,
    /// For a seed: the load on the lock.
    #[command(flatten)]
    pub load: LoadArgs,
    /// The limits on time and memory. Real servers take the time that a schedule takes.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// The folder in which run folders are made.
    #[arg(long, value_name = "FOLDER", default_value = "store")]
    pub store: PathBuf,
    /// The format of the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// A part of the seeds: the `number`th of `of`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// This part of these seeds.
    pub fn part(self, whole: std::ops::Range<u64>) -> SearchPart {
        SearchPart { whole, shard: self.number, of: self.of }
    }
}

/// A text that is no part of the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write it as 3/16: the third of sixteen")]
pub struct NoShard;

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err(NoShard),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_every_seed_once() {
        for (seeds, of) in [(10_000, 16), (7, 3), (2, 5), (0, 4), (u64::MAX, 3)] {
            let mut next = 0;
            for number in 1..=of {
                let part = Shard { number, of }.part(0..seeds).seeds();
                assert_eq!(part.start, next);
                next = part.end;
            }
            assert_eq!(next, seeds);
        }
    }

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!("3/16".parse(), Ok(Shard { number: 3, of: 16 }));
        for wrong in ["", "3", "0/4", "5/4", "a/b", "1/0", "-1/4", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
