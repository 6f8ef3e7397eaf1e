//! Locks of somebody else's Rust, in the simulator: a sound one holds, and each planted mistake is
//! found, shrunk, kept and found again.

use base::Outcome;
use expect_test::expect;
use picklock::{
    AcquireError, Grant, Lab, Lock, Mode, Nemesis, Promises, ReleaseError, Removed, Site,
};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{RedisResult, cmd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::tempdir;
use tokio::task::{JoinHandle, spawn};
use tokio::time::{Instant, sleep, timeout};

/// A mistake that locks are known to make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A release deletes the key, whoever's it is.
    ReleasesAnyones,
    /// An acquire whose outcome is unknown counts as one that failed.
    TakesDoubtForNo,
    /// A majority of five is taken to be two.
    MajorityOffByOne,
    /// A renewal writes the key, whoever has it.
    RenewsAnyones,
}

const FREE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// A lock as a crate of somebody else has it: over any connection, which knows nothing of picklock.
async fn set_nx(
    connection: &mut impl ConnectionLike,
    key: &str,
    value: &str,
    ttl: Duration,
) -> RedisResult<bool> {
    let mut set = cmd("SET");
    set.arg(key).arg(value).arg("NX").arg("PX").arg(ttl.as_millis() as u64);
    let reply: Option<String> = set.query_async(connection).await?;
    Ok(reply.is_some())
}

async fn free(connection: &mut impl ConnectionLike, key: &str, value: &str) -> RedisResult<u64> {
    cmd("EVAL").arg(FREE).arg(1).arg(key).arg(value).query_async(connection).await
}

struct Own {
    site: Site,
    mistake: Mistake,
    value: String,
}

impl Own {
    fn made(mistake: Mistake) -> impl Fn(Site) -> Self {
        move |site| Self { site, mistake, value: String::new() }
    }

    fn quorum(&self) -> usize {
        let majority = self.site.servers() / 2 + 1;
        if self.mistake == Mistake::MajorityOffByOne { majority - 1 } else { majority }
    }

    /// Asks all servers, and returns whether a majority has granted it.
    async fn take(&self) -> RedisResult<bool> {
        let mut granted = 0;
        let mut doubt = None;
        for server in 0..self.site.servers() {
            let mut connection = self.site.connection(server);
            match set_nx(&mut connection, self.site.key(), &self.value, self.site.ttl()).await {
                Ok(is_granted) => granted += usize::from(is_granted),
                Err(error) => doubt = Some(error),
            }
        }
        match doubt {
            _ if granted >= self.quorum() => Ok(true),
            Some(error) => Err(error),
            None => Ok(false),
        }
    }
}

impl Lock for Own {
    async fn acquire(&mut self, _: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.value = format!("{:016x}", self.site.random());
        let until = Instant::now() + timeout;
        loop {
            match self.take().await {
                Ok(true) => return Ok(Grant::default()),
                Ok(false) => {}
                Err(error) if self.mistake == Mistake::TakesDoubtForNo => {
                    return Err(AcquireError::Failed(error.to_string()));
                }
                Err(error) => return Err(AcquireError::Unknown(error.to_string())),
            }
            for server in (0..self.site.servers()).filter(|_| self.site.servers() > 1) {
                let _ = free(&mut self.site.connection(server), self.site.key(), &self.value).await;
            }
            if Instant::now() >= until {
                return Err(AcquireError::Failed("somebody else has it".into()));
            }
            sleep(Duration::from_millis(20 + self.site.random() % 60)).await;
        }
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        let mut removed = 0;
        for server in 0..self.site.servers() {
            let mut connection = self.site.connection(server);
            let done: RedisResult<u64> = match self.mistake {
                Mistake::ReleasesAnyones => {
                    cmd("DEL").arg(self.site.key()).query_async(&mut connection).await
                }
                _ => free(&mut connection, self.site.key(), &self.value).await,
            };
            removed += done.map_err(|error| ReleaseError::Unknown(error.to_string()))?;
        }
        match removed {
            0 => Err(ReleaseError::NotHeld("its time is over".into())),
            _ if self.mistake == Mistake::ReleasesAnyones => Ok(Removed::Any),
            _ => Ok(Removed::Own),
        }
    }

    async fn held(&self) -> Option<bool> {
        let mut connection = self.site.connection(0);
        let mut get = cmd("GET");
        let value: Option<String> =
            get.arg(self.site.key()).query_async(&mut connection).await.ok()?;
        Some(value.as_ref() == Some(&self.value))
    }
}

fn one(mistake: Mistake, kept: &Path) -> Lab {
    let promises = Promises::mutex().recovers();
    Lab::redis().lock(Own::made(mistake)).named("own").promises(promises).keeping_in(kept)
}

