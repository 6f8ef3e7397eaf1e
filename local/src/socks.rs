//! A way through the links for servers that tell each other where to be called back, and that would
//! call each other past the links then: each calls through a SOCKS proxy of its own, which takes the
//! call to the link that leads where it is to go.

use super::port::{BACKLOG, accept};
use base::BackendError;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use testbed::{broken, tcp_owner};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// The beginning of a request for a connection to an IPv4 address (RFC 1928).
const CONNECT: [u8; 4] = [5, 1, 0, 1];

/// A SOCKS proxy of one server. It closes, with all that goes through it, when it is dropped.
pub struct Socks {
    port: u16,
    listening: AbortHandle,
}

impl Socks {
    /// Opens it, with the port of the link that leads to each port of another server.
    pub fn open(links: BTreeMap<u16, u16>) -> Result<Self, BackendError> {
        let open = || {
            let socket = TcpSocket::new_v4()?;
            socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
            socket.listen(BACKLOG)
        };
        let cannot = |error| broken("cannot open a way to the links between servers", error);
        let listener = open().map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        let listening = tokio::spawn(listen(listener, links)).abort_handle();
        Ok(Self { port, listening })
    }

    /// The number of its port.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Socks {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, links: BTreeMap<u16, u16>) {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = accept(&listener).await;
        let links = links.clone();
        // One that breaks is closed, and nobody else is to hear of it.
        connections.spawn(async move { serve(client, &links).await });
        while connections.try_join_next().is_some() {}
    }
}

/// Leads a connection to a link.
async fn serve(mut client: TcpStream, links: &BTreeMap<u16, u16>) -> io::Result<()> {
    if !tcp_owner::is_from_us(&client) {
        return Ok(());
    }
    client.set_nodelay(true)?;
    // The ways to prove who one is, of which none is asked for.
    let [_, ways] = read(&mut client).await?;
    client.read_exact(&mut vec![0; ways.into()]).await?;
    client.write_all(&[5, 0]).await?;
    let connect: [u8; 4] = read(&mut client).await?;
    let [_, _, _, _, high, low] = read(&mut client).await?;
    let link = links.get(&u16::from_be_bytes([high, low])).filter(|_| connect == CONNECT);
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let link = link.ok_or_else(refused).map(|port| (Ipv4Addr::LOCALHOST, *port));
    let server = match link {
        Ok(link) => TcpStream::connect(link).await,
        Err(error) => Err(error),
    };
    let refusal = if server.is_ok() { 0 } else { 5 };
    client.write_all(&[5, refusal, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut server = server?;
    server.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

async fn read<const BYTES: usize>(from: &mut TcpStream) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    from.read_exact(&mut bytes).await.map(|_| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{SocketAddr, SocketAddrV4};

    /// Asks a proxy for a connection to a port. Returns it, and the answer.
    async fn ask(socks: &Socks, port: u16) -> (TcpStream, u8) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, socks.port())).await.unwrap();
        stream.write_all(&[5, 2, 0, 2]).await.unwrap();
        assert_eq!(read(&mut stream).await.unwrap(), [5, 0]);
        let target = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        let place = [&target.ip().octets()[..], &target.port().to_be_bytes()].concat();
        stream.write_all(&[&CONNECT[..], &place].concat()).await.unwrap();
        let answer: [u8; 10] = read(&mut stream).await.unwrap();
        (stream, answer[1])
    }

    #[tokio::test]
    async fn a_call_comes_to_the_link_that_leads_where_it_is_to_go() {
        let link = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let at: SocketAddr = link.local_addr().unwrap();
        let socks = Socks::open(BTreeMap::from([(2888, at.port())])).unwrap();
        let (mut client, answer) = ask(&socks, 2888).await;
        assert_eq!(answer, 0);
        let (mut server, _) = link.accept().await.unwrap();
        client.write_all(b"ping").await.unwrap();
        assert_eq!(read(&mut server).await.unwrap(), *b"ping");
        assert_eq!(ask(&socks, 2889).await.1, 5, "no link leads there");
        drop(link);
        assert_eq!(ask(&socks, 2888).await.1, 5, "the link refuses");
    }
}
