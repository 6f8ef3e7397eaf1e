//! Commands that wait, without a reply: BLPOP and its like for an item of a list, WAIT for replicas.
//! A connection that waits is not listened to. Who waits for a key is served in the order of
//! waiting, as soon as the command, the script or the transaction is over that has made the list.
//!
//! A wait ends by the server's wall clock. Redis looks for those that are over whenever anything
//! happens, and else ten times a second.

use super::commands::WallClock;
use super::keyspace::{Bytes, Millis};
use super::lists::{ListEnd, move_item, pop_item};
use super::number::{float, integer};
use super::replica::Replication;
use super::value::TypedValue;
use super::{Server, cluster};
use crate::model::{By, Clocks, Noted, Out, Peer, What};
use crate::redis::Packet;
use crate::redis::reply::{bulk, error, not_an_integer};
use redis::{Cmd, Value};
use std::rc::Rc;

/// A command that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockedCall {
    connection: u64,
    /// The client's number for the command; `None` as long as the command is being executed.
    call: Option<u64>,
    awaits: Awaited,
    /// The last millisecond in which it waits; `None`: for ever.
    until: Option<Millis>,
}

/// The end of a wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Awaited {
    Item(AwaitedItem),
    /// So many replicas that have this state of the data.
    Replicas(u64, u64),
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AwaitedItem {
    /// The lists that it may come from.
    keys: Vec<Bytes>,
    from: ListEnd,
    /// The list to which it is moved, and the end of it.
    to: Option<(Bytes, ListEnd)>,
}

/// A request that waits until its connection is listened to again.
#[derive(Clone, Debug)]
pub struct DeferredRequest {
    connection: u64,
    id: u64,
    command: Rc<Cmd>,
}

/// Reads how long to wait, in seconds; 0 is for ever.
fn until(word: &[u8], now: Millis) -> Result<Option<Millis>, Value> {
    let seconds = float(word);
    let seconds =
        seconds.ok_or_else(|| error("ERR timeout is not a float or out of range"))? * 1000.0;
    // What is too long for Redis's integers comes out negative there.
    if seconds < 0.0 || seconds.ceil() >= i64::MAX as f64 {
        return Err(error("ERR timeout is negative"));
    }
    Ok((seconds > 0.0).then(|| now.saturating_add(seconds.ceil() as Millis)))
}

/// BLPOP key… timeout.
pub fn blpop(server: &mut Server, clock: WallClock, args: &[&[u8]]) -> Value {
    pop(server, clock, args, ListEnd::Left).unwrap_or_else(|refusal| refusal)
}

/// BRPOP key… timeout.
pub fn brpop(server: &mut Server, clock: WallClock, args: &[&[u8]]) -> Value {
    pop(server, clock, args, ListEnd::Right).unwrap_or_else(|refusal| refusal)
}

fn pop(
    server: &mut Server,
    clock: WallClock,
    args: &[&[u8]],
    from: ListEnd,
) -> Result<Value, Value> {
    let (keys, last) = (&args[1..args.len() - 1], args[args.len() - 1]);
    let until = until(last, clock.millis)?;
    for key in keys {
        if let Some(item) = pop_item(&mut server.keys, key, clock.millis, from)? {
            return Ok(popped(key, item));
        }
    }
    let keys = keys.iter().map(|key| Bytes::from_slice(key)).collect();
    Ok(server.block(Awaited::Item(AwaitedItem { keys, from, to: None }), until))
}

fn popped(key: &[u8], item: Bytes) -> Value {
    Value::Array(vec![bulk(key), bulk(item.into_vec())])
}

/// BRPOPLPUSH source destination timeout.
pub fn brpoplpush(server: &mut Server, clock: WallClock, args: &[&[u8]]) -> Value {
    let ends = (ListEnd::Right, ListEnd::Left);
    let until = until(args[3], clock.millis);
    until
        .and_then(|until| shift(server, clock, (args[1], args[2]), ends, until))
        .unwrap_or_else(|refusal| refusal)
}

/// BLMOVE source destination LEFT|RIGHT LEFT|RIGHT timeout.
pub fn blmove(server: &mut Server, clock: WallClock, args: &[&[u8]]) -> Value {
    let read = || {
        let ends = (ListEnd::parse(args[3])?, ListEnd::parse(args[4])?);
        Ok((ends, until(args[5], clock.millis)?))
    };
    read()
        .and_then(|(ends, until)| shift(server, clock, (args[1], args[2]), ends, until))
        .unwrap_or_else(|refusal| refusal)
}