fn five(mistake: Mistake, kept: &Path) -> Lab {
    Lab::redis_x5().lock(Own::made(mistake)).named("own-x5").keeping_in(kept)
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn a_sound_lock_holds() {
    let kept = tempdir().expect("a folder");
    let lab =
        one(Mistake::None, kept.path()).under([Nemesis::CrashClient, Nemesis::PartitionClient]);
    let outcome = lab.schedules(400).check().expect("it runs");
    assert_eq!(outcome.outcome, Outcome::Held, "{outcome}");
    assert_eq!((outcome.schedules, files(kept.path())), (400, 0));
    five(Mistake::None, kept.path()).under([Nemesis::CrashClient]).schedules(50).assert_held();
}

/// Looks for an anomaly, and checks again: the second time the schedule that was kept shows it.
fn is_found_and_kept(anomaly: &str, lab: impl Fn(&Path) -> Lab) {
    let kept = tempdir().expect("a folder");
    lab(kept.path()).schedules(500).assert_violated(anomaly);
    let again = lab(kept.path()).schedules(500).check().expect("it runs");
    let found = again.counterexample.expect("a counterexample");
    assert!(found.anomaly.starts_with(anomaly), "{}", found.anomaly);
    assert_eq!((again.schedules, again.outcome), (1, Outcome::Violated));
    assert!(found.story.contains("asks for the lock"), "{}", found.story);
    assert!(found.report.is_some_and(|page| page.is_file()));
}

#[test]
fn a_planted_mistake_is_found_shrunk_kept_and_found_again() {
    is_found_and_kept("double hold by foreign-release", |kept| {
        one(Mistake::ReleasesAnyones, kept).under([Nemesis::PauseClient])
    });
    is_found_and_kept("phantom holder", |kept| {
        one(Mistake::TakesDoubtForNo, kept).under([Nemesis::LinkLoseReply])
    });
    // A sound one shows double holds here, too, but of its own making.
    is_found_and_kept("double hold by foreign-release", |kept| {
        let lab = renewed(Mistake::RenewsAnyones, kept).holding(Duration::from_secs(3));
        lab.under([Nemesis::PauseClient])
    });
    is_found_and_kept("double hold by recipe", |kept| {
        five(Mistake::MajorityOffByOne, kept).under([Nemesis::None])
    });
}

#[test]
#[should_panic(expected = "replay    PICKLOCK_REPLAY=")]
fn a_failure_says_how_to_replay_it() {
    let kept = tempdir().expect("a folder");
    one(Mistake::ReleasesAnyones, kept.path()).under([Nemesis::PauseClient]).assert_held();
}

#[test]
fn a_violation_can_be_asked_for() {
    let kept = tempdir().expect("a folder");
    let lab = one(Mistake::None, kept.path()).under([Nemesis::PauseClient]);
    lab.assert_violated("double hold by holder-paused");
}

#[test]
#[should_panic(expected = "after 20 schedules, which showed double hold by holder-paused")]
fn what_was_shown_in_place_of_what_was_asked_for_is_named() {
    let kept = tempdir().expect("a folder");
    let lab = one(Mistake::None, kept.path()).under([Nemesis::PauseClient]).schedules(20);
    lab.assert_violated("double hold by recovery");
}

#[test]
fn a_mistake_in_what_is_asked_for_is_reported_in_one_line() {
    let kept = tempdir().expect("a folder");
    let error_of = |lab: Lab| lab.check().expect_err("a mistake").to_string();
    let ring = one(Mistake::None, kept.path()).under([Nemesis::PartitionRing]);
    expect!["the nemesis partition-ring needs 5 servers that talk to each other, and own on redis has fewer: give --on redis-sentinel or redis-cluster"].assert_eq(&error_of(ring));
    expect!["a lab needs a fault: give .under([Nemesis::None]) for a run without one"]
        .assert_eq(&error_of(one(Mistake::None, kept.path()).under([])));
}

/// A lock whose keeper, a task of its own, renews it while it is held.
struct Kept {
    own: Own,
    keeper: Option<JoinHandle<()>>,
}

impl Kept {
    fn made(mistake: Mistake) -> impl Fn(Site) -> Self {
        move |site| Self { own: Own::made(mistake)(site), keeper: None }
    }

    fn keep(&self) -> JoinHandle<()> {
        let (mut connection, ttl) = (self.own.site.connection(0), self.own.site.ttl());
        let (key, value) = (self.own.site.key().to_owned(), self.own.value.clone());
        let renew = match self.own.mistake {
            Mistake::RenewsAnyones => RENEW_ANYONES,
            _ => RENEW,
        };
        spawn(async move {
            loop {
                sleep(ttl / 4).await;
                let mut eval = cmd("EVAL");
                eval.arg(renew).arg(1).arg(&key).arg(&value).arg(ttl.as_millis() as u64);
                let renewed = timeout(ttl / 4, eval.query_async::<u64>(&mut connection)).await;
                if let Ok(Ok(0)) = renewed {
                    return;
                }
            }
        })
    }
}

const RENEW_ANYONES: &str = "return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) and 1 or 0";

const RENEW: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";

impl Lock for Kept {
    async fn acquire(&mut self, mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let grant = Lock::acquire(&mut self.own, mode, timeout).await?;
        self.keeper = Some(self.keep());
        Ok(grant)
    }

    async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
        if let Some(keeper) = self.keeper.take() {
            keeper.abort();
        }
        Lock::release(&mut self.own, grant).await
    }
}

