//! A lock of somebody else's Rust whose waiters are woken by messages of Redis, as those of
//! Redisson are.

use futures_util::StreamExt;
use picklock::{AcquireError, Grant, Lab, Lock, Mode, Promises, ReleaseError, Removed, Site};
use redis::{RedisResult, cmd};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Takes the lock, or tells how long it is still taken.
const TAKE: &str = "if redis.call('exists', KEYS[1]) == 0 then
    redis.call('hincrby', KEYS[1], ARGV[1], 1)
    redis.call('pexpire', KEYS[1], ARGV[2])
    return -1
end
return redis.call('pttl', KEYS[1])";

/// Frees the lock, and tells everybody.
const FREE: &str = "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[2], 'free')
return 1";

struct Woken {
    site: Site,
    /// True if it waits for no longer than the holder may have the lock: one that died sends no
    /// message.
    minds_the_ttl: bool,
    owner: String,
}

impl Woken {
    fn made(minds_the_ttl: bool) -> impl Fn(Site) -> Self {
        move |site| Self { site, minds_the_ttl, owner: String::new() }
    }

    fn channel(&self) -> String {
        format!("{}:freed", self.site.key())
    }

    /// Returns how long the lock is still taken; `None`: it is taken by this owner now.
    async fn take(&self) -> RedisResult<Option<Duration>> {
        let mut take = cmd("EVAL");
        take.arg(TAKE).arg(1).arg(self.site.key()).arg(&self.owner);
        take.arg(self.site.ttl().as_millis() as u64);
        let left: i64 = take.query_async(&mut self.site.connection(0)).await?;
        Ok(u64::try_from(left).ok().map(Duration::from_millis))
    }
}

impl Lock for Woken {
    async fn acquire(&mut self, _: Mode, limit: Duration) -> Result<Grant, AcquireError> {
        let unknown = |error: redis::RedisError| AcquireError::Unknown(error.to_string());
        let failed = |error: redis::RedisError| AcquireError::Failed(error.to_string());
        self.owner = format!("{:016x}", self.site.random());
        let until = Instant::now() + limit;
        let mut messages = self.site.pub_sub(0);
        messages.subscribe(self.channel()).await.map_err(failed)?;
        let mut messages = messages.into_on_message();
        while let Some(taken) = self.take().await.map_err(unknown)? {
            let left = until.saturating_duration_since(Instant::now());
            let most = match self.minds_the_ttl {
                true => left.min(taken + Duration::from_millis(1)),
                false => left,
            };
            let is_over = match timeout(most, messages.next()).await {
                Ok(message) => message.is_none(),
                Err(_) => most == left,
            };
            if is_over {
                return Err(AcquireError::Failed("nobody has freed it".into()));
            }
        }
        Ok(Grant::default())
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        let mut free = cmd("EVAL");
        free.arg(FREE).arg(1).arg(self.site.key()).arg(&self.owner).arg(self.channel());
        match free.query_async(&mut self.site.connection(0)).await {
            Ok(1) => Ok(Removed::Own),
            Ok(_) => Err(ReleaseError::NotHeld("its time is over".into())),
            Err(error) => Err(ReleaseError::Unknown(error.to_string())),
        }
    }
}

/// A lab for this lock, which minds that a holder may have died, or does not.
pub fn lab(minds_the_ttl: bool) -> Lab {
    Lab::redis().lock(Woken::made(minds_the_ttl)).promises(Promises::mutex().recovers())
}
