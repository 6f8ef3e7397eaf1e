//! The client library of etcd, as the simulator drives it: a connection to one member at a time.
//!
//! It goes on to the next member when its connection is lost or refused, and when a call has had no
//! answer in time. What was under way then is in doubt, and watches are over: it never sends a
//! request twice.

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

#[cfg(test)]
mod tests {
    use super::*;

    type Out = Outbox<EtcdDriver>;

    fn call(driver: &mut EtcdDriver, id: u64, request: Request, out: &mut Out) {
        driver.call(Mono::ZERO, id, 0, request, out);
    }

    fn get() -> Request {
        Request::Get { key: "k".into() }
    }

    /// A client that watches a key over its first connection.
    fn watching() -> EtcdDriver {
        let (mut driver, mut out) = (EtcdDriver::new(3, Rng::new(1)), Out::default());
        let watch = Request::Watch { key: "k".into(), from: 1, watch: 7 };
        call(&mut driver, 1, watch, &mut out);
        let set = Packet::Reply { id: 1, result: Ok(Reply::Watching) };
        driver.receive(Mono::ZERO, 1, set, &mut out);
        assert_eq!(out.answers, [(1, Ok(Reply::Watching))]);
        driver
    }

    fn opened(out: &Out) -> Vec<(u64, usize)> {
        let opened = out.todo.iter().filter_map(|todo| match todo {
            Do::Open { connection, server } => Some((*connection, *server)),
            _ => None,
        });
        opened.collect()
    }

    #[test]
    fn a_call_without_an_answer_in_time_leads_to_another_member() {
        let (mut driver, mut out) = (watching(), Out::default());
        let before = driver.server;
        call(&mut driver, 2, get(), &mut out);
        call(&mut driver, 3, get(), &mut out);
        assert!(matches!(driver.too_late(2), CallError::Unknown(_)));
        driver.forget(2, &mut out);
        assert!(matches!(out.answers[..], [(3, Err(CallError::Unknown(_)))]));
        assert_eq!(out.signals, [Signal::Ended { watch: 7 }]);
        call(&mut driver, 4, get(), &mut out);
        assert_eq!(opened(&out), [(2, (before + 1) % 3)]);
        // What the old member says comes too late.
        let late = Packet::Reply { id: 4, result: Ok(Reply::Revoked) };
        driver.receive(Mono::ZERO, 1, late, &mut out);
        assert_eq!(out.answers.len(), 1);
    }

    #[test]
    fn a_call_that_nobody_waits_for_leads_nowhere() {
        let (mut driver, mut out) = (watching(), Out::default());
        call(&mut driver, 2, get(), &mut out);
        driver.forget(2, &mut out);
        call(&mut driver, 3, get(), &mut out);
        assert!(opened(&out).is_empty() && out.signals.is_empty());
    }

    #[test]
    fn what_was_refused_was_never_sent() {
        let (mut driver, mut out) = (EtcdDriver::new(3, Rng::new(1)), Out::default());
        call(&mut driver, 1, get(), &mut out);
        driver.refused(Mono::ZERO, 1, &mut out);
        let refused = CallError::Refused(Refusal::NoConnection("connection refused".into()));
        assert_eq!(out.answers, [(1, Err(refused))]);
        call(&mut driver, 2, get(), &mut out);
        driver.waits(2);
        assert!(matches!(driver.too_late(2), CallError::Refused(_)));
    }

    #[test]
    fn a_watch_that_is_given_up_is_ended_at_its_member_and_one_that_is_over_is_not() {
        let (mut driver, mut out) = (watching(), Out::default());
        call(&mut driver, 2, Request::Unwatch { watch: 7 }, &mut out);
        assert!(matches!(out.todo[..], [Do::Send { connection: 1, .. }]));
        call(&mut driver, 3, Request::Unwatch { watch: 7 }, &mut out);
        assert_eq!(out.todo.len(), 1);
        assert_eq!(out.answers, [(2, Ok(Reply::Unwatched)), (3, Ok(Reply::Unwatched))]);
    }
}