fn renewed(mistake: Mistake, kept: &Path) -> Lab {
    let lab = Lab::redis().lock(Kept::made(mistake)).named("kept").keeping_in(kept);
    lab.ttl(Duration::from_secs(1))
}

/// A hold of three ttls is safe only if the tasks of tokio run while the lock is held.
#[test]
fn a_task_of_tokio_renews_what_is_held() {
    let kept = tempdir().expect("a folder");
    let (ttl, hold) = (Duration::from_secs(1), Duration::from_secs(3));
    let kept_alive = || renewed(Mistake::None, kept.path());
    kept_alive().holding(hold).under([Nemesis::None]).schedules(60).assert_held();
    kept_alive().under([Nemesis::PauseClient]).assert_violated("double hold by holder-paused");
    let without =
        one(Mistake::None, kept.path()).ttl(ttl).holding(hold).under([Nemesis::None]).schedules(60);
    let outcome = without.check().expect("it runs");
    assert_eq!(outcome.outcome, Outcome::Violated, "{outcome}");
}

/// A lock that is slower each time, in whatever run: the number of times is no part of a schedule.
fn slower_each_time(site: Site) -> Slower {
    Slower(Own::made(Mistake::None)(site))
}

struct Slower(Own);

static TIMES: AtomicU64 = AtomicU64::new(0);

impl Lock for Slower {
    async fn acquire(&mut self, mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        sleep(Duration::from_millis(TIMES.fetch_add(1, Ordering::Relaxed) % 50)).await;
        Lock::acquire(&mut self.0, mode, timeout).await
    }

    async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
        Lock::release(&mut self.0, grant).await
    }
}

#[test]
fn a_lock_that_no_seed_repeats_is_refused() {
    let kept = tempdir().expect("a folder");
    let lab = Lab::redis().lock(slower_each_time).named("slower").keeping_in(kept.path());
    let error = lab.check().expect_err("no replay").to_string();
    assert!(error.contains("the same seed, 0, gave two histories"), "{error}");
}

/// A lock that is written against the library's own type of a connection.
struct OnType {
    own: Own,
    connection: MultiplexedConnection,
}

impl OnType {
    fn opened(site: Site) -> Self {
        let connection = site.multiplexed(0);
        Self { own: Own::made(Mistake::None)(site), connection }
    }

    /// Connects again after an error, as a program does.
    fn reconnected<T>(&mut self, answer: RedisResult<T>) -> Result<T, String> {
        answer.map_err(|error| {
            self.connection = self.own.site.multiplexed(0);
            error.to_string()
        })
    }
}

impl Lock for OnType {
    async fn acquire(&mut self, _: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        let until = Instant::now() + patience;
        self.own.value = format!("{:016x}", self.own.site.random());
        loop {
            let (key, ttl) = (self.own.site.key().to_owned(), self.own.site.ttl());
            let set = set_nx(&mut self.connection, &key, &self.own.value, ttl).await;
            match self.reconnected(set) {
                Ok(true) => return Ok(Grant::default()),
                Ok(false) => {}
                Err(error) => return Err(AcquireError::Unknown(error)),
            }
            if Instant::now() >= until {
                return Err(AcquireError::Failed("somebody else has it".into()));
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        let freed = free(&mut self.connection, self.own.site.key(), &self.own.value).await;
        match self.reconnected(freed) {
            Ok(1) => Ok(Removed::Own),
            Ok(_) => Err(ReleaseError::NotHeld("its time is over".into())),
            Err(error) => Err(ReleaseError::Unknown(error)),
        }
    }
}

#[test]
fn a_multiplexed_connection_is_a_connection_to_the_model() {
    let kept = tempdir().expect("a folder");
    let lab = || {
        Lab::redis()
            .lock(OnType::opened)
            .named("on-type")
            .promises(Promises::mutex().recovers())
            .keeping_in(kept.path())
    };
    lab().under([Nemesis::CrashClient, Nemesis::PartitionClient]).schedules(200).assert_held();
    lab().under([Nemesis::PauseClient]).assert_violated("double hold by holder-paused");
}
