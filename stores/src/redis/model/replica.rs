//! Asynchronous replication: a server that follows another holds what that one held a moment ago,
//! and may be promoted, which loses what had not come yet.
//!
//! Between servers goes the whole of the data whenever it has changed, where Redis sends the
//! writes: locks have a few keys, and what a replica holds is the same, the master's data of a past
//! moment. How far it lags is the wire's affair, which keeps the order and can be slow or cut.
//!
//! A replica says what it has when its master asks, which it does where a client waits for it
//! (WAIT); between real servers such messages go once a second, too.
//!
//! As in Redis: a replica answers reads, refuses writes, and takes an expired key for no key
//! without removing it, which is for its master to do; it does not know its master's scripts; and
//! it forgets whom it followed when it is restarted, unless that stands in its configuration, to
//! which a Sentinel has it written.

use super::Server;
use super::keyspace::Keyspace;
use super::number::integer;
use super::sentinel::{SentinelMessage, Status};
use crate::model::{Clocks, Out, Peer};
use crate::node_name;
use crate::redis::reply::{bulk, error, status};
use crate::redis::{Layout, PORT, Packet};
use base::{Mono, Rng};
use redis::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The interval at which a replica makes itself known to its master, and so is known again after a
/// restart.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The reply of a replica to a command that would write.
pub const READ_ONLY: &str = "READONLY You can't write against a read only replica.";

/// A master's data at one moment, on their way to a replica.
#[derive(Clone, Debug)]
pub struct Copied {
    keys: Keyspace,
    offset: u64,
}

/// The relations of a server: the master that it follows, and the replicas that follow it.
#[derive(Clone, Debug, Default)]
pub struct Replication {
    master: Option<u32>,
    /// The time at which it last announced itself to the master; `None`: not yet.
    announced: Option<Mono>,
    replicas: BTreeSet<u32>,
    /// The data that the replicas were last sent.
    sent: Option<Keyspace>,
    /// The number of states of the data that it has had or received.
    offset: u64,
    /// The number of all servers of its topology; 0 for one that has no part in any.
    servers: u32,
    number: u32,
    /// The server that it follows when it starts, by its configuration.
    configured: Option<u32>,
    /// The id of its process, once that has started.
    run_id: Option<u64>,
    /// The connections of clients, each with the state of the data as its last command left it.
    connections: BTreeMap<u64, u64>,
    /// The state of the data that each replica has acknowledged.
    acknowledged: BTreeMap<u32, u64>,
}

impl Replication {
    /// The relations of a server as its topology starts.
    pub fn of(number: u32, layout: &Layout) -> Self {
        let configured = (number > 0).then_some(0);
        Self { servers: layout.servers, number, configured, ..Self::default() }.restarted()
    }

    /// The relations that are left of a server's after a restart.
    pub fn restarted(&self) -> Self {
        let Self { servers, number, configured, .. } = *self;
        Self { servers, number, configured, master: configured, ..Self::default() }
    }

    /// Gives a process that has started its id.
    pub fn start(&mut self, at: Clocks) {
        let number = u64::from(self.number);
        self.run_id.get_or_insert_with(|| Rng::fork(at.wall.nanos(), number).next());
    }

    /// Notes the connection of a client whose command is done.
    pub fn know(&mut self, from: Peer) {
        if let Peer::Connection(connection) = from {
            self.connections.insert(connection, self.offset);
        }
    }

    /// The state of the data as the last command of a connection left it.
    pub fn known_by(&self, connection: u64) -> u64 {
        self.connections.get(&connection).copied().unwrap_or_default()
    }

    /// The number of replicas that have acknowledged this state of the data, or a later one.
    pub fn acknowledged(&self, offset: u64) -> u64 {
        let has = |replica: &&u32| {
            offset == 0 || self.acknowledged.get(replica).is_some_and(|it| *it >= offset)
        };
        self.replicas.iter().filter(has).count() as u64
    }

