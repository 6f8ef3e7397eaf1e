//! Tests of one member's part in an election, by what it sends.

use super::*;
use base::WallTime;

const TIMING: Timing = Timing { tick: Duration::from_secs(2), init_limit: 10, sync_limit: 5 };

/// A member that is looking for a leader, and the time.
struct Member {
    server: Server,
    now_ms: u64,
}

impl Member {
    /// Member 0 of so many.
    fn looking(size: u32) -> Self {
        let mut member = Self { server: Server::new(0, size, TIMING), now_ms: 0 };
        member.wait(0);
        member
    }

    fn clocks(&self) -> Clocks {
        Clocks { mono: Mono::from_nanos(self.now_ms * 1_000_000), wall: WallTime::default() }
    }

    /// Lets time pass, and returns what is sent at its end.
    fn wait(&mut self, ms: u64) -> Outgoing {
        self.now_ms += ms;
        let mut out = Outgoing::new();
        self.server.tick(self.clocks(), &mut out);
        out
    }

    fn hear(&mut self, from: u32, packet: PeerPacket) -> Outgoing {
        let mut out = Outgoing::new();
        let (at, packet) = (self.clocks(), Packet::Peer(packet));
        self.server.receive(at, Peer::Server(from), packet, &mut out);
        out
    }

    /// Hears in the first round that a member votes for a leader without a history.
    fn hear_vote(&mut self, from: u32, leader: u32, standing: ElectionRole) -> Outgoing {
        let vote = Vote { epoch: 0, zxid: 0, leader };
        self.hear(from, PeerPacket::Notification { round: 1, vote, standing })
    }
}

/// Returns the connection over which a server was asked to lead, and its number.
fn asked(out: &Outgoing) -> Option<(u32, u64)> {
    out.iter().find_map(|out| match out {
        Out::Send(
            Peer::Server(to),
            Packet::Peer(PeerPacket::ToLeader { join, message: ToLeader::Join { .. } }),
        ) => Some((*to, *join)),
        _ => None,
    })
}

/// A server that was elected and does not lead is not waited for as long as a leader is.
#[test]
fn a_follower_that_is_refused_five_times_looks_again() {
    let mut member = Member::looking(3);
    member.hear_vote(2, 2, ElectionRole::Looking);
    let mut out = member.wait(200);
    for refusals in 0..5 {
        let Some((2, join)) = asked(&out) else { panic!("not asked after {refusals} refusals") };
        member.hear(2, PeerPacket::ToFollower { join, message: ToFollower::Refused });
        out = member.wait(100);
    }
    assert_eq!(asked(&out), None);
    assert!(matches!(member.server.role, ServerRole::Looking(_)));
}

/// A member that voted for a leader and came too late to hear the others' votes need not wait until
/// they follow: they may wait for it.
#[test]
fn a_leader_that_a_majority_voted_for_is_followed_at_once() {
    let mut member = Member::looking(5);
    member.hear_vote(1, 4, ElectionRole::Looking);
    assert_eq!(asked(&member.wait(1)), None, "two of five");
    let out = member.hear_vote(4, 4, ElectionRole::Leading);
    assert_eq!(asked(&out).map(|(leader, _)| leader), Some(4));
}
