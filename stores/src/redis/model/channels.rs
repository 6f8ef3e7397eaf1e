//! Messages: what is published to a channel goes to all connections that have subscribed to it, or
//! to a pattern that its name matches. Nobody keeps it for those who are not there.
//!
//! A connection with subscriptions gets no other replies (RESP 2), and no other commands are taken
//! from it.

use super::commands::{Call, CommandSpec, WallClock};
use super::keyspace::Bytes;
use super::{Server, glob};
use crate::model::{Out, Peer};
use crate::redis::Packet;
use crate::redis::reply::{bulk, error};
use redis::Value;

/// The commands of a connection with subscriptions.
const ALLOWED: [&str; 5] = ["subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ping"];

/// The subscriptions of all connections, and the messages for them that have yet to be sent.
#[derive(Clone, Debug, Default)]
pub struct Channels {
    subscriptions: Vec<Subscription>,
    unsent: Vec<(u64, Value)>,
}

/// A subscription of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subscription {
    connection: u64,
    kind: NameKind,
    name: Bytes,
}

/// The kind of name to which a connection subscribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NameKind {
    Channel,
    Pattern,
}

impl NameKind {
    /// Returns the name of the command that begins a subscription, and of the one that ends it.
    const fn commands(self) -> (&'static str, &'static str) {
        match self {
            Self::Channel => ("subscribe", "unsubscribe"),
            Self::Pattern => ("psubscribe", "punsubscribe"),
        }
    }
}

impl Channels {
    /// Returns the subscriptions, in their order.
    pub fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    /// Ends all subscriptions of a connection.
    pub fn forget(&mut self, connection: u64) {
        self.subscriptions.retain(|it| it.connection != connection);
        self.unsent.retain(|(to, _)| *to != connection);
    }

    fn of(&self, connection: u64) -> impl Iterator<Item = &Subscription> {
        self.subscriptions.iter().filter(move |it| it.connection == connection)
    }

    fn subscribe(&mut self, subscription: Subscription) -> Value {
        let (connection, kind) = (subscription.connection, subscription.kind);
        let name = bulk(subscription.name.to_vec());
        if !self.subscriptions.contains(&subscription) {
            self.subscriptions.push(subscription);
        }
        self.confirmation(connection, kind.commands().0, name)
    }

    fn unsubscribe(&mut self, subscription: &Subscription) -> Value {
        self.subscriptions.retain(|it| it != subscription);
        let name = bulk(subscription.name.to_vec());
        self.confirmation(subscription.connection, subscription.kind.commands().1, name)
    }

    fn confirmation(&self, connection: u64, command: &str, name: Value) -> Value {
        let count = Value::Int(self.of(connection).count() as i64);
        Value::Array(vec![bulk(command), name, count])
    }

    /// Answers with the first of several replies, and sends the others after it.
    fn answer(&mut self, connection: u64, mut replies: impl Iterator<Item = Value>) -> Value {
        let first = replies.next().unwrap_or(Value::Nil);
        self.unsent.extend(replies.map(|reply| (connection, reply)));
        first
    }

    fn publish(&mut self, channel: &[u8], message: &[u8]) -> Value {
        let parts = |parts: &[&[u8]]| Value::Array(parts.iter().map(|it| bulk(*it)).collect());
        let to_channel = self.subscriptions.iter().filter(|it| it.kind == NameKind::Channel);
        let to_channel = to_channel.filter(|it| it.name.as_slice() == channel);
        let to_channel =
            to_channel.map(|it| (it.connection, parts(&[b"message", channel, message])));
        let to_pattern = self.subscriptions.iter().filter(|it| it.kind == NameKind::Pattern);
        let to_pattern = to_pattern.filter(|it| glob::matches(&it.name, channel));
        let to_pattern =
            to_pattern.map(|it| (it.connection, parts(&[b"pmessage", &it.name, channel, message])));
        let before = self.unsent.len();
        let sent: Vec<(u64, Value)> = to_channel.chain(to_pattern).collect();
        self.unsent.extend(sent);
        Value::Int((self.unsent.len() - before) as i64)
    }
}

/// SUBSCRIBE channel….
pub fn subscribe(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    begin(server, NameKind::Channel, args)
}

/// PSUBSCRIBE pattern….
pub fn psubscribe(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    begin(server, NameKind::Pattern, args)
}

/// UNSUBSCRIBE [channel…].
pub fn unsubscribe(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    end(server, NameKind::Channel, args)
}

/// PUNSUBSCRIBE [pattern…].
pub fn punsubscribe(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    end(server, NameKind::Pattern, args)
}

fn begin(server: &mut Server, kind: NameKind, args: &[&[u8]]) -> Value {
    let (connection, channels) = (server.connection, &mut server.keys.channels);
    let name = |name: &&[u8]| Subscription { connection, kind, name: Bytes::from_slice(name) };
    let replies: Vec<Value> = args[1..].iter().map(|it| channels.subscribe(name(it))).collect();
    channels.answer(connection, replies.into_iter())
}

fn end(server: &mut Server, kind: NameKind, args: &[&[u8]]) -> Value {
    let (connection, channels) = (server.connection, &mut server.keys.channels);
    let name = |name: &&[u8]| Subscription { connection, kind, name: Bytes::from_slice(name) };
    let mut ended: Vec<Subscription> = args[1..].iter().map(name).collect();
    if args.len() == 1 {
        ended = channels.of(connection).filter(|it| it.kind == kind).cloned().collect();
    }
    if ended.is_empty() {
        return channels.confirmation(connection, kind.commands().1, Value::Nil);
    }
    let replies: Vec<Value> = ended.iter().map(|it| channels.unsubscribe(it)).collect();
    channels.answer(connection, replies.into_iter())
}

/// PUBLISH channel message: the number of subscriptions that it reached.
pub fn publish(call: Call<'_>) -> Value {
    call.keys.channels.publish(call.args[1], call.args[2])
}

impl Server {
    /// Returns the refusal of a command that is not taken from a connection with subscriptions.
    pub(super) fn subscribers_refusal(&self, command: &CommandSpec) -> Option<Value> {
        self.keys.channels.of(self.connection).next()?;
        let refusal = || {
            error(&format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / \
                 RESET are allowed in this context",
                command.name
            ))
        };
        (!ALLOWED.contains(&command.name)).then(refusal)
    }

    /// Returns the reply to PING on a connection with subscriptions.
    pub(super) fn pong(&self, command: &CommandSpec, args: &[&[u8]]) -> Option<Value> {
        self.keys.channels.of(self.connection).next()?;
        let text = args.get(1).copied().unwrap_or_default();
        let is_ping = command.name == "ping" && args.len() <= 2;
        is_ping.then(|| Value::Array(vec![bulk("pong"), bulk(text)]))
    }

    /// Sends the messages that have yet to be sent.
    pub(super) fn send_messages(&mut self, out: &mut Vec<Out<Packet>>) {
        let push = |(to, value): (u64, Value)| {
            Out::Send(Peer::Connection(to), Packet::Push(Box::new(value)))
        };
        if !self.keys.channels.unsent.is_empty() {
            out.extend(self.keys.channels.unsent.drain(..).map(push));
        }
    }
}
