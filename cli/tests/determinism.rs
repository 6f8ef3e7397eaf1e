//! The determinism check catches what it is there for: a lock that lets the real world in.

use base::{AcquireError, Grant, Link, LocalFuture, Lock, Mode, Promises, ReleaseError, Removed};
use picklock::setup::Setup;
use picklock::simulate;
use std::hash::BuildHasher;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;
use workloads::{BELOW_TTL, LockSettings, LockSpec, On, Opens};

/// `redis-set-nx-px`, but it waits for a time that something outside of the simulator decides.
struct Smuggler {
    lock: Box<dyn Lock>,
    link: Rc<dyn Link<Redis>>,
    wait: fn() -> Duration,
}

impl Lock for Smuggler {
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(async move {
            self.link.world().sleep((self.wait)()).await;
            self.lock.acquire(mode, timeout).await
        })
    }

    fn release(&mut self, grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        self.lock.release(grant)
    }
}

fn smuggle(
    link: Rc<dyn Link<Redis>>,
    settings: LockSettings,
    wait: fn() -> Duration,
) -> Box<dyn Lock> {
    let lock = workloads::find("redis-set-nx-px").expect("a lock of the catalogue");
    let on = lock.open.on::<Redis>().expect("it is a lock on Redis");
    Box::new(Smuggler { lock: on.open(link.clone(), settings), link, wait })
}

#[expect(clippy::disallowed_methods, reason = "what the check must catch")]
fn by_real_time() -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Duration::from_nanos(now.map_or(0, |since| u64::from(since.subsec_nanos()) % 1_000_000))
}

#[expect(clippy::disallowed_types, reason = "what the check must catch")]
fn by_hash_order() -> Duration {
    Duration::from_micros(std::hash::RandomState::new().hash_one(1) % 1_000)
}

fn by_nothing() -> Duration {
    Duration::from_micros(500)
}

fn open_by_real_time(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    smuggle(link, settings, by_real_time)
}

fn open_by_hash_order(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    smuggle(link, settings, by_hash_order)
}

fn open_by_nothing(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    smuggle(link, settings, by_nothing)
}

const fn canary(name: &'static str, open: &'static dyn Opens) -> LockSpec {
    LockSpec {
        name,
        summary: "a canary",
        promises: Promises::MUTEX,
        breaks: &[],
        longest_hold: BELOW_TTL,
        open,
    }
}

static OPENS_REAL_TIME: On<Redis> = On::one(open_by_real_time);
static REAL_TIME: LockSpec = canary("real-time", &OPENS_REAL_TIME);
static OPENS_HASH_ORDER: On<Redis> = On::one(open_by_hash_order);
static HASH_ORDER: LockSpec = canary("hash-order", &OPENS_HASH_ORDER);
static OPENS_NOTHING: On<Redis> = On::one(open_by_nothing);
static NOTHING: LockSpec = canary("nothing", &OPENS_NOTHING);

fn difference(lock: &LockSpec) -> Option<String> {
    let lock = lock.lock();
    let mut run = lock.info.run("none", 7);
    (run.ttl_ns, run.time_limit_ns) = (4_000_000_000, 5_000_000_000);
    let setup = Setup::new(&lock, run).unwrap_or_else(|error| panic!("{error}"));
    simulate::run_twice(&setup).err().map(|error| error.to_string())
}

#[test]
fn real_time_is_caught() {
    let difference = difference(&REAL_TIME).expect("caught");
    assert!(difference.contains("differ at event"), "{difference}");
}

#[test]
fn hash_order_is_caught() {
    assert!(difference(&HASH_ORDER).expect("caught").contains("differ at event"));
}

#[test]
fn nothing_is_nothing() {
    assert_eq!(difference(&NOTHING), None);
}
