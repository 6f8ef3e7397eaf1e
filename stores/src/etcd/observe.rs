//! The observer of a real cluster's members. A watch of all keys reports the changes, and the
//! connections of clients tell who made them: a lease belongs to the client that asked for it, and
//! a key whose deletion nobody asked for has gone with its lease.

use super::real::messages::{WATCH, number};
use crate::Door;
use crate::common_log::{LoggedTransaction, RequestId};
use crate::model::{By, Name, Noted, What};
use crate::observation::{
    Observation, ObservedServer, Observer, Passage, ReportSink, ServerReader, ServerReport, Traffic,
};
use crate::real::monotonic_nanos;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;

/// The way to observe a member.
pub const MEMBER: Observer =
    Observer { begin: |server| Box::pin(observe(server)), reads_traffic: true };

/// All keys, as a range of them.
const ALL: &str = "AA==";

async fn observe(server: ObservedServer) -> io::Result<Observation> {
    let ObservedServer { door, traffic, reports, .. } = server;
    // What others have told already counts once.
    let create = json!({ "key": ALL, "range_end": ALL, "start_revision": "1", "prev_kv": true });
    let watch = ask(&door, WATCH, &json!({ "create_request": create })).await?;
    let reader = ClusterReader {
        door,
        watch,
        revision: 1,
        reports: reports.clone(),
        connections: BTreeMap::new(),
    };
    Ok(Observation::by(reader, traffic, reports))
}

/// The lines of an answer.
type AnswerLines = Lines<BufReader<TcpStream>>;

/// Asks a member, and returns what it says after its head.
async fn ask(door: &Door, path: &str, body: &Value) -> io::Result<AnswerLines> {
    let (mut stream, body) = (door.open().await?, body.to_string());
    let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).await?;
    let mut lines = BufReader::new(stream).lines();
    while !line(&mut lines).await?.is_empty() {}
    Ok(lines)
}

