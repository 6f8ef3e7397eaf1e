//! The promise under test: acquire and release.

use crate::{LocalFuture, Mono, Removed};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The manner in which a lock is held.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Held by one client, alone: a mutex, or the write side of a read/write lock.
    #[default]
    Exclusive,
    /// Held together with other shared holders: the read side of a read/write lock.
    Shared,
}

impl Mode {
    /// Returns true if the two modes cannot be held together.
    pub fn excludes(self, other: Self) -> bool {
        self == Self::Exclusive || other == Self::Exclusive
    }
}

/// The result of a successful acquire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The fencing token: grows with every grant. `None` when the lock has none.
    pub token: Option<u64>,
    /// The time at which the lock runs out, by the client's own monotonic clock. `None`: it does
    /// not run out by time.
    pub expires: Option<Mono>,
    /// The time at which the request that took the lock was sent, by the same clock.
    pub asked: Option<Mono>,
    /// The place in the store's queue: whoever joined later has a greater one. `None`: no queue.
    pub place: Option<u64>,
    /// True if it took the place of an older grant, which seemed to have run out.
    pub recovered: bool,
}

/// A reason for which an acquire gave no grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    /// The client certainly does not hold the lock and will not come to hold it.
    #[error("{0}")]
    Failed(String),
    /// The store may count the client as the holder, now or later.
    #[error("{0}")]
    Unknown(String),
}

/// A reason for which a release is not known to have freed the lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The release certainly removed nothing: the lock was not this client's any more.
    #[error("{0}")]
    NotHeld(String),
    /// The release may have happened, or may happen later.
    #[error("{0}")]
    Unknown(String),
}

/// The refusal of a lock whose grants keep their mode.
const NO_CONVERT: &str = "its grants keep their mode";
/// The refusal of a lock whose acquires take one permit each.
const ONE_PERMIT: &str = "it takes one permit at a time";
/// The refusal of a lock whose grants live for a time that is set.
const NO_EXTENSION: &str = "its grants cannot be extended";

/// A lock on one key, as one worker of a client sees it. A lock that promises `reentrant` is asked
/// again while it is held; of any other, each grant comes from a `Lock` of its own.
pub trait Lock {
    /// Waits for the lock, at most for `timeout`. A lock that gives up cleans up after itself, or
    /// returns `Unknown`.
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>>;

    /// Waits for so many permits of a lock that has several, more than one, at most for `timeout`.
    /// It takes all of them at once or none, and a release frees them all. Most locks refuse.
    fn acquire_permits(
        &mut self,
        _permits: u32,
        _timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(std::future::ready(Err(AcquireError::Failed(ONE_PERMIT.into()))))
    }

    /// Frees the lock, and returns what was removed according to the store.
    fn release(&mut self, grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>>;

    /// Changes the mode of a grant that stays held throughout, and returns the grant as it is then.
    /// A failed one has changed nothing. Most locks refuse.
    fn convert(
        &mut self,
        _grant: Grant,
        _to: Mode,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(std::future::ready(Err(AcquireError::Failed(NO_CONVERT.into()))))
    }

    /// Begins the time to live of a grant anew, and returns the grant as it is then. A failed one
    /// means that the grant is over. Most locks refuse.
    fn extend(&mut self, _grant: Grant) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(std::future::ready(Err(AcquireError::Unknown(NO_EXTENSION.into()))))
    }

    /// Returns true if the store counts this client as the holder. `None`: it cannot be known. A
    /// client whose acquire was denied while the store counts it as the holder is a phantom holder.
    /// A lock that promises `tells` is asked by its holder, too.
    fn held(&self) -> LocalFuture<'_, Option<bool>> {
        Box::pin(std::future::ready(None))
    }

    /// Resolves, with the reason, when the lock itself learns that its grant may be gone (a
    /// ZooKeeper session that was disconnected). The client then stops touching what the lock
    /// guards. Most locks never learn it.
    fn lost(&self) -> LocalFuture<'_, String> {
        Box::pin(std::future::pending())
    }
}

/// A [`Lock`] as books print it: plain `async` functions, which are boxed here and nowhere else.
/// Each means what it means in [`Lock`].
#[expect(async_fn_in_trait, reason = "a client and its lock live on one thread")]
#[expect(missing_docs, reason = "the functions of `Lock`")]
pub trait Recipe {
    async fn acquire(&mut self, mode: Mode, timeout: Duration) -> Result<Grant, AcquireError>;

    async fn acquire_permits(
        &mut self,
        _permits: u32,
        _timeout: Duration,
    ) -> Result<Grant, AcquireError> {
        Err(AcquireError::Failed(ONE_PERMIT.into()))
    }

    async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError>;

    async fn convert(&mut self, _grant: Grant, _to: Mode) -> Result<Grant, AcquireError> {
        Err(AcquireError::Failed(NO_CONVERT.into()))
    }

    async fn extend(&mut self, _grant: Grant) -> Result<Grant, AcquireError> {
        Err(AcquireError::Unknown(NO_EXTENSION.into()))
    }

    async fn held(&self) -> Option<bool> {
        None
    }

    async fn lost(&self) -> String {
        std::future::pending().await
    }
}

impl<R: Recipe> Lock for R {
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(Recipe::acquire(self, mode, timeout))
    }

    fn acquire_permits(
        &mut self,
        permits: u32,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(Recipe::acquire_permits(self, permits, timeout))
    }

    fn release(&mut self, grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        Box::pin(Recipe::release(self, grant))
    }

    fn convert(&mut self, grant: Grant, to: Mode) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(Recipe::convert(self, grant, to))
    }

    fn extend(&mut self, grant: Grant) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(Recipe::extend(self, grant))
    }

    fn held(&self) -> LocalFuture<'_, Option<bool>> {
        Box::pin(Recipe::held(self))
    }

    fn lost(&self) -> LocalFuture<'_, String> {
        Box::pin(Recipe::lost(self))
    }
}
