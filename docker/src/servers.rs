//! All servers of one run, on a network of their own.

use super::clean;
use super::daemon::daemon;
use super::image;
use super::network::ContainerNetwork;
use super::node::RunContainers;
use super::reports;
use super::server::DockerServer;
use async_trait::async_trait;
use base::{Ability, BackendError};
use futures_util::Stream;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use stores::{Cluster, Secrets, StoreId};
use testbed::owner::Certainty;
use testbed::{Lack, Servers, monotonic_nanos, secrets_of, start_all};
use testcontainers::bollard::Docker;

/// The servers of a run, in containers.
pub struct DockerServers {
    docker: Docker,
    run: String,
    all: Vec<Arc<DockerServer>>,
    secrets: Option<Secrets>,
}

#[async_trait(?Send)]
impl Servers for DockerServers {
    const BACKEND: &'static str = "docker";
    /// Each is a request to the engine.
    const LOOKS: Duration = Duration::from_secs(1);
    type Server = DockerServer;

    /// The image has what it takes.
    fn can_set_clocks(store: StoreId, ability: Ability) -> Result<(), Lack> {
        store.settable_clock().map(drop).map_err(|why| Lack::of(ability).because(why))
    }

    fn can_delay_peers(ability: Ability) -> Result<(), Lack> {
        let lack =
            Lack::of(ability).because("containers reach each other without a proxy between them");
        Err(lack.unless("--backend local"))
    }

    fn can_lead_programs(ability: Ability) -> Result<(), Lack> {
        let lack = Lack::of(ability)
            .because("containers tell the addresses that they have on their own network");
        Err(lack.unless("--backend local"))
    }

    fn can_run_servers(ability: Ability) -> Result<(), Lack> {
        let lack = Lack::of(ability).because("no container has it");
        Err(lack.unless("--backend local"))
    }

    /// Makes the image, too, if it is missing.
    async fn start(
        store: StoreId,
        cluster: Cluster,
        progress: &dyn for<'a> Fn(&'a str),
    ) -> Result<Self, BackendError> {
        let docker = daemon().await?;
        // What earlier runs have left is in nobody's way.
        for failure in clean::remove_abandoned(&docker, Certainty::Ended).await?.failures {
            progress(&failure.to_string());
        }
        image::ensure(&docker, progress).await?;
        let run = run_id();
        let servers = cluster.servers();
        progress(&format!("starting {servers} server{}", if servers == 1 { "" } else { "s" }));
        let secrets = secrets_of(&cluster)?;
        let network = ContainerNetwork::make(&docker, &run).await;
        let started = async {
            let (run, secrets, network) = (run.clone(), secrets.clone(), network?);
            let ensemble = RunContainers { run, store, cluster, network, secrets };
            let start = |number| DockerServer::start(docker.clone(), ensemble.clone(), number);
            let mut all = Vec::new();
            start_all(store, &ensemble.cluster, &mut all, start).await.map(|()| all)
        };
        match started.await {
            Ok(all) => Ok(Self { docker, run, all, secrets }),
            Err(error) => {
                // Why it failed matters more than that something may be left.
                let _ = clean::remove_run(&docker, &run).await;
                Err(error)
            }
        }
    }

    fn all(&self) -> &[Arc<DockerServer>] {
        &self.all
    }

    fn password(&self) -> Option<&str> {
        self.secrets.as_ref().map(|secrets| &*secrets.password)
    }

    fn reports(&self) -> impl Stream<Item = String> + Send + 'static {
        reports::of(self.docker.clone(), &self.run, self.all.clone())
    }

    async fn remove(self) -> Result<(), BackendError> {
        let removed = self.all.into_iter().filter_map(Arc::into_inner).map(DockerServer::remove);
        join_all(removed).await;
        // Whatever is left: the network, and what could not be removed just now.
        let removed = clean::remove_run(&self.docker, &self.run).await;
        let later = "what is left of the run is removed by the next start, or by `picklock clean`";
        removed.map_err(|BackendError(why)| BackendError(format!("{why}; {later}")))
    }
}

/// An id that is unique on this machine: the process, the time, and a count within the process.
fn run_id() -> String {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let started = monotonic_nanos() / 1_000_000;
    format!("{}-{started:x}-{}", std::process::id(), RUNS.fetch_add(1, Relaxed))
}
