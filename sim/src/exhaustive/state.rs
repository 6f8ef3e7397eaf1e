//! A state of the enumeration: plain data that can be copied and compared.

use base::{Facts, HOLDS, Mono, WorkerGrant, WorkerMachine, WorkerRequest};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::rc::Rc;
use stores::vault::Vault;
use stores::{Enumerable, PacketOf, Store};

use super::action::{client_of, connections};
use super::actor::{ClientTimer, Log};
use super::fingerprint::Fingerprint;

/// A connection between a client and the server.
#[derive(Clone, Debug)]
pub struct WireState<P> {
    /// The packets on their way to the server, with what the sender was doing.
    pub up: VecDeque<Up<P>>,
    /// The packets on their way to the client; `None`: it was closed.
    pub down: VecDeque<Option<Rc<Printed<P>>>>,
    /// True while neither end has lost it.
    pub open: bool,
}

/// A packet with its fingerprint.
#[derive(Debug)]
pub struct Printed<P> {
    pub packet: P,
    print: u64,
}

impl<P: Debug> Printed<P> {
    pub fn new(packet: P) -> Rc<Self> {
        let mut print = Fingerprint::new();
        print.debug(&packet);
        Rc::new(Self { packet, print: print.bits() as u64 })
    }
}

#[derive(Clone, Debug)]
pub struct Up<P> {
    /// `None`: the client closed it.
    pub packet: Option<Rc<Printed<P>>>,
    /// True if it is part of a release.
    pub releasing: bool,
}

/// The stage of a client, as the harness sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientStage {
    Idle,
    /// It has asked as often as it had to and does nothing more.
    Done,
    /// It has asked for the lock.
    Acquiring,
    /// It has been granted what it asked for and has not yet entered what the lock guards.
    Granted {
        token: Option<u64>,
        lost: bool,
    },
    /// The client holds the lock and works.
    Working,
    /// It has asked for another mode.
    Converting,
    /// It has released the lock.
    Releasing,
    /// It died, or ended in doubt.
    Gone,
}

/// Harm that others have done to a grant while it was held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GrantMarks {
    /// A later grant that excludes this one has been given.
    pub overtaken: bool,
    /// Another has written since the read.
    pub stolen: bool,
}

/// The part of its latest attempt that a client has made in a store that did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// Nothing of it has reached the server.
    Unseen,
    /// All of it that has reached the server did so since the store last changed.
    Fresh,
    /// The store has changed since.
    Stale,
    /// Its timers went off time and again, and it asked nobody for anything: see [`VAIN`].
    Vain,
}

/// The number of times that a client's timers go off without a message from it, after which it is
/// believed to sleep for ever: a client whose session is over asks its library alone.
pub const VAIN: u32 = 3;

/// The part of a state that is one client's.
#[derive(Clone)]
pub struct ClientPart<P> {
    pub log: Rc<Log<P>>,
    pub stage: ClientStage,
    pub worker: WorkerMachine,
    pub marks: [GrantMarks; HOLDS],
    /// The number of times that it has asked for the lock.
    pub turns: u32,
    /// The number of requests that the harness has made.
    pub asked: u64,
    pub timers: Vec<ClientTimer>,
    /// The time at which its library connects again, by the client's own clock.
    pub tick: Option<Mono>,
    /// The facts that the store gave with the grant.
    pub facts: Option<Rc<Facts>>,
    pub attempt: Attempt,
    /// The number of times that a timer went off in vain since anything else came to it.
    pub vain: u32,
}

/// The server, and what has been made out of it; states share it until it changes.
pub struct StoredServer<S: Store> {
    pub server: S::Standalone,
    pub print: u128,
    /// The things in the store: see [`Enumerable::things`].
    pub things: BTreeMap<String, u64>,
    /// The makers of these things, by client.
    pub owners: BTreeMap<String, u32>,
}

impl<S: Store> StoredServer<S> {
    pub fn new(
        server: S::Standalone,
        things: BTreeMap<String, u64>,
        owners: BTreeMap<String, u32>,
    ) -> Self {
        let mut print = Fingerprint::new();
        S::Standalone::fingerprint(&server, &mut print);
        print.add(&owners);
        Self { server, print: print.bits(), things, owners }
    }
}

