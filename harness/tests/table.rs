//! The table in the simulator: 400 seeds a row. A row that must be violated is found by at least
//! one seed in ten, a row that must hold by no seed at all; the first seeds are run twice, and give
//! the same history both times.
//!
//! `PICKLOCK_SEEDS` sets another number of seeds.

mod rows;

use libtest_mimic::{Arguments, Failed, Trial};
use picklock::simulate;
use rows::{Must, Row, SIMULATED, TABLE};
use std::process::ExitCode;
use std::time::Duration;

const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The number of seeds that are run twice.
const TWICE: u64 = 100;

fn seeds() -> u64 {
    std::env::var("PICKLOCK_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

/// The numbers of seeds that did what the row demands, that did not, and that could not tell.
#[derive(Default)]
struct Count {
    fits: u64,
    misfits: u64,
    unclear: u64,
    first_misfit: Option<u64>,
}

fn count(row: &Row) -> Count {
    let mut count = Count::default();
    for seed in 0..seeds() {
        let run = if seed < TWICE { simulate::run_twice } else { simulate::run };
        let run = run(&row.setup(seed, TIME_LIMIT));
        let run = run.unwrap_or_else(|error| panic!("{}: {error}", row.name()));
        match row.judge(&run).0 {
            Some(true) => count.fits += 1,
            Some(false) => {
                count.misfits += 1;
                count.first_misfit.get_or_insert(seed);
            }
            None => count.unclear += 1,
        }
    }
    count
}

/// Says what is wrong with a row, if anything is.
fn check(row: &Row) -> Result<(), Failed> {
    let Count { fits, misfits, unclear, first_misfit } = count(row);
    println!("{}: {fits} as demanded, {misfits} not, {unclear} unclear", row.name());
    let wrong = match row.must {
        Must::Hold if misfits > 0 => format!("violated, first by seed {first_misfit:?}"),
        Must::Hold if unclear * 20 > seeds() => format!("{unclear} seeds could not tell"),
        Must::Show(_) | Must::Fence(_) if fits * 10 < seeds() => {
            format!("caught by {fits} of {} seeds only", seeds())
        }
        _ => return Ok(()),
    };
    Err(wrong.into())
}

/// Every row is a test of its own, so that they run side by side and fail one by one.
fn main() -> ExitCode {
    let rows = TABLE.iter().chain(SIMULATED);
    let tests = rows.map(|row| Trial::test(row.name(), || check(row))).collect();
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}
