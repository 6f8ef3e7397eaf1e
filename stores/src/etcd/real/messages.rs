//! Requests and answers in the JSON of the gateway: keys are in base64, and numbers of 64 bits are
//! texts.

use crate::etcd::outcome::outcome;
use crate::etcd::{Etcd, KeyValue, Refusal, Reply, Request};
use base::{Answer, CallError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

/// The path of watches.
pub const WATCH: &str = "/v3/watch";

/// The path of the question of how a member is.
pub const STATUS: &str = "/v3/maintenance/status";

/// Reads from the status of a member whether it leads.
pub fn leads(status: &str) -> Option<bool> {
    let status: Value = serde_json::from_str(status).ok()?;
    let me = status["header"]["member_id"].as_str()?;
    Some(status["leader"].as_str() == Some(me))
}

/// The path and the body of a request.
pub fn written(request: &Request) -> (&'static str, String) {
    let (path, body) = match request {
        Request::LeaseGrant { lease, ttl } => {
            ("/v3/lease/grant", json!({ "ID": text(*lease), "TTL": text(*ttl) }))
        }
        Request::LeaseRevoke { lease } => ("/v3/lease/revoke", json!({ "ID": text(*lease) })),
        Request::LeaseKeepAlive { lease } => ("/v3/lease/keepalive", json!({ "ID": text(*lease) })),
        Request::Create { key, value, lease } => {
            let put = json!({ "key": bytes(key), "value": bytes(value), "lease": text(*lease) });
            let get = json!({ "request_range": { "key": bytes(key) } });
            ("/v3/kv/txn", transaction(key, 0, &json!({ "request_put": put }), &json!([get])))
        }
        Request::Delete { key, created } => {
            let delete = json!({ "request_delete_range": { "key": bytes(key) } });
            ("/v3/kv/txn", transaction(key, *created, &delete, &json!([])))
        }
        Request::Get { key } => ("/v3/kv/range", json!({ "key": bytes(key) })),
        Request::GetLast { prefix, before } => {
            let range = json!({
                "key": bytes(prefix), "range_end": behind(prefix), "limit": "1",
                "sort_target": "CREATE", "sort_order": "DESCEND",
                "max_create_revision": text(*before - 1),
            });
            ("/v3/kv/range", range)
        }
        Request::Watch { key, from, .. } => {
            let create = json!({
                "key": bytes(key), "start_revision": text(*from), "filters": ["NOPUT"],
            });
            (WATCH, json!({ "create_request": create }))
        }
        Request::Unwatch { .. } => (WATCH, json!({ "cancel_request": {} })),
    };
    (path, body.to_string())
}

/// A transaction that does something if a key was created at this revision, and else something
/// other.
fn transaction(key: &str, created: i64, then: &Value, otherwise: &Value) -> Value {
    let compare = json!({
        "key": bytes(key), "target": "CREATE", "result": "EQUAL", "create_revision": text(created),
    });
    json!({ "compare": [compare], "success": [then], "failure": otherwise })
}

fn bytes(text: &str) -> String {
    BASE64.encode(text)
}

/// The end of the range of all names that begin so.
fn behind(prefix: &str) -> String {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    BASE64.encode(end)
}

fn text(number: i64) -> String {
    number.to_string()
}

/// Reads the answer to a request.
pub fn read(request: &Request, status: u16, body: &str) -> Answer<Etcd> {
    let Ok(answer) = serde_json::from_str::<Value>(body) else { return Err(strange(body)) };
    if status != 200 {
        return Err(error(&answer));
    }
    let revision = number(&answer["header"]["revision"]);
    let succeeded = answer["succeeded"] == true;
    match request {
        Request::LeaseGrant { .. } => Ok(Reply::Leased { ttl: number(&answer["TTL"]) }),
        Request::LeaseRevoke { .. } => Ok(Reply::Revoked),
        Request::LeaseKeepAlive { .. } => match &answer["result"] {
            Value::Null => Err(error(&answer["error"])),
            result => Ok(Reply::Leased { ttl: number(&result["TTL"]) }),
        },
        Request::Create { .. } if succeeded => Ok(Reply::Created { revision }),
        Request::Create { .. } => {
            let found = found(&answer["responses"][0]["response_range"]);
            Ok(Reply::Found { found, revision })
        }
        Request::Delete { .. } => Ok(Reply::Deleted(succeeded)),
        Request::Get { .. } | Request::GetLast { .. } => {
            Ok(Reply::Found { found: found(&answer), revision })
        }
        Request::Watch { .. } | Request::Unwatch { .. } => Err(strange(body)),
    }
}

fn found(range: &Value) -> Option<KeyValue> {
    let stored = range["kvs"].get(0)?;
    let value = BASE64.decode(stored["value"].as_str().unwrap_or_default()).unwrap_or_default();
    Some(KeyValue {
        value: String::from_utf8_lossy(&value).into_owned(),
        lease: number(&stored["lease"]),
        created: number(&stored["create_revision"]),
    })
}

/// A number, which is not there when it is zero. etcd writes it as a text, others need not.
pub fn number(value: &Value) -> i64 {
    let text = || value.as_str()?.parse().ok();
    value.as_i64().or_else(text).unwrap_or(0)
}

/// The outcome of what ended with this error; in streams its code has another name.
fn error(error: &Value) -> CallError<Refusal> {
    let code = error["code"].as_u64().or_else(|| error["grpc_code"].as_u64());
    outcome(code.unwrap_or_default(), error["message"].as_str().unwrap_or("an error without words"))
}

fn strange(body: &str) -> CallError<Refusal> {
    CallError::Unknown(format!("the server answered something else: {body}"))
}

/// A line of a watch.
#[derive(Debug, PartialEq, Eq)]
pub enum WatchLine {
    /// The watch is set.
    Created,
    /// The key was deleted.
    Deleted,
    /// The watch is over, for this reason.
    Ended(CallError<Refusal>),
    /// Nothing of the kind.
    Nothing,
}

/// Reads a line of a watch.
pub fn watch_line(line: &str) -> WatchLine {
    let Ok(line) = serde_json::from_str::<Value>(line) else {
        return WatchLine::Ended(strange(line));
    };
    let result = &line["result"];
    let deleted = |events: &Vec<Value>| events.iter().any(|event| event["type"] == "DELETE");
    if result.is_null() {
        WatchLine::Ended(error(&line["error"]))
    } else if result["canceled"] == true {
        let reason = result["cancel_reason"].as_str().unwrap_or("the watch was cancelled");
        WatchLine::Ended(outcome(0, reason))
    } else if result["created"] == true {
        WatchLine::Created
    } else if result["events"].as_array().is_some_and(deleted) {
        WatchLine::Deleted
    } else {
        WatchLine::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_transaction_creates_a_key_or_finds_it() {
        let create = Request::Create { key: "k".into(), value: "v".into(), lease: 7 };
        let (path, body) = written(&create);
        assert_eq!(path, "/v3/kv/txn");
        expect![[r#"{"compare":[{"create_revision":"0","key":"aw==","result":"EQUAL","target":"CREATE"}],"failure":[{"request_range":{"key":"aw=="}}],"success":[{"request_put":{"key":"aw==","lease":"7","value":"dg=="}}]}"#]].assert_eq(&body);
        let created = r#"{"header":{"revision":"2"},"succeeded":true,"responses":[]}"#;
        assert_eq!(read(&create, 200, created), Ok(Reply::Created { revision: 2 }));
        let found = r#"{"header":{"revision":"3"},"responses":[{"response_range":{"kvs":[
            {"key":"aw==","create_revision":"2","value":"dg==","lease":"7"}]}}]}"#;
        let stored = KeyValue { value: "v".into(), lease: 7, created: 2 };
        assert_eq!(
            read(&create, 200, found),
            Ok(Reply::Found { found: Some(stored), revision: 3 })
        );
    }

    #[test]
    fn the_names_that_begin_alike_are_a_range() {
        let (path, body) = written(&Request::GetLast { prefix: "k/".into(), before: 5 });
        assert_eq!(path, "/v3/kv/range");
        expect![[r#"{"key":"ay8=","limit":"1","max_create_revision":"4","range_end":"azA=","sort_order":"DESCEND","sort_target":"CREATE"}"#]].assert_eq(&body);
    }

    #[test]
    fn a_lease_that_is_over_has_no_time_left_and_an_error_its_words() {
        let keep = Request::LeaseKeepAlive { lease: 7 };
        assert_eq!(read(&keep, 200, r#"{"result":{"ID":"7"}}"#), Ok(Reply::Leased { ttl: 0 }));
        let body = r#"{"message":"etcdserver: requested lease not found","code":5}"#;
        let refused = Err(CallError::Refused(Refusal::LeaseNotFound));
        assert_eq!(read(&Request::LeaseRevoke { lease: 7 }, 404, body), refused);
    }

    #[test]
    fn a_watch_says_when_it_is_set_fires_and_ends() {
        let created = r#"{"result":{"header":{},"created":true}}"#;
        assert_eq!(watch_line(created), WatchLine::Created);
        let deleted = r#"{"result":{"events":[{"type":"DELETE","kv":{"key":"aw=="}}]}}"#;
        assert_eq!(watch_line(deleted), WatchLine::Deleted);
        let ended = r#"{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}"#;
        let no_leader = CallError::Refused(Refusal::NoLeader);
        assert_eq!(watch_line(ended), WatchLine::Ended(no_leader));
    }
}
