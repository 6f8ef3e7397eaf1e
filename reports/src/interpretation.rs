//! The meaning of the verdicts for this lock under this nemesis: was it to be expected, and the one
//! line that says how the run ended.

use crate::facts::HistoryFacts;
use crate::hazards::{self, Hazard};
use crate::units::{Precision, moment};
use base::{Anomaly, Known, Outcome, Run, RunInfo, Verdict};

/// One anomaly that was seen, with what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Breach<'a> {
    /// The property that it breaks.
    pub property: &'a str,
    /// The anomaly that was seen.
    pub anomaly: &'a Anomaly,
    /// The entry of the known anomaly, if it is no surprise.
    pub known: Option<&'a Known>,
}

/// The anomalies of a run, in the order of the verdicts.
pub fn breaches<'a>(info: &'a RunInfo, verdicts: &'a [Verdict]) -> Vec<Breach<'a>> {
    let of_verdict = |v: &'a Verdict| {
        v.anomalies.iter().map(move |anomaly| Breach {
            property: &v.property,
            anomaly,
            known: known(info, anomaly),
        })
    };
    verdicts.iter().flat_map(of_verdict).collect()
}

/// Returns the row of the lock that expects an anomaly: one of its name, by the first of the causes
/// that it can have. An anomaly of which no cause is known is never expected.
fn known<'a>(info: &'a RunInfo, anomaly: &Anomaly) -> Option<&'a Known> {
    let of =
        |cause| info.lock.known.iter().find(|it| it.anomaly == anomaly.name && it.cause == cause);
    anomaly.cause.iter().find_map(of)
}

/// The relation of a run's outcome to what is known of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surprise {
    /// Broken, and known to break so.
    Expected,
    /// Broken in a way that is not known.
    Unexpected,
    /// No promise was broken.
    None,
}

/// Decides whether these breaches were to be expected.
pub fn surprise(outcome: Outcome, breaches: &[Breach<'_>]) -> Surprise {
    match outcome {
        Outcome::Violated if breaches.is_empty() => Surprise::Unexpected,
        Outcome::Violated if breaches.iter().all(|b| b.known.is_some()) => Surprise::Expected,
        Outcome::Violated => Surprise::Unexpected,
        _ => Surprise::None,
    }
}

/// Tells whether a breach was to be expected, in two parts: the answer, and why.
pub fn expectation(breach: &Breach<'_>) -> (&'static str, String) {
    let cause = breach.anomaly.cause;
    match breach.known {
        Some(known) => {
            let why = sentence(&hazards::with_links(&known.why));
            let because = if cause.only().is_some() { "because" } else { "by" };
            ("Expected", format!("{because} {cause}. {why}"))
        }
        None if cause.is_unknown() => {
            ("Not expected", "of this lock, and its cause could not be found.".to_owned())
        }
        None => ("Not expected", format!("of this lock: {cause}.")),
    }
}

/// An explanation as a sentence: checkers write it in lower case and without a full stop.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.chars();
    let mut sentence: String =
        chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect());
    if !text.is_empty() && !text.ends_with(['.', '!', '?', ':']) {
        sentence.push('.');
    }
    sentence
}

/// Returns the title of a run: "redis-set-nx-px under pause, backend sim".
pub fn title(info: &RunInfo) -> String {
    match info.run.nemesis.as_str() {
        "none" => format!("{} without faults, backend {}", info.lock.name, info.backend),
        nemesis => format!("{} under {nemesis}, backend {}", info.lock.name, info.backend),
    }
}

/// The outcome in one word, as a headline says it.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "held",
        Outcome::Violated => "violated",
        Outcome::Inconclusive => "inconclusive",
        Outcome::NotApplicable => "not applicable",
        Outcome::Measured => "measured",
    }
}

/// Returns the notes that must not be overlooked when the verdict is read.
pub fn notes(run: &Run, facts: &HistoryFacts<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if run.history.events().is_empty() {
        notes.push("Nothing was recorded: the history is empty.".into());
    } else if !facts.stopped {
        let end = moment(facts.end, Precision::Millis);
        notes.push(format!("The history was cut off: it ends at {end}, before its run did."));
    }
    notes
}

/// The last word on a run: "double hold — a known weakness of this lock (H7: …)". The outcome
/// itself stands before it.
pub fn last_word(info: &RunInfo, verdicts: &[Verdict], outcome: Outcome) -> String {
    match outcome {
        Outcome::Violated => violated(info, verdicts),
        Outcome::Inconclusive => inconclusive(verdicts),
        Outcome::Held => String::new(),
        Outcome::NotApplicable | Outcome::Measured => {
            "the lock makes no promise that could be checked".into()
        }
    }
}

