//! Nemeses that wait for a client to hold the lock, found by trying them.

use base::{
    ClientState, ClientView, Mono, NemesisSpec, Next, Rng, ServerInfo, ServerStanding, View,
};
use std::time::Duration;

/// The number of seeds with which a nemesis is tried: each may draw what waits for no holder.
const SEEDS: u64 = 16;

/// The number of times that it is asked: it waits if no fault comes in the second half.
const ASKED: u32 = 400;

/// Returns true if a nemesis comes to wait for a client that holds the lock, for ever if none is
/// ever seen to: clients ask, are answered, and are done.
pub fn waits_for_holders(spec: &NemesisSpec) -> bool {
    (0..SEEDS).any(|seed| comes_to_wait(spec, seed))
}

fn comes_to_wait(spec: &NemesisSpec, seed: u64) -> bool {
    let (mut nemesis, mut rng) = ((spec.make)(), Rng::new(seed));
    let (ttl, servers) = (Duration::from_secs(1), servers(5));
    let (mut now, mut last) = (Mono::ZERO + ttl, 0);
    for asked in 0..ASKED {
        let clients = clients(now);
        let view = View {
            now,
            ttl,
            clients: &clients,
            servers: &servers,
            peers: true,
            answering: None,
            standings: STANDINGS,
            active: 0,
        };
        match nemesis.next(&view, &mut rng) {
            Next::Inject { .. } | Next::Also { .. } => last = asked,
            Next::At(at) | Next::WatchUntil(at) => now = now.max(at),
            Next::Watch => now = now + ttl / 50,
            Next::Done => return false,
        }
    }
    last < ASKED / 2
}

/// A release and two acquires that were just answered, and a client that does nothing.
fn clients(now: Mono) -> Vec<ClientView> {
    let answered = ClientState::Acquiring { since: Mono::ZERO, last_reply: Some(now), answers: 1 };
    let released = Mono::from_nanos(now.nanos() - 1_000);
    let states = [
        ClientState::Releasing { last_reply: Some(released) },
        answered,
        answered,
        ClientState::Idle,
    ];
    states.map(|state| ClientView { state, ..ClientView::default() }).to_vec()
}

/// The first one leads.
pub const STANDINGS: &[Option<ServerStanding>] = &[
    Some(ServerStanding::Leader),
    Some(ServerStanding::Follower),
    Some(ServerStanding::Follower),
    None,
    None,
];

/// Servers that hold one store, the first of them as its primary.
pub fn servers(count: u32) -> Vec<ServerInfo> {
    let role = |number| if number == 0 { crate::failover::ROLE } else { "replica" };
    let server = |n| ServerInfo { name: format!("server-{n}"), role: role(n).into(), group: 0 };
    (0..count).map(server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_hit_whoever_is_there_never_wait() {
        let never = crate::NEMESES.iter().filter(|spec| !waits_for_holders(spec));
        let never: Vec<&str> = never.map(|spec| spec.name).collect();
        let expected = [
            "none",
            "partition-server",
            "partition-halves",
            "partition-ring",
            "partition-bridge",
            "partition-group",
            "pause-server",
            "pause-leader",
            "crash-server",
            "crash-leader",
            "vanish-server",
            "failover",
            "link-server",
        ];
        assert_eq!(never, expected);
    }
}
