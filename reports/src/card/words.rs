//! The card in plain words: what the lock is safe against, what not and why, and what to do.

use super::{Card, CardCause, CardRow};
use crate::units::span;
use base::{Causes, Outcome};

impl Card {
    /// The card in plain words: heads, each with what there is to say.
    pub fn words(&self) -> Vec<(&'static str, Vec<String>)> {
        let of = |outcome| self.rows.iter().filter(move |row| row.outcome() == outcome);
        let part = |all| format!("{} of {all} runs were made, and no more is known", self.runs());
        let words = [
            ("Interrupted", self.interrupted_of.map(part).into_iter().collect()),
            ("Safe against", Vec::from_iter(self.strengths())),
            ("Not safe against", self.weaknesses()),
            ("Could not tell", of(Outcome::Inconclusive).map(CardRow::undecided).collect()),
            ("What to do", self.remedies()),
        ];
        words.into_iter().filter(|(_, items)| !items.is_empty()).collect()
    }

    /// The faults that it bore, and on how many runs that rests.
    fn strengths(&self) -> Option<String> {
        let held = || self.rows.iter().filter(|row| row.outcome() == Outcome::Held);
        let runs = || held().map(|row| row.runs);
        let (least, most) = (runs().min()?, runs().max()?);
        let runs = match (least, most) {
            (1, 1) => "a run each".into(),
            _ if least == most => format!("{most} runs each"),
            _ => format!("{least} to {most} runs each"),
        };
        let borne: Vec<String> = held().map(CardRow::borne).collect();
        Some(format!(
            "{}, in {runs}; more runs (--runs) or all nemeses (--deep) may show more",
            borne.join(", ")
        ))
    }

    /// The causes by which promises broke, each once, with the faults that brought it about.
    fn weaknesses(&self) -> Vec<String> {
        let mut all: Vec<Causes> = Vec::new();
        for cause in self.rows.iter().flat_map(|row| &row.causes) {
            if !all.contains(&cause.causes) {
                all.push(cause.causes);
            }
        }
        // A promise may break without an anomaly that anybody could name.
        let unnamed = |row: &&CardRow| row.outcome() == Outcome::Violated && row.causes.is_empty();
        let unnamed = self.rows.iter().filter(unnamed).map(CardRow::broken);
        all.into_iter().map(|causes| self.weakness(causes)).chain(unnamed).collect()
    }

    fn weakness(&self, causes: Causes) -> String {
        let of = |row: &'_ CardRow| row.causes.iter().position(|it| it.causes == causes);
        let found: Vec<(&CardRow, &CardCause)> =
            self.rows.iter().filter_map(|row| Some((row, &row.causes[of(row)?]))).collect();
        let faults = found
            .iter()
            .map(|(row, cause)| format!("{} ({} of {} runs)", row.faults(), cause.runs, row.runs));
        let faults: Vec<String> = faults.collect();
        let mut anomalies: Vec<&str> = Vec::new();
        for anomaly in found.iter().flat_map(|(_, cause)| &cause.anomalies) {
            if !anomalies.contains(&anomaly.as_str()) {
                anomalies.push(anomaly);
            }
        }
        let known = if found.iter().all(|(_, cause)| cause.known) { " (known)" } else { "" };
        let why = match causes.only() {
            Some(cause) => format!(", as {cause}"),
            None => format!("; {causes}"),
        };
        format!("{}: {}{why}{known}", faults.join(", "), anomalies.join(", "))
    }

    /// The advice against what broke, each piece once.
    fn remedies(&self) -> Vec<String> {
        let mut remedies: Vec<String> = Vec::new();
        let breaches = self.rows.iter().flat_map(|row| &row.cells).flat_map(|cell| &cell.breaches);
        for remedy in breaches.filter_map(|breach| breach.remedy) {
            if remedies.iter().all(|it| it != remedy) {
                remedies.push(remedy.into());
            }
        }
        remedies
    }
}

impl CardRow {
    /// Describes what it bore.
    fn borne(&self) -> String {
        let after = self.after_death_ns.map(|it| format!(" (granted again within {})", span(it)));
        format!("{}{}", self.faults(), after.unwrap_or_default())
    }

    /// Describes what stayed undecided.
    fn undecided(&self) -> String {
        match self.unclear.as_deref().unwrap_or_default() {
            "" => self.faults().into(),
            why => format!("{} ({why})", self.faults()),
        }
    }
}
