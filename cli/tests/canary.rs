//! Canaries: locks that are broken on purpose must be caught, else a green row shows nothing.

use base::{AcquireError, Grant, LocalFuture, Lock, Mode, ReleaseError, RunSpec};
use checkers::Judgement;
use picklock::setup::Setup;
use picklock::simulate;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;
use stores::zookeeper::{Client, ZooKeeper};
use workloads::{LockSettings, LockSpec, On};

/// `zk-sequential`, but it does not hear that its session was disconnected.
struct Deaf(Box<dyn Lock>);

impl Lock for Deaf {
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        self.0.acquire(mode, timeout)
    }

    fn release(&mut self, grant: Grant) -> LocalFuture<'_, Result<base::Removed, ReleaseError>> {
        self.0.release(grant)
    }
}

fn open_deaf(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    let lock = workloads::find("zk-sequential").expect("a lock of the catalogue");
    let on = lock.open.on::<ZooKeeper>().expect("it is a lock on ZooKeeper");
    Box::new(Deaf(on.open(client, settings)))
}

static DEAF: LockSpec = LockSpec {
    name: "zk-sequential-deaf",
    summary: "a canary",
    promises: base::Promises { recovers: Some(2), ..base::Promises::MUTEX },
    breaks: &[],
    longest_hold: workloads::BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open_deaf),
};

/// Counts the seeds, of 100, that show an anomaly.
fn caught(lock: &LockSpec, nemesis: &str, anomaly: &str) -> usize {
    caught_at("contend", lock, nemesis, anomaly)
}

/// The same at a task.
fn caught_at(task: &str, lock: &LockSpec, nemesis: &str, anomaly: &str) -> usize {
    let lock = lock.lock();
    let shows = |seed: &u64| {
        let run = RunSpec { task: task.into(), ..lock.info.run(nemesis, *seed) };
        let setup = Setup::new(&lock, run).unwrap_or_else(|error| panic!("{error}"));
        let run = simulate::run(&setup).expect("the simulator runs");
        Judgement::of(&run).verdicts.iter().any(|verdict| verdict.shows(anomaly))
    };
    (0..100).filter(shows).count()
}

/// Opens the lock of the catalogue that a canary spoils.
fn open_honest(
    name: &str,
    link: Rc<dyn base::Link<Redis>>,
    settings: LockSettings,
) -> Box<dyn Lock> {
    let lock = workloads::find(name).expect("a lock of the catalogue");
    let on = lock.open.on::<Redis>().expect("it is a lock on Redis");
    on.open(link, settings)
}

/// `redis-set-nx-px`, but it takes the server's yes for a no: it compares `OK` with `ok`.
struct Deceived(Box<dyn Lock>);

impl Lock for Deceived {
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(async move {
            self.0.acquire(mode, timeout).await?;
            Err(AcquireError::Failed("OK is not ok".into()))
        })
    }

    fn release(&mut self, grant: Grant) -> LocalFuture<'_, Result<base::Removed, ReleaseError>> {
        self.0.release(grant)
    }

    fn held(&self) -> LocalFuture<'_, Option<bool>> {
        self.0.held()
    }
}

fn open_deceived(link: Rc<dyn base::Link<Redis>>, s: LockSettings) -> Box<dyn Lock> {
    Box::new(Deceived(open_honest("redis-set-nx-px", link, s)))
}

static DECEIVED: LockSpec = LockSpec {
    name: "redis-deceived",
    summary: "a canary",
    promises: base::Promises { recovers: Some(1), ..base::Promises::MUTEX },
    breaks: &[],
    longest_hold: workloads::BELOW_TTL,
    open: &On::<Redis>::one(open_deceived),
};

/// `redis-semaphore`, but it takes one permit, whatever it is asked for.
struct Stingy(Box<dyn Lock>);

impl Lock for Stingy {
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        self.0.acquire(mode, timeout)
    }

    fn acquire_permits(
        &mut self,
        _permits: u32,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        self.0.acquire(Mode::Exclusive, timeout)
    }

    fn release(&mut self, grant: Grant) -> LocalFuture<'_, Result<base::Removed, ReleaseError>> {
        self.0.release(grant)
    }
}

fn open_stingy(link: Rc<dyn base::Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(Stingy(open_honest("redis-semaphore", link, settings)))
}

static STINGY: LockSpec = LockSpec {
    name: "redis-semaphore-stingy",
    summary: "a canary",
    promises: base::Promises { permits: 2, recovers: Some(1), ..base::Promises::MUTEX },
    breaks: &[],
    longest_hold: workloads::BELOW_TTL,
    open: &On::<Redis>::one(open_stingy),
};

#[test]
fn a_semaphore_that_takes_one_permit_for_two_is_caught_by_those_who_ask_for_two() {
    assert_eq!(caught_at("permits", &STINGY, "none", "double hold"), 100);
    assert_eq!(caught(&STINGY, "none", "double hold"), 0);
    let honest = workloads::find("redis-semaphore").expect("a lock of the catalogue");
    assert_eq!(caught_at("permits", honest, "none", "double hold"), 0);
}

/// `redis-semaphore`, but its members stay for an hour.
fn open_leaky(link: Rc<dyn base::Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    let ttl = Duration::from_secs(3600);
    open_honest("redis-semaphore", link, LockSettings { ttl, ..settings })
}

static LEAKY: LockSpec =
    LockSpec { name: "redis-semaphore-leaky", open: &On::<Redis>::one(open_leaky), ..STINGY };

#[test]
fn a_permit_that_a_death_keeps_for_good_is_missed() {
    let caught = caught(&LEAKY, "crash-client", "deadlock");
    assert!(caught >= 90, "caught by {caught} of 100 seeds");
    let honest = workloads::find("redis-semaphore").expect("a lock of the catalogue");
    for task in ["contend", "permits"] {
        assert_eq!(caught_at(task, honest, "crash-client", "deadlock"), 0);
    }
}

#[test]
fn a_client_that_is_told_no_while_it_holds_the_lock_is_a_phantom() {
    let caught = caught(&DECEIVED, "none", "phantom holder");
    assert_eq!(caught, 100);
}

#[test]
fn a_client_that_does_not_obey_disconnected_is_caught_under_partition() {
    let caught = caught(&DEAF, "partition", "double hold");
    assert!(caught >= 20, "caught by {caught} of 100 seeds");
}
