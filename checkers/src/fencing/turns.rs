//! The grants that came before another by mutual exclusion, also where both were asked for side by
//! side.

use crate::Case;
use base::Mode;
use histories::holds::Claim;

/// The grants of one key in the order of their answers, with the highest token up to each: of all,
/// and of the exclusive ones.
pub(super) struct Turns<'a> {
    granted: Vec<&'a Claim>,
    highest: [Vec<Option<(u64, u64)>>; 2],
}

impl<'a> Turns<'a> {
    /// Takes the grants of a key. Those of a semaphore do not exclude each other.
    pub(super) fn of(case: &'a Case<'_>, key: usize) -> Self {
        let is_mutex = case.run.info.lock.promises.permits == 1;
        let granted = case.granted(key).map(|(_, claim)| claim).filter(|_| is_mutex);
        let granted: Vec<&Claim> = granted.collect();
        let highest = [false, true].map(|any| {
            let token = |claim: &&Claim| {
                let token = claim.token.filter(|_| any || claim.mode == Mode::Exclusive)?;
                Some((token, claim.asking().end))
            };
            let mut high = None;
            granted
                .iter()
                .map(|claim| {
                    high = high.max(token(claim));
                    high
                })
                .collect()
        });
        Self { granted, highest }
    }

    /// Returns the grant with the highest token of those that a claim excludes and that were held
    /// before it, by its answer and its token. While nothing is wrong, what a claim has taken is
    /// its own for a ttl: whoever was granted the lock within a ttl of its request, and was done
    /// with it when the claim was granted, had its turn before.
    pub(super) fn highest_before(&self, case: &Case<'_>, claim: &Claim) -> Option<(u64, u64)> {
        let ok = claim.granted()?;
        if !case.calm().spans(claim.invoke, ok) {
            return None;
        }
        let until_ns = case.time(claim.invoke).saturating_add(case.run.info.run.ttl_ns);
        let in_time = |it: &&Claim| {
            let answered = it.asking().end;
            answered < ok && case.time(answered) < until_ns
        };
        let before = self.granted.partition_point(in_time).checked_sub(1)?;
        let (token, at) = self.highest[usize::from(claim.mode == Mode::Exclusive)][before]?;
        let is_over = |it: &Claim| it.end.is_some_and(|end| end.at < ok);
        is_over(case.claims.granted_at(at)?).then_some((at, token))
    }
}
