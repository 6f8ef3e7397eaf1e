//! `fencing`: do the tokens grow with the grants?
//!
//! **Decides** for a lock that promises `fenced`: if the `ok` of one grant comes before the
//! `invoke` of another's acquire, on the same key, the first one's token is smaller. So it is where
//! both were asked for side by side, exclude each other, and had their turns one after the other:
//! nothing was wrong, and the first hold was over when the second was granted. Anomalies are
//! `token went back` (it is not), `token given twice` (to two that asked side by side, and exclude
//! each other) and `grant without token`. One pass over the grants in the order of their `invoke`,
//! against the highest token of those that were answered before: O(n log n).
//!
//! **Limits.** Grants that were asked for side by side while a fault was near may have their tokens
//! in any order: the first to take the lock may have lost it again before it was answered. `vault`
//! decides whether the vault makes use of the tokens. Without two grants one after the other it is
//! inconclusive.
//!
//! **Source.** Kleppmann, "How to do distributed locking", 2016: "a number that increases every
//! time a client acquires the lock"; Burrows' sequencer (Chubby, 2006).

use crate::causes::{self, Occurrence, by_cause};
use crate::words::count;
use crate::{Case, Checker};
use base::{Cause, Causes, Outcome, Verdict};
use histories::holds::Claim;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;
mod turns;

use turns::Turns;

/// The fencing checker.
pub struct Fencing;

impl Checker for Fencing {
    fn name(&self) -> &'static str {
        "fencing"
    }

    fn summary(&self) -> &'static str {
        "a later grant has a greater token"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        if !case.run.info.lock.promises.fenced {
            let why = "the lock promises no tokens";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        }
        let mut seen = FencingFindings::default();
        for key in 0..case.claims.keys.len() {
            seen.read(case, key);
        }
        seen.verdict(self.name(), case)
    }
}

/// Two grants, by their events, of which the second has no greater token.
fn of_tokens(case: &Case<'_>, [before, later]: [u64; 2]) -> Occurrence {
    let granted = |at| case.claims.granted_at(at);
    let cause = granted(before)
        .zip(granted(later))
        .map_or(Causes::UNKNOWN, |(before, later)| causes::of_token(case, before, later));
    Occurrence::new(cause, [before, later])
}

/// Returns true if a claim asked before another was granted the lock that excludes it.
fn beside(earlier: &Claim, claim: &Claim) -> bool {
    earlier.process != claim.process
        && earlier.mode.excludes(claim.mode)
        && earlier.granted().is_some_and(|ok| ok > claim.invoke)
}

/// The findings: the number of grants that came after another, and the occurrences of each anomaly.
#[derive(Debug, Default)]
struct FencingFindings {
    pairs: u64,
    back: Vec<Occurrence>,
    twice: Vec<Occurrence>,
    bare: Vec<Occurrence>,
}

impl FencingFindings {
    /// Takes the grants of one key, in the order in which they were asked for.
    fn read(&mut self, case: &Case<'_>, key: usize) {
        let answered =
            case.granted(key).filter_map(|(_, claim)| Some((claim.asking().end, claim.token?)));
        let mut before = answered.peekable();
        let mut highest: Option<(u64, u64)> = None;
        let mut given: BTreeMap<u64, &Claim> = BTreeMap::new();
        let turns = Turns::of(case, key);
        for (_, claim) in case.asked(key) {
            while let Some((ok, token)) = before.next_if(|(ok, _)| *ok < claim.invoke) {
                if highest.is_none_or(|(_, high)| high < token) {
                    highest = Some((ok, token));
                }
            }
            let Some(ok) = claim.granted() else { continue };
            let Some(token) = claim.token else {
                self.bare.push(Occurrence::new(Cause::Recipe, [ok]));
                continue;
            };
            if let Some(other) = given.insert(token, claim).filter(|it| beside(it, claim)) {
                let earlier = other.asking().end;
                self.twice.push(of_tokens(case, [earlier.min(ok), earlier.max(ok)]));
            }
            let by_turn = turns.highest_before(case, claim);
            let higher = [highest, by_turn].into_iter().flatten().max_by_key(|(_, high)| *high);
            let Some((at, high)) = higher else { continue };
            self.pairs += 1;
            if high >= token {
                self.back.push(of_tokens(case, [at, ok]));
            }
        }
    }

    fn verdict(self, name: &str, case: &Case<'_>) -> Verdict {
        let ordered = count(self.pairs, "grant") + " that came after another";
        let [back, twice, bare] = [&self.back, &self.twice, &self.bare].map(Vec::len);
        if back + twice + bare > 0 {
            let summary = format!(
                "{ordered}, {back} of them with a token that had not grown, {twice} with that of \
                 another, {bare} without one"
            );
            let anomalies = [
                ("token went back", "a later grant must have a greater token", self.back),
                (
                    "token given twice",
                    "two that exclude each other must have two tokens",
                    self.twice,
                ),
                ("grant without token", "the lock promises a token with each grant", self.bare),
            ];
            let named = |(name, reason, all)| by_cause(case, name, reason, all);
            let anomalies = anomalies.into_iter().flat_map(named).collect();
            return Verdict { anomalies, ..Verdict::new(name, Outcome::Violated, summary) };
        }
        if self.pairs == 0 {
            let why = "no grant came after another: nothing to compare";
            return Verdict::new(name, Outcome::Inconclusive, why);
        }
        Verdict::new(name, Outcome::Held, format!("{ordered}, each with a greater token"))
    }
}
