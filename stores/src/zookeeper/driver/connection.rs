//! Connecting, reconnecting and giving up.

use super::{Packet, SessionState, ZooKeeperDriver};
use crate::driver::{Do, Outbox};
use base::{Mono, Rng};
use std::time::Duration;

/// The state of the client's connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConnectionPhase {
    /// Nothing: not started, or the session is over.
    Idle,
    /// Waiting before the next attempt.
    Pausing { until: Mono, server: usize },
    /// A server was asked for the session.
    Opening { connection: u64, since: Mono },
    /// The session stands; the answer to the first ping is outstanding.
    Greeting { connection: u64, since: Mono },
    /// Requests and replies flow.
    Serving { connection: u64, since: Mono },
}

impl ConnectionPhase {
    pub(super) const fn connection(self) -> Option<u64> {
        match self {
            Self::Idle | Self::Pausing { .. } => None,
            Self::Opening { connection, .. }
            | Self::Greeting { connection, .. }
            | Self::Serving { connection, .. } => Some(connection),
        }
    }
}

/// The timers of the library. They look only every twentieth of the session time-out.
#[derive(Debug)]
pub(super) struct LibraryTimers {
    timeout: Duration,
    beat: Duration,
    heard: Mono,
    sent: Mono,
    pinged: bool,
}

impl LibraryTimers {
    pub(super) fn new(timeout: Duration) -> Self {
        let beat = (timeout / 20).max(Duration::from_millis(1));
        Self { timeout, beat, heard: Mono::ZERO, sent: Mono::ZERO, pinged: false }
    }

    /// Takes over the time-out that the server has granted.
    pub(super) fn grant(&mut self, timeout: Duration) {
        let fresh = Self::new(timeout);
        (self.timeout, self.beat) = (fresh.timeout, fresh.beat);
    }

    pub(super) const fn heard(&mut self, at: Mono) {
        self.heard = at;
    }

    pub(super) const fn sent(&mut self, at: Mono) {
        self.sent = at;
    }

    pub(super) const fn ponged(&mut self) {
        self.pinged = false;
    }

    /// The time at which the silence has lasted for 2/5 of the time-out.
    pub(super) fn silent_until(&self) -> Mono {
        self.heard + self.beat * 8
    }

    /// The time at which a ping is due: 3/20 of the time-out after the last packet, one at a time.
    pub(super) fn ping_at(&self) -> Option<Mono> {
        (!self.pinged).then(|| self.sent + (self.beat * 3).min(Duration::from_secs(10)))
    }

    pub(super) fn ping_due(&self, at: Mono) -> bool {
        self.ping_at().is_some_and(|ping| at >= ping)
    }

    /// The time at which the session is over by the client's own clock.
    fn over(&self) -> Mono {
        self.heard + self.timeout * 7 / 5
    }

    /// The first beat of a connection that began at `since` at which `at` has passed.
    pub(super) fn beat(&self, since: Mono, at: Mono) -> Mono {
        let beats = at.since(since).as_nanos().div_ceil(self.beat.as_nanos());
        since + self.beat * u32::try_from(beats).unwrap_or(u32::MAX)
    }
}

impl ZooKeeperDriver {
    /// Begins to seek a new session. The library gives up after a session time-out and its caller
    /// tries again, which matters: the pauses between attempts double, and begin anew with each
    /// try.
    pub(super) fn seek_session(&mut self, at: Mono, out: &mut Outbox<Self>) {
        self.seek(at, Some(at + self.wish.max(Duration::from_millis(1))), out);
    }

    /// Begins a series of attempts to connect, until `give_up`.
    fn seek(&mut self, at: Mono, give_up: Option<Mono>, out: &mut Outbox<Self>) {
        shuffle(&mut self.order, &mut self.rng);
        self.attempts = 0;
        self.give_up = give_up;
        self.attempt(at, out);
    }

    /// Chooses the next server, and the pause before the attempt.
    fn attempt(&mut self, at: Mono, out: &mut Outbox<Self>) {
        let size = self.order.len().max(1);
        let Some(server) = self.order.get(self.attempts as usize % size).copied() else {
            self.phase = ConnectionPhase::Idle;
            return;
        };
        let until = at + self.pause(size as u32);
        let until = self.give_up.map_or(until, |end| until.min(end));
        self.attempts += 1;
        if until <= at {
            return self.open(at, server, out);
        }
        self.phase = ConnectionPhase::Pausing { until, server };
    }

    /// The pause before an attempt: none on the first round, then longer before each round, and a
    /// little between servers.
    fn pause(&mut self, size: u32) -> Duration {
        let unit = Duration::from_millis(100);
        let jitter = |rng: &mut Rng, below| Duration::from_millis(rng.below(below));
        match (self.attempts / size, self.attempts % size) {
            (0, _) => Duration::ZERO,
            (round, 0) => {
                let first = (unit * size).min(Duration::from_secs(1));
                first * 2u32.saturating_pow((round - 1).min(16)) + jitter(&mut self.rng, 100)
            }
            (_, offset) => unit * offset / 2 + jitter(&mut self.rng, 50),
        }
    }

    /// Opens a connection, unless the session's time is up: only here is that looked at.
    pub(super) fn open(&mut self, at: Mono, server: usize, out: &mut Outbox<Self>) {
        if self.give_up.is_some_and(|end| at >= end) {
            return if self.session == 0 { self.seek_session(at, out) } else { self.expire(out) };
        }
        let connection = self.connections;
        self.connections += 1;
        self.phase = ConnectionPhase::Opening { connection, since: at };
        (self.timers.heard, self.timers.sent, self.timers.pinged) = (at, at, false);
        out.todo.push(Do::Open { server, connection });
        let packet = Packet::Connect {
            session: self.session,
            timeout: if self.session == 0 { self.wish } else { self.timers.timeout },
            last_zxid: self.last_zxid,
        };
        out.todo.push(Do::Send { connection, packet });
        let watches = self.watching.list();
        if !watches.is_empty() {
            let packet = Packet::SetWatches { zxid: self.last_zxid, watches };
            out.todo.push(Do::Send { connection, packet });
        }
    }

    /// Handles the loss of the connection.
    pub(super) fn lose(&mut self, at: Mono, why: &str, out: &mut Outbox<Self>) {
        let served = matches!(self.phase, ConnectionPhase::Serving { .. });
        // A new session that is lost before its first answer has a time to run out, too.
        let fresh = self.session != 0 && self.give_up.is_none();
        let end = self.timers.over();
        if self.state == SessionState::Connected {
            self.change(SessionState::Disconnected, out);
        }
        self.abort(why, out);
        if served || fresh {
            self.seek(at, Some(end), out);
        } else {
            self.attempt(at, out);
        }
    }

    pub(super) fn ping(&mut self, at: Mono, connection: u64, out: &mut Outbox<Self>) {
        self.timers.sent = at;
        self.timers.pinged = true;
        out.todo.push(Do::Send { connection, packet: Packet::Ping });
    }
}

/// Shuffles a list by the algorithm of Fisher and Yates.
fn shuffle(order: &mut [usize], rng: &mut Rng) {
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i as u64 + 1) as usize);
    }
}
