//! A failover: whom a Sentinel that wants one waits for, step by step. It takes one step a turn.

use super::opinion::LeaderVote;
use super::{Millis, QUORUM, Sentinel, SentinelMessage};
use crate::model::Out;
use crate::redis::Packet;

/// The longest time for which a Sentinel waits to be elected.
const ELECTION_TIMEOUT: Millis = 10_000;

/// The longest time by which a Sentinel puts its next failover off, so that they do not all try at
/// once.
const MAX_DESYNC: u64 = 1_000;

/// A failover under way.
#[derive(Clone, Copy, Debug)]
pub struct Failover {
    epoch: u64,
    step: FailoverStep,
    /// The time at which this step began.
    since: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailoverStep {
    /// It waits for a majority of votes.
    Election,
    /// It leads the failover, and chooses a replica next.
    Choice,
    /// It is to promote this replica.
    Order(u32),
    /// It waits until this replica says that it is a master.
    Promotion(u32),
}

impl Failover {
    /// The replica that is being promoted.
    pub const fn promotes(&self, server: u32) -> bool {
        matches!(self.step, FailoverStep::Promotion(chosen) if chosen == server)
    }

    /// The epoch in which it was begun.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl Sentinel {
    /// Begins a failover if enough Sentinels find the primary down and the last one is long ago.
    pub(super) fn begin_failover(&mut self, now: Millis, out: &mut Vec<Out<Packet>>) {
        let pause = self.timing.failover_timeout.as_millis() as Millis * 2;
        if !self.is_agreed_down() || self.failover.is_some() || now - self.tried < pause {
            return;
        }
        self.kept.epoch += 1;
        self.failover =
            Some(Failover { epoch: self.kept.epoch, step: FailoverStep::Election, since: now });
        self.put_off(now);
        self.ask_others(now, true, out);
    }

    /// Notes that a failover was tried, by this one or by another.
    fn put_off(&mut self, now: Millis) {
        self.tried = now + self.rng.below(MAX_DESYNC) as Millis;
    }

    /// Returns true if a quorum finds the primary down.
    pub(super) fn is_agreed_down(&self) -> bool {
        let others = self.opinions.values().filter(|opinion| opinion.finds_down()).count();
        self.finds_primary_down() && others + 1 >= QUORUM
    }

    /// Takes the next step of a failover.
    pub(super) fn advance_failover(&mut self, now: Millis, out: &mut Vec<Out<Packet>>) {
        let Some(Failover { epoch, step, since }) = self.failover else { return };
        let timeout = self.timing.failover_timeout.as_millis() as Millis;
        let next = match step {
            FailoverStep::Election if self.leader(epoch, now) == Some(self.number) => {
                Some(FailoverStep::Choice)
            }
            FailoverStep::Election => {
                (now - self.tried <= timeout.min(ELECTION_TIMEOUT)).then_some(step)
            }
            FailoverStep::Choice => self.best_replica(now).map(FailoverStep::Order),
            FailoverStep::Order(chosen) if self.watched[&chosen].hung_up => {
                (now - since <= timeout).then_some(step)
            }
            FailoverStep::Order(chosen) => {
                self.say(chosen, SentinelMessage::Reconfigure(None), out);
                Some(FailoverStep::Promotion(chosen))
            }
            FailoverStep::Promotion(_) => (now - since <= timeout).then_some(step),
        };
        let since = if next == Some(step) { since } else { now };
        self.failover = next.map(|step| Failover { epoch, step, since });
    }

    /// The replica that knows most; of several, the one with the least run id.
    fn best_replica(&self, now: Millis) -> Option<u32> {
        let fit = self.replicas().filter(|server| self.watched[server].is_fit(now));
        fit.min_by_key(|server| {
            let status = self.watched[server].status.map(|(status, _)| status).unwrap_or_default();
            (std::cmp::Reverse(status.offset), status.run_id)
        })
    }

    /// The Sentinel that a majority and a quorum vote for, this one included: it votes with the
    /// most, or for itself.
    fn leader(&mut self, epoch: u64, now: Millis) -> Option<u32> {
        let votes = |candidate: u32, opinions: &super::Opinions| {
            opinions.values().filter(|it| it.vote_in(epoch) == Some(candidate)).count()
        };
        let opinions = &self.opinions;
        let first = self.sentinels.clone().max_by_key(|it| votes(*it, opinions));
        let first = first.filter(|it| votes(*it, opinions) > 0).unwrap_or(self.number);
        let own = self.vote(epoch, first, now);
        let count = |candidate: &u32| {
            votes(*candidate, &self.opinions)
                + usize::from(own == LeaderVote { epoch, leader: *candidate })
        };
        let winner = self.sentinels.clone().max_by_key(count)?;
        let majority = self.sentinels.len() / 2 + 1;
        (count(&winner) >= majority.max(QUORUM)).then_some(winner)
    }

    /// Votes for a leader, once an epoch: returns the vote that was given last.
    pub(super) fn vote(&mut self, epoch: u64, candidate: u32, now: Millis) -> LeaderVote {
        self.kept.epoch = self.kept.epoch.max(epoch);
        if self.kept.vote.epoch < epoch && self.kept.epoch <= epoch {
            self.kept.vote = LeaderVote { epoch, leader: candidate };
            if candidate != self.number {
                self.put_off(now);
            }
        }
        self.kept.vote
    }
}
