//! Canaries: locks that are broken on purpose must be caught, else a green row shows nothing.

use base::{AcquireError, Grant, LocalFuture, Lock, Mode, ReleaseError, RunSpec};
use checkers::Judgement;
use picklock::setup::Setup;
use picklock::simulate;
use std::collections::BTreeSet;
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

/// The causes of an anomaly that 100 seeds show.
fn causes(lock: &LockSpec, nemesis: &str, anomaly: &str) -> BTreeSet<String> {
    let lock = lock.lock();
    let found = |seed: u64| {
        let setup = Setup::new(&lock, lock.info.run(nemesis, seed));
        let run = simulate::run(&setup.unwrap_or_else(|error| panic!("{error}")));
        let verdicts = Judgement::of(&run.expect("the simulator runs")).verdicts;
        let seen = verdicts.into_iter().flat_map(|verdict| verdict.anomalies);
        seen.filter(|it| it.name == anomaly).map(|it| it.cause.names()).collect::<Vec<_>>()
    };
    (0..100).flat_map(found).collect()
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

/// `redis-semaphore`, but it frees the permit that ends first, whose ever that is.
struct Careless {
    lock: Box<dyn Lock>,
    link: Rc<dyn base::Link<Redis>>,
    key: String,
}

impl Lock for Careless {
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        self.lock.acquire(mode, timeout)
    }

    fn release(&mut self, _grant: Grant) -> LocalFuture<'_, Result<base::Removed, ReleaseError>> {
        Box::pin(async move {
            let freed = self.link.call(0, redis::cmd("ZPOPMIN").arg(&self.key).take().into()).await;
            let freed = freed.map(|_| base::Removed::Any);
            freed.map_err(|error| ReleaseError::Unknown(format!("{error:?}")))
        })
    }
}

fn open_careless(link: Rc<dyn base::Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    let key = format!("lock:{}", settings.key);
    let lock = open_honest("redis-semaphore", link.clone(), settings);
    Box::new(Careless { lock, link, key })
}

static CARELESS: LockSpec =
    LockSpec { name: "redis-semaphore-careless", open: &On::<Redis>::one(open_careless), ..STINGY };

#[test]
fn a_semaphore_whose_release_frees_the_first_permit_frees_those_of_others() {
    let is = |causes: &[&str]| causes.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert!(caught(&CARELESS, "none", "foreign release") >= 90);
    let both = is(&["foreign-release", "recipe"]);
    assert_eq!(causes(&CARELESS, "none", "foreign release"), both);
    // Each frees one, and the permits that are left are as many as the holders, until one runs out.
    let third = causes(&CARELESS, "pause-client", "double hold");
    assert!(third.contains("foreign-release"), "{third:?}");
    let honest = workloads::find("redis-semaphore").expect("a lock of the catalogue");
    for nemesis in ["none", "pause-client", "partition", "crash-client", "clock-jump-server"] {
        assert_eq!(caught(honest, nemesis, "foreign release"), 0, "{nemesis}");
    }
    assert_eq!(causes(honest, "pause-client", "double hold"), is(&["holder-paused"]));
    assert_eq!(causes(honest, "clock-jump-server", "double hold"), is(&["server-clock"]));
}

#[test]
fn a_client_that_is_refused_while_it_holds_the_lock_is_a_phantom() {
    let caught = caught(&DECEIVED, "none", "phantom holder");
    assert_eq!(caught, 100);
}

#[test]
fn a_client_that_does_not_obey_disconnected_is_caught_under_partition() {
    let caught = caught(&DEAF, "partition", "double hold");
    assert!(caught >= 20, "caught by {caught} of 100 seeds");
}