    /// Asks all replicas what they have.
    pub fn ask_offsets(&self, out: &mut Vec<Out<Packet>>) {
        let ask = |replica: &u32| Out::Send(Peer::Server(*replica), Packet::AskOffset);
        out.extend(self.replicas.iter().map(ask));
    }

    /// Notes that a connection is closed.
    pub fn forget(&mut self, connection: u64) {
        self.connections.remove(&connection);
    }

    /// Tells all servers that this one's process is dead.
    pub fn hang_up(&self, out: &mut Vec<Out<Packet>>) {
        let others = (0..self.servers).filter(|server| *server != self.number);
        out.extend(others.map(|server| message_to(server, SentinelMessage::HangUp)));
    }

    /// The server that it follows.
    pub const fn master(&self) -> Option<u32> {
        self.master
    }

    /// Returns true if this server follows another.
    pub const fn follows(&self) -> bool {
        self.master.is_some()
    }

    /// Returns true if it has anything to do with other servers.
    pub fn is_used(&self) -> bool {
        self.follows() || !self.replicas.is_empty() || self.servers > 0
    }

    fn status(&self) -> Status {
        let offset = if self.follows() { self.offset } else { 0 };
        Status { follows: self.master, offset, run_id: self.run_id.unwrap_or_default() }
    }
}

fn message_to(to: u32, message: SentinelMessage) -> Out<Packet> {
    Out::Send(Peer::Server(to), Packet::Sentinel(Box::new(message)))
}

/// ROLE: a master with the replicas that have made themselves known, or a replica with its master.
pub fn role(server: &mut Server, _: super::WallClock, _: &[&[u8]]) -> Value {
    let Replication { master, replicas, offset, .. } = &server.replication;
    let offset = *offset as i64;
    let Some(master) = master else {
        let named = |replica: &u32| {
            let words = [node_name(*replica), PORT.to_string(), offset.to_string()];
            Value::Array(words.map(bulk).into())
        };
        let replicas = Value::Array(replicas.iter().map(named).collect());
        return Value::Array(vec![bulk("master"), Value::Int(offset), replicas]);
    };
    let (name, port) = (bulk(node_name(*master)), Value::Int(PORT.into()));
    Value::Array(vec![bulk("slave"), name, port, bulk("connected"), Value::Int(offset)])
}

/// REPLICAOF host port and REPLICAOF NO ONE. The port is the number of a server in the model.
pub fn replicaof(server: &mut Server, _: super::WallClock, args: &[&[u8]]) -> Value {
    if args[1].eq_ignore_ascii_case(b"no") && args[2].eq_ignore_ascii_case(b"one") {
        server.follow(None);
        return Value::Okay;
    }
    let Some(port) = integer(args[2]).filter(|port| (0..=65_535).contains(port)) else {
        return error("ERR Invalid master port");
    };
    if server.replication.master == Some(port as u32) {
        return status("OK Already connected to specified master".into());
    }
    server.follow(Some(port as u32));
    Value::Okay
}

impl Server {
    pub(super) fn follow(&mut self, master: Option<u32>) {
        self.replication.master = master;
        self.replication.announced = None;
        self.scripts.refuse_writes(master.is_some());
    }

    /// Executes a command on a replica. What it finds expired stays where it is.
    pub(super) fn execute_unchanged(&mut self, run: impl FnOnce(&mut Self) -> Value) -> Value {
        let before = self.keys.clone();
        let reply = run(self);
        // It may have been promoted by this very command, and has removed nothing all the same.
        self.keys.undo(before);
        reply
    }

