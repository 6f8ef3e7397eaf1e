//! One connection through a link, from accept to close.

use super::SharedProxy;
use super::gate::Gate;
use super::outlet::Outlet;
use super::pump::{Abort, SendWindow, Stages, pump};
use crate::tcp_owner;
use futures_util::FutureExt;
use std::io::{self, Cursor};
use stores::{Endpoint, Login};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Serves a client's connection until both sides are closed, or the link is reset, or the client
/// finds out that the server knows nothing of it any more.
pub async fn serve(shared: &SharedProxy, mut client: TcpStream) {
    if !tcp_owner::is_from_us(&client) {
        return abort(&client);
    }
    let process = shared.process();
    let mut resets = shared.resets.subscribe();
    let mut forgets = shared.forgets.subscribe();
    let Some((mut server, port, login)) = connect(shared, &client, &mut resets).await else {
        abort(&client);
        return;
    };
    shared.events.connected(process, port);
    let on_their_way = SendWindow::new();
    let aborted = tokio::select! {
        // Before what a dead server has left here is let through.
        biased;
        _ = resets.changed() => true,
        has_sent = forgotten(&mut forgets, &on_their_way) => {
            if !has_sent {
                let mut first = [0];
                tokio::select! {
                    _ = client.peek(&mut first) => {}
                    _ = resets.changed() => {}
                }
            }
            true
        }
        end = carry(
            shared,
            (process, port),
            (&mut client, &mut server),
            (&on_their_way, login),
        ) => end.is_err(),
    };
    if aborted {
        abort(&client);
        abort(&server);
    }
    drop(server);
    shared.events.closed(port);
}

/// The connection to the server, the port that it comes from, and the login that has begun or is to
/// come, once the link lets a handshake through; `None` if there can be none.
async fn connect(
    shared: &SharedProxy,
    client: &TcpStream,
    resets: &mut watch::Receiver<()>,
) -> Option<(TcpStream, u16, Option<Login>)> {
    if shared.refuses() {
        return None;
    }
    let delayed = shared.up.is_held() || shared.down.is_held();
    // A gate counts only what it holds, and a connection that both hold counts once.
    if shared.up.is_held() { &shared.up } else { &shared.down }.count_connection();
    tokio::select! {
        () = both_open(&shared.up, &shared.down) => {}
        _ = resets.changed() => return None,
    }
    // Over a real cut this connection was never made, so nothing of a client that gave up on it
    // may reach the server: it would carry out a request that was never on its way.
    if delayed && has_left(client) {
        return None;
    }
    let Endpoint { address, login } = shared.target()?;
    let connected = TcpStream::connect(address).await;
    let mut server = connected.inspect_err(|error| shared.events.unreachable(error)).ok()?;
    server.set_nodelay(true).and(client.set_nodelay(true)).ok()?;
    let port = server.local_addr().ok()?.port();
    if let Some(Login::Ahead { request, .. }) = &login {
        // Nobody waits for the answer here: a server that is paused gives none, and still hears
        // what its client goes on to say.
        server.write_all(request).await.ok()?;
    }
    Some((server, port, login))
}

/// A handshake needs both ways at the same time.
async fn both_open(up: &Gate, down: &Gate) {
    while up.is_held() || down.is_held() {
        up.open().await;
        down.open().await;
    }
}

/// Returns true if the client has closed its side, even with bytes still unread before the end.
fn has_left(client: &TcpStream) -> bool {
    match client.ready(Interest::READABLE).now_or_never() {
        Some(Ok(ready)) => ready.is_read_closed(),
        Some(Err(_)) => true,
        None => false,
    }
}

/// Waits until the server has forgotten its connections. Returns true if something is on its way to
/// it: asked while it still is.
async fn forgotten(forgets: &mut watch::Receiver<()>, on_their_way: &SendWindow) -> bool {
    // The sender lives in the link, so this cannot fail.
    let _ = forgets.changed().await;
    !on_their_way.is_whole()
}

/// Carries what both say. `requests` bounds what the client's side has on its way; the answers to
/// the login are not the client's.
async fn carry(
    shared: &SharedProxy,
    (process, port): (u32, u16),
    (client, server): (&mut TcpStream, &mut TcpStream),
    (requests, login): (&SendWindow, Option<Login>),
) -> Result<(), Abort> {
    let (client_read, client_write) = client.split();
    let replies = SendWindow::new();
    let (outlet, opening) = Outlet::to_server(login, server.split());
    let answer = async {
        let (first, server_read) = opening.await.ok_or(Abort)?;
        pump(
            (Cursor::new(first).chain(server_read), Outlet::open(client_write)),
            &shared.down,
            shared.pace(),
            &replies,
            Replies(shared, port, process),
        )
        .await
    };
    tokio::try_join!(
        pump((client_read, outlet), &shared.up, shared.pace(), requests, Requests(shared, port)),
        answer,
    )?;
    Ok(())
}

/// The way of a client's chunks, from this port.
struct Requests<'a>(&'a SharedProxy, u16);

impl Stages for Requests<'_> {
    fn leaves(&self, bytes: &[u8]) {
        self.0.events.asked(self.1, bytes);
    }
}

/// The way of a server's chunks to this port, and the process there.
struct Replies<'a>(&'a SharedProxy, u16, u32);

impl Stages for Replies<'_> {
    fn arrived(&self, bytes: &[u8]) {
        self.0.events.answered(self.1, bytes);
    }

    fn passed(&self) {
        self.0.reply_passed(self.2);
    }
}

/// Makes the close that follows an abort (RST): what is unsent is thrown away.
fn abort(stream: &TcpStream) {
    // It fails on a socket that is gone already, which is as good.
    let _: io::Result<()> = stream.set_zero_linger();
}
