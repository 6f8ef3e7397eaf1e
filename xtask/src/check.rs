//! `cargo xtask check`: what is worth knowing before the next line is written. `./test.sh` is the
//! whole thing.

#![expect(clippy::disallowed_methods, reason = "tells how long it took")]

use std::time::Instant;

use crate::changed;
use crate::shell::{Program, Result, cargo};

/// The number of schedules of each row: enough to see all that must break, but for what is rare.
const SEEDS: &str = "50";

/// Runs all steps, and stops at the first that fails.
pub fn run() -> Result<()> {
    let begun = Instant::now();
    step("formatting", cargo(&["fmt", "--all", "--", "--check"]))?;
    let changed = changed::packages()?;
    if changed.is_empty() {
        println!("== no package differs from the main branch");
    } else {
        let packages: Vec<&str> = changed.iter().flat_map(|it| ["--package", it]).collect();
        let names = changed.join(", ");
        step(&format!("lints of {names}"), lints(&packages))?;
        let tests = cargo(&["test", "--quiet", "--lib", "--bins"]).args(&packages);
        step(&format!("unit tests of {names}"), tests)?;
    }
    println!("== the table in the simulator");
    table().run_silently()?;
    println!("== passed in {:.0} s; ./test.sh is the whole thing", begun.elapsed().as_secs_f32());
    Ok(())
}

fn step(name: &str, program: Program) -> Result<()> {
    println!("== {name}");
    program.run()
}

fn lints(packages: &[&str]) -> Program {
    cargo(&["clippy", "--quiet", "--all-targets"]).args(packages).args(&["--", "-D", "warnings"])
}

fn table() -> Program {
    let suite = ["suite", "suites/seeds.toml", "--seeds", SEEDS, "--store", "target/store"];
    cargo(&["run", "--quiet", "--release", "--package", "picklock-cli", "--"]).args(&suite)
}
