//! The death of a model's leader, as clients see it: the same questions that real members are
//! asked, and the same figures.

use crate::conformance::{TimeRange, Times};
use crate::etcd::{Etcd, Reply, Request};
use crate::model_network::ModelNetwork;
use base::Rng;
use std::ops::Range;
use std::time::Duration;

/// The longest time that a question may take.
pub const PATIENCE: Duration = Duration::from_millis(150);

/// The time to live of the lease that is watched, in seconds.
pub const TTL: i64 = 2;

/// The pause between two questions to a model.
const PAUSE: Duration = Duration::from_millis(5);

/// The time in which a leader dies: several heartbeats, at any moment between two.
const MOMENTS_MS: u64 = 500;

/// The times from the death of the leader: until a write was answered elsewhere, and until a lease
/// of two seconds was over that was made just before, and nobody kept alive.
pub const WRITABLE: &str = "writable";
pub const LEASE_OVER: &str = "a lease of 2 s over";

/// Kills the leaders of the models of these seeds, and measures what follows.
pub fn leader_deaths(seeds: Range<u64>) -> TimeRange {
    let mut range = TimeRange::default();
    seeds.for_each(|seed| range.extend(leader_death(seed)));
    range
}

fn leader_death(seed: u64) -> Times {
    let mut cluster = ModelNetwork::etcd(seed);
    cluster.run(Duration::from_millis(Rng::fork(seed, 1).below(MOMENTS_MS)));
    let leader = cluster.leader().expect("a cluster of which nothing has failed has a leader");
    let other = (leader + 1) % 3;
    let grant = |lease| Request::LeaseGrant { lease, ttl: TTL };
    cluster.ask(other, grant(1));
    cluster.ask(other, Request::Create { key: "k".into(), value: "v".into(), lease: 1 });
    cluster.kill(leader);
    let (died, mut fresh) = (cluster.now, 2);
    // A request that is handed on to the dead leader is lost.
    while cluster.ask_for(other, grant(fresh), PATIENCE).is_none() {
        fresh += 1;
    }
    let writable = cluster.now.since(died);
    while has_key(&mut cluster, other) {
        cluster.run(PAUSE);
    }
    Times::from([(WRITABLE, writable), (LEASE_OVER, cluster.now.since(died))])
}

fn has_key(cluster: &mut ModelNetwork<Etcd>, member: u32) -> bool {
    let read = cluster.ask(member, Request::Get { key: "k".into() });
    matches!(read, Some(Ok(Reply::Found { found: Some(_), .. })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times in milliseconds that real members took, etcd 3.4.23 with an election time-out of
    /// 500 ms.
    const REAL_MS: [(u64, u64); 3] = [(622, 3_190), (779, 3_280), (477, 3_310)];

    const SLACK: Duration = Duration::from_millis(300);

    fn times((writable, lease_over): (u64, u64)) -> Times {
        let [writable, lease_over] = [writable, lease_over].map(Duration::from_millis);
        Times::from([(WRITABLE, writable), (LEASE_OVER, lease_over)])
    }

    fn differences(range: &TimeRange, times: &Times) -> usize {
        range.differences(times, |_| SLACK).len()
    }

    #[test]
    fn a_dead_leader_is_missed_for_one_to_two_election_time_outs_and_a_lease_lives_anew() {
        let all: Vec<Times> = (0..300).map(leader_death).collect();
        let bounds = |what| {
            let ms = || all.iter().map(|times| times[what].as_millis());
            (ms().min().unwrap_or(0), ms().max().unwrap_or(0))
        };
        let range = leader_deaths(0..300);
        // The last entry came just before, a lost request is missed for 150 ms, and votes may be
        // split.
        let (least, most) = bounds(WRITABLE);
        assert!((450..700).contains(&least) && (1_000..2_500).contains(&most), "{range}");
        // From the election on, its time anew and an election time-out, up to the leader's next
        // look.
        let (least, most) = bounds(LEASE_OVER);
        assert!((2_900..3_500).contains(&least) && most < 5_000, "{range}");
        for real in REAL_MS.map(times) {
            assert_eq!(differences(&range, &real), 0, "{range}: {real:?}");
        }
    }

    #[test]
    fn a_time_that_no_model_takes_does_not_fit() {
        let range = leader_deaths(0..50);
        assert_eq!(range.differences(&leader_death(7), |_| Duration::ZERO), [""; 0]);
        for (other, wrong) in
            [((50, 3_300), 1), ((4_500, 6_000), 2), ((700, 2_100), 1), ((700, 7_000), 1)]
        {
            assert_eq!(differences(&range, &times(other)), wrong, "{other:?}");
        }
    }
}
