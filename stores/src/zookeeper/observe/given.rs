//! The observer of an ensemble that somebody else runs, whose logs nobody here can read. A watch of
//! all nodes below that of the run (ZooKeeper 3.6 or later), at the first of its servers, tells of
//! each change in order, and what a node says of itself tells the session that has it. The
//! connections of clients tell who asked for what, and when; they name nodes as the servers do.
//!
//! A node that is gone before it can be asked for its session has that of the client which got the
//! reply to its creation. Of a deletion see `etcd`: it is a client's if one asked for it before.

use super::{ClientFrames, Jute, arrived, op};
use crate::Endpoint;
use crate::common_log::{LoggedTransaction, RequestId};
use crate::model::{By, Name, Noted, What};
use crate::observation::{
    Observation, ObservedServer, Observer, ReportSink, ServerReader, ServerReport, Traffic,
};
use crate::real::monotonic_nanos;
use futures_util::FutureExt;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::time::Duration;
use zookeeper_client as zk;

/// The way to observe the first server: it is asked for the changes of all.
pub const FIRST: Observer = Observer {
    begin: |server| {
        Box::pin(async {
            let changes = Changes::watch(&server.endpoint, server.allotment.as_deref()).await?;
            Ok(observe(server, Some(changes)))
        })
    },
    reads_traffic: true,
};

/// The way to observe the others: their clients.
pub const OTHER: Observer =
    Observer { begin: |server| Box::pin(async { Ok(observe(server, None)) }), reads_traffic: true };

/// The session time-out of the observer. Servers may give another.
const SESSION: Duration = Duration::from_secs(10);

/// The number of digits at the end of the name of a node of a sequence.
const DIGITS: usize = 10;

fn observe(server: ObservedServer, changes: Option<Changes>) -> Observation {
    let ObservedServer { traffic, reports, .. } = server;
    let reader = GivenReader { changes, reports: reports.clone(), connections: BTreeMap::new() };
    Observation::by(reader, traffic, reports)
}

/// The hearing of all changes, and the reading of a server's clients' connections.
struct GivenReader {
    changes: Option<Changes>,
    reports: ReportSink,
    connections: BTreeMap<u16, ClientFrames>,
}

impl ServerReader for GivenReader {
    fn passed(&mut self, Traffic { at_ns, caller, passage }: Traffic) {
        let (is_request, arrived) = arrived(&mut self.connections, caller, passage);
        for frame in arrived {
            let frames = self.connections.entry(caller).or_default();
            match is_request {
                true => frames.change(&frame, (caller, at_ns), &self.reports),
                false => frames.outcome(&frame, (caller, at_ns), &self.reports),
            }
        }
    }

    async fn hear(&mut self) -> io::Result<()> {
        match &mut self.changes {
            Some(changes) => changes.hear(&self.reports).await,
            None => std::future::pending().await,
        }
    }

    async fn look(&mut self) -> io::Result<()> {
        match &mut self.changes {
            Some(changes) => changes.catch_up(&self.reports).await,
            None => Ok(()),
        }
    }
}

/// The changes to the nodes of the run, in their order.
struct Changes {
    client: zk::Client,
    watcher: zk::PersistentWatcher,
    /// The node below which all others are.
    root: String,
    /// A change that was heard, with its time, and is not reported yet.
    heard: Option<(zk::WatchedEvent, u64)>,
    /// The number of those that were reported.
    count: i64,
    /// The session of each node that is there, 0 of one that stays without; as far as it is known.
    owners: BTreeMap<String, i64>,
}

impl Changes {
    async fn watch(endpoint: &Endpoint, allotment: Option<&str>) -> io::Result<Self> {
        let connector = zk::Client::connector().with_session_timeout(SESSION);
        let client =
            connector.connect(&endpoint.address.to_string()).await.map_err(io::Error::other)?;
        let root = format!("/{}", allotment.unwrap_or_default());
        let mode = zk::AddWatchMode::PersistentRecursive;
        let watcher = client.watch(&root, mode).await.map_err(|error| {
            let needed = "it lets nobody watch all nodes below one, as ZooKeeper does from 3.6 on";
            io::Error::other(format!("{needed} ({error})"))
        })?;
        Ok(Self { client, watcher, root, heard: None, count: 0, owners: BTreeMap::new() })
    }

