//! A PostgreSQL server as a pure state machine, after PostgreSQL 15.
//!
//! A session ends when its backend reads the end of the connection. An idle backend reads at once;
//! one that waits for a lock reads nothing (`client_connection_check_interval` is off), so that a
//! client that is gone stays in the queue: it is given the lock in its turn, and only then its
//! backend finds out. A connection that is merely cut ends nothing: TCP asks a peer for an answer
//! after two hours (`tcp_keepalives_idle`), and nothing here takes as long. Only a session that
//! says nothing within a transaction for longer than `idle_in_transaction_session_timeout` is ended
//! by the server.
//!
//! Locks are served in the order in which sessions came to wait. `lock_timeout` counts each wait by
//! itself: whoever comes to be the first that waits for a row waits for another thing from then on
//! (for the transaction of its owner, and no longer for the first of the queue), and has the whole
//! time anew.
//!
//! An error undoes its transaction at once: what it has locked is free before the client has ended
//! it.
//!
//! A restart ends all sessions and transactions, and what they have locked is free. Rows stay.

mod backend;
mod locks;
#[cfg(test)]
mod tests;

use base::{Data, Mono};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use super::{Packet, Refusal, Reply, Statement};
use crate::model::{By, Clocks, Name, Noted, Out, Peer, ServerModel, What};
use backend::{BackendProcess, Blocked, TransactionState};
use locks::Locks;
#[cfg(feature = "real")]
pub(super) use locks::Taken;
pub(super) use locks::{LockScope, Lockable};

/// A simulated PostgreSQL server.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// The backends, by connection.
    backends: BTreeMap<u64, BackendProcess>,
    locks: Locks,
    /// The rows of the table, by name.
    rows: BTreeSet<String>,
    /// The number of sessions that there were.
    sessions: i64,
    now: Mono,
    journal: Vec<Noted>,
}

type Outgoing = Vec<Out<Packet>>;

/// The outcome of a statement; `None`: it waits for a lock.
type StatementOutcome = Option<Result<Reply, Refusal>>;

const DONE: StatementOutcome = Some(Ok(Reply::Done));

/// The reply to whoever has waited for a lock, or has got it at once.
const fn granted(what: &Lockable) -> Reply {
    match what {
        Lockable::Advisory(_) => Reply::Done,
        Lockable::Row(_) => Reply::Answer(true),
    }
}

fn answer(answer: bool) -> StatementOutcome {
    Some(Ok(Reply::Answer(answer)))
}

impl Server {
    /// The number of sessions.
    pub fn sessions(&self) -> usize {
        self.backends.len()
    }

    /// The number of sessions that wait for a lock.
    pub fn waiting(&self) -> usize {
        self.backends.values().filter(|backend| backend.blocked.is_some()).count()
    }

    /// Returns true if a session waits for a lock.
    #[cfg(any(test, feature = "real"))]
    pub(super) fn is_waiting(&self, connection: u64) -> bool {
        self.backends.get(&connection).is_some_and(|backend| backend.blocked.is_some())
    }

    /// Returns true if a session is in a transaction.
    #[cfg(any(test, feature = "real"))]
    pub(super) fn has_begun(&self, connection: u64) -> bool {
        self.backends.get(&connection).is_some_and(|backend| backend.transaction.is_some())
    }

    /// Returns true unless a statement would have a session wait for what comes before something
    /// that it has: if nobody does that, nobody waits in a circle.
    #[cfg(any(test, feature = "real"))]
    pub(super) fn keeps_order(&self, connection: u64, statement: &Statement) -> bool {
        let wanted = match statement {
            Statement::AdvisoryLock { key } | Statement::AdvisoryXactLock { key } => {
                Lockable::Advisory(key.clone())
            }
            Statement::LockRow { name, wait: true } => Lockable::Row(name.clone()),
            _ => return true,
        };
        self.locks.of(connection).iter().all(|had| *had <= wanted)
    }

    /// Has a backend read what has come to it, until it waits for a lock.
    fn serve(&mut self, connection: u64, out: &mut Outgoing) {
        while let Some(backend) = self.backends.get_mut(&connection) {
            if backend.blocked.is_some() {
                return;
            }
            let Some(statement) = backend.inbox.pop_front() else {
                backend.idle_since = self.now;
                if backend.hung_up {
                    self.end(connection, out);
                }
                return;
            };
            if let Some(outcome) = self.execute(connection, statement, out) {
                self.reply(connection, outcome, out);
            }
        }
    }

    fn reply(&mut self, connection: u64, outcome: Result<Reply, Refusal>, out: &mut Outgoing) {
        let Some(backend) = self.backends.get_mut(&connection) else { return };
        let fails = outcome.is_err() && backend.transaction.is_some();
        out.push(Out::Send(Peer::Connection(connection), Packet::Answer(outcome)));
        if fails {
            backend.transaction = Some(TransactionState::Failed);
        }
        // A statement outside of a transaction is one by itself.
        if fails || backend.transaction.is_none() {
            self.free_transaction(connection, out);
        }
    }

