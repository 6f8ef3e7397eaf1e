//! A server's knowledge of the ensemble's state: the tree, the sessions, and the last transaction.

use super::tree::{Tree, TreeChange};
use crate::zookeeper::{Refusal, Reply, Request};
use std::collections::BTreeMap;
use std::time::Duration;

/// A step that all servers take in the same order.
///
/// A write carries the request itself: since its result follows from the state alone, every server
/// comes to the same one, and the server of the client that asked sends it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// A session begins.
    CreateSession {
        /// The number of the session.
        session: i64,
        /// The session's time-out.
        timeout: Duration,
    },
    /// A session ends, and its ephemeral nodes with it.
    CloseSession {
        /// The number of the session.
        session: i64,
    },
    /// A request that changes the tree.
    Write {
        /// The session that asked.
        session: i64,
        /// The client's number for the request.
        xid: u64,
        /// The request itself.
        request: Request,
    },
}

impl Transaction {
    /// The session that it belongs to.
    pub const fn session(&self) -> i64 {
        match self {
            Self::CreateSession { session, .. }
            | Self::CloseSession { session }
            | Self::Write { session, .. } => *session,
        }
    }
}

/// The state of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Database {
    /// The tree of nodes.
    pub tree: Tree,
    /// The sessions and their time-outs.
    pub sessions: BTreeMap<i64, Duration>,
    /// The last transaction applied.
    pub zxid: i64,
}

impl Database {
    /// Applies a transaction; returns the result if it is a write.
    pub fn apply(
        &mut self,
        zxid: i64,
        transaction: &Transaction,
        changes: &mut Vec<TreeChange>,
    ) -> Option<Result<Reply, Refusal>> {
        self.zxid = zxid;
        match transaction {
            Transaction::CreateSession { session, timeout } => {
                self.sessions.insert(*session, *timeout);
                None
            }
            Transaction::CloseSession { session } => {
                self.sessions.remove(session);
                self.tree.end_session(zxid, *session, changes);
                None
            }
            Transaction::Write { session, request, .. } => {
                Some(self.tree.write(zxid, *session, request, changes))
            }
        }
    }
}
