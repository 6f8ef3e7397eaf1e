//! A member of an etcd cluster. It speaks a compact form of Raft, as etcd 3.4 does: heartbeats and
//! elections counted in ticks, no vote against a leader that was just heard of, and a leader that
//! steps down when it hears of no majority (`CheckQuorum`, without `PreVote`).
//!
//! Three things are shorter than in etcd. A read goes through the log as a write does, where etcd
//! asks a majority for the leader's index; its client sees the same. A member that has lost its
//! data joins as soon as a leader has sent it the log, and votes for nobody before, where somebody
//! has to remove it and add it anew. And a leader that was paused for longer than its leases lived
//! gives them up by its own old term, which comes to nothing: etcd can hand that on to the new
//! leader (etcd-io/etcd#15247), and does so in a third of real runs under `pause-leader`.

mod clients;
mod election;
mod following;
mod leading;
mod leases;

use super::{Asker, KeyChange, KeyStore, KeyWatches, LogCommand, LogEntry, LogPlace};
use super::{PeerMessage, RaftPacket};
use crate::etcd::timing::{ELECTION_TICKS, ElectionTiming};
use crate::etcd::{LeaseId, Packet, Request};
use crate::model::{By, Clocks, Name, Noted, Out, Peer, ServerModel, What};
use base::{Data, Mono, Rng, ServerStanding};
use leading::Reign;
use std::collections::{BTreeMap, BTreeSet};

/// The election time-outs without a leader after which a member ends its watches. etcd's constant.
const LEADERLESS: u32 = 3;

/// The model of a member.
#[derive(Debug)]
pub struct Server {
    me: u32,
    size: u32,
    timing: ElectionTiming,
    disk: MemberDisk,
    role: MemberRole,
    /// True since it lost its data, until it has those of a leader: it votes for nobody meanwhile.
    joins: bool,
    /// The ticks since it heard of its leader or, of a leader, since it looked for its majority.
    elapsed: u32,
    /// The ticks after which it wants to lead.
    patience: u32,
    /// All ticks since its start, and the election time-outs among them that found no leader.
    ticks: u32,
    leaderless: u32,
    rng: Rng,
    now: Mono,
    /// The connections of its clients.
    clients: BTreeSet<u64>,
    watches: KeyWatches,
    /// The commands that wait for a leader to be known.
    waiting: Vec<LogCommand>,
    /// The leases that its clients keep alive, until its leader has answered.
    renewals: BTreeMap<Asker, LeaseId>,
    journal: Vec<Noted>,
}

/// The part of a member that survives a crash, if the data do. It answers for nothing that is not
/// there.
#[derive(Debug)]
struct MemberDisk {
    term: u64,
    /// The member that it has voted for in this term.
    voted: Option<u32>,
    log: Vec<LogEntry>,
    /// The entries that it has applied: all that it knows to be committed.
    applied: usize,
    store: KeyStore,
}

impl MemberDisk {
    fn empty(timing: &ElectionTiming) -> Self {
        let store = KeyStore::new(timing.shortest_ttl());
        Self { term: 0, voted: None, log: Vec::new(), applied: 0, store }
    }

    /// The last entry of the log.
    fn last(&self) -> LogPlace {
        self.place(self.log.len())
    }

    /// The entry with an index that the log reaches.
    fn place(&self, index: usize) -> LogPlace {
        let term = index.checked_sub(1).map_or(0, |before| self.log[before].term);
        LogPlace { term, index }
    }
}

#[derive(Debug)]
enum MemberRole {
    /// It hears of a leader, or of none yet.
    Follower(Option<u32>),
    /// It wants to lead: the votes so far.
    Candidate(BTreeMap<u32, bool>),
    Leader(Reign),
}

type Outgoing = Vec<Out<Packet>>;

impl Server {
    /// Member `me` of a cluster of `size`, members counted from 0, without data.
    pub fn new(me: u32, size: u32, timing: ElectionTiming) -> Self {
        Self {
            me,
            size,
            timing,
            disk: MemberDisk::empty(&timing),
            role: MemberRole::Follower(None),
            joins: false,
            elapsed: 0,
            patience: 0,
            ticks: 0,
            leaderless: 0,
            rng: Rng::new(0),
            now: Mono::ZERO,
            clients: BTreeSet::new(),
            watches: KeyWatches::default(),
            waiting: Vec::new(),
            renewals: BTreeMap::new(),
            journal: Vec::new(),
        }
    }

