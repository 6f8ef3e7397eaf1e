//! The drive loop: one for both worlds. Nemesis phase, then heal always, then a quiet phase in
//! which progress is demanded, then stop.

mod clients;
mod faults;
pub mod plan;
mod recorder;
mod vault;
mod worker;

use base::units::span;
use base::{
    Backend, BackendError, F, Facts, Kind, Message, Mono, Nemesis, Notice, Process, Rng,
    ServerStanding, Stall, nanos,
};
use std::time::Duration;
use stores::vault::Vault;

use crate::plan::{Plan, UnfitClient};
use clients::Clients;
use faults::{Faults, ServersSeen, WantedFault};
use recorder::FaultOutcome;
pub use recorder::{EVENT, Recorder};
use vault::VaultNode;

/// The longest time that a run waits for its faults to be healed.
const SETTLE: Duration = Duration::from_secs(60);

/// The reason why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The world broke.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Somebody else has done something to a server or a client. The history says so.
    #[error("{0}")]
    Interference(String),
    /// A client cannot do what is asked of it. The run has not begun.
    #[error(transparent)]
    Unfit(#[from] UnfitClient),
    /// Its history takes too much memory.
    #[error("the run takes more than 2 GiB of memory: give it a shorter --time-limit")]
    Full,
    /// Somebody pressed Ctrl-C. Everything is healed.
    #[error("interrupted")]
    Interrupted,
}

/// An observer of the drive loop, which can end the run.
pub trait Watcher {
    /// The run has got this far. Says whether it may go on.
    fn goes_on(&mut self, now: Mono, events: usize) -> bool;

    /// Takes a line about what the world does.
    fn progress(&self, _line: &str) {}

    /// The world has been started, and the run begins.
    fn started(&mut self) {}
}

/// A watcher that never ends the run.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn goes_on(&mut self, _now: Mono, _events: usize) -> bool {
        true
    }
}

/// Drives a backend through a run. The recorder has the history, also of a run that failed.
///
/// # Errors
/// Fails when the world breaks or the run is interrupted; faults are healed in every case.
pub fn drive(
    backend: &mut dyn Backend,
    plan: &Plan,
    nemeses: Vec<Box<dyn Nemesis>>,
    recorder: &mut Recorder,
    watcher: &mut dyn Watcher,
) -> Result<(), DriveError> {
    let mut driver = RunDriver {
        clients: Clients::new(plan),
        faults: Faults::new(nemeses, Rng::fork(plan.run.seed, 20)),
        vault: VaultNode::new(
            Vault::new(plan.promises.fenced),
            plan.link_delay,
            plan.load.task.workers,
        ),
        backend,
        plan,
        recorder,
        watcher,
        begun: Mono::from_nanos(u64::MAX),
        inbox: Vec::new(),
    };
    let outcome = driver.run();
    if outcome.is_err() {
        // The first error is the one to tell; what is left of the world is torn down anyway.
        let _ = driver.heal_all(Duration::from_secs(20));
    }
    outcome
}

struct RunDriver<'a> {
    backend: &'a mut dyn Backend,
    plan: &'a Plan,
    recorder: &'a mut Recorder,
    watcher: &'a mut dyn Watcher,
    clients: Clients,
    faults: Faults,
    vault: VaultNode,
    /// The time at which all clients were up.
    begun: Mono,
    /// Empty between two steps; kept for its memory.
    inbox: Vec<Message>,
}

