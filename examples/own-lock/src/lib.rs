//! A lock on one Redis server, as a team has it in a crate of its own. It knows nothing of picklock.

use redis::aio::ConnectionLike;
use redis::{RedisResult, cmd};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const COMPARE_AND_DELETE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('del', KEYS[1]) else return 0 end";

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// A lock that its holder loses after a time.
pub struct OwnLock {
    key: String,
    /// A value that no other lock has.
    owner: String,
    ttl: Duration,
}

impl OwnLock {
    /// A lock on a key. `owner` must be unique.
    pub fn new(key: &str, owner: String, ttl: Duration) -> Self {
        Self { key: key.into(), owner, ttl }
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
        loop {
            let mut set = cmd("SET");
            set.arg(&self.key)
                .arg(&self.owner)
                .arg("NX")
                .arg("PX")
                .arg(self.ttl.as_millis() as u64);
            if set.query_async::<Option<String>>(connection).await?.is_some() {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            sleep(PAUSE).await;
        }
    }

    /// Frees the lock. Returns whether it was still ours.
    ///
    /// # Errors
    /// Fails when the connection does.
    pub async fn release(&self, connection: &mut impl ConnectionLike) -> RedisResult<bool> {
        let mut free = cmd("EVAL");
        free.arg(COMPARE_AND_DELETE).arg(1).arg(&self.key).arg(&self.owner);
        Ok(free.query_async::<u64>(connection).await? == 1)
    }

    /// Frees the lock without a look at whose it is: the mistake that the tests find.
    ///
    /// # Errors
    /// Fails when the connection does.
    pub async fn release_whoever_has_it(
        &self,
        connection: &mut impl ConnectionLike,
    ) -> RedisResult<bool> {
        Ok(cmd("DEL").arg(&self.key).query_async::<u64>(connection).await? == 1)
    }
}
