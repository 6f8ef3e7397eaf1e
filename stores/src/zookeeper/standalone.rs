//! ZooKeeper, enumerated: one server with the tree, the watches and the transactions of the model,
//! but without time. Its sessions end when the enumeration ends them.
//!
//! One server answers as an ensemble without faults of its own does whose clients never change
//! their server. Stale reads of followers and elections are left to the simulator.

use base::{Data, Mono};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::time::Duration;

use super::model::{Database, Packet, Server, Transaction, Watches, note, watched};
use super::{CreateMode, Refusal, Reply, Request};
use crate::Enumerable;
use crate::model::{Clocks, Name, Noted, Out, Peer, ServerModel, What};

/// A server on its own.
#[derive(Clone, Debug, Default, Hash)]
pub struct StandaloneServer {
    database: Database,
    watches: Watches,
    /// The session of each connection.
    connections: BTreeMap<u64, i64>,
    journal: Vec<Noted>,
}

type Outgoing = Vec<Out<Packet>>;

fn send(out: &mut Outgoing, to: u64, packet: Packet) {
    out.push(Out::Send(Peer::Connection(to), packet));
}

impl StandaloneServer {
    fn connect(&mut self, connection: u64, session: i64, timeout: Duration, out: &mut Outgoing) {
        let session = match session {
            0 => self.database.zxid + 1,
            known if self.database.sessions.contains_key(&known) => known,
            _ => {
                send(out, connection, Packet::Expired);
                return out.push(Out::Close(connection));
            }
        };
        // What an older connection of the session still carries is not served any more.
        for older in self.of(session) {
            self.connections.remove(&older);
            self.watches.forget(older);
        }
        self.connections.insert(connection, session);
        if !self.database.sessions.contains_key(&session) {
            self.transact(&Transaction::CreateSession { session, timeout }, out);
            let what = What::SessionBegan(session);
            self.journal.push(Noted { object: Name::new(), what, zxid: None });
        }
        send(out, connection, Packet::Connected { session, timeout });
    }

    /// The connections of a session.
    fn of(&self, session: i64) -> Vec<u64> {
        self.connections.iter().filter(|(_, s)| **s == session).map(|(c, _)| *c).collect()
    }

    /// Applies a transaction and fires the watches that it fires.
    fn transact(
        &mut self,
        transaction: &Transaction,
        out: &mut Outgoing,
    ) -> Option<Result<Reply, Refusal>> {
        let mut changes = Vec::new();
        let before = self.database.zxid;
        let result = self.database.apply(before + 1, transaction, &mut changes);
        note(before + 1, transaction, &changes, &mut self.journal);
        if let Some(Err(_)) = result {
            // A refusal changes nothing, the number of the last transaction included.
            self.database.zxid = before;
        }
        for change in &changes {
            for connection in self.watches.fire(change) {
                let (path, event) = change.clone();
                send(out, connection, Packet::Event { path, event });
            }
        }
        result
    }

    fn serve(
        &mut self,
        connection: u64,
        session: i64,
        xid: u64,
        request: Request,
        out: &mut Outgoing,
    ) {
        let result = match request {
            Request::Create { .. } | Request::Delete { .. } | Request::SetData { .. } => {
                let write = Transaction::Write { session, xid, request };
                self.transact(&write, out).expect("a write has a result")
            }
            read => {
                let result = self.database.tree.read(&read);
                if let Some((path, kind)) = watched(&read, &result) {
                    self.watches.add(connection, path, kind);
                }
                result
            }
        };
        send(out, connection, Packet::Reply { xid, zxid: self.database.zxid, result });
    }

    fn close(&mut self, session: i64, out: &mut Outgoing) {
        self.transact(&Transaction::CloseSession { session }, out);
        for connection in self.of(session) {
            self.connections.remove(&connection);
            self.watches.forget(connection);
            out.push(Out::Close(connection));
        }
    }
}

impl ServerModel for StandaloneServer {
    type Packet = Packet;

    fn is_call(packet: &Packet) -> bool {
        Server::is_call(packet)
    }

