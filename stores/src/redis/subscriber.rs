//! A connection to a server over a link which hears messages: the `redis` crate's own type, over a
//! byte stream.

use super::connection::replied;
#[cfg(feature = "real")]
use super::stream::carry_to_socket;
use super::stream::{BUFFER, OpenConnection, SILENT, commands};
use super::{Redis, reply};
use base::{Link, LocalFuture};
use futures_util::future::{Either, select};
use futures_util::{FutureExt, StreamExt};
use redis::aio::PubSub;
use std::pin::pin;
use std::rc::Rc;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex, split};

/// A connection of the `redis` crate for messages, and what has to be polled beside it.
pub struct Subscriber {
    /// The connection.
    pub connection: PubSub,
    /// Carries commands to the server, and replies and messages back. Polled with a waker that a
    /// link may wake.
    pub wire: LocalFuture<'static, ()>,
}

impl Subscriber {
    fn over<W: Future<Output = ()> + 'static>(wire: impl FnOnce(DuplexStream) -> W) -> Self {
        let (near, far) = duplex(BUFFER);
        let connected = PubSub::new(&SILENT, near).now_or_never();
        let connection = connected.expect("it has nothing to wait for");
        let connection = connection.expect("it says nothing at first");
        Self { connection, wire: Box::pin(wire(far)) }
    }
}

/// Connects to the server with this number, from 0, within a runtime of tokio. A call without a
/// reply breaks the connection.
pub fn subscribed_over_link(link: Rc<dyn Link<Redis>>, server: usize) -> Subscriber {
    Subscriber::over(|stream| carry(OpenConnection::new(link, server), stream))
}

/// Connects to the real server at this address, within a runtime of tokio.
#[cfg(feature = "real")]
pub fn subscribed_over_socket(address: String) -> Subscriber {
    Subscriber::over(|stream| carry_to_socket(address, stream))
}

/// Carries what is written to the server, and its replies and messages back.
async fn carry(connection: OpenConnection, stream: DuplexStream) {
    let OpenConnection { link, named } = &connection;
    let (requests, mut replies) = split(stream);
    let mut commands = pin!(commands(requests));
    let mut bytes = Vec::new();
    loop {
        let answer = match select(commands.next(), link.pushed(*named)).await {
            Either::Left((Some(command), _)) => {
                let command = Rc::new(command);
                replied(&command, link.call(*named, command.clone()).await)
            }
            Either::Right((Some(message), _)) => Ok(*message),
            Either::Left((None, _)) | Either::Right((None, _)) => return,
        };
        bytes.clear();
        let Ok(answer) = answer else { return };
        reply::encode(&answer, &mut bytes);
        if replies.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
