//! One server in its container.

use super::daemon::broken;
use super::exec;
use super::node::{Ensemble, serves};
use super::process::is_stopped;
use base::BackendError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stores::{Container, Junk};
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{ContainerState, ContainerStateStatusEnum};
use testcontainers::bollard::query_parameters::KillContainerOptions;
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage};
use tokio::time::{sleep, timeout};

/// The longest time that a server may take until it serves. A loaded machine needs its time.
const STARTUP_LIMIT: Duration = Duration::from_secs(60);
/// The longest time that a command in a server's container may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// Paths that `node.sh` knows under the same names.
const KEEP_MARKER: &str = "/var/lib/picklock/keep";
const EMPTY_MARKER: &str = "/var/lib/picklock/empty";

/// A server. Its container is removed with `remove`; dropping it is not enough.
pub struct Server {
    docker: Docker,
    ensemble: Ensemble,
    number: u32,
    container: ContainerAsync<GenericImage>,
    expected: Mutex<Expected>,
    /// The address at which it was last seen to serve.
    address: Mutex<Option<SocketAddr>>,
    /// True while its memory is filled with junk.
    filled: AtomicBool,
}

/// The expected state of a server, by what was done to it here.
#[derive(Debug, Default)]
struct Expected {
    condition: Condition,
    /// The time at which the engine started it.
    started: Option<String>,
    /// Events that the engine has yet to report of what was done here.
    events: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Condition {
    #[default]
    Running,
    Paused,
    /// The server is being paused or unpaused.
    Changing,
    /// The server was killed and has not been started again.
    Down,
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
        let (expected, address) = (Mutex::default(), Mutex::default());
        let filled = AtomicBool::new(false);
        let server = Self { docker, ensemble, number, container, expected, address, filled };
        server.expected().started = server.state().await?.started_at;
        Ok(server)
    }

    /// The address at which it was last seen to serve. A restart can change it.
    pub fn address(&self) -> Result<SocketAddr, BackendError> {
        let address = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        address.ok_or_else(|| self.broken("has no address", "it has not served yet"))
    }

    /// The port of this machine at which the engine's own proxy takes connections for it.
    async fn published(&self) -> Result<SocketAddr, BackendError> {
        let port = self.container.get_host_port_ipv4(self.described().port).await;
        let port = port.map_err(|e| self.broken("has no port", e))?;
        Ok((Ipv4Addr::LOCALHOST, port).into())
    }

    fn described(&self) -> Container {
        self.ensemble.container(self.number)
    }

    /// Waits until it serves, and returns the address at which it does: its own where this machine
    /// reaches that, which an engine in a machine or a namespace of its own does not let it; it is
    /// the shorter way. An error, with the end of its log, after a minute.
    pub async fn until_serving(&self) -> Result<SocketAddr, BackendError> {
        let Container { probe, port, .. } = self.described();
        let own = (self.peer_address(), port).into();
        let published = self.published().await?;
        let serving = async {
            loop {
                match tokio::join!(serves(own, probe), serves(published, probe)) {
                    (true, _) => return own,
                    (false, true) => return published,
                    (false, false) => sleep(POLL).await,
                }
            }
        };
        if let Ok(address) = timeout(STARTUP_LIMIT, serving).await {
            *self.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
            return Ok(address);
        }
        let log = self.log().await;
        let tail: Vec<&str> = log.lines().rev().take(5).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        Err(self.broken(format!("did not serve within {STARTUP_LIMIT:?}"), tail.join(" | ")))
    }

    /// Stops it running, with everything that it has in memory.
    pub async fn pause(&self) -> Result<(), BackendError> {
        self.expect(Condition::Changing, &["pause"]);
        let paused = self.container.pause().await;
        self.settle(Condition::Paused);
        paused.map_err(|e| self.broken("cannot be paused", e))
    }

    /// Lets it go on. Returns false if it was no longer paused: it was killed meanwhile.
    pub async fn unpause(&self) -> Result<bool, BackendError> {
        if self.status().await? != Some(ContainerStateStatusEnum::PAUSED) {
            return Ok(false);
        }
        self.expect(Condition::Changing, &["unpause"]);
        let unpaused = self.container.unpause().await;
        self.settle(Condition::Running);
        unpaused.map(|()| true).map_err(|e| self.broken("cannot be unpaused", e))
    }

