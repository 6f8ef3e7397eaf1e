//! The interface of stores to the enumeration of all schedules: a server that it can copy, compare
//! and look into, and what its packets say in words.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::ops::Range;

use crate::model::{Clocks, Out, ServerModel};

/// A server that can be enumerated, on its own.
pub trait Enumerable: ServerModel + Clone {
    /// Clients have sessions, which a server can end. Otherwise what a client leaves in the store
    /// goes by a time of its own.
    const SESSIONS: bool;

    /// A session ends with its connection: a server is notified of a lost one.
    const SESSIONS_ARE_CONNECTIONS: bool = false;

    /// Adds everything that the server's answers depend on to a fingerprint.
    fn fingerprint(&self, into: &mut impl Hasher);

    /// Returns the things in the store, each by its name with a stamp that changes with it.
    fn things(&self) -> BTreeMap<String, u64>;

    /// Returns the session that the client with these connections has.
    fn session(&self, _connections: Range<u64>) -> Option<i64> {
        None
    }

    /// Ends a session.
    fn expire(&mut self, _session: i64, _out: &mut Vec<Out<Self::Packet>>) {}

    /// Ends the waits of clients that would end by time, which stands still here.
    fn end_timed_waits(&mut self, _at: Clocks, _out: &mut Vec<Out<Self::Packet>>) {}

    /// Returns true if the server may send something to one of these connections that nobody asked
    /// for.
    fn may_call(&self, _connections: Range<u64>) -> bool {
        false
    }

    /// Returns true if a connection that carries this packet is being opened: its client has no use
    /// of it yet.
    fn opens(_packet: &Self::Packet) -> bool {
        false
    }

    /// Returns true if a packet answers a request.
    fn answers(_packet: &Self::Packet) -> bool {
        true
    }

    /// Describes a packet in the words of the store.
    fn words(packet: &Self::Packet) -> String;
}
