//! Signals to a process, and their visible effects.

use super::owner::stat_field;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::time::Duration;
use tokio::time::sleep;

const POLL: Duration = Duration::from_millis(1);

/// A process that leads a process group of its own: one that is a script gets its signals together
/// with what it started.
#[derive(Clone, Copy, Debug)]
pub struct ProcessGroup(u32);

impl ProcessGroup {
    /// The group that this process leads.
    pub fn new(leader: u32) -> Self {
        Self(leader)
    }

    /// The process that leads the group.
    pub const fn leader(self) -> u32 {
        self.0
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
        state(self.0)
    }
}

/// A process and all that it has started, directly or not, and whatever groups these have made of
/// themselves: a PostgreSQL has a process for each session, each a group of its own.
#[derive(Clone, Copy, Debug)]
pub struct ProcessFamily(ProcessGroup);

impl ProcessFamily {
    /// The family of the process that leads this group.
    pub fn new(group: ProcessGroup) -> Self {
        Self(group)
    }

    /// Stops all of them and waits until the kernel reports that each is stopped. Who is stopped
    /// starts no others, so that none is missed.
    pub async fn stop(self) -> Result<(), Errno> {
        self.0.stop().await?;
        loop {
            let moving: Vec<u32> =
                self.others().into_iter().filter(|id| state(*id).as_deref() != Some("T")).collect();
            if moving.is_empty() {
                return Ok(());
            }
            signal_all(&moving, Signal::SIGSTOP);
            sleep(POLL).await;
        }
    }

    /// Lets all of them go on.
    pub fn resume(self) -> Result<(), Errno> {
        signal_all(&self.others(), Signal::SIGCONT);
        self.0.signal(Signal::SIGCONT)
    }

    /// Kills all of them, once none can start another, and waits for those that nobody else waits
    /// for.
    pub async fn kill(self) -> Result<(), Errno> {
        let mut others = Vec::new();
        if !self.others().is_empty() {
            self.stop().await?;
            others = self.others();
        }
        self.0.signal(Signal::SIGKILL)?;
        signal_all(&others, Signal::SIGKILL);
        while others.iter().any(|id| is_alive(*id)) {
            sleep(POLL).await;
        }
        Ok(())
    }

    /// The living members that are not in the leader's group.
    fn others(self) -> Vec<u32> {
        let processes = processes();
        let mut family = vec![self.0.0];
        let mut next = 0;
        while let Some(parent) = family.get(next).copied() {
            family.extend(processes.iter().filter(|it| it.parent == parent).map(|it| it.id));
            next += 1;
        }
        let is_other = |it: &&RunningProcess| it.group != self.0.0 && family.contains(&it.id);
        processes.iter().filter(is_other).map(|it| it.id).collect()
    }
}

/// A process of this machine that has not ended.
struct RunningProcess {
    id: u32,
    parent: u32,
    group: u32,
}

fn processes() -> Vec<RunningProcess> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let process = |id: u32| {
        let field = |number| stat_field(id, number)?.parse().ok();
        is_alive(id).then_some(RunningProcess { id, parent: field(4)?, group: field(5)? })
    };
    ids.filter_map(process).collect()
}

fn is_alive(id: u32) -> bool {
    state(id).is_some_and(|state| state != "Z" && state != "X")
}

fn state(id: u32) -> Option<String> {
    stat_field(id, 3)
}

/// Sends a signal to each of these processes.
pub fn signal_all(ids: &[u32], signal: Signal) {
    for id in ids {
        // One that has just ended needs none.
        let _ = kill(Pid::from_raw(*id as i32), signal);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_process::OwnProcess;
    use std::sync::Arc;
    use tokio::process::Command;

    /// The processes with this word among their arguments.
    fn with_argument(word: &str) -> Vec<u32> {
        let named = |id: &u32| {
            let arguments = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            arguments.split(|byte| *byte == 0).any(|it| it == word.as_bytes())
        };
        processes().iter().map(|it| it.id).filter(named).collect()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_family_is_stopped_and_killed_together_with_those_that_left_its_group() {
        // As many seconds as nobody else sleeps.
        let mark = format!("{}", 100_000 + std::process::id());
        let script = format!("setsid sh -c 'sleep {mark} & wait' & wait");
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        let (family, child) = OwnProcess::start_family(command).expect("it starts");
        let family = Arc::new(family);
        let waiting = family.clone();
        tokio::spawn(async move { waiting.wait(child, |how| panic!("{how}")).await });
        while with_argument(&mark).is_empty() {
            sleep(POLL).await;
        }
        let stray = with_argument(&mark)[0];
        assert!(family.pause().await);
        assert!(is_stopped(stray.into()), "it is in another group");
        assert!(family.resume());
        while is_stopped(stray.into()) {
            sleep(POLL).await;
        }
        assert!(family.kill().await);
        assert!(!is_alive(stray));
        assert_eq!(family.interference(), None);
    }
}