    /// Waits for a change, and reports it.
    async fn hear(&mut self, reports: &ReportSink) -> io::Result<()> {
        if self.heard.is_none() {
            self.heard = Some((self.watcher.changed().await, monotonic_nanos()));
        }
        self.report(reports).await
    }

    /// Reports all changes so far: those before an answer are heard before it.
    async fn catch_up(&mut self, reports: &ReportSink) -> io::Result<()> {
        self.client.sync(&self.root).await.map_err(io::Error::other)?;
        loop {
            if self.heard.is_none() {
                let next = self.watcher.changed().now_or_never();
                self.heard = next.map(|event| (event, monotonic_nanos()));
            }
            match self.heard {
                Some(_) => self.report(reports).await?,
                None => return Ok(()),
            }
        }
    }

    /// Reports what was heard.
    async fn report(&mut self, reports: &ReportSink) -> io::Result<()> {
        let Some((event, _)) = &self.heard else { return Ok(()) };
        let path = event.path.clone();
        if event.event_type == zk::EventType::NodeCreated {
            let stat = self.client.check_stat(&path).await.map_err(io::Error::other)?;
            self.owners.extend(stat.map(|stat| (path.clone(), session(stat.ephemeral_owner))));
        }
        let Some((event, heard_ns)) = self.heard.take() else { return Ok(()) };
        let owner = self.owners.get(&path).copied();
        let (requests, what, unasked) = match event.event_type {
            zk::EventType::NodeCreated => created(&path, owner),
            zk::EventType::NodeDeleted => {
                self.owners.remove(&path);
                deleted(&path, owner)
            }
            zk::EventType::NodeDataChanged => {
                (vec![request(&path, op::SET_DATA)], What::Written(By::Caller), None)
            }
            zk::EventType::NodeChildrenChanged => return Ok(()),
            // What came while there was no connection was lost.
            zk::EventType::Session => return Err(io::Error::other("the watch is over")),
        };
        let Some(name) = path.strip_prefix(&self.root).filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        self.count += 1;
        let object = Name::from_slice(name.as_bytes());
        reports(ServerReport::Logged(LoggedTransaction {
            zxid: self.count,
            requests,
            made_ns: heard_ns,
            noted: vec![Noted { object, what, zxid: Some(self.count) }],
            unasked,
            is_committed: true,
        }));
        Ok(())
    }
}

/// The session of a node, 0 if it has none: containers and nodes with a time to live have a number
/// of their kind there (`org.apache.zookeeper.server.EphemeralType`).
const fn session(owner: i64) -> i64 {
    if owner == i64::MIN || owner >> 56 == -1 { 0 } else { owner }
}

/// The requests that a change can come from, its kind, and its kind if none was made.
type Origin = (Vec<RequestId>, What, Option<What>);

fn created(path: &str, owner: Option<i64>) -> Origin {
    let by = owner.filter(|owner| *owner != 0).map_or(By::Caller, By::Session);
    let mut requests = vec![request(path, op::CREATE)];
    // A client that never learned the name asked for it without the number.
    requests.extend(owner.and(without_digits(path)).map(|prefix| request(prefix, op::CREATE)));
    (requests, What::Written(by), None)
}

fn deleted(path: &str, owner: Option<i64>) -> Origin {
    let unasked = owner.map(|owner| match owner {
        // The server itself removes containers.
        0 => What::Expired,
        session => What::SessionEnded(session),
    });
    (vec![request(path, op::DELETE)], What::Deleted(By::Caller), unasked)
}

fn without_digits(path: &str) -> Option<&str> {
    let (prefix, digits) = path.split_at_checked(path.len().checked_sub(DIGITS)?)?;
    digits.bytes().all(|it| it.is_ascii_digit()).then_some(prefix)
}