fn shift(
    server: &mut Server,
    clock: WallClock,
    lists: (&[u8], &[u8]),
    ends: (ListEnd, ListEnd),
    until: Option<Millis>,
) -> Result<Value, Value> {
    let moved = move_item(&mut server.keys, clock.millis, lists, ends)?;
    if moved != Value::Nil {
        return Ok(moved);
    }
    let (keys, to) = (vec![Bytes::from_slice(lists.0)], Bytes::from_slice(lists.1));
    let item = AwaitedItem { keys, from: ends.0, to: Some((to, ends.1)) };
    Ok(server.block(Awaited::Item(item), until))
}

/// WAIT replicas timeout: the number of replicas that have what the connection has written, when
/// they are enough or the time is over.
pub fn wait(server: &mut Server, clock: WallClock, args: &[&[u8]]) -> Value {
    if server.follows() {
        return error(NO_REPLICA);
    }
    let Some(count) = integer(args[1]) else { return not_an_integer() };
    let Some(millis) = integer(args[2]) else {
        return error("ERR timeout is not an integer or out of range");
    };
    if millis < 0 {
        return error("ERR timeout is negative");
    }
    let offset = server.replication.known_by(server.connection);
    let there = server.replication.acknowledged(offset);
    // Beyond every number of replicas, one number is as good as another.
    let count = u64::try_from(count).unwrap_or_default();
    if there < count && !server.is_transaction {
        let until = (millis > 0).then(|| clock.millis.saturating_add(millis));
        return server.block(Awaited::Replicas(count, offset), until);
    }
    Value::Int(there as i64)
}

const NO_REPLICA: &str = "ERR WAIT cannot be used with replica instances. Please also note that \
     since Redis 4.0 if a replica is configured to be writable (which is not the default) writes \
     to replicas are just local and are not propagated.";

impl Server {
    /// Has the connection wait, unless it is in a transaction. The reply counts only then.
    fn block(&mut self, awaits: Awaited, until: Option<Millis>) -> Value {
        if !self.is_transaction {
            let connection = self.connection;
            self.blocked.push(BlockedCall { connection, call: None, awaits, until });
        }
        Value::Nil
    }

    /// Asks the replicas what they have, if anybody waits for them.
    pub(super) fn ask_replicas(&self, out: &mut Vec<Out<Packet>>) {
        if self.blocked.iter().any(|it| matches!(it.awaits, Awaited::Replicas(..))) {
            self.replication.ask_offsets(out);
        }
    }

    /// Returns true if the connection waits.
    pub(super) fn is_blocked(&self, connection: u64) -> bool {
        self.blocked.iter().any(|it| it.connection == connection)
    }

    /// Executes a request, or defers it, and serves whoever waits for what it brings.
    pub(super) fn request(
        &mut self,
        at: Clocks,
        from: Peer,
        (id, command): (u64, Rc<Cmd>),
        out: &mut Vec<Out<Packet>>,
    ) {
        if let Peer::Connection(connection) = from {
            self.connection = connection;
            if self.is_blocked(connection) {
                // By the time that it is executed, nobody tells whose it was.
                self.note_session(connection);
                self.deferred.push(DeferredRequest { connection, id, command });
                return;
            }
        }
        let value = self.execute(at.wall, &command);
        if self.blocked.is_empty() {
            base::emplace(out, || Out::Send(from, Packet::Reply { id, value: Box::new(value) }));
            return;
        }
        match self.blocked.last_mut().filter(|it| it.call.is_none()) {
            Some(blocked) => {
                blocked.call = Some(id);
                self.ask_replicas(out);
            }
            None => out.push(Out::Send(from, Packet::Reply { id, value: Box::new(value) })),
        }
        self.serve(at, out);
    }

    /// Ends the waits that are over, and goes on with the connections whose waits were.
    pub(super) fn serve(&mut self, at: Clocks, out: &mut Vec<Out<Packet>>) {
        let now = i64::try_from(at.wall.millis()).unwrap_or(i64::MAX);
        let mut unblocked = Vec::new();
        if self.follows() {
            return self.unblock_all(out);
        }
        while let Some(key) = self.keys.take_ready() {
            self.serve_key(&key, now, &mut unblocked, out);
        }
        let replication = &self.replication;
        for blocked in self.blocked.extract_if(.., |it| it.is_over(now, replication)) {
            unblocked.push(blocked.connection);
            let value = match &blocked.awaits {
                Awaited::Item(_) => Value::Nil,
                Awaited::Replicas(_, offset) => {
                    Value::Int(replication.acknowledged(*offset) as i64)
                }
            };
            out.extend(blocked.reply(value));
        }
        unblocked.into_iter().for_each(|connection| self.go_on(at, connection, out));
    }

    /// Ends the waits that would end by time.
    pub fn time_out_waits(&mut self, at: Clocks, out: &mut Vec<Out<Packet>>) {
        for until in self.blocked.iter_mut().filter_map(|it| it.until.as_mut()) {
            *until = Millis::MIN;
        }
        self.serve(at, out);
    }

