//! `docs/catalogue.md`: which lock is safe against what, what it costs, and why.

use base::units::{digits, span};
use base::{Known, NemesisSpec};
use nemesis::NEMESES;
use picklock::suite::SuiteEntry;
use reports::hazards::with_links;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use workloads::{LOCKS, LockSpec};

use super::code;
use super::counterexamples::{Counterexample, of_entry};
use super::survey::{Figures, Pair, SEEDS, SurveyLine};

const HEAD: &str = "<!-- Made by `cargo xtask pages`; do not edit. -->

# Catalogue: which lock is safe against what, what it costs, and why

Every lock has run under every nemesis in the simulator, ";

const COSTS: &str = "
## What they cost

Five clients contend for one lock without faults, each with short and long holds, over links of about a
millisecond: virtual time, so that the figures compare locks and not machines. The last column is the slowest
grant after the death of a holder, under `crash-client`.

| lock | store | grants a second | acquire, median | acquire, 99 % | messages a grant | free after a death |
| --- | --- | --- | --- | --- | --- | --- |
";

const OVERVIEW: &str = "
## What they bear

✓ held in every schedule; ✗ broken in some; ◐ two believed in some that they held, and the resource was not
harmed; (✗) known to break so, but not in these schedules; ? mostly inconclusive; – cannot be run, as the servers
of the lock know no such fault.

";

/// The nemeses of the overview: one a family.
const COLUMNS: &[&str] = &[
    "none",
    "partition",
    "pause-client",
    "pause-server",
    "crash-client",
    "crash-server",
    "crash-server-lose-data",
    "evict",
    "clock",
    "link",
    "partition-vault",
];

/// The findings of the survey, by lock and nemesis.
struct Found<'a> {
    pairs: BTreeMap<(&'a str, &'a str), &'a Pair>,
    figures: BTreeMap<&'a str, &'a Figures>,
}

/// Makes the page.
pub fn make(
    survey: &[SurveyLine],
    entries: &[SuiteEntry],
    counterexamples: &[Counterexample],
) -> String {
    let mut found = Found { pairs: BTreeMap::new(), figures: BTreeMap::new() };
    for line in survey {
        match line {
            SurveyLine::Pair(pair) => {
                found.pairs.insert((pair.lock.as_str(), pair.nemesis.as_str()), pair);
            }
            SurveyLine::Figures(figures) => {
                found.figures.insert(figures.lock.as_str(), figures);
            }
        }
    }
    let mut text = format!("{HEAD}{SEEDS} schedules a pair.\n{COSTS}");
    for lock in LOCKS {
        text += &costs(lock, found.figures.get(lock.name).copied());
    }
    text += OVERVIEW;
    overview(&mut text, &found);
    for lock in LOCKS {
        section(&mut text, lock, &found, entries, counterexamples);
    }
    text
}

fn costs(lock: &LockSpec, figures: Option<&Figures>) -> String {
    let time = |value: Option<u64>| value.map_or("–".into(), span);
    let number = |value: Option<u64>| value.map_or("–".into(), |n| digits(n as f64 / 1_000.0));
    let of = |get: fn(&Figures) -> Option<u64>| figures.and_then(get);
    format!(
        "| [{0}](#{0}) | {1} | {2} | {3} | {4} | {5} | {6} |\n",
        lock.name,
        lock.lock().topology().name,
        number(of(|it| it.grants_mhz)),
        time(of(|it| it.acquire_median_ns)),
        time(of(|it| it.acquire_99_ns)),
        number(of(|it| it.messages_per_1000_grants)),
        time(of(|it| it.after_death_ns)),
    )
}

fn overview(text: &mut String, found: &Found<'_>) {
    let columns = COLUMNS.iter().map(|column| code(column)).collect::<Vec<_>>().join(" | ");
    let _ = writeln!(text, "| lock | {columns} |\n| --- |{}", " --- |".repeat(COLUMNS.len()));
    for lock in LOCKS {
        let cell = |column: &&str| {
            let nemesis = nemesis::find(column).expect("a nemesis of the list");
            sign(lock, nemesis, found.pairs.get(&(lock.name, nemesis.name)).copied())
        };
        let cells: Vec<&str> = COLUMNS.iter().map(cell).collect();
        let _ = writeln!(text, "| [{0}](#{0}) | {1} |", lock.name, cells.join(" | "));
    }
}

fn sign(lock: &LockSpec, nemesis: &NemesisSpec, pair: Option<&Pair>) -> &'static str {
    match pair {
        None => "–",
        Some(pair) if pair.violated > 0 && is_fenced_off(lock, pair) => "◐",
        Some(pair) if pair.violated > 0 => "✗",
        Some(pair) if pair.inconclusive > pair.held => "?",
        Some(pair) if !causes(lock, nemesis, pair).is_empty() => "(✗)",
        Some(_) => "✓",
    }
}

/// The anomalies of beliefs alone.
const OVERLAPS: &[&str] = &["double hold by ", "reader-writer overlap by "];