/// The request for a change of this kind to a node.
fn request(path: impl AsRef<[u8]>, kind: i32) -> RequestId {
    let mut hasher = DefaultHasher::new();
    path.as_ref().hash(&mut hasher);
    (hasher.finish() as i64, kind.into())
}

/// A change that a request asks for: the path of the node, and the kind.
pub(super) type NodeChange = (Vec<u8>, i32);

/// The changes that a request asks for.
fn asked_for(kind: i32, body: &mut Jute<'_>) -> Option<Vec<NodeChange>> {
    let acl = |body: &mut Jute<'_>| {
        let entries = body.int()?;
        (0..entries).try_for_each(|_| {
            body.int()?;
            body.buffer()?;
            body.buffer().map(drop)
        })
    };
    Some(match kind {
        op::CREATE | op::CREATE_2 | op::CREATE_CONTAINER | op::CREATE_TTL => {
            let path = body.buffer()?.to_vec();
            body.buffer()?;
            acl(body)?;
            body.int()?;
            if kind == op::CREATE_TTL {
                body.long()?;
            }
            vec![(path, op::CREATE)]
        }
        op::DELETE | op::CHECK => {
            let path = body.buffer()?.to_vec();
            body.int()?;
            if kind == op::DELETE { vec![(path, kind)] } else { Vec::new() }
        }
        op::SET_DATA => {
            let path = body.buffer()?.to_vec();
            body.buffer()?;
            body.int()?;
            vec![(path, kind)]
        }
        op::MULTI => {
            let mut all = Vec::new();
            loop {
                let (kind, is_last, _error) = (body.int()?, body.array::<1>()?, body.int()?);
                if is_last != [0] {
                    break all;
                }
                all.extend(asked_for(kind, body)?);
            }
        }
        _ => Vec::new(),
    })
}

impl ClientFrames {
    /// Reads a request. The first one asks for a session.
    fn change(&mut self, frame: &[u8], (caller, at_ns): (u16, u64), reports: &ReportSink) {
        if self.opened_ns.replace(at_ns).is_none() {
            return;
        }
        let mut frame = Jute(frame);
        let (Some(number), Some(kind)) = (frame.int(), frame.int()) else { return };
        let changes = asked_for(kind, &mut frame).unwrap_or_default();
        for (path, kind) in &changes {
            reports(ServerReport::Asked { request: request(path, *kind), caller, at_ns });
        }
        if !changes.is_empty() {
            self.changes.insert(number, (at_ns, changes));
        }
    }

