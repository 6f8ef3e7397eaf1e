//! etcd, enumerated: one member with the keys, leases and watches of the model, but without time.
//! Its leases end when the enumeration ends them.
//!
//! One member answers as three do without faults of their own. Elections are left to the simulator.

use base::{Data, Mono};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use super::model::{KeyStore, KeyWatches, Server, note};
use super::{LeaseId, Packet, Refusal, Reply, Request, Signal};
use crate::Enumerable;
use crate::model::{By, Clocks, Name, Noted, Out, Peer, ServerModel, What};

/// A member on its own.
#[derive(Clone, Debug, Hash)]
pub struct StandaloneMember {
    store: KeyStore,
    watches: KeyWatches,
    /// The connection over which each lease was asked for.
    leases: BTreeMap<LeaseId, u64>,
    journal: Vec<Noted>,
}

type Outgoing = Vec<Out<Packet>>;

impl Default for StandaloneMember {
    fn default() -> Self {
        Self {
            store: KeyStore::new(1),
            watches: KeyWatches::default(),
            leases: BTreeMap::new(),
            journal: Vec::new(),
        }
    }
}

impl StandaloneMember {
    fn serve(
        &mut self,
        connection: u64,
        request: Request,
        out: &mut Outgoing,
    ) -> Result<Reply, Refusal> {
        match &request {
            Request::Watch { key, from, watch } => {
                self.watches.set(connection, *watch, key.clone(), *from);
            }
            Request::Unwatch { watch } => self.watches.unset(connection, *watch),
            Request::LeaseGrant { lease, .. } => {
                self.leases.insert(*lease, connection);
                let what = What::SessionBegan(*lease);
                self.journal.push(Noted { object: Name::new(), what, zxid: None });
            }
            _ => {}
        }
        self.apply(&request, Some(By::Caller), out)
    }

    fn apply(
        &mut self,
        request: &Request,
        by: Option<By>,
        out: &mut Outgoing,
    ) -> Result<Reply, Refusal> {
        let mut changes = Vec::new();
        let result = self.store.apply(request, &mut changes);
        note(&changes, by, None, &mut self.journal);
        self.watches.fire(&self.store, out);
        let store = &self.store;
        self.leases.retain(|lease, _| store.ttl(*lease) > 0);
        result
    }
}

impl ServerModel for StandaloneMember {
    type Packet = Packet;

    fn is_call(packet: &Packet) -> bool {
        Server::is_call(packet)
    }

    fn receive(&mut self, _: Clocks, from: Peer, packet: Packet, out: &mut Outgoing) {
        let (Peer::Connection(connection), Packet::Request { id, request }) = (from, packet) else {
            return;
        };
        let answers = !matches!(request, Request::Unwatch { .. });
        // The answer to a watch comes before its signal.
        let mut signals = Vec::new();
        let result = self.serve(connection, request, &mut signals);
        if answers {
            out.push(Out::Send(from, Packet::Reply { id, result }));
        }
        out.append(&mut signals);
    }

    fn disconnected(&mut self, _: Clocks, connection: u64, _: &mut Outgoing) {
        self.watches.forget(connection);
    }

    fn tick(&mut self, _: Clocks, _: &mut Outgoing) -> Option<Mono> {
        None
    }

    fn restart(&mut self, _: Clocks, _: Data) {
        self.watches = KeyWatches::default();
    }

    fn take_journal(&mut self, into: &mut Vec<Noted>) {
        into.append(&mut self.journal);
    }
}

impl Enumerable for StandaloneMember {
    const SESSIONS: bool = true;

    fn fingerprint(&self, into: &mut impl Hasher) {
        self.hash(into);
    }

    fn things(&self) -> BTreeMap<String, u64> {
        self.store.keys().map(|(key, stored)| (key.clone(), stored.created as u64)).collect()
    }

    /// The last lease of a client.
    fn session(&self, connections: Range<u64>) -> Option<i64> {
        let own = self.leases.iter().filter(|(_, connection)| connections.contains(connection));
        own.map(|(lease, connection)| (connection, lease)).max().map(|(_, lease)| *lease)
    }

    fn expire(&mut self, session: i64, out: &mut Outgoing) {
        drop(self.apply(&Request::LeaseRevoke { lease: session }, None, out));
    }

    fn may_call(&self, connections: Range<u64>) -> bool {
        self.watches.has(connections)
    }

    fn answers(packet: &Packet) -> bool {
        matches!(packet, Packet::Reply { .. })
    }

    fn words(packet: &Packet) -> String {
        match packet {
            Packet::Request { request, .. } => request_words(request),
            Packet::Reply { result: Ok(reply), .. } => reply_words(reply),
            Packet::Reply { result: Err(refusal), .. } => format!("{refusal:?}"),
            Packet::Signal(Signal::Deleted { .. }) => "the watched key was deleted".into(),
            Packet::Signal(Signal::Ended { .. }) => "the watch has ended".into(),
            Packet::Peer(peer) => format!("{peer:?}"),
        }
    }
}

fn request_words(request: &Request) -> String {
    match request {
        Request::LeaseGrant { ttl, .. } => format!("grant a lease for {ttl} s"),
        Request::LeaseRevoke { .. } => "revoke the lease".into(),
        Request::LeaseKeepAlive { .. } => "keep the lease alive".into(),
        Request::Create { key, .. } => format!("create {key}, with the lease, if it is not there"),
        Request::Delete { key, created } => format!("delete {key} if created at {created}"),
        Request::Get { key } => format!("get {key}"),
        Request::GetLast { prefix, before } => {
            format!("get the last key of {prefix} that was created before {before}")
        }
        Request::Watch { key, from, .. } => format!("watch {key} from {from} on"),
        Request::Unwatch { .. } => "watch no longer".into(),
    }
}

fn reply_words(reply: &Reply) -> String {
    match reply {
        Reply::Leased { ttl } => format!("for {ttl} s"),
        Reply::Created { revision } => format!("created at {revision}"),
        Reply::Found { found: Some(found), .. } => format!("there since {}", found.created),
        Reply::Found { found: None, .. } => "not there".into(),
        Reply::Deleted(true) => "deleted".into(),
        Reply::Deleted(false) => "not there, or another".into(),
        Reply::Revoked | Reply::Watching | Reply::Unwatched => "ok".into(),
    }
}
