//! A member of a Redis Cluster beside its data: what it knows of the others, whom it takes for
//! dead, and which server it takes for the primary of which slots. Worded like Redis 7.0.15.
//!
//! Of each shard there are two servers, and slots never move from one shard to another. So a
//! replica has no rival that knows more, and its rank, by which others wait longer, is always 0.
//!
//! As in Redis, times are readings of the server's wall clock.

mod answers;
mod bus_message;
mod election;
mod failure;

pub use answers::{LocalKeys, keyslot, myid, slots, turn_away, turn_away_keys};
pub use bus_message::{BusHeader, BusMessage, BusPayload, GossipEntry};

use super::keyspace::Millis;
use crate::model::{Clocks, Out, Peer};
use crate::redis::{ClusterTiming, Packet, Shards};
use base::Rng;
use election::Election;
use std::collections::BTreeMap;
use std::time::Duration;

/// The turns of a member from one ping of anybody to the next: ten turns a second.
const TURNS_PER_PING: u64 = 10;

/// The number of members that it draws to ping the one of them that was silent longest.
const DRAWN: u32 = 5;

/// The time for which a primary that has started serves nothing: it may have a successor.
const WRITABLE_DELAY: Millis = 2_000;

/// The bounds of the time for which a primary that has come back to the majority serves nothing.
const REJOIN_DELAY: (Millis, Millis) = (500, 5_000);

/// The data that a member has on its disk (`nodes.conf`).
#[derive(Clone, Debug)]
struct NodesFile {
    epoch: u64,
    /// The last epoch in which it voted.
    voted: u64,
    members: Vec<KnownMember>,
    /// The primary of each shard's slots.
    owners: Vec<u32>,
}

/// A member, as another one or itself knows it.
#[derive(Clone, Copy, Debug)]
struct KnownMember {
    follows: Option<u32>,
    config_epoch: u64,
    /// The time since which a majority finds it down.
    failed: Option<Millis>,
}

/// The connection of a member to another, and what it hears over it.
#[derive(Clone, Debug)]
struct BusPeer {
    /// The time of the oldest ping that is not answered.
    pinged: Option<Millis>,
    /// The time of the last answer, and that of the last message of any kind.
    ponged: Millis,
    heard: Millis,
    /// The time at which the connection was made; `None`: there is none.
    connected: Option<Millis>,
    /// True if it has not answered for too long (`PFAIL`).
    is_suspected: bool,
    /// True if it was suspected already when this member's last turn began: a turn counts its
    /// suspects first, and only those that are counted are reported.
    is_counted: bool,
    /// The primaries that find it down, and when they last reported it.
    reports: BTreeMap<u32, Millis>,
    /// The time at which this member last voted for a replica of it.
    voted: Option<Millis>,
}

/// The model of a member's part in its cluster.
#[derive(Clone, Debug)]
pub struct Bus {
    number: u32,
    shards: Shards,
    node_timeout: Millis,
    file: NodesFile,
    peers: BTreeMap<u32, BusPeer>,
    rng: Rng,
    turns: u64,
    election: Election,
    /// True if it serves what it has (`cluster_state:ok`).
    is_ok: bool,
    /// The time of its first turn; `None`: there was none yet. One that its cluster starts with has
    /// had its first turn long ago.
    started: Option<Millis>,
    /// The last time at which it heard of no majority.
    in_minority: Option<Millis>,
    /// The time at which a replica that has its primary's data last heard of that.
    fed: Option<Millis>,
    /// True if it has just been made a primary.
    is_appointed: bool,
}

impl Bus {
    /// The part of a server in a cluster that has stood for a while.
    pub fn new(number: u32, shards: Shards, timing: ClusterTiming) -> Self {
        let member = |number: u32| KnownMember {
            follows: (number >= shards.count).then(|| shards.of_server(number)),
            config_epoch: u64::from(shards.of_server(number)) + 1,
            failed: None,
        };
        let file = NodesFile {
            epoch: u64::from(shards.count),
            voted: 0,
            members: (0..shards.servers).map(member).collect(),
            owners: (0..shards.count).collect(),
        };
        let node_timeout = timing.node_timeout.as_millis() as Millis;
        let bus = Self::started(number, shards, node_timeout, file);
        Self { is_ok: true, started: Some(Millis::MIN / 2), fed: Some(Millis::MAX), ..bus }
    }

    /// A member that has just read its file.
    fn started(number: u32, shards: Shards, node_timeout: Millis, file: NodesFile) -> Self {
        Self {
            number,
            shards,
            node_timeout,
            file,
            peers: BTreeMap::new(),
            rng: Rng::new(0),
            turns: 0,
            election: Election::default(),
            is_ok: false,
            started: None,
            in_minority: None,
            fed: None,
            is_appointed: false,
        }
    }

    /// Starts again after a crash, with what it has on its disk.
    pub fn restart(&mut self) {
        let file = self.file.clone();
        *self = Self::started(self.number, self.shards, self.node_timeout, file);
    }

