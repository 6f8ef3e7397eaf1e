//! The real adapter: one multiplexed connection of the `redis` crate to each server.
//!
//! It opens a connection when a call first needs it and again when a call finds it broken. It never
//! sends a command twice: that is for the lock to decide.

use super::outcome::{AskedAs, CommandProgress, judge_error, judge_reply};
use super::{Redis, Refusal};
use crate::driver::no_server;
use crate::real::RealWorld;
use base::{CallError, Link, LocalFuture, World};
use futures_util::FutureExt;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, Value,
};
use std::future::ready;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Mutex;

type BoxedAnswer = Result<Box<Value>, CallError<Refusal>>;

/// Links to real servers, for one client.
pub struct RealLink {
    world: RealWorld,
    servers: Vec<ServerConnection>,
    call_timeout: Duration,
}

/// The connection to a server, opened when it is needed.
pub(super) struct ServerConnection {
    address: String,
    slot: Mutex<Slot>,
}

/// The connection to a server, if there is one.
#[derive(Default)]
struct Slot {
    /// The number of connections opened so far: it tells a broken one from its successor.
    opened: u64,
    connection: Option<MultiplexedConnection>,
}

impl RealLink {
    /// Links to the servers at these addresses ("127.0.0.1:6379"). Nothing is connected yet. A call
    /// takes at most `call_timeout`, opening the connection included.
    pub fn new(servers: Vec<String>, call_timeout: Duration, seed: u64) -> Self {
        let servers = servers.into_iter().map(ServerConnection::new).collect();
        Self { world: RealWorld::new(seed), servers, call_timeout }
    }

    async fn ask(&self, server: usize, request: &Cmd) -> BoxedAnswer {
        let deadline = self.world.monotonic() + self.call_timeout;
        let Some(server) = self.servers.get(server) else {
            return Err(no_server::<Redis>(server));
        };
        let asked = AskedAs::of(request);
        // Until here nothing has left: a time-out now is a definite no.
        let (number, mut connection) = match self.world.in_time(deadline, server.connected()).await
        {
            Some(Ok(connected)) => connected,
            Some(Err(error)) => return Err(judge_error(asked, &error, CommandProgress::Unsent)),
            None => return Err(CallError::Refused(Refusal("no connection in time".into()))),
        };
        let sent = connection.send_packed_command(request);
        match self.world.in_time(deadline, sent).await {
            Some(Ok(reply)) => judge_reply(request, reply.into()),
            Some(Err(error)) => {
                server.forget(&error, number).await;
                Err(judge_error(asked, &error, CommandProgress::Sent))
            }
            // The connection stays: TCP delivers late, and the library drops the late reply.
            None => Err(CallError::Unknown("no reply in time".into())),
        }
    }
}

impl ServerConnection {
    pub fn new(address: String) -> Self {
        Self { address, slot: Mutex::default() }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// The open connection and its number.
    pub async fn connected(&self) -> Result<(u64, MultiplexedConnection), RedisError> {
        let mut slot = self.slot.lock().await;
        if let Some(connection) = &slot.connection {
            return Ok((slot.opened, connection.clone()));
        }
        let connection = open(&self.address).await?;
        slot.opened += 1;
        slot.connection = Some(connection.clone());
        Ok((slot.opened, connection))
    }

    /// Drops a connection that this error shows to be unusable, so that the next call opens
    /// another.
    pub async fn forget(&self, error: &RedisError, number: u64) {
        // A stream of replies that cannot be read is lost too: nobody knows where the next begins.
        let unusable = error.is_unrecoverable_error()
            || error.is_connection_dropped()
            || error.kind() == ErrorKind::Parse;
        let mut slot = self.slot.lock().await;
        if unusable && slot.opened == number {
            slot.connection = None;
        }
    }
}

async fn open(address: &str) -> Result<MultiplexedConnection, RedisError> {
    // The deadline of the whole call stands in place of the library's own time-outs.
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    Client::open(info(address)?)?.get_multiplexed_async_connection_with_config(&config).await
}

/// The address and the settings of a connection: small packets are sent at once, and the library
/// adds no command of its own, so that the first that a server hears is the lock's.
fn info(address: &str) -> Result<ConnectionInfo, RedisError> {
    Ok(format!("redis://{address}")
        .into_connection_info()?
        .set_tcp_settings(TcpSettings::default().set_nodelay(true))
        .set_redis_settings(RedisConnectionInfo::default().set_skip_set_lib_name()))
}

impl Link<Redis> for RealLink {
    fn world(&self) -> &dyn World {
        &self.world
    }

