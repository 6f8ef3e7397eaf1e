//! A run on real servers to which somebody else does something: it is over, and says nothing green.
//! Nothing is skipped: where there is no Docker or no server, this fails.

use base::{Backend, F, Mono, Outcome, ProgramCommand, Run};
use checkers::Judgement;
use docker::{DockerServers, ensure_image};
use drive::{DriveError, Recorder, Watcher, drive};
use local::LocalServers;
use picklock::setup::Setup;
use std::process::Command;
use testbed::{RealBackend, Servers};

/// Does something to the world once the run is in full swing.
struct Intruder {
    act: Option<Command>,
}

impl Watcher for Intruder {
    fn goes_on(&mut self, _now: Mono, events: usize) -> bool {
        if let Some(mut act) = self.act.take_if(|_| events > 100) {
            assert!(act.output().expect("it is there").status.success());
        }
        true
    }
}

fn disturbed<S: Servers>(algo: &str, act: impl FnOnce(&RealBackend<S>) -> Command) -> Run {
    let lock = workloads::lock(algo).expect("a lock of the list");
    let setup = Setup::new(&lock, lock.info.run("none", 1)).unwrap_or_else(|e| panic!("{e}"));
    let program = env!("CARGO_BIN_EXE_picklock");
    let client = ProgramCommand::new(program, vec!["client".into()]);
    let mut backend = RealBackend::start_with(&setup.world, client, &|_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut recorder = Recorder::in_memory();
    let mut intruder = Intruder { act: Some(act(&backend)) };
    let ended = drive(&mut backend, &setup.plan, setup.nemeses(), &mut recorder, &mut intruder);
    assert!(matches!(ended, Err(DriveError::Interference(_))), "{algo}: {ended:?}");
    Run { info: setup.info_for(backend.name()), history: recorder.into_history(), ledger: None }
}

fn says(run: &Run, words: &str) {
    assert!(run.history.events().iter().any(|event| event.f == F::Interference));
    let judgement = Judgement::of(run);
    assert_eq!(judgement.outcome, Outcome::Inconclusive, "{judgement:?}");
    let coverage = judgement.verdicts.iter().find(|v| v.property == "coverage").expect("a verdict");
    assert!(coverage.summary.contains(words), "{}", coverage.summary);
}

/// A signal to the first child of this process whose command line begins like this.
fn signal(signal: &str, command: &str) -> Command {
    let mut kill = Command::new("sh");
    let children = format!("pgrep -P {} -f '{command}'", std::process::id());
    kill.args(["-c", &format!("kill {signal} $({children} | head -1)")]);
    kill
}

/// One after the other: most look for children of this process.
#[test]
fn whatever_somebody_else_does_makes_the_run_inconclusive() {
    ensure_image(&|_| ()).unwrap_or_else(|error| panic!("{error}"));
    let run = disturbed::<DockerServers>("zk-sequential", |backend| {
        let mut remove = Command::new("docker");
        remove.args(["rm", "-f", backend.servers()[1].id()]);
        remove
    });
    says(&run, "server 1 was");
    let client = |_: &_| signal("-KILL", "picklock client");
    says(&disturbed::<LocalServers>("redis-set-nx-px", client), "a signal ended it");
    let pause = |_: &_| signal("-STOP", "redis-server");
    says(&disturbed::<LocalServers>("redis-set-nx-px", pause), "server 0 was stopped");
    let kill = |_: &_| signal("-KILL", "redis-server");
    says(&disturbed::<LocalServers>("redis-set-nx-px", kill), "server 0: a signal ended it");
}
