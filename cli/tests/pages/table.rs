//! The table of the README: the suite in short.

use base::RunSpec;
use picklock::options::flags;
use picklock::suite::SuiteEntry;
use std::fmt::Write as _;

use super::code;

/// The lines between which the table stands.
const BEGIN: &str = "<!-- table: cargo xtask pages -->\n";
const END: &str = "<!-- end of table -->\n";

/// Entries that differ in their locks alone.
struct TableRow<'a> {
    locks: Vec<&'a str>,
    faults: String,
    expected: String,
    real: bool,
}

/// Returns the README with the table of these entries.
pub fn make(readme: &str, entries: &[SuiteEntry]) -> String {
    let (before, rest) = readme.split_once(BEGIN).expect("the table has a begin");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    format!("{before}{BEGIN}\n{}\n{END}{after}", table(entries))
}

fn table(entries: &[SuiteEntry]) -> String {
    let mut rows: Vec<TableRow<'_>> = Vec::new();
    for entry in entries {
        let (faults, expected) = (faults(entry), expected(entry));
        let real = entry.real > 0;
        let alike = |row: &&mut TableRow<'_>| {
            row.faults == faults && row.expected == expected && row.real == real
        };
        match rows.iter_mut().find(alike) {
            Some(row) if row.locks.contains(&entry.lock.name()) => {}
            Some(row) => row.locks.push(entry.lock.name()),
            None => rows.push(TableRow { locks: vec![entry.lock.name()], faults, expected, real }),
        }
    }
    let mut text: String =
        "| locks | faults | expected | real servers |\n| --- | --- | --- | --- |\n".into();
    for TableRow { locks, faults, expected, real } in rows {
        let locks = locks.into_iter().map(code).collect::<Vec<_>>().join(", ");
        let real = if real { "yes" } else { "" };
        let _ = writeln!(text, "| {locks} | {faults} | {expected} | {real} |");
    }
    text
}

fn faults(entry: &SuiteEntry) -> String {
    let (nemesis, lock) = (code(&entry.run.nemesis), &entry.lock.info);
    let time_limit_ns = lock.run("none", 0).time_limit_ns;
    let flags = flags(&RunSpec { time_limit_ns, ..entry.run.clone() }, lock);
    if flags.is_empty() { nemesis } else { format!("{nemesis} {}", code(flags.trim())) }
}

fn expected(entry: &SuiteEntry) -> String {
    match entry.expect.is_violation() {
        true => format!("violated: {}", entry.expect),
        false => entry.expect.to_string(),
    }
}