    /// The primary that it follows; `None`: it is one.
    pub fn follows(&self) -> Option<u32> {
        self.me().follows
    }

    /// Notes that its primary's data have come.
    pub fn feed(&mut self, at: Clocks) {
        self.fed = Some(at.wall.millis() as Millis);
    }

    /// The number of this member, if it has been made a primary since the last call.
    pub fn take_appointed(&mut self) -> Option<u32> {
        std::mem::take(&mut self.is_appointed).then_some(self.number)
    }

    /// Tells all members that this one's process is dead.
    pub fn hang_up(&self, out: &mut Vec<Out<Packet>>) {
        self.broadcast(&BusPayload::HangUp, out);
    }

    /// Returns the time until its first turn, where it is not now: members take theirs out of step.
    pub fn first_turn(&mut self, at: Clocks) -> Option<Duration> {
        if !self.peers.is_empty() {
            return None;
        }
        let now = at.wall.millis() as Millis;
        // Its own clock is all that a fresh server has of chance.
        self.rng = Rng::fork(at.wall.nanos(), u64::from(self.number));
        let is_old = self.started.is_some();
        for other in (0..self.shards.servers).filter(|other| *other != self.number) {
            let ago = self.rng.below(self.node_timeout as u64 / 2) as Millis;
            let (ponged, connected) =
                if is_old { (now - ago, Some(now - ago)) } else { (now, None) };
            let peer = BusPeer {
                pinged: None,
                ponged,
                heard: ponged,
                connected,
                is_suspected: false,
                is_counted: false,
                reports: BTreeMap::new(),
                voted: None,
            };
            self.peers.insert(other, peer);
        }
        is_old.then(|| Duration::from_millis(self.rng.below(100)))
    }

    /// Takes its turn, ten times a second: pings whoever is to be pinged, and decides.
    pub fn turn(&mut self, at: Clocks, out: &mut Vec<Out<Packet>>) {
        let now = at.wall.millis() as Millis;
        self.started.get_or_insert(now);
        self.turns += 1;
        self.peers.values_mut().for_each(|peer| peer.is_counted = peer.is_suspected);
        self.fed = self.fed.map(|fed| fed.min(now));
        for other in self.due_pings(now) {
            self.ping(other, now, out);
        }
        let suspects = self.suspect(now);
        self.stand(now, out);
        if suspects || !self.is_ok {
            self.update_state(now);
        }
    }

    /// The members to ping now: whoever there is no connection to, whoever was silent for half of
    /// the time-out, and once a second the one of a few that was silent longest.
    fn due_pings(&mut self, now: Millis) -> Vec<u32> {
        let half = self.node_timeout / 2;
        let chance =
            self.turns.is_multiple_of(TURNS_PER_PING).then(|| self.silent_longest()).flatten();
        let mut due = Vec::new();
        for (&other, peer) in &mut self.peers {
            if let Some(connected) = peer.connected
                && let Some(pinged) = peer.pinged
                && now - connected > self.node_timeout
                && now - pinged > half
                && now - peer.heard > half
            {
                peer.connected = None;
            }
            let is_silent = peer.pinged.is_none() && now - peer.ponged > half;
            if peer.connected.is_none() || is_silent || chance == Some(other) {
                due.push(other);
            }
        }
        due
    }

    fn silent_longest(&mut self) -> Option<u32> {
        let others: Vec<u32> = self.peers.keys().copied().collect();
        let drawn: Vec<u32> = (0..DRAWN).filter_map(|_| self.rng.pick(&others).copied()).collect();
        let idle = drawn.into_iter().filter(|other| {
            let peer = &self.peers[other];
            peer.connected.is_some() && peer.pinged.is_none()
        });
        idle.min_by_key(|other| self.peers[other].ponged)
    }

    fn ping(&mut self, other: u32, now: Millis, out: &mut Vec<Out<Packet>>) {
        let payload = BusPayload::Ping(self.gossip(other));
        self.say(other, payload, out);
        if let Some(peer) = self.peers.get_mut(&other) {
            peer.pinged.get_or_insert(now);
        }
    }

    /// Handles a message of another member.
    pub fn hear(&mut self, at: Clocks, from: u32, message: BusMessage, out: &mut Vec<Out<Packet>>) {
        let BusMessage { sender, payload } = message;
        let now = at.wall.millis() as Millis;
        let Some(peer) = self.peers.get_mut(&from) else { return };
        if payload == BusPayload::HangUp {
            peer.connected = None;
            return;
        }
        peer.heard = now;
        self.file.epoch = self.file.epoch.max(sender.epoch);
        let known = &mut self.file.members[from as usize];
        known.config_epoch = known.config_epoch.max(sender.config_epoch);
        if self.follows() == Some(from) {
            self.fed = self.fed.map(|_| now);
        }
        match payload {
            BusPayload::Ping(gossip) => {
                let answer = BusPayload::Pong(self.gossip(from));
                self.say(from, answer, out);
                self.learn(now, from, sender, &gossip, out);
            }
            BusPayload::Pong(gossip) => {
                self.answered(now, from);
                self.learn(now, from, sender, &gossip, out);
            }
            BusPayload::Failed(server) => self.believe_failed(now, server),
            BusPayload::AskVote => self.consider(now, from, sender, out),
            BusPayload::Vote => self.count_vote(now, from, sender, out),
            BusPayload::Update { owner, config_epoch } => self.update(now, owner, config_epoch),
            BusPayload::HangUp => {}
        }
    }

