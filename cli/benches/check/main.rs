//! Measures how fast histories are judged, one line a row: `cargo xtask bench check`.
//!
//! The histories are made first and stand in memory. Each row is measured in several rounds, and
//! the least processor time is reported, since whatever else the machine does can only add to it.
//! Compare rows of one run, not seconds of two machines.

// The allocator of `picklock` itself.
use allocator as _;
use clap::Parser;
use clap::builder::PossibleValuesParser;

use rows::{Extent, ROWS};

mod rows;

const NOTES: &str =
    "`bytes/op` is the memory that judging takes beyond the history; of the whole command, all
that it takes. Searches are measured on a tenth of the operations.";

/// Measures how fast histories are judged.
#[derive(Parser)]
#[command(after_help = NOTES)]
struct BenchArgs {
    /// The row; all of them when not given.
    #[arg(long, value_name = "NAME", value_parser = names())]
    row: Option<String>,
    /// The number of acquires and releases in the histories of the line sweep.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    operations: u64,
    /// The number of rounds, of which the best is reported.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(ROWS.iter().map(|row| row.name))
}

fn main() -> anyhow::Result<()> {
    let args = BenchArgs::parse();
    let extent = Extent { operations: args.operations, rounds: args.rounds };
    if !args.json {
        let [row, operations, ms, each, bytes] =
            ["row", "operations", "ms of CPU", "ns/op", "bytes/op"];
        println!("{row:<26} {operations:>10} {ms:>10} {each:>8} {bytes:>9}  verdict");
    }
    let chosen = |name: &str| args.row.as_deref().is_none_or(|row| row == name);
    for row in ROWS.iter().filter(|row| chosen(row.name)) {
        let figures = (row.measure)(&extent)?;
        match args.json {
            true => println!("{}", figures.json(row, &extent)),
            false => println!("{}", figures.line(row)),
        }
    }
    Ok(())
}
