//! The end of one direction of a connection, past gates and delays. That of a server which asks for
//! a password within the session keeps back what a client sends until the link has logged in.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::io;
use stores::Login;
use stores::zookeeper::sasl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::oneshot;

/// The place to which one direction of a connection is delivered.
pub struct Outlet<'a> {
    sink: WriteHalf<'a>,
    login: Option<PendingLogin<'a>>,
}

/// The first bytes that a server sends to its client, and where the rest is read.
pub type FirstAnswer<'a> = (Vec<u8>, ReadHalf<'a>);

/// A login within a session that is still to be opened.
struct PendingLogin<'a> {
    password: String,
    /// All that the client has sent so far.
    sent: Vec<u8>,
    server: ReadHalf<'a>,
    opened: oneshot::Sender<FirstAnswer<'a>>,
}

impl<'a> Outlet<'a> {
    /// One that is open.
    pub fn open(sink: WriteHalf<'a>) -> Self {
        Self { sink, login: None }
    }

    /// One to a server with this login, and what that sends to the client afterwards; `None` if it
    /// does not let the client in.
    pub fn to_server(
        login: Option<Login>,
        (server, sink): (ReadHalf<'a>, WriteHalf<'a>),
    ) -> (Self, BoxFuture<'a, Option<FirstAnswer<'a>>>) {
        match login {
            None => (Self::open(sink), async { Some((Vec::new(), server)) }.boxed()),
            Some(Login::Ahead { accepted, .. }) => {
                (Self::open(sink), async { Some(after(accepted, server).await) }.boxed())
            }
            Some(Login::InSession(password)) => {
                let (opened, opening) = oneshot::channel();
                let login = PendingLogin { password, sent: Vec::new(), server, opened };
                (Self { sink, login: Some(login) }, opening.map(Result::ok).boxed())
            }
        }
    }

    /// Delivers bytes, once their receiver lets the client in.
    pub async fn deliver(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(mut login) = self.login.take() else { return self.sink.write_all(bytes).await };
        login.sent.extend(bytes);
        if !sasl::has_request(&login.sent) {
            self.login = Some(login);
            return Ok(());
        }
        let PendingLogin { password, sent, mut server, opened } = login;
        let mut answer = Vec::new();
        let begun = sasl::begin(&password, &sent, (&mut server, &mut self.sink), &mut answer).await;
        // A server that closes the connection in order refuses nothing: whoever reads on finds the
        // end.
        let is_refused =
            begun.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::UnexpectedEof);
        if !is_refused {
            drop(opened.send((answer, server)));
        }
        begun
    }

    /// Closes it.
    pub async fn close(&mut self) {
        if let Some(PendingLogin { server, opened, .. }) = self.login.take() {
            // The client has left without having asked for a session.
            drop(opened.send((Vec::new(), server)));
        }
        // It may be closed already.
        let _ = self.sink.shutdown().await;
    }
}

/// Takes the answer to a login from what a server sends. Returns what it has sent in its place.
async fn after<'a>(accepted: &[u8], mut server: ReadHalf<'a>) -> FirstAnswer<'a> {
    let mut answer = Vec::new();
    // The end of a connection and its error are found again by whoever reads on.
    let _ = (&mut server).take(accepted.len() as u64).read_to_end(&mut answer).await;
    (if answer == accepted { Vec::new() } else { answer }, server)
}
