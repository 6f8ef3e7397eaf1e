//! The common part of the ZooKeeper recipes: sessions that come and go.

use base::{AcquireError, CallError, Grant, Pace, Promises, ReleaseError, Removed};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;
use stores::zookeeper::{Client, Refusal, SessionState, WatchEvent};

/// The pace of a lock whose clients sleep until they are woken. A try creates a node, looks at the
/// queue, and looks at the node before it.
pub const WOKEN: Pace = Pace { round_trips: 3, ..Pace::EXACT };

/// The promises of a mutex that lives as long as its client's session, and whose clients sleep.
pub const ON_SESSION: Promises =
    Promises { available: true, recovers: Some(2), pace: WOKEN, ..Promises::MUTEX };

/// The result of a step of a try. After an error the try cannot go on: a call came to nothing, or
/// the session is over.
pub type Try<T> = Result<T, CallError<Refusal>>;

/// Waits until the session is connected or over, and returns its state.
pub async fn settled(client: &Client) -> SessionState {
    loop {
        match client.state() {
            SessionState::Disconnected => client.changed().await,
            state => return state,
        };
    }
}

/// Waits for the connection after a call of unknown outcome. An error if the session is over.
pub async fn reconnected(client: &Client) -> Try<()> {
    match settled(client).await {
        SessionState::Expired => Err(CallError::Refused(Refusal::SessionExpired)),
        _ => Ok(()),
    }
}

/// Repeats a call that may be repeated (a read, or a deletion of one's own node) until its outcome
/// is known.
pub async fn known<T>(client: &Client, mut call: impl AsyncFnMut() -> Try<T>) -> Try<T> {
    loop {
        match call().await {
            Err(CallError::Unknown(_)) => {
                client.doubt();
                reconnected(client).await?;
            }
            outcome => return outcome,
        }
    }
}

/// Waits for a watch or for a change of the session, whichever is first; notes a wake-up for the
/// watch.
pub async fn woken(
    client: &Client,
    fired: impl Future<Output = WatchEvent>,
    changed: impl Future<Output = SessionState>,
) {
    if let Either::Left(_) = select(pin!(fired), pin!(changed)).await {
        client.wakeups().notify();
    }
}

/// Runs `acquire` in a live session and for at most `timeout`. If it comes to no grant, `clean_up`
/// removes what it may have left behind; until that is certain the outcome is unknown.
pub async fn with_timeout(
    client: &Client,
    timeout: Duration,
    acquire: impl Future<Output = Try<Grant>>,
    clean_up: impl AsyncFnOnce() -> Try<()>,
) -> Result<Grant, AcquireError> {
    let alive_then_acquire = async {
        client.renew().await?;
        acquire.await
    };
    let reason = match select(pin!(alive_then_acquire), client.world().sleep(timeout)).await {
        Either::Left((Ok(grant), _)) => return Ok(grant),
        Either::Left((Err(error), _)) => error.to_string(),
        Either::Right(_) => "held by others".into(),
    };
    match clean_up().await {
        // An ephemeral node goes with its session.
        Ok(()) | Err(CallError::Refused(_)) => Err(AcquireError::Failed(reason)),
        Err(CallError::Unknown(error)) => Err(AcquireError::Unknown(error)),
    }
}

/// Resolves when the session has been disconnected since a grant. From then on nobody knows
/// whether the ensemble has given the lock to somebody else: a client that obeys stops at
/// *Disconnected*, because *Expired* is reported only after the fact.
pub async fn lost(client: &Client, disconnects_at_grant: u64) -> String {
    while client.disconnects() == disconnects_at_grant {
        client.changed().await;
    }
    "the session was disconnected".into()
}

/// The result of a release whose deletion ended so; `whose` the node was.
pub fn released(deleted: Try<()>, whose: Removed) -> Result<Removed, ReleaseError> {
    match deleted {
        Ok(()) => Ok(whose),
        Err(CallError::Refused(refusal)) => Err(ReleaseError::NotHeld(format!("{refusal:?}"))),
        Err(CallError::Unknown(error)) => Err(ReleaseError::Unknown(error)),
    }
}

/// The result of a release that goes on until its outcome is known. Of one that lost its connection
/// and then its session, nobody knows whether a first request had removed the node.
pub async fn release(
    client: &Client,
    removal: impl Future<Output = Try<Removed>>,
) -> Result<Removed, ReleaseError> {
    // A state that came and went at once is not heard of, and the call that it cost is.
    let before = (client.disconnects(), client.doubts());
    let removed = removal.await;
    let whose = removed.as_ref().copied().unwrap_or(Removed::Nothing);
    match released(removed.map(drop), whose) {
        Err(ReleaseError::NotHeld(why)) if (client.disconnects(), client.doubts()) != before => {
            Err(ReleaseError::Unknown(why))
        }
        result => result,
    }
}

/// The error of an acquire that came to nothing and left nothing to clean up but what goes with its
/// session.
pub fn refused(error: CallError<Refusal>) -> AcquireError {
    match error {
        CallError::Refused(refusal) => AcquireError::Failed(format!("{refusal:?}")),
        CallError::Unknown(error) => AcquireError::Unknown(error),
    }
}
