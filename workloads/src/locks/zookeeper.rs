//! What the ZooKeeper recipes share: sessions that come and go, and the queue of sequence nodes.

use base::{AcquireError, CallError, Grant, LocalFuture, ReleaseError, Removed};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;
use stores::zookeeper::{Client, CreateMode, Refusal, SessionState, WatchEvent, sequence};

/// Why a try cannot go on: a call came to nothing, or the session is over.
pub type Try<T> = Result<T, CallError<Refusal>>;

/// Waits until the session is connected or over; says which.
pub async fn settled(client: &Client) -> SessionState {
    loop {
        match client.state() {
            SessionState::Disconnected => client.changed().await,
            state => return state,
        };
    }
}

/// After a call of unknown outcome: waits for the connection, and says whether the session lives.
async fn reconnected(client: &Client) -> Try<()> {
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
            Err(CallError::Unknown(_)) => reconnected(client).await?,
            outcome => return outcome,
        }
    }
}

/// Waits for a watch or for a change of the session, whichever is first; rings for the watch.
pub async fn woken(
    client: &Client,
    fired: impl Future<Output = WatchEvent>,
    changed: impl Future<Output = SessionState>,
) {
    if let Either::Left(_) = select(pin!(fired), pin!(changed)).await {
        client.bell().ring();
    }
}

