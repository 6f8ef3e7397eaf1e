//! The reach of a fault: how far it went, beside how far it has to go to matter to the lock.

use crate::evidence::Evidence;
use crate::faults::FaultSpan;
use crate::intervals::Intervals;
use crate::words::seconds;
use base::{Action, Data, Matters, RunInfo, RunSpec, nanos};
use histories::holds::{AcquireAnswer, Claim};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The intervals in which the lock was wanted, held or being freed, by each client and by all.
pub(super) struct Wanted<'e, 'a> {
    evidence: &'e Evidence<'a>,
    clients: BTreeMap<u32, WantedBy<'e>>,
    all: WantedBy<'e>,
}

/// Claims, with the intervals in which they mattered to their clients.
#[derive(Default)]
struct WantedBy<'a> {
    claims: Vec<&'a Claim>,
    intervals: Intervals,
}

impl<'a> WantedBy<'a> {
    fn of(claims: Vec<&'a Claim>) -> Self {
        // A release that is on its way is a part of it: what it sends may still free another's
        // lock.
        let wanted = |claim: &&Claim| {
            let Range { start, end } = claim.wanted();
            (start, claim.freed.map_or(end, |(freed, _)| end.max(freed)))
        };
        Self { intervals: Intervals::of(claims.iter().map(wanted)), claims }
    }

    /// The claims that mattered while a fault may have been in force.
    fn during(&self, fault_span: &FaultSpan) -> impl Iterator<Item = &'a Claim> {
        let until = fault_span.healed.unwrap_or(u64::MAX);
        self.intervals.meeting(fault_span.begin, until).map(|id| self.claims[id])
    }
}

/// The extent of a fault, beside the least one from which it can matter to the lock.
pub(super) struct FaultReach<'a> {
    fault_span: &'a FaultSpan,
    reached_ns: u64,
    needed_ns: u64,
}

impl FaultReach<'_> {
    /// Returns true if the fault went far enough to matter.
    pub(super) fn suffices(&self) -> bool {
        self.reached_ns >= self.needed_ns
    }

    /// The share that it reached of what it needed.
    pub(super) fn share(&self) -> f64 {
        self.reached_ns as f64 / self.needed_ns.max(1) as f64
    }

    /// Describes how far it went.
    pub(super) fn describe(&self) -> String {
        let Self { fault_span, reached_ns, needed_ns } = self;
        let (reached, needed) = (seconds(*reached_ns), seconds(*needed_ns));
        match fault_span.fault.spec().matters {
            Matters::WhenClocksDiffer => {
                format!("{}, wrong by {reached}; it takes {needed}", fault_span.fault)
            }
            // Any other such fault suffices at any extent: this one lost data.
            Matters::Always => {
                format!(
                    "{}, and nobody held the lock from then until it was back",
                    fault_span.fault
                )
            }
            _ => format!("{} for {reached}; it takes {needed}", fault_span.fault),
        }
    }
}

impl<'e, 'a> Wanted<'e, 'a> {
    pub(super) fn of(evidence: &'e Evidence<'a>) -> Self {
        let info = &evidence.run.info;
        let mut clients: BTreeMap<u32, Vec<&Claim>> = BTreeMap::new();
        for claim in &evidence.claims.claims {
            clients.entry(info.client_of(claim.process)).or_default().push(claim);
        }
        Self {
            evidence,
            clients: clients.into_iter().map(|(it, claims)| (it, WantedBy::of(claims))).collect(),
            all: WantedBy::of(evidence.claims.claims.iter().collect()),
        }
    }

