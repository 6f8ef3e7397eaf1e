//! One server in its container.

use super::clock::{self, ContainerClock};
use super::drop_rule::DropRule;
use super::exec::{self, User};
use super::node::{DATA, RunContainers};
use async_trait::async_trait;
use base::{BackendError, Direction};
use futures_util::future::try_join_all;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stores::Login;
use testbed::process::is_stopped;
use testbed::wall_clock::{ServerWallClock, true_ns};
use testbed::{ClockAct, StartedServer, broken, probe};
use testcontainers::bollard::Docker;
use testcontainers::bollard::body_full;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{ContainerState, ContainerStateStatusEnum};
use testcontainers::bollard::query_parameters::{KillContainerOptions, UploadToContainerOptions};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage};
use tokio::time::{sleep, timeout};

/// The longest time that a command in a server's container may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// The interval between two looks whether a server that is to serve has ended.
const LOOK: Duration = Duration::from_millis(500);
/// Paths that `node.sh` knows under the same names.
const KEEP_MARKER: &str = "/var/lib/picklock/keep";
const EMPTY_MARKER: &str = "/var/lib/picklock/empty";

/// A server. Its container is removed with `remove`; dropping it is not enough.
pub struct DockerServer {
    docker: Docker,
    ensemble: RunContainers,
    number: u32,
    container: ContainerAsync<GenericImage>,
    expected: Mutex<ExpectedState>,
    /// The address at which it was last seen to serve.
    address: Mutex<Option<SocketAddr>>,
    /// Its wall clock, if faults are to set it.
    clock: Option<ContainerClock>,
}

/// The expected state of a server, by what was done to it here.
#[derive(Debug, Default)]
struct ExpectedState {
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

impl DockerServer {
    /// Starts its container, which does not yet mean that it serves.
    pub async fn start(
        docker: Docker,
        ensemble: RunContainers,
        number: u32,
    ) -> Result<Self, BackendError> {
        let clock = ensemble.cluster.sets_clocks.then(ContainerClock::default);
        let clock_text = clock.as_ref().map(|clock| clock.clock().faketime_text());
        let request = ensemble.request(number, clock_text).map_err(BackendError)?;
        let container = request.start().await;
        let container =
            container.map_err(|e| broken(format!("cannot start server {number}"), e))?;
        ensemble.network.join(&docker, container.id(), number).await?;
        let (expected, address) = (Mutex::default(), Mutex::default());
        let server = Self { docker, ensemble, number, container, expected, address, clock };
        server.expected().started = server.state().await?.started_at;
        Ok(server)
    }

    /// Has its process go by a clock that says this, whatever state it is in.
    async fn tell_clock(&self, text: String) -> Result<(), BackendError> {
        // It may have been paused or killed meanwhile.
        if self.is_running() && self.shell(&clock::replace(&text)).await.is_ok() {
            return Ok(());
        }
        let archive = clock::archive(&text).map_err(|e| self.broken("has no clock", e))?;
        let to = UploadToContainerOptions { path: clock::FOLDER.into(), ..Default::default() };
        let archive = body_full(archive.into());
        let put = self.docker.upload_to_container(self.id(), Some(to), archive).await;
        put.map_err(|e| self.broken("cannot have its clock set", e))
    }

    /// The port of this machine at which the engine's own proxy takes connections for it.
    async fn published(&self) -> Result<SocketAddr, BackendError> {
        let port = self.container.get_host_port_ipv4(self.ensemble.store.ports().clients).await;
        let port = port.map_err(|e| self.broken("has no port", e))?;
        Ok((Ipv4Addr::LOCALHOST, port).into())
    }

