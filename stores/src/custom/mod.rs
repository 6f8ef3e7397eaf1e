//! A server of somebody else's, whose store picklock does not know: a program takes the locks, a
//! command of its author's starts the server, and nobody here speaks with it.

mod nothing;
mod store;

use base::{Answer, Protocol};
use std::borrow::Cow;
use std::convert::Infallible;

use crate::driver::RequestReply;

/// The protocol of a server that nobody here speaks with.
#[derive(Clone, Copy, Debug)]
pub struct Custom;

impl Protocol for Custom {
    type Request = Infallible;
    type Reply = Infallible;
    type Refusal = Infallible;
    type Signal = Infallible;

    fn command(request: &Infallible) -> Cow<'static, str> {
        match *request {}
    }
}

impl RequestReply for Custom {
    type Packet = Infallible;
    type Raw = Infallible;

    fn packet(_: u64, request: Infallible) -> Infallible {
        request
    }

    fn reply(packet: Infallible) -> Result<(u64, Infallible), Infallible> {
        Err(packet)
    }

    fn judge(_: &Infallible, reply: Infallible) -> Answer<Self> {
        Ok(reply)
    }

    fn refusal(reason: String) -> Infallible {
        unreachable!("nothing was asked for: {reason}")
    }
}