    /// Executes what a connection has asked for meanwhile, until it waits again.
    fn go_on(&mut self, at: Clocks, connection: u64, out: &mut Vec<Out<Packet>>) {
        while !self.is_blocked(connection)
            && let Some(place) = self.deferred.iter().position(|it| it.connection == connection)
        {
            let DeferredRequest { id, command, .. } = self.deferred.remove(place);
            let before = self.keys.journal.len();
            self.request(at, Peer::Connection(connection), (id, command), out);
            self.note_as_of(connection, before);
        }
    }

    /// Notes whose connection it is from whom a request has just come.
    fn note_session(&mut self, connection: u64) {
        let what = What::SessionBegan(connection as i64);
        self.keys.journal.push(Noted { object: Bytes::new(), what, zxid: None });
    }

    /// Notes that what was noted since then was asked for over this connection, and not by whoever
    /// has had the server go on.
    fn note_as_of(&mut self, connection: u64, since: usize) {
        for Noted { what, .. } in &mut self.keys.journal[since..] {
            if let What::Written(by @ By::Caller)
            | What::Shared(by @ By::Caller)
            | What::Deleted(by @ By::Caller) = what
            {
                *by = By::Session(connection as i64);
            }
        }
    }

    /// Gives the items of a list to those who wait for it, as long as there are any.
    fn serve_key(
        &mut self,
        key: &Bytes,
        now: Millis,
        unblocked: &mut Vec<u64>,
        out: &mut Vec<Out<Packet>>,
    ) {
        let mut place = 0;
        while self.keys.get(key, now).is_some_and(|it| matches!(it.value, TypedValue::List(_))) {
            let next = self.blocked[place..].iter().position(|it| it.item_of(key).is_some());
            let Some(next) = next else { return };
            place += next;
            let blocked = self.blocked.remove(place);
            let Some(AwaitedItem { from, to, .. }) = blocked.item_of(key) else { return };
            let reply = match to {
                None => pop_item(&mut self.keys, key, now, *from)
                    .map(|item| item.map_or(Value::Nil, |item| popped(key, item))),
                Some((to, end)) => move_item(&mut self.keys, now, (key, to), (*from, *end)),
            };
            unblocked.push(blocked.connection);
            out.extend(blocked.reply(reply.unwrap_or_else(|refusal| refusal)));
        }
    }

    /// Ends all waits on a server that has become a replica, and the connections with them.
    fn unblock_all(&mut self, out: &mut Vec<Out<Packet>>) {
        let text = "UNBLOCKED force unblock from blocking operation, instance state changed \
             (master -> replica?)";
        for blocked in std::mem::take(&mut self.blocked) {
            let connection = blocked.connection;
            out.extend(blocked.reply(error(text)));
            out.push(Out::Close(connection));
            self.forget(connection);
        }
    }

    /// Turns those away who wait on a member of a cluster for keys that are no longer its own.
    pub(super) fn turn_away_blocked(&mut self, at: Clocks, out: &mut Vec<Out<Packet>>) {
        let Some(bus) = &self.bus else { return };
        let refusal = |blocked: &BlockedCall| {
            let Awaited::Item(AwaitedItem { keys, .. }) = &blocked.awaits else { return None };
            let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
            cluster::turn_away_keys(bus, &keys)
        };
        let refused: Vec<(u64, Value)> =
            self.blocked.iter().filter_map(|it| Some((it.connection, refusal(it)?))).collect();
        for (connection, refusal) in refused {
            let gone = self.blocked.extract_if(.., |it| it.connection == connection);
            out.extend(gone.filter_map(|blocked| blocked.reply(refusal.clone())));
            self.go_on(at, connection, out);
        }
    }

    /// Forgets what a connection waits for.
    pub(super) fn forget_blocked(&mut self, connection: u64) {
        self.blocked.retain(|it| it.connection != connection);
        self.deferred.retain(|it| it.connection != connection);
    }

    /// Forgets all waits.
    pub(super) fn clear_blocked(&mut self) {
        self.blocked.clear();
        self.deferred.clear();
    }
}

impl BlockedCall {
    /// The item that it waits for, if this list may have it.
    fn item_of(&self, key: &Bytes) -> Option<&AwaitedItem> {
        match &self.awaits {
            Awaited::Item(item) => Some(item).filter(|item| item.keys.contains(key)),
            Awaited::Replicas(..) => None,
        }
    }

    fn is_over(&self, now: Millis, replication: &Replication) -> bool {
        let enough = match self.awaits {
            Awaited::Item(_) => false,
            Awaited::Replicas(count, offset) => replication.acknowledged(offset) >= count,
        };
        enough || self.until.is_some_and(|end| now > end)
    }

    fn reply(self, value: Value) -> Option<Out<Packet>> {
        let packet = Packet::Reply { id: self.call?, value: Box::new(value) };
        Some(Out::Send(Peer::Connection(self.connection), packet))
    }
}
