//! The settings of the members. Both worlds go by these.

use std::time::Duration;

/// The part of a ttl for which a follower hears nothing of its leader before it wants to lead: with
/// the twofold that chance may make of it, and an election, others serve before a lease that could
/// not be kept alive meanwhile is over.
const ELECTIONS_PER_TTL: u32 = 4;

/// Heartbeats in an election time-out, as they come by default.
const HEARTBEATS: u32 = 10;

/// The interval at which a leader looks for leases that have run out: etcd's own.
pub const EXPIRY_CHECK: Duration = Duration::from_millis(500);

/// The settings of a member, by the names of its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElectionTiming {
    /// `--heartbeat-interval`: a leader's heartbeat, and the unit in which members count.
    pub heartbeat: Duration,
    /// `--election-timeout`: the silence after which a follower wants to lead, or up to twice that.
    pub election: Duration,
}

impl ElectionTiming {
    /// The settings for leases that live for so long.
    pub fn of(ttl: Duration) -> Self {
        let heartbeat = ttl.as_millis() as u64 / u64::from(ELECTIONS_PER_TTL * HEARTBEATS);
        // etcd takes whole milliseconds, and up to fifty seconds for an election.
        let heartbeat = Duration::from_millis(heartbeat.clamp(10, 5_000));
        Self { heartbeat, election: heartbeat * HEARTBEATS }
    }

    /// The shortest time for which a lease lives, in seconds: one and a half election time-outs.
    pub fn shortest_ttl(&self) -> i64 {
        (self.election * 3 / 2).as_nanos().div_ceil(1_000_000_000) as i64
    }
}

/// The heartbeats after which an election time-out is over.
pub const ELECTION_TICKS: u32 = HEARTBEATS;

/// Returns a ttl as a lease counts it, in seconds.
pub fn whole_seconds(ttl: Duration) -> i64 {
    ttl.as_nanos().div_ceil(1_000_000_000) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_election_takes_half_of_a_lease_at_most() {
        for seconds in [1, 2, 4, 60] {
            let ttl = Duration::from_secs(seconds);
            let timing = ElectionTiming::of(ttl);
            assert!(timing.election * 2 <= ttl, "{timing:?}");
            assert!(timing.shortest_ttl() <= whole_seconds(ttl), "{timing:?}");
        }
        assert_eq!(whole_seconds(Duration::from_millis(1_001)), 2);
    }
}