    /// Tells the master and the replicas what they have to know by now.
    pub(super) fn replicate(&mut self, at: Mono, out: &mut Vec<Out<Packet>>) {
        let Replication { master, announced, replicas, sent, offset, .. } = &mut self.replication;
        if let Some(master) = *master
            && announced.is_none_or(|last| at.since(last) >= HEARTBEAT)
        {
            *announced = Some(at);
            out.push(Out::Send(Peer::Server(master), Packet::Follow));
        }
        if replicas.is_empty() || sent.as_ref() == Some(&self.keys) {
            return;
        }
        *sent = Some(self.keys.clone());
        *offset += 1;
        for replica in replicas.iter() {
            let copied = Copied { keys: self.keys.clone(), offset: *offset };
            let copied = Packet::Copied(Box::new(copied));
            out.push(Out::Send(Peer::Server(*replica), copied));
        }
    }

    /// Handles a packet from another server.
    pub(super) fn hear_server(
        &mut self,
        at: Clocks,
        from: u32,
        packet: Packet,
        out: &mut Vec<Out<Packet>>,
    ) {
        match packet {
            Packet::Follow => {
                self.replication.replicas.insert(from);
                // It may come from a restart, and hold nothing of what was sent.
                self.replication.sent = None;
                self.replication.acknowledged.remove(&from);
            }
            Packet::AskOffset if self.replication.master == Some(from) => {
                let offset = Packet::Offset(self.replication.offset);
                out.push(Out::Send(Peer::Server(from), offset));
            }
            Packet::Offset(offset) => {
                self.replication.acknowledged.insert(from, offset);
                self.serve(at, out);
            }
            // From whom it followed before it was promoted, it takes nothing more.
            Packet::Copied(copied) if self.replication.master == Some(from) => {
                self.keys.copy(&copied.keys);
                self.replication.offset = copied.offset;
                if let Some(bus) = &mut self.bus {
                    bus.feed(at);
                }
            }
            Packet::Sentinel(message) => self.obey(from, *message, out),
            _ => {}
        }
        self.replicate(at.mono, out);
    }

