//! Elections: whoever has heard nothing of a leader for long enough asks the others for their
//! votes.

use super::{ELECTION_TICKS, LogPlace, MemberRole, Outgoing, PeerMessage, Server};
use std::collections::BTreeMap;

impl Server {
    /// Draws the ticks after which it wants to lead: one to two election time-outs.
    pub(super) fn draw_patience(&mut self) {
        self.patience = ELECTION_TICKS + self.rng.below(ELECTION_TICKS.into()) as u32;
    }

    pub(super) fn tick_waiting(&mut self, out: &mut Outgoing) {
        self.elapsed += 1;
        if self.elapsed >= self.patience && !self.joins {
            self.campaign(out);
        }
    }

    fn campaign(&mut self, out: &mut Outgoing) {
        self.disk.term += 1;
        self.disk.voted = Some(self.me);
        self.role = MemberRole::Candidate(BTreeMap::new());
        self.elapsed = 0;
        self.draw_patience();
        let last = self.disk.last();
        for other in self.others() {
            self.send(other, PeerMessage::Canvass { last }, out);
        }
        self.on_vote(self.me, true, out);
    }

    /// Hears of a later term. Returns false if it does not want to: it has just heard of its
    /// leader.
    pub(super) fn rises_to(
        &mut self,
        term: u64,
        from: u32,
        message: &PeerMessage,
        out: &mut Outgoing,
    ) -> bool {
        let canvass = matches!(message, PeerMessage::Canvass { .. });
        if canvass && self.leader().is_some() && self.elapsed < ELECTION_TICKS {
            return false;
        }
        let leads = matches!(message, PeerMessage::Append { .. });
        self.disk.term = term;
        self.disk.voted = None;
        self.follow(leads.then_some(from), out);
        true
    }

    /// Becomes a follower of this leader, or of one that is to come.
    pub(super) fn follow(&mut self, leader: Option<u32>, out: &mut Outgoing) {
        self.role = MemberRole::Follower(leader);
        self.elapsed = 0;
        self.draw_patience();
        if leader.is_some() {
            self.turn_to_leader(out);
        }
    }

    pub(super) fn on_canvass(&mut self, from: u32, last: LogPlace, out: &mut Outgoing) {
        let free =
            self.disk.voted == Some(from) || (self.disk.voted.is_none() && self.leader().is_none());
        let granted = free && last >= self.disk.last() && !self.joins;
        if granted {
            self.disk.voted = Some(from);
            self.elapsed = 0;
        }
        self.send(from, PeerMessage::Vote { granted }, out);
    }

    pub(super) fn on_vote(&mut self, from: u32, granted: bool, out: &mut Outgoing) {
        let majority = self.majority();
        let MemberRole::Candidate(votes) = &mut self.role else { return };
        votes.insert(from, granted);
        let count = |wanted: bool| votes.values().filter(|vote| **vote == wanted).count();
        if count(true) >= majority {
            self.lead(out);
        } else if count(false) >= majority {
            self.follow(None, out);
        }
    }
}
