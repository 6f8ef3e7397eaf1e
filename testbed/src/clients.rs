//! Client processes: started, spoken to over JSON lines, and listened to.

mod answers;
mod log;
#[cfg(test)]
mod tests;

use super::clock::RunClock;
use super::notices::NoticeSender;
use super::own_process::OwnProcess;
use super::{broken, lock};
use answers::{PromptAnswers, ResponseLines};
use base::{
    BackendError, ClientReply, ClientRequest, ClockSetting, Mono, Notice, ProgramCommand, Response,
};
use log::ClientLog;
use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Returns the command that runs this binary as `picklock client`.
///
/// # Errors
/// Fails when the system does not say where this binary is.
pub fn built_in_client() -> Result<ProgramCommand, BackendError> {
    let program = std::env::current_exe().map_err(|e| broken("cannot find this binary", e))?;
    Ok(ProgramCommand::new(program, vec!["client".into()]))
}

/// A client process.
pub struct RunningClient {
    number: u32,
    process: OwnProcess,
    requests: UnboundedSender<ClientRequest>,
    /// The waiters for its clocks to be set, in the order of the requests.
    setting: Mutex<VecDeque<oneshot::Sender<u64>>>,
    /// The requests that it has to answer whatever its lock does.
    prompt: Mutex<PromptAnswers>,
    clock: RunClock,
    log: ClientLog,
}

impl RunningClient {
    /// Starts it, under its process number. Call this on a thread that lives as long as the run,
    /// within a runtime.
    pub fn start(
        command: &ProgramCommand,
        number: u32,
        logs: Option<&Path>,
        outbox: Arc<NoticeSender>,
    ) -> Result<Arc<Self>, BackendError> {
        let log = ClientLog::open(number, logs);
        let mut it = process_of(command);
        it.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log.writer());
        // A client may be a script, or have children: they share its fate.
        let (process, mut child) = OwnProcess::start_family(it).map_err(|e| {
            broken(format!("cannot start the client `{}`", command.program.display()), e)
        })?;
        let (requests, lines) = unbounded_channel();
        let client = Arc::new(Self {
            number,
            process,
            requests,
            setting: Mutex::default(),
            prompt: Mutex::default(),
            clock: outbox.clock(),
            log,
        });
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
        if let base::Command::Touch { .. } = request.command {
            lock(&self.prompt).asked(request.id, self.clock.now());
        }
        // It fails when the client is gone, and one that is gone does not answer.
        let _ = self.requests.send(request);
    }

    /// Has its clocks be wrong in this way and no other, and returns what its wall clock tells
    /// then; `None` if it has ended. One that is paused answers after that.
    pub async fn set_clock(&self, setting: ClockSetting) -> Option<u64> {
        let (sender, answer) = oneshot::channel();
        self.setting().push_back(sender);
        self.send(ClientRequest { id: 0, worker: 0, command: base::Command::Clock(setting) });
        if self.process.is_gone() {
            return None;
        }
        answer.await.ok()
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
        let resumed = self.process.resume();
        lock(&self.prompt).goes_on(self.clock.now());
        resumed
    }

    /// Its process, which leads all that it may start.
    pub fn leader(&self) -> u32 {
        self.process.group().leader()
    }

    /// Returns what someone else has done to it since the last call, or what it does that no client
    /// may, in words. Its end is reported separately.
    pub fn interference(&self) -> Option<String> {
        let what = self.process.interference().map(str::to_owned).or_else(|| self.overdue())?;
        Some(format!("process {} {what}", self.number))
    }

    /// Returns what it does not answer though nothing keeps it from that, in words.
    fn overdue(&self) -> Option<String> {
        let waits = !self.is_paused() && !self.process.is_gone();
        waits.then(|| lock(&self.prompt).overdue(self.clock.now()))?
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

fn process_of(command: &ProgramCommand) -> Command {
    let mut it = Command::new(&command.program);
    it.args(&command.args).envs(command.variables.iter().cloned());
    if let Some(folder) = &command.folder {
        it.current_dir(folder);
    }
    it
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
            let error = complaint.unwrap_or(how) + &client.log.last_words();
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
    let mut lines = ResponseLines::new(answers);
    let mut last = Mono::ZERO;
    while let Some(response) = lines.next().await? {
        if let Some(id) = response.id {
            lock(&client.prompt).answered(id);
        }
        response.reply.mistake().map_or(Ok(()), Err)?;
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
/// older than its last message.
fn tell(process: u32, mut response: Response, last: Mono, outbox: &NoticeSender) -> Mono {
    let clock = outbox.clock();
    response.reply.on_clock(|at| clock.at(at).nanos());
    response.reply.date(clock.now().nanos());
    let late = match &response.reply {
        ClientReply::Lost { at_ns: Some(at_ns), .. } => {
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
