//! The settings of a Redis Cluster. Both worlds go by these.

use std::time::Duration;

/// The settings of a member of a Redis Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterTiming {
    /// `cluster-node-timeout`: the silence after which a server counts as down, and after which one
    /// that hears of no majority serves no more.
    pub node_timeout: Duration,
}

impl ClusterTiming {
    /// The setting with which a failover fits within a long hold of a lock with this ttl: whatever
    /// it is, a replica waits for half a second to one before it asks for votes.
    pub fn of(ttl: Duration) -> Self {
        let whole = Duration::from_millis((ttl / 16).as_millis() as u64);
        Self { node_timeout: whole.max(Duration::from_millis(250)) }
    }

    /// The longest time from the last fault until every slot is served again: one election that was
    /// begun in vain, another, and the two seconds for which a primary waits after its start.
    pub fn settled(&self) -> Duration {
        let retried = (self.node_timeout * 2).max(Duration::from_secs(2)) * 2;
        self.node_timeout * 4 + retried * 2 + Duration::from_secs(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the usual ttl of Redis: a failure is noticed within two time-outs.
    #[test]
    fn a_failover_fits_within_a_long_hold() {
        let ttl = Duration::from_secs(4);
        let ClusterTiming { node_timeout } = ClusterTiming::of(ttl);
        assert!(node_timeout * 2 + Duration::from_millis(1_200) < ttl.mul_f64(0.6));
    }
}
