//! Leading: gathering a majority for a new epoch and keeping it. The handling of requests is in
//! `broadcast`.

use super::broadcast::PendingSync;
use super::{Outgoing, Server, ServerRole, ToFollower, ToLeader, to_follower};
use crate::zookeeper::model::tracker::SessionTracker;
use base::Mono;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The state of a leader during its reign.
#[derive(Debug)]
pub(super) struct Leading {
    epoch: u32,
    phase: LeaderPhase,
    pub(super) learners: BTreeMap<u32, Learner>,
    /// The last transaction proposed.
    pub(super) last: i64,
    /// The servers that have logged each transaction that is not committed yet.
    pub(super) acks: BTreeMap<i64, BTreeSet<u32>>,
    /// Syncs that wait for a commit.
    pub(super) syncs: VecDeque<PendingSync>,
    pub(super) sessions: SessionTracker,
    ping_at: Mono,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaderPhase {
    /// Waiting for a majority to come.
    Gathering {
        until: Mono,
    },
    /// Waiting for a majority to take over this leader's state.
    Establishing {
        until: Mono,
    },
    Serving,
}

#[derive(Debug)]
pub(super) struct Learner {
    pub(super) join: u64,
    /// The highest epoch that it had agreed to when it came.
    accepted: u32,
    heard: Mono,
    /// True once it has taken over this leader's state.
    joined: bool,
}

impl Leading {
    pub(super) const fn serves(&self) -> bool {
        matches!(self.phase, LeaderPhase::Serving)
    }

    pub(super) fn deadline(&self) -> Mono {
        match self.phase {
            LeaderPhase::Gathering { until } | LeaderPhase::Establishing { until } => until,
            LeaderPhase::Serving => {
                self.sessions.deadline().map_or(self.ping_at, |d| d.min(self.ping_at))
            }
        }
    }

    /// Sends to a follower over the connection that it opened.
    pub(super) fn tell(&self, to: u32, message: ToFollower, out: &mut Outgoing) {
        if let Some(learner) = self.learners.get(&to) {
            to_follower(out, to, learner.join, message);
        }
    }

    /// Closes the connections to the followers.
    pub(super) fn hang_up(&self, out: &mut Outgoing) {
        for (id, learner) in &self.learners {
            to_follower(out, *id, learner.join, ToFollower::Reset);
        }
    }

    /// Forgets the followers that have been silent for this long, and closes their connections: one
    /// that hears without being heard drops its clients then, and not only after a silence of its
    /// own.
    fn drop_silent(&mut self, at: Mono, silence: Duration, out: &mut Outgoing) {
        self.learners.retain(|id, learner| {
            let silent = at.since(learner.heard) >= silence;
            if silent {
                to_follower(out, *id, learner.join, ToFollower::Reset);
            }
            !silent
        });
    }

    fn joined(&self) -> usize {
        self.learners.values().filter(|learner| learner.joined).count() + 1
    }
}

impl Server {
    pub(super) fn lead(&mut self, at: Mono, out: &mut Outgoing) {
        self.role = ServerRole::Leading(Leading {
            epoch: 0,
            phase: LeaderPhase::Gathering { until: at + self.timing.init() },
            learners: BTreeMap::new(),
            last: 0,
            acks: BTreeMap::new(),
            syncs: VecDeque::new(),
            sessions: SessionTracker::new(self.timing.tick),
            ping_at: at,
        });
        self.open_epoch(at, out);
    }

    pub(super) fn tick_leading(&mut self, at: Mono, out: &mut Outgoing) {
        let ServerRole::Leading(leading) = &mut self.role else { return };
        match leading.phase {
            LeaderPhase::Gathering { until } | LeaderPhase::Establishing { until } => {
                if at >= until {
                    self.look(at, out);
                }
            }
            LeaderPhase::Serving => self.reign(at, out),
        }
    }

    /// Does the leader's routine work, every half tick and when a session's time is up.
    fn reign(&mut self, at: Mono, out: &mut Outgoing) {
        let (majority, silence, half) = (self.majority(), self.timing.sync(), self.timing.tick / 2);
        let ServerRole::Leading(leading) = &mut self.role else { return };
        leading.drop_silent(at, silence, out);
        if leading.joined() < majority {
            return self.look(at, out);
        }
        if at >= leading.ping_at {
            leading.ping_at = at + half;
            for (id, learner) in leading.learners.iter().filter(|(_, l)| l.joined) {
                to_follower(out, *id, learner.join, ToFollower::Ping);
            }
        }
        for session in leading.sessions.expired(at) {
            self.end_session(at, session, out);
        }
    }

