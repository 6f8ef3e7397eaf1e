//! What the verdicts mean for this lock under this nemesis: was it to be expected, and the one line
//! that says how the run ended.

use crate::facts::Facts;
use crate::units::{Precision, moment};
use base::{Anomaly, Known, Outcome, Run, RunInfo, Verdict};

/// Whether something known to happen under `known` is known to happen under `nemesis`, a list of
/// nemeses joined by commas. A family covers its members (`pause` covers `pause:client` and
/// `pause-client`), and what needs no fault (`none`) is no surprise under any.
pub fn covers(known: &str, nemesis: &str) -> bool {
    let member = |name: &str| {
        name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '-']))
    };
    known == "none" || nemesis.split(',').any(|name| member(name.trim()))
}

/// One anomaly that was seen, with what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Breach<'a> {
    /// The property that it breaks.
    pub property: &'a str,
    /// The anomaly.
    pub anomaly: &'a Anomaly,
    /// Why it is no surprise, if it is none.
    pub known: Option<&'a Known>,
}

/// The anomalies of a run, in the order of the verdicts.
pub fn breaches<'a>(info: &'a RunInfo, verdicts: &'a [Verdict]) -> Vec<Breach<'a>> {
    let of_verdict = |v: &'a Verdict| {
        v.anomalies.iter().map(move |anomaly| Breach {
            property: &v.property,
            anomaly,
            known: known(info).find(|k| k.anomaly == anomaly.name),
        })
    };
    verdicts.iter().flat_map(of_verdict).collect()
}

/// What is known to happen under this run's nemesis and was not seen, each once.
pub fn unseen<'a>(info: &'a RunInfo, verdicts: &[Verdict]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in known(info).map(|k| k.anomaly.as_str()) {
        if !names.contains(&name) && !verdicts.iter().any(|v| v.shows(name)) {
            names.push(name);
        }
    }
    names
}

fn known(info: &RunInfo) -> impl Iterator<Item = &Known> {
    info.known.iter().filter(|k| covers(&k.nemesis, &info.nemesis))
}

/// Whether a run ended as is known of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surprise {
    /// Broken, and known to break so.
    Expected,
    /// Broken in a way that is not known.
    Unexpected,
    /// Not broken.
    None,
}

/// Whether these breaches were to be expected.
pub fn surprise(outcome: Outcome, breaches: &[Breach<'_>]) -> Surprise {
    match outcome {
        Outcome::Violated if breaches.is_empty() => Surprise::Unexpected,
        Outcome::Violated if breaches.iter().all(|b| b.known.is_some()) => Surprise::Expected,
        Outcome::Violated => Surprise::Unexpected,
        _ => Surprise::None,
    }
}

/// Whether a breach was to be expected, in two parts: the answer, and why.
pub fn expectation(breach: &Breach<'_>) -> (&'static str, String) {
    match breach.known {
        Some(known) if known.nemesis == "none" => {
            ("Expected", format!("even without faults: {}", sentence(&known.why)))
        }
        Some(known) => ("Expected", format!("under {}: {}", known.nemesis, sentence(&known.why))),
        None => ("Not expected", "of this lock.".into()),
    }
}

/// An explanation as a sentence: checkers tell it in lower case and without a full stop.
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

/// What was tested: "redis-set-nx-px under pause, backend sim".
pub fn title(info: &RunInfo) -> String {
    match info.nemesis.as_str() {
        "none" => format!("{} without faults, backend {}", info.algo, info.backend),
        nemesis => format!("{} under {nemesis}, backend {}", info.algo, info.backend),
    }
}

/// The outcome in one word, as a headline says it.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "held",
        Outcome::Violated => "violated",
        Outcome::Inconclusive => "inconclusive",
        Outcome::NotApplicable => "not applicable",
    }
}