    fn execute(
        &mut self,
        connection: u64,
        statement: Statement,
        out: &mut Outgoing,
    ) -> StatementOutcome {
        let transaction = self.backends.get(&connection)?.transaction;
        let ends = matches!(statement, Statement::Commit | Statement::Rollback);
        if transaction == Some(TransactionState::Failed) && !ends {
            return Some(Err(Refusal::InFailedTransaction));
        }
        match statement {
            Statement::AdvisoryLock { key } => {
                self.lock(connection, Lockable::Advisory(key), LockScope::Session)
            }
            Statement::TryAdvisoryLock { key } => {
                answer(self.take(connection, &Lockable::Advisory(key), LockScope::Session))
            }
            Statement::AdvisoryUnlock { key } => {
                let what = Lockable::Advisory(key);
                answer(self.give_back(connection, &what, LockScope::Session, out))
            }
            Statement::AdvisoryXactLock { key } => {
                self.lock(connection, Lockable::Advisory(key), LockScope::Transaction)
            }
            Statement::TryAdvisoryXactLock { key } => {
                answer(self.take(connection, &Lockable::Advisory(key), LockScope::Transaction))
            }
            Statement::Begin => {
                self.backends.get_mut(&connection)?.transaction = Some(TransactionState::Good);
                DONE
            }
            Statement::Commit | Statement::Rollback => {
                self.end_transaction(connection, out);
                DONE
            }
            Statement::InsertRow { name } => {
                self.rows.insert(name);
                DONE
            }
            Statement::LockRow { name, wait } => self.lock_row(connection, name, wait),
            Statement::Ping => DONE,
        }
    }

    fn lock_row(&mut self, connection: u64, name: String, wait: bool) -> StatementOutcome {
        if !self.rows.contains(&name) {
            return answer(false);
        }
        let row = Lockable::Row(name);
        if wait {
            return self.lock(connection, row, LockScope::Transaction);
        }
        let taken = self.take(connection, &row, LockScope::Transaction);
        Some(if taken { Ok(granted(&row)) } else { Err(Refusal::LockNotAvailable) })
    }

    /// Takes a lock, or waits for it.
    fn lock(&mut self, connection: u64, what: Lockable, scope: LockScope) -> StatementOutcome {
        if self.take(connection, &what, scope) {
            return Some(Ok(granted(&what)));
        }
        self.locks.wait(&what, connection, scope);
        let backend = self.backends.get_mut(&connection)?;
        backend.blocked = Some(Blocked { on: what, until: backend.gives_up(self.now) });
        None
    }

    fn take(&mut self, connection: u64, what: &Lockable, scope: LockScope) -> bool {
        let had = self.locks.has(what, connection);
        let has = self.locks.take(what, connection, scope);
        if has && !had {
            self.note(what, connection, |session| What::Written(By::Session(session)));
        }
        has
    }

    /// Gives back a lock; if it is free then, the first that waits for it goes on. Returns false if
    /// it was not taken so.
    fn give_back(
        &mut self,
        connection: u64,
        what: &Lockable,
        scope: LockScope,
        out: &mut Outgoing,
    ) -> bool {
        let freed = self.locks.give_back(what, connection, scope);
        if freed == Some(true) {
            self.note(what, connection, |session| What::Deleted(By::Session(session)));
            self.hand_on(what, out);
        }
        freed.is_some()
    }

    fn hand_on(&mut self, what: &Lockable, out: &mut Outgoing) {
        let Some(next) = self.locks.hand_on(what) else { return };
        self.note(what, next, |session| What::Written(By::Session(session)));
        self.has_come_first(what);
        if let Some(backend) = self.backends.get_mut(&next) {
            backend.blocked = None;
        }
        self.reply(next, Ok(granted(what)), out);
        self.serve(next, out);
    }

    /// Whoever is now the first that waits for a row has the whole of its time anew.
    fn has_come_first(&mut self, what: &Lockable) {
        let Lockable::Row(_) = what else { return };
        let first = self.locks.first(what).and_then(|first| self.backends.get_mut(&first));
        if let Some(backend) = first {
            let until = backend.gives_up(self.now);
            backend.blocked = Some(Blocked { on: what.clone(), until });
        }
    }

    /// Has a backend wait no longer.
    fn give_up(&mut self, connection: u64) {
        let Some(backend) = self.backends.get_mut(&connection) else { return };
        let Some(Blocked { on, .. }) = backend.blocked.take() else { return };
        let was_first = self.locks.first(&on) == Some(connection);
        self.locks.give_up(&on, connection);
        if was_first {
            self.has_come_first(&on);
        }
    }

    fn end_transaction(&mut self, connection: u64, out: &mut Outgoing) {
        if let Some(backend) = self.backends.get_mut(&connection) {
            backend.transaction = None;
        }
        self.free_transaction(connection, out);
    }

    /// Gives back what a session has until its transaction ends.
    fn free_transaction(&mut self, connection: u64, out: &mut Outgoing) {
        for what in self.locks.of(connection) {
            self.give_back(connection, &what, LockScope::Transaction, out);
        }
    }