    /// Returns true if it believes that it leads.
    pub fn is_leader(&self) -> bool {
        matches!(self.role, MemberRole::Leader(_))
    }

    /// The leader that it knows of.
    fn leader(&self) -> Option<u32> {
        match &self.role {
            MemberRole::Follower(leader) => *leader,
            MemberRole::Candidate(_) => None,
            MemberRole::Leader(_) => Some(self.me),
        }
    }

    const fn majority(&self) -> usize {
        self.size as usize / 2 + 1
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let me = self.me;
        (0..self.size).filter(move |member| *member != me)
    }

    fn send(&self, to: u32, message: PeerMessage, out: &mut Outgoing) {
        let packet = RaftPacket { term: self.disk.term, message };
        out.push(Out::Send(Peer::Server(to), Packet::Peer(packet)));
    }

    fn hear_peer(&mut self, from: u32, packet: RaftPacket, out: &mut Outgoing) {
        let RaftPacket { term, message } = packet;
        match message {
            // These are not the election's, and have no term.
            PeerMessage::Propose(command) => return self.propose(command, Some(from), out),
            PeerMessage::Renew(asker, lease) => return self.renew_here(asker, lease, out),
            PeerMessage::Renewed(asker, result) => return self.renewed(asker, result, out),
            _ => {}
        }
        if term > self.disk.term && !self.rises_to(term, from, &message, out) {
            return;
        }
        if term < self.disk.term {
            // It has missed an election: this makes it step down.
            if let PeerMessage::Append { .. } = message {
                self.send(from, PeerMessage::Appended { fits: false, index: 0 }, out);
            }
            return;
        }
        match message {
            PeerMessage::Canvass { last } => self.on_canvass(from, last, out),
            PeerMessage::Vote { granted } => self.on_vote(from, granted, out),
            PeerMessage::Append { previous, entries, commit } => {
                self.on_append(from, previous, entries, commit, out);
            }
            PeerMessage::Appended { fits, index } => self.on_appended(from, fits, index, out),
            PeerMessage::Propose(_) | PeerMessage::Renew(..) | PeerMessage::Renewed(..) => {}
        }
    }

    /// Appends a command if it leads, hands it on to its leader, or waits for one. Of one that came
    /// from another member (`from`) nobody waits for a leader.
    fn propose(&mut self, command: LogCommand, from: Option<u32>, out: &mut Outgoing) {
        match self.leader() {
            Some(leader) if leader == self.me => self.append(command, out),
            Some(leader) if Some(leader) != from => {
                self.send(leader, PeerMessage::Propose(command), out);
            }
            _ if from.is_none() => self.waiting.push(command),
            _ => {}
        }
    }

    /// A leader is known: what waited for one goes there.
    fn turn_to_leader(&mut self, out: &mut Outgoing) {
        for command in std::mem::take(&mut self.waiting) {
            self.propose(command, None, out);
        }
        for (asker, lease) in self.renewals.clone() {
            self.ask_to_renew(asker, lease, out);
        }
    }

    /// Applies what is committed, up to an index.
    fn apply(&mut self, commit: usize, out: &mut Outgoing) {
        while self.disk.applied < commit {
            let command = self.disk.log[self.disk.applied].command.clone();
            self.disk.applied += 1;
            match command {
                LogCommand::Nothing => {}
                LogCommand::Request(asker, request) => {
                    let result = self.execute(&request, By::Session(session_of(&asker)), out);
                    if asker.server == self.me {
                        self.reply(asker, result, out);
                    }
                }
                LogCommand::Expire(lease) => self.expire(lease, out),
            }
        }
    }

    fn execute(
        &mut self,
        request: &Request,
        by: By,
        out: &mut Outgoing,
    ) -> Result<crate::etcd::Reply, crate::etcd::Refusal> {
        let mut changes = Vec::new();
        let result = self.disk.store.apply(request, &mut changes);
        let zxid = Some(self.disk.applied as i64);
        note(&changes, Some(by), zxid, &mut self.journal);
        self.heed(&changes, out);
        result
    }

