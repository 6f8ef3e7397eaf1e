//! Ports of this machine that are kept for servers.

use base::BackendError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use testbed::broken;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections that may wait to be accepted.
pub const BACKLOG: u32 = 1024;

/// A port that nobody else is given as long as this lives. Who wants this very port can have it: a
/// server may listen on it, because its socket and this one, which never listens, both allow that.
#[derive(Clone)]
pub struct Port {
    _keeper: Arc<TcpSocket>,
    number: u16,
}

impl Port {
    /// Takes a free port of this address.
    pub fn take(address: Ipv4Addr) -> Result<Self, BackendError> {
        let take = || {
            let keeper = TcpSocket::new_v4()?;
            keeper.set_reuseaddr(true)?;
            keeper.bind(SocketAddr::from((address, 0)))?;
            let number = keeper.local_addr()?.port();
            Ok(Self { _keeper: Arc::new(keeper), number })
        };
        take().map_err(|e: std::io::Error| broken("cannot take a port for a server", e))
    }

    /// The number of the port.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// Accepts the next connection. Returns it, and the address that it comes from.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            // Out of file descriptors, most likely: it fails at once until one is free.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
