//! ZooKeeper in the simulator: the session that a lock calls and the client library behind it.

use base::{CallError, Link, LocalFuture, Mono, Wall, World};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use stores::zookeeper::model::{ClientModel, ClientOut, Packet, Server};
use stores::zookeeper::{
    Refusal, Reply, Request, Session, SessionState, Timing, WatchEvent, WatchId, ZooKeeper,
};

use crate::library::{Do, Library, Settings, SimStore};
use crate::machine::Machine;

/// A ZooKeeper ensemble with these settings.
#[derive(Clone, Copy, Debug)]
pub struct ZooKeeperWorld(pub Timing);

impl SimStore for ZooKeeperWorld {
    type Server = Server;
    type Library = ZooKeeperLibrary;
    type Link = dyn Session;

    fn server(&self, number: u32, servers: u32) -> Server {
        Server::new(number, servers, self.0)
    }

    fn client(&self, settings: Settings) -> (ZooKeeperLibrary, Rc<dyn Session>) {
        client(settings)
    }
}

/// Makes a client of any ensemble.
pub fn client(settings: Settings) -> (ZooKeeperLibrary, Rc<dyn Session>) {
    let shared = Rc::new(Shared::default());
    let model = ClientModel::new(settings.servers, settings.ttl, settings.rng);
    let library = ZooKeeperLibrary { model, shared: shared.clone(), calls: BTreeMap::new() };
    let session = SimSession { machine: settings.machine, shared, servers: settings.servers };
    (library, Rc::new(session))
}

type Answer = Result<Reply, CallError<Refusal>>;

/// The state that the session's futures and the library share.
#[derive(Default)]
struct Shared {
    next: Cell<u64>,
    /// Made by the client, not yet seen by the library.
    fresh: RefCell<Vec<(u64, Wish)>>,
    answers: RefCell<BTreeMap<u64, Answer>>,
    fired: RefCell<BTreeMap<WatchId, WatchEvent>>,
    state: Cell<Option<SessionState>>,
    id: Cell<i64>,
    disconnects: Cell<u64>,
    /// Counts the changes of state.
    changes: Cell<u64>,
    /// A client is one task with few futures, so each of them is woken by everything.
    wakers: RefCell<Vec<Waker>>,
}

enum Wish {
    Call(Request),
    Renew,
}

impl Shared {
    fn wait<T>(&self, cx: &mut Context<'_>) -> Poll<T> {
        let mut wakers = self.wakers.borrow_mut();
        if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    fn wake(&self) {
        for waker in self.wakers.borrow_mut().drain(..) {
            waker.wake();
        }
    }

    fn wish(&self, wish: Wish) -> u64 {
        let id = self.next.get() + 1;
        self.next.set(id);
        self.fresh.borrow_mut().push((id, wish));
        id
    }
}

pub struct ZooKeeperLibrary {
    model: ClientModel,
    shared: Rc<Shared>,
    /// The model's number for a request, and the session's.
    calls: BTreeMap<u64, u64>,
}

impl ZooKeeperLibrary {
    /// Passes on what the model wants.
    fn wants(&mut self, wishes: Vec<ClientOut>, out: &mut Vec<Do<Packet>>) {
        for wish in wishes {
            match wish {
                ClientOut::Open { server, connection } => {
                    out.push(Do::Open { connection, server });
                }
                ClientOut::Close { connection } => out.push(Do::Close { connection }),
                ClientOut::Send { connection, packet } => {
                    out.push(Do::Send { connection, packet });
                }
                ClientOut::Done { request, result } => {
                    if let Some(id) = self.calls.remove(&request) {
                        self.shared.answers.borrow_mut().insert(id, result);
                    }
                }
                ClientOut::Fired { watch, event } => {
                    self.shared.fired.borrow_mut().insert(watch, event);
                }
                ClientOut::State(state) => {
                    self.shared.state.set(Some(state));
                    self.shared.changes.set(self.shared.changes.get() + 1);
                }
            }
        }
        self.shared.id.set(self.model.id());
        self.shared.disconnects.set(self.model.disconnects());
        self.shared.wake();
    }
}

impl Library for ZooKeeperLibrary {
    type Packet = Packet;

