//! Serving clients: the handling of their packets by a member of a quorum.

use super::clients::{ConnectionProgress, QueuedRequest};
use super::{Outgoing, Packet, Server, ServerRole, ToFollower, ToLeader, Transaction, to_leader};
use crate::model::{Name, Noted, Out, Peer, What};
use crate::zookeeper::Request;
use base::Mono;
use std::time::Duration;

impl Server {
    pub(super) fn hear_client(
        &mut self,
        at: Mono,
        connection: u64,
        packet: Packet,
        out: &mut Outgoing,
    ) {
        if !self.is_serving() {
            return out.push(Out::Close(connection));
        }
        match (packet, self.clients.standing(connection)) {
            (Packet::Connect { session, timeout, last_zxid }, None) => {
                self.connect(at, connection, session, timeout, last_zxid, out);
            }
            (packet, Some(ConnectionProgress::Opening)) => self.clients.defer(connection, packet),
            (packet, Some(ConnectionProgress::Open(session))) => {
                self.serve(at, connection, session, packet, out);
            }
            // A connection from before a restart.
            (_, None) => out.push(Out::Close(connection)),
        }
    }

    fn connect(
        &mut self,
        at: Mono,
        connection: u64,
        session: i64,
        timeout: Duration,
        last_zxid: i64,
        out: &mut Outgoing,
    ) {
        // The client has seen more than this server has: here it would go back in time.
        if last_zxid > self.disk.database.zxid {
            return out.push(Out::Close(connection));
        }
        if session == 0 {
            let session = self.new_session();
            let timeout = self.timing.session(timeout);
            self.clients.open(connection, session, out);
            let what = What::SessionBegan(session);
            self.journal.push(Noted { object: Name::new(), what, zxid: None });
            let create = Transaction::CreateSession { session, timeout };
            self.ask(at, ToLeader::Forward(create), out);
        } else {
            self.clients.open(connection, session, out);
            self.ask(at, ToLeader::Revalidate { session }, out);
        }
    }

    /// A new session number, which contains the server's, as ZooKeeper's do.
    fn new_session(&mut self) -> i64 {
        self.numbers.sessions += 1;
        (i64::from(self.me) + 1) << 56 | self.numbers.sessions
    }

    fn serve(
        &mut self,
        at: Mono,
        connection: u64,
        session: i64,
        packet: Packet,
        out: &mut Outgoing,
    ) {
        match &mut self.role {
            ServerRole::Following(following) => following.touch(session),
            ServerRole::Leading(leading) => leading.sessions.touch(at, session),
            ServerRole::Starting | ServerRole::Looking(_) => {}
        }
        let database = &self.disk.database;
        match packet {
            Packet::Ping => self.clients.wait(connection, QueuedRequest::Pong, database, out),
            Packet::SetWatches { zxid, watches } => {
                self.clients.wait(connection, QueuedRequest::Restore(zxid, watches), database, out);
            }
            Packet::CloseSession => {
                self.ask(at, ToLeader::Forward(Transaction::CloseSession { session }), out);
            }
            Packet::Request { xid, request } => match leaders(session, xid, &request) {
                Some(ask) => {
                    self.clients.wait(connection, QueuedRequest::Leader(xid), database, out);
                    self.ask(at, ask, out);
                }
                None => {
                    self.clients.wait(connection, QueuedRequest::Read(xid, request), database, out);
                }
            },
            // Not for servers to hear.
            _ => out.push(Out::Close(connection)),
        }
    }

    /// Asks the leader, which may be this server.
    fn ask(&mut self, at: Mono, message: ToLeader, out: &mut Outgoing) {
        match &self.role {
            ServerRole::Following(following) => {
                to_leader(out, following.leader(), following.join(), message);
            }
            ServerRole::Leading(_) => self.decide(at, self.me, message, out),
            ServerRole::Starting | ServerRole::Looking(_) => {}
        }
    }

    /// Handles the leader's decision on something that a client of this server wanted.
    pub(super) fn on_answer(&mut self, at: Mono, answer: ToFollower, out: &mut Outgoing) {
        match answer {
            ToFollower::Synced { session, xid } => {
                let synced = Ok(crate::zookeeper::Reply::Synced);
                self.clients.complete(session, xid, synced, &self.disk.database, out);
            }
            ToFollower::Revalidated { session, timeout: Some(timeout) } => {
                self.establish(at, session, timeout, out);
            }
            ToFollower::Revalidated { session, timeout: None } => {
                if let Some((connection, _)) = self.clients.establish(session) {
                    out.push(Out::Send(Peer::Connection(connection), Packet::Expired));
                }
                self.clients.close_session(session, out);
            }
            ToFollower::Disown { session } => self.clients.close_session(session, out),
            // The others are about the connection between servers.
            _ => {}
        }
    }

    /// Establishes a session: tells its client, if that waits here, and serves what came meanwhile.
    pub(super) fn establish(
        &mut self,
        at: Mono,
        session: i64,
        timeout: Duration,
        out: &mut Outgoing,
    ) {
        let Some((connection, backlog)) = self.clients.establish(session) else { return };
        let connected = Packet::Connected { session, timeout };
        out.push(Out::Send(Peer::Connection(connection), connected));
        for packet in backlog {
            self.serve(at, connection, session, packet, out);
        }
    }
}

/// The message to the leader that a request needs; `None` for a read.
fn leaders(session: i64, xid: u64, request: &Request) -> Option<ToLeader> {
    match request {
        Request::Create { .. } | Request::Delete { .. } | Request::SetData { .. } => {
            let request = request.clone();
            Some(ToLeader::Forward(Transaction::Write { session, xid, request }))
        }
        Request::Sync { .. } => Some(ToLeader::Sync { session, xid }),
        Request::Exists { .. } | Request::GetData { .. } | Request::GetChildren { .. } => None,
    }
}
