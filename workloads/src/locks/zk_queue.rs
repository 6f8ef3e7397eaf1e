//! A queue of sequence nodes under one directory, and the lock of whoever stands first in it.

use base::{
    AcquireError, CallError, Grant, Lock, Mode, Promises, Recipe, ReleaseError, Removed, Wakes,
};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;
use stores::zookeeper::{Client, CreateMode, Created, Refusal, sequence};

use super::zookeeper::{
    ON_SESSION, Try, known, lost, reconnected, refused, release, with_timeout, woken,
};

/// The promises of a queue, in which each client is woken when its turn comes.
pub const QUEUED: Promises = Promises { fifo: true, wakes: Some(Wakes::Next), ..ON_SESSION };

/// A lock whose clients wait in a queue, each for one node before its own. It finds its node again
/// when the reply of its creation is lost, looks again when it is woken, and obeys *Disconnected*.
pub struct Queued {
    client: Client,
    queue: Queue,
    rule: QueueRule,
    /// The node of the last acquire, if it has come so far.
    mine: QueueNode,
    /// The number of times that the session had been disconnected when it was granted.
    disconnects: u64,
}

/// The rule in which such locks differ.
pub struct QueueRule {
    /// The beginning of a node's name.
    pub name: fn(Mode) -> &'static str,
    /// The place of the node that is watched, if there is a reason to wait.
    pub blocker: Blocker,
    /// The grant of a node that need not wait.
    pub grant: fn(&QueueNode) -> Grant,
    /// The manner in which a writer becomes a reader; `None`: not at all.
    pub downgrade: Option<Downgrade>,
}

/// The place in the queue at which a writer that becomes a reader goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Downgrade {
    /// At its own: the reader's node has the sequence number of the writer's.
    InPlace,
    /// At the end, behind writers that wait.
    AtTheEnd,
}

/// A function from all names, in the order of their sequence numbers, and the place of one's own,
/// to the place of the node to wait for.
pub type Blocker = fn(&[String], usize) -> Option<usize>;

/// The blocker of a mutex: the node right before.
pub fn predecessor(_names: &[String], place: usize) -> Option<usize> {
    place.checked_sub(1)
}

impl Queued {
    /// The lock of the queue under this directory.
    pub fn open(client: Client, directory: String, rule: QueueRule) -> Box<dyn Lock> {
        let queue = Queue::new(client.clone(), directory);
        Box::new(Self { client, queue, rule, mine: QueueNode::default(), disconnects: 0 })
    }
}

impl Recipe for Queued {
    async fn acquire(&mut self, mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let Self { client, queue, rule, mine, disconnects } = self;
        *mine = QueueNode::default();
        let name = format!("{}{:016x}-", (rule.name)(mode), client.world().random());
        let acquire = async {
            *mine = queue.enter(&name).await?;
            *disconnects = queue.wait(&mine.name, rule.blocker).await?;
            Ok((rule.grant)(mine))
        };
        with_timeout(client, timeout, acquire, async || queue.withdraw(&name).await).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.queue.release(&self.mine).await
    }

    async fn convert(&mut self, grant: Grant, to: Mode) -> Result<Grant, AcquireError> {
        let Self { client, queue, rule, mine, disconnects } = self;
        let (Some(downgrade), Mode::Shared) = (rule.downgrade, to) else {
            return Err(AcquireError::Failed("a reader cannot become a writer".into()));
        };
        let converted = async {
            let reader = match downgrade {
                Downgrade::InPlace => queue.beside(&mine.name, (rule.name)(to)).await,
                Downgrade::AtTheEnd => {
                    let name = format!("{}{:016x}-", (rule.name)(to), client.world().random());
                    queue.enter(&name).await
                }
            };
            let writer = std::mem::replace(mine, reader?);
            queue.leave(&writer.name).await?;
            Ok(Grant { place: grant.place, ..(rule.grant)(mine) })
        };
        // It obeys Disconnected in the middle of it as well.
        match select(pin!(converted), pin!(lost(client, *disconnects))).await {
            Either::Left((converted, _)) => converted.map_err(refused),
            Either::Right((why, _)) => Err(AcquireError::Unknown(why)),
        }
    }

    async fn held(&self) -> Option<bool> {
        self.queue.has(&self.mine).await
    }

    async fn lost(&self) -> String {
        lost(&self.client, self.disconnects).await
    }
}

/// One's own node in a queue.
#[derive(Default)]
pub struct QueueNode {
    /// The whole name; empty as long as no node was created.
    pub name: String,
    /// The transaction that created it: whoever comes later in the queue has a greater one.
    czxid: i64,
}

