//! Ports of this machine that are kept for servers.

use base::BackendError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use testbed::broken;
use tokio::net::TcpSocket;

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