/// What must not be overlooked when the verdict is read.
pub fn notes(run: &Run, facts: &Facts<'_>, verdicts: &[Verdict], outcome: Outcome) -> Vec<String> {
    let mut notes = Vec::new();
    if run.history.events().is_empty() {
        notes.push("Nothing was recorded: the history is empty.".into());
    } else if !facts.stopped {
        let end = moment(facts.end, Precision::Millis);
        notes.push(format!("The history was cut off: it ends at {end}, before its run did."));
    }
    let unseen = unseen(&run.info, verdicts);
    // The last word of a run that held says it already.
    if outcome != Outcome::Held && !unseen.is_empty() {
        let names = unseen.join(", ");
        notes.push(format!("Known of this lock too, but not seen in this run: {names}."));
    }
    notes
}

/// The last word on a run: "double hold — expected: …". The outcome itself stands before it.
pub fn last_word(info: &RunInfo, verdicts: &[Verdict], outcome: Outcome) -> String {
    match outcome {
        Outcome::Violated => violated(info, verdicts),
        Outcome::Inconclusive => first_summary(verdicts, Outcome::Inconclusive),
        Outcome::Held => held(info, verdicts),
        Outcome::NotApplicable => "the lock makes no promise that could be checked".into(),
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
        return format!("{} — expected: {}", all.join(", "), reasons(&breaches).join("; "));
    }
    if surprises.len() == all.len() {
        return format!("{} — not expected of this lock", all.join(", "));
    }
    format!("{} — not expected of this lock: {}", all.join(", "), surprises.join(", "))
}

fn names<'a>(breaches: impl Iterator<Item = &'a Breach<'a>>) -> Vec<&'a str> {
    breaches.map(|b| b.anomaly.name.as_str()).collect()
}

/// The reasons of the known breaches, each once.
fn reasons<'a>(breaches: &[Breach<'a>]) -> Vec<&'a str> {
    let mut reasons: Vec<&str> = Vec::new();
    for known in breaches.iter().filter_map(|b| b.known) {
        if !reasons.contains(&known.why.as_str()) {
            reasons.push(&known.why);
        }
    }
    reasons
}

fn held(info: &RunInfo, verdicts: &[Verdict]) -> String {
    let unseen = unseen(info, verdicts);
    if unseen.is_empty() {
        return String::new();
    }
    format!("though {} was to be expected; this run did not show it", unseen.join(", "))
}

fn first_summary(verdicts: &[Verdict], outcome: Outcome) -> String {
    let first = verdicts.iter().find(|v| v.outcome == outcome && v.decisive);
    first.map_or_else(String::new, |v| format!("{}: {}", v.property, v.summary))
}

/// The verdicts as a reader wants them: one by one those that say something about the run, and
/// together those of which there is nothing to say but their names.
#[derive(Debug)]
pub struct Grouped<'a> {
    /// Each with its summary, in the order of the verdicts.
    pub told: Vec<&'a Verdict>,
    /// Not decisive, and inconclusive: the run gave them no chance.
    pub untested: Vec<&'a Verdict>,
    /// The lock makes no such promise.
    pub not_applicable: Vec<&'a Verdict>,
}

/// Groups verdicts. A single one is told like the others: a group of one saves nothing.
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
    let told = verdicts.iter().filter(|v| !grouped(v)).collect();
    Grouped { told, untested, not_applicable }
}

/// The names of verdicts, as a list.
pub fn properties(verdicts: &[&Verdict]) -> String {
    let names: Vec<&str> = verdicts.iter().map(|v| v.property.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_covers_its_members_and_lists_that_hold_one() {
        assert!(covers("pause", "pause"));
        assert!(covers("pause", "pause:client"));
        assert!(covers("pause", "pause-client"));
        assert!(covers("pause", "partition, pause-server"));
        assert!(covers("none", "partition"));
        assert!(!covers("pause", "pauses"));
        assert!(!covers("pause-client", "pause"));
        assert!(!covers("pause", "partition,crash"));
    }
}
