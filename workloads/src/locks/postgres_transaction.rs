//! The common part of the locks that a transaction of PostgreSQL has until it ends.
//!
//! `idle_in_transaction_session_timeout` keeps a holder that is gone, or cut off, from keeping such
//! a lock: the server ends a session that says nothing for a ttl. A living holder says something now
//! and then, and one that hears nothing stops in time. So a pause past the ttl is enough for what
//! an advisory lock of a session suffers only when a connection is lost (H44): the server ends the
//! session, another gets the lock, and the holder believes on.

use base::{AcquireError, Cause, Grant, Mode, Pace, Promises, Recipe, ReleaseError, Removed};
use std::time::Duration;
use stores::postgres::{Client, Reply, Session, SessionSettings, Statement};

use super::LockSettings;
use super::known::{Breaks, OVERLAP, WRITE_DELAYED, breaks};
use super::postgres::{
    BACK_SOON, CUT_OFF, CallResult, DEAF_WAITER, ON_CONNECTION, connect, lost, no_grant, not_freed,
    whole_millis, within,
};

/// The promises of a lock that is taken in so many round trips, with that of the connection.
pub const fn in_transaction(round_trips: u32) -> Promises {
    Promises { pace: Pace { round_trips, ..Pace::EXACT }, ..ON_CONNECTION }
}

/// The rows of such a lock.
pub const BREAKS: &[Breaks] = &[
    breaks(&[Cause::HolderPaused], OVERLAP, PAUSED),
    breaks(&[Cause::ClientClock], OVERLAP, FROZEN),
    CUT_OFF,
    BACK_SOON,
    DEAF_WAITER,
    WRITE_DELAYED,
];

const PAUSED: &str = "H44: the server ends a session that says nothing for a ttl, and a holder that is paused \
     does not know; only a fencing token that the resource checks can stop its write";
const FROZEN: &str = "a client whose clocks stand still says nothing, and does not notice that it hears nothing: \
     the server ends its session";

/// The statements that take a lock, each by the lock's name.
pub struct TakingStatements {
    /// The statement that comes before the transaction.
    pub before: Option<fn(String) -> Statement>,
    /// The one that waits for the lock.
    pub wait: fn(String) -> Statement,
    /// The one that takes it only if it is free.
    pub try_once: fn(String) -> Statement,
}

/// A lock of a transaction.
pub struct TransactionLock {
    client: Client,
    name: String,
    ttl: Duration,
    statements: &'static TakingStatements,
    /// The session whose transaction has the lock.
    session: Option<Session>,
}

impl TransactionLock {
    /// A lock that is taken with these statements.
    pub fn new(
        client: Client,
        settings: LockSettings,
        statements: &'static TakingStatements,
    ) -> Self {
        let name = format!("lock:{}", settings.key);
        Self { client, name, ttl: settings.ttl, statements, session: None }
    }

    /// Takes the lock over this session, in a transaction. Returns false if it is another's, or if
    /// there is no such thing any more.
    async fn take(&self, session: &Session, wait: bool) -> CallResult<bool> {
        let TakingStatements { before, wait: waiting, try_once } = self.statements;
        if let Some(before) = before {
            session.execute(before(self.name.clone())).await?;
        }
        session.execute(Statement::Begin).await?;
        let take = if wait { waiting } else { try_once };
        let taken = session.execute(take(self.name.clone())).await? != Reply::Answer(false);
        if wait {
            // It may have waited, or not: the server does not report that.
            self.client.wakeups().notify();
        }
        // The answer may have been on its way for so long that the server is about to end the
        // session, or has.
        within(&self.client, self.ttl / 4, session.execute(Statement::Ping)).await?;
        Ok(taken)
    }
}

impl Recipe for TransactionLock {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let lock_timeout = whole_millis(timeout);
        let settings = SessionSettings { lock_timeout, idle_in_transaction: self.ttl };
        let session = connect(&self.client, settings, self.ttl / 2).await?;
        let take = self.take(&session, !lock_timeout.is_zero());
        match within(&self.client, timeout + self.ttl / 2, take).await {
            Ok(true) => {
                self.session = Some(session);
                Ok(Grant::default())
            }
            Ok(false) => Err(AcquireError::Failed("held by others, or gone".into())),
            Err(error) => Err(no_grant(error)),
        }
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let Some(session) = self.session.take() else {
            return Err(ReleaseError::NotHeld("there is no session".into()));
        };
        match within(&self.client, self.ttl, session.execute(Statement::Commit)).await {
            Ok(_) => Ok(Removed::Own),
            Err(error) => Err(not_freed(error)),
        }
    }

    async fn lost(&self) -> String {
        lost(self.session.as_ref()).await
    }
}
