//! Client processes: started, spoken to over JSON lines, and listened to.

#[cfg(test)]
mod tests;

use super::daemon::broken;
use super::notices::Outbox;
use super::process::{Change, Group};
use base::{BackendError, Mono, Notice, Reply, Request, Response};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, getppid};
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

/// The command that starts a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCommand {
    /// The path of the program.
    pub program: std::path::PathBuf,
    /// The arguments of the program.
    pub args: Vec<String>,
}

impl ClientCommand {
    /// This binary as `picklock client`.
    ///
    /// # Errors
    /// Fails when the system does not say where this binary is.
    pub fn built_in() -> Result<Self, BackendError> {
        let program = std::env::current_exe().map_err(|e| broken("cannot find this binary", e))?;
        Ok(Self { program, args: vec!["client".into()] })
    }
}

/// A client process.
pub struct Client {
    process: u32,
    group: Group,
    requests: UnboundedSender<Request>,
    /// True once its end was asked for, so that nobody is told of it.
    expected: AtomicBool,
    /// True from a fault's pause until the harness lets the client go on.
    paused: Mutex<bool>,
    ended: watch::Sender<Option<ExitStatus>>,
}

impl Client {
    /// Starts it. Call this on a thread that lives as long as the run, within a runtime.
    pub fn start(
        command: &ClientCommand,
        process: u32,
        logs: Option<&Path>,
        outbox: Arc<Outbox>,
    ) -> Result<Arc<Self>, BackendError> {
        let mut child = start(command, log_file(process, logs)).map_err(|e| {
            broken(format!("cannot start the client {}", command.program.display()), e)
        })?;
        let (requests, lines) = unbounded_channel();
        let client = Arc::new(Self {
            process,
            group: Group::new(child.id().expect("it was not waited for")),
            requests,
            expected: AtomicBool::new(false),
            paused: Mutex::new(false),
            ended: watch::Sender::new(None),
        });
        tokio::spawn(write(child.stdin.take().expect("it is piped"), lines));
        let answers = child.stdout.take().expect("it is piped");
        tokio::spawn(live(client.clone(), child, answers, outbox));
        Ok(client)
    }

    /// Sends a request. It waits in the harness while the client does not read.
    pub fn send(&self, request: Request) {
        if request.command == base::Command::Exit {
            self.expected.store(true, SeqCst);
        }
        // It fails when the client is gone, and one that is gone does not answer.
        let _ = self.requests.send(request);
    }

    /// The process number of the client.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Stops it and waits until the kernel reports that. Returns false if it is gone.
    pub async fn pause(&self) -> bool {
        *self.paused() = true;
        !self.is_gone() && self.group.stop().await.is_ok() && self.group.is_stopped()
    }

    /// Lets it go on. Returns false if it was no longer stopped.
    pub fn resume(&self) -> bool {
        let mut paused = self.paused();
        let stopped = !self.is_gone() && self.group.is_stopped();
        if !stopped || self.group.signal(Signal::SIGCONT).is_err() {
            return false;
        }
        // The kernel remembers for us what it was told just now.
        while self.group.change().is_some() {}
        *paused = false;
        true
    }

    /// Returns what someone else has done to it since the last call, in words. Its end is reported
    /// separately.
    pub fn interference(&self) -> Option<String> {
        let paused = self.paused();
        if self.is_gone() {
            return None;
        }
        let what = match (self.group.change()?, *paused) {
            (Change::Stopped, true) => return None,
            (Change::Stopped, false) => "was stopped",
            (Change::Continued, true) => "was continued while a fault paused it",
            (Change::Continued, false) => "was stopped and continued",
        };
        Some(format!("process {} {what}", self.process))
    }

    fn paused(&self) -> MutexGuard<'_, bool> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills it and waits until it is gone and all its output is in the outbox. Returns true if
    /// this call killed it.
    pub async fn kill(&self) -> bool {
        self.expected.store(true, SeqCst);
        if self.is_gone() {
            return false;
        }
        // It fails when the client has just ended, which is seen below.
        let _ = self.group.signal(Signal::SIGKILL);
        let mut ended = self.ended.subscribe();
        let killed = |it: &Option<ExitStatus>| {
            it.is_some_and(|status| status.signal() == Some(Signal::SIGKILL as i32))
        };
        ended.wait_for(Option::is_some).await.is_ok_and(|status| killed(&status))
    }