    fn receive(&mut self, _: Clocks, from: Peer, packet: Packet, out: &mut Outgoing) {
        let Peer::Connection(connection) = from else { return };
        let session = self.connections.get(&connection).copied();
        match (packet, session) {
            (Packet::Connect { session, timeout, .. }, None) => {
                self.connect(connection, session, timeout, out);
            }
            (Packet::Ping, Some(_)) => send(out, connection, Packet::Pong),
            (Packet::Request { xid, request }, Some(session)) => {
                self.serve(connection, session, xid, request, out);
            }
            (Packet::SetWatches { zxid, watches }, Some(_)) => {
                for (path, kind) in watches {
                    let missed =
                        self.watches.restore(connection, zxid, &path, kind, &self.database);
                    if let Some(event) = missed {
                        send(out, connection, Packet::Event { path, event });
                    }
                }
            }
            (Packet::CloseSession, Some(session)) => self.close(session, out),
            _ => {}
        }
    }

    fn disconnected(&mut self, _: Clocks, connection: u64, _: &mut Outgoing) {
        self.connections.remove(&connection);
        self.watches.forget(connection);
    }

    fn tick(&mut self, _: Clocks, _: &mut Outgoing) -> Option<Mono> {
        None
    }

    fn restart(&mut self, _: Clocks, _: Data) {
        *self = Self { database: self.database.clone(), ..Self::default() };
    }

    fn take_journal(&mut self, into: &mut Vec<Noted>) {
        into.append(&mut self.journal);
    }
}

impl Enumerable for StandaloneServer {
    const SESSIONS: bool = true;

    fn fingerprint(&self, into: &mut impl Hasher) {
        self.hash(into);
    }

    fn things(&self) -> BTreeMap<String, u64> {
        self.database.tree.stamps().map(|(path, zxid)| (path.to_owned(), zxid as u64)).collect()
    }

    fn session(&self, connections: Range<u64>) -> Option<i64> {
        self.connections.range(connections).next_back().map(|(_, session)| *session)
    }

    fn expire(&mut self, session: i64, out: &mut Outgoing) {
        self.close(session, out);
    }

    fn may_call(&self, connections: Range<u64>) -> bool {
        self.connections.range(connections).any(|(c, _)| self.watches.has(*c))
    }

    fn opens(packet: &Packet) -> bool {
        matches!(packet, Packet::Connect { .. } | Packet::Ping | Packet::SetWatches { .. })
            || matches!(packet, Packet::Connected { .. } | Packet::Pong | Packet::Expired)
    }

    fn answers(packet: &Packet) -> bool {
        matches!(packet, Packet::Reply { .. } | Packet::Connected { .. } | Packet::Pong)
    }

    fn words(packet: &Packet) -> String {
        match packet {
            Packet::Connect { session: 0, .. } => "connect".into(),
            Packet::Connect { .. } => "reconnect".into(),
            Packet::Request { request, .. } => request_words(request),
            Packet::Reply { result: Ok(reply), .. } => reply_words(reply),
            Packet::Reply { result: Err(refusal), .. } => format!("{refusal:?}"),
            Packet::Event { path, event } => format!("watch on {path} fires: {event:?}"),
            Packet::SetWatches { .. } => "set the watches again".into(),
            Packet::Connected { .. } => "connected".into(),
            Packet::Expired => "the session has expired".into(),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

fn request_words(request: &Request) -> String {
    let watching = |watch: &Option<u64>| if watch.is_some() { ", watched" } else { "" };
    match request {
        Request::Create { path, mode, .. } => {
            let mode = match mode {
                CreateMode::Persistent => "",
                CreateMode::Ephemeral => ", ephemeral",
                CreateMode::EphemeralSequential => ", ephemeral, sequential",
            };
            format!("create {path}{mode}")
        }
        Request::Delete { path, .. } => format!("delete {path}"),
        Request::Exists { path, watch } => format!("exists {path}{}", watching(watch)),
        Request::GetData { path, watch } => format!("get {path}{}", watching(watch)),
        Request::GetChildren { path, watch } => format!("children of {path}{}", watching(watch)),
        Request::SetData { path, .. } => format!("set {path}"),
        Request::Sync { .. } => "sync".into(),
    }
}

fn reply_words(reply: &Reply) -> String {
    match reply {
        Reply::Created { path, .. } => path.clone(),
        Reply::Exists(None) => "no".into(),
        Reply::Exists(Some(_)) => "yes".into(),
        Reply::Children(names) => {
            let mut names = names.clone();
            names.sort();
            format!("[{}]", names.join(", "))
        }
        Reply::Data { data, .. } => String::from_utf8_lossy(data).into_owned(),
        Reply::Deleted | Reply::DataSet(_) | Reply::Synced => "ok".into(),
    }
}