    /// Kills it and waits until the engine reports it dead.
    pub async fn kill(&self) -> Result<(), BackendError> {
        // The engine lets one that is paused go on, so that it can die.
        self.expect(Condition::Down, &["kill", "die", "unpause"]);
        let killed = self.docker.kill_container(self.id(), None::<KillContainerOptions>).await;
        killed.map_err(|e| self.broken("cannot be killed", e))?;
        while !self.is_dead().await? {
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Returns true if the engine reports it dead.
    pub async fn is_dead(&self) -> Result<bool, BackendError> {
        Ok(self.status().await? == Some(ContainerStateStatusEnum::EXITED))
    }

    /// Starts it again after a kill.
    pub async fn restart(&self) -> Result<(), BackendError> {
        self.expect(Condition::Down, &["start"]);
        self.container.start().await.map_err(|e| self.broken("cannot be started again", e))?;
        let started = self.state().await?.started_at;
        let mut expected = self.expected();
        (expected.condition, expected.started) = (Condition::Running, started);
        Ok(())
    }

    /// Returns true if it should be running and nothing is being done to it.
    pub fn is_running(&self) -> bool {
        self.expected().condition == Condition::Running
    }

    /// Returns true if it should be there: it was not killed, or was started again.
    pub fn is_up(&self) -> bool {
        self.expected().condition != Condition::Down
    }

    /// The engine's event about it, in words; `None` if it was caused here or is harmless.
    pub fn told(&self, event: &str) -> Option<String> {
        let mut expected = self.expected();
        if let Some(place) = expected.events.iter().position(|awaited| *awaited == event) {
            expected.events.remove(place);
            return None;
        }
        let what = match event {
            "die" => "ended",
            "kill" => "was sent a signal",
            "stop" | "restart" => "was stopped",
            "start" => "was started",
            "pause" => "was paused",
            "unpause" => "was unpaused",
            "oom" => "ran out of memory",
            "update" => "was given other limits",
            "destroy" => "was removed",
            _ => return None,
        };
        Some(format!("server {} {what}", self.number))
    }

    /// The difference from what was made of it here, in words; `None` if there is none.
    pub async fn interference(&self) -> Option<String> {
        let before = self.expected().condition;
        let seen = self.state().await;
        let expected = self.expected();
        // What is done to it here takes its time, and is seen half done.
        if before != expected.condition {
            return None;
        }
        let state = match seen {
            Ok(state) => state,
            Err(error) => return Some(error.to_string()),
        };
        let what = match (state.status, expected.condition) {
            (Some(ContainerStateStatusEnum::RUNNING), Condition::Running) => {
                let stopped = state.pid.is_some_and(is_stopped);
                let same = state.started_at == expected.started;
                match (same, stopped) {
                    (true, false) => return None,
                    (true, true) => "was stopped".to_owned(),
                    (false, _) => "was started anew".to_owned(),
                }
            }
            (Some(ContainerStateStatusEnum::PAUSED), Condition::Paused) => return None,
            // By what is done here.
            (_, Condition::Down | Condition::Changing) => return None,
            (Some(status), _) => format!("is {status}"),
            (None, _) => "is in no state that the engine knows".to_owned(),
        };
        Some(format!("server {} {what}", self.number))
    }

    fn expect(&self, condition: Condition, events: &[&'static str]) {
        let mut expected = self.expected();
        expected.condition = condition;
        expected.events.extend(events);
    }

    /// Ends an action that was begun with a server, unless that was killed meanwhile.
    fn settle(&self, condition: Condition) {
        let mut expected = self.expected();
        if expected.condition == Condition::Changing {
            expected.condition = condition;
        }
    }

    fn expected(&self) -> MutexGuard<'_, Expected> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The junk that makes it evict what it stores; the reason why it never does.
    pub fn junk(&self) -> Result<Junk, &'static str> {
        self.ensemble.store.junk()
    }

    /// Notes that its memory is filled with junk. Returns false if it is already.
    pub fn begin_filling(&self) -> bool {
        !self.filled.swap(true, Relaxed)
    }

    /// Notes that the junk is out of its memory.
    pub fn end_filling(&self) {
        self.filled.store(false, Relaxed);
    }

    /// Makes it keep its data at the next start.
    pub async fn keep_data(&self) -> Result<(), BackendError> {
        self.shell(&format!("touch {KEEP_MARKER}")).await.map(drop)
    }

    /// Returns true if it has come back empty.
    pub async fn came_back_empty(&self) -> Result<bool, BackendError> {
        let answer = self.shell(&format!("test ! -e {EMPTY_MARKER} || echo empty")).await?;
        Ok(answer.contains("empty"))
    }

    /// Cuts it off from its network, in and out, until it is killed and started again: then it has
    /// another network namespace.
    pub async fn silence(&self) -> Result<(), BackendError> {
        let rules = ["OUTPUT", "INPUT"].map(|chain| format!("iptables -w -I {chain} -j DROP"));
        self.shell(&rules.join(" && ")).await.map(drop)
    }

    /// Runs a command in the container, which has to succeed, and returns its output.
    pub async fn shell(&self, command: &str) -> Result<String, BackendError> {
        let run = timeout(COMMAND_LIMIT, self.exec(command)).await;
        let run = run.map_err(|_| self.broken(format!("cannot run {command:?}"), "no answer"))?;
        let (code, output) = run.map_err(|e| self.broken(format!("cannot run {command:?}"), e))?;
        if code == Some(0) {
            return Ok(output);
        }
        Err(self.broken(format!("fails at {command:?} ({code:?})"), output.trim()))
    }

    /// Runs a command. The engine may hear of a short pause only after it has ended, and takes the
    /// server for paused until it hears of the end, too.
    async fn exec(&self, command: &str) -> Result<(Option<i64>, String), Error> {
        loop {
            match exec::run(&self.docker, self.id(), command).await {
                Err(Error::DockerResponseServerError { status_code: 409, .. })
                    if self.is_running() =>
                {
                    sleep(POLL).await;
                }
                ran => return ran,
            }
        }
    }

    /// The server's address on the network of the servers.
    pub fn peer_address(&self) -> Ipv4Addr {
        self.ensemble.network.address(self.number)
    }

    /// The server's log so far; what cannot be had of it is left out.
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

    /// The number of the server, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The id of its container in the engine.
    pub fn id(&self) -> &str {
        self.container.id()
    }

    async fn status(&self) -> Result<Option<ContainerStateStatusEnum>, BackendError> {
        Ok(self.state().await?.status)
    }

    async fn state(&self) -> Result<ContainerState, BackendError> {
        let seen = self.docker.inspect_container(self.id(), None).await;
        let state = seen.map_err(|e| self.broken("cannot be inspected", e))?.state;
        Ok(state.unwrap_or_default())
    }

    fn broken(&self, what: impl std::fmt::Display, why: impl std::fmt::Display) -> BackendError {
        broken(format!("server {} {what}", self.number), why)
    }
}
