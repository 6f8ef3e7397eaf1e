//! The benchmark of the checkers: every row is measured, and says what its history is made to show.

#[path = "../benches/check/rows/mod.rs"]
mod rows;

use rows::{Extent, ROWS};

/// The rows whose histories are wrong.
const ILLEGAL: [&str; 6] = [
    "sweep-violation",
    "sweep-late",
    "search-mutex-late",
    "search-mutex-doubt",
    "search-rw-30-clients",
    "search-register-late",
];

#[test]
fn every_row_finds_what_its_history_shows() {
    let extent = Extent { operations: 2_000, rounds: 1 };
    for row in ROWS {
        let figures = (row.measure)(&extent).unwrap_or_else(|error| panic!("{error:#}"));
        let json = figures.json(row, &extent);
        assert!(json["operations"].as_u64().is_some_and(|n| n >= 1_000), "{json}");
        let verdict = if ILLEGAL.contains(&row.name) { "illegal" } else { "legal" };
        assert_eq!(json["verdict"], verdict, "{json}");
        assert!(figures.line(row).contains(verdict), "{json}");
        let ratio = json["ratio_to_sweep"].as_f64();
        assert_eq!(ratio.is_some_and(|it| it > 0.0), row.name == "all-checkers", "{json}");
    }
}
