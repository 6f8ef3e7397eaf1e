//! Tests of an ensemble and its clients when members fail, links are cut and sessions move.

use crate::driver::Driver;
use crate::model_network::ModelNetwork;
use crate::zookeeper::{
    CreateMode, Refusal, Reply, Request, SessionState, Timing, WatchEvent, ZooKeeper,
};
use base::{CallError, Data, Node};
use std::time::Duration;

type TestNetwork = ModelNetwork<ZooKeeper>;

const TICK: Duration = Duration::from_millis(200);
const SESSION: Duration = Duration::from_millis(2_000);
const TIMING: Timing = Timing { tick: TICK, init_limit: 10, sync_limit: 3 };

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Three servers with a leader.
fn ensemble() -> TestNetwork {
    let mut network = TestNetwork::ensemble(3, TIMING, 1);
    assert!(network.run_until(ms(2_000), |n| n.servers.iter().all(|s| s.is_serving())));
    network
}

fn create(path: &str, mode: CreateMode) -> Request {
    Request::Create { path: path.into(), data: Vec::new(), mode }
}

fn exists(path: &str) -> Request {
    Request::Exists { path: path.into(), watch: None }
}

fn watch(path: &str, id: u64) -> Request {
    Request::Exists { path: path.into(), watch: Some(id) }
}

fn is_there(network: &mut TestNetwork, client: u32, path: &str) -> bool {
    match network.call(client, exists(path)) {
        Ok(Reply::Exists(found)) => found.is_some(),
        other => panic!("exists answered {other:?}"),
    }
}

/// A client that is connected to a follower, or to the leader.
fn client_at(network: &mut TestNetwork, leader: bool) -> u32 {
    for _ in 0..50 {
        let client = network.connected(SESSION);
        if (network.server_of(client) == network.leader()) == leader {
            return client;
        }
    }
    panic!("fifty clients chose the other kind of server");
}

#[test]
fn a_single_server_serves_alone() {
    let mut network = TestNetwork::ensemble(1, TIMING, 1);
    let client = network.connected(SESSION);
    assert!(network.now.millis() < 400);
    network.call(client, create("/a", CreateMode::Persistent)).unwrap();
    assert!(is_there(&mut network, client, "/a"));
}

#[test]
fn a_leaders_crash_is_survived_with_everything_that_was_acknowledged() {
    let mut network = ensemble();
    let client = client_at(&mut network, false);
    network.call(client, create("/a", CreateMode::Ephemeral)).unwrap();
    let old = network.leader().unwrap();
    network.crash(old);
    assert!(network.run_until(ms(3_000), |n| n.leader().is_some_and(|id| id != old)));
    network.call(client, create("/b", CreateMode::Persistent)).ok();
    assert!(is_there(&mut network, client, "/a"), "the session and its node outlive the leader");
    network.start(old, Data::Kept);
    assert!(network.run_until(ms(3_000), |n| n.servers[old as usize].is_serving()));
    network.run(ms(5_000));
    assert_eq!(network.state(client), SessionState::Connected);
}

#[test]
fn a_follower_that_is_cut_off_answers_stale_reads_and_pings_and_then_drops_its_clients() {
    let mut network = ensemble();
    let (reader, writer) = (client_at(&mut network, false), client_at(&mut network, true));
    let follower = network.server_of(reader).unwrap();
    network.isolate(follower);
    let cut = network.now;
    network.call(writer, create("/a", CreateMode::Persistent)).unwrap();
    network.run(ms(400));
    assert_eq!(network.state(reader), SessionState::Connected, "its pings are answered");
    assert!(!is_there(&mut network, reader, "/a"), "a stale read");
    let dropped = |n: &TestNetwork| n.state(reader) == SessionState::Disconnected;
    assert!(network.run_until(ms(2_000), dropped));
    let silence = network.now.since(cut);
    assert!((TICK * 2..=TICK * 4).contains(&silence), "dropped after {silence:?}");
    assert!(network.run_until(ms(2_000), |n| n.state(reader) == SessionState::Connected));
    assert_ne!(network.server_of(reader), Some(follower));
    assert!(is_there(&mut network, reader, "/a"));
}

