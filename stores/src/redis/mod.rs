//! Redis. Requests are `redis::Cmd` and replies `redis::Value`, the crate's own types, so that a
//! recipe reads as it would in anybody's code.

use base::Protocol;

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct Redis;

/// An error reply of the server ("ERR unknown command…"): the command had no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Protocol for Redis {
    type Request = redis::Cmd;
    type Reply = redis::Value;
    type Refusal = Refusal;
}