impl QueueNode {
    /// The grant of this node: its place in the queue is its sequence number.
    pub fn grant(&self) -> Grant {
        Grant { place: sequence(&self.name), ..Grant::default() }
    }

    /// The grant with the node's czxid as fencing token.
    pub fn fenced_grant(&self) -> Grant {
        Grant { token: Some(self.czxid as u64), ..self.grant() }
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

    /// The directory that holds its nodes.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The path of the node with this name.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    /// Creates a sequence node whose name begins with `name`. `name` holds an id that nobody else
    /// uses, so that the node can be found again when the reply of its creation is lost.
    pub async fn enter(&self, name: &str) -> Try<QueueNode> {
        loop {
            match self.create(name).await {
                Err(CallError::Unknown(_)) => {
                    reconnected(&self.client).await?;
                    if let Some(mine) = self.find(name).await? {
                        return self.identify(mine).await;
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// The node with this whole name.
    async fn identify(&self, name: String) -> Try<QueueNode> {
        let path = self.path(&name);
        let czxid = known(&self.client, async || self.client.exists(&path).await).await?;
        let czxid = czxid.ok_or(CallError::Refused(Refusal::NoNode))?;
        Ok(QueueNode { name, czxid })
    }

    /// Does the same without looking for the node again: a lost reply is left to the caller.
    pub async fn create(&self, name: &str) -> Try<QueueNode> {
        let path = self.path(name);
        loop {
            match self.client.create(&path, b"", CreateMode::EphemeralSequential).await {
                Ok(Created { path, czxid }) => {
                    let name = path[self.directory.len() + 1..].to_owned();
                    return Ok(QueueNode { name, czxid });
                }
                Err(CallError::Refused(Refusal::NoNode)) => self.make_directory().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Creates a node with the sequence number and the id of another, whose name begins otherwise.
    async fn beside(&self, other: &str, begins: &str) -> Try<QueueNode> {
        let name = match other.split_once('-') {
            Some((_, rest)) => format!("{begins}{rest}"),
            None => return Err(CallError::Refused(Refusal::NoNode)),
        };
        let path = self.path(&name);
        let create = async || self.client.create(&path, b"", CreateMode::Ephemeral).await;
        match known(&self.client, create).await {
            Ok(Created { czxid, .. }) => Ok(QueueNode { name, czxid }),
            // The first try had created it, and its reply was lost: nobody else uses its id.
            Err(CallError::Refused(Refusal::NodeExists)) => self.identify(name).await,
            Err(error) => Err(error),
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

    /// Waits until `blocker` finds no node in the queue to wait for. It receives all names in the
    /// order of their sequence numbers, and the place of one's own.
    ///
    /// Returns the number of times that the session had been disconnected when the queue was last
    /// looked at; a grant holds only as long as this has not changed.
    pub async fn wait(&self, mine: &str, blocker: Blocker) -> Try<u64> {
        loop {
            reconnected(&self.client).await?;
            let disconnects = self.client.disconnects();
            match self.look(mine, blocker).await {
                Ok(None) if self.client.disconnects() == disconnects => return Ok(disconnects),
                Ok(None) | Err(CallError::Unknown(_)) => {}
                Ok(Some(before)) => self.gone_or_changed(&before).await?,
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// The name of the node to wait for now; `None` if there is none.
    async fn look(&self, mine: &str, blocker: Blocker) -> Try<Option<String>> {
        let (mut names, place) = in_order(self.client.get_children(&self.directory).await?, mine)?;
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

    /// Returns true if a node stands in the queue; one that was never created does not. `None`:
    /// unknown.
    pub async fn has(&self, mine: &QueueNode) -> Option<bool> {
        if mine.name.is_empty() {
            return Some(false);
        }
        self.find(&mine.name).await.ok().map(|found| found.is_some())
    }

    /// Deletes one's own node.
    pub async fn leave(&self, name: &str) -> Try<()> {
        let path = self.path(name);
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

    /// Frees the lock of one's own node.
    pub async fn release(&self, mine: &QueueNode) -> Result<Removed, ReleaseError> {
        let leave = async { self.leave(&mine.name).await.map(|()| Removed::Own) };
        release(&self.client, leave).await
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

/// The names in the order of their sequence numbers, and the place of one's own.
pub fn in_order(mut names: Vec<String>, mine: &str) -> Try<(Vec<String>, usize)> {
    names.retain(|name| sequence(name).is_some());
    names.sort_by_key(|name| sequence(name));
    let place = names.iter().position(|name| name == mine);
    Ok((names, place.ok_or(CallError::Refused(Refusal::NoNode))?))
}
