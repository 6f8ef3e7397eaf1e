//! The right clocks with which the nodes of the simulated world begin.

use base::{Clock, Mono, Node, WallTime};
use std::time::Duration;

/// The time at which the world begins: 2025-01-01T00:00:00Z.
const EPOCH: WallTime = WallTime::from_nanos(1_735_689_600_000_000_000);

/// The clocks of a machine that has been up for so long when the world begins.
pub fn up_for(time: Duration) -> Clock {
    Clock::right(EPOCH, Mono::ZERO, Mono::ZERO + time)
}

/// Returns the clocks of a node. Each machine has been up for another number of hours, so that
/// a recipe that compares the monotonic clocks of two is wrong by hours.
pub fn clock_of(node: Node) -> Clock {
    let hours = match node {
        Node::Client(client) => 100 + client,
        Node::Server(number) => 1 + number,
        Node::Vault => 0,
    };
    up_for(Duration::from_secs(3_600) * hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Mono {
        Mono::ZERO + Duration::from_secs(n)
    }

    #[test]
    fn right_clocks_differ_in_their_beginnings_alone() {
        let (server, client) = (clock_of(Node::Server(0)), clock_of(Node::Client(0)));
        assert_eq!(server.wall(seconds(5)), EPOCH + Duration::from_secs(5));
        assert_eq!(client.wall(seconds(5)), server.wall(seconds(5)));
        assert_eq!(server.mono(seconds(5)), seconds(3_605));
        assert_eq!(server.translate(seconds(3_600).nanos(), seconds(5)), 0);
        assert!(client.mono(seconds(5)) > server.mono(seconds(5)));
    }
}
