//! The client library of etcd, as the simulator drives it: a connection to one member at a time.
//!
//! It goes on to the next member when its connection is lost or refused, and when a call has had no answer
//! in time. What was under way then is in doubt, and watches are over: it never sends a request twice.

use super::{DeletionWatchId, Etcd, Packet, Refusal, Reply, Request, Signal};
use crate::driver::{Do, Driver, Outbox};
use base::{Answer, CallError, Mono, Rng};
use std::cell::Cell;
use std::collections::BTreeSet;

/// A client library.
pub struct EtcdDriver {
    servers: usize,
    /// The member that it is connected to, or comes to next.
    server: usize,
    connection: Option<u64>,
    /// True until the member has answered.
    opening: bool,
    next_connection: u64,
    /// The calls that are not answered, each with the watch that it asks for.
    open: Vec<(u64, Option<DeletionWatchId>)>,
    /// The watches that its member has set.
    watches: BTreeSet<DeletionWatchId>,
    /// True since a call had no answer in time.
    late: Cell<bool>,
}

impl EtcdDriver {
    /// Makes a client of so many members, which begins with any of them.
    pub fn new(servers: usize, mut rng: Rng) -> Self {
        Self {
            servers,
            server: rng.below(servers.max(1) as u64) as usize,
            connection: None,
            opening: false,
            next_connection: 0,
            open: Vec::new(),
            watches: BTreeSet::new(),
            late: Cell::new(false),
        }
    }

    fn connected(&mut self, out: &mut Outbox<Self>) -> u64 {
        *self.connection.get_or_insert_with(|| {
            self.next_connection += 1;
            out.todo.push(Do::Open { connection: self.next_connection, server: self.server });
            self.next_connection
        })
    }

    /// The connection is no more: its calls end so, and the next one goes to another member.
    fn lose(&mut self, error: &CallError<Refusal>, out: &mut Outbox<Self>) {
        self.connection = None;
        self.opening = false;
        self.server = (self.server + 1) % self.servers.max(1);
        out.answers.extend(self.open.drain(..).map(|(call, _)| (call, Err(error.clone()))));
        let watches = std::mem::take(&mut self.watches).into_iter();
        out.signals.extend(watches.map(|watch| Signal::Ended { watch }));
    }

    fn answer(&mut self, call: u64, result: Answer<Etcd>, out: &mut Outbox<Self>) {
        let Some(place) = self.open.iter().position(|(open, _)| *open == call) else { return };
        let (_, watch) = self.open.remove(place);
        if result == Ok(Reply::Watching) {
            self.watches.extend(watch);
        }
        out.answers.push((call, result));
    }
}

impl Driver for EtcdDriver {
    type Protocol = Etcd;
    type Packet = Packet;

    const CALLS_TIME_OUT: bool = true;

    fn call(&mut self, _: Mono, id: u64, _: usize, request: Request, out: &mut Outbox<Self>) {
        let watch = match request {
            Request::Watch { watch, .. } => Some(watch),
            Request::Unwatch { watch } => {
                out.answers.push((id, Ok(Reply::Unwatched)));
                if !self.watches.remove(&watch) {
                    return;
                }
                None
            }
            _ => None,
        };
        if !matches!(request, Request::Unwatch { .. }) {
            self.open.push((id, watch));
        }
        let connection = self.connected(out);
        out.todo.push(Do::Send { connection, packet: Packet::Request { id, request } });
    }

    fn too_late(&self, _: u64) -> CallError<Refusal> {
        self.late.set(true);
        match self.opening {
            true => CallError::Refused(Refusal::NoConnection("no connection in time".into())),
            false => CallError::Unknown("no reply in time".into()),
        }
    }

    fn forget(&mut self, id: u64, out: &mut Outbox<Self>) {
        self.open.retain(|(open, _)| *open != id);
        if let Some(connection) = self.connection.filter(|_| self.late.take()) {
            out.todo.push(Do::Close { connection });
            self.lose(&CallError::Unknown("another call had no reply in time".into()), out);
        }
    }

    fn receive(&mut self, _: Mono, connection: u64, packet: Packet, out: &mut Outbox<Self>) {
        if self.connection != Some(connection) {
            return;
        }
        match packet {
            Packet::Reply { id, result } => {
                self.answer(id, result.map_err(CallError::Refused), out);
            }
            Packet::Signal(signal) => {
                let (Signal::Deleted { watch } | Signal::Ended { watch }) = signal;
                if self.watches.remove(&watch) {
                    out.signals.push(signal);
                }
            }
            Packet::Request { .. } | Packet::Peer(_) => {}
        }
    }

    fn closed(&mut self, _: Mono, connection: u64, out: &mut Outbox<Self>) {
        if self.connection == Some(connection) {
            self.lose(&CallError::Unknown("connection closed".into()), out);
        }
    }

    fn refused(&mut self, _: Mono, connection: u64, out: &mut Outbox<Self>) {
        if self.connection == Some(connection) {
            let refusal = Refusal::NoConnection("connection refused".into());
            self.lose(&CallError::Refused(refusal), out);
        }
    }

    fn waits(&mut self, connection: u64) {
        self.opening = self.connection == Some(connection);
    }

    fn opened(&mut self, connection: u64) {
        self.opening &= self.connection != Some(connection);
    }
}
