//! Tests that take a whole server: packets, ticks and restarts. Replies are the conformance suite's
//! task.

use super::*;
use crate::model::By;
use redis::cmd;

const SECOND: Duration = Duration::from_secs(1);

fn at(elapsed: Duration) -> Clocks {
    Clocks { wall: WallTime::ZERO + 1_000_000 * SECOND + elapsed, mono: Mono::ZERO + elapsed }
}

fn server() -> Server {
    Server::new(Engine::new())
}

fn load(server: &mut Server) -> Value {
    server.execute(at(Duration::ZERO).wall, cmd("SCRIPT").arg("LOAD").arg("return 1"))
}

fn exists(server: &mut Server, sha: &Value) -> Value {
    let Value::BulkString(sha) = sha else { panic!("no name: {sha:?}") };
    server.execute(at(Duration::ZERO).wall, cmd("SCRIPT").arg("EXISTS").arg(sha.as_slice()))
}

fn set(server: &mut Server, ttl: u64) -> Value {
    server.execute(at(Duration::ZERO).wall, cmd("SET").arg("k").arg("v").arg("PX").arg(ttl))
}

#[test]
fn a_request_is_answered_on_its_connection_with_its_number() {
    let mut out = Vec::new();
    let packet = Packet::Request { id: 7, command: cmd("PING").into() };
    server().receive(at(SECOND), Peer::Connection(3), packet, &mut out);
    match out.as_slice() {
        [Out::Send(Peer::Connection(3), Packet::Reply { id: 7, value })] => {
            assert_eq!(**value, Value::SimpleString("PONG".into()));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_learns_the_number_of_its_connection() {
    let (mut server, mut out) = (server(), Vec::new());
    for number in [3, 9] {
        let packet = Packet::Request { id: 1, command: cmd("CLIENT").arg("ID").clone().into() };
        server.receive(at(SECOND), Peer::Connection(number), packet, &mut out);
    }
    let ids: Vec<_> = out
        .iter()
        .map(|sent| match sent {
            Out::Send(_, Packet::Reply { value, .. }) => (**value).clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids, [3, 9].map(Value::Int));
}

#[test]
fn expiry_goes_by_the_wall_clock_alone() {
    let mut server = server();
    set(&mut server, 1000);
    let get = |server: &mut Server, wall| server.execute(wall, cmd("GET").arg("k"));
    let mut late = at(SECOND);
    // The monotonic clock has run on for an hour, the wall clock was set back.
    late.mono = late.mono + 3600 * SECOND;
    server.tick(late, &mut Vec::new());
    assert_eq!(get(&mut server, late.wall), Value::BulkString(b"v".to_vec()));
    assert_eq!(get(&mut server, at(SECOND + Duration::from_millis(1)).wall), Value::Nil);
}

#[test]
fn a_tick_asks_for_the_next() {
    let mut out = Vec::new();
    let next = server().tick(at(SECOND), &mut out);
    assert_eq!(next, Some(at(SECOND).mono + Duration::from_millis(100)));
    assert!(out.is_empty());
}

#[test]
fn a_restart_with_its_data_keeps_keys_and_times_but_no_scripts() {
    let mut server = server();
    set(&mut server, 60_000);
    let sha = load(&mut server);
    assert_eq!(exists(&mut server, &sha), Value::Array(vec![Value::Int(1)]));
    server.restart(at(20 * SECOND), Data::Kept);
    let left = server.execute(at(20 * SECOND).wall, cmd("PTTL").arg("k"));
    assert_eq!(left, Value::Int(40_000));
    assert_eq!(exists(&mut server, &sha), Value::Array(vec![Value::Int(0)]));
}

#[test]
fn a_restart_without_its_data_is_an_empty_server() {
    let mut server = server();
    set(&mut server, 60_000);
    server.restart(at(SECOND), Data::Lost);
    assert_eq!(server.execute(at(SECOND).wall, &cmd("DBSIZE")), Value::Int(0));
}

#[test]
fn a_loss_of_power_takes_what_was_written_since_the_last_sync() {
    let mut server = server();
    set(&mut server, 60_000);
    server.tick(at(SECOND), &mut Vec::new());
    server.execute(at(SECOND).wall, cmd("SET").arg("young").arg("v"));
    server.tick(at(SECOND + SECOND / 2), &mut Vec::new());
    server.restart(at(2 * SECOND), Data::Unsynced);
    let mut exists = |key| server.execute(at(2 * SECOND).wall, cmd("EXISTS").arg(key));
    assert_eq!((exists("k"), exists("young")), (Value::Int(1), Value::Int(0)));
}

#[test]
fn nonsense_is_refused_and_not_fatal() {
    let mut server = server();
    let empty = server.execute(at(SECOND).wall, &Cmd::new());
    assert!(matches!(empty, Value::ServerError(_)), "{empty:?}");
    let mut scan = cmd("SCAN");
    scan.cursor_arg(0);
    assert!(matches!(server.execute(at(SECOND).wall, &scan), Value::ServerError(_)));
    let far = WallTime::from_nanos(u64::MAX);
    assert_eq!(server.execute(far, cmd("SET").arg("k").arg("v").arg("PX").arg(1)), Value::Okay);
    server.tick(Clocks { wall: far, mono: Mono::from_nanos(u64::MAX) }, &mut Vec::new());
}

/// The replies to a command, each with the connection that it goes to; `None` for one that is
/// closed.
fn ask(server: &mut Server, connection: u64, words: &str) -> Vec<(u64, Option<Value>)> {
    let command = crate::redis::conformance::command(words).into();
    let mut out = Vec::new();
    let packet = Packet::Request { id: 1, command };
    server.receive(at(SECOND), Peer::Connection(connection), packet, &mut out);
    sent(out)
}

fn sent(out: Vec<Out<Packet>>) -> Vec<(u64, Option<Value>)> {
    let to_reply = |sent| match sent {
        Out::Send(Peer::Connection(to), Packet::Reply { value, .. }) => Some((to, Some(*value))),
        Out::Close(connection) => Some((connection, None)),
        Out::Send(..) => None,
    };
    out.into_iter().filter_map(to_reply).collect()
}

fn popped(key: &str, item: &str) -> Option<Value> {
    Some(Value::Array([key, item].map(crate::redis::reply::bulk).into()))
}

#[test]
fn a_connection_that_waits_is_not_listened_to() {
    let mut server = server();
    assert_eq!(ask(&mut server, 2, "BLPOP l 0"), []);
    assert_eq!(ask(&mut server, 2, "RPUSH m x"), []);
    assert_eq!(ask(&mut server, 2, "BLPOP l 0"), []);
    assert_eq!(ask(&mut server, 2, "PING"), []);
    let served = ask(&mut server, 1, "RPUSH l a");
    let length = Some(Value::Int(1));
    assert_eq!(served, [(1, length.clone()), (2, popped("l", "a")), (2, length.clone())]);
    let served = ask(&mut server, 1, "RPUSH l b");
    let pong = Some(Value::SimpleString("PONG".into()));
    assert_eq!(served, [(1, length), (2, popped("l", "b")), (2, pong)]);
}

#[test]
fn what_a_connection_asked_for_while_it_waited_is_noted_as_its_own() {
    let mut server = server();
    ask(&mut server, 2, "BLPOP l 0");
    ask(&mut server, 2, "SET k v");
    ask(&mut server, 1, "RPUSH l a");
    let mut noted = Vec::new();
    server.take_journal(&mut noted);
    let all: Vec<What> = noted.into_iter().map(|it| it.what).collect();
    let (pushed, popped) = (What::Shared(By::Caller), What::Deleted(By::Caller));
    assert_eq!(all, [What::SessionBegan(2), pushed, popped, What::Written(By::Session(2))]);
}

#[test]
fn a_wait_ends_by_the_wall_clock_when_something_happens() {
    let mut server = server();
    ask(&mut server, 2, "BLPOP l 0.05");
    let mut out = Vec::new();
    server.tick(at(SECOND + Duration::from_millis(50)), &mut out);
    assert_eq!(sent(std::mem::take(&mut out)), []);
    server.tick(at(SECOND + Duration::from_millis(51)), &mut out);
    assert_eq!(sent(out), [(2, Some(Value::Nil))]);
}

#[test]
fn whoever_waits_on_a_server_that_becomes_a_replica_is_sent_away() {
    let mut server = server();
    ask(&mut server, 2, "BLPOP l 0");
    let away = ask(&mut server, 1, "REPLICAOF master 1");
    let [_, (2, Some(Value::ServerError(error))), (2, None)] = away.as_slice() else {
        panic!("{away:?}")
    };
    assert_eq!(error.code(), "UNBLOCKED");
}

#[test]
fn a_restart_forgets_transactions_and_waits() {
    let mut server = server();
    ask(&mut server, 2, "BLPOP l 0");
    ask(&mut server, 3, "MULTI");
    server.restart(at(SECOND), Data::Kept);
    assert_eq!(ask(&mut server, 1, "RPUSH l a").len(), 1);
    assert_eq!(ask(&mut server, 3, "EXISTS l"), [(3, Some(Value::Int(1)))]);
}
