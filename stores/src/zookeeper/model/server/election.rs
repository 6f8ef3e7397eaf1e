//! The election: every looking server tells the others its vote, changes it when it hears of a
//! better candidate, and settles when a majority agrees.
//!
//! This is ZooKeeper's fast leader election, with its rounds and its final wait.

use super::{ElectionRole, Outgoing, PeerPacket, Server, ServerRole, Vote};
use crate::model::{Out, Peer, ServerModel};
use crate::zookeeper::model::Packet;
use base::Mono;
use std::collections::BTreeMap;
use std::time::Duration;

/// The time for which a majority must stand before it counts, in case a better candidate is about
/// to speak. ZooKeeper's constant.
pub(super) const FINALIZE_WAIT: Duration = Duration::from_millis(200);

/// The interval at which a looking server repeats itself.
const REPEAT: Duration = Duration::from_millis(200);

/// An election that this server takes part in.
#[derive(Debug)]
pub(super) struct Looking {
    vote: Vote,
    /// The votes of this round.
    votes: BTreeMap<u32, Vote>,
    /// The leader and the role that each server reports that is no longer looking.
    settled: BTreeMap<u32, (u32, ElectionRole)>,
    repeat_at: Mono,
    decide_at: Option<Mono>,
}

impl Looking {
    pub(super) fn deadline(&self) -> Mono {
        self.decide_at.map_or(self.repeat_at, |at| at.min(self.repeat_at))
    }

    fn adopt(&mut self, me: u32, vote: Vote) {
        self.vote = vote;
        self.votes.insert(me, vote);
        self.decide_at = None;
    }

    fn supporters(&self) -> usize {
        self.votes.values().filter(|vote| **vote == self.vote).count()
    }

    /// The leader that a majority already follows, or voted for in this round, if that leader says
    /// so too.
    fn established(&self, majority: usize) -> Option<u32> {
        let followed = |leader: u32| self.settled.values().filter(|(l, _)| *l == leader).count();
        let elected = |leader: u32| self.vote.leader == leader && self.supporters() >= majority;
        let leaders = self.settled.iter().filter(|(_, (_, s))| *s == ElectionRole::Leading);
        let mut leaders = leaders.map(|(id, _)| *id);
        leaders.find(|id| followed(*id) >= majority || elected(*id))
    }
}

impl Server {
    /// Leaves whatever quorum it was in, closes the connections to its members and to its clients,
    /// and looks for a leader.
    pub(super) fn look(&mut self, at: Mono, out: &mut Outgoing) {
        self.hang_up(out);
        self.clients.close_all(out);
        self.disk.fast_forward(&mut self.forwarded);
        self.round += 1;
        let vote = self.own_vote();
        self.role = ServerRole::Looking(Looking {
            vote,
            votes: BTreeMap::from([(self.me, vote)]),
            settled: BTreeMap::new(),
            repeat_at: at + REPEAT,
            decide_at: None,
        });
        self.campaign(out);
        self.weigh(at);
    }

    pub(super) fn tick_looking(&mut self, at: Mono, out: &mut Outgoing) {
        let ServerRole::Looking(looking) = &mut self.role else { return };
        if looking.decide_at.is_some_and(|decide| at >= decide) {
            let leader = looking.vote.leader;
            return self.settle(at, leader, out);
        }
        if at >= looking.repeat_at {
            looking.repeat_at = at + REPEAT;
            self.campaign(out);
        }
    }

    pub(super) fn on_notification(
        &mut self,
        at: Mono,
        from: u32,
        round: u64,
        vote: Vote,
        standing: ElectionRole,
        out: &mut Outgoing,
    ) {
        match (&mut self.role, standing) {
            (ServerRole::Looking(_), ElectionRole::Looking) => {
                self.on_vote(at, from, round, vote, out)
            }
            (ServerRole::Looking(looking), _) => {
                looking.settled.insert(from, (vote.leader, standing));
                if round == self.round {
                    looking.votes.insert(from, vote);
                }
                let leader = looking.established(self.size as usize / 2 + 1);
                if let Some(leader) = leader.filter(|leader| *leader != self.me) {
                    self.round = self.round.max(round);
                    self.follow(at, leader, out);
                }
            }
            (ServerRole::Following(_) | ServerRole::Leading(_), ElectionRole::Looking) => {
                out.push(self.notification(from));
            }
            (ServerRole::Starting | ServerRole::Following(_) | ServerRole::Leading(_), _) => {}
        }
    }

    fn on_vote(&mut self, at: Mono, from: u32, round: u64, vote: Vote, out: &mut Outgoing) {
        let (own, current) = (self.own_vote(), self.round);
        let ServerRole::Looking(looking) = &mut self.role else { return };
        looking.settled.remove(&from);
        if round < current {
            // It is behind and will join this round when it hears of it.
            out.push(self.notification(from));
            return;
        }
        let changed = if round > current {
            self.round = round;
            looking.votes.clear();
            looking.adopt(self.me, vote.max(own));
            true
        } else if vote > looking.vote {
            looking.adopt(self.me, vote);
            true
        } else {
            false
        };
        looking.votes.insert(from, vote);
        if changed {
            self.campaign(out);
        }
        self.weigh(at);
    }

    /// Starts the final wait when a majority agrees.
    fn weigh(&mut self, at: Mono) {
        let (majority, alone) = (self.majority(), self.size == 1);
        let ServerRole::Looking(looking) = &mut self.role else { return };
        if looking.supporters() >= majority {
            let wait = if alone { Duration::ZERO } else { FINALIZE_WAIT };
            looking.decide_at.get_or_insert(at + wait);
        } else {
            looking.decide_at = None;
        }
    }

    fn settle(&mut self, at: Mono, leader: u32, out: &mut Outgoing) {
        if leader == self.me { self.lead(at, out) } else { self.follow(at, leader, out) }
    }

    fn own_vote(&self) -> Vote {
        Vote { epoch: self.disk.epoch, zxid: self.disk.zxid(), leader: self.me }
    }

    /// Sends this server's vote to all others.
    fn campaign(&self, out: &mut Outgoing) {
        out.extend(self.others().map(|to| self.notification(to)));
    }

    fn notification(&self, to: u32) -> Out<Packet> {
        let (vote, standing) = match &self.role {
            ServerRole::Starting => (self.own_vote(), ElectionRole::Looking),
            ServerRole::Looking(looking) => (looking.vote, ElectionRole::Looking),
            ServerRole::Following(following) => {
                (Vote { leader: following.leader(), ..self.own_vote() }, ElectionRole::Following)
            }
            ServerRole::Leading(_) => (self.own_vote(), ElectionRole::Leading),
        };
        let packet = PeerPacket::Notification { round: self.round, vote, standing };
        Out::Send(Peer::Server(to), Packet::Peer(packet))
    }
}