    /// Returns the reach of a fault at those whom it hits, where it went furthest; `None` if none
    /// of them wanted the lock then.
    pub(super) fn reach(&self, fault_span: &'e FaultSpan) -> Option<FaultReach<'e>> {
        if self.forgets_holds_alone(fault_span) {
            let reached_ns = u64::from(self.is_forgotten(fault_span));
            return Some(FaultReach { fault_span, reached_ns, needed_ns: 1 });
        }
        let mut hit = fault_span.clients().peekable();
        let claims: Vec<&Claim> = match hit.peek() {
            None => self.all.during(fault_span).take(1).collect(),
            Some(_) => {
                let wanted = hit.filter_map(|client| self.clients.get(&client));
                wanted.flat_map(|wanted| wanted.during(fault_span)).collect()
            }
        };
        let reaches = claims.into_iter().map(|claim| self.reach_at(fault_span, claim));
        reaches.max_by(|a, b| a.share().total_cmp(&b.share()))
    }

    /// Returns the reach of a fault at somebody who wanted the lock.
    fn reach_at(&self, fault_span: &'e FaultSpan, claim: &Claim) -> FaultReach<'e> {
        let lasted_ns = fault_span.in_force.map_or(0, |in_force| {
            let healed = fault_span.healed.unwrap_or(u64::MAX);
            self.evidence.time(healed) - self.evidence.time(in_force)
        });
        let (reached_ns, needed_ns) = match fault_span.fault.spec().matters {
            Matters::Always => (0, 0),
            Matters::WhenItOutlasts if fault_span.clients().next().is_none() => {
                (lasted_ns, nanos(self.run().call_timeout()))
            }
            Matters::WhenItOutlasts => (lasted_ns, self.left_ns(fault_span, claim)),
            Matters::WhenClocksDiffer => {
                let off_us = fault_span.effect.as_ref().map_or(0, |effect| effect.amount);
                (off_us.saturating_mul(1_000), self.margin_ns())
            }
        };
        // Who asks for shorter faults asks how the lock does under just those.
        let needed_ns = needed_ns.min(nanos(self.run().fault_scale()));
        FaultReach { fault_span, reached_ns, needed_ns }
    }

    /// Returns true if a fault is no more than the loss of who held the lock: that of the only
    /// server, which counts no tokens. A session, or what renews a lock, breaks by any crash.
    fn forgets_holds_alone(&self, fault_span: &FaultSpan) -> bool {
        let RunInfo { lock, servers, .. } = &self.evidence.run.info;
        let forgets = fault_span.fault.action() == Action::Crash(Data::Lost);
        forgets && *servers == 1 && !lock.promises.fenced && !lock.outlives_ttl()
    }

    /// Returns true if somebody held the lock when its server lost it, and on after the server was
    /// back, while another asked for it.
    fn is_forgotten(&self, fault_span: &FaultSpan) -> bool {
        let back = fault_span.healed.unwrap_or(u64::MAX);
        let mut held = self.all.during(fault_span).filter_map(|claim| {
            let hold = claim.definite()?;
            let spans = hold.contains(&fault_span.begin) && hold.contains(&back);
            spans.then_some((claim, hold.end))
        });
        held.any(|(claim, end)| {
            let mut others = self.evidence.claims.claims.iter().filter(|it| it.key == claim.key);
            others.any(|it| it.process != claim.process && asks_within(it, back..end))
        })
    }

    fn run(&self) -> &RunSpec {
        &self.evidence.run.info.run
    }

    /// Returns the time for which a grant lives.
    fn life(&self) -> Duration {
        let own = self.evidence.run.info.lock.own_ttl_ns;
        own.map_or(self.run().ttl(), Duration::from_nanos)
    }

    /// Returns what is left of a claim's grant when a fault comes. A grant that is still to come
    /// has a whole life left, and one that is renewed, two thirds of it at least.
    fn left_ns(&self, fault_span: &FaultSpan, claim: &Claim) -> u64 {
        let life_ns = nanos(self.life());
        let AcquireAnswer::Granted(granted) = claim.answer else { return life_ns };
        if self.evidence.run.info.lock.outlives_ttl() {
            return life_ns / 3 * 2;
        }
        let came_ns = self.evidence.time(fault_span.shown_at());
        let over_ns = self.evidence.time(granted).saturating_add(life_ns);
        over_ns.saturating_sub(came_ns).min(life_ns)
    }

    /// Returns what the longest hold leaves of a grant; where grants are renewed, half of it.
    fn margin_ns(&self) -> u64 {
        let (lock, life) = (&self.evidence.run.info.lock, self.life());
        let longest = if lock.outlives_ttl() { life / 2 } else { lock.longest_hold(life) };
        nanos(life.saturating_sub(longest))
    }
}

/// Returns true if a claim asks for the lock between two events.
fn asks_within(claim: &Claim, during: Range<u64>) -> bool {
    let asking = claim.asking();
    asking.start < during.end && during.start < asking.end
}
