//! The ports at which all servers know one, where they tell each other the addresses of third ones.
//!
//! So no server can be told an address of its own for another. Instead each calls from an address
//! of its own, and that says which link its connection goes through. Of one that cannot be told
//! from where to call (etcd 3.4) its process says it (`caller.rs`).

use super::caller::caller;
use super::port::Port;
use base::BackendError;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use stores::node_address;
use testbed::broken;
use testbed::link_proxy::Entrance;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::AbortHandle;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// The address from which a server calls the others: all that begin with 127 are this machine's.
pub fn source(number: u32) -> Ipv4Addr {
    let [high, low] = (number as u16 + 1).to_be_bytes();
    Ipv4Addr::new(127, 77, high, low)
}

/// A port at which all servers know one, of the address that stands for it. It closes when it is
/// dropped.
pub struct Front {
    number: u16,
    listening: AbortHandle,
}

impl Front {
    /// Opens it for a server, before these links, by who calls. The servers have their folders in
    /// this one.
    pub fn open(
        server: u32,
        links: Vec<(u32, Entrance)>,
        folder: &Path,
    ) -> Result<Self, BackendError> {
        for (caller, _) in &links {
            Port::take(source(*caller)).map_err(|error| {
                let fix = "this machine has no addresses beside 127.0.0.1; fix: --backend docker";
                BackendError(format!("{error} ({fix})"))
            })?;
        }
        let open = || {
            let socket = TcpSocket::new_v4()?;
            socket.bind((node_address(server), 0).into())?;
            let number = socket.local_addr()?.port();
            Ok((number, socket.listen(BACKLOG)?))
        };
        // Without links: so the kernel names the folder of a process.
        let folder = folder.canonicalize().map_err(|e| broken("has no folder", e))?;
        let (number, listener) =
            open().map_err(|e: std::io::Error| broken("cannot open a port for servers", e))?;
        let listening = tokio::spawn(listen(listener, links, folder)).abort_handle();
        Ok(Self { number, listening })
    }

    /// The number of the port.
    pub const fn number(&self) -> u16 {
        self.number
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, links: Vec<(u32, Entrance)>, folder: PathBuf) {
    loop {
        let Ok((client, from)) = listener.accept().await else {
            // Out of file descriptors, most likely: it fails at once until one is free.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let at = client.local_addr();
        let calls = |number| from.ip() == IpAddr::V4(source(number));
        let told = links.iter().map(|(number, _)| *number).find(|number| calls(*number));
        let number = told.or_else(|| caller(from, at.ok()?, &folder));
        // Of whoever else calls, the connection is closed.
        if let Some((_, link)) = links.iter().find(|(caller, _)| Some(*caller) == number) {
            link.take(client);
        }
    }
}