    /// Ends a session: what it has locked is free.
    fn end(&mut self, connection: u64, out: &mut Outgoing) {
        self.give_up(connection);
        let locked = self.locks.of(connection);
        for what in &locked {
            self.note(what, connection, What::SessionEnded);
        }
        if locked.is_empty() {
            self.note_session(connection, What::SessionEnded);
        }
        self.backends.remove(&connection);
        locked.iter().for_each(|what| self.hand_on(what, out));
    }

    fn note(&mut self, thing: &Lockable, connection: u64, what: impl Fn(i64) -> What) {
        if let Some(backend) = self.backends.get(&connection) {
            let object = Name::from_slice(thing.to_string().as_bytes());
            self.journal.push(Noted { object, what: what(backend.session), zxid: None });
        }
    }

    fn note_session(&mut self, connection: u64, what: impl Fn(i64) -> What) {
        if let Some(backend) = self.backends.get(&connection) {
            let what = what(backend.session);
            self.journal.push(Noted { object: Name::new(), what, zxid: None });
        }
    }

    /// Has a backend do what it does by itself.
    fn alarm(&mut self, connection: u64, out: &mut Outgoing) {
        let waits = |backend: &BackendProcess| backend.blocked.is_some();
        if self.backends.get(&connection).is_some_and(waits) {
            self.give_up(connection);
            self.reply(connection, Err(Refusal::LockNotAvailable), out);
            self.serve(connection, out);
        } else {
            self.terminate(connection, out);
        }
    }

    /// Ends a session from the server's side.
    fn terminate(&mut self, connection: u64, out: &mut Outgoing) {
        self.end(connection, out);
        out.push(Out::Close(connection));
    }

    /// The backends, by connection.
    pub(super) fn backends(&self) -> impl Iterator<Item = (u64, &BackendProcess)> {
        self.backends.iter().map(|(connection, backend)| (*connection, backend))
    }

    /// The locks that somebody has, with the number of the session.
    pub(super) fn locks(&self) -> impl Iterator<Item = (&Lockable, i64)> {
        let session = |connection| self.backends.get(&connection).map_or(0, |it| it.session);
        self.locks.all().map(move |(what, connection)| (what, session(connection)))
    }

    /// Ends the connection of a session, as a fault of TCP does.
    pub(super) fn lose(&mut self, connection: u64, out: &mut Outgoing) {
        self.hang_up(connection, out);
        out.push(Out::Close(connection));
    }

    fn hang_up(&mut self, connection: u64, out: &mut Outgoing) {
        if let Some(backend) = self.backends.get_mut(&connection) {
            backend.hung_up = true;
            self.serve(connection, out);
        }
    }
}

impl ServerModel for Server {
    type Packet = Packet;

    fn is_call(packet: &Packet) -> bool {
        match packet {
            Packet::Statement(statement) => *statement != Statement::Ping,
            Packet::Answer(_) => true,
            Packet::Startup(_) | Packet::Ready => false,
        }
    }

    fn receive(&mut self, at: Clocks, from: Peer, packet: Packet, out: &mut Outgoing) {
        self.now = at.mono;
        let Peer::Connection(connection) = from else { return };
        match packet {
            Packet::Startup(settings) => {
                self.sessions += 1;
                let backend = BackendProcess::new(self.sessions, settings, self.now);
                self.backends.insert(connection, backend);
                self.note_session(connection, What::SessionBegan);
                out.push(Out::Send(from, Packet::Ready));
            }
            Packet::Statement(statement) => {
                if let Some(backend) = self.backends.get_mut(&connection) {
                    backend.inbox.push_back(statement);
                    self.serve(connection, out);
                }
            }
            Packet::Ready | Packet::Answer(_) => {}
        }
    }

    fn disconnected(&mut self, at: Clocks, connection: u64, out: &mut Outgoing) {
        self.now = at.mono;
        self.hang_up(connection, out);
    }

    fn tick(&mut self, at: Clocks, out: &mut Outgoing) -> Option<Mono> {
        self.now = at.mono;
        let is_due = |backend: &BackendProcess| backend.due().is_some_and(|due| due <= at.mono);
        // One that goes on may be due no longer.
        while let Some((due, _)) = self.backends.iter().find(|(_, backend)| is_due(backend)) {
            self.alarm(*due, out);
        }
        self.due()
    }

    fn due(&self) -> Option<Mono> {
        self.backends.values().filter_map(BackendProcess::due).min()
    }

    fn restart(&mut self, at: Clocks, data: Data) {
        self.now = at.mono;
        let connections: Vec<u64> = self.backends.keys().copied().collect();
        // Nobody gets what another has left: they all end at once.
        for connection in &connections {
            for what in self.locks.of(*connection) {
                self.note(&what, *connection, What::SessionEnded);
            }
        }
        self.backends.clear();
        self.locks = Locks::default();
        if data == Data::Lost {
            self.rows.clear();
        }
    }

    fn take_journal(&mut self, into: &mut Vec<Noted>) {
        into.append(&mut self.journal);
    }
}

/// Everything but the times and the journal: an enumeration has neither.
impl Hash for Server {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Self { backends, locks, rows, sessions: _, now: _, journal: _ } = self;
        (backends, locks, rows).hash(into);
    }
}
