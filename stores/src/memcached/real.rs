//! The real adapter: one connection of the `async-memcached` crate to each server.
//!
//! It opens a connection when a call first needs it and again after a call that came to no clear
//! end. It never sends a command twice: that is for the lock to decide.

use super::{Memcached, Refusal, Reply, Request};
use crate::driver::no_server;
use crate::real::RealWorld;
use async_memcached::{AsciiProtocol, Client, Error, Status};
use base::{Answer, CallError, Link, LocalFuture, World};
use futures_util::FutureExt;
use std::future::ready;
use std::time::Duration;
use tokio::sync::Mutex;

/// Links to real servers, for one client.
pub struct RealLink {
    world: RealWorld,
    servers: Vec<ServerConnection>,
    call_timeout: Duration,
}

struct ServerConnection {
    address: String,
    connection: Mutex<Option<Client>>,
}

impl RealLink {
    /// Links to the servers at these addresses ("127.0.0.1:11211"). Nothing is connected yet. A
    /// call takes at most `call_timeout`, opening the connection included.
    pub fn new(servers: Vec<String>, call_timeout: Duration, seed: u64) -> Self {
        let server = |address| ServerConnection { address, connection: Mutex::default() };
        let servers = servers.into_iter().map(server).collect();
        Self { world: RealWorld::new(seed), servers, call_timeout }
    }

    async fn ask(&self, server: usize, request: Request) -> Answer<Memcached> {
        let deadline = self.world.monotonic() + self.call_timeout;
        let Some(server) = self.servers.get(server) else {
            return Err(no_server::<Memcached>(server));
        };
        let mut slot = server.connection.lock().await;
        // Taken out, so that a connection in the middle of a call is closed with it.
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => match self.world.in_time(deadline, open(&server.address)).await {
                Some(Ok(connection)) => connection,
                Some(Err(error)) => return Err(CallError::Refused(Refusal(error.to_string()))),
                None => return Err(CallError::Refused(Refusal("no connection in time".into()))),
            },
        };
        let performed = perform(&mut connection, request);
        let Some(outcome) = self.world.in_time(deadline, performed).await else {
            return Err(CallError::Unknown("no reply in time".into()));
        };
        let answer = outcome.or_else(judge);
        if !matches!(answer, Err(CallError::Unknown(_))) {
            *slot = Some(connection);
        }
        answer
    }
}

async fn open(address: &str) -> Result<Client, Error> {
    Client::new(format!("tcp://{address}")).await
}

async fn perform(client: &mut Client, request: Request) -> Result<Reply, Error> {
    match request {
        Request::Add { key, value, exptime } => {
            client.add(&key, &value, Some(exptime), None).await.map(|()| Reply::Stored)
        }
        Request::Set { key, value, exptime } => {
            client.set(&key, &value, Some(exptime), None).await.map(|()| Reply::Stored)
        }
        Request::Delete { key } => client.delete(&key).await.map(|()| Reply::Deleted),
        Request::Get { key } => {
            let found = client.get(&key).await?;
            let data = found.map(|found| found.data.unwrap_or_default());
            Ok(Reply::Value(data.map(|data| String::from_utf8_lossy(&data).into_owned())))
        }
    }
}

/// Judges an error of the library: its answer, a refusal, or nothing that can be known.
fn judge(error: Error) -> Answer<Memcached> {
    match error {
        Error::Protocol(Status::NotStored) => Ok(Reply::NotStored),
        Error::Protocol(Status::NotFound) => Ok(Reply::NotFound),
        Error::Protocol(Status::Error(error)) => {
            Err(CallError::Refused(Refusal(format!("{error:?}"))))
        }
        other => Err(CallError::Unknown(other.to_string())),
    }
}

impl Link<Memcached> for RealLink {
    fn world(&self) -> &dyn World {
        &self.world
    }

    /// The request leaves now and not when the future is first awaited: the future is polled once
    /// here, which makes the library send.
    fn call(&self, server: usize, request: Request) -> LocalFuture<'_, Answer<Memcached>> {
        let mut answer = Box::pin(self.ask(server, request));
        match answer.as_mut().now_or_never() {
            Some(result) => Box::pin(ready(result)),
            None => answer,
        }
    }

    fn servers(&self) -> usize {
        self.servers.len()
    }
}
