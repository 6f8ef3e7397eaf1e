//! `docs/hazards.md`: every hazard with its story, what shows it, and what is clean of it.

use checkers::Judgement;
use picklock::schedule::Schedule;
use picklock::simulate;
use picklock::suite::{SuiteEntry, search};
use reports::hazards::{HAZARDS, Hazard, named};
use reports::html::picture_file;
use reports::interpretation::sentence;
use std::fmt::Write as _;

use super::counterexamples::{Counterexample, of_entry};
use super::{Pages, code};

const HEAD: &str = "<!-- Made by `cargo xtask pages`; do not edit. -->

# Hazards of distributed locks

Each of these is a way in which locks break. A hazard is *shown* by an entry of the suite that must find it,
and the *clean* entries beside it must never break the property that it is about. A counterexample is a
schedule, shrunk to what matters, that `picklock replay` runs again step by step. `picklock suite
suites/seeds.toml --filter H7` runs the entries of one hazard. A schedule is a seed, from 0 on.

";

/// Makes the page, and the pictures that it shows, each by its path.
pub fn make(entries: &[SuiteEntry], counterexamples: &[Counterexample], pages: &mut Pages) {
    let mut text = HEAD.to_owned();
    for hazard in HAZARDS {
        let _ = writeln!(text, "* [{}: {}](#h{})", hazard.name(), hazard.title, hazard.number);
    }
    for hazard in HAZARDS {
        text += &section(hazard, entries, counterexamples, pages);
    }
    pages.insert("docs/hazards.md".into(), text);
}

fn section(
    hazard: &Hazard,
    entries: &[SuiteEntry],
    counterexamples: &[Counterexample],
    pages: &mut Pages,
) -> String {
    let name = hazard.name();
    let mut text = format!(
        "\n<a id=\"h{}\"></a>\n## {name}: {}\n\n{}\n\nFrom {}.\n",
        hazard.number,
        hazard.title,
        hazard.story,
        hazard.source.words()
    );
    let about = |entry: &&SuiteEntry| entry.hazards.contains(&name);
    let (shown, clean): (Vec<&SuiteEntry>, Vec<&SuiteEntry>) =
        entries.iter().filter(about).partition(|entry| entry.expect.is_violation());
    let found = of_hazard(hazard, &shown, counterexamples);
    if let Some((picture, words)) = found.iter().find_map(|it| picture(it)) {
        let path = format!("pictures/h{}.svg", hazard.number);
        let _ = writeln!(text, "\n![{name}: who held the lock when]({path})\n\n> {words}");
        pages.insert(format!("docs/{path}"), picture);
    }
    listed(&mut text, "Shown by", shown.iter().map(|entry| line(entry)));
    let commands = hazard.commands.iter().map(|command| code(command));
    listed(&mut text, "Also shown by", commands);
    if shown.is_empty() && hazard.commands.is_empty() {
        text += match found.is_empty() {
            true => {
                "\nNothing is expected to break by it: the entries below are held against it.\n"
            }
            false => "\nNo entry of the suite searches for it; its counterexamples show it.\n",
        };
    }
    let links = found.iter().map(|it| format!("{}: `{}`", it.link("../"), it.command()));
    listed(&mut text, "Counterexamples", links);
    listed(&mut text, "Clean of it", clean.iter().map(|entry| line(entry)));
    text
}

/// Finds the counterexamples of a hazard: those of the entries that show it, then those whose
/// reason names it first.
fn of_hazard<'a>(
    hazard: &Hazard,
    shown: &[&SuiteEntry],
    all: &'a [Counterexample],
) -> Vec<&'a Counterexample> {
    let of_entries = shown.iter().flat_map(|entry| of_entry(entry, all));
    let of_reasons = all.iter().filter(|it| {
        let why = it.why();
        why.is_some_and(|why| named(&why).first().is_some_and(|first| *first == hazard))
    });
    let mut found: Vec<&Counterexample> = Vec::new();
    for it in of_entries.chain(of_reasons) {
        if !found.iter().any(|other| other.file == it.file) {
            found.push(it);
        }
    }
    found
}

/// Draws the witness of a counterexample, and tells it.
fn picture(counterexample: &Counterexample) -> Option<(String, String)> {
    let Schedule { shows, .. } = &counterexample.schedule;
    let shows = shows.as_ref()?;
    let run = simulate::replay(&counterexample.lock, &counterexample.schedule)
        .expect("the simulator runs");
    let verdicts = Judgement::of(&run).verdicts;
    let of = verdicts.iter().filter(|verdict| verdict.property == shows.property);
    let anomaly = of.flat_map(|verdict| &verdict.anomalies).find(|anomaly| {
        anomaly.name == shows.anomaly
            && shows.cause.is_none_or(|cause| anomaly.cause.contains(cause))
    });
    let anomaly = anomaly?;
    Some((picture_file(&run, anomaly)?, sentence(&anomaly.explanation)))
}

/// An entry with what is expected of it, how soon that is found, and where it runs.
fn line(entry: &SuiteEntry) -> String {
    let real = match entry.real {
        0 => "",
        _ => ", also on real servers",
    };
    let found = found(entry).map_or(String::new(), |schedules| match schedules {
        1 => ", found by the first schedule".into(),
        _ => format!(", found by schedule {schedules}"),
    });
    format!("{}: {}{found}{real}", code(&entry.name), entry.expect)
}

/// The number of schedules until an entry that must break has shown all that is expected of it.
fn found(entry: &SuiteEntry) -> Option<u64> {
    if !entry.expect.is_violation() {
        return None;
    }
    let setup = |seed| entry.simulated(seed);
    let found = search(entry, entry.seeds, setup, simulate::run).expect("the simulator runs");
    Some(found.outcome.schedules)
}

fn listed(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.map(|line| format!("* {line}\n")).collect();
    if !lines.is_empty() {
        let _ = write!(text, "\n{title}:\n\n{lines}");
    }
}
