//! The ports at which all servers know one, where they tell each other the addresses of third ones.
//!
//! So no server can be given an address of its own for another. Instead each calls from an address
//! of its own, which identifies the link that its connection goes through. One that cannot be
//! configured to call from there (etcd 3.4) is identified by its process (`caller.rs`). Clients
//! that follow such an address are identified by their processes, too, and get to their own links.

use super::caller::caller;
use super::port::{BACKLOG, Port, accept};
use base::BackendError;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use stores::node_address;
use testbed::broken;
use testbed::callers::ClientEntrances;
use testbed::link_proxy::Entrance;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::AbortHandle;

/// The address from which a server calls the others: all that begin with 127 are this machine's.
pub fn source(number: u32) -> Ipv4Addr {
    let [high, low] = (number as u16 + 1).to_be_bytes();
    Ipv4Addr::new(127, 77, high, low)
}

/// A port at which all servers know one, of the address that stands for it. It closes when it is
/// dropped.
pub struct Front {
    number: u16,
    clients: LedClients,
    listening: AbortHandle,
}

/// The clients that may call there, once there are any.
type LedClients = Arc<OnceLock<Weak<dyn ClientEntrances>>>;

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
        let clients = LedClients::default();
        let knows = Callers { server, links, folder, clients: clients.clone() };
        let listening = tokio::spawn(listen(listener, knows)).abort_handle();
        Ok(Self { number, clients, listening })
    }

    /// Leads clients to their own links from now on.
    pub fn lead(&self, clients: Weak<dyn ClientEntrances>) {
        // They are the same for as long as the servers are there.
        let _ = self.clients.set(clients);
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

/// The callers of a front, and the link of each.
struct Callers {
    server: u32,
    links: Vec<(u32, Entrance)>,
    folder: PathBuf,
    clients: LedClients,
}

impl Callers {
    /// Returns the way into the link of the one who calls; `None` for a stranger.
    fn entrance(&self, from: SocketAddr, at: SocketAddr) -> Option<Entrance> {
        let calls = |number: u32| from.ip() == IpAddr::V4(source(number));
        let of = |number: u32| self.links.iter().find(|(caller, _)| *caller == number);
        if let Some((_, link)) = self.links.iter().find(|(caller, _)| calls(*caller)) {
            return Some(link.clone());
        }
        if let Some(clients) = self.clients.get() {
            return clients.upgrade()?.entrance(self.server, from, at);
        }
        Some(of(caller(from, at, &self.folder)?)?.1.clone())
    }
}

async fn listen(listener: TcpListener, callers: Callers) {
    loop {
        let (client, from) = accept(&listener).await;
        let Ok(at) = client.local_addr() else { continue };
        // Of whoever else calls, the connection is closed.
        if let Some(link) = callers.entrance(from, at) {
            link.take(client);
        }
    }
}
