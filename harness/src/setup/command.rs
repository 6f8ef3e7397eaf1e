//! The commands that make a run again.

use base::{LockInfo, RunSpec};

use crate::options::flags;

/// Returns the command that runs this again: what differs from the defaults, and the seed.
pub(super) fn command(lock: &LockInfo, run: &RunSpec, backend: &str) -> String {
    let (named, seed, faults) = (lock.named(), run.seed, faults(run));
    let command = match run.swarm {
        true => format!("picklock explore {named} {faults} --first-seed {seed} --seeds 1"),
        false => {
            let place = place(run, backend);
            let links = run.links.map(|it| format!(" --links {it}")).unwrap_or_default();
            format!("picklock test {named} {faults} {place}{links} --seed {seed}")
        }
    };
    command + &flags(run, lock)
}

/// Returns the flags for the world of a run: a backend, or the servers that somebody else runs.
pub fn place(run: &RunSpec, backend: &str) -> String {
    match run.servers.as_slice() {
        [] => format!("--backend {backend}"),
        servers => {
            let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
            let observe = if run.observe { " --observe" } else { "" };
            format!("--servers {}{observe}", servers.join(","))
        }
    }
}

/// Returns the command that replays the schedule of a seed of `explore`.
pub fn replay_command(lock: &LockInfo, run: &RunSpec) -> String {
    let fixed = if run.swarm { "" } else { " --fixed" };
    let (faults, flags) = (faults(run), flags(run, lock));
    format!("picklock replay {} {} {faults}{fixed}{flags}", run.seed, lock.named())
}

/// Returns the flag for the faults: the nemeses or the fault script.
fn faults(run: &RunSpec) -> String {
    let Some(script) = &run.script else { return format!("--nemesis {}", run.nemesis) };
    let path = script.path.display().to_string();
    let path = shlex::try_quote(&path).unwrap_or_else(|_| path.as_str().into());
    format!("--script {path}")
}
