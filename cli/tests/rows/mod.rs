//! The table: the entries of `suites/seeds.toml`, which say what lock keeps its promise under which
//! nemesis, and which must be caught. Both worlds are held against the same entries.

#![allow(dead_code, reason = "each of the tests has a use for some of it")]

use base::Run;
use checkers::Judgement;
use picklock::suite::{Fit, Suite, SuiteEntry};
use std::path::Path;

/// All entries, in order.
pub fn rows() -> Vec<SuiteEntry> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites");
    let text = std::fs::read_to_string(folder.join("seeds.toml")).expect("the suite is there");
    Suite::read("suites/seeds.toml", &text, &folder).unwrap_or_else(|e| panic!("{e}")).entries
}

/// Returns true if a run does what its entry demands, all at once, and `None` when it cannot tell.
pub fn judge(row: &SuiteEntry, run: &Run) -> (Option<bool>, Judgement) {
    let judgement = Judgement::of(run);
    let shown =
        |judgement| row.expect.anomalies().all(|(property, it)| it.is_in(property, judgement));
    let fits = match row.expect.fit(&run.info, &judgement) {
        Fit::Misfit(_) => Some(false),
        // What shows an anomaly need not be clear of what another property says.
        _ if row.expect.is_violation() => Some(shown(&judgement)),
        Fit::Fits => Some(true),
        Fit::Unclear(_) => None,
    };
    (fits, judgement)
}
