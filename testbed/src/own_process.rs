//! Processes that this one started: they die with it, and nobody else's signal to one of them stays
//! unseen.

use super::owner::{self, Certainty};
use super::process::{ProcessChange, ProcessFamily, ProcessGroup};
use crate::lock;
use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, getppid};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};
use tokio::process::{Child, Command};
use tokio::sync::watch;

/// A process that this one started, a client or a server.
pub struct OwnProcess {
    group: ProcessGroup,
    /// The processes that it starts, if they are to share its fate wherever they go.
    family: Option<ProcessFamily>,
    /// True once its end was asked for, so that nobody is notified of it.
    expected: AtomicBool,
    /// True from a fault's pause until the harness lets it go on.
    paused: Mutex<bool>,
    ended: watch::Sender<Option<ExitStatus>>,
}

impl OwnProcess {
    /// Starts it. Call this on a thread that lives as long as the run, within a runtime, and give
    /// the child to `wait`.
    ///
    /// # Errors
    /// Fails when it cannot be started.
    pub fn start(command: Command) -> io::Result<(Self, Child)> {
        let child = start(command)?;
        let process = Self {
            group: ProcessGroup::new(child.id().expect("it was not waited for")),
            family: None,
            expected: AtomicBool::new(false),
            paused: Mutex::new(false),
            ended: watch::Sender::new(None),
        };
        Ok((process, child))
    }

    /// Starts it in the same way, together with all that it will start: they are paused and killed
    /// with it, which takes a look at all processes of the machine.
    ///
    /// # Errors
    /// Fails when it cannot be started.
    pub fn start_family(command: Command) -> io::Result<(Self, Child)> {
        let (mut process, child) = Self::start(command)?;
        process.family = Some(ProcessFamily::new(process.group));
        Ok((process, child))
    }

    /// Waits until it has ended. If nobody asked for that, `unexpected` gets the way it ended.
    pub async fn wait(&self, mut child: Child, unexpected: impl FnOnce(String)) {
        let status = child.wait().await;
        if !self.expected.load(SeqCst) {
            unexpected(match &status {
                Ok(status) if status.signal().is_some() => format!("a signal ended it ({status})"),
                Ok(status) => format!("it ended by itself ({status})"),
                Err(error) => format!("it cannot be waited for ({error})"),
            });
        }
        self.ended.send_replace(Some(status.unwrap_or_default()));
    }

    /// Notes that it is going to end.
    pub fn expect_end(&self) {
        self.expected.store(true, SeqCst);
    }

    /// Stops it and waits until the kernel reports that. Returns false if it is gone.
    pub async fn pause(&self) -> bool {
        *self.paused() = true;
        !self.is_gone() && self.stop().await.is_ok() && self.group.is_stopped()
    }

    /// Lets it go on. Returns false if it was no longer stopped.
    pub fn resume(&self) -> bool {
        let mut paused = self.paused();
        let stopped = !self.is_gone() && self.group.is_stopped();
        let resume = || match self.family {
            Some(family) => family.resume(),
            None => self.group.signal(Signal::SIGCONT),
        };
        if !stopped || resume().is_err() {
            return false;
        }
        // The kernel has recorded for us the changes that were made just now.
        while self.group.change().is_some() {}
        *paused = false;
        true
    }

    /// Returns true while a fault pauses it.
    pub fn is_paused(&self) -> bool {
        *self.paused()
    }

    /// Returns what someone else has done to it since the last call, in words. Its end is reported
    /// separately.
    pub fn interference(&self) -> Option<&'static str> {
        let paused = self.paused();
        if self.is_gone() {
            return None;
        }
        match (self.group.change()?, *paused) {
            (ProcessChange::Stopped, true) => None,
            (ProcessChange::Stopped, false) => Some("was stopped"),
            (ProcessChange::Continued, true) => Some("was continued while a fault paused it"),
            (ProcessChange::Continued, false) => Some("was stopped and continued"),
        }
    }

    /// Kills it and waits until it has ended. Returns true if this call killed it.
    pub async fn kill(&self) -> bool {
        let lived = !self.is_gone();
        self.expect_end();
        match self.family {
            Some(family) if lived => {
                // It may be stopped for that.
                *self.paused() = true;
                // It fails when the process has just ended.
                let _ = family.kill().await;
            }
            _ => self.signal_end(),
        }
        self.gone().await;
        lived && self.was_killed()
    }

    /// Kills it and does not wait.
    pub fn end(&self) {
        self.expect_end();
        self.signal_end();
    }

    /// Kills it, which is news to those who wait for it.
    pub fn signal_end(&self) {
        if !self.is_gone() {
            // It fails when the process has just ended.
            let _ = self.group.signal(Signal::SIGKILL);
        }
    }

    /// Waits until it has ended.
    pub async fn gone(&self) {
        // The sender lives in `self`, so this cannot fail.
        let _ = self.ended.subscribe().wait_for(Option::is_some).await;
    }

    /// Returns true if it has ended by SIGKILL.
    pub fn was_killed(&self) -> bool {
        let killed = |status: ExitStatus| status.signal() == Some(Signal::SIGKILL as i32);
        self.ended.borrow().is_some_and(killed)
    }

    /// Returns true once it was waited for: its number may be another's by now, which must get no
    /// signal.
    pub fn is_gone(&self) -> bool {
        self.ended.borrow().is_some()
    }

    async fn stop(&self) -> Result<(), Errno> {
        match self.family {
            Some(family) => family.stop().await,
            None => self.group.stop().await,
        }
    }

    fn paused(&self) -> MutexGuard<'_, bool> {
        lock(&self.paused)
    }

    /// The group of processes that it leads.
    pub fn group(&self) -> ProcessGroup {
        self.group
    }
}

#[expect(unsafe_code, reason = "what runs between fork and exec is unsafe by its nature")]
fn start(mut command: Command) -> io::Result<Child> {
    let harness = getpid();
    // A group of its own: Ctrl-C on the terminal is for the harness, which then heals first.
    command.process_group(0).kill_on_drop(true).env(owner::OWNER_VARIABLE, owner::label());
    // SAFETY: the closure only makes system calls that are async-signal-safe, and allocates
    // nothing.
    unsafe {
        command.pre_exec(move || die_with(harness));
    }
    command.spawn()
}

/// Makes the kernel kill this process when the harness ends, however that ends. The kernel means
/// the thread that forked, not its process: hence the rule of `OwnProcess::start`.
fn die_with(harness: Pid) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    // It may have ended before the line above.
    if getppid() != harness { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
}

/// The processes whose owner has ended, with this certainty: the kernel has failed to kill them
/// with it. They say whose they are, or work in a folder that does: a server's own processes may
/// have overwritten what they say, and do not die with the one that they were started by.
pub fn abandoned(certainty: Certainty) -> impl Iterator<Item = Pid> {
    let is_abandoned =
        move |id: &u32| owner::fates_of_process(*id).any(|fate| certainty.allows(fate));
    owner::processes().filter(is_abandoned).map(|id| Pid::from_raw(id as i32))
}

/// Kills the processes whose owner has ended. Returns the number of them.
pub fn kill_abandoned(certainty: Certainty) -> usize {
    abandoned(certainty).filter(|id| kill(*id, Signal::SIGKILL).is_ok()).count()
}
