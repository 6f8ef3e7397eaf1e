//! Runs whose world breaks at a fault end at once, with the one error, and with nothing in force;
//! and answers that come too late.

use crate::setup::Setup;
use crate::worlds::sim::{config, world};
use base::{
    Backend, BackendError, ClientRequest, Event, F, Fault, FaultId, Kind, Message, Mono, Notice,
    Passing, RunSpec,
};
use drive::{DriveError, Recorder, Unwatched, drive};
use sim::Simulated;
use std::time::Duration;

/// The way in which a world breaks at its first fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breakage {
    /// The injection is refused.
    Refused,
    /// The injection is begun and fails.
    Uninjected,
    /// The heal is refused.
    HealRefused,
    /// The heal is begun and fails.
    Unhealed,
    /// Somebody else does something just before the fault is in force.
    Interfered,
}

/// A simulated world that breaks.
struct Breaking {
    world: Box<dyn Simulated>,
    how: Breakage,
    given_up: Option<FaultId>,
    fails: bool,
    broke: Option<Mono>,
}

impl Breaking {
    fn fail(&mut self) -> BackendError {
        self.broke = Some(self.now());
        BackendError("it broke".into())
    }

    /// Notes that nobody tries any longer.
    fn give_up(&mut self, id: FaultId) -> Result<(), BackendError> {
        (self.given_up, self.fails) = (Some(id), true);
        Ok(())
    }
}

impl Backend for Breaking {
    fn name(&self) -> &'static str {
        self.world.name()
    }

    fn now(&self) -> Mono {
        self.world.now()
    }

    fn spawn(&mut self, client: u32, process: u32) -> Result<(), BackendError> {
        self.world.spawn(client, process)
    }

    fn send(&mut self, process: u32, request: ClientRequest) {
        self.world.send(process, request);
    }

    fn inject(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError> {
        match self.how {
            Breakage::Refused => Err(self.fail()),
            Breakage::Uninjected => self.give_up(id),
            _ => self.world.inject(id, fault),
        }
    }

    fn heal(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError> {
        match self.how {
            Breakage::HealRefused => Err(self.fail()),
            Breakage::Unhealed => self.give_up(id),
            _ => self.world.heal(id, fault),
        }
    }

    fn advance(
        &mut self,
        until: Mono,
        passing: Passing,
        inbox: &mut Vec<Message>,
    ) -> Result<(), BackendError> {
        if let Some(id) = self.given_up.take() {
            inbox.push(Message { at: self.now(), notice: Notice::GivenUp { id } });
            return Ok(());
        }
        if std::mem::take(&mut self.fails) {
            return Err(self.fail());
        }
        self.world.advance(until, passing, inbox)?;
        let is_in_force = |it: &Message| matches!(it.notice, Notice::Injected { .. });
        if self.how == Breakage::Interfered && inbox.iter().any(is_in_force) {
            self.broke = Some(self.now());
            let notice = Notice::Interference { what: "it broke".into() };
            inbox.insert(0, Message { at: self.now(), notice });
        }
        Ok(())
    }

    fn interference(&mut self) -> Option<String> {
        self.world.interference()
    }

    fn stop(&mut self) -> Result<(), BackendError> {
        self.world.stop()
    }
}

#[test]
fn a_world_that_breaks_at_a_fault_ends_the_run_at_once() {
    let lock = workloads::lock("redis-set-nx-px").expect("a lock of the list");
    let setup = Setup::new(&lock, lock.info.run("pause-server", 1));
    let setup = setup.unwrap_or_else(|why| panic!("{why}"));
    for how in [
        Breakage::Refused,
        Breakage::Uninjected,
        Breakage::HealRefused,
        Breakage::Unhealed,
        Breakage::Interfered,
    ] {
        let world = world(&setup.lock, config(&setup.world), None);
        let mut breaking = Breaking { world, how, given_up: None, fails: false, broke: None };
        let mut recorder = Recorder::in_memory();
        let nemeses = setup.nemeses();
        let ended = drive(&mut breaking, &setup.plan, nemeses, &mut recorder, &mut Unwatched);
        let message = match ended {
            Err(DriveError::Backend(error)) if how != Breakage::Interfered => error.to_string(),
            Err(DriveError::Interference(what)) if how == Breakage::Interfered => what,
            other => panic!("{how:?}: {other:?}"),
        };
        assert_eq!(message, "it broke");
        let since = breaking.now().since(breaking.broke.expect("it broke"));
        assert!(since < Duration::from_millis(100), "{how:?}: it went on for {since:?}");
        let healed = |it: &&base::Event| it.f == F::Heal && it.kind == Kind::Info;
        let healed = recorder.history().events().iter().filter(healed).count();
        assert_eq!(healed, usize::from(how == Breakage::Interfered), "{how:?}");
    }
}

/// Runs the task `ask` with this seed, and returns the number of its late answers, each of which
/// ends its hold: the worker releases it and writes nothing more.
fn late_claims(seed: u64) -> usize {
    let lock = workloads::lock("redis-set-nx-px").expect("a lock of the list");
    let run = lock.info.run("pause-client", seed);
    // Pauses that are shorter than the ttl, after which the store says that the lock is held.
    let fault_scale_ns = Some(run.ttl_ns / 3);
    let run = RunSpec { task: "ask".into(), fault_scale_ns, ..run };
    let setup = Setup::new(&lock, run).unwrap_or_else(|why| panic!("{why}"));
    let mut world = world(&setup.lock, config(&setup.world), None);
    let mut recorder = Recorder::in_memory();
    let nemeses = setup.nemeses();
    drive(&mut *world, &setup.plan, nemeses, &mut recorder, &mut Unwatched).expect("it is driven");
    let events = recorder.history().events();
    let within_ns = base::nanos(setup.plan.short_wait);
    let mut late = 0;
    for (place, event) in events.iter().enumerate().filter(|(_, event)| event.f == F::Valid) {
        let of = |it: &&Event| it.process == event.process;
        let asked = events[..place].iter().rfind(of).map_or(0, |it| it.time_ns);
        let later: Vec<(F, Kind)> =
            events[place + 1..].iter().filter(of).take(2).map(|it| (it.f, it.kind)).collect();
        match event.kind {
            Kind::Ok => assert!(event.time_ns - asked <= within_ns),
            Kind::Info if later.first() == Some(&(F::Lost, Kind::Info)) => {
                assert!(event.time_ns - asked > within_ns);
                assert_eq!(later[1], (F::Release, Kind::Invoke));
                late += 1;
            }
            _ => {}
        }
    }
    late
}

#[test]
fn a_late_claim_is_none() {
    assert!((0..20).map(late_claims).sum::<usize>() > 0, "nobody answered late");
}
