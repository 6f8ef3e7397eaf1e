//! Releases that may have freed another's hold, for runs without a ledger.

use super::span::delays;
use crate::Case;
use crate::bypass::excludes;
use crate::faults::FaultSpan;
use base::{Action, Cause, Kind, Node, Removed};
use histories::holds::{Claim, Ending};
use std::ops::Range;

/// A release that removed whatever stood there, or of which nobody knows what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Release {
    begun_ns: u64,
    answered_ns: u64,
    claim: u32,
}

/// Such releases of a key, by the time at which they began.
#[derive(Clone, Debug, Default)]
struct Releases {
    all: Vec<Release>,
    /// The time that the longest of them took.
    longest_ns: u64,
}

/// Such releases, by key.
#[derive(Debug)]
pub(crate) struct LooseReleases(Vec<Releases>);

impl LooseReleases {
    pub(crate) fn of(case: &Case<'_>) -> Self {
        let mut keys = vec![Releases::default(); case.claims.keys.len()];
        // Where all releases that were answered have compared, so have those that were not.
        let mut answered = case.claims.grants().filter_map(|claim| claim.removed).peekable();
        let all_compare =
            answered.peek().is_some() && answered.all(|removed| removed != Removed::Any);
        for (claim, id) in case.claims.claims.iter().zip(0..) {
            let Some((at, kind)) = claim.freed.filter(|_| claim.granted().is_some()) else {
                continue;
            };
            let Some(end) = claim.end.filter(|end| end.how == Ending::Released) else { continue };
            let unknown = !matches!(kind, Kind::Ok | Kind::Fail) && !all_compare;
            if claim.removed == Some(Removed::Any) || unknown {
                let begun_ns = case.time(end.at);
                let answered_ns = match kind {
                    Kind::Ok => case.time(at),
                    _ => held_until(case, claim, end.at..at),
                };
                let releases = &mut keys[claim.key];
                releases.longest_ns = releases.longest_ns.max(answered_ns - begun_ns);
                releases.all.push(Release { begun_ns, answered_ns, claim: id });
            }
        }
        keys.iter_mut().for_each(|releases| releases.all.sort_unstable());
        Self(keys)
    }

    /// The claims of a key whose release may have reached the server in a span of time.
    fn during(&self, key: usize, span: Range<u64>) -> impl Iterator<Item = usize> {
        let Releases { all, longest_ns } = &self.0[key];
        let earliest_ns = span.start.saturating_sub(*longest_ns);
        let first = all.partition_point(|release| release.begun_ns < earliest_ns);
        let later = all[first..].iter().take_while(move |release| release.begun_ns < span.end);
        let met = later.filter(move |release| release.answered_ns >= span.start);
        met.map(|release| release.claim as usize)
    }
}

/// Returns the time until which a fault may have held a request of a claim's client that was not answered.
pub(super) fn held_until(case: &Case<'_>, claim: &Claim, asked: Range<u64>) -> u64 {
    let client = Node::Client(case.run.info.client_of(claim.process));
    let hits = |span: &&FaultSpan| {
        let links = span.fault.links();
        let is_ours = links.iter().any(|(from, to)| *from == client || *to == client);
        is_ours && span.begin < asked.end && span.healed.is_none_or(|healed| healed > asked.start)
    };
    let until = |span: &FaultSpan| {
        let healed = span.healed.map_or(u64::MAX, |healed| case.time(healed));
        // What was cut off is on its way from then on.
        let takes_ns = match span.fault.action() {
            Action::Cut(_) => case.run.info.slowest_message_ns,
            action => delays(case, action)?,
        };
        Some(healed.saturating_add(takes_ns))
    };
    let arrived = case.fault_spans.iter().filter(hits).filter_map(until).max();
    arrived.unwrap_or(0).max(case.time(asked.end))
}

/// Finds another's release in this time that removed whatever stood there.
pub(super) fn freed_by_another(
    case: &Case<'_>,
    owner: &Claim,
    during: Range<u64>,
) -> Option<Cause> {
    let (answered, kind) = releaser(case, owner, during.clone())?.freed?;
    // Until its client has given it up, a release that is not answered is like any other.
    Some(match kind == Kind::Ok || case.time(answered) >= during.start {
        true => Cause::ForeignRelease,
        false => Cause::LateRequest,
    })
}

/// Returns the claim whose release in this time removed whatever stood there, which was another's. Of
/// several, one that began before the owner's grant was known may have made room for that very grant.
pub(super) fn releaser<'a>(
    case: &'a Case<'_>,
    owner: &Claim,
    during: Range<u64>,
) -> Option<&'a Claim> {
    if is_kept(case, owner) {
        return None;
    }
    let claims = &case.claims.claims;
    let frees = |it: &&Claim| it.process != owner.process && excludes(it.mode, owner.mode);
    let releases = case.loose_releases().during(owner.key, during).map(|id| &claims[id]);
    let began_before = |it: &Claim| it.end.map(|end| end.at) < owner.granted();
    releases.filter(frees).min_by_key(|it| (began_before(it), it.invoke))
}

/// Returns true if the release of another client, which removed whatever stood there, may have freed a
/// claim by a time.
pub(super) fn freed_by_another_client(case: &Case<'_>, claim: &Claim, at_ns: u64) -> bool {
    let client = |claim: &Claim| case.run.info.client_of(claim.process);
    let since_ns = claim.granted().map_or(at_ns, |ok| case.time(ok));
    let mut releases = case.loose_releases().during(claim.key, since_ns..at_ns);
    releases.any(|id| {
        let other = &case.claims.claims[id];
        client(other) != client(claim) && other.end.map(|end| end.at) > claim.granted()
    })
}

/// Returns true if a claim still had what it took when it was freed: its release removed that very thing.
/// Of several servers that do not agree on everything, one may still have what the others have lost.
pub(super) fn is_kept(case: &Case<'_>, claim: &Claim) -> bool {
    let info = &case.run.info;
    let freed = claim.freed.is_some_and(|(_, kind)| kind == Kind::Ok);
    let agree = info.servers == 1 || info.ensemble.is_some();
    agree && freed && claim.removed == Some(Removed::Own)
}