    /// Describes the engine's event about it; `None` if it was caused here or is harmless.
    pub fn describe_unexpected(&self, event: &str) -> Option<String> {
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

    fn expected(&self) -> MutexGuard<'_, ExpectedState> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a command in the container, which has to succeed, and returns its output.
    pub async fn shell(&self, command: &str) -> Result<String, BackendError> {
        self.shell_as(User::Server, command).await
    }

    /// Does the same as root, who may change what the container's network lets through.
    pub async fn root_shell(&self, command: &str) -> Result<String, BackendError> {
        self.shell_as(User::Root, command).await
    }

    async fn shell_as(&self, user: User, command: &str) -> Result<String, BackendError> {
        let run = timeout(COMMAND_LIMIT, self.run(user, command)).await;
        let run = run.map_err(|_| self.broken(format!("cannot run {command:?}"), "no answer"))?;
        let (code, output) = run.map_err(|e| self.broken(format!("cannot run {command:?}"), e))?;
        if code == Some(0) {
            return Ok(output);
        }
        Err(self.broken(format!("fails at {command:?} ({code:?})"), output.trim()))
    }

    /// Runs a command, and returns its exit code and its output. The engine may hear of a short
    /// pause only after it has ended, and takes the server for paused until it hears of the end,
    /// too.
    pub async fn run(&self, user: User, command: &str) -> Result<(Option<i64>, String), Error> {
        loop {
            match exec::run(&self.docker, self.id(), (user, command)).await {
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

    /// Removes its container.
    pub async fn remove(self) -> Result<(), BackendError> {
        let number = self.number;
        self.container.rm().await.map_err(|e| broken(format!("cannot remove server {number}"), e))
    }

    /// The id of its container in the engine.
    pub fn id(&self) -> &str {
        self.container.id()
    }

    /// Waits until its container has ended.
    async fn until_ended(&self) {
        sleep(LOOK).await;
        while !self.has_ended().await {
            sleep(LOOK).await;
        }
    }

    /// Returns true if its container has ended, or is no longer there.
    async fn has_ended(&self) -> bool {
        match self.docker.inspect_container(self.id(), None).await {
            Ok(seen) => {
                let status = seen.state.and_then(|state| state.status);
                status == Some(ContainerStateStatusEnum::EXITED)
            }
            Err(Error::DockerResponseServerError { status_code: 404, .. }) => true,
            // The engine may answer again in time.
            Err(_) => false,
        }
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

#[async_trait]
impl StartedServer for DockerServer {
    type Cut = Vec<DropRule>;
    const CUT: &'static str = "packets dropped between servers";

    fn number(&self) -> u32 {
        self.number
    }

    fn address(&self) -> Result<SocketAddr, BackendError> {
        let address = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        address.ok_or_else(|| self.broken("has no address", "it has not served yet"))
    }

    fn login(&self) -> Option<Login> {
        let RunContainers { store, secrets, .. } = &self.ensemble;
        store.login(&secrets.as_ref()?.password)
    }

    async fn until_serving(&self) -> Result<SocketAddr, BackendError> {
        // Its own address where this machine reaches that, which an engine in a machine or a
        // namespace of its own does not let it; it is the shorter way.
        let own = (self.peer_address(), self.ensemble.store.ports().clients).into();
        let addresses = [own, self.published().await?];
        let probe = self.ensemble.probe(self.number);
        let address = tokio::select! {
            serving = probe::until_serving(self, &addresses, probe) => serving,
            () = self.until_ended() => {
                Err(self.broken("ended before it served", probe::end_of_log(self).await))
            }
        }?;
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
        Ok(address)
    }

    async fn process_id(&self) -> Option<u32> {
        self.state().await.ok()?.pid?.try_into().ok().filter(|id| *id > 0)
    }

    async fn pause(&self) -> Result<(), BackendError> {
        self.expect(Condition::Changing, &["pause"]);
        let paused = self.container.pause().await;
        self.settle(Condition::Paused);
        paused.map_err(|e| self.broken("cannot be paused", e))
    }

    async fn unpause(&self) -> Result<bool, BackendError> {
        if self.status().await? != Some(ContainerStateStatusEnum::PAUSED) {
            return Ok(false);
        }
        self.expect(Condition::Changing, &["unpause"]);
        let unpaused = self.container.unpause().await;
        self.settle(Condition::Running);
        unpaused.map(|()| true).map_err(|e| self.broken("cannot be unpaused", e))
    }

    async fn kill(&self) -> Result<(), BackendError> {
        // The engine lets one that is paused go on, so that it can die.
        self.expect(Condition::Down, &["kill", "die", "unpause"]);
        let killed = self.docker.kill_container(self.id(), None::<KillContainerOptions>).await;
        killed.map_err(|e| self.broken("cannot be killed", e))?;
        while !self.is_dead().await? {
            sleep(POLL).await;
        }
        Ok(())
    }

    async fn is_dead(&self) -> Result<bool, BackendError> {
        Ok(self.status().await? == Some(ContainerStateStatusEnum::EXITED))
    }

    async fn restart(&self) -> Result<(), BackendError> {
        if self.clock.is_some() {
            self.with_clock(Box::new(|clock| clock.start(true_ns()))).await?;
        }
        self.expect(Condition::Down, &["start"]);
        self.container.start().await.map_err(|e| self.broken("cannot be started again", e))?;
        let started = self.state().await?.started_at;
        let mut expected = self.expected();
        (expected.condition, expected.started) = (Condition::Running, started);
        Ok(())
    }

    fn is_running(&self) -> bool {
        self.expected().condition == Condition::Running
    }

    fn is_up(&self) -> bool {
        self.expected().condition != Condition::Down
    }

    fn clock(&self) -> Option<ServerWallClock> {
        self.clock.as_ref().map(ContainerClock::clock)
    }

    async fn with_clock(&self, act: ClockAct) -> Result<(), BackendError> {
        let none = || self.broken("has no clock to set", "it was not started for that");
        let clock = self.clock.as_ref().ok_or_else(none)?;
        clock.change(act, async |text| self.tell_clock(text).await).await
    }

    async fn interference(&self) -> Option<String> {
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

    async fn keep_data(&self) -> Result<(), BackendError> {
        self.shell(&format!("touch {KEEP_MARKER}")).await.map(drop)
    }

    async fn came_back_empty(&self) -> Result<bool, BackendError> {
        let answer = self.shell(&format!("test ! -e {EMPTY_MARKER} || echo empty")).await?;
        Ok(answer.contains("empty"))
    }

    async fn silence(&self) -> Result<(), BackendError> {
        let rules = ["OUTPUT", "INPUT"].map(|chain| format!("iptables -w -I {chain} -j DROP"));
        self.root_shell(&rules.join(" && ")).await.map(drop)
    }

    async fn shell_in_data(&self, command: String) -> Result<String, BackendError> {
        self.shell(&format!("cd {DATA} && {command}")).await
    }

    async fn log(&self) -> String {
        let (out, err) =
            tokio::join!(self.container.stdout_to_vec(), self.container.stderr_to_vec());
        let bytes = [out.unwrap_or_default(), err.unwrap_or_default()].concat();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    async fn cut(
        self: &Arc<Self>,
        other: &Arc<Self>,
        direction: Direction,
    ) -> Result<Vec<DropRule>, BackendError> {
        let drop_rules = DropRule::between((self, other), direction);
        try_join_all(drop_rules.iter().map(DropRule::add)).await?;
        Ok(drop_rules)
    }

    async fn mend(drop_rules: Vec<DropRule>) -> Result<u64, BackendError> {
        let dropped = try_join_all(drop_rules.into_iter().map(DropRule::remove)).await?;
        Ok(dropped.into_iter().sum())
    }
}
