//! PostgreSQL, enumerated: the model itself, whose times never come. Its sessions end when the
//! enumeration ends them.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use super::{Packet, Refusal, Reply, Server};
use crate::Enumerable;
use crate::model::Out;

impl Server {
    /// The connection and the number of the last session of a client that the server does not know
    /// to be gone.
    fn last(&self, connections: &Range<u64>) -> Option<(u64, i64)> {
        let live = self.backends().filter(|(_, backend)| !backend.hung_up);
        let own = live.filter(|(connection, _)| connections.contains(connection));
        own.map(|(connection, backend)| (connection, backend.session)).last()
    }
}

impl Enumerable for Server {
    const SESSIONS: bool = true;
    const SESSIONS_ARE_CONNECTIONS: bool = true;

    fn fingerprint(&self, into: &mut impl Hasher) {
        self.hash(into);
    }

    fn things(&self) -> BTreeMap<String, u64> {
        let named = |(what, session)| (format!("{what}, of session {session}"), 1);
        self.locks().map(named).collect()
    }

    fn session(&self, connections: Range<u64>) -> Option<i64> {
        self.last(&connections).map(|(_, session)| session)
    }

    /// The connection is lost. A backend that waits for a lock does not notice.
    fn expire(&mut self, session: i64, out: &mut Vec<Out<Packet>>) {
        let found = self.backends().find(|(_, backend)| backend.session == session);
        if let Some(connection) = found.map(|(connection, _)| connection) {
            self.lose(connection, out);
        }
    }

    /// The answer to a statement that waits comes when another lets go.
    fn may_call(&self, connections: Range<u64>) -> bool {
        let mut own = self.backends().filter(|(connection, _)| connections.contains(connection));
        own.any(|(_, backend)| backend.blocked.is_some())
    }

    fn opens(packet: &Packet) -> bool {
        matches!(packet, Packet::Startup(_) | Packet::Ready)
    }

    fn words(packet: &Packet) -> String {
        match packet {
            Packet::Startup(_) => "connect".into(),
            Packet::Ready => "connected".into(),
            Packet::Statement(statement) => statement.sql(),
            Packet::Answer(Ok(Reply::Done)) => "done".into(),
            Packet::Answer(Ok(Reply::Answer(true))) => "true".into(),
            Packet::Answer(Ok(Reply::Answer(false))) => "false".into(),
            Packet::Answer(Err(Refusal::LockNotAvailable)) => "the lock is not available".into(),
            Packet::Answer(Err(refusal)) => format!("{refusal:?}"),
        }
    }
}