    fn start(&mut self, at: Mono, out: &mut Vec<Do<Packet>>) {
        let mut wishes = Vec::new();
        self.model.start(at, &mut wishes);
        self.wants(wishes, out);
    }

    fn calls(&mut self, at: Mono, out: &mut Vec<Do<Packet>>) {
        let fresh = std::mem::take(&mut *self.shared.fresh.borrow_mut());
        for (id, wish) in fresh {
            let mut wishes = Vec::new();
            match wish {
                Wish::Renew => self.model.renew(at, &mut wishes),
                Wish::Call(request) => {
                    let number = self.model.submit(at, request, &mut wishes);
                    self.calls.insert(number, id);
                }
            }
            self.wants(wishes, out);
        }
    }

    fn receive(&mut self, at: Mono, connection: u64, packet: Packet, out: &mut Vec<Do<Packet>>) {
        let mut wishes = Vec::new();
        self.model.receive(at, connection, packet, &mut wishes);
        self.wants(wishes, out);
    }

    fn closed(&mut self, at: Mono, connection: u64, out: &mut Vec<Do<Packet>>) {
        let mut wishes = Vec::new();
        self.model.closed(at, connection, &mut wishes);
        self.wants(wishes, out);
    }

    fn tick(&mut self, at: Mono, out: &mut Vec<Do<Packet>>) {
        let mut wishes = Vec::new();
        self.model.tick(at, &mut wishes);
        self.wants(wishes, out);
    }

    fn deadline(&self) -> Option<Mono> {
        self.model.deadline()
    }

    fn connects_at(&self) -> Option<Mono> {
        self.model.connects_at()
    }
}

struct SimSession {
    machine: Rc<Machine>,
    shared: Rc<Shared>,
    servers: usize,
}

impl World for SimSession {
    fn now(&self) -> Wall {
        self.machine.now()
    }

    fn monotonic(&self) -> Mono {
        self.machine.monotonic()
    }

    fn sleep(&self, duration: Duration) -> LocalFuture<'_, ()> {
        self.machine.sleep(duration)
    }

    fn random(&self) -> u64 {
        self.machine.random()
    }
}

impl Link<ZooKeeper> for SimSession {
    fn call(&self, _server: usize, request: Request) -> LocalFuture<'_, Answer> {
        let id = self.shared.wish(Wish::Call(request));
        let shared = &self.shared;
        Box::pin(poll_fn(move |cx| match shared.answers.borrow_mut().remove(&id) {
            Some(answer) => Poll::Ready(answer),
            None => shared.wait(cx),
        }))
    }

    fn servers(&self) -> usize {
        self.servers
    }
}

impl Session for SimSession {
    fn id(&self) -> i64 {
        self.shared.id.get()
    }

    fn state(&self) -> SessionState {
        // Before its first connection a session is as good as disconnected.
        self.shared.state.get().unwrap_or(SessionState::Disconnected)
    }

    fn disconnects(&self) -> u64 {
        self.shared.disconnects.get()
    }

    fn changed(&self) -> LocalFuture<'_, SessionState> {
        let seen = self.shared.changes.get();
        Box::pin(poll_fn(move |cx| {
            if self.shared.changes.get() == seen {
                return self.shared.wait(cx);
            }
            Poll::Ready(self.state())
        }))
    }

    fn fired(&self, watch: WatchId) -> LocalFuture<'_, WatchEvent> {
        let shared = &self.shared;
        Box::pin(poll_fn(move |cx| match shared.fired.borrow_mut().remove(&watch) {
            Some(event) => Poll::Ready(event),
            None => shared.wait(cx),
        }))
    }

    fn renew(&self) -> LocalFuture<'_, Result<(), CallError<Refusal>>> {
        Box::pin(async move {
            if self.state() != SessionState::Expired {
                return Ok(());
            }
            self.shared.wish(Wish::Renew);
            while self.state() != SessionState::Connected {
                self.changed().await;
            }
            Ok(())
        })
    }
}
