//! A lab on real servers: picklock starts them as processes, and each client is the program of the
//! test again (`role.rs`). A run is led by the engine of programs, and judged as any other.

use base::{Lack, Outcome, ProgramCommand, Readiness, RunSpec, nanos};
use checkers::Judgement;
use std::convert::Infallible;
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use stores::redis::{Redis, Sockets};
use workloads::TestedLock;
use workloads::locks::On;

use super::findings::{self, PLAIN};
use super::hunt::each_of;
use super::opening::LabOpening;
use super::role::{CLIENT_VARIABLE, Role};
use super::site::Site;
use super::{Counterexample, Lab, LabError, LabOutcome};
use crate::client::{AnswerPipe, serve};
use crate::named_anomaly::NamedAnomaly;
use crate::run::{self, Means};
use crate::setup::Setup;
use crate::worlds::{LOCAL, RunWorld};
use drive::Unwatched;

/// The schedules of a lab on real servers that says nothing about them: each takes seconds.
const SCHEDULES: u64 = 3;

/// The pipe to picklock. What the test prints, and its harness before it, goes to stderr.
const ANSWERS: &str = "/dev/fd/3";
const REDIRECTED: &str = "exec \"$0\" \"$@\" 3>&1 1>&2";

impl Lab {
    /// Runs the same test on real servers of this machine, in real time: its clients are processes,
    /// whose pauses and crashes are real. Makes three schedules, of all faults together; say
    /// another number [after this](Self::schedules).
    ///
    /// Each client is the program of the test, which begins the same test anew: what the test does
    /// before this lab is done in each client, too, but for other labs, which hold there at once.
    ///
    /// ```no_run
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Nemesis};
    ///
    /// #[test]
    /// fn it_survives_crashes_of_real_processes() {
    ///     let lab = Lab::redis().lock(MyLock::new).under([Nemesis::CrashClient]);
    ///     lab.on_real_servers().assert_held();
    /// }
    /// ```
    pub fn on_real_servers(mut self) -> Self {
        (self.hunt, self.schedules) = (on_real_servers, SCHEDULES);
        self
    }
}

/// Runs schedules until one shows what is wanted, or is a client of such a run.
fn on_real_servers(
    lab: Lab,
    wanted: Option<&NamedAnomaly>,
    role: Role,
) -> Result<LabOutcome, LabError> {
    let Role::Tester(number) = role else { match take(&lab)? {} };
    let program = lab.lock.program(command(number)?)?;
    let lock = lab.tested(Arc::new(program))?;
    let each = each_of(lab.schedules, lab.nemeses.len())?;
    let so_far = LabOutcome::begun(lock.name().into());
    let mut hunt = RealHunt { lock, wanted, so_far };
    for nemesis in &lab.nemeses {
        let mut of_nemesis = Outcome::Inconclusive;
        for seed in 0..each {
            let (seen, found) = hunt.look(lab.run(&hunt.lock, nemesis.name(), seed))?;
            if let Some(found) = found {
                return Ok(hunt.so_far.broken_by(found));
            }
            of_nemesis = of_nemesis.min(seen);
        }
        hunt.so_far.outcome = hunt.so_far.outcome.max(of_nemesis);
    }
    Ok(hunt.so_far)
}

/// Takes the lock as a client, until the run ends.
fn take(lab: &Lab) -> Result<Infallible, LabError> {
    let failed = |why: &dyn std::fmt::Display| LabError::Client(why.to_string());
    let answers = File::options().write(true).open(ANSWERS).map_err(|why| failed(&why))?;
    let served = serve(AnswerPipe::to(answers), |init| {
        let (servers, timeout) = (init.servers.clone(), Duration::from_nanos(init.call_timeout_ns));
        let LabOpening { open, shape, .. } = lab.opening.clone();
        let opener = On::<Redis>::by(shape, move |link, settings| {
            open(Site::new(link, Rc::new(Sockets::new(&servers, timeout)), &settings, None))
        });
        lab.tested(Arc::new(opener)).ok()
    });
    served.map_err(|why| failed(&format!("{why:#}")))?;
    std::process::exit(0)
}

/// Returns the command that starts a client of the lab with this number in this test.
fn command(number: u64) -> Result<ProgramCommand, LabError> {
    let test = std::thread::current().name().map(str::to_owned);
    let test = test.filter(|it| it != "main").ok_or(LabError::NoTest)?;
    let program = std::env::current_exe().map_err(|why| LabError::Client(why.to_string()))?;
    let program = program.display().to_string();
    let args = ["-c", REDIRECTED, &program, &test, "--exact", "--nocapture", "--include-ignored"];
    let variables = vec![(CLIENT_VARIABLE.into(), number.to_string())];
    Ok(ProgramCommand { variables, ..ProgramCommand::new("sh", args.map(String::from).into()) })
}

impl Lab {
    /// Returns a run in the world, as long as a survey makes it.
    fn run(&self, lock: &TestedLock, nemesis: &str, seed: u64) -> RunSpec {
        let usual = lock.info.run(nemesis, seed);
        let time_limit = (usual.ttl() * 6).max(Duration::from_secs(6));
        RunSpec {
            clients: self.clients.unwrap_or(usual.clients),
            hold: self.hold.unwrap_or(usual.hold),
            time_limit_ns: nanos(time_limit),
            ..usual
        }
    }
}

/// A search on real servers under way.
struct RealHunt<'a> {
    lock: TestedLock,
    wanted: Option<&'a NamedAnomaly>,
    so_far: LabOutcome,
}

impl RealHunt<'_> {
    /// Makes a run, and looks in it for what is wanted.
    fn look(&mut self, run: RunSpec) -> Result<(Outcome, Option<Counterexample>), LabError> {
        let nemesis = run.nemesis.clone();
        let setup = Setup::new(&self.lock, run)?;
        let mut watcher = Unwatched;
        let made = run::run(&setup, world(&setup)?, Means::in_memory(&mut watcher))?;
        let (run, _) = made.whole()?;
        let judgement = Judgement::of(&run);
        self.so_far.schedules += 1;
        self.so_far.inconclusive += u64::from(judgement.outcome == Outcome::Inconclusive);
        let Some(shows) = findings::shown(&judgement, self.wanted) else {
            self.so_far.others.extend(findings::anomalies(&judgement));
            return Ok((judgement.outcome, None));
        };
        let Judgement { verdicts, outcome, .. } = &judgement;
        let anomaly = NamedAnomaly { name: shows.anomaly, cause: shows.cause };
        let found = Counterexample {
            anomaly: anomaly.to_string(),
            nemesis,
            story: reports::terminal::summary(
                &run,
                verdicts,
                *outcome,
                &findings::context(),
                PLAIN,
            ),
            schedule: None,
            report: findings::draw(&run, &judgement),
            replay: format!("cargo test {}", findings::test()),
        };
        Ok((Outcome::Violated, Some(found)))
    }
}

/// Returns the world of a lab's real servers, if it can do these faults and can be started.
fn world(setup: &Setup) -> Result<&'static RunWorld, LabError> {
    let (world, store) = (LOCAL, setup.world.store);
    if let Some(Lack { reason, .. }) = world.lack(store, &setup.needs()) {
        return Err(LabError::Simulated(reason));
    }
    match (world.ready)(store, setup.world.topology) {
        Readiness::Ready => Ok(world),
        Readiness::NotReady { reason, fix } => Err(LabError::NotReady { reason, fix }),
    }
}
