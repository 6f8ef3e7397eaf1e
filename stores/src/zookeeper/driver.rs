//! The client library as a pure state machine, with the behaviour of the `zookeeper-client` crate
//! (0.11.2): a lock sees of its session what that library shows it.
//!
//! The behaviour that matters to locks: a connection is given up after 2/5 of the session time-out
//! without a word; what was on its way then has an unknown outcome, and what was not yet sent waits
//! for the next connection; and the library declares the session expired by itself only 7/5 of the
//! time-out after the last word, between two attempts to connect, long after the servers may have.

mod connection;
mod watching;

use super::model::{Packet, WatchKind};
use super::{Refusal, Reply, Request, SessionState, Signal, WatchEvent, ZooKeeper, path};
use crate::driver::{Do, Driver, Outbox};
use base::{CallError, Mono, Rng};
use connection::{ConnectionPhase, LibraryTimers};
use std::collections::VecDeque;
use std::time::Duration;
use watching::Watching;

/// A client library with one session. It chooses its server by itself.
#[derive(Debug)]
pub struct ZooKeeperDriver {
    /// The session time-out that it asks for.
    wish: Duration,
    rng: Rng,
    session: i64,
    state: SessionState,
    timers: LibraryTimers,
    phase: ConnectionPhase,
    /// The servers in the order of this series of attempts, and how many attempts it has made.
    order: Vec<usize>,
    attempts: u32,
    /// The time at which the session is over by the client's own clock.
    give_up: Option<Mono>,
    connections: u64,
    last_zxid: i64,
    /// Requests that wait for a connection.
    queued: VecDeque<(u64, Request)>,
    /// Requests on their way.
    sent: VecDeque<(u64, Request)>,
    watching: Watching,
}

impl ZooKeeperDriver {
    /// A client of an ensemble of `servers`, counted from 0. It does nothing until `start`.
    pub fn new(servers: usize, session_timeout: Duration, rng: Rng) -> Self {
        Self {
            wish: session_timeout,
            rng,
            session: 0,
            state: SessionState::Disconnected,
            timers: LibraryTimers::new(session_timeout),
            phase: ConnectionPhase::Idle,
            order: (0..servers).collect(),
            attempts: 0,
            give_up: None,
            connections: 0,
            last_zxid: 0,
            queued: VecDeque::new(),
            sent: VecDeque::new(),
            watching: Watching::default(),
        }
    }

    /// Ends the session, if a server hears of it, and this client's part in it in any case.
    #[cfg(test)]
    pub fn close(&mut self, out: &mut Outbox<Self>) {
        if let ConnectionPhase::Serving { connection, .. } = self.phase {
            out.todo.push(Do::Send { connection, packet: Packet::CloseSession });
        }
        if let Some(connection) = self.phase.connection() {
            out.todo.push(Do::Close { connection });
        }
        self.abort("client has been closed", out);
        self.expire(out);
    }

    fn on_connected(
        &mut self,
        at: Mono,
        connection: u64,
        session: i64,
        timeout: Duration,
        out: &mut Outbox<Self>,
    ) {
        if !matches!(self.phase, ConnectionPhase::Opening { .. }) {
            return;
        }
        if self.session == 0 {
            self.give_up = None;
        }
        self.session = session;
        self.timers.grant(timeout);
        self.phase = ConnectionPhase::Greeting { connection, since: at };
        self.change(SessionState::Connected, out);
        // Requests wait for the answer to this ping, which comes after the missed watches.
        self.ping(at, connection, out);
    }

    fn on_reply(
        &mut self,
        xid: u64,
        zxid: i64,
        result: Result<Reply, Refusal>,
        out: &mut Outbox<Self>,
    ) {
        if self.sent.front().is_none_or(|(number, _)| *number != xid) {
            return;
        }
        let Some((number, request)) = self.sent.pop_front() else { return };
        self.last_zxid = self.last_zxid.max(zxid);
        self.watching.answered(&request, &result);
        let result = result.map_err(CallError::Refused);
        out.answers.push((number, result));
    }

    /// Sends what waits for a connection.
    fn flush(&mut self, at: Mono, out: &mut Outbox<Self>) {
        let ConnectionPhase::Serving { connection, .. } = self.phase else { return };
        for (xid, request) in self.queued.drain(..) {
            self.sent.push_back((xid, request.clone()));
            let packet = Packet::Request { xid, request };
            out.todo.push(Do::Send { connection, packet });
            self.timers.sent(at);
        }
    }

    /// Ends the requests on their way, whose outcome nobody will ever know.
    fn abort(&mut self, why: &str, out: &mut Outbox<Self>) {
        for (request, _) in self.sent.drain(..) {
            let result = Err(CallError::Unknown(why.to_owned()));
            out.answers.push((request, result));
        }
    }