impl<P> ClientPart<P> {
    /// The grants that the client holds, each with its number.
    pub fn holds(&self) -> impl Iterator<Item = (usize, &WorkerGrant)> {
        self.worker.held().map(|hold| (hold, self.worker.grant(hold)))
    }

    /// The request that it waits for.
    pub fn asking(&self) -> Option<WorkerRequest> {
        let waits = matches!(
            self.stage,
            ClientStage::Acquiring | ClientStage::Converting | ClientStage::Releasing
        );
        self.worker.open().filter(|_| waits)
    }

    /// Returns true while the client waits for a lock.
    pub fn is_acquiring(&self) -> bool {
        self.stage == ClientStage::Acquiring
    }

    /// The client does nothing more, whatever it holds.
    pub fn give_up(&mut self) {
        self.stage = ClientStage::Gone;
        self.worker.forget();
    }

    /// Returns true if it never does anything any more.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, ClientStage::Done | ClientStage::Gone)
    }
}

pub struct WorldState<S: Store> {
    pub store: Rc<StoredServer<S>>,
    /// The number of times that time has passed.
    pub lapses: u32,
    /// True while nothing in the store has changed since time last passed.
    pub lapsed: bool,
    pub clients: Vec<ClientPart<PacketOf<S>>>,
    pub wires: BTreeMap<u64, WireState<PacketOf<S>>>,
    pub vault: Vault,
    pub faults: u32,
}

impl<S: Store> Clone for WorldState<S> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            clients: self.clients.clone(),
            wires: self.wires.clone(),
            vault: self.vault.clone(),
            ..*self
        }
    }
}

impl<S: Store> WorldState<S> {
    /// Returns the fingerprint of all that decides what can still happen. Of a client that is gone,
    /// or has done all it had to do, nothing counts but what it left behind.
    pub fn fingerprint(&self) -> u128 {
        let mut print = Fingerprint::new();
        print.add((self.store.print, self.lapses, self.lapsed, self.faults, &self.vault));
        for part in &self.clients {
            print.add(part.stage);
            if !part.is_over() {
                print.add((part.log.digest, part.attempt, part.turns));
                print.add(part.worker.place());
                part.holds().for_each(|(hold, _)| print.add(part.marks[hold]));
            }
        }
        for (connection, wire) in &self.wires {
            print.add((connection, wire.open, wire.up.len()));
            wire.up
                .iter()
                .for_each(|up| print.add((up.releasing, up.packet.as_ref().map(|p| p.print))));
            wire.down.iter().for_each(|down| print.add(down.as_ref().map(|p| p.print)));
        }
        print.bits()
    }

    /// The wires of a client that have something on them.
    pub fn wires_of(&self, client: u32) -> impl Iterator<Item = (u64, &WireState<PacketOf<S>>)> {
        self.wires.range(connections(client)).map(|(connection, wire)| (*connection, wire))
    }

    pub fn server(&self) -> &S::Standalone {
        &self.store.server
    }

    /// Notes that something in the store has changed: what pollers saw is out of date.
    pub fn changed(&mut self) {
        self.lapsed = false;
        let fresh = self.clients.iter_mut().filter(|part| part.attempt == Attempt::Fresh);
        fresh.for_each(|part| part.attempt = Attempt::Stale);
    }

    /// Returns true if a release by one client ends the hold of another.
    pub fn robs(&self, by: Option<(u32, bool)>, owner: u32) -> bool {
        let believes = self.clients[owner as usize].holds().any(|(_, grant)| !grant.lost);
        believes && by.is_some_and(|(client, releasing)| releasing && client != owner)
    }

    /// A client has died or ended in doubt.
    pub fn is_gone(&self, client: u32) -> bool {
        self.clients[client as usize].stage == ClientStage::Gone
    }

    /// Returns true if nothing is on its way from or to a client.
    pub fn is_quiet(&self, client: u32) -> bool {
        self.wires_of(client).all(|(_, wire)| wire.up.is_empty() && wire.down.is_empty())
    }

    /// Removes wires that will never carry anything again.
    pub fn tidy(&mut self) {
        let over = |c: u64| self.clients[client_of(c) as usize].is_over();
        self.wires.retain(|&c, wire| {
            if over(c) {
                wire.down.clear();
                wire.open = false;
            }
            wire.open || !wire.up.is_empty() || !wire.down.is_empty()
        });
    }
}
