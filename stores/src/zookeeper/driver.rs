//! The client library of ZooKeeper, as the simulator drives it.

use super::model::{ClientModel, ClientOut, Packet};
use super::{Request, Signal, ZooKeeper};
use crate::driver::{Do, Driver, Outbox};
use base::{Mono, Rng};
use std::collections::BTreeMap;
use std::time::Duration;

/// A client library with one session. It chooses its server by itself.
pub struct ZooKeeperDriver {
    model: ClientModel,
    /// The number of a call, by the model's number for it.
    calls: BTreeMap<u64, u64>,
    /// The wishes of the model, passed on at once.
    wants: Vec<ClientOut>,
}

impl ZooKeeperDriver {
    /// Makes a client of so many servers, with this session time-out.
    pub fn new(servers: usize, session: Duration, rng: Rng) -> Self {
        let model = ClientModel::new(servers, session, rng);
        Self { model, calls: BTreeMap::new(), wants: Vec::new() }
    }

    fn pass_on(&mut self, out: &mut Outbox<Self>) {
        for want in self.wants.drain(..) {
            match want {
                ClientOut::Open { server, connection } => {
                    out.todo.push(Do::Open { connection, server });
                }
                ClientOut::Close { connection } => out.todo.push(Do::Close { connection }),
                ClientOut::Send { connection, packet } => {
                    out.todo.push(Do::Send { connection, packet });
                }
                ClientOut::Done { request, result } => {
                    let call = self.calls.remove(&request);
                    out.answers.extend(call.map(|call| (call, result)));
                }
                ClientOut::Fired { watch, event } => {
                    out.signals.push(Signal::Fired { watch, event });
                }
                ClientOut::State(state) => {
                    out.signals.push(Signal::State { state, session: self.model.id() });
                }
            }
        }
    }
}

impl Driver for ZooKeeperDriver {
    type Protocol = ZooKeeper;
    type Packet = Packet;

    const CALLS_TIME_OUT: bool = false;

    fn start(&mut self, at: Mono, out: &mut Outbox<Self>) {
        self.model.start(at, &mut self.wants);
        self.pass_on(out);
    }

    fn call(&mut self, at: Mono, id: u64, _: usize, request: Request, out: &mut Outbox<Self>) {
        let number = self.model.submit(at, request, &mut self.wants);
        self.calls.insert(number, id);
        self.pass_on(out);
    }

    fn renew(&mut self, at: Mono, out: &mut Outbox<Self>) {
        self.model.renew(at, &mut self.wants);
        self.pass_on(out);
    }

    fn receive(&mut self, at: Mono, connection: u64, packet: Packet, out: &mut Outbox<Self>) {
        self.model.receive(at, connection, packet, &mut self.wants);
        self.pass_on(out);
    }

    fn closed(&mut self, at: Mono, connection: u64, out: &mut Outbox<Self>) {
        self.model.closed(at, connection, &mut self.wants);
        self.pass_on(out);
    }

    fn tick(&mut self, at: Mono, out: &mut Outbox<Self>) {
        self.model.tick(at, &mut self.wants);
        self.pass_on(out);
    }

    fn deadline(&self) -> Option<Mono> {
        self.model.deadline()
    }

    fn connects_at(&self) -> Option<Mono> {
        self.model.connects_at()
    }
}
