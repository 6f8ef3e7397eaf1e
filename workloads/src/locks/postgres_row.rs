//! `postgres-row`: `SELECT … FOR UPDATE` takes a row, the end of the transaction frees it.
//!
//! `idle_in_transaction_session_timeout` keeps a holder that is gone, or cut off, from keeping the
//! row: the server ends a session that says nothing for a ttl. A living holder says something now
//! and then, and one that hears nothing stops in time. So a pause past the ttl is enough for what
//! an advisory lock suffers only when a connection is lost (H44): the server ends the session,
//! another gets the row, and the holder believes on.

use base::{AcquireError, Cause, Grant, Lock, Mode, Pace, Promises, Recipe, ReleaseError, Removed};
use std::time::Duration;
use stores::postgres::{Client, Postgres, Session, SessionSettings, Statement};

use super::known::{OVERLAP, WRITE_DELAYED, breaks};
use super::postgres::{
    BACK_SOON, CUT_OFF, CallResult, DEAF_WAITER, ON_CONNECTION, connect, lost, no_grant, not_freed,
    whole_millis, within,
};
use super::{BEYOND_SESSION, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "postgres-row",
    summary: "a row, locked by SELECT FOR UPDATE until the transaction ends",
    promises: Promises { pace: Pace { round_trips: 5, ..Pace::EXACT }, ..ON_CONNECTION },
    breaks: &[&[
        breaks(&[Cause::HolderPaused], OVERLAP, PAUSED),
        breaks(&[Cause::ClientClock], OVERLAP, FROZEN),
        CUT_OFF,
        BACK_SOON,
        DEAF_WAITER,
        WRITE_DELAYED,
    ]],
    longest_hold: BEYOND_SESSION,
    open: &On::<Postgres>::one(open),
};

const PAUSED: &str = "H44: the server ends a session that says nothing for a ttl, and a holder that is paused \
     does not know; only a fencing token that the resource checks can stop its write";
const FROZEN: &str = "a client whose clocks stand still says nothing, and does not notice that it hears nothing: \
     the server ends its session";

fn open(client: Client, settings: super::LockSettings) -> Box<dyn Lock> {
    let name = format!("lock:{}", settings.key);
    Box::new(RowLock { client, name, ttl: settings.ttl, session: None })
}

struct RowLock {
    client: Client,
    name: String,
    ttl: Duration,
    /// The session whose transaction has the row.
    session: Option<Session>,
}

impl RowLock {
    /// Takes the row over this session, in a transaction, and makes it if it is not there. Returns
    /// false if it is gone in between.
    async fn take(&self, session: &Session, wait: bool) -> CallResult<bool> {
        session.execute(Statement::InsertRow { name: self.name.clone() }).await?;
        session.execute(Statement::Begin).await?;
        let found = session.ask(Statement::LockRow { name: self.name.clone(), wait }).await?;
        if wait {
            // Nothing tells whether the server let it wait.
            self.client.wakeups().notify();
        }
        // The answer may have been on its way for so long that the server is about to end the
        // session, or has.
        within(&self.client, self.ttl / 4, session.execute(Statement::Ping)).await?;
        Ok(found)
    }
}

impl Recipe for RowLock {
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
            Ok(false) => Err(AcquireError::Failed("the row is gone".into())),
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
