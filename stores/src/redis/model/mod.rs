//! A Redis server as a pure state machine, worded like Redis 7.0.15.
//!
//! It keeps strings, hashes, lists, sets and sorted sets, in one database. Expiry goes by the wall
//! clock that it is handed, in milliseconds. Scripts run in real Lua 5.1 (see
//! [`crate::redis::script`]).
//!
//! Left out: MONITOR, RESP3, streams, messages from one member of a cluster to the others, and
//! whatever else is not in the table in `commands.rs`. It is refused as a command that nobody
//! knows.

mod admin;
mod blocking;
mod channels;
pub mod cluster;
mod command;
mod commands;
mod expiry;
mod glob;
mod hashes;
mod keyspace;
mod lists;
mod members;
#[cfg(any(test, feature = "real"))]
mod network;
mod number;
mod option;
mod replica;
mod score_range;
pub mod sentinel;
mod session;
mod sets;
mod sorted_sets;
mod strings;
mod transactions;
mod value;
mod watched;

use commands::CommandSpec;
#[cfg(feature = "real")]
pub(crate) use commands::checked;
pub(crate) use commands::names as command_names;
pub(crate) use commands::{Call, CommandFunction, WallClock, find};
pub(crate) use keyspace::Keyspace;
#[cfg(any(test, feature = "real"))]
pub(crate) use keyspace::Millis;
#[cfg(feature = "real")]
pub(crate) use members::Members;
pub(crate) use number::lua_number;
pub use replica::Copied;
pub(crate) use replica::READ_ONLY;
pub use value::TypedValue;

use crate::model::{Clocks, Noted, Out, Peer, ServerModel, What};
use crate::redis::reply::error;
use crate::redis::script::{Engine, Scripts};
use crate::redis::{ClusterTiming, Layout, Packet, Shards};
use base::{Data, Mono, WallTime};
use blocking::{BlockedCall, DeferredRequest};
use channels::Channels;
use cluster::Bus;
use redis::{Arg, Cmd, Value};
use replica::Replication;
use session::ClientSession;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::time::Duration;

/// The interval at which Redis looks for keys that have run out though nobody asks for them (`hz
/// 10`).
const EXPIRE_CYCLE: Duration = Duration::from_millis(100);

/// The interval at which `appendfsync everysec` writes to the disk what was changed.
const SYNC: Duration = Duration::from_secs(1);

/// The model of one server.
#[derive(Clone)]
pub struct Server {
    keys: Keyspace,
    /// The data that were certainly on the disk after the last sync.
    synced: Keyspace,
    synced_at: Mono,
    pub(crate) scripts: Scripts,
    replication: Replication,
    /// Its part in a cluster, if it is in one.
    bus: Option<Box<Bus>>,
    /// The connection whose command is being executed.
    connection: u64,
    /// The connections of which more is known than that they are there.
    sessions: BTreeMap<u64, ClientSession>,
    /// True while the commands of a transaction are executed.
    is_transaction: bool,
    /// The commands that wait, in order.
    blocked: Vec<BlockedCall>,
    /// The requests of connections that wait, in order.
    deferred: Vec<DeferredRequest>,
}

impl Server {
    /// Returns true if it follows another server.
    pub const fn follows(&self) -> bool {
        self.replication.follows()
    }

    /// An empty server. All servers of a simulation can share one engine.
    pub fn new(engine: Engine) -> Self {
        Self {
            keys: Keyspace::default(),
            synced: Keyspace::default(),
            synced_at: Mono::ZERO,
            scripts: Scripts::new(engine),
            replication: Replication::default(),
            bus: None,
            connection: 1,
            sessions: BTreeMap::new(),
            is_transaction: false,
            blocked: Vec::new(),
            deferred: Vec::new(),
        }
    }

    /// The same server, whose journal has the members of its collections one by one.
    #[must_use]
    pub fn telling_members(mut self) -> Self {
        self.keys.tell_members();
        self
    }

    /// An empty server of a topology with replicas: the first is the primary, and the others follow
    /// it.
    pub fn member(engine: Engine, number: u32, layout: &Layout) -> Self {
        let replication = Replication::of(number, layout);
        let mut server = Self { replication, ..Self::new(engine) };
        server.scripts.refuse_writes(server.replication.follows());
        server
    }

    /// A server of a cluster that has stood for a while, without any key.
    pub fn clustered(engine: Engine, number: u32, shards: Shards, timing: ClusterTiming) -> Self {
        let bus = Some(Box::new(Bus::new(number, shards, timing)));
        let mut server = Self { bus, ..Self::new(engine) };
        server.obey_bus();
        server
    }

    /// Follows whom it has to follow as a member of its cluster.
    fn obey_bus(&mut self) {
        let Some(bus) = &self.bus else { return };
        let follows = bus.follows();
        self.scripts.keep_to(Some(bus.local_keys()));
        if self.replication.master() != follows {
            self.follow(follows);
        }
    }

    /// The number of this server, if it has just been made the primary of its shard.
    pub fn take_appointed(&mut self) -> Option<u32> {
        self.bus.as_mut()?.take_appointed()
    }