    /// Kills it and does not wait. What it has sent is on its way and arrives; it does nothing
    /// more.
    pub fn end(&self) {
        self.expected.store(true, SeqCst);
        if !self.is_gone() {
            // It fails when the client has just ended.
            let _ = self.group.signal(Signal::SIGKILL);
        }
    }

    /// Returns true once it was waited for: its number may be another's by now, which must get no
    /// signal.
    fn is_gone(&self) -> bool {
        self.ended.borrow().is_some()
    }
}

/// The destination of its stderr. A client without a log is better than none.
fn log_file(process: u32, logs: Option<&Path>) -> Stdio {
    let path = logs.map(|folder| folder.join(format!("client-{process}.log")));
    let file = path.and_then(|path| File::create(path).ok());
    file.map_or_else(Stdio::null, Stdio::from)
}

#[expect(unsafe_code, reason = "what runs between fork and exec is unsafe by its nature")]
fn start(command: &ClientCommand, log: Stdio) -> io::Result<Child> {
    let harness = getpid();
    let mut command = Command::from(command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
    // A group of its own: Ctrl-C on the terminal is for the harness, which then heals first.
    command.process_group(0);
    // SAFETY: the closure only makes system calls that are async-signal-safe, and allocates nothing.
    unsafe {
        command.pre_exec(move || die_with(harness));
    }
    command.spawn()
}

/// Makes the kernel kill this process when the harness ends, however that ends. The kernel means
/// the thread that forked, not its process: hence the rule of `Client::start`.
fn die_with(harness: Pid) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    // It may have ended before the line above.
    if getppid() != harness { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
}

impl From<&ClientCommand> for Command {
    fn from(command: &ClientCommand) -> Self {
        let mut it = Self::new(&command.program);
        it.args(&command.args);
        it
    }
}

async fn write(mut stdin: ChildStdin, mut requests: UnboundedReceiver<Request>) {
    while let Some(request) = requests.recv().await {
        let mut line = serde_json::to_vec(&request).expect("a request is plain data");
        line.push(b'\n');
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Listens until it ends, then waits for it.
async fn live(client: Arc<Client>, mut child: Child, answers: ChildStdout, outbox: Arc<Outbox>) {
    let complaint = listen(client.process, answers, &outbox).await.err();
    if complaint.is_some() {
        // It goes on running otherwise. It fails when the client is gone.
        let _ = client.group.signal(Signal::SIGKILL);
    }
    let status = child.wait().await;
    if !client.expected.load(SeqCst) {
        let error = complaint.unwrap_or_else(|| match &status {
            Ok(status) if status.signal().is_some() => format!("a signal ended it ({status})"),
            Ok(status) => format!("it ended by itself ({status})"),
            Err(error) => format!("it cannot be waited for ({error})"),
        });
        outbox.tell(Notice::Died { process: client.process, error });
    }
    client.ended.send_replace(Some(status.unwrap_or_default()));
}

/// Passes on all its responses until it closes its stdout. The error is for a line that is not a
/// response.
async fn listen(process: u32, answers: ChildStdout, outbox: &Outbox) -> Result<(), String> {
    let mut lines = BufReader::new(answers).lines();
    let mut last = Mono::ZERO;
    while let Ok(Some(line)) = lines.next_line().await {
        let response: Response = serde_json::from_str(&line)
            .map_err(|e| format!("it wrote a line that is no response ({e}): {line}"))?;
        last = tell(process, response, last, outbox);
    }
    Ok(())
}

/// Stamps a line at its receipt. Only a `lost` may be older, as old as the client says, but not
/// older than what it said before.
fn tell(process: u32, mut response: Response, last: Mono, outbox: &Outbox) -> Mono {
    let clock = outbox.clock();
    response.reply.on_clock(|at| clock.at(at).nanos());
    let late = match &response.reply {
        Reply::Lost { at_ns, .. } => {
            Some(Mono::from_nanos(*at_ns).clamp(last, clock.now().max(last)))
        }
        _ => None,
    };
    let notice = Notice::Client { process, response };
    match late {
        Some(at) => {
            outbox.tell_late(at, notice);
            at
        }
        None => outbox.tell(notice),
    }
}
