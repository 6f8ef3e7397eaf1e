//! One server in its container.

use super::daemon::broken;
use super::exec;
use super::node::Ensemble;
use base::BackendError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use testcontainers::bollard::Docker;
use testcontainers::bollard::models::{ContainerState, ContainerStateStatusEnum};
use testcontainers::bollard::query_parameters::KillContainerOptions;
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage};
use tokio::time::{sleep, timeout};

/// How long a server may take until it serves. A loaded machine needs its time.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// `node.sh` knows them under the same names.
const KEEP_MARKER: &str = "/var/lib/picklock/keep";
const EMPTY_MARKER: &str = "/var/lib/picklock/empty";

/// A server. Its container is removed with `remove`; dropping it is not enough.
pub struct Server {
    docker: Docker,
    ensemble: Ensemble,
    number: u32,
    container: ContainerAsync<GenericImage>,
    /// False from before it is killed until it has been started again.
    up: AtomicBool,
}

impl Server {
    /// Starts its container, which does not yet mean that it serves.
    pub async fn start(
        docker: Docker,
        ensemble: Ensemble,
        number: u32,
    ) -> Result<Self, BackendError> {
        let container = ensemble.request(number).start().await;
        let container =
            container.map_err(|e| broken(format!("cannot start server {number}"), e))?;
        ensemble.network.join(&docker, container.id(), number).await?;
        Ok(Self { docker, ensemble, number, container, up: AtomicBool::new(true) })
    }

    /// Where it can be reached. Starting it again moves it.
    pub async fn address(&self) -> Result<SocketAddr, BackendError> {
        let port = self.container.get_host_port_ipv4(self.ensemble.port()).await;
        let port = port.map_err(|e| self.broken("has no port", e))?;
        Ok((Ipv4Addr::LOCALHOST, port).into())
    }

    /// Waits until it serves.
    pub async fn until_serving(&self, address: SocketAddr) -> Result<(), BackendError> {
        let serving = async {
            while !self.ensemble.serves(address).await {
                sleep(POLL).await;
            }
        };
        if timeout(PATIENCE, serving).await.is_ok() {
            return Ok(());
        }
        let log = self.log().await;
        let tail: Vec<&str> = log.lines().rev().take(5).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        Err(self.broken(format!("did not serve within {PATIENCE:?}"), tail.join(" | ")))
    }

    /// Stops it running, with everything that it has in its head.
    pub async fn pause(&self) -> Result<(), BackendError> {
        self.container.pause().await.map_err(|e| self.broken("cannot be paused", e))
    }

    /// Lets it go on.
    pub async fn unpause(&self) -> Result<(), BackendError> {
        self.container.unpause().await.map_err(|e| self.broken("cannot be unpaused", e))
    }

    /// Whether the engine says that it is paused.
    pub async fn is_paused(&self) -> Result<bool, BackendError> {
        Ok(self.status().await? == Some(ContainerStateStatusEnum::PAUSED))
    }

    /// Kills it and waits until it is gone.
    pub async fn kill(&self) -> Result<(), BackendError> {
        self.up.store(false, SeqCst);
        let killed = self.docker.kill_container(self.id(), None::<KillContainerOptions>).await;
        killed.map_err(|e| self.broken("cannot be killed", e))?;
        while !self.is_dead().await? {
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Whether the engine says that it is dead.
    pub async fn is_dead(&self) -> Result<bool, BackendError> {
        Ok(self.status().await? == Some(ContainerStateStatusEnum::EXITED))
    }

    /// Starts it again after a kill.
    pub async fn restart(&self) -> Result<(), BackendError> {
        self.container.start().await.map_err(|e| self.broken("cannot be started again", e))?;
        self.up.store(true, SeqCst);
        Ok(())
    }

    /// Whether it should be running: it was not killed, or was started again.
    pub fn is_up(&self) -> bool {
        self.up.load(SeqCst)
    }

    /// Whether it ended though nobody killed it.
    pub async fn has_died(&self) -> bool {
        let expected = self.is_up();
        let running = self.container.is_running().await;
        // Asked again: it may have been killed in between.
        expected && matches!(running, Ok(false)) && self.is_up()
    }

    /// Has it come back with its data when it starts the next time.
    pub async fn keep_data(&self) -> Result<(), BackendError> {
        self.shell(&format!("touch {KEEP_MARKER}")).await.map(drop)
    }

    /// Whether it has come back empty.
    pub async fn came_back_empty(&self) -> Result<bool, BackendError> {
        let answer = self.shell(&format!("test ! -e {EMPTY_MARKER} || echo empty")).await?;
        Ok(answer.contains("empty"))
    }

    /// What a command in the container prints. It has to succeed.
    pub async fn shell(&self, command: &str) -> Result<String, BackendError> {
        let run = exec::run(&self.docker, self.id(), command).await;
        let (code, output) = run.map_err(|e| self.broken(format!("cannot run {command:?}"), e))?;
        if code == Some(0) {
            return Ok(output);
        }
        Err(self.broken(format!("fails at {command:?} ({code:?})"), output.trim()))
    }

    /// Its address among the servers.
    pub fn peer_address(&self) -> Ipv4Addr {
        self.ensemble.network.address(self.number)
    }

    /// What it has logged so far, as far as it can be had.
    pub async fn log(&self) -> String {
        let (out, err) =
            tokio::join!(self.container.stdout_to_vec(), self.container.stderr_to_vec());
        let bytes = [out.unwrap_or_default(), err.unwrap_or_default()].concat();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Removes its container.
    pub async fn remove(self) -> Result<(), BackendError> {
        let number = self.number;
        self.container.rm().await.map_err(|e| broken(format!("cannot remove server {number}"), e))
    }

    /// Its number, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    fn id(&self) -> &str {
        self.container.id()
    }

    async fn status(&self) -> Result<Option<ContainerStateStatusEnum>, BackendError> {
        let seen = self.docker.inspect_container(self.id(), None).await;
        let state = seen.map_err(|e| self.broken("cannot be inspected", e))?.state;
        Ok(state.and_then(|ContainerState { status, .. }| status))
    }

    fn broken(&self, what: impl std::fmt::Display, why: impl std::fmt::Display) -> BackendError {
        broken(format!("server {} {what}", self.number), why)
    }
}
