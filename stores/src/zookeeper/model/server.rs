//! A member of an ensemble. It speaks a compact form of ZooKeeper's atomic broadcast (Zab): an
//! election, a new epoch that a majority agrees to, then proposals that commit in order at a
//! majority of acknowledgements.
//!
//! Two things are shorter than in ZooKeeper. A new leader always sends its whole state where
//! ZooKeeper sends a difference if it can; and a proposal carries the request itself, whose result
//! follows from the state, where ZooKeeper's leader computes the result first.

mod broadcast;
mod clients;
mod election;
mod follower;
mod leader;
mod serving;
#[cfg(test)]
mod tests;

pub use clients::watched;

use super::database::Database;
use super::packet::{ElectionRole, Packet, PeerPacket, ToFollower, ToLeader, Vote};
use super::{Transaction, tree};
use crate::model::{By, Clocks, Name, Noted, Out, Peer, ServerModel, What};
use crate::zookeeper::{Timing, WatchEvent};
use base::{Data, Mono, ServerStanding};
use clients::ClientConnections;
use election::Looking;
use follower::Following;
use leader::Leading;
use std::collections::VecDeque;
use std::time::Duration;

/// The model of one server.
#[derive(Debug)]
pub struct Server {
    me: u32,
    size: u32,
    timing: Timing,
    disk: Disk,
    numbers: FreshNumbers,
    /// The election round; later rounds override earlier ones.
    round: u64,
    role: ServerRole,
    clients: ClientConnections,
    journal: Vec<Noted>,
    /// The changes of proposals that it has applied without knowing whether they were committed:
    /// they are if it comes to lead.
    forwarded: Vec<Noted>,
    /// True once it has begun to lead, with a state that may not be the last leader's.
    restated: bool,
}

/// The part of a server that survives a crash, if the data do.
#[derive(Debug, Default)]
struct Disk {
    database: Database,
    /// Proposals that are logged and not yet known to be committed.
    log: VecDeque<(i64, Transaction)>,
    /// The epoch that this server has agreed to last, and its leader: it agrees to one leader an
    /// epoch, and to no earlier epoch again.
    accepted: (u32, u32),
    /// The last epoch that it took part in.
    epoch: u32,
}

impl Disk {
    /// The last transaction logged.
    fn zxid(&self) -> i64 {
        self.log.back().map_or(self.database.zxid, |(zxid, _)| *zxid)
    }

    /// Applies what is logged without asking whether it was committed, as ZooKeeper does when a
    /// server leaves a quorum: the next leader's state overrides it, or this server becomes the
    /// leader and commits it.
    fn fast_forward(&mut self, journal: &mut Vec<Noted>) {
        for (zxid, transaction) in self.log.drain(..) {
            let mut changes = Vec::new();
            self.database.apply(zxid, &transaction, &mut changes);
            note(zxid, &transaction, &changes, journal);
        }
    }
}

/// Numbers that are never used twice. They outlive even the loss of the data, because what they
/// stand for does: a connection, and the clock that ZooKeeper makes its session numbers from.
#[derive(Debug, Default)]
struct FreshNumbers {
    joins: u64,
    sessions: i64,
}

#[derive(Debug)]
enum ServerRole {
    /// Not running yet: the first tick begins the election.
    Starting,
    Looking(Looking),
    Following(Following),
    Leading(Leading),
}

type Outgoing = Vec<Out<Packet>>;

impl Server {
    /// Member `me` of an ensemble of `size`, members counted from 0, without data.
    pub fn new(me: u32, size: u32, timing: Timing) -> Self {
        Self {
            me,
            size,
            timing,
            disk: Disk::default(),
            numbers: FreshNumbers::default(),
            round: 0,
            role: ServerRole::Starting,
            clients: ClientConnections::default(),
            journal: Vec::new(),
            forwarded: Vec::new(),
            restated: false,
        }
    }

    /// Returns true if this server is leading and has a majority behind it.
    pub fn is_leader(&self) -> bool {
        matches!(&self.role, ServerRole::Leading(leading) if leading.serves())
    }

    /// Returns true if this server answers clients.
    pub fn is_serving(&self) -> bool {
        self.is_leader() || matches!(&self.role, ServerRole::Following(f) if f.serves())
    }

    /// The state that this server has applied.
    #[cfg(test)]
    pub(super) const fn database(&self) -> &Database {
        &self.disk.database
    }

    const fn majority(&self) -> usize {
        self.size as usize / 2 + 1
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let me = self.me;
        (0..self.size).filter(move |id| *id != me)
    }

    fn hear_peer(&mut self, at: Mono, from: u32, packet: PeerPacket, out: &mut Outgoing) {
        match packet {
            PeerPacket::Notification { round, vote, standing } => {
                self.on_notification(at, from, round, vote, standing, out);
            }
            PeerPacket::ToLeader { join, message } => {
                self.hear_learner(at, from, join, message, out);
            }
            PeerPacket::ToFollower { join, message } => {
                self.hear_leader(at, from, join, message, out);
            }
        }
    }