/// The leader hangs up on a follower that it does not hear, and the follower hears that: else it
/// would go on until a silence of its own, twice as long.
#[test]
fn a_follower_that_hears_without_being_heard_drops_its_clients_when_its_leader_hangs_up() {
    let mut network = ensemble();
    let client = client_at(&mut network, false);
    let follower = network.server_of(client).unwrap();
    for other in (0..3).filter(|id| *id != follower) {
        network.cut_one_way(Node::Server(follower), Node::Server(other));
    }
    let cut = network.now;
    let dropped = |n: &TestNetwork| n.state(client) == SessionState::Disconnected;
    assert!(network.run_until(ms(2_000), dropped));
    let heard = network.now.since(cut);
    assert!((TICK * 2..=TICK * 4).contains(&heard), "dropped after {heard:?}");
}

#[test]
fn a_killed_leaders_followers_hear_of_it_at_once() {
    let mut network = ensemble();
    let client = client_at(&mut network, false);
    network.crash(network.leader().unwrap());
    assert!(network.run_until(ms(10), |n| n.state(client) == SessionState::Disconnected));
}

#[test]
fn a_ping_behind_a_write_that_cannot_commit_is_not_answered() {
    let mut network = ensemble();
    let client = client_at(&mut network, false);
    let follower = network.server_of(client).unwrap();
    network.isolate(follower);
    let write = network.submit(client, create("/a", CreateMode::Persistent));
    network.run(ms(20));
    assert_eq!(network.state(client), SessionState::Connected);
    assert!(network.run_until(ms(2_000), |n| n.done.contains_key(&(client, write))));
    assert!(matches!(network.done[&(client, write)], Err(CallError::Unknown(_))));
}

#[test]
fn a_silent_clients_session_expires_a_tick_after_its_time_out_at_most() {
    let mut network = ensemble();
    let (silent, other) = (network.connected(SESSION), network.connected(SESSION));
    network.call(silent, create("/mine", CreateMode::Ephemeral)).unwrap();
    network.call(other, Request::Sync { path: "/".into() }).unwrap();
    assert_ne!(network.call(other, watch("/mine", 7)), Ok(Reply::Exists(None)));
    network.pause(Node::Client(silent));
    let since = network.now;
    assert!(network.run_until(ms(5_000), |n| n.fired(other, 7).is_some()));
    let took = network.now.since(since);
    assert!((SESSION - TICK..SESSION + TICK * 2).contains(&took), "expired after {took:?}");
    network.resume(Node::Client(silent));
    assert!(network.run_until(ms(2_000), |n| n.state(silent) == SessionState::Expired));
    let late = network.call(silent, exists("/mine"));
    assert_eq!(late, Err(CallError::Refused(Refusal::SessionExpired)));
}

#[test]
fn an_expired_session_can_be_renewed() {
    let mut network = ensemble();
    let client = network.connected(SESSION);
    let old = network.session(client);
    network.pause(Node::Client(client));
    network.run(ms(4_000));
    network.resume(Node::Client(client));
    assert!(network.run_until(ms(2_000), |n| n.state(client) == SessionState::Expired));
    network.with_client(client, |model, at, out| model.renew(at, out));
    assert_eq!(network.state(client), SessionState::Expired, "until the new one stands");
    assert!(network.run_until(ms(2_000), |n| n.state(client) == SessionState::Connected));
    assert_ne!(network.session(client), old);
    network.call(client, create("/again", CreateMode::Ephemeral)).unwrap();
}

#[test]
fn a_client_that_sought_a_session_for_long_finds_one_within_a_time_out_of_the_servers_return() {
    let mut network = ensemble();
    (0..3).for_each(|id| network.crash(id));
    let client = network.client(SESSION);
    network.run(ms(60_000));
    (0..3).for_each(|id| network.start(id, Data::Kept));
    assert!(network.run_until(ms(4_000), |n| n.leader().is_some()));
    let limit = SESSION + ms(500);
    assert!(network.run_until(limit, |n| n.state(client) == SessionState::Connected));
}

