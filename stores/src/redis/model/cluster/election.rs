//! Elections: a replica whose primary is dead asks the other primaries for their votes, and takes
//! its place with a majority of them.

use super::{Bus, BusHeader, BusPayload};
use crate::model::Out;
use crate::redis::Packet;
use crate::redis::model::keyspace::Millis;

/// The time for which a replica waits before it asks for votes, so that all have heard of the
/// death, and the longest time that it adds by chance.
const DELAY: Millis = 500;
const MAX_DESYNC: u64 = 500;

/// The least time that an election may take.
const LEAST_TIMEOUT: Millis = 2_000;

/// The interval at which an idle primary says something to its replica, and the number of time-outs
/// for which a replica may have heard nothing beyond it: what it has would be too old.
const PRIMARY_PING: Millis = 10_000;
const VALIDITY: Millis = 10;

/// The candidacy of a replica.
#[derive(Clone, Debug, Default)]
pub struct Election {
    /// The time at which it asks for votes; `None`: it never has.
    at: Option<Millis>,
    /// The epoch in which it asked; `None`: it has yet to ask.
    epoch: Option<u64>,
    votes: usize,
}

impl Bus {
    /// Stands for election if its primary is dead, step by step.
    pub(super) fn stand(&mut self, now: Millis, out: &mut Vec<Out<Packet>>) {
        let Some(primary) = self.follows() else { return };
        let is_dead = self.file.members[primary as usize].failed.is_some();
        if !is_dead || !self.is_owner(primary) || !self.is_fresh(now) {
            return;
        }
        let timeout = (self.node_timeout * 2).max(LEAST_TIMEOUT);
        let Some(at) = self.election.at.filter(|at| now - at <= timeout * 2) else {
            let at = now + DELAY + self.rng.below(MAX_DESYNC) as Millis;
            self.election = Election { at: Some(at), ..Election::default() };
            return;
        };
        if now < at || now - at > timeout {
            return;
        }
        if self.election.epoch.is_none() {
            self.file.epoch += 1;
            self.election.epoch = Some(self.file.epoch);
            self.broadcast(&BusPayload::AskVote, out);
        }
    }

    /// Returns true if it has what its primary had not long ago.
    fn is_fresh(&self, now: Millis) -> bool {
        let limit = PRIMARY_PING + self.node_timeout * (VALIDITY + 1);
        self.fed.is_some_and(|fed| now - fed <= limit)
    }

    /// Votes for a replica, once an epoch, if its primary is dead and knows of no later one.
    pub(super) fn consider(
        &mut self,
        now: Millis,
        from: u32,
        sender: BusHeader,
        out: &mut Vec<Out<Packet>>,
    ) {
        let epoch = self.file.epoch;
        let Some(primary) = self.file.members[from as usize].follows else { return };
        let pause = self.node_timeout * 2;
        let shard = self.shards.of_server(primary) as usize;
        let owner = self.file.owners[shard];
        let is_outdated = self.file.members[owner as usize].config_epoch > sender.config_epoch;
        let is_dead = self.file.members[primary as usize].failed.is_some();
        let may_vote =
            self.is_owner(self.number) && sender.epoch >= epoch && self.file.voted != epoch;
        let Some(peer) = self.peers.get_mut(&primary) else { return };
        let voted_late = peer.voted.is_some_and(|voted| now - voted < pause);
        if may_vote && is_dead && !is_outdated && !voted_late {
            (self.file.voted, peer.voted) = (epoch, Some(now));
            self.say(from, BusPayload::Vote, out);
        }
    }

    /// Counts a vote, and takes its primary's place with enough of them.
    pub(super) fn count_vote(
        &mut self,
        now: Millis,
        from: u32,
        sender: BusHeader,
        out: &mut Vec<Out<Packet>>,
    ) {
        let Some(epoch) = self.election.epoch.filter(|epoch| sender.epoch >= *epoch) else {
            return;
        };
        self.election.votes += usize::from(self.is_owner(from));
        if self.election.votes < self.majority() || self.follows().is_none() {
            return;
        }
        let me = &mut self.file.members[self.number as usize];
        (me.follows, me.config_epoch) = (None, epoch);
        let shard = self.shards.of_server(self.number) as usize;
        self.file.owners[shard] = self.number;
        (self.election, self.is_appointed) = (Election::default(), true);
        self.update_state(now);
        // Nobody asked for this, and all hear of it.
        for other in (0..self.shards.servers).filter(|other| *other != self.number) {
            let payload = BusPayload::Pong(self.gossip(other));
            self.say(other, payload, out);
        }
    }
}
