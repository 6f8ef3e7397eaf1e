//! The common part of the recipes on one Redis server: calling it, and trying again until the time
//! is up.

use base::{AcquireError, CallError, Grant, Link, Mono, Pace, Promises, ReleaseError, Removed};
use redis::{Cmd, FromRedisValue, ToRedisArgs, Value};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::{Redis, Refusal};

use super::LockSettings;

/// Frees a lock if, and only if, it is still the caller's: the script of the Redis documentation.
pub const COMPARE_AND_DELETE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('del', KEYS[1]) else return 0 end";

/// Begins the time to live of a lock anew if, and only if, it is still the caller's.
const COMPARE_AND_RENEW: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";

/// The pause of a client before it asks again for a lock that another holds.
pub const BACK_OFF: Range<Duration> = Duration::from_millis(20)..Duration::from_millis(100);

/// The pace of a lock whose clients ask again after such a pause, with so many round trips a try.
pub const fn polling(pause: Range<Duration>, round_trips: u32) -> Pace {
    Pace { back_off_ns: pause.end.as_nanos() as u64, round_trips, ..Pace::EXACT }
}

/// The promises of a lock that runs out by time, and is taken with one command.
pub const EXPIRING: Promises =
    Promises { recovers: Some(1), pace: polling(BACK_OFF, 1), ..Promises::MUTEX };

/// The grain of a lock that counts whole seconds.
pub const SECOND: u64 = 1_000_000_000;

pub type CallResult<T> = Result<T, CallError<Refusal>>;

/// A command, with room for its arguments: a client makes one for every call.
pub fn command(name: &str) -> Cmd {
    let mut command = Cmd::with_capacity(8, 256);
    command.arg(name);
    command
}

pub struct RedisNode {
    pub link: Rc<dyn Link<Redis>>,
    pub key: String,
    pub ttl: Duration,
}

