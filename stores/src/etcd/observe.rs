//! The observer of a real cluster's members. A watch of all keys reports the changes, and the
//! connections of clients tell who made them: a lease belongs to the client that asked for it, and
//! a key whose deletion nobody asked for has gone with its lease.
//!
//! A program may put more in front of the name of its run. So the watch is of all keys where others
//! have keys, too, and theirs are passed over.

use super::real::messages::{WATCH, number};
use crate::Endpoint;
use crate::allotment::own_name;
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
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;

/// The way to observe a member.
pub const MEMBER: Observer =
    Observer { begin: |server| Box::pin(observe(server)), reads_traffic: true };

/// All keys, as a range of them.
const ALL: &str = "AA==";

async fn observe(server: ObservedServer) -> io::Result<Observation> {
    let ObservedServer { endpoint, allotment, traffic, reports, .. } = server;
    let revision = match allotment {
        // A revision that other members have reported already counts once.
        None => 0,
        // What was there before is of no interest, and may be long.
        Some(_) => revision(&endpoint).await?,
    };
    let mut reader = ClusterReader {
        watch: watch(&endpoint, revision + 1).await?,
        endpoint,
        allotment,
        revision,
        reports: reports.clone(),
        connections: BTreeMap::new(),
    };
    // The first answer says whether there is a watch.
    reader.hear().await?;
    Ok(Observation::by(reader, traffic, reports))
}

/// Watches all keys from a revision on.
async fn watch(endpoint: &Endpoint, first: i64) -> io::Result<AnswerLines> {
    let first = first.to_string();
    let create = json!({ "key": ALL, "range_end": ALL, "start_revision": first, "prev_kv": true });
    ask(endpoint, WATCH, &json!({ "create_request": create })).await
}

/// The last revision that a member has.
async fn revision(endpoint: &Endpoint) -> io::Result<i64> {
    let any = json!({ "key": ALL, "serializable": true });
    let answer: Value =
        serde_json::from_str(&line(&mut ask(endpoint, "/v3/kv/range", &any).await?).await?)?;
    match number(&answer["header"]["revision"]) {
        0 => Err(refusal(&answer, "it tells no revision")),
        revision => Ok(revision),
    }
}

/// Returns what a member says instead of what was asked for, as far as it says why.
fn refusal(answer: &Value, otherwise: &str) -> io::Error {
    let result = &answer["result"];
    let why = [&result["cancel_reason"], &answer["error"]["message"], &answer["error"]];
    let why = why.into_iter().find_map(Value::as_str);
    io::Error::other(why.unwrap_or(otherwise).to_owned())
}

/// The lines of an answer.
type AnswerLines = Lines<BufReader<TcpStream>>;

/// Asks a member, and returns what it says after its head.
async fn ask(endpoint: &Endpoint, path: &str, body: &Value) -> io::Result<AnswerLines> {
    let (mut stream, body) = (endpoint.connect().await?, body.to_string());
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
    endpoint: Endpoint,
    watch: AnswerLines,
    /// The name that the run's own keys have in them; `None` if all are its own.
    allotment: Option<String>,
    /// The last revision that it has reported.
    revision: i64,
    reports: ReportSink,
    connections: BTreeMap<u16, ClientTexts>,
}

impl ServerReader for ClusterReader {
    fn passed(&mut self, Traffic { at_ns, caller, passage }: Traffic) {
        let texts = self.connections.entry(caller).or_default();
        match passage {
            Passage::Request(bytes) => texts.request(&bytes, (caller, at_ns), &self.reports),
            Passage::Reply(bytes) => texts.reply(&bytes, (caller, at_ns), &self.reports),
            Passage::Closed => drop(self.connections.remove(&caller)),
        }
    }

    async fn hear(&mut self) -> io::Result<()> {
        let response: Value = serde_json::from_str(&line(&mut self.watch).await?)?;
        if response["result"].is_null() || response["result"]["canceled"] == true {
            return Err(refusal(&response, "the watch is over"));
        }
        for mut transaction in transactions(&response["result"]["events"], monotonic_nanos()) {
            self.revision = transaction.zxid;
            keep_own(self.allotment.as_deref(), &mut transaction);
            (self.reports)(ServerReport::Logged(transaction));
        }
        Ok(())
    }

    async fn look(&mut self) -> io::Result<()> {
        let last = revision(&self.endpoint).await?;
        while self.revision < last {
            self.hear().await?;
        }
        Ok(())
    }
}

/// Reads the events of a watch, which were reported at this time: those of a revision are one
/// transaction.
fn transactions(events: &Value, reported_ns: u64) -> Vec<LoggedTransaction> {
    let mut all: Vec<LoggedTransaction> = Vec::new();
    for event in events.as_array().into_iter().flatten() {
        let next = transaction(event, reported_ns);
        match all.last_mut().filter(|last| last.zxid == next.zxid) {
            Some(last) => last.noted.extend(next.noted),
            None => all.push(next),
        }
    }
    all
}

