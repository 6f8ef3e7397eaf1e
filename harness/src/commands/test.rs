//! `picklock test`: one lock, one nemesis, one verdict.

#![expect(clippy::disallowed_methods, reason = "draws a seed and measures how long a run took")]

use base::{Ability, Backend, Mono, Run, RunInfo};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim::Tape;
use std::io::IsTerminal;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use stores::WorldSpec;

use super::{Failure, interruptible, judge::judge};
use crate::cli::{BackendChoice, Format, TestArgs};
use crate::drive::{DriveError, Recorder, Watcher, drive};
use crate::folder::Folder;
use crate::schedule::Schedule;
use crate::setup::{Options, Setup};
use crate::{Exit, simulate};

pub fn run(args: &TestArgs) -> Result<Exit, Failure> {
    let setup = Setup::new(options(args)).map_err(Failure::arguments)?;
    let choice = choose(args.backend, &setup.needs())?;
    let info = setup.info_for(choice.name());
    perform(&setup, info, choice, Tape::record(), &args.store, args.format)
}

/// Makes a run, judges it and stores it with its schedule, under this header.
pub fn perform(
    setup: &Setup,
    info: RunInfo,
    choice: Choice,
    tape: Tape,
    store: &Path,
    format: Format,
) -> Result<Exit, Failure> {
    let interrupted = interruptible()?;
    let folder = Folder::create(store, &info)?;
    let tape = Rc::new(tape);
    let begun = Instant::now();

    let history_file = folder.file("history.jsonl");
    let mut recorder = Recorder::to_file(&history_file)
        .map_err(|e| Failure::could_not(format!("cannot write {}: {e}", history_file.display())))?;
    let plan = setup.plan();
    let mut watcher = Progress::new(interrupted, plan.time_limit + plan.quiet);
    let mut backend = match start(choice, setup, &tape, &folder, &watcher) {
        Ok(backend) => backend,
        Err(failure) => {
            folder.discard();
            return Err(failure);
        }
    };
    folder.publish();
    let outcome = drive(backend.as_mut(), &plan, setup.nemeses(), &mut recorder, &mut watcher);
    watcher.bar.set_message("stopping");
    backend.stop();
    watcher.bar.finish_and_clear();

    match outcome {
        Ok(()) => {}
        Err(DriveError::Interrupted) => return Err(interrupted_at(&folder)),
        Err(error) => {
            let place = folder.path().display();
            return Err(Failure::could_not(format!("{error} (the run is kept in {place})")));
        }
    }
    let link = crate::simulate::usual_delay(setup.world().link_delay);
    let schedule = Schedule::of(setup, recorder.take_played(), tape.taken(link));
    folder.write("schedule.json", &schedule.to_json())?;
    let run = Run { info, history: recorder.into_history() };
    Ok(judge(&run, &folder, format, Some(begun.elapsed()))?)
}

fn options(args: &TestArgs) -> Options {
    args.load.options(&args.algo, &args.nemesis, args.seed.unwrap_or_else(random_seed))
}

/// A seed short enough to be typed again.
fn random_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    base::Rng::new(since.as_nanos() as u64).below(1_000_000)
}

fn interrupted_at(folder: &Folder) -> Failure {
    let place = folder.path().display();
    Failure::could_not(format!(
        "interrupted; everything is healed and removed, and the history so far is kept: \
         picklock check {place}"
    ))
}

/// The backend that was chosen.
#[derive(Clone, Copy)]
pub enum Choice {
    Sim,
    #[cfg(feature = "docker")]
    Docker,
}

impl Choice {
    /// What `--backend` takes for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            #[cfg(feature = "docker")]
            Self::Docker => "docker",
        }
    }
}

/// A backend for faults that take this. Says in one line what `auto` took, and how to get the other.
#[cfg(feature = "docker")]
pub fn choose(asked: BackendChoice, needs: &[Ability]) -> Result<Choice, Failure> {
    let lacks = needs.iter().find(|ability| !docker::can(**ability));
    match (asked, lacks) {
        (BackendChoice::Sim, _) => Ok(Choice::Sim),
        (BackendChoice::Docker, None) => Ok(Choice::Docker),
        (BackendChoice::Docker, Some(ability)) => Err(Failure::arguments(format!(
            "real servers cannot {ability}, which these faults take: give --backend sim"
        ))),
        (BackendChoice::Auto, Some(ability)) => {
            eprintln!("running in the simulator: real servers cannot {ability}");
            Ok(Choice::Sim)
        }
        (BackendChoice::Auto, None) => match docker::ready() {
            docker::Readiness::Ready => {
                eprintln!("running on real servers (docker); the simulator is --backend sim");
                Ok(Choice::Docker)
            }
            docker::Readiness::NotReady { reason, fix } => {
                eprintln!("running in the simulator: {reason}; for real servers: {fix}");
                Ok(Choice::Sim)
            }
        },
    }
}

#[cfg(not(feature = "docker"))]
pub fn choose(asked: BackendChoice, _needs: &[Ability]) -> Result<Choice, Failure> {
    match asked {
        BackendChoice::Sim => Ok(Choice::Sim),
        BackendChoice::Docker => Err(Failure::could_not(super::NO_DOCKER)),
        BackendChoice::Auto => {
            eprintln!("running in the simulator: {}", super::NO_DOCKER);
            Ok(Choice::Sim)
        }
    }
}

fn start(
    choice: Choice,
    setup: &Setup,
    tape: &Rc<Tape>,
    folder: &Folder,
    watcher: &Progress,
) -> Result<Box<dyn Backend>, Failure> {
    watcher.note("starting");
    let world = WorldSpec { logs: Some(folder.file("log")), ..setup.world() };
    match choice {
        Choice::Sim => Ok(simulate::world(setup.lock, &world, Some(tape.clone()))),
        #[cfg(feature = "docker")]
        Choice::Docker => {
            let say = |line: &str| watcher.note(line);
            let backend = docker::DockerBackend::start(&world, &say)
                .map_err(|error| Failure::could_not(error.to_string()))?;
            Ok(Box::new(backend))
        }
    }
}

/// Shows how far the run has got, on a terminal; in a pipe it is quiet.
struct Progress {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
}

impl Progress {
    fn new(interrupted: Arc<AtomicBool>, length: Duration) -> Self {
        let bar = ProgressBar::new(length.as_millis() as u64);
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{elapsed_precise} [{bar:30}] {percent:>3}% {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Self { bar, interrupted }
    }

    fn note(&self, line: &str) {
        self.bar.set_message(line.to_owned());
        self.bar.tick();
    }
}

impl Watcher for Progress {
    fn goes_on(&mut self, now: Mono, events: usize) -> bool {
        self.bar.set_position(now.millis());
        self.bar.set_message(format!("{events} events"));
        !self.interrupted.load(Ordering::Relaxed)
    }
}
