//! A lock on one server.

use redis::aio::ConnectionLike;
use redis::{RedisResult, cmd};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const COMPARE_AND_DELETE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('del', KEYS[1]) else return 0 end";

const COMPARE_AND_RENEW: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// A lock that its holder loses after a time.
#[derive(Clone)]
pub struct OwnLock {
    pub(crate) key: String,
    /// A value that no other lock has.
    pub(crate) owner: String,
    pub(crate) ttl: Duration,
}

impl OwnLock {
    /// A lock on a key. `owner` must be unique.
    pub fn new(key: &str, owner: String, ttl: Duration) -> Self {
        Self { key: key.into(), owner, ttl }
    }

    /// Tries once to take the lock. Returns whether it was granted.
    ///
    /// # Errors
    /// Fails when the connection does: nobody knows then whether it was.
    pub async fn try_acquire(&self, connection: &mut impl ConnectionLike) -> RedisResult<bool> {
        let mut set = cmd("SET");
        set.arg(&self.key).arg(&self.owner).arg("NX").arg("PX").arg(self.ttl_ms());
        Ok(set.query_async::<Option<()>>(connection).await?.is_some())
    }

    /// Tries to take the lock until `patience` is over. Returns whether it was granted.
    ///
    /// # Errors
    /// Fails when the connection does: nobody knows then whether it was.
    pub async fn acquire(
        &self,
        connection: &mut impl ConnectionLike,
        patience: Duration,
    ) -> RedisResult<bool> {
        let until = Instant::now() + patience;
        while !self.try_acquire(connection).await? {
            if Instant::now() >= until {
                return Ok(false);
            }
            sleep(PAUSE).await;
        }
        Ok(true)
    }

    /// Gives the lock its whole time anew. Returns whether it was still ours.
    ///
    /// # Errors
    /// Fails when the connection does.
    pub async fn renew(&self, connection: &mut impl ConnectionLike) -> RedisResult<bool> {
        let mut renew = cmd("EVAL");
        renew.arg(COMPARE_AND_RENEW).arg(1).arg(&self.key).arg(&self.owner).arg(self.ttl_ms());
        renew.query_async(connection).await
    }

    /// Frees the lock. Returns whether it was still ours.
    ///
    /// # Errors
    /// Fails when the connection does.
    pub async fn release(&self, connection: &mut impl ConnectionLike) -> RedisResult<bool> {
        let mut free = cmd("EVAL");
        free.arg(COMPARE_AND_DELETE).arg(1).arg(&self.key).arg(&self.owner);
        free.query_async(connection).await
    }

    pub(crate) fn ttl_ms(&self) -> u64 {
        self.ttl.as_millis() as u64
    }
}
