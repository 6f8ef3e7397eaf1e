//! Leading: entries go to all followers, and are committed when a majority has them.

use super::{
    ELECTION_TICKS, LeaseId, LogCommand, LogEntry, MemberRole, Outgoing, PeerMessage, Server,
};
use crate::etcd::model::Asker;
use crate::etcd::timing::EXPIRY_CHECK;
use base::Mono;
use std::collections::BTreeMap;

/// The state of a leader during its reign.
#[derive(Debug)]
pub(super) struct Reign {
    followers: BTreeMap<u32, FollowerProgress>,
    /// The time at which each lease is over, by the leader's own clock.
    pub(super) deadlines: BTreeMap<LeaseId, Mono>,
    /// The next time at which it looks at them.
    pub(super) expires_at: Mono,
    /// Those who keep a lease alive whose time is over, and wait for its end.
    pub(super) too_late: Vec<(Asker, LeaseId)>,
}

/// The progress of a follower.
#[derive(Debug)]
struct FollowerProgress {
    /// The index up to which its log is known to be the leader's.
    matched: usize,
    /// The first entry that was not sent to it.
    next: usize,
    /// True if it has answered since the leader last looked for its majority.
    active: bool,
    /// The index behind which everything was sent again, since the leader's last tick. What was on
    /// its way before is refused as well, and to answer each refusal with the whole log would
    /// fill the memory.
    repeated: Option<usize>,
}

impl Server {
    /// Begins to lead. Every lease lives for its whole time anew, and an election time-out more:
    /// nobody knows when the last leader heard of it.
    pub(super) fn lead(&mut self, out: &mut Outgoing) {
        let next = self.disk.log.len() + 1;
        let fresh =
            |member| (member, FollowerProgress { matched: 0, next, active: true, repeated: None });
        let more = self.timing.election;
        let leases = self.disk.store.leases();
        let deadline = |(lease, ttl)| (lease, super::leases::end(self.now, ttl) + more);
        self.role = MemberRole::Leader(Reign {
            followers: self.others().map(fresh).collect(),
            deadlines: leases.map(deadline).collect(),
            expires_at: self.now + EXPIRY_CHECK,
            too_late: Vec::new(),
        });
        self.elapsed = 0;
        self.append(LogCommand::Nothing, out);
        self.turn_to_leader(out);
    }

    pub(super) fn tick_leading(&mut self, out: &mut Outgoing) {
        self.elapsed += 1;
        if self.elapsed >= ELECTION_TICKS {
            self.elapsed = 0;
            if !self.has_majority() {
                return self.follow(None, out);
            }
        }
        self.end_leases(out);
        if let MemberRole::Leader(leading) = &mut self.role {
            leading.followers.values_mut().for_each(|follower| follower.repeated = None);
        }
        self.tell_followers(out);
    }

    /// Returns true if a majority has answered since this was last asked.
    fn has_majority(&mut self) -> bool {
        let majority = self.majority();
        let MemberRole::Leader(leading) = &mut self.role else { return false };
        let active = |progress: &mut FollowerProgress| std::mem::take(&mut progress.active);
        leading.followers.values_mut().map(active).filter(|active| *active).count() + 1 >= majority
    }

    pub(super) fn append(&mut self, command: LogCommand, out: &mut Outgoing) {
        let term = self.disk.term;
        self.disk.log.push(LogEntry { term, command });
        self.tell_followers(out);
        self.commit(out);
    }

    fn tell_followers(&mut self, out: &mut Outgoing) {
        self.others().for_each(|follower| self.tell(follower, out));
    }

    /// Sends a follower what it has not been sent, or a heartbeat.
    fn tell(&mut self, follower: u32, out: &mut Outgoing) {
        let (last, commit) = (self.disk.log.len(), self.disk.applied);
        let MemberRole::Leader(leading) = &mut self.role else { return };
        let Some(progress) = leading.followers.get_mut(&follower) else { return };
        let sent = std::mem::replace(&mut progress.next, last + 1) - 1;
        let previous = self.disk.place(sent);
        let entries = self.disk.log[sent..].to_vec();
        self.send(follower, PeerMessage::Append { previous, entries, commit }, out);
    }

    pub(super) fn on_appended(&mut self, from: u32, fits: bool, index: usize, out: &mut Outgoing) {
        let last = self.disk.log.len();
        let MemberRole::Leader(leading) = &mut self.role else { return };
        let Some(progress) = leading.followers.get_mut(&from) else { return };
        progress.active = true;
        if fits {
            progress.matched = progress.matched.max(index);
            self.commit(out);
        } else if progress.repeated != Some(index) {
            progress.repeated = Some(index);
            // One that has lost its data has less than it had.
            progress.matched = progress.matched.min(index);
            progress.next = index.min(last) + 1;
            self.tell(from, out);
        }
    }

    /// Commits what a majority has, and tells the followers. Only entries of its own term count.
    fn commit(&mut self, out: &mut Outgoing) {
        let MemberRole::Leader(leading) = &self.role else { return };
        let mut reached: Vec<usize> = leading.followers.values().map(|it| it.matched).collect();
        reached.push(self.disk.log.len());
        reached.sort_unstable_by(|one, other| other.cmp(one));
        let index = reached[self.majority() - 1];
        if index > self.disk.applied && self.disk.place(index).term == self.disk.term {
            self.apply(index, out);
            self.tell_followers(out);
        }
    }
}