async fn line(lines: &mut AnswerLines) -> io::Result<String> {
    lines.next_line().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The hearing of a member, and the reading of its clients' connections.
struct ClusterReader {
    door: Door,
    watch: AnswerLines,
    /// The last revision that it has told.
    revision: i64,
    reports: ReportSink,
    connections: BTreeMap<u16, ClientTexts>,
}

impl ServerReader for ClusterReader {
    fn passed(&mut self, Traffic { at_ns, caller, passage }: Traffic) {
        let texts = self.connections.entry(caller).or_default();
        match passage {
            Passage::Request(bytes) => texts.request(&bytes, (caller, at_ns), &self.reports),
            Passage::Reply(bytes) => texts.reply(&bytes, at_ns, &self.reports),
            Passage::Closed => drop(self.connections.remove(&caller)),
        }
    }

    async fn hear(&mut self) -> io::Result<()> {
        let told: Value = serde_json::from_str(&line(&mut self.watch).await?)?;
        if told["result"].is_null() || told["result"]["canceled"] == true {
            return Err(io::Error::other("the watch is over"));
        }
        for transaction in transactions(&told["result"]["events"], monotonic_nanos()) {
            self.revision = transaction.zxid;
            (self.reports)(ServerReport::Logged(transaction));
        }
        Ok(())
    }

    async fn look(&mut self) -> io::Result<()> {
        let any = json!({ "key": ALL, "serializable": true });
        let answer = line(&mut ask(&self.door, "/v3/kv/range", &any).await?).await?;
        let answer: Value = serde_json::from_str(&answer)?;
        while self.revision < number(&answer["header"]["revision"]) {
            self.hear().await?;
        }
        Ok(())
    }
}

/// Reads the events of a watch, which were told at this time: those of a revision are one
/// transaction.
fn transactions(events: &Value, told_ns: u64) -> Vec<LoggedTransaction> {
    let mut all: Vec<LoggedTransaction> = Vec::new();
    for event in events.as_array().into_iter().flatten() {
        let next = transaction(event, told_ns);
        match all.last_mut().filter(|last| last.zxid == next.zxid) {
            Some(last) => last.noted.extend(next.noted),
            None => all.push(next),
        }
    }
    all
}

fn transaction(event: &Value, told_ns: u64) -> LoggedTransaction {
    let (stored, before) = (&event["kv"], &event["prev_kv"]);
    let zxid = number(&stored["mod_revision"]);
    let (requests, what, unasked) = if event["type"] == "DELETE" {
        let lease = number(&before["lease"]);
        let requests = vec![deletion(number(&before["create_revision"])), revocation(lease)];
        (requests, What::Deleted(By::Caller), Some(What::SessionEnded(lease)))
    } else {
        let lease = number(&stored["lease"]);
        (vec![creation(lease)], What::Written(By::Session(lease)), None)
    };
    let key = BASE64.decode(stored["key"].as_str().unwrap_or_default()).unwrap_or_default();
    let noted = vec![Noted { object: Name::from_slice(&key), what, zxid: Some(zxid) }];
    LoggedTransaction { zxid, requests, made_ns: told_ns, noted, unasked, is_committed: true }
}

/// The request that creates a key with a lease.
const fn creation(lease: i64) -> RequestId {
    (lease, 0)
}

/// The request that deletes the key that was created at a revision.
const fn deletion(created: i64) -> RequestId {
    (created, 1)
}

/// The request that ends a lease.
const fn revocation(lease: i64) -> RequestId {
    (lease, 2)
}

/// The texts on a client's connection, which carries one request at a time.
#[derive(Default)]
struct ClientTexts {
    request: Vec<u8>,
    reply: Vec<u8>,
    /// The request that is to be answered, and its time, if it can change something.
    open: Option<(RequestId, u64)>,
}

impl ClientTexts {
    fn request(&mut self, bytes: &[u8], (caller, at_ns): (u16, u64), reports: &ReportSink) {
        self.request.extend(bytes);
        let Some((head, body)) = whole(&self.request) else { return };
        self.request.clear();
        self.reply.clear();
        if head.starts_with("POST /v3/lease/grant ") {
            let what = What::SessionBegan(number(&body["ID"]));
            let noted = Noted { object: Name::new(), what, zxid: None };
            reports(ServerReport::Change {
                caller: Some(caller),
                noted,
                at_ns: Some(at_ns),
                value: 0,
            });
        }
        self.open = changed_by(&head, &body).map(|request| (request, at_ns));
        if let Some((request, at_ns)) = self.open {
            reports(ServerReport::Asked { request, caller, at_ns });
        }
    }

    fn reply(&mut self, bytes: &[u8], at_ns: u64, reports: &ReportSink) {
        let Some((request, asked_ns)) = self.open else { return };
        self.reply.extend(bytes);
        let Some((head, body)) = whole(&self.reply) else { return };
        self.open = None;
        let is_done = body["succeeded"] == true || request == revocation(request.0);
        let is_done = is_done && head.starts_with("HTTP/1.1 200 ");
        // It may have been done in spite of an error of the member's own.
        if is_done || !head.starts_with("HTTP/1.1 5") {
            reports(ServerReport::Answered { request, asked_ns, at_ns: is_done.then_some(at_ns) });
        }
    }
}

/// Reads a request or a reply: its head, and its body, if that is whole.
fn whole(text: &[u8]) -> Option<(String, Value)> {
    let (head, body) = std::str::from_utf8(text).ok()?.split_once("\r\n\r\n")?;
    Some((head.to_owned(), serde_json::from_str(body).ok()?))
}

/// Returns the request, if it is one that can change a key.
fn changed_by(head: &str, body: &Value) -> Option<RequestId> {
    let then = &body["success"][0];
    if head.starts_with("POST /v3/lease/revoke ") {
        Some(revocation(number(&body["ID"])))
    } else if let Some(lease) = then["request_put"].get("lease") {
        Some(creation(number(lease)))
    } else {
        let is_deletion = then.get("request_delete_range").is_some();
        is_deletion.then(|| deletion(number(&body["compare"][0]["create_revision"])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_watch_tells_of_changes_that_clients_may_have_asked_for() {
        let kv = |revision: &str| json!({ "key": "aw==", "mod_revision": revision, "lease": "7" });
        let before = json!({ "key": "aw==", "create_revision": "2", "lease": "7" });
        let deleted = json!({ "type": "DELETE", "kv": kv("3"), "prev_kv": before });
        let told = transactions(&json!([{ "kv": kv("2") }, deleted, deleted]), 5);
        let transaction = |zxid, requests: &[RequestId], changes: &[What], unasked| {
            let object = Name::from_slice(b"k");
            let noted =
                |what: &What| Noted { object: object.clone(), what: *what, zxid: Some(zxid) };
            let noted = changes.iter().map(noted).collect();
            let requests = requests.to_vec();
            LoggedTransaction { zxid, requests, made_ns: 5, noted, unasked, is_committed: true }
        };
        let (written, deleted) = (What::Written(By::Session(7)), What::Deleted(By::Caller));
        let expected = [
            transaction(2, &[creation(7)], &[written], None),
            transaction(
                3,
                &[deletion(2), revocation(7)],
                &[deleted, deleted],
                Some(What::SessionEnded(7)),
            ),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn requests_are_known_by_what_they_change() {
        let request = |path: &str, body: Value| {
            let body = body.to_string();
            format!("POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        };
        let reply = |status, body: Value| format!("HTTP/1.1 {status} X\r\n\r\n{body}");
        let put = json!({ "success": [{ "request_put": { "key": "aw==", "lease": "7" } }] });
        let delete = json!({
            "compare": [{ "create_revision": "2" }],
            "success": [{ "request_delete_range": { "key": "aw==" } }],
        });
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sees = seen.clone();
        let reports: ReportSink = Arc::new(move |report| sees.lock().expect("whole").push(report));
        let mut texts = ClientTexts::default();
        let exchanges = [
            (request("/v3/lease/grant", json!({ "ID": "7" })), reply(200, json!({}))),
            (request("/v3/kv/txn", put), reply(200, json!({ "succeeded": true }))),
            (request("/v3/kv/txn", delete), reply(200, json!({ "header": {} }))),
            (request("/v3/lease/revoke", json!({ "ID": "7" })), reply(404, json!({ "code": 5 }))),
        ];
        for (at_ns, (request, reply)) in (1..).step_by(2).zip(&exchanges) {
            let (begin, end) = request.split_at(40);
            texts.request(begin.as_bytes(), (4000, 0), &reports);
            texts.request(end.as_bytes(), (4000, at_ns), &reports);
            texts.reply(reply.as_bytes(), at_ns + 1, &reports);
        }
        let asked = |request, at_ns| ServerReport::Asked { request, caller: 4000, at_ns };
        let answered =
            |request, asked_ns, at_ns| ServerReport::Answered { request, asked_ns, at_ns };
        let what = What::SessionBegan(7);
        let noted = Noted { object: Name::new(), what, zxid: None };
        let expected = [
            ServerReport::Change { caller: Some(4000), noted, at_ns: Some(1), value: 0 },
            asked(creation(7), 3),
            answered(creation(7), 3, Some(4)),
            asked(deletion(2), 5),
            answered(deletion(2), 5, None),
            asked(revocation(7), 7),
            answered(revocation(7), 7, None),
        ];
        assert_eq!(*seen.lock().expect("whole"), expected);
    }
}
