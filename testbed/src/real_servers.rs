//! Real servers on their own, without clients and faults, for tests that talk to a store.

use super::broken;
use super::servers::{Servers, StartedServer};
use base::{BackendError, Data, Direction};
use futures_util::future::try_join_all;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stores::zookeeper::Timing;
use stores::{Cluster, StoreId, Topology};
use tokio::runtime::Runtime;

/// Servers that live as long as this does. Must not be made or dropped within a runtime: it has its
/// own and blocks.
pub struct RealServers<S: Servers> {
    runtime: Runtime,
    servers: Option<S>,
    addresses: Vec<SocketAddr>,
    /// The links that are cut while a server is cut off from the others.
    cuts: Vec<<S::Server as StartedServer>::Cut>,
}

impl<S: Servers> RealServers<S> {
    /// Starts them and waits until they all serve. They ask nobody for a password, as the servers
    /// that others run do not, for which some stand.
    ///
    /// # Errors
    /// Fails when a server does not come up, or there is nothing to start it with.
    pub fn start(
        store: StoreId,
        topology: &'static Topology,
        ttl: Duration,
        progress: &dyn Fn(&str),
    ) -> Result<Self, BackendError> {
        let runtime = runtime_of_its_own()?;
        let open = Cluster::new(topology, ttl, Timing::of(ttl));
        let cluster = Cluster { asks_password: false, ..open };
        let servers = runtime.block_on(S::start(store, cluster, progress))?;
        let mut it =
            Self { runtime, servers: Some(servers), addresses: Vec::new(), cuts: Vec::new() };
        let addresses = it.servers().iter().map(|server| server.address());
        it.addresses = addresses.collect::<Result<_, _>>()?;
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
        let server = self.servers()[number].clone();
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

    /// Cuts one of them off from the others until it is killed. Clients still reach it.
    ///
    /// # Errors
    /// Fails when it cannot be done.
    ///
    /// # Panics
    /// Panics when there is no such server.
    pub fn cut_off(&mut self, number: usize) -> Result<(), BackendError> {
        let server = self.servers()[number].clone();
        for other in self.servers().to_vec() {
            if other.number() != server.number() {
                let cut = self.runtime.block_on(server.cut(&other, Direction::Both))?;
                self.cuts.push(cut);
            }
        }
        Ok(())
    }

    /// Kills the process of one of them, which keeps its data. It stays dead until it is started
    /// again.
    ///
    /// # Errors
    /// Fails when it cannot be done.
    ///
    /// # Panics
    /// Panics when there is no such server.
    pub fn crash(&mut self, number: usize) -> Result<(), BackendError> {
        let server = self.servers()[number].clone();
        self.runtime.block_on(async {
            server.keep_data().await?;
            server.kill().await
        })
    }

    /// Does the same with its machine, so that the others hear nothing.
    ///
    /// # Errors
    /// Fails when it cannot be done.
    ///
    /// # Panics
    /// Panics when there is no such server.
    pub fn kill(&mut self, number: usize) -> Result<(), BackendError> {
        let server = self.servers()[number].clone();
        let cuts = std::mem::take(&mut self.cuts);
        self.runtime.block_on(async {
            server.keep_data().await?;
            server.silence().await?;
            server.kill().await?;
            try_join_all(cuts.into_iter().map(S::Server::mend)).await.map(drop)
        })
    }

    /// Starts one of them again that was killed. Returns its new address.
    ///
    /// # Errors
    /// Fails when it does not serve again.
    ///
    /// # Panics
    /// Panics when there is no such server.
    pub fn start_again(&mut self, number: usize) -> Result<SocketAddr, BackendError> {
        let server = self.servers()[number].clone();
        let address = self.runtime.block_on(async {
            server.restart().await?;
            server.until_serving().await
        })?;
        self.addresses[number] = address;
        Ok(address)
    }

    /// The servers, by number.
    pub fn servers(&self) -> &[Arc<S::Server>] {
        self.servers.as_ref().map_or(&[], S::all)
    }

    /// The addresses of the servers, by number.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

impl<S: Servers> Drop for RealServers<S> {
    fn drop(&mut self) {
        if let Some(servers) = self.servers.take() {
            // What stays is removed by the next start.
            let _ = self.runtime.block_on(servers.remove());
        }
    }
}

/// A runtime whose tasks go on by themselves, on a thread that lives as long as it does: links
/// between servers carry what they say while nobody waits here.
fn runtime_of_its_own() -> Result<Runtime, BackendError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|e| broken("cannot start a runtime", e))
}
