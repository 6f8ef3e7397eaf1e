//! The settings of Sentinels. Both worlds go by these.

use std::time::Duration;

/// The name under which Sentinels know the primary and its replicas.
pub const MASTER: &str = "picklock";

/// The number of Sentinels that must find the primary down.
pub const QUORUM: usize = 2;

/// The time between two questions of a Sentinel for a server's role, while nothing is wrong.
pub const INFO_PERIOD: Duration = Duration::from_secs(10);

/// The settings of a Sentinel, by the names that its configuration file uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentinelTiming {
    /// `down-after-milliseconds`: the silence after which a server counts as down.
    pub down_after: Duration,
    /// `failover-timeout`: the time that a step of a failover may take. Twice as long after a
    /// failover began the next one may.
    pub failover_timeout: Duration,
}

impl SentinelTiming {
    /// The settings with which a failover fits within a long hold of a lock with this ttl: whatever
    /// they are, Sentinel asks a replica that it has promoted only once a second whether it is
    /// done, and so a failover takes a second more than it takes to find out that the primary is
    /// down.
    pub fn of(ttl: Duration) -> Self {
        let whole = |time: Duration| Duration::from_millis(time.as_millis() as u64);
        Self {
            down_after: whole(ttl / 16).max(Duration::from_millis(250)),
            failover_timeout: whole(ttl / 2).max(Duration::from_secs(2)),
        }
    }

    /// The longest time from the last fault until all Sentinels name the same primary, which is up:
    /// the patience with a primary that one of them has made a replica, while it heard nothing of
    /// the others; one failover that was begun in vain; and another.
    pub fn settled(&self) -> Duration {
        let noticed = self.down_after * 2 + Duration::from_secs(1);
        let promoted = self.failover_timeout + Duration::from_secs(2);
        self.failover_timeout * 2 + noticed + promoted + self.patience()
    }
    /// The time for which a Sentinel bears with a primary that reports itself as a replica.
    pub fn patience(&self) -> Duration {
        self.down_after + INFO_PERIOD * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the usual ttl of Redis, and the rest of a failover that is in nobody's hand.
    #[test]
    fn a_failover_fits_within_a_long_hold() {
        let ttl = Duration::from_secs(4);
        let SentinelTiming { down_after, failover_timeout } = SentinelTiming::of(ttl);
        assert!(down_after * 2 + Duration::from_millis(1_400) < ttl.mul_f64(0.6));
        assert!(failover_timeout > Duration::from_secs(1), "a promoted replica is asked in time");
    }
}
