//! The report card of a lock: what it bears and what it does not, fault by fault and property by
//! property, with what to do about it; for terminals, as Markdown and as a page.

mod page;
mod remedy;
mod text;
mod words;

pub use page::page;
pub use remedy::remedy;
pub use text::{escaped, last_line, markdown, table, terminal};

use crate::interpretation::{self, Breach};
use base::{Causes, Outcome, RunInfo, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// The report card of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Card {
    /// The version of the stored form.
    pub picklock_card: u32,
    /// The name of the lock.
    pub lock: String,
    /// One line about it.
    pub summary: String,
    /// The topology on which it ran, and the world.
    pub on: String,
    /// Its time to live, or session time-out.
    pub ttl_ns: u64,
    /// The command that makes the card again.
    pub command: String,
    /// The time that it took.
    pub took_ns: u64,
    /// The faults, in the order in which they were tried.
    pub rows: Vec<CardRow>,
    /// The number of runs that were to be made, if it was interrupted before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted_of: Option<u64>,
}

/// One kind of faults, and what the lock bore of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CardRow {
    /// The nemesis.
    pub nemesis: String,
    /// Its summary, in words.
    pub about: String,
    /// The number of runs.
    pub runs: u64,
    /// The properties that the lock promises, with what was seen of each.
    pub cells: Vec<CardCell>,
    /// The causes of what broke.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CardCause>,
    /// The reason why the outcome is unclear, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unclear: Option<String>,
    /// The grants in a thousand seconds, the median of the runs.
    pub grants_mhz: u64,
    /// The slowest grant after a holder's death, in all runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_death_ns: Option<u64>,
    /// The command that makes the worst of the runs again.
    pub command: String,
    /// The report of the first run that broke a promise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    #[serde(skip)]
    rates: Vec<u64>,
}

/// A property under one kind of faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CardCell {
    /// The property.
    pub property: String,
    /// The worst that was seen: broken, else kept, else undecided.
    pub outcome: Outcome,
    /// The number of runs that broke it.
    pub broken: u64,
    /// The breaches, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breaches: Vec<CardBreach>,
}

/// A breach that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CardBreach {
    /// The anomaly and its cause: "double hold by holder-paused".
    pub name: String,
    /// The story of its first occurrence.
    pub story: String,
    /// The advice, if there is any for its cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
    /// True if it is a known weakness of the lock.
    pub known: bool,
}

/// A cause by which something broke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CardCause {
    /// The cause, or those that it may be.
    pub causes: Causes,
    /// The number of runs in which something broke by it.
    pub runs: u64,
    /// The anomalies that it showed.
    pub anomalies: Vec<String>,
    /// True if all of them are known weaknesses of the lock.
    pub known: bool,
}

/// The version of the stored form.
const VERSION: u32 = 1;

/// The properties that have no column: they are measured, or are about the run and not the lock.
const NO_COLUMN: [&str; 2] = ["coverage", "perf"];

impl Card {
    /// Makes an empty card of the lock of a run.
    pub fn of(info: &RunInfo, command: String) -> Self {
        let topology = info.run.topology.as_deref().unwrap_or_default();
        Self {
            picklock_card: VERSION,
            lock: info.lock.name.to_string(),
            summary: info.lock.summary.clone(),
            on: format!("{topology} ({})", info.backend),
            ttl_ns: info.run.ttl_ns,
            command,
            took_ns: 0,
            rows: Vec::new(),
            interrupted_of: None,
        }
    }

    /// The worst that was seen of anything.
    pub fn outcome(&self) -> Outcome {
        self.rows.iter().map(CardRow::outcome).max().unwrap_or(Outcome::Inconclusive)
    }

    /// The worst that was seen of anything but the known weaknesses of the lock.
    pub fn outcome_beyond_known(&self) -> Outcome {
        let of = |row: &CardRow| match row.outcome() {
            Outcome::Violated if row.is_known() => Outcome::Held,
            outcome => outcome,
        };
        self.rows.iter().map(of).max().unwrap_or(Outcome::Inconclusive)
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.rows.iter().map(|row| row.runs).sum()
    }

    /// The properties that are judged in a row, in order.
    pub fn properties(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for cell in self.rows.iter().flat_map(|row| &row.cells) {
            if !all.contains(&cell.property.as_str()) {
                all.push(&cell.property);
            }
        }
        all
    }
}

impl CardRow {
    /// Makes the row of a nemesis, without runs.
    pub fn of(nemesis: &str, about: &str) -> Self {
        Self { nemesis: nemesis.into(), about: about.into(), ..Self::default() }
    }

