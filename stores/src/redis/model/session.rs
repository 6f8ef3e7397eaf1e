//! Connections, of which a server keeps more than the command that they wait for.

use super::blocking::BlockedCall;
use super::channels::Subscription;
use super::commands::WallClock;
use super::keyspace::Bytes;
use super::transactions::QueuedCommands;
use super::{Server, watched::WatchedKey};
use crate::redis::reply::{bulk, error};
use redis::Value;
use std::collections::BTreeMap;

/// The state of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClientSession {
    /// The commands of its transaction; `None`: it is in none.
    pub queued: Option<QueuedCommands>,
    name: Option<Bytes>,
}

/// The states of all connections, what they watch, what they wait for, and to what they subscribe.
pub type ConnectionStates<'a> =
    (&'a BTreeMap<u64, ClientSession>, &'a [WatchedKey], &'a [BlockedCall], &'a [Subscription]);

impl Server {
    /// The state of the connection whose command is being executed.
    pub(super) fn session(&mut self) -> &mut ClientSession {
        self.sessions.entry(self.connection).or_default()
    }

    /// Forgets a connection that is closed.
    pub(super) fn forget(&mut self, connection: u64) {
        self.sessions.remove(&connection);
        self.keys.unwatch(connection);
        self.keys.channels.forget(connection);
        self.forget_blocked(connection);
    }

    /// The states of all connections, what they watch, what they wait for, and to what they
    /// subscribe.
    pub(crate) fn sessions(&self) -> ConnectionStates<'_> {
        (&self.sessions, &self.keys.watched, &self.blocked, self.keys.channels.subscriptions())
    }
}

/// CLIENT ID: the number of the caller's connection.
pub fn client_id(server: &mut Server, _: WallClock, _: &[&[u8]]) -> Value {
    Value::Int(server.connection as i64)
}

/// CLIENT SETNAME name.
pub fn client_setname(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    let name = args[2];
    if !name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        let text = "ERR Client names cannot contain spaces, newlines or special characters.";
        return error(text);
    }
    server.session().name = Some(Bytes::from_slice(name)).filter(|name| !name.is_empty());
    Value::Okay
}

/// CLIENT GETNAME: the name, or nil.
pub fn client_getname(server: &mut Server, _: WallClock, _: &[&[u8]]) -> Value {
    let session = server.sessions.get(&server.connection);
    let name = session.and_then(|session| session.name.as_ref());
    name.map_or(Value::Nil, |name| bulk(name.to_vec()))
}
