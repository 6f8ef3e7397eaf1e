//! etcd as pure state machines: a member, and the state that all members apply the same changes to.

mod key_store;
#[cfg(any(test, feature = "real"))]
#[cfg_attr(not(test), expect(dead_code, reason = "the tests of models use all of it"))]
mod network;
mod packet;
mod server;
#[cfg(test)]
mod tests;
mod watches;

pub use key_store::{KeyChange, KeyStore};
pub use packet::{Asker, LogCommand, LogEntry, LogPlace, PeerMessage, RaftPacket};
pub use server::{Server, note};
pub use watches::KeyWatches;

use crate::etcd::{Packet, Reply, Request};

/// Returns true if a packet between a client and a member carries a call of the lock, or the answer
/// to one: leases are kept alive, and watches kept, by the client library.
fn is_call(packet: &Packet) -> bool {
    match packet {
        Packet::Request { request, .. } => !matches!(
            request,
            Request::LeaseKeepAlive { .. } | Request::Watch { .. } | Request::Unwatch { .. }
        ),
        Packet::Reply { result, .. } => !matches!(result, Ok(Reply::Watching)),
        Packet::Signal(_) | Packet::Peer(_) => false,
    }
}
