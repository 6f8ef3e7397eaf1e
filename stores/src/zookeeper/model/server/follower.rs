//! Following: taking over the leader's state, then logging and applying what it proposes.

use super::{Outgoing, Server, ServerRole, ToFollower, ToLeader, Transaction, to_leader};
use base::Mono;
use std::collections::BTreeSet;
use std::time::Duration;

/// The interval at which a follower asks a leader that does not answer.
const REPEAT: Duration = Duration::from_millis(200);

/// The time after which a follower tries again to connect to a server that refused it.
/// ZooKeeper's `leaderConnectDelayDuringRetryMs`.
const RETRY: Duration = Duration::from_millis(100);

/// The refusals after which a follower looks for another leader. ZooKeeper's constant.
const REFUSALS: u32 = 5;

/// A connection to a leader.
#[derive(Debug)]
pub(super) struct Following {
    leader: u32,
    join: u64,
    phase: FollowerPhase,
    /// The time at which the silence of the leader ends this.
    until: Mono,
    /// The sessions that were heard of since the leader last asked.
    touched: BTreeSet<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FollowerPhase {
    /// Asking the leader to be let in, again at this time.
    Asking {
        again: Mono,
        refusals: u32,
    },
    /// The follower has the leader's state and waits for a majority to have it too.
    Joined,
    Serving,
}

impl Following {
    pub(super) const fn leader(&self) -> u32 {
        self.leader
    }

    pub(super) const fn join(&self) -> u64 {
        self.join
    }

    pub(super) const fn serves(&self) -> bool {
        matches!(self.phase, FollowerPhase::Serving)
    }

    pub(super) fn deadline(&self) -> Mono {
        match self.phase {
            FollowerPhase::Asking { again, .. } => self.until.min(again),
            FollowerPhase::Joined | FollowerPhase::Serving => self.until,
        }
    }

    /// Closes the connection to the leader.
    pub(super) fn hang_up(&self, out: &mut Outgoing) {
        to_leader(out, self.leader, self.join, ToLeader::Reset);
    }

    pub(super) fn touch(&mut self, session: i64) {
        self.touched.insert(session);
    }
}

impl Server {
    pub(super) fn follow(&mut self, at: Mono, leader: u32, out: &mut Outgoing) {
        self.numbers.joins += 1;
        self.role = ServerRole::Following(Following {
            leader,
            join: self.numbers.joins,
            phase: FollowerPhase::Asking { again: at, refusals: 0 },
            until: at + self.timing.init(),
            touched: BTreeSet::new(),
        });
        self.tick_following(at, out);
    }

    pub(super) fn tick_following(&mut self, at: Mono, out: &mut Outgoing) {
        let ask = ToLeader::Join {
            accepted: self.disk.accepted.0,
            epoch: self.disk.epoch,
            zxid: self.disk.zxid(),
        };
        let ServerRole::Following(following) = &mut self.role else { return };
        if at >= following.until {
            return self.look(at, out);
        }
        if let FollowerPhase::Asking { again, .. } = &mut following.phase
            && at >= *again
        {
            *again = at + REPEAT;
            to_leader(out, following.leader, following.join, ask);
        }
    }

    pub(super) fn hear_leader(
        &mut self,
        at: Mono,
        from: u32,
        join: u64,
        message: ToFollower,
        out: &mut Outgoing,
    ) {
        let silence = self.timing.sync();
        let ServerRole::Following(following) = &mut self.role else {
            return refuse(from, join, &message, out);
        };
        if (following.leader, following.join) != (from, join) {
            return refuse(from, join, &message, out);
        }
        following.until = following.until.max(at + silence);
        match message {
            ToFollower::NewLeader { epoch, established, database } => {
                self.on_new_leader(at, epoch, established, *database, out);
            }
            ToFollower::UpToDate => {
                following.phase = FollowerPhase::Serving;
                following.until = at + silence;
            }
            ToFollower::Propose { zxid, transaction } => self.on_propose(zxid, transaction, out),
            ToFollower::Commit { zxid } => {
                if self.disk.log.front().is_some_and(|(first, _)| *first == zxid) {
                    self.apply_next(at, out);
                }
            }
            ToFollower::Ping => {
                let touched = std::mem::take(&mut following.touched).into_iter().collect();
                to_leader(out, from, join, ToLeader::Pong { touched });
            }
            ToFollower::Refused => self.on_refusal(at, out),
            ToFollower::Reset => self.look(at, out),
            answer => self.on_answer(at, answer, out),
        }
    }

    /// Tries once more to connect to a server that does not lead, or no longer waits for it to.
    fn on_refusal(&mut self, at: Mono, out: &mut Outgoing) {
        let ServerRole::Following(following) = &mut self.role else { return };
        let FollowerPhase::Asking { again, refusals } = &mut following.phase else { return };
        *refusals += 1;
        *again = at + RETRY;
        if *refusals >= REFUSALS {
            self.look(at, out);
        }
    }

    /// Agrees to the leader's epoch and takes its state over, unless it has agreed to a later one,
    /// or to the same one for another leader, which might still come to lead in it.
    fn on_new_leader(
        &mut self,
        at: Mono,
        epoch: u32,
        established: bool,
        database: super::Database,
        out: &mut Outgoing,
    ) {
        let ServerRole::Following(following) = &mut self.role else { return };
        let (accepted, whose) = self.disk.accepted;
        let taken = epoch == accepted && whose != following.leader && !established;
        if epoch < accepted || taken {
            return self.look(at, out);
        }
        following.phase = FollowerPhase::Joined;
        self.disk.accepted = (epoch, following.leader);
        self.disk.epoch = epoch;
        self.disk.database = database;
        self.disk.log.clear();
        self.forwarded.clear();
        to_leader(out, following.leader, following.join, ToLeader::Joined);
    }

    fn on_propose(&mut self, zxid: i64, transaction: Transaction, out: &mut Outgoing) {
        self.disk.log.push_back((zxid, transaction));
        if let ServerRole::Following(following) = &self.role {
            to_leader(out, following.leader, following.join, ToLeader::Ack { zxid });
        }
    }
}

/// Answers a message over a connection that is no more with a reset, as TCP would.
fn refuse(from: u32, join: u64, message: &ToFollower, out: &mut Outgoing) {
    if *message != ToFollower::Reset {
        to_leader(out, from, join, ToLeader::Reset);
    }
}
