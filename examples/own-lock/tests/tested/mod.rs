//! The locks, in the terms of picklock.

use own_lock::{Keeper, MajorityLock, OwnLock};
use picklock::{AcquireError, Grant, Lock, Mode, RedisConnection, ReleaseError, Removed, Site};
use redis::RedisResult;
use std::time::Duration;

/// Makes the lock of a site.
pub fn own(site: &Site) -> OwnLock {
    OwnLock::new(site.key(), format!("{:016x}", site.random()), site.ttl())
}

/// Says how an acquire ended. After an error of the connection, nobody knows.
pub fn granted(answer: RedisResult<bool>) -> Result<Grant, AcquireError> {
    match answer {
        Ok(true) => Ok(Grant::default()),
        Ok(false) => Err(AcquireError::Failed("somebody else has it".into())),
        Err(error) => Err(AcquireError::Unknown(error.to_string())),
    }
}

/// Says how a release ended.
pub fn freed(answer: RedisResult<bool>, removed: Removed) -> Result<Removed, ReleaseError> {
    match answer {
        Ok(true) => Ok(removed),
        Ok(false) => Err(ReleaseError::NotHeld("its time was over".into())),
        Err(error) => Err(ReleaseError::Unknown(error.to_string())),
    }
}

/// The lock on one server.
pub struct One {
    pub lock: OwnLock,
    pub connection: RedisConnection,
}

impl One {
    pub fn new(site: Site) -> Self {
        Self { lock: own(&site), connection: site.connection(0) }
    }
}

impl Lock for One {
    async fn acquire(&mut self, _: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        granted(self.lock.acquire(&mut self.connection, patience).await)
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        freed(self.lock.release(&mut self.connection).await, Removed::Own)
    }
}

/// The lock with a keeper.
pub struct Kept {
    one: One,
    keep: fn(OwnLock, RedisConnection) -> Keeper,
    keeper: Option<Keeper>,
}

impl Kept {
    pub fn by(keep: fn(OwnLock, RedisConnection) -> Keeper) -> impl Fn(Site) -> Self {
        move |site| Self { one: One::new(site), keep, keeper: None }
    }
}

impl Lock for Kept {
    async fn acquire(&mut self, mode: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        let grant = Lock::acquire(&mut self.one, mode, patience).await?;
        self.keeper = Some((self.keep)(self.one.lock.clone(), self.one.connection.clone()));
        Ok(grant)
    }

    async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
        self.keeper = None;
        Lock::release(&mut self.one, grant).await
    }

    async fn lost(&self) -> String {
        match &self.keeper {
            Some(keeper) => keeper.lost().await,
            None => std::future::pending().await,
        }
        "its keeper could not renew it".into()
    }
}

/// The lock on a majority of all servers.
pub struct Majority {
    lock: MajorityLock,
    servers: Vec<RedisConnection>,
}

impl Majority {
    pub fn by(make: fn(OwnLock, usize, Duration) -> MajorityLock) -> impl Fn(Site) -> Self {
        move |site| {
            let pause = Duration::from_millis(20 + site.random() % 60);
            let lock = make(own(&site), site.servers(), pause);
            Self { lock, servers: (0..site.servers()).map(|it| site.connection(it)).collect() }
        }
    }
}

impl Lock for Majority {
    async fn acquire(&mut self, _: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        granted(self.lock.acquire(&mut self.servers, patience).await)
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        freed(self.lock.release(&mut self.servers).await, Removed::Own)
    }
}
