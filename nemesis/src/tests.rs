//! Rules that every nemesis in the list has to keep.

use crate::holders::{STANDINGS, servers};
use crate::{NEMESES, Nemesis, OF_CLIENTS};
use base::{Action, ClientState, ClientView, Mono, Next, Node, Rng, View};
use std::time::Duration;

/// Five clients: one in a long hold, one whose acquire was just answered, one that releases, two
/// that are idle.
fn clients(now: Mono, ttl: Duration) -> Vec<ClientView> {
    let ago = |share: u32| Mono::from_nanos(now.nanos() - (ttl / share).as_nanos() as u64);
    let states = [
        ClientState::Holding { since: ago(10) },
        ClientState::Acquiring { since: ago(5), last_reply: Some(ago(1_000)), answers: 1 },
        ClientState::Releasing { last_reply: Some(ago(500)) },
        ClientState::Idle,
        ClientState::Idle,
    ];
    states.map(|state| ClientView { state, ..ClientView::default() }).to_vec()
}

/// A nemesis that yields a fault which its line in the list does not name would be let into a
/// backend that cannot do it, and fail in the middle of a run.
#[test]
fn faults_take_what_the_list_says_and_nothing_else() {
    let ttl = Duration::from_secs(2);
    for spec in NEMESES {
        let (mut nemesis, mut rng) = ((spec.make)(), Rng::new(7));
        let mut now = Mono::ZERO + ttl * 5;
        let (mut seen, mut healed, mut of_clients) = (Vec::new(), 0, true);
        for step in 0..2_000 {
            let mut clients = clients(now, ttl);
            // A holder hides whose acquire was answered.
            if step % 2 == 0 {
                clients[0].state = ClientState::Idle;
            }
            let servers = &servers(5);
            let active = usize::from(step < healed);
            let view = View {
                now,
                ttl,
                clients: &clients,
                servers,
                peers: true,
                answering: None,
                standings: STANDINGS,
                active,
            };
            match nemesis.next(&view, &mut rng) {
                Next::Inject { fault, lasts } | Next::Also { fault, lasts } => {
                    healed = step + 20;
                    assert!(spec.needs.contains(&fault.ability()), "{}: {fault}", spec.name);
                    assert!(lasts > Duration::ZERO && !fault.nodes().is_empty());
                    seen.push(fault.ability());
                    of_clients &= fault.is_of_clients();
                }
                Next::At(at) | Next::WatchUntil(at) => now = now.max(at),
                Next::Watch | Next::Done => now = now + ttl / 50,
            }
        }
        seen.sort_unstable();
        seen.dedup();
        let mut needs = spec.needs.to_vec();
        needs.sort_unstable();
        assert_eq!(seen, needs, "{}", spec.name);
        let listed = OF_CLIENTS.iter().any(|it| it.name == spec.name);
        assert_eq!(of_clients, listed, "{}", spec.name);
    }
}

/// Servers that never talk have no peers to be cut from: such a cut would hold nothing.
#[test]
fn servers_without_peers_are_cut_from_the_clients() {
    let ttl = Duration::from_secs(2);
    let spec = crate::find("partition-server").expect("it is in the list");
    for (servers, peers) in [(1, false), (5, false), (3, true)] {
        let (mut nemesis, mut rng) = ((spec.make)(), Rng::new(7));
        let mut now = Mono::ZERO + ttl * 5;
        let cut = loop {
            let clients = clients(now, ttl);
            let servers = &crate::holders::servers(servers);
            let view = View {
                now,
                ttl,
                clients: &clients,
                servers,
                peers,
                answering: None,
                standings: STANDINGS,
                active: 0,
            };
            match nemesis.next(&view, &mut rng) {
                Next::Inject { fault, .. } => {
                    assert!(matches!(fault.action(), Action::Cut(_)), "{fault}");
                    break fault.links().to_vec();
                }
                Next::At(at) => now = at,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(cut.iter().all(|(a, _)| matches!(a, Node::Client(_))), !peers, "{cut:?}");
        assert_eq!(cut.len(), if peers { 2 } else { 5 }, "one server and all its partners");
    }
}

/// The servers that each server can talk to while a partition of the first draw lasts, itself among
/// them.
fn seen_in(name: &str, count: u32) -> Vec<Vec<u32>> {
    let ttl = Duration::from_secs(2);
    let spec = crate::find(name).expect("it is in the list");
    let (mut nemesis, mut rng) = ((spec.make)(), Rng::new(7));
    let mut now = Mono::ZERO + ttl * 5;
    let cut = loop {
        let (clients, servers) = (clients(now, ttl), &servers(count));
        let view = View {
            now,
            ttl,
            clients: &clients,
            servers,
            peers: true,
            answering: None,
            standings: STANDINGS,
            active: 0,
        };
        match nemesis.next(&view, &mut rng) {
            Next::Inject { fault, .. } => break fault.links().to_vec(),
            Next::At(at) => now = at,
            other => panic!("{other:?}"),
        }
    };
    let apart = |a, b| {
        let (a, b) = (Node::Server(a), Node::Server(b));
        cut.contains(&(a, b)) || cut.contains(&(b, a))
    };
    (0..count).map(|a| (0..count).filter(|b| !apart(a, *b)).collect()).collect()
}

#[test]
fn in_a_ring_each_server_sees_a_majority_of_its_own() {
    for count in 5..10 {
        let mut seen = seen_in("partition-ring", count);
        assert!(seen.iter().all(|it| it.len() as u32 > count / 2), "{seen:?}");
        assert!(seen.iter().all(|it| (it.len() as u32) < count), "{seen:?}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len() as u32, count, "no two see the same");
    }
}

#[test]
fn one_server_is_the_bridge_and_halves_have_none() {
    for count in 3..8 {
        let seen = seen_in("partition-bridge", count);
        let bridges = seen.iter().filter(|it| it.len() as u32 == count).count();
        assert_eq!(bridges, 1, "{seen:?}");
        let mut sides = seen_in("partition-halves", count);
        sides.sort();
        sides.dedup();
        assert_eq!(sides.len(), 2, "{sides:?}");
        assert_eq!(sides.iter().map(Vec::len).sum::<usize>() as u32, count);
    }
}

#[test]
fn a_name_in_rust_is_the_name_of_the_command_line_without_its_dashes() {
    for nemesis in Nemesis::ALL {
        let plain = nemesis.name().replace('-', "");
        assert_eq!(format!("{nemesis:?}").to_lowercase(), plain);
    }
}
