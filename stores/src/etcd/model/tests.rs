//! Tests of a whole cluster.

use crate::etcd::{Etcd, LeaseId, Refusal, Reply, Request, Signal};
use crate::model_network::ModelNetwork;
use base::{Data, Node, Rng};
use std::time::Duration;

fn grant(lease: LeaseId) -> Request {
    Request::LeaseGrant { lease, ttl: 2 }
}

fn create(lease: LeaseId) -> Request {
    Request::Create { key: "k".into(), value: "v".into(), lease }
}

fn get() -> Request {
    Request::Get { key: "k".into() }
}

fn is_there(cluster: &mut ModelNetwork<Etcd>, server: u32) -> bool {
    let read = cluster.ask(server, get());
    matches!(read, Some(Ok(Reply::Found { found: Some(_), .. })))
}

/// A cluster with a key that goes with the lease 1; its leader, and another member.
fn with_key(seed: u64) -> (ModelNetwork<Etcd>, u32, u32) {
    let mut cluster = ModelNetwork::etcd(seed);
    let leader = cluster.leader().expect("there is one");
    let other = (leader + 1) % 3;
    assert_eq!(cluster.ask(other, grant(1)), Some(Ok(Reply::Leased { ttl: 2 })));
    assert!(matches!(cluster.ask(other, create(1)), Some(Ok(Reply::Created { .. }))));
    (cluster, leader, other)
}

#[test]
fn a_member_that_is_cut_off_answers_nothing_but_the_others_do() {
    for cut_leader in [true, false] {
        let (mut cluster, leader, other) = with_key(1);
        let cut = if cut_leader { leader } else { other };
        cluster.isolate(cut);
        cluster.run(Duration::from_secs(2));
        assert_eq!(cluster.ask(cut, get()), None);
        assert_eq!(cluster.ask(cut, grant(2)), None);
        assert!(cluster.leader().is_some());
        let rest = (0..3).find(|server| *server != cut && Some(*server) != cluster.leader());
        assert!(cluster.ask(rest.expect("one of three"), grant(3)).is_some());
        cluster.heal();
        cluster.run(Duration::from_secs(2));
        assert!(cluster.ask(cut, grant(4)).is_some());
    }
}

#[test]
fn a_lease_runs_out_unless_it_is_kept_alive() {
    let (mut cluster, leader, other) = with_key(2);
    for server in [leader, other, other] {
        cluster.run(Duration::from_millis(1_500));
        let kept = cluster.ask(server, Request::LeaseKeepAlive { lease: 1 });
        assert_eq!(kept, Some(Ok(Reply::Leased { ttl: 2 })));
    }
    cluster.run(Duration::from_millis(1_900));
    assert!(is_there(&mut cluster, other));
    cluster.run(Duration::from_millis(700));
    assert!(!is_there(&mut cluster, other));
    let kept = cluster.ask(other, Request::LeaseKeepAlive { lease: 1 });
    assert_eq!(kept, Some(Ok(Reply::Leased { ttl: 0 })));
}

#[test]
fn a_new_leader_gives_each_lease_its_whole_time_anew() {
    let (mut cluster, leader, other) = with_key(3);
    cluster.run(Duration::from_millis(1_500));
    cluster.kill(leader);
    cluster.run(Duration::from_millis(2_500));
    assert!(is_there(&mut cluster, other), "it is four seconds old");
    cluster.run(Duration::from_millis(2_500));
    assert!(!is_there(&mut cluster, other));
}

#[test]
fn a_leader_that_wakes_up_ends_no_lease_that_others_keep() {
    let (mut cluster, leader, other) = with_key(4);
    cluster.pause(Node::Server(leader));
    for _ in 0..40 {
        cluster.ask(other, Request::LeaseKeepAlive { lease: 1 });
        cluster.run(Duration::from_millis(50));
    }
    cluster.resume(Node::Server(leader));
    cluster.run(Duration::from_millis(1_000));
    assert!(is_there(&mut cluster, leader));
}

#[test]
fn a_watch_fires_at_any_member_and_ends_without_a_leader() {
    let (mut cluster, leader, other) = with_key(5);
    let watch = |watch| Request::Watch { key: "k".into(), from: 3, watch };
    assert_eq!(cluster.ask(other, watch(1)), Some(Ok(Reply::Watching)));
    cluster.ask(leader, Request::LeaseRevoke { lease: 1 });
    cluster.run(Duration::from_millis(1));
    assert_eq!(cluster.watch_signals(), [(other, Signal::Deleted { watch: 1 })]);
    let later = Request::Watch { key: "k".into(), from: 4, watch: 2 };
    assert_eq!(cluster.ask(other, later), Some(Ok(Reply::Watching)));
    cluster.isolate(other);
    cluster.run(Duration::from_millis(1_400));
    assert_eq!(cluster.watch_signals().len(), 1);
    assert_eq!(cluster.ask(other, watch(3)), Some(Err(Refusal::NoLeader)));
    cluster.run(Duration::from_secs(2));
    assert_eq!(cluster.watch_signals()[1..], [(other, Signal::Ended { watch: 2 })]);
}

#[test]
fn whoever_comes_back_has_what_was_answered_with_its_data_and_without() {
    for data in [Data::Kept, Data::Lost] {
        let (mut cluster, leader, other) = with_key(6);
        for server in [leader, other] {
            cluster.kill(server);
            cluster.run(Duration::from_millis(100));
            cluster.start(server, data);
            cluster.run(Duration::from_millis(1_500));
            cluster.ask(server, Request::LeaseKeepAlive { lease: 1 });
        }
        assert!((0..3).all(|server| is_there(&mut cluster, server)), "{data:?}");
    }
}

/// Members die, are cut off and paused at random; whatever was answered still holds in the end, and
/// all members have the same.
#[test]
fn nothing_that_was_answered_is_lost_whatever_befalls_a_minority() {
    for seed in 0..60 {
        let (mut cluster, mut rng) = (ModelNetwork::etcd(seed), Rng::new(seed));
        let mut done = Vec::new();
        for lease in 1..60 {
            disturb(&mut cluster, &mut rng);
            let server = rng.below(3) as u32;
            if cluster.is_running(server)
                && let Some(Ok(_)) = cluster.ask(server, Request::LeaseGrant { lease, ttl: 600 })
            {
                done.push(lease);
            }
        }
        mend(&mut cluster);
        cluster.run(Duration::from_secs(5));
        assert!(done.len() > 5, "seed {seed}: {}", done.len());
        for lease in &done {
            for server in 0..3 {
                let kept = cluster.ask(server, Request::LeaseKeepAlive { lease: *lease });
                assert_eq!(kept, Some(Ok(Reply::Leased { ttl: 600 })), "seed {seed}, {server}");
            }
        }
    }
}

/// Does something to one member, after what was done to another is over.
fn disturb(cluster: &mut ModelNetwork<Etcd>, rng: &mut Rng) {
    cluster.run(Duration::from_millis(rng.below(400)));
    if rng.below(3) > 0 {
        return;
    }
    mend(cluster);
    let server = rng.below(3) as u32;
    match rng.below(3) {
        0 => cluster.kill(server),
        1 => cluster.isolate(server),
        _ => cluster.pause(Node::Server(server)),
    }
}

fn mend(cluster: &mut ModelNetwork<Etcd>) {
    for server in 0..3 {
        if !cluster.up[server as usize] {
            cluster.start(server, Data::Kept);
        }
        cluster.resume(Node::Server(server));
    }
    cluster.heal();
}
