//! The interface of stores to the enumeration: a server that it can copy, compare and look into,
//! and what its packets say in words.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use stores::model::{Out, ServerModel};

use super::fingerprint::Fingerprint;
use crate::library::SimStore;

type PacketOf<S> = <<S as SimStore>::Server as ServerModel>::Packet;

/// A store that can be enumerated.
pub trait Examine: SimStore<Server: Clone, Library: Sized> + Sized
where
    PacketOf<Self>: Clone + Debug,
{
    /// Clients have sessions, which a server can end. Otherwise what a client leaves in the store
    /// goes by a time of its own.
    const SESSIONS: bool;

    /// Adds everything that the server's answers depend on to a fingerprint.
    fn fingerprint(server: &Self::Server, into: &mut Fingerprint);

    /// Returns the things in the store, each by its name with a stamp that changes with it.
    fn things(server: &Self::Server) -> BTreeMap<String, u64>;

    /// The session that the client with these connections has.
    fn session(server: &Self::Server, connections: Range<u64>) -> Option<i64>;

    /// Ends a session.
    fn expire(server: &mut Self::Server, session: i64, out: &mut Vec<Out<PacketOf<Self>>>);

    /// The server may send something to one of these connections that nobody asked for.
    fn may_call(server: &Self::Server, connections: Range<u64>) -> bool;

    /// A connection that carries this packet is being opened: its client has no use of it yet.
    fn opens(packet: &PacketOf<Self>) -> bool;

    /// Returns true if a packet answers a request.
    fn answers(packet: &PacketOf<Self>) -> bool;

    /// Describes a packet in the words of the store.
    fn words(packet: &PacketOf<Self>) -> String;
}