/// Runs `acquire` in a live session and for at most `patience`. What `acquire` may have left
/// behind when it did not come to a grant, `clean_up` removes; until that is certain the outcome
/// is unknown.
pub async fn patiently(
    client: &Client,
    patience: Duration,
    acquire: impl Future<Output = Try<Grant>>,
    clean_up: impl AsyncFnOnce() -> Try<()>,
) -> Result<Grant, AcquireError> {
    let alive_then_acquire = async {
        client.renew().await?;
        acquire.await
    };
    let reason = match select(pin!(alive_then_acquire), client.world().sleep(patience)).await {
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
/// *Disconnected*, because *Expired* is told only after the fact.
pub fn lost(client: &Client, disconnects_at_grant: u64) -> LocalFuture<'_, String> {
    Box::pin(async move {
        while client.disconnects() == disconnects_at_grant {
            client.changed().await;
        }
        "the session was disconnected".into()
    })
}

/// What a release says whose deletion ended so; `whose` the node was.
pub fn released(deleted: Try<()>, whose: Removed) -> Result<Removed, ReleaseError> {
    match deleted {
        Ok(()) => Ok(whose),
        Err(CallError::Refused(refusal)) => Err(ReleaseError::NotHeld(format!("{refusal:?}"))),
        Err(CallError::Unknown(error)) => Err(ReleaseError::Unknown(error)),
    }
}

/// What an acquire says that came to nothing and left nothing to clean up but what goes with its
/// session.
pub fn refused(error: CallError<Refusal>) -> AcquireError {
    match error {
        CallError::Refused(refusal) => AcquireError::Failed(format!("{refusal:?}")),
        CallError::Unknown(error) => AcquireError::Unknown(error),
    }
}

/// A queue of sequence nodes under one directory.
pub struct Queue {
    client: Client,
    directory: String,
}

impl Queue {
    pub fn new(client: Client, directory: String) -> Self {
        Self { client, directory }
    }

    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    /// Creates a sequence node whose name begins with `name`, and returns its whole name. `name`
    /// holds an id that nobody else uses, so that the node can be found again when the reply of
    /// its creation is lost.
    pub async fn enter(&self, name: &str) -> Try<String> {
        loop {
            match self.create(name).await {
                Err(CallError::Unknown(_)) => {
                    reconnected(&self.client).await?;
                    if let Some(mine) = self.find(name).await? {
                        return Ok(mine);
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// The same without looking for the node again: a lost reply is the caller's to think about.
    pub async fn create(&self, name: &str) -> Try<String> {
        let path = self.path(name);
        loop {
            match self.client.create(&path, b"", CreateMode::EphemeralSequential).await {
                Ok(created) => return Ok(created.path[self.directory.len() + 1..].to_owned()),
                Err(CallError::Refused(Refusal::NoNode)) => self.make_directory().await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn make_directory(&self) -> Try<()> {
        let create = async || {
            self.client.create(&self.directory, b"", CreateMode::Persistent).await.map(|_| ())
        };
        match known(&self.client, create).await {
            Err(CallError::Refused(Refusal::NodeExists)) => Ok(()),
            outcome => outcome,
        }
    }

    /// The node whose name begins with `name`. Brings the server up to date first: the creation
    /// may have gone through another one.
    async fn find(&self, name: &str) -> Try<Option<String>> {
        let children = known(&self.client, async || {
            self.client.sync(&self.directory).await?;
            self.client.get_children(&self.directory).await
        })
        .await;
        match children {
            Err(CallError::Refused(Refusal::NoNode)) => Ok(None),
            Err(error) => Err(error),
            Ok(children) => Ok(children.into_iter().find(|child| child.starts_with(name))),
        }
    }

    /// Waits until `blocker` finds nobody in the queue to wait for. It is shown all names in the
    /// order of their sequence numbers, and the place of one's own.
    ///
    /// Says how often the session had been disconnected when the queue was last looked at; a grant
    /// holds only as long as this has not changed.
    pub async fn wait(
        &self,
        mine: &str,
        blocker: impl Fn(&[String], usize) -> Option<usize>,
    ) -> Try<u64> {
        loop {
            reconnected(&self.client).await?;
            let disconnects = self.client.disconnects();
            match self.look(mine, &blocker).await {
                Ok(None) if self.client.disconnects() == disconnects => return Ok(disconnects),
                Ok(None) | Err(CallError::Unknown(_)) => {}
                Ok(Some(before)) => self.gone_or_changed(&before).await?,
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// Who has to be waited for now.
    async fn look(
        &self,
        mine: &str,
        blocker: &impl Fn(&[String], usize) -> Option<usize>,
    ) -> Try<Option<String>> {
        let mut names = self.client.get_children(&self.directory).await?;
        names.retain(|name| sequence(name).is_some());
        names.sort_by_key(|name| sequence(name));
        let place = names.iter().position(|name| name == mine);
        let place = place.ok_or(CallError::Refused(Refusal::NoNode))?;
        Ok(blocker(&names, place).map(|before| names.swap_remove(before)))
    }

    /// Waits until a node is gone, or until the session has changed and all must be looked at
    /// again.
    async fn gone_or_changed(&self, name: &str) -> Try<()> {
        let changed = self.client.changed();
        match self.client.exists_watched(&self.path(name)).await {
            Ok((None, _)) | Err(CallError::Unknown(_)) => Ok(()),
            Ok((Some(_), watch)) => {
                woken(&self.client, watch.fired(), changed).await;
                Ok(())
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// The grant of a node: its place in the queue is its sequence number.
    pub fn grant(mine: &str) -> Grant {
        Grant { place: sequence(mine), ..Grant::default() }
    }

    /// Whether a node stands in the queue; one that was never created has no name and does not.
    pub async fn has(&self, mine: &str) -> Option<bool> {
        if mine.is_empty() {
            return Some(false);
        }
        self.find(mine).await.ok().map(|found| found.is_some())
    }

    /// Deletes one's own node.
    pub async fn leave(&self, mine: &str) -> Try<()> {
        let path = self.path(mine);
        let mut again = false;
        known(&self.client, async || {
            let outcome = self.client.delete(&path, None).await;
            let repeated = std::mem::replace(&mut again, true);
            match outcome {
                // The first try had done it, and its reply was lost.
                Err(CallError::Refused(Refusal::NoNode)) if repeated => Ok(()),
                outcome => outcome,
            }
        })
        .await
    }

    /// Removes the node of an acquire that came to nothing, if there is one. Requests of one
    /// session are executed in order, so that a creation still on its way comes before the look.
    pub async fn withdraw(&self, name: &str) -> Try<()> {
        match self.find(name).await? {
            Some(mine) => self.leave(&mine).await,
            None => Ok(()),
        }
    }
}