    /// Adds a run that was judged. Returns true if it is the first that broke a promise.
    pub fn add(&mut self, info: &RunInfo, verdicts: &[Verdict], outcome: Outcome) -> bool {
        self.runs += 1;
        let first = outcome == Outcome::Violated && self.outcome() != Outcome::Violated;
        if first || self.command.is_empty() {
            self.command = info.command.clone();
        }
        if outcome == Outcome::Inconclusive {
            self.unclear.get_or_insert(interpretation::last_word(info, verdicts, outcome));
        }
        let breaches = interpretation::breaches(info, verdicts);
        self.blame(&breaches);
        for verdict in verdicts {
            // A run that could not have failed shows nothing that was kept.
            let seen = match (verdict.outcome, outcome) {
                (Outcome::Held, Outcome::Inconclusive) => Outcome::Inconclusive,
                (seen, _) => seen,
            };
            if seen >= Outcome::Held && !NO_COLUMN.contains(&&*verdict.property) {
                let of = breaches.iter().filter(|it| it.property == verdict.property);
                self.cell(&verdict.property).add(seen, of);
            }
        }
        self.measure(verdicts);
        first
    }

    /// Notes by which causes a run broke promises.
    fn blame(&mut self, breaches: &[Breach<'_>]) {
        let mut seen: Vec<Causes> = Vec::new();
        for Breach { anomaly, known, .. } in breaches {
            let causes = anomaly.cause;
            let place = self.causes.iter().position(|it| it.causes == causes);
            let place = place.unwrap_or_else(|| {
                self.causes.push(CardCause { causes, runs: 0, anomalies: Vec::new(), known: true });
                self.causes.len() - 1
            });
            let cause = &mut self.causes[place];
            cause.runs += u64::from(!seen.contains(&causes));
            seen.push(causes);
            cause.known &= known.is_some();
            if !cause.anomalies.contains(&anomaly.name) {
                cause.anomalies.push(anomaly.name.clone());
            }
        }
    }

    fn cell(&mut self, property: &str) -> &mut CardCell {
        let found = self.cells.iter().position(|cell| cell.property == property);
        let number = found.unwrap_or_else(|| {
            self.cells.push(CardCell {
                property: property.into(),
                outcome: Outcome::Inconclusive,
                broken: 0,
                breaches: Vec::new(),
            });
            self.cells.len() - 1
        });
        &mut self.cells[number]
    }

    fn measure(&mut self, verdicts: &[Verdict]) {
        let measures: BTreeMap<&str, u64> =
            verdicts.iter().flat_map(|it| &it.measures).map(|it| (&*it.name, it.value)).collect();
        self.rates.extend(measures.get("grant rate"));
        self.rates.sort_unstable();
        self.grants_mhz = self.rates.get(self.rates.len() / 2).copied().unwrap_or_default();
        let slowest = measures.get("slowest grant after a holder's death").copied();
        self.after_death_ns = self.after_death_ns.max(slowest);
    }

    /// The worst of its properties; inconclusive if not even exclusion was decided.
    pub fn outcome(&self) -> Outcome {
        let of = |outcome| self.cells.iter().any(|cell| cell.outcome == outcome);
        match () {
            () if of(Outcome::Violated) => Outcome::Violated,
            () if self.exclusion() == Some(Outcome::Held) => Outcome::Held,
            () => Outcome::Inconclusive,
        }
    }

    /// True if all that broke is a known weakness of the lock.
    pub fn is_known(&self) -> bool {
        self.cells.iter().flat_map(|cell| &cell.breaches).all(|breach| breach.known)
    }

    /// The faults, as a sentence names them.
    fn faults(&self) -> &str {
        match self.nemesis.as_str() {
            "none" => "runs without faults",
            name => name,
        }
    }

    fn exclusion(&self) -> Option<Outcome> {
        self.cells.iter().find(|cell| cell.property == "exclusion").map(|cell| cell.outcome)
    }

    /// Tells in words what broke.
    pub fn broken(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for breach in self.cells.iter().flat_map(|cell| &cell.breaches) {
            if !names.contains(&&*breach.name) {
                names.push(&breach.name);
            }
        }
        format!("{} ({}; {})", self.faults(), names.join(", "), self.frequency())
    }

    /// Tells in how many of its runs a promise broke.
    pub fn frequency(&self) -> String {
        let broken = self.cells.iter().map(|cell| cell.broken).max().unwrap_or_default();
        format!("{broken} of {} runs", self.runs)
    }
}

impl CardCell {
    fn add<'a>(&mut self, seen: Outcome, breaches: impl Iterator<Item = &'a Breach<'a>>) {
        self.outcome = match (self.outcome, seen) {
            (Outcome::Violated, _) | (_, Outcome::Violated) => Outcome::Violated,
            (Outcome::Held, _) | (_, Outcome::Held) => Outcome::Held,
            _ => Outcome::Inconclusive,
        };
        self.broken += u64::from(seen == Outcome::Violated);
        for breach in breaches {
            let anomaly = breach.anomaly;
            let name = match anomaly.cause.is_unknown() {
                true => anomaly.name.clone(),
                false => format!("{} by {}", anomaly.name, anomaly.cause.names()),
            };
            if self.breaches.iter().all(|it| it.name != name) {
                self.breaches.push(CardBreach {
                    name,
                    story: interpretation::sentence(&anomaly.explanation),
                    remedy: anomaly.cause.iter().find_map(remedy),
                    known: breach.known.is_some(),
                });
            }
        }
    }
}
