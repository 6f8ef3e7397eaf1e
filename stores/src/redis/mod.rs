//! Redis. Requests are `redis::Cmd` and replies `redis::Value`, the crate's own types, so that a
//! recipe reads as it would in anybody's code. A command is shared, because most recipes send the
//! same one until they have the lock, and some send it to several servers.

mod allotment;
mod cluster_timing;
#[cfg(any(test, feature = "real"))]
pub mod conformance;
mod connection;
mod connections;
mod instance;
mod launches;
mod layout;
pub mod model;
#[cfg(feature = "real")]
mod observe;
mod outcome;
#[cfg(feature = "real")]
mod real;
mod reply;
mod routed;
pub mod script;
mod sentinel_timing;
mod settable_clock;
mod shards;
mod slot_routed;
#[cfg(feature = "real")]
mod socket;
mod store;
mod stream;
mod subscriber;

pub use cluster_timing::ClusterTiming;
pub use connection::LinkConnection;
pub use connections::{OverLink, RedisConnection, RedisConnections};
pub use instance::Instance;
pub use layout::Layout;
pub use model::Server;
pub use outcome::judge_reply;
#[cfg(feature = "real")]
pub use outcome::{CommandProgress, judge_error};
#[cfg(feature = "real")]
pub use real::RealLink;
pub use routed::Routed;
pub use sentinel_timing::SentinelTiming;
pub use shards::Shards;
pub use slot_routed::SlotRouted;
#[cfg(feature = "real")]
pub use socket::Sockets;
pub use stream::Multiplexed;
pub use subscriber::Subscriber;

use crate::driver::RequestReply;
use base::{Answer, Protocol};
use std::borrow::Cow;
use std::rc::Rc;

/// The port on which every server serves clients.
pub const PORT: u16 = 6379;

/// The protocol of Redis: commands and replies.
#[derive(Clone, Copy, Debug)]
pub struct Redis;

/// An error reply of the server ("ERR unknown command…"): the command had no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Protocol for Redis {
    type Request = Rc<redis::Cmd>;
    type Reply = Box<redis::Value>;
    type Refusal = Refusal;
    /// A message to a subscriber, as it stands on the wire.
    type Signal = Box<redis::Value>;

    fn command(request: &Self::Request) -> Cow<'static, str> {
        let name = match request.args_iter().next() {
            Some(redis::Arg::Simple(name)) => name,
            _ => &[],
        };
        String::from_utf8_lossy(name).to_ascii_uppercase().into()
    }
}

impl RequestReply for Redis {
    type Packet = Packet;
    type Raw = Box<redis::Value>;

    fn packet(id: u64, command: Self::Request) -> Packet {
        Packet::Request { id, command }
    }

    fn reply(packet: Packet) -> Result<(u64, Self::Raw), Packet> {
        match packet {
            Packet::Reply { id, value } => Ok((id, value)),
            other => Err(other),
        }
    }

    fn pushed(packet: Packet) -> Option<Self::Signal> {
        match packet {
            Packet::Push(value) => Some(value),
            _ => None,
        }
    }

    fn judge(command: &Self::Request, value: Self::Raw) -> Answer<Self> {
        judge_reply(command, value)
    }

    fn refusal(reason: String) -> Refusal {
        Refusal(reason)
    }
}

/// A packet between a simulated client and a simulated server, or between servers. Replies come in
/// the order of their requests, as on a real connection.
#[derive(Clone, Debug)]
pub enum Packet {
    /// A command for the server.
    Request {
        /// The client's number for it, unique on its connection.
        id: u64,
        /// The command to execute.
        command: Rc<redis::Cmd>,
    },
    /// The server's answer.
    Reply {
        /// The number of the request that it answers.
        id: u64,
        /// The answer; an error reply is `Value::ServerError`.
        value: Box<redis::Value>,
    },
    /// A message for a client that has subscribed to a channel, as it stands on the wire.
    Push(Box<redis::Value>),
    /// A request of a server to follow another, and to receive its data.
    Follow,
    /// A copy of the sender's data, for a server that follows it.
    Copied(Box<model::Copied>),
    /// A question of a server for the state of the data that a replica has.
    AskOffset,
    /// The state of the data that the sender, a replica, has.
    Offset(u64),
    /// A message between members of a cluster.
    Bus(Box<model::cluster::BusMessage>),
    /// A message between a Sentinel and a server that it watches.
    Sentinel(Box<model::sentinel::SentinelMessage>),
}
