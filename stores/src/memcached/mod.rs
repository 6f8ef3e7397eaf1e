//! memcached: the commands of its text protocol that locks are made of.

mod allotment;
#[cfg(any(test, feature = "real"))]
pub mod conformance;
mod junk;
mod memory;
pub mod model;
#[cfg(feature = "real")]
mod observe;
#[cfg(feature = "real")]
mod real;
mod store;
#[cfg(feature = "real")]
mod text_connection;

pub use model::Server;
#[cfg(feature = "real")]
pub use real::RealLink;

use base::{Answer, CallError, Protocol};
use std::borrow::Cow;
use std::convert::Infallible;

use crate::driver::RequestReply;
use crate::named_calls::named_commands;

/// The protocol of memcached.
#[derive(Clone, Copy, Debug)]
pub struct Memcached;

/// A command. `exptime` counts seconds: 0 is for ever, and a negative one is over at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Stores a value if there is none: `Stored` or `NotStored`.
    Add {
        /// The key of the item.
        key: String,
        /// The value to be stored.
        value: String,
        /// The time to live, in seconds.
        exptime: i64,
    },
    /// Stores a value: `Stored`.
    Set {
        /// The key of the item.
        key: String,
        /// The value to be stored.
        value: String,
        /// The time to live, in seconds.
        exptime: i64,
    },
    /// Reads a value: `Value`.
    Get {
        /// The key of the item.
        key: String,
    },
    /// Removes a value: `Deleted` or `NotFound`.
    Delete {
        /// The key of the item.
        key: String,
    },
}

named_commands!(Request {
    Add => "add",
    Set => "set",
    Get => "get",
    Delete => "delete",
});

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The value is stored.
    Stored,
    /// There is one already.
    NotStored,
    /// The value, if there is one.
    Value(Option<String>),
    /// The value is removed.
    Deleted,
    /// There was none.
    NotFound,
}

/// An error of the server or of the library: the command had no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Protocol for Memcached {
    type Request = Request;
    type Reply = Reply;
    type Refusal = Refusal;
    type Signal = Infallible;

    fn command(request: &Request) -> Cow<'static, str> {
        request.command().into()
    }
}

/// A packet between a simulated client and a simulated server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A command for the server.
    Request {
        /// The client's number for it, unique on its connection.
        id: u64,
        /// The command of the client.
        request: Request,
    },
    /// The server's answer.
    Reply {
        /// The number of the request that it answers.
        id: u64,
        /// The reply of the server.
        reply: Reply,
    },
}

impl RequestReply for Memcached {
    type Packet = Packet;
    type Raw = Reply;

    fn packet(id: u64, request: Request) -> Packet {
        Packet::Request { id, request }
    }

    fn reply(packet: Packet) -> Result<(u64, Reply), Packet> {
        match packet {
            Packet::Reply { id, reply } => Ok((id, reply)),
            request @ Packet::Request { .. } => Err(request),
        }
    }

    fn judge(_: &Request, reply: Reply) -> Answer<Self> {
        Ok(reply)
    }

    fn refusal(reason: String) -> Refusal {
        Refusal(reason)
    }
}

/// Reads the reply to an `add`: true if the value was stored.
///
/// # Errors
/// Fails when the server answers something else.
pub fn added(reply: Reply) -> Result<bool, CallError<Refusal>> {
    match reply {
        Reply::Stored => Ok(true),
        Reply::NotStored => Ok(false),
        other => Err(strange(&other)),
    }
}

/// Reads the reply to a `delete`: true if there was something to delete.
///
/// # Errors
/// Fails when the server answers something else.
pub fn deleted(reply: Reply) -> Result<bool, CallError<Refusal>> {
    match reply {
        Reply::Deleted => Ok(true),
        Reply::NotFound => Ok(false),
        other => Err(strange(&other)),
    }
}

fn strange(reply: &Reply) -> CallError<Refusal> {
    CallError::Unknown(format!("the server answered something else: {reply:?}"))
}
