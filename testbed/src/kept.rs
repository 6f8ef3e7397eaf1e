//! Servers that outlive a run, for the next one that would start servers like these. It gets keys of its
//! own, as on servers that others use, and so sees nothing of the one before.

use super::servers::{Servers, StartedServer};
use super::{broken, owner, probe, runtime};
use base::BackendError;
use futures_util::future::try_join_all;
use std::sync::Arc;
use stores::{Cluster, StoreId, WorldSpec};
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

/// The servers of a run, with the runtime on which their tasks go on. They are removed when this is
/// dropped.
pub struct KeptServers<S: Servers> {
    runtime: Arc<Runtime>,
    servers: Option<S>,
    store: StoreId,
    cluster: Cluster,
    /// The name that all keys of the next run begin with; empty for none.
    allotment: String,
}

impl<S: Servers> KeptServers<S> {
    /// Starts servers for a world.
    ///
    /// # Errors
    /// Fails when a server does not come up, or there is nothing to start it with.
    pub fn start(spec: &WorldSpec, progress: &dyn Fn(&str)) -> Result<Self, BackendError> {
        let (runtime, cluster) = (Arc::new(runtime()?), spec.cluster());
        let servers = runtime.block_on(S::start(spec.store, cluster.clone(), progress))?;
        let allotment = servers.allotment().to_owned();
        Ok(Self { runtime, servers: Some(servers), store: spec.store, cluster, allotment })
    }

    /// Returns true if a run in this world can use them after another one: if it would start servers like
    /// these, and can have keys of its own there.
    pub fn fits(&self, spec: &WorldSpec) -> bool {
        self.store == spec.store
            && self.store.can_be_given(self.cluster.topology).is_ok()
            && self.store.are_alike(&self.cluster, &spec.cluster())
    }

    /// Makes them ready for another run: they serve, nobody else has touched them, and the run has keys of
    /// its own.
    ///
    /// # Errors
    /// Fails when they are not what they were.
    pub fn renew(&mut self) -> Result<(), BackendError> {
        self.allotment = owner::own_name();
        let all = self.servers.as_ref().map_or(&[][..], S::all);
        self.runtime.block_on(async {
            for server in all {
                if let Some(what) = server.interference().await {
                    return Err(BackendError(what));
                }
            }
            let addresses = try_join_all(all.iter().map(|server| server.until_serving())).await?;
            probe::until_settled(self.store, &self.cluster, all).await?;
            let addresses = addresses.iter().map(ToString::to_string).collect();
            let mark = self.store.mark(addresses, self.allotment.clone());
            let marked = LocalSet::new().run_until(mark).await;
            marked.map_err(|why| broken("cannot use servers again", why))
        })
    }

    /// The servers.
    pub fn servers(&self) -> Option<&S> {
        self.servers.as_ref()
    }

    /// The runtime on which their tasks go on.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// The name that all keys of the next run begin with; empty for none.
    pub fn allotment(&self) -> &str {
        &self.allotment
    }

    /// Removes them.
    ///
    /// # Errors
    /// Fails when something of them is left.
    pub fn remove(&mut self) -> Result<(), BackendError> {
        match self.servers.take() {
            Some(servers) => self.runtime.block_on(servers.remove()),
            None => Ok(()),
        }
    }
}

impl<S: Servers> Drop for KeptServers<S> {
    fn drop(&mut self) {
        // What stays is removed by the next start.
        let _ = self.remove();
    }
}