#[test]
fn a_session_moves_with_its_nodes_and_the_old_server_is_refused() {
    let mut network = ensemble();
    let client = client_at(&mut network, false);
    network.call(client, create("/mine", CreateMode::Ephemeral)).unwrap();
    let (id, old) = (network.session(client), network.server_of(client).unwrap());
    // The request leaves, and waits on a link that is cut; it arrives after the client has moved.
    network.cut(Node::Client(client), Node::Server(old));
    let late = network.submit(client, create("/late", CreateMode::Persistent));
    assert!(network.run_until(ms(3_000), |n| n.state(client) == SessionState::Disconnected));
    assert!(network.run_until(ms(3_000), |n| n.state(client) == SessionState::Connected));
    assert_eq!(network.session(client), id);
    assert_ne!(network.server_of(client), Some(old));
    network.heal();
    network.run(ms(1_000));
    assert!(matches!(network.done[&(client, late)], Err(CallError::Unknown(_))));
    assert!(is_there(&mut network, client, "/mine"));
    assert!(!is_there(&mut network, client, "/late"), "it came over the server it had left");
}

#[test]
fn a_request_of_a_connection_that_was_given_up_is_not_served_after_the_reconnection() {
    let mut network = TestNetwork::ensemble(1, TIMING, 1);
    let client = network.connected(SESSION);
    let id = network.session(client);
    network.cut_one_way(Node::Client(client), Node::Server(0));
    let late = network.submit(client, create("/late", CreateMode::Persistent));
    assert!(network.run_until(ms(3_000), |n| n.state(client) == SessionState::Disconnected));
    // Each connection is a wire of its own: what went over the new one may come first.
    network.reopen();
    assert!(network.run_until(ms(3_000), |n| n.state(client) == SessionState::Connected));
    assert_eq!(network.session(client), id);
    network.heal();
    network.run(ms(1_000));
    assert!(matches!(network.done[&(client, late)], Err(CallError::Unknown(_))));
    assert!(!is_there(&mut network, client, "/late"));
}

#[test]
fn without_a_majority_nobody_is_served() {
    let mut network = ensemble();
    let client = client_at(&mut network, true);
    let leader = network.leader().unwrap();
    (0..3).filter(|id| *id != leader).for_each(|id| network.crash(id));
    assert!(network.run_until(ms(2_000), |n| n.leader().is_none()));
    assert!(network.run_until(ms(100), |n| n.state(client) == SessionState::Disconnected));
    network.run(ms(1_000));
    assert_eq!(network.state(client), SessionState::Disconnected);
    (0..3).filter(|id| *id != leader).for_each(|id| network.start(id, Data::Kept));
    assert!(network.run_until(ms(4_000), |n| n.leader().is_some()));
}

#[test]
fn a_leader_that_is_cut_off_steps_down_and_its_last_proposal_is_not_seen_again() {
    let mut network = ensemble();
    let (at_leader, elsewhere) = (client_at(&mut network, true), client_at(&mut network, false));
    let old = network.leader().unwrap();
    network.isolate(old);
    let lost = network.submit(at_leader, create("/lost", CreateMode::Persistent));
    assert!(network.run_until(ms(3_000), |n| n.done.contains_key(&(at_leader, lost))));
    assert!(matches!(network.done[&(at_leader, lost)], Err(CallError::Unknown(_))));
    assert!(network.run_until(ms(3_000), |n| n.leader().is_some_and(|id| id != old)));
    network.heal();
    assert!(network.run_until(ms(5_000), |n| n.servers[old as usize].is_serving()));
    assert!(network.run_until(ms(5_000), |n| n.state(elsewhere) == SessionState::Connected));
    assert!(!is_there(&mut network, elsewhere, "/lost"));
}

#[test]
fn everything_acknowledged_survives_a_restart_of_all_with_data_and_nothing_without() {
    for (data, kept) in [(Data::Kept, true), (Data::Lost, false)] {
        let mut network = ensemble();
        let client = network.connected(SESSION);
        network.call(client, create("/a", CreateMode::Persistent)).unwrap();
        (0..3).for_each(|id| network.crash(id));
        (0..3).for_each(|id| network.start(id, data));
        let fresh = network.connected(SESSION);
        assert_eq!(is_there(&mut network, fresh, "/a"), kept, "{data:?}");
    }
}

#[test]
fn a_new_leader_grants_sessions_their_whole_time_anew() {
    let mut network = ensemble();
    let (silent, other) = (network.connected(SESSION), network.connected(SESSION));
    network.call(silent, create("/mine", CreateMode::Ephemeral)).unwrap();
    network.pause(Node::Client(silent));
    network.run(ms(1_500));
    network.crash(network.leader().unwrap());
    assert!(network.run_until(ms(3_000), |n| n.leader().is_some()));
    network.run(ms(1_000));
    network.call(other, Request::Sync { path: "/".into() }).ok();
    assert!(is_there(&mut network, other, "/mine"), "1.5 s and 1 s would have been too much");
    network.run(ms(1_500));
    assert!(!is_there(&mut network, other, "/mine"));
}

