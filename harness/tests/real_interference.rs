//! A run on real servers to which somebody else does something: it is over, and says nothing green.
//! Nothing is skipped: where there is no Docker, this fails.

use base::{F, Mono, Outcome, Run};
use checkers::Judgement;
use docker::{ClientCommand, DockerBackend, ensure_image};
use picklock::drive::{DriveError, Recorder, Watcher, drive};
use picklock::plan::Options;
use picklock::setup::Setup;
use std::process::Command;

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

fn disturbed(algo: &str, act: impl FnOnce(&DockerBackend) -> Command) -> Run {
    ensure_image(&|_| ()).unwrap_or_else(|error| panic!("{error}"));
    let setup = Setup::new(Options::new(algo, "none", 1)).unwrap_or_else(|e| panic!("{e}"));
    let program = env!("CARGO_BIN_EXE_picklock").into();
    let client = ClientCommand { program, args: vec!["client".into()] };
    let mut backend = DockerBackend::start_with(&setup.world(), client, &|_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut recorder = Recorder::in_memory();
    let mut intruder = Intruder { act: Some(act(&backend)) };
    let ended = drive(&mut backend, &setup.plan(), setup.nemeses(), &mut recorder, &mut intruder);
    assert!(matches!(ended, Err(DriveError::Interference(_))), "{algo}: {ended:?}");
    Run { info: setup.info_for("docker"), history: recorder.into_history(), ledger: None }
}

fn says(run: &Run, words: &str) {
    assert!(run.history.events().iter().any(|event| event.f == F::Interference));
    let judgement = Judgement::of(run);
    assert_eq!(judgement.outcome, Outcome::Inconclusive, "{judgement:?}");
    let coverage = judgement.verdicts.iter().find(|v| v.property == "coverage").expect("a verdict");
    assert!(coverage.summary.contains(words), "{}", coverage.summary);
}

/// One after the other: both look for children of this process.
#[test]
fn whatever_somebody_else_does_makes_the_run_inconclusive() {
    let run = disturbed("zk-sequential", |backend| {
        let mut remove = Command::new("docker");
        remove.args(["rm", "-f", &backend.containers()[1]]);
        remove
    });
    says(&run, "server 1 was");
    let run = disturbed("redis-set-nx-px", |_| {
        let mut kill = Command::new("sh");
        let clients = format!("pgrep -P {} -f 'picklock client'", std::process::id());
        kill.args(["-c", &format!("kill -9 $({clients} | head -1)")]);
        kill
    });
    says(&run, "a signal ended it");
}
