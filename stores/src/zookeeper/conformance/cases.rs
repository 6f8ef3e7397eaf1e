//! The cases of the suite, by name.

use super::CaseStep::{self, Call, End, Fired, Fires, Gone, Open, Silent, Stays};
use super::Expect::{Children, Created, Is, No, There};
use super::SessionEnding::{Closed, Silent as FallsSilent};
use crate::zookeeper::CreateMode::{self, Ephemeral, EphemeralSequential, Persistent};
use crate::zookeeper::{Refusal, Reply, Request, WatchEvent, WatchId};
use std::time::Duration;

type NamedSteps = (&'static str, fn() -> Vec<CaseStep>);

/// All cases, each with its name.
pub fn all() -> Vec<NamedSteps> {
    vec![
        ("create, read and delete", create_read_delete),
        ("versions", versions),
        ("refusals", refusals),
        ("malformed paths", malformed),
        ("dots at a path's end", dots),
        ("children", children),
        ("sequence numbers", sequence_numbers),
        ("a watch on a missing node", watch_missing),
        ("a watch on a node's end", watch_deleted),
        ("a watch on data", watch_data),
        ("a watch on children", watch_children),
        ("watches fire once", one_shot),
        ("a refused read sets no watch", refused_watch),
        ("a failed write fires nothing", failed_write),
        ("an event comes before the next reply", event_before_reply),
        ("two sessions see each other's writes", two_sessions),
        ("a closed session's nodes go at once", close),
        ("an expired session's nodes go in time", expire),
        ("a living session's nodes stay", stay),
    ]
}

/// A create without data.
pub fn create(path: &str, mode: CreateMode) -> Request {
    create_with(path, mode, b"")
}

fn create_with(path: &str, mode: CreateMode, data: &[u8]) -> Request {
    Request::Create { path: path.into(), data: data.to_vec(), mode }
}

fn delete(path: &str, version: Option<i32>) -> Request {
    Request::Delete { path: path.into(), version }
}

fn set(path: &str, data: &[u8], version: Option<i32>) -> Request {
    Request::SetData { path: path.into(), data: data.to_vec(), version }
}

fn exists(path: &str, watch: Option<WatchId>) -> Request {
    Request::Exists { path: path.into(), watch }
}

fn get(path: &str, watch: Option<WatchId>) -> Request {
    Request::GetData { path: path.into(), watch }
}

fn list(path: &str, watch: Option<WatchId>) -> Request {
    Request::GetChildren { path: path.into(), watch }
}

fn sync() -> Request {
    Request::Sync { path: String::new() }
}

fn data(data: &[u8], version: i32) -> super::Expect {
    Is(Reply::Data { data: data.to_vec(), version })
}

const NOT_THERE: super::Expect = Is(Reply::Exists(None));
const DELETED: super::Expect = Is(Reply::Deleted);

fn create_read_delete() -> Vec<CaseStep> {
    vec![
        Call(0, exists("/a", None), NOT_THERE),
        Call(0, create_with("/a", Persistent, b"one"), Created("/a")),
        Call(0, exists("/a", None), There),
        Call(0, get("/a", None), data(b"one", 0)),
        Call(0, create("/a/b", Ephemeral), Created("/a/b")),
        Call(0, get("/a/b", None), data(b"", 0)),
        Call(0, delete("/a/b", None), DELETED),
        Call(0, delete("/a", Some(0)), DELETED),
        Call(0, exists("/a", None), NOT_THERE),
        Call(0, sync(), Is(Reply::Synced)),
    ]
}

fn versions() -> Vec<CaseStep> {
    vec![
        Call(0, create("/a", Persistent), Created("/a")),
        Call(0, set("/a", b"one", Some(0)), Is(Reply::DataSet(1))),
        Call(0, set("/a", b"two", Some(0)), No(Refusal::BadVersion)),
        Call(0, get("/a", None), data(b"one", 1)),
        Call(0, set("/a", b"three", None), Is(Reply::DataSet(2))),
        Call(0, delete("/a", Some(1)), No(Refusal::BadVersion)),
        Call(0, delete("/a", Some(2)), DELETED),
        Call(0, create("/a", Persistent), Created("/a")),
        Call(0, get("/a", None), data(b"", 0)),
    ]
}

fn refusals() -> Vec<CaseStep> {
    vec![
        Call(0, create("/a/b", Persistent), No(Refusal::NoNode)),
        Call(0, delete("/a", None), No(Refusal::NoNode)),
        Call(0, delete("/a/b", None), No(Refusal::NoNode)),
        Call(0, set("/a", b"", None), No(Refusal::NoNode)),
        Call(0, get("/a", None), No(Refusal::NoNode)),
        Call(0, list("/a", None), No(Refusal::NoNode)),
        Call(0, create("/a", Persistent), Created("/a")),
        Call(0, create("/a", Ephemeral), No(Refusal::NodeExists)),
        Call(0, create("/a/b", Ephemeral), Created("/a/b")),
        Call(0, create("/a/b", Ephemeral), No(Refusal::NodeExists)),
        Call(0, create("/a/b/c", Persistent), No(Refusal::NoChildrenForEphemerals)),
        Call(0, create("/a/b/c", EphemeralSequential), No(Refusal::NoChildrenForEphemerals)),
        Call(0, delete("/a", None), No(Refusal::NotEmpty)),
        Call(0, delete("/a", Some(7)), No(Refusal::BadVersion)),
        Call(0, exists("/a/b", None), There),
    ]
}

fn malformed() -> Vec<CaseStep> {
    let refused = || No(Refusal::BadArguments);
    vec![
        Call(0, create("/", Persistent), refused()),
        Call(0, create("/a/", Persistent), refused()),
        Call(0, create("//a", Persistent), refused()),
        Call(0, create("/./a", Persistent), refused()),
        Call(0, create("/..", Persistent), refused()),
        Call(0, create("/a\u{1}", Persistent), refused()),
        Call(0, exists("/a/", None), refused()),
        Call(0, delete("//a", None), refused()),
        Call(0, list("", None), Children(&[])),
    ]
}

/// The client library lets them pass, and so each kind of request finds its own answer.
fn dots() -> Vec<CaseStep> {
    vec![
        Call(0, create("/a/..", Persistent), No(Refusal::NoNode)),
        Call(0, create("/a", Persistent), Created("/a")),
        Call(0, create("/a/..", Persistent), No(Refusal::BadArguments)),
        Call(0, create("/a/.", Ephemeral), No(Refusal::BadArguments)),
        Call(0, create("/a/..", EphemeralSequential), Created("/a/..0000000000")),
        Call(0, exists("/a/..", None), NOT_THERE),
        Call(0, get("/a/..", None), No(Refusal::NoNode)),
        Call(0, list("/b/.", None), No(Refusal::NoNode)),
        Call(0, set("/a/..", b"", None), No(Refusal::BadArguments)),
        Call(0, set("/b/..", b"", None), No(Refusal::BadArguments)),
        Call(0, delete("/a/..", None), No(Refusal::NoNode)),
        Call(0, delete("/b/..", None), No(Refusal::NoNode)),
    ]
}

fn children() -> Vec<CaseStep> {
    vec![
        Call(0, list("", None), Children(&[])),
        Call(0, create("/b", Persistent), Created("/b")),
        Call(0, create("/a", Ephemeral), Created("/a")),
        Call(0, create("/b/c", Persistent), Created("/b/c")),
        Call(0, list("", None), Children(&["a", "b"])),
        Call(0, list("/b", None), Children(&["c"])),
        Call(0, delete("/a", None), DELETED),
        Call(0, list("", None), Children(&["b"])),
    ]
}

/// The number counts every child that was ever created, of whatever kind; deletions do not lower
/// it, failures do not raise it, and each parent has its own.
fn sequence_numbers() -> Vec<CaseStep> {
    vec![
        Call(0, create("/a-", EphemeralSequential), Created("/a-0000000000")),
        Call(0, create("/b-", EphemeralSequential), Created("/b-0000000001")),
        Call(0, delete("/a-0000000000", None), DELETED),
        Call(0, delete("/b-0000000001", None), DELETED),
        Call(0, create("/a-", EphemeralSequential), Created("/a-0000000002")),
        Call(0, create("/plain", Persistent), Created("/plain")),
        Call(0, create("/plain", Persistent), No(Refusal::NodeExists)),
        Call(0, create("/a-", EphemeralSequential), Created("/a-0000000004")),
        Call(0, create("/", EphemeralSequential), Created("/0000000005")),
        Call(0, set("/plain", b"x", None), Is(Reply::DataSet(1))),
        Call(0, create("/plain/a-", EphemeralSequential), Created("/plain/a-0000000000")),
        Call(0, delete("/plain/a-0000000000", None), DELETED),
        Call(0, delete("/plain", None), DELETED),
        Call(0, create("/a-", EphemeralSequential), Created("/a-0000000006")),
        Call(0, create("/plain", Persistent), Created("/plain")),
        Call(0, create("/plain/a-", EphemeralSequential), Created("/plain/a-0000000000")),
    ]
}

fn watch_missing() -> Vec<CaseStep> {
    vec![
        Open(1, Closed),
        Call(0, exists("/a", Some(1)), NOT_THERE),
        Silent(0, 1),
        Call(1, create("/a", Ephemeral), Created("/a")),
        Fires(0, 1, WatchEvent::Created),
    ]
}

fn watch_deleted() -> Vec<CaseStep> {
    vec![
        Open(1, Closed),
        Call(1, create("/a", Ephemeral), Created("/a")),
        Call(0, sync(), Is(Reply::Synced)),
        Call(0, exists("/a", Some(1)), There),
        Call(0, get("/a", Some(2)), data(b"", 0)),
        Call(0, list("/a", Some(3)), Children(&[])),
        Call(1, delete("/a", None), DELETED),
        Fires(0, 1, WatchEvent::Deleted),
        Fires(0, 2, WatchEvent::Deleted),
        Fires(0, 3, WatchEvent::Deleted),
    ]
}

fn watch_data() -> Vec<CaseStep> {
    vec![
        Open(1, Closed),
        Call(1, create("/a", Persistent), Created("/a")),
        Call(0, sync(), Is(Reply::Synced)),
        Call(0, exists("/a", Some(1)), There),
        Call(0, get("/a", Some(2)), data(b"", 0)),
        Call(0, list("/a", Some(3)), Children(&[])),
        Call(1, create("/a/child", Ephemeral), Created("/a/child")),
        Fires(0, 3, WatchEvent::ChildrenChanged),
        Silent(0, 1),
        Call(1, set("/a", b"x", None), Is(Reply::DataSet(1))),
        Fires(0, 1, WatchEvent::DataChanged),
        Fires(0, 2, WatchEvent::DataChanged),
    ]
}

fn watch_children() -> Vec<CaseStep> {
    vec![
        Open(1, Closed),
        Call(0, list("", Some(1)), Children(&[])),
        Call(1, create("/a", Persistent), Created("/a")),
        Fires(0, 1, WatchEvent::ChildrenChanged),
        Call(0, sync(), Is(Reply::Synced)),
        Call(0, list("", Some(2)), Children(&["a"])),
        Call(1, set("/a", b"x", None), Is(Reply::DataSet(1))),
        Call(1, create("/a/b", Ephemeral), Created("/a/b")),
        Silent(0, 2),
        Call(1, delete("/a/b", None), DELETED),
        Silent(0, 2),
        Call(1, delete("/a", None), DELETED),
        Fires(0, 2, WatchEvent::ChildrenChanged),
    ]
}

fn one_shot() -> Vec<CaseStep> {
    vec![
        Call(0, exists("/a", Some(1)), NOT_THERE),
        Call(0, exists("/a", Some(2)), NOT_THERE),
        Call(0, create("/a", Persistent), Created("/a")),
        Fired(0, 1, WatchEvent::Created),
        Fired(0, 2, WatchEvent::Created),
        Call(0, exists("/a", Some(3)), There),
        Call(0, delete("/a", None), DELETED),
        Fired(0, 3, WatchEvent::Deleted),
        // Those that have fired do not fire again.
        Fired(0, 1, WatchEvent::Created),
    ]
}

fn refused_watch() -> Vec<CaseStep> {
    vec![
        Call(0, get("/a", Some(1)), No(Refusal::NoNode)),
        Call(0, list("/a", Some(2)), No(Refusal::NoNode)),
        Call(0, create("/a", Persistent), Created("/a")),
        Call(0, create("/a/b", Persistent), Created("/a/b")),
        Silent(0, 1),
        Silent(0, 2),
    ]
}

fn failed_write() -> Vec<CaseStep> {
    vec![
        Call(0, create("/a", Persistent), Created("/a")),
        Call(0, get("/a", Some(1)), data(b"", 0)),
        Call(0, list("", Some(2)), Children(&["a"])),
        Call(0, create("/a", Persistent), No(Refusal::NodeExists)),
        Call(0, set("/a", b"x", Some(9)), No(Refusal::BadVersion)),
        Call(0, delete("/a", Some(9)), No(Refusal::BadVersion)),
        Silent(0, 1),
        Silent(0, 2),
    ]
}

/// A session's own write: by the time of its reply the watch has fired. Another session's write:
/// by the time a read shows it, the watch has fired.
fn event_before_reply() -> Vec<CaseStep> {
    vec![
        Open(1, Closed),
        Call(0, exists("/a", Some(1)), NOT_THERE),
        Call(0, create("/a", Persistent), Created("/a")),
        Fired(0, 1, WatchEvent::Created),
        Call(0, list("", Some(2)), Children(&["a"])),
        Call(0, delete("/a", None), DELETED),
        Fired(0, 2, WatchEvent::ChildrenChanged),
        Call(0, exists("/b", Some(3)), NOT_THERE),
        Call(1, create("/b", Persistent), Created("/b")),
        Call(0, sync(), Is(Reply::Synced)),
        Call(0, exists("/b", None), There),
        Fired(0, 3, WatchEvent::Created),
    ]
}

fn two_sessions() -> Vec<CaseStep> {
    vec![
        Open(1, Closed),
        Open(2, Closed),
        Call(1, create_with("/a", Persistent, b"one"), Created("/a")),
        Call(2, sync(), Is(Reply::Synced)),
        Call(2, get("/a", None), data(b"one", 0)),
        Call(2, set("/a", b"two", Some(0)), Is(Reply::DataSet(1))),
        Call(1, sync(), Is(Reply::Synced)),
        Call(1, get("/a", None), data(b"two", 1)),
        Call(1, create("/q-", EphemeralSequential), Created("/q-0000000001")),
        Call(2, create("/q-", EphemeralSequential), Created("/q-0000000002")),
        Call(2, delete("/q-0000000001", None), DELETED),
    ]
}

fn close() -> Vec<CaseStep> {
    vec![
        Open(1, Closed),
        Call(1, create("/stays", Persistent), Created("/stays")),
        Call(1, create("/goes", Ephemeral), Created("/goes")),
        Call(1, create("/q-", EphemeralSequential), Created("/q-0000000002")),
        Call(0, sync(), Is(Reply::Synced)),
        Call(0, exists("/goes", Some(1)), There),
        Call(0, list("", Some(2)), Children(&["goes", "q-0000000002", "stays"])),
        End(1),
        Fires(0, 1, WatchEvent::Deleted),
        Fires(0, 2, WatchEvent::ChildrenChanged),
        Gone(0, "/q-0000000002"),
        Call(0, list("", None), Children(&["stays"])),
        Call(0, create("/q-", EphemeralSequential), Created("/q-0000000003")),
    ]
}

fn expire() -> Vec<CaseStep> {
    vec![
        Open(1, FallsSilent),
        Call(1, create("/goes", Ephemeral), Created("/goes")),
        Call(0, sync(), Is(Reply::Synced)),
        Call(0, exists("/goes", Some(1)), There),
        End(1),
        // Nobody has notified the servers: they wait for the session's time-out.
        Silent(0, 1),
        Fires(0, 1, WatchEvent::Deleted),
        Gone(0, "/goes"),
    ]
}

fn stay() -> Vec<CaseStep> {
    vec![
        Open(1, Closed),
        Call(1, create("/a", Ephemeral), Created("/a")),
        // Longer than any session time-out that the arms use: heartbeats keep it.
        Stays(0, "/a", Duration::from_millis(4_500)),
    ]
}
