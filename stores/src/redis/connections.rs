//! The connections of a client to its servers, as programs over the `redis` crate see them: the
//! same types over a link, as in the simulator, and over sockets.

#[cfg(feature = "real")]
use super::socket::SocketConnection;
use super::stream::{Multiplexed, over_link};
use super::subscriber::{Subscriber, subscribed_over_link};
use super::{LinkConnection, Redis};
use base::Link;
use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisFuture, Value};
use std::rc::Rc;

/// The way to the servers of a client.
pub trait RedisConnections {
    /// Returns a connection to the server with this number, from 0.
    fn connection(&self, server: usize) -> RedisConnection;

    /// Returns a new connection of the crate's own type to the server with this number, from 0.
    fn multiplexed(&self, server: usize) -> Multiplexed;

    /// Returns a new connection for messages to the server with this number, from 0.
    fn subscriber(&self, server: usize) -> Subscriber;

    /// Returns the address of the server with this number, from 0: "127.0.0.1:6379". `None`: it has
    /// none, being a model.
    fn address(&self, _server: usize) -> Option<&str> {
        None
    }
}

/// The connections over a link.
pub struct OverLink(pub Rc<dyn Link<Redis>>);

impl RedisConnections for OverLink {
    fn connection(&self, server: usize) -> RedisConnection {
        RedisConnection(Inner::Link(LinkConnection::new(self.0.clone(), server)))
    }

    fn multiplexed(&self, server: usize) -> Multiplexed {
        over_link(self.0.clone(), server)
    }

    fn subscriber(&self, server: usize) -> Subscriber {
        subscribed_over_link(self.0.clone(), server)
    }
}

/// A connection to one server: a [`ConnectionLike`] of the `redis` crate. Clones share it. It must
/// stay on the thread on which it was made.
#[derive(Clone)]
pub struct RedisConnection(Inner);

#[derive(Clone)]
enum Inner {
    Link(LinkConnection),
    #[cfg(feature = "real")]
    Socket(SocketConnection),
}

#[cfg(feature = "real")]
impl From<SocketConnection> for RedisConnection {
    fn from(connection: SocketConnection) -> Self {
        Self(Inner::Socket(connection))
    }
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match &mut self.0 {
            Inner::Link(it) => it.req_packed_command(command),
            #[cfg(feature = "real")]
            Inner::Socket(it) => it.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match &mut self.0 {
            Inner::Link(it) => it.req_packed_commands(pipeline, offset, count),
            #[cfg(feature = "real")]
            Inner::Socket(it) => it.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        0
    }
}
