//! The settings of an ensemble. Both worlds go by these.

use base::Ensemble;
use humantime::format_duration;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A session of ZooKeeper's cannot be shorter: its tick would be too short for a machine at work.
pub const SHORTEST_SESSION: Duration = Duration::from_millis(500);

/// The default number of ticks in a session. A member that is cut off serves its clients for up to
/// two sync limits after its leader heard of it last, here 4 ticks: one until the leader hangs up,
/// which it may not hear, and one of silence. Their sessions were heard of up to a ping of the
/// client (3/20 of a session) and half a tick before. All that together is less than a session.
const TICKS_PER_SESSION: u32 = 6;

/// The default sync limit.
const SYNC_LIMIT: u32 = 2;

/// The settings of an ensemble, by the names that its configuration file uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// `tickTime`: the unit of the others. Sessions live between 2 and 20 of them.
    pub tick: Duration,
    /// `initLimit`: the number of ticks within which a follower must join its leader. (The settings
    /// of a run have that of their tick.)
    pub init_limit: u32,
    /// `syncLimit`: the number of ticks of silence that end a connection between servers.
    pub sync_limit: u32,
}

impl Timing {
    /// The settings that keep sessions of this length safe.
    pub fn of(session: Duration) -> Self {
        let tick = Duration::from_millis((session / TICKS_PER_SESSION).as_millis() as u64);
        Self::stored(Ensemble { tick_ns: tick.as_nanos() as u64, sync_limit: SYNC_LIMIT })
    }

    /// A copy of the settings with those that are given replaced.
    #[must_use]
    pub fn with(self, tick: Option<Duration>, sync_limit: Option<u32>) -> Self {
        Self::stored(Ensemble {
            tick_ns: tick.unwrap_or(self.tick).as_nanos() as u64,
            sync_limit: sync_limit.unwrap_or(self.sync_limit),
        })
    }

    /// The settings that were stored with a run.
    pub fn stored(ensemble: Ensemble) -> Self {
        Self {
            tick: Duration::from_nanos(ensemble.tick_ns),
            init_limit: ensemble.init_limit(),
            sync_limit: ensemble.sync_limit,
        }
    }

    /// The part of the settings that is stored with a run.
    pub fn ensemble(&self) -> Ensemble {
        Ensemble { tick_ns: self.tick.as_nanos() as u64, sync_limit: self.sync_limit }
    }

    /// Refuses settings that no ensemble would accept for sessions of this length.
    ///
    /// # Errors
    /// One line that names the mistake and its fix.
    pub fn check(&self, session: Duration) -> Result<(), TimingError> {
        let (tick, sync_limit) = (self.tick, self.sync_limit);
        if session < SHORTEST_SESSION {
            return Err(TimingError::ShortSession { session });
        }
        if !tick.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(TimingError::Tick { tick });
        }
        if !sessions(tick).contains(&session) {
            return Err(TimingError::Session { session, tick });
        }
        if !(1..=1_000).contains(&sync_limit) {
            return Err(TimingError::SyncLimit { sync_limit });
        }
        Ok(())
    }

    /// The time within which a follower must join its leader.
    pub(super) fn init(&self) -> Duration {
        self.tick * self.init_limit
    }

    /// The silence that ends a connection between servers.
    pub fn sync(&self) -> Duration {
        self.tick * self.sync_limit
    }

    /// The time-out that a server grants to a client that would like this one.
    pub(super) fn session(&self, wish: Duration) -> Duration {
        wish.clamp(self.tick * 2, self.tick * 20)
    }
}

/// The sessions that a server with this tick grants.
fn sessions(tick: Duration) -> RangeInclusive<Duration> {
    tick.saturating_mul(2)..=tick.saturating_mul(20)
}

/// A setting that no ensemble accepts. Each names its flag and what to give instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// The session is shorter than a machine at work can keep alive.
    #[error(
        "--ttl {} is too short for a session of ZooKeeper's: give {} or more",
        format_duration(*session),
        format_duration(SHORTEST_SESSION)
    )]
    ShortSession {
        /// The length of the session.
        session: Duration,
    },
    /// The tick has a fraction of a millisecond.
    #[error("--tick {} is no whole number of milliseconds", format_duration(*tick))]
    Tick {
        /// The length of the tick.
        tick: Duration,
    },
    /// The session has too few ticks, or too many.
    #[error(
        "--ttl {} is out of range for --tick {}: a server grants sessions of 2 to 20 ticks, \
         {} to {}",
        format_duration(*session),
        format_duration(*tick),
        format_duration(*sessions(*tick).start()),
        format_duration(*sessions(*tick).end())
    )]
    Session {
        /// The length of the session.
        session: Duration,
        /// The length of the tick.
        tick: Duration,
    },
    /// The sync limit is none, or too long.
    #[error("--sync-limit {sync_limit} is out of range: give 1 to 1000")]
    SyncLimit {
        /// The number of ticks.
        sync_limit: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// The rule that the safety of every lock hangs on that obeys *Disconnected*.
    #[test]
    fn a_session_outlives_the_service_of_a_member_that_is_cut_off() {
        for session in [500, 1_000, 2_000, 4_000, 30_000].map(ms) {
            let timing = Timing::of(session);
            timing.check(session).expect("the defaults make sense");
            let unheard = session * 3 / 20 + timing.tick / 2;
            assert!(timing.sync() * 2 + unheard < session, "{session:?}");
        }
    }

    #[test]
    fn what_no_ensemble_would_do_is_refused_by_name() {
        let refusals = [
            (ms(400), None, None),
            (ms(2_000), Some(ms(2_000)), None),
            (ms(2_000), Some(ms(50)), None),
            (ms(2_000), None, Some(0)),
            (ms(2_000), Some(Duration::from_micros(333_333)), None),
        ]
        .map(|(session, tick, sync_limit)| {
            let timing = Timing::of(session).with(tick, sync_limit);
            timing.check(session).expect_err("refused").to_string()
        });
        expect![[r#"
            --ttl 400ms is too short for a session of ZooKeeper's: give 500ms or more
            --ttl 2s is out of range for --tick 2s: a server grants sessions of 2 to 20 ticks, 4s to 40s
            --ttl 2s is out of range for --tick 50ms: a server grants sessions of 2 to 20 ticks, 100ms to 1s
            --sync-limit 0 is out of range: give 1 to 1000
            --tick 333ms 333us is no whole number of milliseconds"#]].assert_eq(&refusals.join("\n"));
        let life = Timing::of(ms(4_000)).with(Some(ms(2_000)), Some(5));
        assert_eq!(life.check(ms(4_000)), Ok(()));
        assert_eq!(Timing::stored(life.ensemble()), life);
    }
}
