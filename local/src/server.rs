//! One server, as a process.

use super::faked_clock::FakedClock;
use super::peers::Peers;
use super::port::Port;
use super::server_user::ServerUser;
use super::socket_forwarder::SocketForwarder;
use super::{posix, system_v};
use async_trait::async_trait;
use base::{BackendError, Direction};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stores::{Launch, Login, Probe};
use testbed::link_proxy::{HeldBack, HeldDirection, LinkProxy};
use testbed::own_process::OwnProcess;
use testbed::wall_clock::ServerWallClock;
use testbed::{ClockAct, StartedServer, broken, probe};
use tokio::process::Command;

/// A server that is about to be started.
pub struct ServerSetup {
    /// The number of the server, from 0.
    pub number: u32,
    /// The way to start it.
    pub launch: Launch,
    /// The user that it runs as, if it cannot be what picklock is.
    pub user: Option<ServerUser>,
    /// The exchange with which a connection to it begins, if it asks for a password.
    pub login: Option<Login>,
    /// The question that tells whether it serves.
    pub probe: Probe,
    /// The port on which it serves clients.
    pub port: Port,
    /// The ports that are forwarded to its sockets, if it listens on those.
    pub forwarders: Vec<SocketForwarder>,
    /// The folder that has its data and its log.
    pub folder: PathBuf,
    /// The links between the servers.
    pub peers: Arc<Peers>,
    /// Its wall clock, if faults are to set it.
    pub clock: Option<FakedClock>,
}

/// A server. It has to be killed in the end.
pub struct LocalServer {
    setup: ServerSetup,
    state: Arc<Mutex<ExpectedState>>,
}

/// The state of a server, by what was done to it here.
#[derive(Default)]
struct ExpectedState {
    condition: Condition,
    process: Option<Arc<OwnProcess>>,
    /// The end that nobody here asked for, in words.
    ended: Option<String>,
    has_served: bool,
    keeps_data: bool,
    /// True if its last start found nothing.
    was_empty: bool,
    /// Holds all that it and the other servers say to each other.
    silence: Vec<HeldDirection>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Condition {
    Running,
    Paused,
    #[default]
    Down,
}

impl LocalServer {
    /// Starts it, which does not yet mean that it serves. Its folder must be there, and be its own.
    pub fn start(setup: ServerSetup) -> Result<Self, BackendError> {
        let server = Self { setup, state: Arc::default() };
        if let Some(user) = &server.setup.user {
            let given = user.give(&server.setup.folder);
            given.map_err(|e| server.broken("has no folder", e))?;
        }
        server.begin()?;
        Ok(server)
    }

    /// The folder of the data, below the server's own.
    pub fn data(folder: &Path) -> PathBuf {
        folder.join("data")
    }

    fn begin(&self) -> Result<(), BackendError> {
        let keeps_data = std::mem::take(&mut self.state().keeps_data);
        let was_empty = self.prepare(keeps_data).map_err(|e| self.broken("has no data", e))?;
        let started = self.command().and_then(OwnProcess::start_family);
        let (process, child) = started.map_err(|e| self.broken(&self.not_started(), e))?;
        if let (Some(clock), Some(id)) = (&self.setup.clock, child.id()) {
            clock.started(id).map_err(|e| self.broken("has no clock", e))?;
        }
        let process = Arc::new(process);
        let (waits, state) = (process.clone(), self.state.clone());
        tokio::spawn(async move {
            waits.wait(child, |how| lock(&state).ended = Some(how)).await;
        });
        let mut state = self.state();
        (state.condition, state.process) = (Condition::Running, Some(process));
        state.was_empty = was_empty;
        Ok(())
    }

    /// Makes the folder of its data as it is to find it. Returns true if there was nothing.
    fn prepare(&self, keeps_data: bool) -> io::Result<bool> {
        let data = Self::data(&self.setup.folder);
        if !keeps_data && data.exists() {
            fs::remove_dir_all(&data)?;
        }
        fs::create_dir_all(&data)?;
        self.setup.forwarders.iter().try_for_each(SocketForwarder::remove_socket)?;
        if let Some(user) = &self.setup.user {
            user.give(&data)?;
        }
        let was_empty = fs::read_dir(&data)?.next().is_none();
        for (name, text) in &self.setup.launch.files {
            self.write(&data.join(name), text)?;
        }
        Ok(was_empty)
    }

    /// Writes a file for the eyes of the server's user only.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(path)?;
        if let Some(user) = &self.setup.user {
            user.give(path)?;
        }
        file.write_all(text.as_bytes())
    }

    fn not_started(&self) -> String {
        match &self.setup.user {
            Some(user) => format!("cannot be started as the user {}", user.name()),
            None => "cannot be started".into(),
        }
    }

    fn command(&self) -> io::Result<Command> {
        let (program, args) = self.setup.launch.command.split_first().expect("a program");
        let log: File = OpenOptions::new().create(true).append(true).open(self.log_file())?;
        let mut command = Command::new(program);
        command.args(args).current_dir(Self::data(&self.setup.folder)).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        if let Some(clock) = &self.setup.clock {
            clock.give_to(&mut command)?;
        }
        if let Some(user) = &self.setup.user {
            user.take(&mut command);
        }
        Ok(command)
    }

    fn log_file(&self) -> PathBuf {
        self.setup.folder.join("log")
    }

    fn process(&self) -> Result<Arc<OwnProcess>, BackendError> {
        let process = self.state().process.clone();
        process.ok_or_else(|| self.broken("has no process", "it was never started"))
    }

