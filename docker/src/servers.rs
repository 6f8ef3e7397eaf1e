//! All servers of one run, on a network of their own.

use super::clean;
use super::daemon::{broken, daemon};
use super::image;
use super::network::Network;
use super::node::Ensemble;
use super::server::Server;
use base::BackendError;
use futures_util::future::{join_all, try_join_all};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use stores::{Cluster, StoreId};
use testcontainers::bollard::Docker;

/// The servers of a run. They have to be removed with `remove`.
pub struct Servers {
    docker: Docker,
    run: String,
    all: Vec<Arc<Server>>,
}

impl Servers {
    /// Starts them and waits until they all serve. When one cannot, none is left. First removes
    /// what killed runs left behind, and makes the image if it is missing.
    pub async fn start(
        store: StoreId,
        cluster: Cluster,
        progress: &dyn Fn(&str),
    ) -> Result<Self, BackendError> {
        let docker = daemon().await?;
        clean::remove_abandoned(&docker).await?;
        image::ensure(&docker, progress).await?;
        let run = run_id();
        let servers = cluster.servers();
        progress(&format!("starting {servers} server{}", if servers == 1 { "" } else { "s" }));
        let network = Network::make(&docker, &run).await;
        let started = async {
            let ensemble = Ensemble { run: run.clone(), store, cluster, network: network? };
            start_all(&docker, &ensemble).await
        };
        match started.await {
            Ok(all) => Ok(Self { docker, run, all }),
            Err(error) => {
                // Why it failed matters more than that something may be left.
                let _ = clean::remove_run(&docker, &run).await;
                Err(error)
            }
        }
    }

    /// The engine that they run on.
    pub fn docker(&self) -> Docker {
        self.docker.clone()
    }

    /// The run that they belong to.
    pub fn run(&self) -> String {
        self.run.clone()
    }

    /// The servers, by number.
    pub fn all(&self) -> &[Arc<Server>] {
        &self.all
    }

    /// The addresses at which they can be reached now.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>, BackendError> {
        self.all.iter().map(|server| server.address()).collect()
    }

    /// Writes the log of each to a file of its own.
    pub async fn save_logs(&self, folder: &Path) -> Result<(), BackendError> {
        for server in &self.all {
            let path = folder.join(format!("server-{}.log", server.number()));
            let written = tokio::fs::write(&path, server.log().await).await;
            written.map_err(|e| broken(format!("cannot write `{}`", path.display()), e))?;
        }
        Ok(())
    }

    /// Removes them and their network. Nobody else may hold one of them any more.
    pub async fn remove(self) -> Result<(), BackendError> {
        let removed = self.all.into_iter().filter_map(Arc::into_inner).map(Server::remove);
        join_all(removed).await;
        // Whatever is left: the network, and what could not be removed just now.
        clean::remove_run(&self.docker, &self.run).await.map(drop)
    }
}

async fn start_all(docker: &Docker, ensemble: &Ensemble) -> Result<Vec<Arc<Server>>, BackendError> {
    let start = |number| Server::start(docker.clone(), ensemble.clone(), number);
    let all = join_all((0..ensemble.cluster.servers()).map(start)).await;
    let all: Vec<Arc<Server>> =
        all.into_iter().map(|it| it.map(Arc::new)).collect::<Result<_, _>>()?;
    try_join_all(all.iter().map(|server| server.until_serving())).await?;
    Ok(all)
}

/// An id that is unique on this machine: the process, the time, and a count within the process.
fn run_id() -> String {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let started = super::clock::monotonic_nanos() / 1_000_000;
    format!("{}-{started:x}-{}", std::process::id(), RUNS.fetch_add(1, Relaxed))
}
