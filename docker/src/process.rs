//! Signals to a client process, and what they can be seen to have done.

use super::owner::stat_field;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::time::Duration;
use tokio::time::sleep;

const POLL: Duration = Duration::from_millis(1);

/// A client process, the leader of a process group of its own: a client that is a script gets its
/// signals together with what it started.
#[derive(Clone, Copy, Debug)]
pub struct Group(u32);

impl Group {
    pub fn new(leader: u32) -> Self {
        Self(leader)
    }

    /// Sends a signal to all of them.
    pub fn signal(self, signal: Signal) -> Result<(), Errno> {
        killpg(Pid::from_raw(self.0 as i32), signal)
    }

    /// Stops them and waits until the kernel says so.
    pub async fn stop(self) -> Result<(), Errno> {
        self.signal(Signal::SIGSTOP)?;
        while !self.is_stopped() && self.state().is_some() {
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Whether the kernel says that the leader is stopped.
    pub fn is_stopped(self) -> bool {
        is_stopped(self.0.into())
    }

    /// How the leader was stopped or continued since this was last asked, by whomever. The kernel
    /// remembers it, so that nothing is too short to be seen.
    pub fn change(self) -> Option<Change> {
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WCONTINUED | WaitPidFlag::WNOHANG;
        match waitid(Id::Pid(Pid::from_raw(self.0 as i32)), flags) {
            Ok(WaitStatus::Stopped(..)) => Some(Change::Stopped),
            Ok(WaitStatus::Continued(_)) => Some(Change::Continued),
            _ => None,
        }
    }

    fn state(self) -> Option<String> {
        stat_field(self.0, 3)
    }
}

/// Whether the kernel says that a process is stopped.
pub fn is_stopped(pid: i64) -> bool {
    u32::try_from(pid).is_ok_and(|pid| stat_field(pid, 3).as_deref() == Some("T"))
}

/// What a signal can do to a process beside ending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Stopped,
    Continued,
}
