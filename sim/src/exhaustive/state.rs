//! A state of the enumeration: plain data that can be copied and compared.

use base::{Facts, Mode};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::rc::Rc;
use stores::vault::Vault;

use super::action::{client_of, connections};
use super::actor::{Log, PacketOf, Timer};
use super::examine::Examine;
use super::fingerprint::Fingerprint;

/// A connection between a client and the server.
#[derive(Clone, Debug)]
pub struct Wire<P> {
    /// On its way to the server, with what the sender was doing.
    pub up: VecDeque<Up<P>>,
    /// On its way to the client; `None`: it was closed.
    pub down: VecDeque<Option<P>>,
    /// Neither end has lost it.
    pub open: bool,
}

#[derive(Clone, Debug)]
pub struct Up<P> {
    /// `None`: the client closed it.
    pub packet: Option<P>,
    /// It is part of a release.
    pub releasing: bool,
}

/// What a client is doing, as the harness sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    Idle,
    Acquiring,
    /// It has been granted the lock and has not yet entered what it guards.
    Granted {
        token: Option<u64>,
        lost: bool,
    },
    Holding(Hold),
    Releasing,
    /// It died, or ended in doubt.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    pub token: Option<u64>,
    /// What it read from the vault; `None` when the vault fenced it off.
    pub read: Option<u64>,
    /// It has learnt that it may have lost the lock.
    pub lost: bool,
    /// A later grant that excludes this one has been given.
    pub overtaken: bool,
    /// Another has written since the read.
    pub stolen: bool,
}

/// How much of its latest attempt a client has made in a store that did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// Nothing of it has reached the server.
    Unseen,
    /// All of it that has reached the server did so since the store last changed.
    Fresh,
    /// The store has changed since.
    Stale,
}

#[derive(Clone)]
pub struct Seat<P> {
    pub log: Rc<Log<P>>,
    pub stage: Stage,
    pub mode: Mode,
    /// How often it has asked for the lock.
    pub turns: u32,
    /// How many requests the harness has made.
    pub asked: u64,
    pub timers: Vec<Timer>,
    /// What the store said of the grant.
    pub facts: Option<Rc<Facts>>,
    pub attempt: Attempt,
}

pub struct State<S: Examine>
where
    PacketOf<S>: Clone + Debug,
{
    pub server: S::Server,
    /// How often time has passed.
    pub lapses: u32,
    /// Nothing in the store has changed since.
    pub lapsed: bool,
    pub seats: Vec<Seat<PacketOf<S>>>,
    pub wires: BTreeMap<u64, Wire<PacketOf<S>>>,
    /// Who made what stands in the store.
    pub owners: BTreeMap<String, u32>,
    pub vault: Vault,
    pub faults: u32,
}

impl<S: Examine> Clone for State<S>
where
    PacketOf<S>: Clone + Debug,
{
    fn clone(&self) -> Self {
        Self {
            server: self.server.clone(),
            seats: self.seats.clone(),
            wires: self.wires.clone(),
            owners: self.owners.clone(),
            vault: self.vault.clone(),
            ..*self
        }
    }
}

impl<S: Examine> State<S>
where
    PacketOf<S>: Clone + Debug,
{
    /// What decides everything that can still happen. Of a client that is gone nothing counts but
    /// what it left behind.
    pub fn fingerprint(&self) -> u128 {
        let mut print = Fingerprint::new();
        S::fingerprint(&self.server, &mut print);
        print.add((self.lapses, self.lapsed, self.faults, &self.owners));
        print.debug(&self.vault);
        for seat in &self.seats {
            print.add(seat.stage);
            if seat.stage != Stage::Gone {
                print.add((seat.log.digest, seat.attempt, seat.turns));
            }
        }
        for (connection, wire) in &self.wires {
            print.add(connection);
            print.debug(wire);
        }
        print.bits()
    }

    /// The wires of a client that have something on them.
    pub fn wires_of(&self, client: u32) -> impl Iterator<Item = (u64, &Wire<PacketOf<S>>)> {
        self.wires.range(connections(client)).map(|(connection, wire)| (*connection, wire))
    }

    /// A client has died or ended in doubt.
    pub fn is_gone(&self, client: u32) -> bool {
        self.seats[client as usize].stage == Stage::Gone
    }

    /// Nothing is on its way from or to a client.
    pub fn is_quiet(&self, client: u32) -> bool {
        self.wires_of(client).all(|(_, wire)| wire.up.is_empty() && wire.down.is_empty())
    }

    /// Removes wires that will never carry anything again.
    pub fn tidy(&mut self) {
        let gone = |c: u64| self.seats[client_of(c) as usize].stage == Stage::Gone;
        self.wires.retain(|&c, wire| {
            if gone(c) {
                wire.down.clear();
                wire.open = false;
            }
            wire.open || !wire.up.is_empty() || !wire.down.is_empty()
        });
    }
}