    /// Applies the next logged proposal, whose commit is now known: watches first, then the answer
    /// to the client that asked.
    fn apply_next(&mut self, at: Mono, out: &mut Outgoing) {
        let Some((zxid, transaction)) = self.disk.log.pop_front() else { return };
        let mut changes: Vec<tree::TreeChange> = Vec::new();
        let result = self.disk.database.apply(zxid, &transaction, &mut changes);
        note(zxid, &transaction, &changes, &mut self.journal);
        self.clients.notify(&changes, out);
        match transaction {
            Transaction::CreateSession { session, timeout } => {
                self.establish(at, session, timeout, out);
            }
            Transaction::CloseSession { session } => {
                if let ServerRole::Leading(leading) = &mut self.role {
                    leading.sessions.remove(session);
                }
                self.clients.close_session(session, out);
            }
            Transaction::Write { session, xid, .. } => {
                if let Some(result) = result {
                    self.clients.complete(session, xid, result, &self.disk.database, out);
                }
            }
        }
    }
}

impl ServerModel for Server {
    type Packet = Packet;

    fn is_call(packet: &Packet) -> bool {
        matches!(packet, Packet::Request { .. } | Packet::Reply { .. })
    }

    fn receive(&mut self, at: Clocks, from: Peer, packet: Packet, out: &mut Outgoing) {
        match (from, packet) {
            (Peer::Server(id), Packet::Peer(packet)) => self.hear_peer(at.mono, id, packet, out),
            (Peer::Connection(id), packet) => self.hear_client(at.mono, id, packet, out),
            // Servers say nothing else to each other.
            (Peer::Server(_), _) => {}
        }
    }

    fn disconnected(&mut self, _at: Clocks, connection: u64, _: &mut Outgoing) {
        self.clients.forget(connection);
    }

    fn tick(&mut self, at: Clocks, out: &mut Outgoing) -> Option<Mono> {
        let at = at.mono;
        match self.role {
            ServerRole::Starting => self.look(at, out),
            ServerRole::Looking(_) => self.tick_looking(at, out),
            ServerRole::Following(_) => self.tick_following(at, out),
            ServerRole::Leading(_) => self.tick_leading(at, out),
        }
        // A packet may shorten what this server waits for, and only a tick can say so: it asks to
        // be called again soon in any case.
        let (cap, own) = match &self.role {
            ServerRole::Starting => (self.timing.tick / 2, None),
            ServerRole::Looking(looking) => (election::FINALIZE_WAIT / 4, Some(looking.deadline())),
            ServerRole::Following(following) => (self.timing.tick / 2, Some(following.deadline())),
            ServerRole::Leading(leading) => (self.timing.tick / 2, Some(leading.deadline())),
        };
        let next = own.map_or(at + cap, |own| own.min(at + cap));
        Some(next.max(at + Duration::from_millis(1)))
    }

    fn hang_up(&self, out: &mut Outgoing) {
        match &self.role {
            ServerRole::Starting | ServerRole::Looking(_) => {}
            ServerRole::Following(following) => following.hang_up(out),
            ServerRole::Leading(leading) => leading.hang_up(out),
        }
    }

    fn restart(&mut self, _at: Clocks, data: Data) {
        match data {
            // It acknowledges nothing that is not on the disk.
            Data::Kept | Data::Unsynced => self.disk.fast_forward(&mut self.forwarded),
            Data::Lost => {
                self.disk = Disk::default();
                self.forwarded.clear();
            }
        }
        self.round = 0;
        self.role = ServerRole::Starting;
        self.clients = ClientConnections::default();
    }

    fn standing(&self) -> Option<ServerStanding> {
        match self.is_leader() {
            true => Some(ServerStanding::Leader),
            false => self.is_serving().then_some(ServerStanding::Follower),
        }
    }

    fn take_journal(&mut self, into: &mut Vec<Noted>) {
        into.append(&mut self.journal);
    }

    fn restated(&mut self) -> Option<Vec<(Name, i64)>> {
        let standing = || {
            let nodes = self.disk.database.tree.owners();
            nodes.map(|(path, owner)| (Name::from_slice(path.as_bytes()), owner)).collect()
        };
        self.restated.then(standing).inspect(|_| self.restated = false)
    }
}

/// Records the changes of a transaction in the journal.
pub fn note(
    zxid: i64,
    transaction: &Transaction,
    changes: &[tree::TreeChange],
    journal: &mut Vec<Noted>,
) {
    let (by, ended) = match transaction {
        Transaction::CreateSession { .. } => return,
        Transaction::CloseSession { session } => (*session, true),
        Transaction::Write { session, .. } => (*session, false),
    };
    for (path, event) in changes {
        let what = match event {
            WatchEvent::Created | WatchEvent::DataChanged => What::Written(By::Session(by)),
            WatchEvent::Deleted if ended => What::SessionEnded(by),
            WatchEvent::Deleted => What::Deleted(By::Session(by)),
            WatchEvent::ChildrenChanged | WatchEvent::SessionExpired => continue,
        };
        journal.push(Noted { object: Name::from_slice(path.as_bytes()), what, zxid: Some(zxid) });
    }
    // A client whose session owned nothing may still wait in it, in vain.
    if ended && changes.is_empty() {
        let what = What::SessionEnded(by);
        journal.push(Noted { object: Name::new(), what, zxid: Some(zxid) });
    }
}

/// Sends to another server.
fn send(out: &mut Outgoing, to: u32, packet: PeerPacket) {
    out.push(Out::Send(Peer::Server(to), Packet::Peer(packet)));
}

fn to_leader(out: &mut Outgoing, to: u32, join: u64, message: ToLeader) {
    send(out, to, PeerPacket::ToLeader { join, message });
}

fn to_follower(out: &mut Outgoing, to: u32, join: u64, message: ToFollower) {
    send(out, to, PeerPacket::ToFollower { join, message });
}
