//! The opinion of another Sentinel on the primary, and its vote.

use super::Millis;

/// The interval at which a Sentinel asks the others.
const ASK_PERIOD: Millis = 1_000;

/// A vote in an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaderVote {
    /// The epoch of the election.
    pub epoch: u64,
    /// The Sentinel that is to lead the failover, by its number.
    pub leader: u32,
}

/// The last answer of another Sentinel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opinion {
    /// The time of its last answer.
    answered: Option<Millis>,
    finds_down: bool,
    vote: Option<LeaderVote>,
}

impl Opinion {
    /// Notes an answer.
    pub fn hear(&mut self, now: Millis, finds_down: bool, vote: Option<LeaderVote>) {
        (self.answered, self.finds_down) = (Some(now), finds_down);
        self.vote = vote.or(self.vote);
    }

    /// Forgets an answer that is too old.
    pub fn fade(&mut self, now: Millis) {
        if self.answered.is_some_and(|at| now - at > ASK_PERIOD * 5) {
            (self.finds_down, self.vote) = (false, None);
        }
    }

    /// Returns true if it is time to ask again.
    pub fn is_stale(&self, now: Millis) -> bool {
        self.answered.is_none_or(|at| now - at >= ASK_PERIOD)
    }

    /// True if it finds the primary down.
    pub const fn finds_down(&self) -> bool {
        self.finds_down
    }

    /// The Sentinel that it votes for in an election.
    pub fn vote_in(&self, epoch: u64) -> Option<u32> {
        self.vote.filter(|vote| vote.epoch == epoch).map(|vote| vote.leader)
    }
}