    fn state(&self) -> MutexGuard<'_, ExpectedState> {
        lock(&self.state)
    }

    fn broken(&self, what: &str, why: impl std::fmt::Display) -> BackendError {
        broken(format!("server {} {what}", self.setup.number), why)
    }
}

fn lock(state: &Mutex<ExpectedState>) -> MutexGuard<'_, ExpectedState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl StartedServer for LocalServer {
    type Cut = Vec<HeldDirection>;
    const CUT: &'static str = "bytes and connections held between servers";

    fn number(&self) -> u32 {
        self.setup.number
    }

    fn address(&self) -> Result<SocketAddr, BackendError> {
        match self.state().has_served {
            true => Ok((Ipv4Addr::LOCALHOST, self.setup.port.number()).into()),
            false => Err(self.broken("has no address", "it has not served yet")),
        }
    }

    fn login(&self) -> Option<Login> {
        self.setup.login.clone()
    }

    fn is_running(&self) -> bool {
        self.state().condition == Condition::Running
    }

    async fn process_id(&self) -> Option<u32> {
        self.state().process.as_ref().map(|process| process.group().leader())
    }

    fn is_up(&self) -> bool {
        self.state().condition != Condition::Down
    }

    async fn pause(&self) -> Result<(), BackendError> {
        if !self.process()?.pause().await {
            return Err(self.broken("cannot be paused", "it is gone"));
        }
        let mut state = self.state();
        // It may have been killed meanwhile.
        if state.condition == Condition::Running {
            state.condition = Condition::Paused;
        }
        Ok(())
    }

    async fn unpause(&self) -> Result<bool, BackendError> {
        let resumed = self.process()?.resume();
        let mut state = self.state();
        if state.condition == Condition::Paused {
            state.condition = Condition::Running;
        }
        Ok(resumed)
    }

    async fn keep_data(&self) -> Result<(), BackendError> {
        self.state().keeps_data = true;
        Ok(())
    }

    async fn kill(&self) -> Result<(), BackendError> {
        self.state().condition = Condition::Down;
        self.process()?.kill().await;
        self.setup.clock.iter().for_each(FakedClock::remove_names);
        system_v::remove_shared_memory(&Self::data(&self.setup.folder));
        posix::remove_shared_memory(&self.setup.folder).await;
        self.setup.peers.loosen(self.setup.number)
    }

    async fn is_dead(&self) -> Result<bool, BackendError> {
        Ok(self.process()?.was_killed())
    }

    async fn restart(&self) -> Result<(), BackendError> {
        let silence = std::mem::take(&mut self.state().silence);
        if !silence.is_empty() {
            // The machine that is back knows nothing of the connections that it had.
            self.setup.peers.reset(self.setup.number);
        }
        self.setup.peers.aim(self.setup.number)?;
        self.begin()
    }

    async fn until_serving(&self) -> Result<SocketAddr, BackendError> {
        let address = [(Ipv4Addr::LOCALHOST, self.setup.port.number()).into()];
        let process = self.process()?;
        let serving = tokio::select! {
            serving = probe::until_serving(self, &address, self.setup.probe) => serving,
            () = process.gone() => {
                Err(self.broken("ended before it served", probe::end_of_log(self).await))
            }
        }?;
        self.setup.clock.iter().for_each(FakedClock::remove_names);
        self.state().has_served = true;
        Ok(serving)
    }

    async fn came_back_empty(&self) -> Result<bool, BackendError> {
        Ok(self.state().was_empty)
    }

    async fn silence(&self) -> Result<(), BackendError> {
        let silence = self.setup.peers.hold_all(self.setup.number);
        self.state().silence = silence;
        Ok(())
    }

    async fn cut(
        self: &Arc<Self>,
        other: &Arc<Self>,
        direction: Direction,
    ) -> Result<Vec<HeldDirection>, BackendError> {
        Ok(self.setup.peers.hold((self.setup.number, other.setup.number), direction))
    }

    async fn mend(cut: Vec<HeldDirection>) -> Result<u64, BackendError> {
        let held =
            cut.into_iter().map(HeldDirection::release).fold(HeldBack::default(), HeldBack::plus);
        Ok(held.bytes + held.connections)
    }

    fn peer_links(&self, other: u32) -> Vec<&LinkProxy> {
        self.setup.peers.both_ways(self.setup.number, other).collect()
    }

    fn clock(&self) -> Option<ServerWallClock> {
        self.setup.clock.as_ref().map(FakedClock::clock)
    }

    async fn with_clock(&self, act: ClockAct) -> Result<(), BackendError> {
        let none = || self.broken("has no clock to set", "it was not started for that");
        let changed = self.setup.clock.as_ref().ok_or_else(none)?.change(act);
        changed.map_err(|e| self.broken("cannot have its clock set", e))
    }

    async fn interference(&self) -> Option<String> {
        let state = self.state();
        if let Some(how) = &state.ended {
            return Some(format!("server {}: {how}", self.setup.number));
        }
        let what = state.process.as_ref()?.interference()?;
        Some(format!("server {} {what}", self.setup.number))
    }

    async fn shell_in_data(&self, command: String) -> Result<String, BackendError> {
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-c", &command]).current_dir(Self::data(&self.setup.folder));
        let done = shell.output().await.map_err(|e| self.broken("has no shell", e))?;
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            false => Err(self.broken("fails at a command", String::from_utf8_lossy(&done.stderr))),
        }
    }

    async fn log(&self) -> String {
        let log = fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}
