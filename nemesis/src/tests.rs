//! Rules that every nemesis in the list has to keep.

use crate::NEMESES;
use base::{Action, ClientState, ClientView, Mono, Next, Node, Rng, ServerInfo, View};
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
    states.map(|state| ClientView { state, faulted: false }).to_vec()
}

fn members(count: u32) -> Vec<ServerInfo> {
    let role = |n| if n == 0 { crate::failover::ROLE } else { "replica" };
    let member = |n| ServerInfo { name: format!("server-{n}"), role: role(n).into(), group: 0 };
    (0..count).map(member).collect()
}

/// A nemesis that yields a fault which its line in the list does not name would be let into a
/// backend that cannot do it, and fail in the middle of a run.
#[test]
fn faults_take_what_the_list_says_and_nothing_else() {
    let ttl = Duration::from_secs(2);
    for spec in NEMESES {
        let (mut nemesis, mut rng) = ((spec.make)(), Rng::new(7));
        let mut now = Mono::ZERO + ttl * 5;
        let (mut seen, mut healed) = (Vec::new(), 0);
        for step in 0..2_000 {
            let mut clients = clients(now, ttl);
            // A holder hides whose acquire was answered.
            if step % 2 == 0 {
                clients[0].state = ClientState::Idle;
            }
            let servers = &members(3);
            let active = usize::from(step < healed);
            let view = View { now, ttl, clients: &clients, servers, peers: true, active };
            match nemesis.next(&view, &mut rng) {
                Next::Inject { fault, lasts } | Next::Also { fault, lasts } => {
                    healed = step + 20;
                    assert!(spec.needs.contains(&fault.ability()), "{}: {fault}", spec.name);
                    assert!(lasts > Duration::ZERO && !fault.nodes().is_empty());
                    seen.push(fault.ability());
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
            let servers = &members(servers);
            let view = View { now, ttl, clients: &clients, servers, peers, active: 0 };
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
