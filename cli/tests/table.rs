//! The table in the simulator. A row that must be violated is found by at least one seed in ten (or
//! by one at all, if the suite says that it is rare); the first seeds are run twice, and give the
//! same history both times. That a row which must hold is violated by no seed at all is seen here
//! on a few seeds only: the gate (`picklock suite suites/seeds.toml`) takes hundreds.
//!
//! `PICKLOCK_SEEDS` sets another number of seeds for all rows.

mod rows;

use libtest_mimic::{Arguments, Failed, Trial};
use picklock::simulate;
use picklock::suite::SuiteEntry;
use rows::{judge, rows};
use std::process::ExitCode;

/// The number of seeds that are run twice.
const TWICE: u64 = 10;

fn seeds(row: &SuiteEntry) -> u64 {
    let given = std::env::var("PICKLOCK_SEEDS").ok().and_then(|n| n.parse().ok());
    given.unwrap_or(match row.expect.is_violation() {
        true if row.rare => row.seeds.max(200),
        true => 100,
        false => TWICE,
    })
}

/// The numbers of seeds that did what the row demands, that did not, and that could not tell.
#[derive(Default)]
struct Count {
    fits: u64,
    misfits: u64,
    unclear: u64,
    first_misfit: Option<u64>,
}

fn count(row: &SuiteEntry) -> Count {
    let mut count = Count::default();
    for seed in 0..seeds(row) {
        let run = if seed < TWICE { simulate::run_twice } else { simulate::run };
        let run = run(&row.simulated(seed).unwrap_or_else(|error| panic!("{error}")));
        let run = run.unwrap_or_else(|error| panic!("{}: {error}", row.name));
        match judge(row, &run).0 {
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
fn check(row: &SuiteEntry) -> Result<(), Failed> {
    let Count { fits, misfits, unclear, first_misfit } = count(row);
    println!("{}: {fits} as demanded, {misfits} not, {unclear} unclear", row.name);
    let seeds = seeds(row);
    let least = if row.rare { 1 } else { seeds / 10 };
    let wrong = match row.expect.is_violation() {
        true if fits < least => format!("caught by {fits} of {seeds} seeds only"),
        false if misfits > 0 => format!("violated, first by seed {first_misfit:?}"),
        false if unclear * 20 > seeds => format!("{unclear} seeds could not tell"),
        _ => return Ok(()),
    };
    Err(wrong.into())
}

/// Every row is a test of its own, so that they run side by side and fail one by one.
fn main() -> ExitCode {
    let tests = rows().into_iter().map(|row| Trial::test(row.name.clone(), move || check(&row)));
    libtest_mimic::run(&Arguments::from_args(), tests.collect()).exit_code()
}
