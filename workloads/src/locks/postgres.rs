//! The common part of the PostgreSQL recipes: a connection for each acquire.

use base::{AcquireError, CallError, Cause, Pace, Promises, ReleaseError, Wakes};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;
use stores::postgres::{Client, Refusal, Session, SessionSettings};

use super::known::{Breaks, OVERLAP, breaks};

/// The result of a call.
pub type CallResult<T> = Result<T, CallError<Refusal>>;

/// The promises of a mutex that lives as long as a connection. A try connects, and asks.
pub const ON_CONNECTION: Promises = Promises {
    recovers: Some(1),
    wakes: Some(Wakes::Next),
    pace: Pace { round_trips: 2, ..Pace::EXACT },
    ..Promises::MUTEX
};

/// The row of a server that is gone and back before its clients have missed it.
pub const BACK_SOON: Breaks = breaks(
    &[Cause::ServersApart, Cause::ServerForgets],
    OVERLAP,
    "a server that is gone without a word, and back before a holder has missed its signs of life, \
     knows nothing of the holder's session: no shorter patience is short enough, only a fencing token \
     is safe of that",
);

/// The row of a waiter that sends nothing, over a connection that ends without a word.
pub const DEAF_WAITER: Breaks = breaks(
    &[Cause::ServersApart],
    &["deadlock", "lost wake-up"],
    "H48: a client that waits for the lock only listens, and does not hear that the server's machine was \
     gone and knows nothing of it any more; have TCP keep the connection alive, or ask with a lock_timeout",
);

/// The row of a connection of whose end the server hears first.
pub const CUT_OFF: Breaks = breaks(
    &[Cause::HolderCutOff],
    OVERLAP,
    "H44: a connection was lost, and the server heard of it before the holder did: the session ended at \
     once, and with it the lock; only a fencing token is safe of that",
);

/// Waits for an outcome for so long. One that does not come may come later.
pub async fn within<T>(
    client: &Client,
    time: Duration,
    outcome: impl Future<Output = CallResult<T>>,
) -> CallResult<T> {
    match select(pin!(outcome), client.world().sleep(time)).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(_) => Err(CallError::Unknown("no reply in time".into())),
    }
}

/// Connects, with these settings and for at most so long.
///
/// # Errors
/// Fails when there is no connection in time. No lock was asked for over it.
pub async fn connect(
    client: &Client,
    settings: SessionSettings,
    time: Duration,
) -> Result<Session, AcquireError> {
    let connected = within(client, time, client.connect(settings)).await;
    connected.map_err(|error| AcquireError::Failed(error.to_string()))
}

/// Returns the time as a server takes it: zero is no time at all, and not for ever.
pub fn whole_millis(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}

/// Returns the error of an acquire whose statement came to nothing.
pub fn no_grant(error: CallError<Refusal>) -> AcquireError {
    match error {
        CallError::Refused(Refusal::LockNotAvailable) => {
            AcquireError::Failed("held by others".into())
        }
        CallError::Refused(refusal) => AcquireError::Failed(format!("{refusal:?}")),
        CallError::Unknown(error) => AcquireError::Unknown(error),
    }
}

/// Returns the error of a release whose statement came to nothing.
pub fn not_freed(error: CallError<Refusal>) -> ReleaseError {
    match error {
        CallError::Refused(refusal) => ReleaseError::NotHeld(format!("{refusal:?}")),
        CallError::Unknown(error) => ReleaseError::Unknown(error),
    }
}

/// Resolves when the session that has the lock is over. Whoever has none cannot lose it.
pub async fn lost(session: Option<&Session>) -> String {
    match session {
        Some(session) => session.closed().await,
        None => std::future::pending().await,
    }
    "the connection is over".into()
}
