//! Mistakes that locks are known to make. The tests show how each of them is found.

use crate::{Keeper, MajorityLock, OwnLock};
use redis::aio::ConnectionLike;
use redis::{RedisResult, cmd};
use std::time::Duration;
use tokio::time::sleep;

/// Frees a lock without a look at whose it is.
///
/// # Errors
/// Fails when the connection does.
pub async fn release_anyones(
    lock: &OwnLock,
    connection: &mut impl ConnectionLike,
) -> RedisResult<bool> {
    cmd("DEL").arg(&lock.key).query_async(connection).await
}

/// Renews a lock, for as long as it is kept, without a look at whose it is.
pub fn keep_anyones(lock: OwnLock, mut connection: impl ConnectionLike + Send + 'static) -> Keeper {
    Keeper::running(async move {
        let mut set = cmd("SET");
        set.arg(&lock.key).arg(&lock.owner).arg("PX").arg(lock.ttl_ms());
        loop {
            sleep(lock.ttl / 4).await;
            // Whether or not it came through: the next one will.
            let _ = set.query_async::<()>(&mut connection).await;
        }
    })
}

/// Tries again after an error, and believes the second answer. But the first try may have been
/// granted: then the lock is taken by its own client, which is told that somebody else has it.
///
/// # Errors
/// Fails when the connection does, twice.
pub async fn acquire_again(
    lock: &OwnLock,
    connection: &mut impl ConnectionLike,
    patience: Duration,
) -> RedisResult<bool> {
    match lock.acquire(connection, patience).await {
        Err(_) => lock.try_acquire(connection).await,
        answer => answer,
    }
}

/// A majority that is too small by one.
pub fn off_by_one(lock: OwnLock, servers: usize, pause: Duration) -> MajorityLock {
    let right = MajorityLock::new(lock, servers, pause);
    MajorityLock { quorum: right.quorum - 1, ..right }
}