impl RunDriver<'_> {
    fn run(&mut self) -> Result<(), DriveError> {
        self.start()?;
        let begin = self.backend.now();
        (self.begun, self.recorder.played.begin) = (begin, begin);
        self.clients.begin(begin);
        if self.plan.draws_faults {
            self.faults.end_by(begin + self.plan.run.time_limit());
        }
        self.pass(begin + self.plan.run.time_limit(), true)?;
        self.heal_all(SETTLE)?;
        self.mark(F::Quiet);
        self.pass(self.backend.now() + self.plan.quiet, false)?;
        if let Some(what) = self.backend.interference() {
            return self.interfered(self.backend.now(), what);
        }
        self.mark(F::Stop);
        Ok(())
    }

    /// Starts all clients and waits until they are ready.
    fn start(&mut self) -> Result<(), DriveError> {
        let until = self.backend.now() + self.plan.start_up;
        while !self.clients.all_up() {
            if self.backend.now() >= until {
                return Err(BackendError(self.not_up()).into());
            }
            // There is no run yet that somebody could have disturbed.
            self.step(until).map_err(|error| match error {
                DriveError::Interference(what) => BackendError(what).into(),
                error => error,
            })?;
            if let Some(lack) = self.clients.unfit() {
                return Err(lack.into());
            }
        }
        Ok(())
    }

    /// Returns the reason why the clients did not come up, in words.
    fn not_up(&self) -> String {
        let within = span(nanos(self.plan.start_up));
        match self.clients.refusal() {
            Some(why) => format!("the clients did not come up within {within}: {why}"),
            None => {
                format!("the clients did not answer `init` within {within}; their logs are in log/")
            }
        }
    }

    /// Lets time pass until `until` or until no client has a turn left, with or without new faults.
    fn pass(&mut self, until: Mono, with_faults: bool) -> Result<(), DriveError> {
        loop {
            let now = self.backend.now();
            if now >= until || self.clients.all_done() {
                return Ok(());
            }
            let mut next = until;
            if with_faults {
                next = next.min(self.inject_and_heal(now)?.unwrap_or(until));
            }
            self.step(next)?;
        }
    }

    /// Lets the nemeses have their turn and heals what has lasted long enough. Says when to look
    /// again.
    fn inject_and_heal(&mut self, now: Mono) -> Result<Option<Mono>, DriveError> {
        self.heal_due(now)?;
        if !self.faults.wants_to_be_asked(now) {
            return Ok(self.faults.next_look());
        }
        let view = self.clients.view(&self.faults);
        let standings = self.standings();
        let servers = ServersSeen { answering: self.clients.answering(), standings: &standings };
        for wanted in self.faults.ask(now, self.plan, view, servers, self.recorder) {
            self.recorder.wanted(now, &wanted, leaders(&standings));
            let WantedFault { id, fault, .. } = wanted;
            self.clients.before_fault(&fault, now, &mut self.vault, self.recorder);
            if fault.is_at_vault() {
                self.vault.inject(now, id, &fault);
                self.faults.injected(id, now, self.recorder);
            } else if let Err(error) = self.backend.inject(id, &fault) {
                self.faults.give_up(id);
                return Err(error.into());
            }
        }
        Ok(self.faults.next_look())
    }

    /// The standing of each server among the others, if a nemesis looks at that.
    fn standings(&mut self) -> Vec<Option<ServerStanding>> {
        match self.faults.look_at_standings() {
            true => self.backend.standings(),
            false => Vec::new(),
        }
    }

    /// Heals the faults whose time is over.
    fn heal_due(&mut self, now: Mono) -> Result<(), DriveError> {
        for (id, fault) in self.faults.due(now) {
            let at = self.backend.now();
            let nothing = FaultOutcome::default();
            self.recorder.fault(at, Kind::Invoke, F::Heal, id, &fault, nothing);
            if fault.is_at_vault() {
                let effect = self.vault.heal(at, id, &fault);
                let outcome = FaultOutcome { effect: Some(effect), leaders: Vec::new() };
                self.faults.healed(id, outcome, at, self.recorder);
            } else if let Err(error) = self.backend.heal(id, &fault) {
                self.faults.give_up(id);
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn heal_all(&mut self, within: Duration) -> Result<(), DriveError> {
        let until = self.backend.now() + within;
        loop {
            let now = self.backend.now();
            self.faults.end_all(now);
            self.heal_due(now)?;
            if self.faults.none_active() {
                return Ok(());
            }
            if self.backend.now() >= until {
                return Err(BackendError("the faults could not be healed in time".into()).into());
            }
            self.listen(until)?;
        }
    }

    /// Does what clients have to do now, then waits for the next thing to happen.
    fn step(&mut self, until: Mono) -> Result<(), DriveError> {
        let now = self.backend.now();
        if !self.watcher.goes_on(now, self.recorder.history().events().len()) {
            return Err(DriveError::Interrupted);
        }
        if self.recorder.is_full() {
            return Err(DriveError::Full);
        }
        self.clients.deliver(now, None, &mut self.vault, self.recorder);
        let (backend, vault) = (&mut *self.backend, &mut self.vault);
        let due = self.clients.act(now, backend, vault, self.recorder)?;
        let next = due.into_iter().chain(self.vault.next_arrival()).fold(until, Mono::min);
        self.listen(next)
    }

    fn listen(&mut self, until: Mono) -> Result<(), DriveError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        self.backend.advance(until, self.faults.passing(), &mut inbox)?;
        // What comes behind the end of the run may be that a fault is in force, which has to be
        // undone.
        let mut outcome = Ok(());
        for message in inbox.drain(..) {
            outcome = outcome.and(self.hear(message));
        }
        self.inbox = inbox;
        outcome
    }

    fn hear(&mut self, message: Message) -> Result<(), DriveError> {
        let Message { at, notice } = message;
        match notice {
            Notice::Client { process, response } => {
                let heard =
                    self.clients.hear(process, response, at, &mut self.vault, self.recorder);
                if let Err(stray) = heard {
                    return self.interfered(at, stray.to_string());
                }
            }
            Notice::Passed { process, server } => self.clients.passed(process, server, at),
            Notice::Died { process, error } => {
                if self.clients.died(process, at, &error, &mut self.vault, self.recorder) {
                    return self.interfered(at, format!("process {process} died: {error}"));
                }
            }
            Notice::Interference { what } => return self.interfered(at, what),
            Notice::Stalled { stall } => {
                // Before all clients were up, there was nothing that it could have spoilt.
                let lasted_ns = stall.lasted_ns.min(at.since(self.begun).as_nanos() as u64);
                if lasted_ns < Stall::LEAST_NS {
                    return Ok(());
                }
                let stall = Stall { lasted_ns, ..stall };
                let of = (at, Process::Nemesis, Kind::Info, F::Stall);
                let facts = Facts { stall: Some(stall), ..Facts::default() };
                self.recorder.push(of, |event| event.facts = Some(Box::new(facts)));
            }
            Notice::Injected { id } => self.faults.injected(id, at, self.recorder),
            Notice::GivenUp { id } => self.faults.give_up(id),
            Notice::Healed { id, effect } => {
                let leaders = leaders(&self.standings());
                let outcome = FaultOutcome { effect: Some(effect), leaders };
                if let Some(fault) = self.faults.healed(id, outcome, at, self.recorder) {
                    self.clients.after_heal(&fault, at);
                }
            }
        }
        Ok(())
    }

    /// Ends the run: from here on it would say nothing about the lock.
    fn interfered(&mut self, at: Mono, what: String) -> Result<(), DriveError> {
        let of = (at, Process::Nemesis, Kind::Info, F::Interference);
        self.recorder.push(of, |event| event.error = Some(what.clone()));
        Err(DriveError::Interference(what))
    }

    fn mark(&mut self, f: F) {
        let now = self.backend.now();
        self.recorder.push((now, Process::Nemesis, Kind::Info, f), |_| {});
    }
}

/// The servers that lead others, by number.
fn leaders(standings: &[Option<ServerStanding>]) -> Vec<u32> {
    let leads = |it: &(u32, &Option<ServerStanding>)| *it.1 == Some(ServerStanding::Leader);
    (0..).zip(standings).filter(leads).map(|(number, _)| number).collect()
}