    /// All keys with their values and the times at which they run out (milliseconds since the Unix
    /// epoch), in the order of their names.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &TypedValue, Option<i64>)> {
        self.keys.entries()
    }

    /// Executes a command at this time of the server's wall clock. What goes wrong is a
    /// `Value::ServerError`.
    pub fn execute(&mut self, now: WallTime, command: &Cmd) -> Value {
        let mut args: SmallVec<[&[u8]; 8]> = SmallVec::new();
        for arg in command.args_iter() {
            args.push(match arg {
                Arg::Simple(bytes) => bytes,
                // A SCAN that starts has the cursor 0; no command of this model has one.
                _ => b"0",
            });
        }
        let clock = WallClock {
            millis: i64::try_from(now.millis()).unwrap_or(i64::MAX),
            micros: i64::try_from(now.nanos() / 1000).unwrap_or(i64::MAX),
        };
        let admitted = self.admitted(&args);
        if !self.sessions.is_empty()
            && let Some(reply) = self.queue(&admitted, &args)
        {
            return reply;
        }
        if self.blocked.is_empty() {
            self.keys.clear_ready();
        }
        match admitted {
            Ok(command) => match self.pong(command, &args) {
                Some(pong) => pong,
                None => self.run_here(command, clock, &args),
            },
            Err(refusal) => self.refused(refusal, &args),
        }
    }

    /// The command, if this server may execute it with these arguments.
    fn admitted(&self, args: &[&[u8]]) -> Result<&'static CommandSpec, Value> {
        let command = commands::checked(args)?;
        if let Some(bus) = &self.bus
            && let Some(refusal) = cluster::turn_away(bus, command, args)
        {
            return Err(refusal);
        }
        if command.writes && self.follows() {
            return Err(error(READ_ONLY));
        }
        self.subscribers_refusal(command).map_or(Ok(command), Err)
    }

    /// Executes a command as a primary does, or as a replica.
    fn run_here(&mut self, command: &CommandSpec, clock: WallClock, args: &[&[u8]]) -> Value {
        if self.follows() && !self.is_transaction {
            return self.execute_unchanged(|server| server.run(command, clock, args));
        }
        self.run(command, clock, args)
    }

    fn run(&mut self, command: &CommandSpec, clock: WallClock, args: &[&[u8]]) -> Value {
        match command.run {
            CommandFunction::Keys(run) => {
                run.run(Call { keys: &mut self.keys, clock, args, name: command.name })
            }
            CommandFunction::Server(run) => run(self, clock, args),
        }
    }
}

impl ServerModel for Server {
    type Packet = Packet;

    fn is_call(packet: &Packet) -> bool {
        matches!(packet, Packet::Request { .. } | Packet::Reply { .. })
    }

    fn receive(&mut self, at: Clocks, from: Peer, packet: Packet, out: &mut Vec<Out<Packet>>) {
        let (id, command) = match (packet, from) {
            (Packet::Bus(message), Peer::Server(server)) => {
                if let Some(bus) = &mut self.bus {
                    bus.hear(at, server, *message, out);
                    self.obey_bus();
                    self.replicate(at.mono, out);
                }
                return;
            }
            (Packet::Request { id, command }, _) => (id, command),
            (packet, Peer::Server(server)) => return self.hear_server(at, server, packet, out),
            _ => return,
        };
        self.request(at, from, (id, command), out);
        self.send_messages(out);
        if self.replication.is_used() {
            self.replicate(at.mono, out);
            self.replication.know(from);
        }
    }

    fn disconnected(&mut self, _: Clocks, connection: u64, _: &mut Vec<Out<Packet>>) {
        self.replication.forget(connection);
        self.forget(connection);
    }

    fn tick(&mut self, at: Clocks, out: &mut Vec<Out<Packet>>) -> Option<Mono> {
        if let Some(bus) = &mut self.bus {
            if let Some(wait) = bus.first_turn(at) {
                return Some(at.mono + wait);
            }
            bus.turn(at, out);
            self.obey_bus();
        }
        if !self.replication.follows() {
            self.keys.expire_cycle(i64::try_from(at.wall.millis()).unwrap_or(i64::MAX));
        }
        if !self.blocked.is_empty() {
            self.turn_away_blocked(at, out);
            self.serve(at, out);
            self.ask_replicas(out);
            self.send_messages(out);
        }
        if self.replication.is_used() {
            self.replication.start(at);
            self.replicate(at.mono, out);
        }
        if at.mono.since(self.synced_at) >= SYNC {
            self.synced.copy(&self.keys);
            self.synced_at = at.mono;
        }
        Some(at.mono + EXPIRE_CYCLE)
    }

    /// `Kept` is a server with `appendfsync always`, or one whose machine lives on: it comes back
    /// with everything that it had acknowledged, and with the same absolute times of expiry.
    /// `Unsynced` is one with `everysec` on a machine that lost its power, `Lost` one without
    /// persistence. The script cache is never stored, nor is whom the server followed, unless it
    /// stands in its configuration.
    fn restart(&mut self, at: Clocks, data: Data) {
        self.replication = self.replication.restarted();
        self.scripts.clear();
        self.sessions.clear();
        self.clear_blocked();
        self.keys.watched.clear();
        self.keys.channels = Channels::default();
        self.scripts.refuse_writes(self.replication.follows());
        if let Some(bus) = &mut self.bus {
            bus.restart();
            self.obey_bus();
        }
        match data {
            Data::Kept => {}
            Data::Unsynced => self.keys.go_back(&self.synced),
            Data::Lost => self.keys.clear(What::Wiped),
        }
        self.synced.copy(&self.keys);
        self.synced_at = at.mono;
    }

    fn hang_up(&self, out: &mut Vec<Out<Packet>>) {
        self.replication.hang_up(out);
        if let Some(bus) = &self.bus {
            bus.hang_up(out);
        }
    }

    fn succeeds(&self, before: &Self, into: &mut Vec<Noted>) {
        before.keys.tell_loss(&self.keys, into);
    }

    fn take_journal(&mut self, into: &mut Vec<Noted>) {
        self.keys.take_journal(into);
    }
}

#[cfg(test)]
mod tests;