fn violated(info: &RunInfo, verdicts: &[Verdict]) -> String {
    let breaches = breaches(info, verdicts);
    if breaches.is_empty() {
        return first_summary(verdicts, Outcome::Violated);
    }
    let surprises: Vec<&str> = names(breaches.iter().filter(|b| b.known.is_none()));
    let all = names(breaches.iter());
    if surprises.is_empty() {
        let weakness = "a known weakness of this lock";
        return format!("{} — {weakness}{}", all.join(", "), hazards_behind(&breaches));
    }
    if surprises.len() == all.len() {
        return format!("{} — not expected of this lock", all.join(", "));
    }
    format!("{} — not expected of this lock: {}", all.join(", "), surprises.join(", "))
}

/// Explains why the run decides nothing, and what a run would need to decide.
fn inconclusive(verdicts: &[Verdict]) -> String {
    let why = first_summary(verdicts, Outcome::Inconclusive);
    let mut advice: Vec<&str> = Vec::new();
    for verdict in verdicts.iter().filter(|v| v.decisive && v.outcome == Outcome::Inconclusive) {
        for needed in &verdict.advice {
            if !advice.contains(&needed.as_str()) {
                advice.push(needed);
            }
        }
    }
    if advice.is_empty() { why } else { format!("{why}; give it {}", advice.join(", ")) }
}

fn names<'a>(breaches: impl Iterator<Item = &'a Breach<'a>>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in breaches.map(|breach| breach.anomaly.name.as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The hazards behind the known breaches, each once: " (H7: …, docs/hazards.md#h7)".
fn hazards_behind(breaches: &[Breach<'_>]) -> String {
    let known: Vec<&str> =
        breaches.iter().filter_map(|it| it.known).map(|it| it.why.as_str()).collect();
    // The first that a reason names is the one that it is about.
    let mut found: Vec<&Hazard> = Vec::new();
    for hazard in known.iter().filter_map(|why| hazards::named(why).first().copied()) {
        if !found.contains(&hazard) {
            found.push(hazard);
        }
    }
    let describe = |it: &Hazard| format!("{}: {}, {}", it.name(), it.title, it.link());
    let lines: Vec<String> = found.into_iter().map(describe).collect();
    if lines.is_empty() { String::new() } else { format!(" ({})", lines.join("; ")) }
}

/// Explains whether each breach was to be expected, and why: a reason that was given before is only
/// referred to.
pub fn expectations(breaches: &[Breach<'_>]) -> Vec<(&'static str, String)> {
    let mut given: Vec<String> = Vec::new();
    let mut once = |breach: &Breach<'_>| {
        let (head, why) = expectation(breach);
        if breach.known.is_none() {
            return (head, why);
        }
        if given.contains(&why) {
            let first = hazards::named(&why).first().map(|hazard| hazard.summary());
            let hazard = first.map_or(String::new(), |summary| format!(", {summary}"));
            return ("Expected", format!("for the same reason as above{hazard}."));
        }
        given.push(why.clone());
        (head, why)
    };
    breaches.iter().map(&mut once).collect()
}

fn first_summary(verdicts: &[Verdict], outcome: Outcome) -> String {
    let first = verdicts.iter().find(|v| v.outcome == outcome && v.decisive);
    first.map_or_else(String::new, |v| format!("{}: {}", v.property, v.summary))
}

/// The verdicts in groups for a reader: in detail those that say something about the run, and by
/// their names alone all others.
#[derive(Debug)]
pub struct Grouped<'a> {
    /// Each with its summary, in the order of the verdicts.
    pub detailed: Vec<&'a Verdict>,
    /// The properties that are inconclusive and not decisive: the run gave them no chance.
    pub untested: Vec<&'a Verdict>,
    /// The lock makes no such promise.
    pub not_applicable: Vec<&'a Verdict>,
}

/// Groups verdicts. One that would be alone in its group is detailed: a group of one saves nothing.
pub fn grouped(verdicts: &[Verdict]) -> Grouped<'_> {
    let untested = |v: &&Verdict| v.outcome == Outcome::Inconclusive && !v.decisive;
    let foreign = |v: &&Verdict| v.outcome == Outcome::NotApplicable;
    let group = |of: &dyn Fn(&&Verdict) -> bool| -> Vec<&Verdict> {
        let found: Vec<&Verdict> = verdicts.iter().filter(of).collect();
        if found.len() > 1 { found } else { Vec::new() }
    };
    let (untested, not_applicable) = (group(&untested), group(&foreign));
    let grouped =
        |v: &&Verdict| untested.iter().chain(&not_applicable).any(|other| std::ptr::eq(*other, *v));
    let detailed = verdicts.iter().filter(|v| !grouped(v)).collect();
    Grouped { detailed, untested, not_applicable }
}

/// The names of verdicts, as a list.
pub fn properties(verdicts: &[&Verdict]) -> String {
    let names: Vec<&str> = verdicts.iter().map(|v| v.property.as_str()).collect();
    names.join(", ")
}
