//! Labs on real servers: their clients are this program again, paused and killed for real.

mod woken;

use base::Outcome;
use picklock::{
    AcquireError, Grant, Lab, Lock, Mode, Nemesis, Promises, RedisConnection, ReleaseError,
    Removed, Site,
};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{RedisResult, cmd, pipe};
use std::process::Command;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const FREE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// A lock over connections of some type, as a crate of somebody else has it.
struct Own<C> {
    site: Site,
    connect: fn(&Site) -> C,
    connection: C,
    value: String,
}

impl<C: ConnectionLike> Own<C> {
    fn over(connect: fn(&Site) -> C) -> impl Fn(Site) -> Self {
        move |site| Self { connection: connect(&site), connect, site, value: String::new() }
    }

    /// Sets the key if it is free, in a transaction that does nothing else.
    async fn take(&mut self) -> RedisResult<bool> {
        let mut both = pipe();
        both.atomic();
        both.cmd("SET").arg(self.site.key()).arg(&self.value).arg("NX");
        both.arg("PX").arg(self.site.ttl().as_millis() as u64);
        let (reply,): (Option<String>,) = both.query_async(&mut self.connection).await?;
        Ok(reply.is_some())
    }

    /// Connects again after an error, as a program does.
    fn connected<T>(&mut self, answer: RedisResult<T>) -> Result<T, String> {
        answer.map_err(|error| {
            self.connection = (self.connect)(&self.site);
            error.to_string()
        })
    }
}

impl<C: ConnectionLike> Lock for Own<C> {
    async fn acquire(&mut self, _: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        println!("whatever a lock prints is not for picklock");
        self.value = format!("{:016x}", self.site.random());
        let until = Instant::now() + timeout;
        loop {
            let taken = self.take().await;
            if self.connected(taken).map_err(AcquireError::Unknown)? {
                return Ok(Grant::default());
            }
            if Instant::now() >= until {
                return Err(AcquireError::Failed("somebody else has it".into()));
            }
            sleep(Duration::from_millis(20 + self.site.random() % 60)).await;
        }
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        let mut eval = cmd("EVAL");
        eval.arg(FREE).arg(1).arg(self.site.key()).arg(&self.value);
        let freed = eval.query_async(&mut self.connection).await;
        match self.connected(freed).map_err(ReleaseError::Unknown)? {
            1 => Ok(Removed::Own),
            _ => Err(ReleaseError::NotHeld("its time is over".into())),
        }
    }
}

fn tested<L: Lock + 'static>(lock: impl Fn(Site) -> L + Send + Sync + 'static) -> Lab {
    Lab::redis().lock(lock).ttl(Duration::from_secs(1)).promises(Promises::mutex().recovers())
}

fn lab() -> Lab {
    tested(Own::<RedisConnection>::over(|site| site.connection(0)))
}

#[test]
fn a_sound_lock_holds_while_its_clients_are_killed() {
    let outcome = lab().under([Nemesis::CrashClient]).on_real_servers().schedules(2).check();
    let outcome = outcome.expect("it runs");
    assert_eq!((outcome.outcome, outcome.schedules), (Outcome::Held, 2), "{outcome}");
}

#[test]
fn a_pause_breaks_a_lock_without_fencing() {
    let simulated = lab().under([Nemesis::None]).schedules(1).check().expect("it runs");
    assert!(simulated.counterexample.is_none(), "the clients pass by");
    let lab = lab().under([Nemesis::PauseClient]).on_real_servers().schedules(8);
    lab.assert_violated("double hold by holder-paused");
}

#[test]
fn a_multiplexed_connection_is_one_to_a_real_server() {
    let lock = Own::<MultiplexedConnection>::over(|site| site.multiplexed(0));
    let lab = tested(lock);
    lab.under([Nemesis::None, Nemesis::PartitionClient])
        .on_real_servers()
        .schedules(2)
        .assert_held();
}

#[test]
fn waiters_are_woken_by_messages_of_a_real_server() {
    let lab = woken::lab(true).under([Nemesis::CrashClient]);
    lab.on_real_servers().schedules(1).assert_held();
}

#[test]
fn a_client_that_the_lock_opens_itself_is_one_to_a_real_server() {
    let lock = Own::<MultiplexedConnection>::over(|site| {
        let address = site.address(0).expect("a real server has one");
        let client = redis::Client::open(format!("redis://{address}")).expect("an address");
        let mut own = client.get_connection().expect("a server");
        let pong: RedisResult<String> = cmd("PING").query(&mut own);
        assert_eq!(pong.as_deref(), Ok("PONG"));
        site.multiplexed(0)
    });
    let lab = tested(lock);
    lab.under([Nemesis::None]).on_real_servers().schedules(1).assert_held();
}

#[test]
fn faults_of_clocks_are_left_to_the_simulator() {
    let lab = lab().under([Nemesis::ClockJumpClient]).on_real_servers();
    let error = lab.check().expect_err("a refusal").to_string();
    assert!(error.contains("clock"), "{error}");
}

#[test]
fn a_lab_on_a_thread_of_no_test_is_refused() {
    let checked = std::thread::scope(|scope| {
        scope.spawn(|| lab().on_real_servers().check()).join().expect("it ends")
    });
    let error = checked.expect_err("a refusal").to_string();
    assert!(error.contains("on the thread of a #[test]"), "{error}");
}

/// This program again, with one of its tests and without any server.
#[test]
fn a_missing_server_is_named_with_its_remedy() {
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(["a_multiplexed_connection_is_one_to_a_real_server", "--exact", "--test-threads=1"]);
    let output = again.env("PATH", "").output().expect("it runs");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success(), "{stdout}");
    assert!(stdout.contains("there are no real servers: "), "{stdout}");
    assert!(stdout.contains("redis-server"), "{stdout}");
}
