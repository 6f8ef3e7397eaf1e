//! `postgres-advisory`: `pg_advisory_lock` takes the lock, `pg_advisory_unlock` frees it.
//!
//! The lock belongs to the session, and the session is the connection: the server frees the lock
//! when its backend reads the end of it. It knows no time: a holder that is paused, or cut off,
//! keeps it as long as the connection stands. A connection that is lost while its holder cannot
//! hear of it is the hazard (H44): the server's restart, or a reset, frees the lock, and the holder
//! believes on. Only a fencing token would help, and an advisory lock has none.
//!
//! The holder obeys: it stops when its connection is over, or gives no sign of life.

use base::{AcquireError, Cause, Grant, Lock, Mode, Recipe, ReleaseError, Removed};
use std::time::Duration;
use stores::postgres::{Client, Postgres, Session, SessionSettings, Statement};

use super::known::{OVERLAP, WRITE_DELAYED, breaks};
use super::postgres::{
    BACK_SOON, CUT_OFF, CallResult, DEAF_WAITER, ON_CONNECTION, connect, lost, no_grant, not_freed,
    whole_millis, within,
};
use super::{BEYOND_SESSION, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "postgres-advisory",
    summary: "pg_advisory_lock of a session, which is a connection",
    promises: ON_CONNECTION,
    breaks: &[&[
        breaks(&[Cause::HolderPaused], OVERLAP, PAUSED),
        CUT_OFF,
        BACK_SOON,
        DEAF_WAITER,
        WRITE_DELAYED,
    ]],
    longest_hold: BEYOND_SESSION,
    open: &On::<Postgres>::one(open),
};

const PAUSED: &str = "H44: the connection of a holder that is paused was lost, and its lock with it, which it \
     does not know; only a fencing token that the resource checks can stop its write";

fn open(client: Client, settings: super::LockSettings) -> Box<dyn Lock> {
    let key = format!("lock:{}", settings.key);
    Box::new(Advisory { client, key, ttl: settings.ttl, session: None })
}

struct Advisory {
    client: Client,
    key: String,
    ttl: Duration,
    /// The session that has the lock.
    session: Option<Session>,
}

impl Advisory {
    /// Takes the lock over this session. Returns false if it is another's.
    async fn take(&self, session: &Session, wait: bool) -> CallResult<bool> {
        let key = self.key.clone();
        if !wait {
            return session.ask(Statement::TryAdvisoryLock { key }).await;
        }
        session.execute(Statement::AdvisoryLock { key }).await?;
        // It may have waited, or not: the server does not report that.
        self.client.wakeups().notify();
        Ok(true)
    }
}

impl Recipe for Advisory {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let lock_timeout = whole_millis(timeout);
        let settings = SessionSettings { lock_timeout, ..SessionSettings::default() };
        let session = connect(&self.client, settings, self.ttl / 2).await?;
        let take = self.take(&session, !lock_timeout.is_zero());
        match within(&self.client, timeout + self.ttl / 2, take).await {
            Ok(true) => {
                self.session = Some(session);
                Ok(Grant::default())
            }
            Ok(false) => Err(AcquireError::Failed("held by others".into())),
            Err(error) => Err(no_grant(error)),
        }
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let Some(session) = self.session.take() else {
            return Err(ReleaseError::NotHeld("there is no session".into()));
        };
        let unlock = session.ask(Statement::AdvisoryUnlock { key: self.key.clone() });
        match within(&self.client, self.ttl, unlock).await {
            Ok(true) => Ok(Removed::Own),
            Ok(false) => Err(ReleaseError::NotHeld("the session does not have it".into())),
            Err(error) => Err(not_freed(error)),
        }
    }

    async fn lost(&self) -> String {
        lost(self.session.as_ref()).await
    }
}
