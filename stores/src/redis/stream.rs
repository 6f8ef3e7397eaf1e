//! A byte stream to a server over a link, for programs that speak to sockets.

use super::connection::{check_known, replied};
use super::{Redis, reply};
use base::{Link, LocalFuture, Protocol, further_connection};
use combine::stream::Decoder;
use futures_util::stream::unfold;
use futures_util::{FutureExt, Stream, StreamExt};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisConnectionInfo, cmd, parse_redis_value_async};
use std::cell::Cell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::LazyLock;
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, duplex, split};

/// The number of bytes that are on their way at once.
pub(super) const BUFFER: usize = 64 << 10;

/// The number of commands that are under way at once.
const PIPELINED: usize = 1_000;

/// Settings of a connection that says nothing at its start.
pub(super) static SILENT: LazyLock<RedisConnectionInfo> =
    LazyLock::new(|| RedisConnectionInfo::default().set_skip_set_lib_name());

/// A connection of the `redis` crate, and what has to be polled beside it.
pub struct Multiplexed {
    /// The connection.
    pub connection: MultiplexedConnection,
    /// Reads and writes for the connection, as a task of its own.
    pub driver: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Carries requests and replies to the server and back. Polled with a waker that a link may
    /// wake.
    pub wire: LocalFuture<'static, ()>,
}

impl Multiplexed {
    /// Makes a connection over a wire, which is given its bytes.
    fn over<W: Future<Output = ()> + 'static>(wire: impl FnOnce(DuplexStream) -> W) -> Self {
        let (near, far) = duplex(BUFFER);
        let connected = MultiplexedConnection::new(&SILENT, near).now_or_never();
        let (connection, driver) =
            connected.expect("it has nothing to wait for").expect("it says nothing at first");
        Self { connection, driver: Box::pin(driver), wire: Box::pin(wire(far)) }
    }
}

/// Connects to the server with this number, from 0. A call without a reply breaks the connection,
/// as it would if a socket were reset.
pub fn over_link(link: Rc<dyn Link<Redis>>, server: usize) -> Multiplexed {
    Multiplexed::over(|stream| carry(OpenConnection::new(link, server), stream))
}

/// A further connection over a link, which is closed when this is dropped.
pub(super) struct OpenConnection {
    pub(super) link: Rc<dyn Link<Redis>>,
    /// The name of the connection.
    pub(super) named: usize,
}

impl OpenConnection {
    /// Names a new connection to a server.
    pub(super) fn new(link: Rc<dyn Link<Redis>>, server: usize) -> Self {
        thread_local! {
            /// The number of connections so far. Links of one client do not know of each other.
            static NAMED: Cell<usize> = const { Cell::new(0) };
        }
        let number = NAMED.get() + 1;
        NAMED.set(number);
        Self { link, named: further_connection(server, number) }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.link.hang_up(self.named);
    }
}

/// Connects to the real server at this address. The connection is broken if none can be had.
#[cfg(feature = "real")]
pub fn over_socket(address: String) -> Multiplexed {
    Multiplexed::over(|stream| carry_to_socket(address, stream))
}

/// Carries what is written to the real server at this address, and back, until either hangs up.
#[cfg(feature = "real")]
pub(super) async fn carry_to_socket(address: String, mut stream: DuplexStream) {
    let Ok(mut socket) = tokio::net::TcpStream::connect(address).await else { return };
    // Small packets are sent at once. One that is not broken by this is not broken.
    let _ = socket.set_nodelay(true);
    // Whichever way it ends, it ends.
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut socket).await;
}

/// Carries what is written to the server, and its replies back in their order.
async fn carry(connection: OpenConnection, stream: DuplexStream) {
    let OpenConnection { link, named } = &connection;
    let (requests, mut replies) = split(stream);
    let calls = commands(requests).map(|command| {
        let command = Rc::new(command);
        check_known(&Redis::command(&command));
        let call = link.call(*named, command.clone());
        async move { replied(&command, call.await) }
    });
    let mut answers = pin!(calls.buffered(PIPELINED));
    let mut bytes = Vec::new();
    while let Some(Ok(reply)) = answers.next().await {
        bytes.clear();
        reply::encode(&reply, &mut bytes);
        if replies.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// The commands that a client writes, until it hangs up.
pub(super) fn commands(requests: ReadHalf<DuplexStream>) -> impl Stream<Item = Cmd> {
    unfold((Decoder::new(), requests), async |(mut decoder, mut requests)| {
        let words = parse_redis_value_async(&mut decoder, &mut requests).await.ok()?;
        let words: Vec<Vec<u8>> = redis::from_redis_value(words).ok()?;
        let (name, args) = words.split_first()?;
        let mut command = cmd(&String::from_utf8_lossy(name));
        command.arg(args);
        Some((command, (decoder, requests)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::Value;

    #[test]
    fn a_reply_is_read_as_it_was() {
        let values = [
            Value::Nil,
            Value::Okay,
            Value::Int(-7),
            Value::SimpleString("PONG".into()),
            reply::bulk(*b"a\r\nb"),
            reply::error("WRONGTYPE Operation against a key"),
            Value::Array(vec![Value::Int(1), Value::Array(vec![]), Value::Nil]),
        ];
        for value in values {
            let mut bytes = Vec::new();
            reply::encode(&value, &mut bytes);
            assert_eq!(redis::parse_redis_value(&bytes).expect("a reply"), value);
        }
    }
}