    /// The request leaves now and not when the future is first awaited: the future is polled once
    /// here, which makes the library send.
    fn call(&self, server: usize, request: Rc<Cmd>) -> LocalFuture<'_, BoxedAnswer> {
        let mut answer = Box::pin(async move { self.ask(server, &request).await });
        match answer.as_mut().now_or_never() {
            Some(result) => Box::pin(ready(result)),
            None => answer,
        }
    }

    fn servers(&self) -> usize {
        self.servers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::cmd;
    use tokio::net::TcpListener;

    /// The behaviour of a server on one connection.
    #[derive(Clone, Copy)]
    enum Manner {
        /// Answers this to the first request and keeps still.
        Answer(&'static str),
        /// Reads the first request and hangs up.
        HangUp,
        /// Reads and says nothing.
        Silence,
    }

    /// Runs `test` with a link to a server that meets its connections in these manners.
    fn with_server(manners: &'static [Manner], test: impl AsyncFnOnce(RealLink)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime starts").block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let address = listener.local_addr().expect("it is bound").to_string();
            tokio::spawn(async move {
                let mut still_open = Vec::new();
                for manner in manners {
                    let Ok((stream, _)) = listener.accept().await else { return };
                    // The library says nothing when it connects: the first bytes are the request's.
                    // A socket can be called readable too early.
                    while stream.try_read(&mut [0; 1024]).is_err() {
                        stream.readable().await.expect("the request comes");
                    }
                    if let Manner::Answer(reply) = manner {
                        stream.try_write(reply.as_bytes()).expect("a reply fits its buffer");
                    }
                    if !matches!(manner, Manner::HangUp) {
                        still_open.push(stream);
                    }
                }
                std::future::pending::<()>().await;
            });
            test(RealLink::new(vec![address], Duration::from_millis(200), 1)).await;
        });
    }

    #[test]
    fn a_reply_is_a_reply() {
        with_server(&[Manner::Answer("+OK\r\n")], async |link| {
            assert_eq!(link.call(0, cmd("PING").into()).await, Ok(Value::Okay.into()));
        });
    }

    #[test]
    fn an_error_reply_is_judged_by_the_table() {
        with_server(&[Manner::Answer("-ERR syntax error\r\n")], async |link| {
            let refusal = Refusal("ERR syntax error".into());
            assert_eq!(link.call(0, cmd("SET").into()).await, Err(CallError::Refused(refusal)));
        });
    }

    #[test]
    fn a_server_that_is_not_there_refuses() {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let address = gone.expect("a port that was free").to_string();
        with_server(&[], async move |_| {
            let link = RealLink::new(vec![address], Duration::from_secs(5), 1);
            let answer = link.call(0, cmd("PING").into()).await;
            assert!(matches!(answer, Err(CallError::Refused(_))), "{answer:?}");
        });
    }

    #[test]
    fn a_hang_up_after_the_request_leaves_it_unknown_and_the_next_call_reconnects() {
        with_server(&[Manner::HangUp, Manner::Answer(":1\r\n")], async |link| {
            let answer = link.call(0, cmd("INCR").into()).await;
            assert!(matches!(answer, Err(CallError::Unknown(_))), "{answer:?}");
            assert_eq!(link.call(0, cmd("INCR").into()).await, Ok(Value::Int(1).into()));
        });
    }

    #[test]
    fn silence_leaves_it_unknown_and_keeps_the_connection() {
        with_server(&[Manner::Silence, Manner::Answer(":1\r\n")], async |link| {
            for _ in 0..2 {
                let answer = link.call(0, cmd("INCR").into()).await;
                assert_eq!(answer, Err(CallError::Unknown("no reply in time".into())));
            }
        });
    }

    #[test]
    fn a_reply_that_is_no_reply_ends_the_connection() {
        with_server(&[Manner::Answer("nonsense\r\n"), Manner::Answer(":1\r\n")], async |link| {
            let answer = link.call(0, cmd("INCR").into()).await;
            assert!(matches!(answer, Err(CallError::Unknown(_))), "{answer:?}");
            assert_eq!(link.call(0, cmd("INCR").into()).await, Ok(Value::Int(1).into()));
        });
    }

    #[test]
    fn a_server_that_does_not_exist_is_refused_by_number() {
        with_server(&[], async |link| {
            let answer = link.call(7, cmd("PING").into()).await;
            assert!(matches!(answer, Err(CallError::Refused(_))), "{answer:?}");
        });
    }
}
