//! The death of a model's leader, as clients see it: the same questions that real members are asked, and
//! the same figures.

use crate::etcd::{Etcd, Reply, Request};
use crate::model_network::ModelNetwork;
use base::Rng;
use std::fmt;
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

/// The figures of a failover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderFigures {
    /// The time from the death of the leader until a write was answered elsewhere.
    pub writable: Duration,
    /// The same until a lease of two seconds was over that was made just before, and nobody kept alive.
    pub lease_over: Duration,
}

impl LeaderFigures {
    /// Kills the leader of a model, and measures what follows.
    pub fn of_model(seed: u64) -> Self {
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
        Self { writable, lease_over: cluster.now.since(died) }
    }
}

fn has_key(cluster: &mut ModelNetwork<Etcd>, member: u32) -> bool {
    let read = cluster.ask(member, Request::Get { key: "k".into() });
    matches!(read, Some(Ok(Reply::Found { found: Some(_), .. })))
}

/// Displays the figures.
impl fmt::Display for LeaderFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writable, lease_over } = self;
        write!(f, "writable after {writable:.2?}, a lease of {TTL} s over after {lease_over:.2?}")
    }
}

/// The figures of many models, from the shortest to the longest times.
#[derive(Clone, Copy, Debug)]
pub struct LeaderRange {
    least: LeaderFigures,
    most: LeaderFigures,
}

impl LeaderRange {
    /// Kills the leader of a model for each of these seeds.
    pub fn of_models(seeds: Range<u64>) -> Self {
        let all: Vec<LeaderFigures> = seeds.map(LeaderFigures::of_model).collect();
        let of = |time: fn(&LeaderFigures) -> Duration| {
            let times = || all.iter().map(time);
            (times().min().unwrap_or_default(), times().max().unwrap_or_default())
        };
        let (writable, lease_over) = (of(|it| it.writable), of(|it| it.lease_over));
        Self {
            least: LeaderFigures { writable: writable.0, lease_over: lease_over.0 },
            most: LeaderFigures { writable: writable.1, lease_over: lease_over.1 },
        }
    }

    /// Returns true if neither time is shorter or longer than those of all models by more than this.
    pub fn fits(&self, figures: &LeaderFigures, slack: Duration) -> bool {
        let within = |time: fn(&LeaderFigures) -> Duration| {
            let (least, most) = (time(&self.least), time(&self.most));
            (least.saturating_sub(slack)..=most + slack).contains(&time(figures))
        };
        within(|it| it.writable) && within(|it| it.lease_over)
    }
}

/// Displays the shortest and the longest times.
impl fmt::Display for LeaderRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at least: {}; at most: {}", self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times in milliseconds that real members took, etcd 3.4.23 with an election time-out of 500 ms.
    const REAL_MS: [(u64, u64); 3] = [(622, 3_190), (779, 3_280), (477, 3_310)];

    const SLACK: Duration = Duration::from_millis(300);

    fn figures((writable, lease_over): (u64, u64)) -> LeaderFigures {
        let [writable, lease_over] = [writable, lease_over].map(Duration::from_millis);
        LeaderFigures { writable, lease_over }
    }

    #[test]
    fn a_dead_leader_is_missed_for_one_to_two_election_time_outs_and_a_lease_lives_anew() {
        let range = LeaderRange::of_models(0..300);
        println!("{range}");
        let LeaderRange { least, most } = range;
        // The last entry came just before, a lost request is missed for 150 ms, and votes may be split.
        let of_ms = |range: Range<u64>, time: Duration| range.contains(&(time.as_millis() as u64));
        assert!(of_ms(450..700, least.writable) && of_ms(1_000..2_500, most.writable), "{range}");
        // From the election on, its time anew and an election time-out, up to the leader's next look.
        assert!(of_ms(2_900..3_500, least.lease_over) && most.lease_over.as_secs() < 5, "{range}");
        for real in REAL_MS.map(figures) {
            assert!(range.fits(&real, SLACK), "{real}");
        }
    }

    #[test]
    fn a_time_that_no_model_takes_does_not_fit() {
        let range = LeaderRange::of_models(0..50);
        assert!(range.fits(&LeaderFigures::of_model(7), Duration::ZERO));
        for other in [(50, 3_300), (4_500, 6_000), (700, 2_100), (700, 7_000)].map(figures) {
            assert!(!range.fits(&other, SLACK), "{other}");
        }
    }
}