impl RedisNode {
    pub fn new(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Self {
        Self { link, key: format!("lock:{}", settings.key), ttl: settings.ttl }
    }

    /// Sends a command to the only server and reads its reply as `T`.
    pub fn call<T: FromRedisValue>(
        &self,
        command: impl Into<Rc<Cmd>>,
    ) -> impl Future<Output = CallResult<T>> {
        self.call_at(0, command.into())
    }

    /// Sends a command to a server and reads its reply as `T`.
    pub async fn call_at<T: FromRedisValue>(
        &self,
        server: usize,
        command: Rc<Cmd>,
    ) -> CallResult<T> {
        let value = self.link.call(server, command).await?;
        // A reply of another shape than the command has says nothing about what was done.
        redis::from_redis_value_ref(&value).map_err(|e| CallError::Unknown(e.to_string()))
    }

    /// The lock's time to live as Redis takes it.
    pub fn ttl_millis(&self) -> u64 {
        self.ttl.as_millis() as u64
    }

    /// A value that no other acquire uses.
    pub fn unique(&self) -> String {
        let high = u128::from(self.link.world().random());
        hex(high << 64 | u128::from(self.link.world().random()))
    }

    /// A pause between two tries: clients that retry in step would collide for ever.
    pub async fn back_off(&self, pause: &Range<Duration>) {
        let span = pause.end.saturating_sub(pause.start).as_nanos().max(1) as u64;
        let jitter = Duration::from_nanos(self.link.world().random() % span);
        self.link.world().sleep(pause.start + jitter).await;
    }

    /// Tries again and again until an attempt gives a grant, is in doubt, or the time is up.
    /// `attempt` receives the time at which it begins and returns `None` when another client holds
    /// the lock.
    pub async fn retry(
        &self,
        timeout: Duration,
        pause: Range<Duration>,
        mut attempt: impl AsyncFnMut(Mono) -> CallResult<Option<Grant>>,
    ) -> Result<Grant, AcquireError> {
        let until = self.link.world().monotonic() + timeout;
        loop {
            let asked = self.link.world().monotonic();
            match attempt(asked).await {
                Ok(Some(grant)) => return Ok(Grant { asked: Some(asked), ..grant }),
                Ok(None) => {}
                Err(error) => return Err(no_grant(error)),
            }
            if self.link.world().monotonic() >= until {
                return Err(AcquireError::Failed("held by others".into()));
            }
            self.back_off(&pause).await;
        }
    }

    /// The command `SET key value NX PX ttl`.
    pub fn set_nx_px_command(&self, value: &str) -> Cmd {
        let mut set = command("SET");
        set.arg(&self.key).arg(value).arg("NX").arg("PX").arg(self.ttl_millis());
        set
    }

    /// Takes the lock with one command, `SET key value NX PX ttl`.
    pub async fn set_nx_px(&self, value: &str, timeout: Duration) -> Result<Grant, AcquireError> {
        let set = Rc::new(self.set_nx_px_command(value));
        self.retry(timeout, BACK_OFF, async |asked| {
            match &*self.link.call(0, set.clone()).await? {
                Value::Okay => {
                    Ok(Some(Grant { expires: Some(asked + self.ttl), ..Grant::default() }))
                }
                Value::Nil => Ok(None),
                other => Err(CallError::Unknown(format!("SET was answered by {other:?}"))),
            }
        })
        .await
    }

    /// Sets the key if it does not exist, without an expiry. Returns true if it did.
    pub async fn setnx(&self, value: impl ToRedisArgs) -> CallResult<bool> {
        let mut setnx = command("SETNX");
        setnx.arg(&self.key).arg(value);
        self.call(setnx).await
    }

    /// Deletes the key, whosever it is. Returns the number of keys removed.
    pub async fn delete(&self) -> CallResult<u64> {
        let mut del = command("DEL");
        del.arg(&self.key);
        self.call(del).await
    }

    /// Frees the lock, whosever it is.
    pub async fn free_any(&self) -> Result<Removed, ReleaseError> {
        released(self.delete().await, Removed::Any)
    }

    /// Frees the lock with two commands: if a `GET` finds `value`, a `DEL` follows, and removes
    /// whatever stands there by then.
    pub async fn get_then_delete(&self, value: &str) -> Result<Removed, ReleaseError> {
        let removed = match self.value().await {
            Ok(Some(found)) if found == value => self.delete().await,
            Ok(_) => Ok(0),
            Err(error) => Err(error),
        };
        released(removed, Removed::Any)
    }

    /// Frees the lock if its value is still `value`, which nobody else uses.
    pub async fn compare_and_delete(&self, value: &str) -> Result<Removed, ReleaseError> {
        released(self.call(self.compare_and_delete_command(value)).await, Removed::Own)
    }

    /// The command that frees the lock if its value is still `value`.
    pub fn compare_and_delete_command(&self, value: &str) -> Cmd {
        let mut eval = command("EVAL");
        eval.arg(COMPARE_AND_DELETE).arg(1).arg(&self.key).arg(value);
        eval
    }

    /// Begins the time to live of the lock anew if its value is this one. Returns the number of keys
    /// of which that was done.
    pub async fn compare_and_renew(&self, value: &str) -> CallResult<u64> {
        let mut eval = command("EVAL");
        eval.arg(COMPARE_AND_RENEW).arg(1).arg(&self.key).arg(value).arg(self.ttl_millis());
        self.call(eval).await
    }

    /// Extends a grant whose value is this one, and returns it as it is then.
    pub async fn compare_and_extend(
        &self,
        value: &str,
        grant: Grant,
    ) -> Result<Grant, AcquireError> {
        let asked = self.link.world().monotonic();
        match self.compare_and_renew(value).await.map_err(no_grant)? {
            0 => Err(AcquireError::Failed("it is not ours any more".into())),
            _ => Ok(Grant { asked: Some(asked), expires: Some(asked + self.ttl), ..grant }),
        }
    }

    /// Returns true if the lock's value is this one, which nobody else uses; `None` if the call
    /// fails.
    pub async fn stands(&self, value: &str) -> Option<bool> {
        let found = self.value().await.ok()?;
        Some(found.as_deref() == Some(value))
    }

    async fn value(&self) -> CallResult<Option<String>> {
        let mut get = command("GET");
        get.arg(&self.key);
        self.call(get).await
    }
}

/// All digits of the number, without the formatter: a client makes such a number for every acquire.
fn hex(number: u128) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = vec![0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    String::from_utf8(digits).expect("digits are ASCII")
}

/// The error of an acquire whose call gave no grant.
pub fn no_grant(error: CallError<Refusal>) -> AcquireError {
    match error {
        CallError::Unknown(error) => AcquireError::Unknown(error),
        CallError::Refused(Refusal(error)) => AcquireError::Failed(error),
    }
}

/// The result of a release, from the number of keys that its command removed; `whose` they are if
/// any.
pub fn released(removed: CallResult<u64>, whose: Removed) -> Result<Removed, ReleaseError> {
    match removed {
        Ok(0) => Err(ReleaseError::NotHeld("the key was not this client's any more".into())),
        Ok(_) => Ok(whose),
        Err(CallError::Refused(Refusal(error))) => Err(ReleaseError::NotHeld(error)),
        Err(CallError::Unknown(error)) => Err(ReleaseError::Unknown(error)),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_number_has_all_its_hexadecimal_digits() {
        for number in [0, 10, 0x0123_4567_89ab_cdef << 32, u128::MAX] {
            assert_eq!(super::hex(number), format!("{number:032x}"));
        }
    }

    #[test]
    fn the_release_script_is_known_to_the_model() {
        assert!(stores::redis::script::is_harmless(super::COMPARE_AND_DELETE));
        assert!(stores::redis::script::is_harmless(super::COMPARE_AND_RENEW));
    }
}
