//! Client processes: started, spoken to over JSON lines, and listened to.

#[cfg(test)]
mod tests;

use super::notices::NoticeSender;
use super::own_process::OwnProcess;
use super::{broken, lock};
use base::{BackendError, ClientReply, ClientRequest, ClockSetting, Mono, Notice, Response};
use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

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
pub struct RunningClient {
    number: u32,
    process: OwnProcess,
    requests: UnboundedSender<ClientRequest>,
    /// The waiters for its clocks to be set, in the order of the requests.
    setting: Mutex<VecDeque<oneshot::Sender<u64>>>,
}

impl RunningClient {
    /// Starts it, under its process number. Call this on a thread that lives as long as the run,
    /// within a runtime.
    pub fn start(
        command: &ClientCommand,
        number: u32,
        logs: Option<&Path>,
        outbox: Arc<NoticeSender>,
    ) -> Result<Arc<Self>, BackendError> {
        let mut it = Command::from(command);
        it.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log_file(number, logs));
        let (process, mut child) = OwnProcess::start(it).map_err(|e| {
            broken(format!("cannot start the client {}", command.program.display()), e)
        })?;
        let (requests, lines) = unbounded_channel();
        let client = Arc::new(Self { number, process, requests, setting: Mutex::default() });
        tokio::spawn(write(child.stdin.take().expect("it is piped"), lines));
        let answers = child.stdout.take().expect("it is piped");
        tokio::spawn(live(client.clone(), child, answers, outbox));
        Ok(client)
    }

    /// Sends a request. It waits in the harness while the client does not read.
    pub fn send(&self, request: ClientRequest) {
        if request.command == base::Command::Exit {
            self.process.expect_end();
        }
        // It fails when the client is gone, and one that is gone does not answer.
        let _ = self.requests.send(request);
    }

    /// Has its clocks be wrong in this way and no other, and returns what its wall clock tells
    /// then; `None` if it has ended. One that is paused answers after that.
    pub async fn set_clock(&self, setting: ClockSetting) -> Option<u64> {
        let (told, telling) = oneshot::channel();
        self.setting().push_back(told);
        self.send(ClientRequest { id: 0, worker: 0, command: base::Command::Clock(setting) });
        if self.process.is_gone() {
            return None;
        }
        telling.await.ok()
    }

    fn setting(&self) -> MutexGuard<'_, VecDeque<oneshot::Sender<u64>>> {
        lock(&self.setting)
    }

    /// Returns true while a fault pauses it.
    pub fn is_paused(&self) -> bool {
        self.process.is_paused()
    }

    /// The process number of the client.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Stops it and waits until the kernel reports that. Returns false if it is gone.
    pub async fn pause(&self) -> bool {
        self.process.pause().await
    }

    /// Lets it go on. Returns false if it was no longer stopped.
    pub fn resume(&self) -> bool {
        self.process.resume()
    }

    /// Its process, which leads all that it may start.
    pub fn leader(&self) -> u32 {
        self.process.group().leader()
    }

    /// Returns what someone else has done to it since the last call, in words. Its end is reported
    /// separately.
    pub fn interference(&self) -> Option<String> {
        self.process.interference().map(|what| format!("process {} {what}", self.number))
    }

    /// Kills it and waits until it is gone and all its output is in the outbox. Returns true if
    /// this call killed it.
    pub async fn kill(&self) -> bool {
        self.process.kill().await
    }

    /// Kills it and does not wait. What it has sent is on its way and arrives; it does nothing
    /// more.
    pub fn end(&self) {
        self.process.end();
    }
}

/// The destination of its stderr. A client without a log is better than none.
fn log_file(process: u32, logs: Option<&Path>) -> Stdio {
    let path = logs.map(|folder| folder.join(format!("client-{process}.log")));
    let file = path.and_then(|path| File::create(path).ok());
    file.map_or_else(Stdio::null, Stdio::from)
}

impl From<&ClientCommand> for Command {
    fn from(command: &ClientCommand) -> Self {
        let mut it = Self::new(&command.program);
        it.args(&command.args);
        it
    }
}

async fn write(mut stdin: ChildStdin, mut requests: UnboundedReceiver<ClientRequest>) {
    while let Some(request) = requests.recv().await {
        let mut line = serde_json::to_vec(&request).expect("a request is plain data");
        line.push(b'\n');
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Listens until it ends, then waits for it.
async fn live(
    client: Arc<RunningClient>,
    child: Child,
    answers: ChildStdout,
    outbox: Arc<NoticeSender>,
) {
    let complaint = listen(&client, answers, &outbox).await.err();
    if complaint.is_some() {
        // It goes on running otherwise.
        client.process.signal_end();
    }
    client
        .process
        .wait(child, |how| {
            let error = complaint.unwrap_or(how);
            outbox.tell(Notice::Died { process: client.number, error });
        })
        .await;
    client.setting().clear();
}

/// Passes on all its responses until it closes its stdout. The error is for a line that is not a
/// response.
async fn listen(
    client: &RunningClient,
    answers: ChildStdout,
    outbox: &NoticeSender,
) -> Result<(), String> {
    let mut lines = BufReader::new(answers).lines();
    let mut last = Mono::ZERO;
    while let Ok(Some(line)) = lines.next_line().await {
        let response: Response = serde_json::from_str(&line)
            .map_err(|e| format!("it wrote a line that is no response ({e}): {line}"))?;
        last = match response.reply {
            ClientReply::Clock { wall_ns } => {
                // Nobody waits any more for what took too long.
                client.setting().pop_front().map(|waits| waits.send(wall_ns));
                last
            }
            _ => tell(client.number, response, last, outbox),
        };
    }
    Ok(())
}

/// Stamps a line at its receipt. Only a `lost` may be older, as old as the client says, but not
/// older than what it said before.
fn tell(process: u32, mut response: Response, last: Mono, outbox: &NoticeSender) -> Mono {
    let clock = outbox.clock();
    response.reply.on_clock(|at| clock.at(at).nanos());
    let late = match &response.reply {
        ClientReply::Lost { at_ns, .. } => {
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