/// Leaves only the changes of a run's own keys in a transaction, under the names that it has for
/// them. One of somebody else keeps its place in the log, and says nothing.
fn keep_own(allotment: Option<&str>, transaction: &mut LoggedTransaction) {
    let own = |it: Noted| Some(Noted { object: own_name(allotment, it.object)?, ..it });
    transaction.noted = transaction.noted.drain(..).filter_map(own).collect();
    if transaction.noted.is_empty() {
        transaction.requests.clear();
    }
}

fn transaction(event: &Value, reported_ns: u64) -> LoggedTransaction {
    let (stored, before) = (&event["kv"], &event["prev_kv"]);
    let zxid = number(&stored["mod_revision"]);
    let (requests, what, unasked) = if event["type"] == "DELETE" {
        let lease = number(&before["lease"]);
        let requests = vec![
            deletion(number(&before["create_revision"])),
            deletion_of(&before["key"], &before["value"]),
            revocation(lease),
        ];
        (requests, What::Deleted(By::Caller), Some(What::SessionEnded(lease)))
    } else {
        let lease = number(&stored["lease"]);
        (vec![creation(lease)], What::Written(By::Session(lease)), None)
    };
    let key = BASE64.decode(stored["key"].as_str().unwrap_or_default()).unwrap_or_default();
    let noted = vec![Noted { object: Name::from_slice(&key), what, zxid: Some(zxid) }];
    LoggedTransaction { zxid, requests, made_ns: reported_ns, noted, unasked, is_committed: true }
}

/// The request that creates a key with a lease.
const fn creation(lease: i64) -> RequestId {
    (lease, 0)
}

/// The request that deletes the key that was created at a revision.
const fn deletion(created: i64) -> RequestId {
    (created, 1)
}

/// The request that deletes a key that has this value.
fn deletion_of(key: &Value, value: &Value) -> RequestId {
    let mut hasher = DefaultHasher::new();
    (key.as_str(), value.as_str()).hash(&mut hasher);
    (hasher.finish() as i64, 3)
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
    /// The request that is to be answered asks for a lease of any number.
    asks_for_lease: bool,
}

impl ClientTexts {
    fn request(&mut self, bytes: &[u8], (caller, at_ns): (u16, u64), reports: &ReportSink) {
        self.request.extend(bytes);
        let Some((head, body)) = whole(&self.request) else { return };
        self.request.clear();
        self.reply.clear();
        let lease = number(&body["ID"]);
        let is_grant = head.starts_with("POST /v3/lease/grant ");
        self.asks_for_lease = is_grant && lease == 0;
        if is_grant && lease != 0 {
            reports(began(lease, caller, at_ns));
        }
        if deletes_unseen(&head, &body) {
            reports(ServerReport::Incomplete);
        }
        self.open = changed_by(&head, &body).map(|request| (request, at_ns));
        if let Some((request, at_ns)) = self.open {
            reports(ServerReport::Asked { request, caller, at_ns });
        }
    }

    fn reply(&mut self, bytes: &[u8], (caller, at_ns): (u16, u64), reports: &ReportSink) {
        if self.open.is_none() && !self.asks_for_lease {
            return;
        }
        self.reply.extend(bytes);
        let Some((head, body)) = whole(&self.reply) else { return };
        if std::mem::take(&mut self.asks_for_lease) {
            reports(began(number(&body["ID"]), caller, at_ns));
        }
        let Some((request, asked_ns)) = self.open else { return };
        self.open = None;
        let is_done = body["succeeded"] == true || request == revocation(request.0);
        let is_done = is_done && head.starts_with("HTTP/1.1 200 ");
        // It may have been done in spite of an error of the member's own.
        if is_done || !head.starts_with("HTTP/1.1 5") {
            reports(ServerReport::Answered { request, asked_ns, at_ns: is_done.then_some(at_ns) });
        }
    }
}

/// The report that a client has a lease.
fn began(lease: i64, caller: u16, at_ns: u64) -> ServerReport {
    let noted = Noted { object: Name::new(), what: What::SessionBegan(lease), zxid: None };
    ServerReport::Change { caller: Some(caller), noted, at_ns: Some(at_ns), value: 0 }
}

/// Reads a request or a reply: its head, and its body, if that is whole. A `GET` has none.
fn whole(text: &[u8]) -> Option<(String, Value)> {
    let (head, body) = std::str::from_utf8(text).ok()?.split_once("\r\n\r\n")?;
    let is_alone = head.starts_with("GET ");
    let body = if is_alone { Value::Null } else { serde_json::from_str(body).ok()? };
    Some((head.to_owned(), body))
}