/// Returns true if a lock has tokens, and nothing but beliefs overlapped.
fn is_fenced_off(lock: &LockSpec, pair: &Pair) -> bool {
    let of_beliefs = |seen: &String| OVERLAPS.iter().any(|overlap| seen.starts_with(overlap));
    lock.promises.fenced && pair.seen.keys().all(of_beliefs)
}

/// The causes that are known to break a lock under a nemesis, each once. Those that need no fault
/// need a task or a load instead, and count where they were seen.
fn causes(lock: &LockSpec, nemesis: &NemesisSpec, pair: &Pair) -> Vec<&'static str> {
    let was_seen = |known: &Known| {
        pair.seen.contains_key(&format!("{} by {}", known.anomaly, known.cause.name()))
    };
    let known = lock.known().into_iter().filter(|known| match known.cause.needs_fault() {
        true => nemesis.can_cause(known.cause),
        false => was_seen(known),
    });
    let mut causes: Vec<&str> = Vec::new();
    for cause in known.map(|known| known.cause.name()) {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes
}

fn section(
    text: &mut String,
    lock: &LockSpec,
    found: &Found<'_>,
    entries: &[SuiteEntry],
    counterexamples: &[Counterexample],
) {
    let _ = writeln!(text, "\n## {}\n\n{}.", lock.name, lock.summary);
    reasons(text, lock);
    let mut held = Vec::new();
    let mut rows = String::new();
    for nemesis in NEMESES {
        let Some(pair) = found.pairs.get(&(lock.name, nemesis.name)) else { continue };
        let may = causes(lock, nemesis, pair);
        if may.is_empty() && pair.violated + pair.inconclusive == 0 {
            held.push(code(nemesis.name));
            continue;
        }
        let may = if may.is_empty() { "nothing".into() } else { may.join(", ") };
        let links = links(lock, nemesis, counterexamples);
        let _ = writeln!(rows, "| {} | {may} | {} | {links} |", code(nemesis.name), seen(pair));
    }
    if !held.is_empty() {
        let _ = writeln!(text, "\nHeld, as expected, under {}.", held.join(", "));
    }
    if !rows.is_empty() {
        *text +=
            "\n| nemesis | may break by | seen | counterexamples |\n| --- | --- | --- | --- |\n";
        *text += &rows;
    }
    in_suite(text, lock, entries, counterexamples);
}

/// The reasons why a lock breaks, each once.
fn reasons(text: &mut String, lock: &LockSpec) {
    let mut listed: Vec<String> = Vec::new();
    for known in lock.known() {
        if !listed.contains(&known.why) {
            listed.push(known.why);
        }
    }
    if listed.is_empty() {
        return;
    }
    *text += "\nKnown to break it:\n\n";
    for why in listed {
        let _ = writeln!(text, "* {}", linked(&why));
    }
}

/// A reason with links to the stories that it names.
fn linked(why: &str) -> String {
    let text = with_links(why);
    let Some((why, places)) = text.rsplit_once(" (docs/hazards.md") else { return text };
    let place = |place: &str| {
        let number = place.rsplit_once("#h").map_or("", |(_, number)| number);
        format!("[H{number}](hazards.md#h{number})")
    };
    let places: Vec<String> = places.trim_end_matches(')').split(", ").map(place).collect();
    format!("{why} ({})", places.join(", "))
}

fn seen(pair: &Pair) -> String {
    let all = pair.held + pair.violated + pair.inconclusive;
    let mut words = vec![match pair.violated {
        0 => format!("held in {} of {all}", pair.held),
        _ => format!("violated in {} of {all}", pair.violated),
    }];
    if pair.inconclusive > 0 {
        words.push(format!("inconclusive in {}", pair.inconclusive));
    }
    let each = pair.seen.iter().map(|(anomaly, times)| format!("{anomaly} ({times})"));
    words.extend(each);
    words.join(", ")
}

fn links(lock: &LockSpec, nemesis: &NemesisSpec, all: &[Counterexample]) -> String {
    let of = all
        .iter()
        .filter(|it| *it.schedule.algo == *lock.name && it.schedule.run.nemesis == nemesis.name);
    let link = |it: &Counterexample| {
        let anomaly = it.schedule.shows.as_ref().map_or("", |shows| shows.anomaly.as_str());
        format!("[{anomaly}](../counterexamples/{})", it.file)
    };
    of.map(link).collect::<Vec<_>>().join(", ")
}

fn in_suite(
    text: &mut String,
    lock: &LockSpec,
    entries: &[SuiteEntry],
    counterexamples: &[Counterexample],
) {
    let own: Vec<&SuiteEntry> =
        entries.iter().filter(|entry| entry.lock.name() == lock.name).collect();
    if own.is_empty() {
        return;
    }
    *text += "\nIn the suite:\n\n";
    for entry in own {
        let links: Vec<String> =
            of_entry(entry, counterexamples).map(|it| it.link("../")).collect();
        let links =
            if links.is_empty() { String::new() } else { format!(" ({})", links.join(", ")) };
        let real = if entry.real > 0 { ", also on real servers" } else { "" };
        let _ = writeln!(text, "* {}: {}{real}{links}", code(&entry.name), entry.expect);
    }
}
