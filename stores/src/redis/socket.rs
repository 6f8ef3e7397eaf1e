//! Connections of the `redis` crate to real servers, for locks that are written against that crate:
//! opened when a command first needs one, and again once one is found broken.

use super::connections::{RedisConnection, RedisConnections};
use super::real::ServerConnection;
use super::stream::{Multiplexed, over_socket};
use super::subscriber::{Subscriber, subscribed_over_socket};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The connections of a client to real servers.
pub struct Sockets {
    servers: Vec<SocketConnection>,
}

impl Sockets {
    /// Leads to the servers at these addresses ("127.0.0.1:6379"). Nothing is connected yet. A
    /// command takes at most `call_timeout`, opening the connection included.
    pub fn new(servers: &[String], call_timeout: Duration) -> Self {
        let socket = |address: &String| SocketConnection {
            server: Arc::new(ServerConnection::new(address.clone())),
            call_timeout,
        };
        Self { servers: servers.iter().map(socket).collect() }
    }
}

impl RedisConnections for Sockets {
    fn connection(&self, server: usize) -> RedisConnection {
        self.servers[server].clone().into()
    }

    fn multiplexed(&self, server: usize) -> Multiplexed {
        over_socket(self.servers[server].server.address().to_owned())
    }

    fn subscriber(&self, server: usize) -> Subscriber {
        subscribed_over_socket(self.servers[server].server.address().to_owned())
    }

    fn address(&self, server: usize) -> Option<&str> {
        Some(self.servers[server].server.address())
    }
}

/// A connection to one real server. Clones share it.
#[derive(Clone)]
pub struct SocketConnection {
    server: Arc<ServerConnection>,
    call_timeout: Duration,
}

impl SocketConnection {
    /// Sends something over the open connection, and returns the reply.
    async fn ask<T>(
        &self,
        send: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let asked = async {
            let (number, mut connection) = self.server.connected().await?;
            let answer = send(&mut connection).await;
            if let Err(error) = &answer {
                self.server.forget(error, number).await;
            }
            answer
        };
        timeout(self.call_timeout, asked).await.unwrap_or_else(|_| {
            let late = io::Error::new(io::ErrorKind::TimedOut, "no reply in time");
            Err(RedisError::from(late))
        })
    }
}

impl ConnectionLike for SocketConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.ask(async |it| it.req_packed_command(command).await))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(self.ask(async move |it| it.req_packed_commands(pipeline, offset, count).await))
    }

    fn get_db(&self) -> i64 {
        0
    }
}