    /// Learns from what a member says of itself, and of others.
    fn learn(
        &mut self,
        now: Millis,
        from: u32,
        sender: BusHeader,
        gossip: &[GossipEntry],
        out: &mut Vec<Out<Packet>>,
    ) {
        self.file.members[from as usize].follows = sender.follows;
        let shard = self.shards.of_server(from);
        let owner = self.file.owners[shard as usize];
        if sender.follows.is_none() && sender.owns && owner != from {
            self.go_over(now, from, sender.config_epoch);
        }
        // Whoever does not know yet that the slots have another primary is notified.
        let owner = self.file.owners[shard as usize];
        let claimed = sender.follows.unwrap_or(from);
        let config_epoch = self.file.members[owner as usize].config_epoch;
        if sender.owns && claimed != owner && config_epoch > sender.config_epoch {
            self.say(from, BusPayload::Update { owner, config_epoch }, out);
        }
        if sender.follows.is_none() {
            self.listen(now, from, gossip, out);
        }
    }

    /// Takes over that a shard's slots have this primary.
    fn update(&mut self, now: Millis, owner: u32, config_epoch: u64) {
        let known = &mut self.file.members[owner as usize];
        if known.config_epoch >= config_epoch {
            return;
        }
        (known.follows, known.config_epoch) = (None, config_epoch);
        self.go_over(now, owner, config_epoch);
    }

    /// Gives a shard's slots to whoever claims them in a later epoch. Who had them follows it.
    fn go_over(&mut self, now: Millis, to: u32, config_epoch: u64) {
        let shard = self.shards.of_server(to);
        let owner = self.file.members[self.file.owners[shard as usize] as usize];
        // Whoever has become a replica has given up its slots, and names the epoch of its primary.
        if owner.follows.is_none() && owner.config_epoch >= config_epoch {
            return;
        }
        self.file.owners[shard as usize] = to;
        if self.shards.of_server(self.number) == shard && to != self.number {
            self.file.members[self.number as usize].follows = Some(to);
            (self.fed, self.election) = (None, Election::default());
        }
        self.update_state(now);
    }

    /// Decides whether it serves: a majority of the primaries is there, and none has failed.
    fn update_state(&mut self, now: Millis) {
        let is_primary = self.follows().is_none();
        let started = self.started.unwrap_or(now);
        if is_primary && !self.is_ok && now - started < WRITABLE_DELAY {
            return;
        }
        let has_failed = |owner: &u32| self.file.members[*owner as usize].failed.is_some();
        let owners = &self.file.owners;
        let there = owners.iter().filter(|owner| !has_failed(owner) && !self.suspects(**owner));
        let has_majority = there.count() >= self.majority();
        let is_ok = has_majority && !owners.iter().any(has_failed);
        if !has_majority {
            self.in_minority = Some(now);
        }
        let delay = self.node_timeout.clamp(REJOIN_DELAY.0, REJOIN_DELAY.1);
        let is_early = self.in_minority.is_some_and(|then| now - then < delay);
        if !(is_ok && !self.is_ok && is_primary && is_early) {
            self.is_ok = is_ok;
        }
    }

    fn majority(&self) -> usize {
        self.file.owners.len() / 2 + 1
    }

    fn me(&self) -> &KnownMember {
        &self.file.members[self.number as usize]
    }

    /// Returns true if a server is the primary of its shard's slots.
    fn is_owner(&self, server: u32) -> bool {
        self.file.owners[self.shards.of_server(server) as usize] == server
    }

    fn header(&self) -> BusHeader {
        let follows = self.follows();
        let primary = follows.unwrap_or(self.number);
        BusHeader {
            epoch: self.file.epoch,
            config_epoch: self.file.members[primary as usize].config_epoch,
            follows,
            owns: self.is_owner(primary),
        }
    }

    fn say(&self, to: u32, payload: BusPayload, out: &mut Vec<Out<Packet>>) {
        let message = BusMessage { sender: self.header(), payload };
        out.push(Out::Send(Peer::Server(to), Packet::Bus(Box::new(message))));
    }

    fn broadcast(&self, payload: &BusPayload, out: &mut Vec<Out<Packet>>) {
        for other in (0..self.shards.servers).filter(|other| *other != self.number) {
            self.say(other, payload.clone(), out);
        }
    }
}

#[cfg(test)]
mod tests;