    /// Reads a reply. The first one has the number of the session, which is 0 of one that is over.
    fn outcome(&mut self, frame: &[u8], (caller, at_ns): (u16, u64), reports: &ReportSink) {
        let mut frame = Jute(frame);
        if self.session.is_none() {
            let _version_and_time_out = frame.long();
            self.session = frame.long();
            let what = What::SessionBegan(self.session.unwrap_or_default());
            let (noted, at_ns) = (Noted { object: Name::new(), what, zxid: None }, Some(at_ns));
            reports(ServerReport::Change { caller: Some(caller), noted, at_ns, value: 0 });
            return;
        }
        let Some((asked_ns, changes)) = frame.int().and_then(|it| self.changes.remove(&it)) else {
            return;
        };
        let (_zxid, error) = (frame.long(), frame.int());
        let answered = |request, at_ns| ServerReport::Answered { request, asked_ns, at_ns };
        // The name of a node of a sequence is in the answer.
        let named = match &*changes {
            [(path, op::CREATE)] => frame.buffer().filter(|named| named != path),
            _ => None,
        };
        let done_ns = (error == Some(0)).then_some(at_ns);
        for (path, kind) in &changes {
            reports(answered(request(path, *kind), done_ns.filter(|_| named.is_none())));
        }
        if let (Some(named), Some(at_ns)) = (named, done_ns) {
            let request = request(named, op::CREATE);
            reports(ServerReport::Asked { request, caller, at_ns: asked_ns });
            reports(answered(request, Some(at_ns)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    const SESSION: i64 = 0x1_0000_2ecf_7500;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as i32).to_be_bytes(), text.as_bytes()].concat()
    }

    fn numbers(numbers: &[i32]) -> Vec<u8> {
        numbers.iter().flat_map(|it| it.to_be_bytes()).collect()
    }

    fn creation(path: &str) -> Vec<u8> {
        let acl = [numbers(&[1, 31]), text("world"), text("anyone")].concat();
        [text(path), text("data"), acl, numbers(&[3])].concat()
    }

    /// The reports of what a client asks and is answered.
    fn reported(exchange: &[(&[u8], &[u8])]) -> Vec<ServerReport> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sees = seen.clone();
        let reports: ReportSink = Arc::new(move |report| sees.lock().expect("whole").push(report));
        let mut frames = ClientFrames::default();
        frames.change(&[], (4000, 1), &reports);
        let session = [numbers(&[0, 2000]), SESSION.to_be_bytes().to_vec()].concat();
        frames.outcome(&session, (4000, 2), &reports);
        for (at_ns, (request, reply)) in (3..).step_by(2).zip(exchange) {
            frames.change(request, (4000, at_ns), &reports);
            frames.outcome(reply, (4000, at_ns + 1), &reports);
        }
        seen.lock().expect("whole").split_off(1)
    }

    fn asked(path: &str, kind: i32, at_ns: u64) -> ServerReport {
        ServerReport::Asked { request: request(path, kind), caller: 4000, at_ns }
    }

    fn answered(path: &str, kind: i32, asked_ns: u64, at_ns: Option<u64>) -> ServerReport {
        ServerReport::Answered { request: request(path, kind), asked_ns, at_ns }
    }

    #[test]
    fn a_node_of_a_sequence_is_known_by_the_name_in_the_answer() {
        let create = [numbers(&[1, op::CREATE_2]), creation("/r/k-")].concat();
        let made = [numbers(&[1, 0, 7, 0]), text("/r/k-0000000012")].concat();
        let delete = [numbers(&[2, op::DELETE]), text("/r/k-0000000012"), numbers(&[-1])].concat();
        let is_gone = numbers(&[2, 0, 8, -101]);
        let node = "/r/k-0000000012";
        assert_eq!(
            reported(&[(&create, &made), (&delete, &is_gone)]),
            [
                asked("/r/k-", op::CREATE, 3),
                answered("/r/k-", op::CREATE, 3, None),
                asked(node, op::CREATE, 3),
                answered(node, op::CREATE, 3, Some(4)),
                asked(node, op::DELETE, 5),
                answered(node, op::DELETE, 5, None),
            ]
        );
        let (requests, what, _) = created(node, Some(SESSION));
        assert_eq!(requests, [request(node, op::CREATE), request("/r/k-", op::CREATE)]);
        assert_eq!(what, What::Written(By::Session(SESSION)));
    }

    #[test]
    fn all_parts_of_a_transaction_are_asked_for() {
        let part =
            |kind: i32, body: &[u8]| [&numbers(&[kind])[..], &[0], &numbers(&[-1]), body].concat();
        let check = [text("/r/a"), numbers(&[-1])].concat();
        let body = [
            part(op::CHECK, &check),
            part(op::CREATE, &creation("/r/b")),
            part(op::DELETE, &check),
            [&numbers(&[-1])[..], &[1], &numbers(&[-1])].concat(),
        ]
        .concat();
        let parts = asked_for(op::MULTI, &mut Jute(&body));
        let expected = [(b"/r/b".to_vec(), op::CREATE), (b"/r/a".to_vec(), op::DELETE)];
        assert_eq!(parts, Some(expected.to_vec()));
    }

    #[test]
    fn containers_have_no_session() {
        assert_eq!([i64::MIN, -1, SESSION].map(session), [0, 0, SESSION]);
    }
}