#[test]
fn a_change_that_was_missed_while_disconnected_fires_the_watch() {
    let mut network = ensemble();
    let (watcher, other) = (client_at(&mut network, false), client_at(&mut network, true));
    network.call(watcher, watch("/a", 1)).unwrap();
    network.call(watcher, watch("/never", 2)).unwrap();
    let server = network.server_of(watcher).unwrap();
    network.cut(Node::Client(watcher), Node::Server(server));
    network.call(other, create("/a", CreateMode::Persistent)).unwrap();
    assert!(network.run_until(ms(3_000), |n| n.fired(watcher, 1).is_some()));
    assert_eq!(network.fired(watcher, 1), Some(WatchEvent::Created));
    network.call(other, create("/never", CreateMode::Persistent)).unwrap();
    assert!(network.run_until(ms(100), |n| n.fired(watcher, 2).is_some()), "set again");
}

#[test]
fn a_client_does_not_go_back_in_time() {
    let mut network = ensemble();
    let client = client_at(&mut network, true);
    let leader = network.leader().unwrap();
    let stale = (0..3).find(|id| *id != leader).unwrap();
    let other = 3 - leader - stale;
    network.isolate(stale);
    network.call(client, create("/seen", CreateMode::Persistent)).unwrap();
    // The connection is reset, and only the stale server, which still serves, can be reached.
    network.disconnect(client);
    network.cut(Node::Client(client), Node::Server(leader));
    network.cut(Node::Client(client), Node::Server(other));
    network.run(ms(300));
    assert!(network.servers[stale as usize].is_serving());
    assert_eq!(network.state(client), SessionState::Disconnected, "the stale server refuses it");
}

#[test]
fn a_watch_event_comes_before_the_reply_that_follows_it() {
    let mut network = ensemble();
    let client = client_at(&mut network, false);
    network.call(client, watch("/a", 1)).unwrap();
    let request = network.submit(client, create("/a", CreateMode::Persistent));
    assert!(network.run_until(ms(1_000), |n| n.done.contains_key(&(client, request))));
    assert_eq!(network.fired(client, 1), Some(WatchEvent::Created));
}

#[test]
fn one_sessions_requests_keep_their_order() {
    let mut network = ensemble();
    let client = client_at(&mut network, false);
    let write = network.submit(client, create("/a", CreateMode::Persistent));
    let read = network.submit(client, exists("/a"));
    assert!(network.run_until(ms(1_000), |n| n.done.contains_key(&(client, read))));
    assert!(network.done.contains_key(&(client, write)));
    assert!(matches!(network.done[&(client, read)], Ok(Reply::Exists(Some(_)))));
}

#[test]
fn a_cut_client_disconnects_at_two_fifths_and_expires_after_seven_fifths() {
    let mut network = ensemble();
    let client = network.connected(SESSION);
    network.run(ms(50));
    (0..3).for_each(|id| network.cut(Node::Client(client), Node::Server(id)));
    let cut = network.now;
    assert!(network.run_until(ms(5_000), |n| n.state(client) == SessionState::Disconnected));
    let silence = network.now.since(cut);
    assert!((SESSION / 5..=SESSION / 2).contains(&silence), "disconnected after {silence:?}");
    let waiting = network.submit(client, exists("/"));

    assert!(network.run_until(ms(9_000), |n| n.state(client) == SessionState::Expired));
    let over = network.now.since(cut);
    assert!((SESSION..SESSION * 2).contains(&over), "expired after {over:?}");
    assert!(matches!(network.done[&(client, waiting)], Err(CallError::Unknown(_))));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut network = ensemble();
        let clients = [network.connected(SESSION), network.connected(SESSION)];
        network.crash(network.leader().unwrap());
        for client in clients {
            network.submit(client, create("/a-", CreateMode::EphemeralSequential));
        }
        network.run(ms(10_000));
        (network.done, network.signals)
    };
    assert_eq!(run(), run());
}
