//! The client library of PostgreSQL, as the simulator drives it: a connection a session.
//!
//! A session that has nothing to do is asked for a sign of life now and then, as connection pools
//! do it, with `SELECT 1`. One that does not answer in time is closed. While a statement waits for
//! a lock nothing tells a server that waits from one that is gone.

use super::{
    Packet, Postgres, Refusal, Reply, Request, SessionId, SessionSettings, Signal, Statement,
};
use crate::driver::{Do, Driver, Outbox};
use base::{CallError, Mono};
use std::collections::VecDeque;
use std::time::Duration;

/// A client library with any number of sessions to one server.
pub struct PostgresDriver {
    /// The sessions that are open or being opened.
    sessions: Vec<OpenSession>,
    /// The time after which a session that says nothing is asked, and after which it must have
    /// answered.
    patience: Duration,
}

struct OpenSession {
    /// Its number, which is that of its connection as well.
    id: SessionId,
    /// The requests that are not answered, in order.
    unanswered: VecDeque<Asked>,
    /// The time at which it must have been asked, or have answered.
    due: Mono,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Call(u64),
    SignOfLife,
}

type CallResult<T> = std::result::Result<T, CallError<Refusal>>;

/// The divisor that makes of a session time-out the time for which a client waits for a sign of
/// life.
pub const PATIENCE: u32 = 4;

impl PostgresDriver {
    /// Makes a client that finds out within half of a `ttl` that its server is silent.
    pub fn new(ttl: Duration) -> Self {
        Self { sessions: Vec::new(), patience: ttl / PATIENCE }
    }

    fn place(&self, session: SessionId) -> Option<usize> {
        self.sessions.iter().position(|open| open.id == session)
    }

    fn connect(
        &mut self,
        at: Mono,
        call: u64,
        session: SessionId,
        settings: SessionSettings,
        out: &mut Outbox<Self>,
    ) {
        let unanswered = [Asked::Call(call)].into();
        self.sessions.push(OpenSession { id: session, unanswered, due: at + self.patience });
        out.todo.push(Do::Open { connection: session, server: 0 });
        out.todo.push(Do::Send { connection: session, packet: Packet::Startup(settings) });
    }

    fn execute(
        &mut self,
        call: u64,
        session: SessionId,
        statement: Statement,
        out: &mut Outbox<Self>,
    ) {
        let Some(place) = self.place(session) else {
            return out.answers.push((call, Err(CallError::Refused(Refusal::NoSession))));
        };
        self.sessions[place].unanswered.push_back(Asked::Call(call));
        out.todo.push(Do::Send { connection: session, packet: Packet::Statement(statement) });
    }

    /// Ends a session for its client. Its calls end so.
    fn end(&mut self, place: usize, error: &CallError<Refusal>, out: &mut Outbox<Self>) {
        for asked in self.sessions.swap_remove(place).unanswered {
            if let Asked::Call(call) = asked {
                out.answers.push((call, Err(error.clone())));
            }
        }
    }

    /// Ends a session that its client does not know to be over.
    fn lose(&mut self, place: usize, error: &CallError<Refusal>, out: &mut Outbox<Self>) {
        out.signals.push(Signal::Closed { session: self.sessions[place].id });
        self.end(place, error, out);
    }
}

impl Driver for PostgresDriver {
    type Protocol = Postgres;
    type Packet = Packet;

    const CALLS_TIME_OUT: bool = false;

    fn call(&mut self, at: Mono, call: u64, _: usize, request: Request, out: &mut Outbox<Self>) {
        match request {
            Request::Connect { session, settings } => {
                self.connect(at, call, session, settings, out);
            }
            Request::Execute { session, statement } => {
                self.execute(call, session, statement, out);
            }
            Request::Close { session } => {
                if let Some(place) = self.place(session) {
                    out.todo.push(Do::Close { connection: session });
                    self.end(place, &closed(), out);
                }
                out.answers.push((call, Ok(Reply::Done)));
            }
        }
    }