    /// Ends the session. Of the requests that were never sent the library says the same as of those
    /// that were, so that their caller cannot know.
    fn expire(&mut self, out: &mut Outbox<Self>) {
        self.phase = ConnectionPhase::Idle;
        self.change(SessionState::Expired, out);
        self.abort("session expired", out);
        self.sent = std::mem::take(&mut self.queued);
        self.abort("session expired", out);
        for watch in self.watching.clear() {
            out.signals.push(Signal::Fired { watch, event: WatchEvent::SessionExpired });
        }
    }

    fn change(&mut self, state: SessionState, out: &mut Outbox<Self>) {
        if self.state == state {
            return;
        }
        self.state = state;
        out.signals.push(Signal::State { state, session: self.session });
    }
}

impl Driver for ZooKeeperDriver {
    type Protocol = ZooKeeper;
    type Packet = Packet;

    const CALLS_TIME_OUT: bool = false;

    /// Begins to connect. Until there is a session, it tries without end.
    fn start(&mut self, at: Mono, out: &mut Outbox<Self>) {
        if matches!(self.phase, ConnectionPhase::Idle) && self.state != SessionState::Expired {
            self.seek_session(at, out);
        }
    }

    fn call(&mut self, at: Mono, call: u64, _: usize, request: Request, out: &mut Outbox<Self>) {
        let refusal = if self.state == SessionState::Expired {
            Some(Refusal::SessionExpired)
        } else {
            path::check(&request).err()
        };
        match refusal {
            Some(refusal) => out.answers.push((call, Err(CallError::Refused(refusal)))),
            None => {
                self.queued.push_back((call, request));
                self.flush(at, out);
            }
        }
    }

    /// Handles a packet that has arrived.
    fn receive(&mut self, at: Mono, from: u64, packet: Packet, out: &mut Outbox<Self>) {
        if self.phase.connection() != Some(from) {
            return;
        }
        self.timers.heard(at);
        match packet {
            Packet::Connected { session, timeout } => {
                self.on_connected(at, from, session, timeout, out);
            }
            Packet::Expired => {
                out.todo.push(Do::Close { connection: from });
                self.expire(out);
            }
            Packet::Pong => {
                self.timers.ponged();
                if matches!(self.phase, ConnectionPhase::Greeting { .. }) {
                    self.phase = ConnectionPhase::Serving { connection: from, since: at };
                    self.flush(at, out);
                }
            }
            Packet::Reply { xid, zxid, result } => self.on_reply(xid, zxid, result, out),
            Packet::Event { path, event } => {
                for watch in self.watching.fire(&path, event) {
                    out.signals.push(Signal::Fired { watch, event });
                }
            }
            // Not for clients to hear.
            _ => {}
        }
    }

    /// Handles a connection that was closed by the other side, or could not be opened.
    fn closed(&mut self, at: Mono, connection: u64, out: &mut Outbox<Self>) {
        if self.phase.connection() == Some(connection) {
            self.lose(at, "connection to server has lost", out);
        }
    }

    /// Handles the passing of time: opens connections, sends pings, gives up.
    fn tick(&mut self, at: Mono, out: &mut Outbox<Self>) {
        if self.deadline().is_none_or(|deadline| at < deadline) {
            return;
        }
        match self.phase {
            ConnectionPhase::Idle => {}
            ConnectionPhase::Pausing { server, .. } => self.open(at, server, out),
            ConnectionPhase::Opening { connection, .. }
            | ConnectionPhase::Greeting { connection, .. }
            | ConnectionPhase::Serving { connection, .. } => {
                if at >= self.timers.silent_until() {
                    out.todo.push(Do::Close { connection });
                    self.lose(at, "no response from connection", out);
                } else if matches!(self.phase, ConnectionPhase::Serving { .. })
                    && self.timers.ping_due(at)
                {
                    self.ping(at, connection, out);
                }
            }
        }
    }

    /// The time at which the next `tick` is due.
    fn deadline(&self) -> Option<Mono> {
        match self.phase {
            ConnectionPhase::Idle => None,
            ConnectionPhase::Pausing { until, .. } => Some(until),
            ConnectionPhase::Opening { since, .. } | ConnectionPhase::Greeting { since, .. } => {
                Some(self.timers.beat(since, self.timers.silent_until()))
            }
            ConnectionPhase::Serving { since, .. } => {
                let silent = self.timers.silent_until();
                let next = self.timers.ping_at().map_or(silent, |ping| ping.min(silent));
                Some(self.timers.beat(since, next))
            }
        }
    }

    /// The time at which it connects again, if it waits for that.
    fn connects_at(&self) -> Option<Mono> {
        match self.phase {
            ConnectionPhase::Pausing { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Opens a new session after the old one expired; does nothing while the old one lives. The
    /// state stays `Expired` until the new session stands.
    fn renew(&mut self, at: Mono, out: &mut Outbox<Self>) {
        if self.state == SessionState::Expired && matches!(self.phase, ConnectionPhase::Idle) {
            self.session = 0;
            self.last_zxid = 0;
            self.timers = LibraryTimers::new(self.wish);
            self.seek_session(at, out);
        }
    }
}
