//! Locks in scripts, in a lab: what a script answers reaches the lock as it is, and what the model
//! does not have is named.

use base::Outcome;
use picklock::{
    AcquireError, Grant, Lab, Lock, Mode, Nemesis, Promises, ReleaseError, Removed, Site,
};
use redis::aio::ConnectionLike;
use redis::{RedisError, RedisResult, cmd};
use std::time::Duration;
use tempfile::tempdir;
use tokio::time::{Instant, sleep};

const TAKE: &str = "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end \
                    return redis.error_reply('LOCKED by another')";
const FREE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// A lock whose script answers by an error that somebody else has it.
struct Scripted {
    site: Site,
    take: &'static str,
    over_stream: bool,
    owner: String,
}

impl Scripted {
    fn made(take: &'static str, over_stream: bool) -> impl Fn(Site) -> Self {
        move |site| Self { owner: format!("{:x}", site.random()), site, take, over_stream }
    }

    async fn ask(&self, script: &str) -> RedisResult<i64> {
        async fn ask(
            it: &Scripted,
            script: &str,
            over: &mut impl ConnectionLike,
        ) -> RedisResult<i64> {
            let mut eval = cmd("EVAL");
            eval.arg(script).arg(1).arg(it.site.key()).arg(&it.owner);
            eval.arg(it.site.ttl().as_millis() as u64).query_async(over).await
        }
        match self.over_stream {
            true => ask(self, script, &mut self.site.multiplexed(0)).await,
            false => ask(self, script, &mut self.site.connection(0)).await,
        }
    }
}

fn is_locked(error: &RedisError) -> bool {
    error.code() == Some("LOCKED")
}

impl Lock for Scripted {
    async fn acquire(&mut self, _: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        let until = Instant::now() + patience;
        loop {
            match self.ask(self.take).await {
                Ok(_) => return Ok(Grant::default()),
                Err(error) if is_locked(&error) && Instant::now() < until => {}
                Err(error) if is_locked(&error) => {
                    return Err(AcquireError::Failed(error.to_string()));
                }
                Err(error) => return Err(AcquireError::Unknown(error.to_string())),
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        match self.ask(FREE).await {
            Ok(0) => Err(ReleaseError::NotHeld("its time was over".into())),
            Ok(_) => Ok(Removed::Own),
            Err(error) => Err(ReleaseError::Unknown(error.to_string())),
        }
    }
}

fn lab(take: &'static str, over_stream: bool) -> Lab {
    let promises = Promises::mutex().recovers().back_off(Duration::from_millis(50));
    Lab::redis().lock(Scripted::made(take, over_stream)).promises(promises).schedules(20)
}

#[test]
fn an_error_of_a_script_is_an_answer() {
    for over_stream in [false, true] {
        lab(TAKE, over_stream).under([Nemesis::None, Nemesis::CrashClient]).assert_held();
    }
}

#[test]
#[should_panic(expected = "picklock's model of Redis has no XADD for scripts")]
fn a_command_of_a_script_that_the_model_does_not_have_is_named() {
    lab("return redis.call('XADD', KEYS[1], '*', 'owner', ARGV[1])", false).assert_held();
}

#[test]
#[should_panic(expected = "picklock's model of Redis has no cjson for scripts")]
fn a_library_of_scripts_that_the_model_does_not_have_is_named() {
    lab("return cjson.encode({})", true).assert_held();
}

#[test]
#[should_panic(expected = "there is no server 1: the lab has 1, from 0")]
fn a_server_that_a_lab_does_not_have_is_named() {
    Lab::redis()
        .lock(|site: Site| Scripted {
            site: {
                site.connection(1);
                site
            },
            take: TAKE,
            over_stream: false,
            owner: String::new(),
        })
        .assert_held();
}

/// The thread has the name of the test.
#[test]
fn _any_name_of_a_test_and_any_ttl_of_the_range_will_do() {
    for ttl in [Duration::from_millis(100), Duration::from_secs(600)] {
        let tested = lab(TAKE, false).ttl(ttl).under([Nemesis::None]).schedules(2).check();
        assert_ne!(tested.expect("it is tested").outcome, Outcome::Violated);
    }
}

/// It may be that of another lab in the same test.
#[test]
fn a_kept_schedule_of_another_fault_is_left_alone() {
    let kept = tempdir().expect("a folder");
    let under = |nemesis| lab(TAKE, false).keeping_in(kept.path()).under([nemesis]);
    under(Nemesis::PauseClient).assert_violated("double hold by holder-paused");
    assert_eq!(kept.path().read_dir().expect("kept").count(), 1);
    under(Nemesis::CrashClient).assert_held();
}