    fn receive(&mut self, at: Mono, connection: u64, packet: Packet, out: &mut Outbox<Self>) {
        let Some(place) = self.place(connection) else { return };
        let result: CallResult<Reply> = match packet {
            Packet::Ready => Ok(Reply::Done),
            Packet::Answer(result) => result.map_err(CallError::Refused),
            Packet::Startup(_) | Packet::Statement(_) => return,
        };
        let open = &mut self.sessions[place];
        open.due = at + self.patience;
        if let Some(Asked::Call(call)) = open.unanswered.pop_front() {
            out.answers.push((call, result));
        }
    }

    fn closed(&mut self, _: Mono, connection: u64, out: &mut Outbox<Self>) {
        if let Some(place) = self.place(connection) {
            self.lose(place, &closed(), out);
        }
    }

    fn refused(&mut self, _: Mono, connection: u64, out: &mut Outbox<Self>) {
        if let Some(place) = self.place(connection) {
            let refusal = Refusal::NoConnection("connection refused".into());
            self.lose(place, &CallError::Refused(refusal), out);
        }
    }

    fn tick(&mut self, at: Mono, out: &mut Outbox<Self>) {
        for place in (0..self.sessions.len()).rev() {
            let patience = self.patience;
            let open = &mut self.sessions[place];
            let connection = open.id;
            if open.due > at {
                continue;
            }
            match open.unanswered.front() {
                None => {
                    open.unanswered.push_back(Asked::SignOfLife);
                    open.due = at + patience;
                    let packet = Packet::Statement(Statement::Ping);
                    out.todo.push(Do::Send { connection, packet });
                }
                Some(Asked::SignOfLife) => {
                    out.todo.push(Do::Close { connection });
                    self.lose(place, &CallError::Unknown("no sign of life".into()), out);
                }
                // It may well wait for a lock, for as long as its client does.
                Some(Asked::Call(_)) => {}
            }
        }
    }

    fn deadline(&self) -> Option<Mono> {
        let watched =
            |open: &&OpenSession| !matches!(open.unanswered.front(), Some(Asked::Call(_)));
        self.sessions.iter().filter(watched).map(|open| open.due).min()
    }
}

fn closed() -> CallError<Refusal> {
    CallError::Unknown("connection closed".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Mono {
        Mono::ZERO + Duration::from_millis(millis)
    }

    /// A client with an open session.
    fn connected() -> PostgresDriver {
        let mut driver = PostgresDriver::new(Duration::from_secs(4));
        let connect = Request::Connect { session: 1, settings: SessionSettings::default() };
        driver.call(at(0), 1, 0, connect, &mut Outbox::default());
        driver.receive(at(0), 1, Packet::Ready, &mut Outbox::default());
        driver
    }

    fn wait(driver: &mut PostgresDriver) {
        let lock = Statement::AdvisoryLock { key: "k".into() };
        let execute = Request::Execute { session: 1, statement: lock };
        driver.call(at(0), 2, 0, execute, &mut Outbox::default());
    }

    #[test]
    fn a_silent_server_is_found_out_unless_a_statement_waits() {
        let mut out = Outbox::default();
        let mut driver = connected();
        assert_eq!(driver.deadline(), Some(at(1_000)));
        driver.tick(at(1_000), &mut out);
        assert!(matches!(out.todo[..], [Do::Send { connection: 1, .. }]));
        driver.tick(at(2_000), &mut out);
        assert_eq!(out.signals, [Signal::Closed { session: 1 }]);
        let mut driver = connected();
        wait(&mut driver);
        assert_eq!(driver.deadline(), None);
    }

    #[test]
    fn a_lost_connection_ends_its_calls_and_later_ones_are_never_sent() {
        let (mut out, mut driver) = (Outbox::default(), connected());
        wait(&mut driver);
        driver.closed(at(1), 1, &mut out);
        assert_eq!(out.answers, [(2, Err(closed()))]);
        assert_eq!(out.signals, [Signal::Closed { session: 1 }]);
        let ping = Request::Execute { session: 1, statement: Statement::Ping };
        driver.call(at(2), 3, 0, ping, &mut out);
        assert_eq!(out.answers[1], (3, Err(CallError::Refused(Refusal::NoSession))));
    }
}