    pub(super) fn hear_learner(
        &mut self,
        at: Mono,
        from: u32,
        join: u64,
        message: ToLeader,
        out: &mut Outgoing,
    ) {
        if let ToLeader::Join { accepted, epoch, zxid } = message {
            return self.on_join(at, from, join, accepted, (epoch, zxid), out);
        }
        let ServerRole::Leading(leading) = &mut self.role else {
            return refuse(from, join, &message, out);
        };
        let Some(learner) = leading.learners.get_mut(&from).filter(|l| l.join == join) else {
            return refuse(from, join, &message, out);
        };
        learner.heard = at;
        match message {
            ToLeader::Joined => self.on_joined(at, from, out),
            ToLeader::Ack { zxid } => self.on_ack(at, from, zxid, out),
            ToLeader::Pong { touched } => {
                touched.into_iter().for_each(|session| leading.sessions.touch(at, session));
            }
            ToLeader::Reset => {
                leading.learners.remove(&from);
            }
            request => self.decide(at, from, request, out),
        }
    }

    /// Admits a server that would follow this one. A server that does not lead has no port open for
    /// it: the connection is refused.
    fn on_join(
        &mut self,
        at: Mono,
        from: u32,
        join: u64,
        accepted: u32,
        history: (u32, i64),
        out: &mut Outgoing,
    ) {
        let mine = (self.disk.epoch, self.disk.zxid());
        let ServerRole::Leading(leading) = &mut self.role else {
            return to_follower(out, from, join, ToFollower::Refused);
        };
        if leading.learners.get(&from).is_some_and(|learner| learner.join == join) {
            return;
        }
        // Until a majority has agreed to this epoch, a server that comes with a longer history may
        // bring something committed: this one must not overwrite it.
        if !leading.serves() && history > mine {
            return self.look(at, out);
        }
        // A server that has agreed to this epoch or a later one for another's sake can only be led
        // in one that is later still.
        let give_way = match leading.phase {
            LeaderPhase::Gathering { .. } => false,
            LeaderPhase::Establishing { .. } => accepted >= leading.epoch,
            LeaderPhase::Serving => accepted > leading.epoch,
        };
        if give_way {
            return self.look(at, out);
        }
        leading.learners.insert(from, Learner { join, accepted, heard: at, joined: false });
        match leading.phase {
            LeaderPhase::Gathering { .. } => self.open_epoch(at, out),
            LeaderPhase::Establishing { .. } | LeaderPhase::Serving => self.hand_over(from, out),
        }
    }

    /// Opens a new epoch when a majority has come.
    fn open_epoch(&mut self, at: Mono, out: &mut Outgoing) {
        let (majority, until) = (self.majority(), at + self.timing.init());
        let ServerRole::Leading(leading) = &mut self.role else { return };
        if leading.learners.len() + 1 < majority {
            return;
        }
        let accepted = leading.learners.values().map(|learner| learner.accepted).max().unwrap_or(0);
        leading.epoch = accepted.max(self.disk.accepted.0) + 1;
        leading.last = i64::from(leading.epoch) << 32;
        leading.phase = LeaderPhase::Establishing { until };
        self.disk.accepted = (leading.epoch, self.me);
        self.disk.epoch = leading.epoch;
        let learners: Vec<u32> = leading.learners.keys().copied().collect();
        learners.into_iter().for_each(|id| self.hand_over(id, out));
        self.establish_epoch(at, out);
    }

    /// Sends a follower this leader's state, and then what is proposed and not committed yet.
    fn hand_over(&self, to: u32, out: &mut Outgoing) {
        let ServerRole::Leading(leading) = &self.role else { return };
        let database = Box::new(self.disk.database.clone());
        let (epoch, established) = (leading.epoch, leading.serves());
        leading.tell(to, ToFollower::NewLeader { epoch, established, database }, out);
        for (zxid, transaction) in &self.disk.log {
            let propose = ToFollower::Propose { zxid: *zxid, transaction: transaction.clone() };
            leading.tell(to, propose, out);
        }
    }

    fn on_joined(&mut self, at: Mono, from: u32, out: &mut Outgoing) {
        let ServerRole::Leading(leading) = &mut self.role else { return };
        if let Some(learner) = leading.learners.get_mut(&from) {
            learner.joined = true;
        }
        if leading.serves() {
            leading.tell(from, ToFollower::UpToDate, out);
        } else {
            self.establish_epoch(at, out);
        }
    }

    /// Begins to serve when a majority has taken the state over. Every session gets its whole
    /// time-out anew: nobody knows when the last leader heard of it.
    fn establish_epoch(&mut self, at: Mono, out: &mut Outgoing) {
        let majority = self.majority();
        let ServerRole::Leading(leading) = &mut self.role else { return };
        if leading.joined() < majority {
            return;
        }
        leading.phase = LeaderPhase::Serving;
        self.journal.append(&mut self.forwarded);
        self.restated = true;
        leading.ping_at = at;
        for (session, timeout) in &self.disk.database.sessions {
            leading.sessions.add(at, *session, *timeout, None);
        }
        for (id, learner) in leading.learners.iter().filter(|(_, l)| l.joined) {
            to_follower(out, *id, learner.join, ToFollower::UpToDate);
        }
    }
}

/// Answers a message over a connection that is no more with a reset, as TCP would.
fn refuse(from: u32, join: u64, message: &ToLeader, out: &mut Outgoing) {
    if *message != ToLeader::Reset {
        to_follower(out, from, join, ToFollower::Reset);
    }
}