    fn expire(&mut self, lease: LeaseId, out: &mut Outgoing) {
        let mut changes = Vec::new();
        // It may be over already, by its client's request.
        if self.disk.store.apply(&Request::LeaseRevoke { lease }, &mut changes).is_ok() {
            let zxid = Some(self.disk.applied as i64);
            note(&changes, None, zxid, &mut self.journal);
            self.heed(&changes, out);
        }
    }

    /// Does what changes of the store ask for.
    fn heed(&mut self, changes: &[KeyChange], out: &mut Outgoing) {
        for change in changes {
            match change {
                KeyChange::Deleted(..) => self.watches.fire(&self.disk.store, out),
                KeyChange::Leased(lease) => self.start_lease(*lease),
                KeyChange::Revoked(lease) => self.end_lease(*lease, out),
                KeyChange::Created(..) => {}
            }
        }
    }

    /// Ends the watches when it has had no leader for too long.
    fn look_for_leader(&mut self, out: &mut Outgoing) {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.is_multiple_of(ELECTION_TICKS) {
            self.leaderless = if self.leader().is_some() { 0 } else { self.leaderless + 1 };
            if self.leaderless >= LEADERLESS {
                self.watches.end(out);
            }
        }
    }
}

/// The session of whoever asks, as the ledger knows it: leases have numbers of their own.
const fn session_of(asker: &Asker) -> i64 {
    -(asker.connection as i64) - 1
}

impl ServerModel for Server {
    type Packet = Packet;

    fn standing(&self) -> Option<ServerStanding> {
        self.leader().filter(|_| !self.joins).map(|leader| match leader == self.me {
            true => ServerStanding::Leader,
            false => ServerStanding::Follower,
        })
    }

    fn is_call(packet: &Packet) -> bool {
        super::is_call(packet)
    }

    fn receive(&mut self, at: Clocks, from: Peer, packet: Packet, out: &mut Outgoing) {
        self.now = at.mono;
        match (from, packet) {
            (Peer::Server(from), Packet::Peer(packet)) => self.hear_peer(from, packet, out),
            (Peer::Connection(from), Packet::Request { id, request }) => {
                self.hear_client(from, id, request, out);
            }
            _ => {}
        }
    }

    fn disconnected(&mut self, _: Clocks, connection: u64, _: &mut Outgoing) {
        self.forget_client(connection);
    }

    fn tick(&mut self, at: Clocks, out: &mut Outgoing) -> Option<Mono> {
        self.now = at.mono;
        if self.patience == 0 {
            self.rng = Rng::fork(at.wall.nanos(), u64::from(self.me));
            self.draw_patience();
        }
        match self.role {
            MemberRole::Leader(_) => self.tick_leading(out),
            MemberRole::Follower(_) | MemberRole::Candidate(_) => self.tick_waiting(out),
        }
        self.look_for_leader(out);
        Some(at.mono + self.timing.heartbeat)
    }

    fn restart(&mut self, at: Clocks, data: Data) {
        let fresh = Self::new(self.me, self.size, self.timing);
        let old = std::mem::replace(self, Self { now: at.mono, ..fresh });
        self.journal = old.journal;
        match data {
            // It acknowledges nothing that is not on the disk.
            Data::Kept | Data::Unsynced => (self.disk, self.joins) = (old.disk, old.joins),
            Data::Lost => self.joins = true,
        }
    }

    fn take_journal(&mut self, into: &mut Vec<Noted>) {
        into.append(&mut self.journal);
    }
}

/// Records the changes of a command in the journal. Without a client the time of a lease was over.
pub fn note(changes: &[KeyChange], by: Option<By>, zxid: Option<i64>, journal: &mut Vec<Noted>) {
    for change in changes {
        let (object, what) = match (change, by) {
            (KeyChange::Created(key, _), Some(by)) => (key.as_str(), What::Written(by)),
            (KeyChange::Deleted(key, _), Some(by)) => (key.as_str(), What::Deleted(by)),
            (KeyChange::Deleted(key, lease), None) => (key.as_str(), What::SessionEnded(*lease)),
            // A client whose lease owned nothing may still wait with it, in vain.
            (KeyChange::Revoked(lease), None) if changes.len() == 1 => {
                ("", What::SessionEnded(*lease))
            }
            _ => continue,
        };
        journal.push(Noted { object: Name::from_slice(object.as_bytes()), what, zxid });
    }
}
