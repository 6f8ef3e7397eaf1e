//! The leader's session tracker: the sessions that live, until when, and at which server.

use base::Mono;
use std::collections::BTreeMap;
use std::time::Duration;

/// A session, as the leader knows it.
#[derive(Clone, Debug)]
struct Tracked {
    timeout: Duration,
    expires: Mono,
    /// The server that its client is connected to; `None` after a change of leader, until the
    /// client is heard of.
    owner: Option<u32>,
    /// True once its end has been proposed; nothing more is accepted from it.
    closing: bool,
}

/// The sessions that the leader knows.
#[derive(Clone, Debug)]
pub struct SessionTracker {
    tick: Duration,
    sessions: BTreeMap<i64, Tracked>,
}

impl SessionTracker {
    /// A tracker without sessions; they will expire at multiples of `tick`.
    pub const fn new(tick: Duration) -> Self {
        Self { tick, sessions: BTreeMap::new() }
    }

    /// Adds a session that begins, or that a new leader learns of: it gets its whole time-out.
    pub fn add(&mut self, at: Mono, session: i64, timeout: Duration, owner: Option<u32>) {
        let expires = self.bucket(at + timeout);
        self.sessions.insert(session, Tracked { timeout, expires, owner, closing: false });
    }

    /// Extends the life of a session that was heard of.
    pub fn touch(&mut self, at: Mono, session: i64) {
        let Some(timeout) = self.sessions.get(&session).map(|s| s.timeout) else { return };
        let expires = self.bucket(at + timeout);
        if let Some(tracked) = self.sessions.get_mut(&session).filter(|s| !s.closing) {
            tracked.expires = tracked.expires.max(expires);
        }
    }

    /// Moves a session to the server that its client has come to. Returns its time-out if it lives.
    pub fn move_to(&mut self, at: Mono, session: i64, owner: u32) -> Option<Duration> {
        self.touch(at, session);
        let tracked = self.sessions.get_mut(&session).filter(|s| !s.closing)?;
        tracked.owner = Some(owner);
        Some(tracked.timeout)
    }

    /// Returns true if a request of this session, from this server, is to be served. A session that
    /// no server has claimed yet becomes this server's.
    pub fn admits(&mut self, session: i64, from: u32) -> bool {
        let live = self.sessions.get_mut(&session).filter(|s| !s.closing);
        live.is_some_and(|tracked| *tracked.owner.get_or_insert(from) == from)
    }

    /// Marks a session whose end is proposed. Returns false if it had been already.
    pub fn close(&mut self, session: i64) -> bool {
        let live = self.sessions.get_mut(&session).filter(|s| !s.closing);
        live.map(|tracked| tracked.closing = true).is_some()
    }

    /// Removes a session that is over.
    pub fn remove(&mut self, session: i64) {
        self.sessions.remove(&session);
    }

    /// The sessions whose time is up.
    pub fn expired(&self, at: Mono) -> Vec<i64> {
        let due = |s: &Tracked| !s.closing && s.expires <= at;
        self.sessions.iter().filter(|(_, s)| due(s)).map(|(id, _)| *id).collect()
    }

    /// The time at which the next session expires.
    pub fn deadline(&self) -> Option<Mono> {
        self.sessions.values().filter(|s| !s.closing).map(|s| s.expires).min()
    }

    /// The end of a session, rounded up to the next tick, as ZooKeeper's buckets are: a session
    /// lives up to a tick longer than its time-out, never shorter.
    fn bucket(&self, at: Mono) -> Mono {
        let tick = self.tick.as_nanos().max(1) as u64;
        Mono::from_nanos((at.nanos() / tick + 1).saturating_mul(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Mono {
        Mono::from_nanos(n * 1_000_000)
    }

    #[test]
    fn a_session_expires_at_the_tick_after_its_time_out() {
        let mut tracker = SessionTracker::new(Duration::from_millis(100));
        tracker.add(ms(30), 7, Duration::from_millis(400), None);
        assert_eq!(tracker.deadline(), Some(ms(500)));
        tracker.touch(ms(120), 7);
        assert_eq!(tracker.deadline(), Some(ms(600)));
        assert!(tracker.expired(ms(599)).is_empty());
        assert_eq!(tracker.expired(ms(600)), [7]);
    }

    #[test]
    fn a_session_that_is_closing_is_closed_once_and_admits_nothing() {
        let mut tracker = SessionTracker::new(Duration::from_millis(100));
        tracker.add(ms(0), 7, Duration::from_millis(400), Some(1));
        assert!(tracker.admits(7, 1));
        assert!(!tracker.admits(7, 2), "it lives at server 1");
        assert!(tracker.close(7));
        assert!(!tracker.close(7));
        assert!(!tracker.admits(7, 1));
        assert_eq!(tracker.move_to(ms(1), 7, 2), None);
    }
}
