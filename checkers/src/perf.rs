//! `perf`: how long acquires and releases took, and how many grants there were.
//!
//! **Decides** nothing: these are facts, and no lock promises them. They are the times between the
//! `invoke` and the `ok` of the history, which under a fault hold the fault's time as well, and the
//! grants a second from the first request to the last event.
//!
//! **Limits.** It says `measured`, whatever was measured: a fact is neither held nor violated.
//! Times of a run in the simulator are virtual.
//!
//! **Source.** Jepsen's `checker/perf`, which is never invalid either.

use crate::words::count;
use crate::{Case, Checker};
use base::units::{rate, span};
use base::{Kind, Measure, Outcome, Verdict};

#[cfg(test)]
mod tests;

/// The performance checker.
pub struct Perf;

impl Checker for Perf {
    fn name(&self) -> &'static str {
        "perf"
    }

    fn summary(&self) -> &'static str {
        "how long acquires and releases took (facts, which no lock promises)"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        let history = &case.run.history;
        let time = |at: u64| history.get(at).map_or(0, |event| event.time_ns);
        let took = |from: u64, to: u64| time(to).saturating_sub(time(from));
        let claims = &case.claims;
        let room = claims.granted() as usize;
        let (mut acquires, mut releases) = (Vec::with_capacity(room), Vec::with_capacity(room));
        for claim in claims.grants() {
            acquires.push(took(claim.invoke, claim.asking().end));
            if let (Some(end), Some((at, Kind::Ok))) = (claim.end, claim.freed) {
                releases.push(took(end.at, at));
            }
        }
        if acquires.is_empty() {
            return Verdict::new(self.name(), Outcome::Measured, "nothing was granted");
        }
        let began = claims.claims.first().map_or(0, |claim| time(claim.invoke));
        let lasted = history.end().saturating_sub(began).max(1);
        let grants = acquires.len() as u64;
        let a_thousand_seconds = u128::from(grants) * 1_000_000_000_000 / u128::from(lasted);
        let (acquire, release) = (Quantiles::of(&mut acquires), Quantiles::of(&mut releases));
        let summary = format!(
            "{}, {}; to acquire took {}, to release {}",
            count(grants, "grant"),
            rate(grants, lasted),
            acquire.words(),
            release.words()
        );
        let mut measures = vec![
            Measure::new("grants", "", grants),
            Measure::new("grant rate", "mHz", a_thousand_seconds as u64),
        ];
        measures.extend(acquire.measures("acquire"));
        measures.extend(release.measures("release"));
        Verdict { measures, ..Verdict::new(self.name(), Outcome::Measured, summary) }
    }
}

/// The median, the 99th percentile and the greatest of some durations, in nanoseconds.
struct Quantiles([u64; 3]);

impl Quantiles {
    /// Computes them by the nearest rank; zero where there are no durations.
    fn of(durations: &mut [u64]) -> Self {
        let place = |percent: usize| (durations.len() * percent).div_ceil(100).saturating_sub(1);
        let (middle, high) = (place(50), place(99));
        if durations.is_empty() {
            return Self([0; 3]);
        }
        let (_, median, above) = durations.select_nth_unstable(middle);
        let (median, most) = (*median, above.iter().copied().max().unwrap_or(*median));
        let p99 = match high.checked_sub(middle + 1) {
            Some(place) => *above.select_nth_unstable(place).1,
            None => median,
        };
        Self([median, p99, most])
    }

    fn words(&self) -> String {
        let [median, p99, _] = self.0.map(span);
        format!("{median} (99 %: {p99})")
    }

    fn measures(&self, what: &str) -> [Measure; 3] {
        let [median, p99, most] = self.0;
        [
            Measure::new(format!("{what}, median"), "ns", median),
            Measure::new(format!("{what}, 99 %"), "ns", p99),
            Measure::new(format!("{what}, longest"), "ns", most),
        ]
    }
}
