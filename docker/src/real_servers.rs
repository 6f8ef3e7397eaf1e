//! Real servers on their own, without clients and faults, for tests that talk to a store.

use super::daemon::runtime;
use super::servers::Servers;
use base::{BackendError, Data};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use stores::zookeeper::Timing;
use stores::{Cluster, StoreId, Topology};
use tokio::runtime::Runtime;

/// Servers that live as long as this does. Must not be made or dropped within a runtime: it has its
/// own and blocks.
pub struct RealServers {
    runtime: Runtime,
    servers: Option<Servers>,
    addresses: Vec<SocketAddr>,
}

impl RealServers {
    /// Starts them and waits until they all serve.
    ///
    /// # Errors
    /// Fails when there is no daemon, the image cannot be made or a server does not come up.
    pub fn start(
        store: StoreId,
        topology: &'static Topology,
        ttl: Duration,
        progress: &dyn Fn(&str),
    ) -> Result<Self, BackendError> {
        let runtime = runtime()?;
        let cluster = Cluster::new(topology, Timing::of(ttl));
        let servers = runtime.block_on(Servers::start(store, cluster, progress))?;
        let addresses = servers.addresses();
        let mut it = Self { runtime, servers: Some(servers), addresses: Vec::new() };
        it.addresses = addresses?;
        Ok(it)
    }

    /// Crashes one of them and starts it again, with its data or without. Returns its new address.
    ///
    /// # Errors
    /// Fails when it cannot be done, or the server does not serve again.
    ///
    /// # Panics
    /// Panics when there is no such server.
    pub fn restart(&mut self, number: usize, data: Data) -> Result<SocketAddr, BackendError> {
        let server = &self.servers.as_ref().expect("they run as long as this lives").all()[number];
        let address = self.runtime.block_on(async {
            if data == Data::Kept {
                server.keep_data().await?;
            }
            server.kill().await?;
            server.restart().await?;
            server.until_serving().await
        })?;
        self.addresses[number] = address;
        Ok(address)
    }

    /// The address of one of them on the network of the servers.
    ///
    /// # Panics
    /// Panics when there is no such server.
    pub fn peer_address(&self, number: usize) -> Ipv4Addr {
        let servers = self.servers.as_ref().expect("they run as long as this lives");
        servers.all()[number].peer_address()
    }

    /// The addresses of the servers, by number.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

impl Drop for RealServers {
    fn drop(&mut self) {
        if let Some(servers) = self.servers.take() {
            // What stays is removed by the next start.
            let _ = self.runtime.block_on(servers.remove());
        }
    }
}
