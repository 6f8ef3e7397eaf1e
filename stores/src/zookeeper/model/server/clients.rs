//! The connections of a server's clients: what each waits for, and what it watches.
//!
//! One session's requests are answered in their order. A read waits behind the session's earlier
//! writes, and so does a ping: a follower that has lost its leader goes on answering a client that
//! only pings and reads, and stops answering one that has asked for a write.

use super::{Database, Outgoing};
use crate::model::{Out, Peer};
use crate::zookeeper::model::tree::TreeChange;
use crate::zookeeper::model::watches::Watches;
use crate::zookeeper::model::{Packet, WatchKind};
use crate::zookeeper::{Refusal, Reply, Request};
use std::collections::{BTreeMap, VecDeque};

/// The connections of a server's clients.
#[derive(Debug, Default)]
pub(super) struct ClientConnections {
    connections: BTreeMap<u64, ClientConnection>,
    /// The latest connection of each session.
    sessions: BTreeMap<i64, u64>,
    watches: Watches,
}

#[derive(Debug)]
struct ClientConnection {
    session: i64,
    /// The packets that came before the session stood; `None` once it stands.
    backlog: Option<Vec<Packet>>,
    waiting: VecDeque<QueuedRequest>,
}

/// An entry in the queue of a client's connection.
#[derive(Clone, Debug)]
pub(super) enum QueuedRequest {
    /// The leader's word on this request.
    Leader(u64),
    /// A read, which is answered from the server's own state.
    Read(u64, Request),
    /// The answer to a ping.
    Pong,
    /// The watches that it had before it was reconnected.
    Restore(i64, Vec<(String, WatchKind)>),
}

/// The progress of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionProgress {
    /// The connection waits for its session to be confirmed.
    Opening,
    /// The connection serves this session.
    Open(i64),
}

impl ClientConnections {
    pub(super) fn standing(&self, connection: u64) -> Option<ConnectionProgress> {
        let c = self.connections.get(&connection)?;
        Some(if c.backlog.is_some() {
            ConnectionProgress::Opening
        } else {
            ConnectionProgress::Open(c.session)
        })
    }

    /// Opens a connection for this session. An earlier one is closed: what is still on its way over
    /// that must not come after what its client says over this one.
    pub(super) fn open(&mut self, connection: u64, session: i64, out: &mut Outgoing) {
        self.close_session(session, out);
        let fresh =
            ClientConnection { session, backlog: Some(Vec::new()), waiting: VecDeque::new() };
        self.connections.insert(connection, fresh);
        self.sessions.insert(session, connection);
    }

    /// Keeps a packet until the session stands.
    pub(super) fn defer(&mut self, connection: u64, packet: Packet) {
        let opening = self.connections.get_mut(&connection).and_then(|c| c.backlog.as_mut());
        if let Some(backlog) = opening {
            backlog.push(packet);
        }
    }

    /// The session stands: returns its connection, if it is one of this server's and was waiting,
    /// and what came over it meanwhile.
    pub(super) fn establish(&mut self, session: i64) -> Option<(u64, Vec<Packet>)> {
        let connection = *self.sessions.get(&session)?;
        let backlog = self.connections.get_mut(&connection)?.backlog.take()?;
        Some((connection, backlog))
    }

    /// Puts something in the queue of a connection, and answers what can be answered.
    pub(super) fn wait(
        &mut self,
        connection: u64,
        what: QueuedRequest,
        database: &Database,
        out: &mut Outgoing,
    ) {
        if let Some(c) = self.connections.get_mut(&connection) {
            c.waiting.push_back(what);
            self.drain(connection, database, out);
        }
    }

    /// Answers a request on which the leader has decided.
    pub(super) fn complete(
        &mut self,
        session: i64,
        xid: u64,
        result: Result<Reply, Refusal>,
        database: &Database,
        out: &mut Outgoing,
    ) {
        let Some(connection) = self.sessions.get(&session).copied() else { return };
        let Some(c) = self.connections.get_mut(&connection) else { return };
        // A request of an earlier connection has nobody left to answer to.
        if !matches!(c.waiting.front(), Some(QueuedRequest::Leader(first)) if *first == xid) {
            return;
        }
        c.waiting.pop_front();
        reply(connection, xid, result, database, out);
        self.drain(connection, database, out);
    }

    /// Fires the watches that these changes fire.
    pub(super) fn notify(&mut self, changes: &[TreeChange], out: &mut Outgoing) {
        for change in changes {
            for connection in self.watches.fire(change) {
                let event = Packet::Event { path: change.0.clone(), event: change.1 };
                out.push(Out::Send(Peer::Connection(connection), event));
            }
        }
    }

    /// Closes the connections of a session that is over, or is no longer this server's.
    pub(super) fn close_session(&mut self, session: i64, out: &mut Outgoing) {
        let theirs = self.connections.iter().filter(|(_, c)| c.session == session);
        for connection in theirs.map(|(id, _)| *id).collect::<Vec<_>>() {
            out.push(Out::Close(connection));
            self.forget(connection);
        }
    }

    pub(super) fn close_all(&mut self, out: &mut Outgoing) {
        out.extend(self.connections.keys().map(|id| Out::Close(*id)));
        *self = Self::default();
    }

    /// Forgets a connection that is gone, and its watches.
    pub(super) fn forget(&mut self, connection: u64) {
        if let Some(c) = self.connections.remove(&connection) {
            self.watches.forget(connection);
            if self.sessions.get(&c.session) == Some(&connection) {
                self.sessions.remove(&c.session);
            }
        }
    }

    /// Answers everything that waits for nothing of the leader's.
    fn drain(&mut self, connection: u64, database: &Database, out: &mut Outgoing) {
        let Some(c) = self.connections.get_mut(&connection) else { return };
        while let Some(next) = c.waiting.pop_front() {
            match next {
                QueuedRequest::Read(xid, request) => {
                    let result = database.tree.read(&request);
                    if let Some((path, kind)) = watched(&request, &result) {
                        self.watches.add(connection, path, kind);
                    }
                    reply(connection, xid, result, database, out);
                }
                QueuedRequest::Restore(since, watches) => {
                    for (path, kind) in watches {
                        let missed = self.watches.restore(connection, since, &path, kind, database);
                        if let Some(event) = missed {
                            let event = Packet::Event { path, event };
                            out.push(Out::Send(Peer::Connection(connection), event));
                        }
                    }
                }
                QueuedRequest::Pong => {
                    out.push(Out::Send(Peer::Connection(connection), Packet::Pong))
                }
                QueuedRequest::Leader(_) => {
                    c.waiting.push_front(next);
                    return;
                }
            }
        }
    }
}

/// The watch that an answered read sets. On a node that is not there only `exists` can set one.
pub fn watched<'a>(
    request: &'a Request,
    result: &Result<Reply, Refusal>,
) -> Option<(&'a str, WatchKind)> {
    match (request, result) {
        (Request::Exists { path, watch: Some(_) }, Ok(Reply::Exists(found))) => {
            Some((path, if found.is_some() { WatchKind::Data } else { WatchKind::Exist }))
        }
        (Request::GetData { path, watch: Some(_) }, Ok(_)) => Some((path, WatchKind::Data)),
        (Request::GetChildren { path, watch: Some(_) }, Ok(_)) => Some((path, WatchKind::Child)),
        _ => None,
    }
}

fn reply(
    connection: u64,
    xid: u64,
    result: Result<Reply, Refusal>,
    database: &Database,
    out: &mut Outgoing,
) {
    let packet = Packet::Reply { xid, zxid: database.zxid, result };
    out.push(Out::Send(Peer::Connection(connection), packet));
}