    /// Answers a Sentinel, or does what it says.
    fn obey(&mut self, from: u32, message: SentinelMessage, out: &mut Vec<Out<Packet>>) {
        match message {
            SentinelMessage::Ping => out.push(message_to(from, SentinelMessage::Pong)),
            SentinelMessage::Inquire => {
                out.push(message_to(from, SentinelMessage::Status(self.replication.status())))
            }
            SentinelMessage::Reconfigure(master) => {
                self.follow(master);
                self.replication.configured = master;
                let connections = std::mem::take(&mut self.replication.connections);
                connections.keys().for_each(|connection| self.forget(*connection));
                out.extend(connections.into_keys().map(Out::Close));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_network::ModelNetwork;
    use crate::redis::model::TypedValue;
    use crate::redis::{Instance, Redis};
    use base::Data;
    use redis::cmd;

    /// Two servers. What they send each other waits until it is delivered, and they are ticked only
    /// where a test does it.
    struct Pair(ModelNetwork<Redis>);

    impl Pair {
        /// Server 1 follows server 0, and knows what that holds.
        fn new() -> Self {
            let mut pair = Self(ModelNetwork::redis("redis-x5", 1));
            pair.0.latency = Duration::ZERO;
            pair.0.ticks.fill(None);
            let follow = cmd("REPLICAOF").arg("master").arg(0).clone();
            assert_eq!(pair.ask(1, &follow), Value::Okay);
            pair.deliver();
            pair
        }

        fn ask(&mut self, server: u32, command: &redis::Cmd) -> Value {
            self.0.ask(server, command)
        }

        fn get(&mut self, server: u32) -> Value {
            self.ask(server, cmd("GET").arg("k"))
        }

        fn deliver(&mut self) {
            self.0.run(Duration::ZERO);
        }

        /// Lets time pass, and ticks a server.
        fn tick(&mut self, server: u32, passed: u64) {
            self.0.run(Duration::from_millis(passed));
            self.0.tick(server);
            self.0.ticks.fill(None);
        }

        /// The first server's entries.
        fn held(&self) -> Vec<(Vec<u8>, TypedValue, Option<i64>)> {
            let Instance::Data(server) = &self.0.servers[0] else { return Vec::new() };
            let own = |(k, v, e): (&[u8], &TypedValue, Option<i64>)| (k.to_vec(), v.clone(), e);
            server.entries().map(own).collect()
        }
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    #[test]
    fn a_replica_holds_what_has_come_and_no_more() {
        let mut pair = Pair::new();
        pair.ask(0, cmd("SET").arg("k").arg("one"));
        assert_eq!(pair.get(1), Value::Nil);
        pair.deliver();
        assert_eq!(pair.get(1), text("one"));
    }

    #[test]
    fn a_promotion_loses_what_has_not_come() {
        let mut pair = Pair::new();
        pair.ask(0, cmd("SET").arg("k").arg("one"));
        pair.deliver();
        pair.ask(0, cmd("SET").arg("k").arg("two"));
        assert_eq!(pair.ask(1, cmd("REPLICAOF").arg("no").arg("one")), Value::Okay);
        pair.deliver();
        assert_eq!((pair.get(0), pair.get(1)), (text("two"), text("one")));
        assert_eq!(pair.ask(1, cmd("SET").arg("k").arg("three")), Value::Okay);
    }

    #[test]
    fn an_expired_key_is_no_key_of_a_replica_but_goes_by_its_masters_word() {
        let mut pair = Pair::new();
        pair.ask(0, cmd("SET").arg("k").arg("v").arg("PX").arg(100));
        pair.deliver();
        pair.tick(1, 150);
        assert_eq!(pair.get(1), Value::Nil);
        assert_eq!(pair.ask(1, &cmd("DBSIZE")), Value::Int(1));
        pair.tick(0, 0);
        pair.deliver();
        assert_eq!(pair.ask(1, &cmd("DBSIZE")), Value::Int(0));
    }

    #[test]
    fn a_master_that_has_lost_its_data_empties_its_replica_too() {
        let mut pair = Pair::new();
        pair.ask(0, cmd("SET").arg("k").arg("v"));
        pair.deliver();
        pair.0.start(0, Data::Lost);
        pair.0.ticks.fill(None);
        assert_eq!(pair.get(1), text("v"));
        // The replica makes itself known again.
        pair.tick(1, 1_000);
        pair.deliver();
        assert_eq!(pair.get(1), Value::Nil);
    }

    /// Returns true if a command of this name leaves what is stored as it was, of whatever type.
    fn keeps(name: &str) -> bool {
        let mut pair = Pair::new();
        // Enough arguments for each of them, which are numbers where numbers must be.
        let reply = (0..6).find_map(|count| {
            let mut command = cmd(name);
            for _ in 0..count {
                command.arg("10");
            }
            let reply = pair.ask(0, &command);
            (reply != crate::redis::reply::wrong_arity(name)).then_some(command)
        });
        let Some(command) = reply else { return true };
        ["SET 10 10", "HSET 10 10 10", "ZADD 10 10 10", "RPUSH 10 10 10", "SADD 10 10"].iter().all(
            |stored| {
                pair.ask(0, cmd("FLUSHALL").arg("SYNC"));
                pair.ask(0, &crate::redis::conformance::command(stored));
                pair.ask(0, cmd("PEXPIRE").arg("10").arg(5_000));
                let before = pair.held();
                pair.ask(0, &command);
                before == pair.held()
            },
        )
    }

    #[test]
    fn every_write_of_the_model_is_known_as_one() {
        let is_read = |name: &str| {
            let command = crate::redis::model::find(&[name.as_bytes()]);
            command.is_some_and(|command| !command.writes)
        };
        let names = crate::redis::model::command_names().filter(|name| !name.contains('|'));
        for name in names.filter(|name| is_read(name) && *name != "wait") {
            assert!(keeps(name), "{name} writes");
        }
    }
}
