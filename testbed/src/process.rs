//! Signals to a process, and their visible effects.

use super::owner::stat_field;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::time::Duration;
use tokio::time::sleep;

const POLL: Duration = Duration::from_millis(1);

/// A process that leads a process group of its own: one that is a script gets its signals together with
/// what it started.
#[derive(Clone, Copy, Debug)]
pub struct ProcessGroup(u32);

impl ProcessGroup {
    /// The group that this process leads.
    pub fn new(leader: u32) -> Self {
        Self(leader)
    }

    /// Sends a signal to all processes of the group.
    pub fn signal(self, signal: Signal) -> Result<(), Errno> {
        killpg(Pid::from_raw(self.0 as i32), signal)
    }

    /// Stops the group and waits until the kernel reports that its leader is stopped.
    pub async fn stop(self) -> Result<(), Errno> {
        self.signal(Signal::SIGSTOP)?;
        while !self.is_stopped() && self.state().is_some() {
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Returns true if the kernel reports that the leader is stopped.
    pub fn is_stopped(self) -> bool {
        is_stopped(self.0.into())
    }

    /// A stop or a continuation of the leader since the last call, by whomever. The kernel
    /// remembers it, so that nothing is too short to be seen.
    pub fn change(self) -> Option<ProcessChange> {
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WCONTINUED | WaitPidFlag::WNOHANG;
        match waitid(Id::Pid(Pid::from_raw(self.0 as i32)), flags) {
            Ok(WaitStatus::Stopped(..)) => Some(ProcessChange::Stopped),
            Ok(WaitStatus::Continued(_)) => Some(ProcessChange::Continued),
            _ => None,
        }
    }

    fn state(self) -> Option<String> {
        stat_field(self.0, 3)
    }
}

/// Returns true if the kernel reports that a process is stopped.
pub fn is_stopped(pid: i64) -> bool {
    u32::try_from(pid).is_ok_and(|pid| stat_field(pid, 3).as_deref() == Some("T"))
}

/// An effect of a signal on a process other than its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessChange {
    /// It was stopped.
    Stopped,
    /// It was continued.
    Continued,
}