/// Returns the request, if it is one that can change a key.
fn changed_by(head: &str, body: &Value) -> Option<RequestId> {
    let then = &body["success"][0];
    if head.starts_with("POST /v3/lease/revoke ") {
        Some(revocation(number(&body["ID"])))
    } else if let Some(lease) = then["request_put"].get("lease") {
        Some(creation(number(lease)))
    } else if then.get("request_delete_range").is_some() {
        let compared = &body["compare"][0];
        let key = &then["request_delete_range"]["key"];
        match (compared.get("create_revision"), compared.get("value")) {
            (Some(created), _) => Some(deletion(number(created))),
            (None, Some(value)) => Some(deletion_of(key, value)),
            (None, None) => None,
        }
    } else {
        None
    }
}

/// Returns true for a request that deletes a key, whatever that is: nobody knows whether it did.
fn deletes_unseen(head: &str, body: &Value) -> bool {
    let in_transaction =
        || ["success", "failure"].iter().any(|it| body[it].to_string().contains("delete_range"));
    head.starts_with("POST /v3/kv/deleterange ")
        || head.starts_with("POST /v3/kv/txn ")
            && changed_by(head, body).is_none()
            && in_transaction()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_watch_tells_of_changes_that_clients_may_have_asked_for() {
        let kv = |revision: &str| json!({ "key": "aw==", "mod_revision": revision, "lease": "7" });
        let before =
            json!({ "key": "aw==", "value": "MQ==", "create_revision": "2", "lease": "7" });
        let deleted = json!({ "type": "DELETE", "kv": kv("3"), "prev_kv": before });
        let logged = transactions(&json!([{ "kv": kv("2") }, deleted, deleted]), 5);
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
                &[deletion(2), deletion_of(&json!("aw=="), &json!("MQ==")), revocation(7)],
                &[deleted, deleted],
                Some(What::SessionEnded(7)),
            ),
        ];
        assert_eq!(logged, expected);
    }

    #[test]
    fn what_others_change_keeps_its_place_and_says_nothing() {
        let of = |key: &str| {
            let stored = json!({ "key": BASE64.encode(key), "mod_revision": "2", "lease": "7" });
            let mut logged = transaction(&json!({ "kv": stored }), 5);
            keep_own(Some("run_1"), &mut logged);
            let names =
                logged.noted.iter().map(|it| String::from_utf8_lossy(&it.object).into_owned());
            (logged.zxid, logged.requests.len(), names.collect::<Vec<_>>())
        };
        assert_eq!(of("lock/run_1:k"), (2, 1, vec!["lock/k".to_owned()]));
        for theirs in ["theirs", "run_1:", "run_10:k"] {
            assert_eq!(of(theirs), (2, 0, vec![]));
        }
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
        let if_value = json!({
            "compare": [{ "target": "VALUE", "value": "MQ==" }],
            "success": [{ "request_delete_range": { "key": "aw==" } }],
        });
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sees = seen.clone();
        let reports: ReportSink = Arc::new(move |report| sees.lock().expect("whole").push(report));
        let mut texts = ClientTexts::default();
        let version = "GET /version HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n".to_owned();
        let exchanges = [
            (version, reply(200, json!({ "etcdserver": "3.4.23" }))),
            (request("/v3/lease/grant", json!({ "ID": "7" })), reply(200, json!({}))),
            (request("/v3/kv/txn", put), reply(200, json!({ "succeeded": true }))),
            (request("/v3/kv/txn", delete), reply(200, json!({ "header": {} }))),
            (request("/v3/lease/revoke", json!({ "ID": "7" })), reply(404, json!({ "code": 5 }))),
            (request("/v3/lease/grant", json!({ "TTL": 2 })), reply(200, json!({ "ID": "9" }))),
            (request("/v3/kv/txn", if_value), reply(200, json!({ "succeeded": true }))),
            (request("/v3/kv/deleterange", json!({ "key": "aw==" })), reply(200, json!({}))),
        ];
        for (at_ns, (request, reply)) in (0..).step_by(2).zip(&exchanges) {
            let (begin, end) = request.split_at(40);
            texts.request(begin.as_bytes(), (4000, 0), &reports);
            texts.request(end.as_bytes(), (4000, at_ns), &reports);
            texts.reply(reply.as_bytes(), (4000, at_ns + 1), &reports);
        }
        let asked = |request, at_ns| ServerReport::Asked { request, caller: 4000, at_ns };
        let answered =
            |request, asked_ns, at_ns| ServerReport::Answered { request, asked_ns, at_ns };
        let by_value = deletion_of(&json!("aw=="), &json!("MQ=="));
        let expected = [
            began(7, 4000, 2),
            asked(creation(7), 4),
            answered(creation(7), 4, Some(5)),
            asked(deletion(2), 6),
            answered(deletion(2), 6, None),
            asked(revocation(7), 8),
            answered(revocation(7), 8, None),
            began(9, 4000, 11),
            asked(by_value, 12),
            answered(by_value, 12, Some(13)),
            ServerReport::Incomplete,
        ];
        assert_eq!(*seen.lock().expect("whole"), expected);
    }
}
