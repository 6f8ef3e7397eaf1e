//! Redis in the simulator: the link that a lock calls and the library behind it. One connection a
//! server, opened by the first call and again by the call after it was closed; a call that takes
//! too long is given up, and its late reply dropped, as `redis` does.

use base::{CallError, Link, LocalFuture, Mono, Wall, World};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use stores::redis::script::{Engine, Runner};
use stores::redis::{Asked, Packet, Redis, Refusal, Server, judge_reply};

use crate::library::{Do, Library, Settings, SimStore};
use crate::machine::{Machine, Sleep};

/// Redis servers that share one script engine.
pub struct RedisWorld {
    engine: Engine,
}

impl RedisWorld {
    /// With the script engine of this thread.
    pub fn new(scripts: Runner) -> Self {
        Self { engine: Engine::of_this_thread().run_by(scripts) }
    }
}

impl Default for RedisWorld {
    fn default() -> Self {
        Self::new(Runner::default())
    }
}

impl SimStore for RedisWorld {
    type Server = Server;
    type Library = RedisLibrary;
    type Link = dyn Link<Redis>;

    fn server(&self, _number: u32, _servers: u32, _ttl: Duration) -> Server {
        Server::new(self.engine.clone())
    }

    fn client(&self, settings: Settings) -> (RedisLibrary, Rc<dyn Link<Redis>>) {
        let calls = Rc::new(RefCell::new(Calls::default()));
        let library = RedisLibrary {
            calls: calls.clone(),
            connections: vec![None; settings.servers],
            next: 0,
        };
        let link = RedisLink {
            machine: settings.machine,
            calls,
            servers: settings.servers,
            timeout: settings.call_timeout,
        };
        (library, Rc::new(link))
    }
}

type Answer = Result<redis::Value, CallError<Refusal>>;

/// Calls on their way, shared by the futures that wait for them and the library that answers.
#[derive(Default)]
struct Calls {
    next: u64,
    /// Made by the client, not yet seen by the library.
    fresh: Vec<(u64, usize, redis::Cmd)>,
    /// A client has few of them at a time, so they are looked through one by one.
    open: Vec<Call>,
}

struct Call {
    id: u64,
    asked: Asked,
    /// Once the library has chosen one.
    connection: Option<u64>,
    answer: Option<Answer>,
    waker: Option<Waker>,
}

impl Calls {
    fn answer(&mut self, id: u64, answer: impl FnOnce(Asked) -> Answer) {
        // A call that was given up is not here any more: its late reply is dropped.
        if let Some(call) = self.get(id) {
            call.answer = Some(answer(call.asked));
            if let Some(waker) = call.waker.take() {
                waker.wake();
            }
        }
    }

    fn get(&mut self, id: u64) -> Option<&mut Call> {
        self.open.iter_mut().find(|call| call.id == id)
    }

    fn forget(&mut self, id: u64) {
        if let Some(place) = self.open.iter().position(|call| call.id == id) {
            self.open.swap_remove(place);
        }
    }
}

pub struct RedisLibrary {
    calls: Rc<RefCell<Calls>>,
    /// The open connection to each server.
    connections: Vec<Option<u64>>,
    next: u64,
}

impl RedisLibrary {
    fn connection(&mut self, server: usize, out: &mut Vec<Do<Packet>>) -> u64 {
        *self.connections[server].get_or_insert_with(|| {
            self.next += 1;
            out.push(Do::Open { connection: self.next, server });
            self.next
        })
    }

    /// A connection is no more: the calls on it end so, and the next call opens another.
    fn end(&mut self, connection: u64, error: &CallError<Refusal>) {
        for open in &mut self.connections {
            if *open == Some(connection) {
                *open = None;
            }
        }
        let mut calls = self.calls.borrow_mut();
        let lost: Vec<u64> = calls
            .open
            .iter()
            .filter(|call| call.connection == Some(connection) && call.answer.is_none())
            .map(|call| call.id)
            .collect();
        for id in lost {
            calls.answer(id, |_| Err(error.clone()));
        }
    }
}

impl Library for RedisLibrary {
    type Packet = Packet;

    fn start(&mut self, _at: Mono, _out: &mut Vec<Do<Packet>>) {}

    fn calls(&mut self, _at: Mono, out: &mut Vec<Do<Packet>>) {
        let calls = self.calls.clone();
        let Calls { fresh, open, .. } = &mut *calls.borrow_mut();
        for (id, server, command) in fresh.drain(..) {
            let connection = self.connection(server, out);
            if let Some(call) = open.iter_mut().find(|call| call.id == id) {
                call.connection = Some(connection);
            }
            out.push(Do::Send { connection, packet: Packet::Request { id, command } });
        }
    }

    fn receive(&mut self, _at: Mono, _connection: u64, packet: Packet, _out: &mut Vec<Do<Packet>>) {
        if let Packet::Reply { id, value } = packet {
            self.calls.borrow_mut().answer(id, |asked| judge_reply(asked, value));
        }
    }

    fn closed(&mut self, _at: Mono, connection: u64, _out: &mut Vec<Do<Packet>>) {
        self.end(connection, &CallError::Unknown("connection closed".into()));
    }

    fn refused(&mut self, _at: Mono, connection: u64, _out: &mut Vec<Do<Packet>>) {
        self.end(connection, &CallError::Refused(Refusal("connection refused".into())));
    }

    fn tick(&mut self, _at: Mono, _out: &mut Vec<Do<Packet>>) {}

    fn deadline(&self) -> Option<Mono> {
        None
    }
}

struct RedisLink {
    machine: Rc<Machine>,
    calls: Rc<RefCell<Calls>>,
    servers: usize,
    timeout: Duration,
}

impl World for RedisLink {
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

impl Link<Redis> for RedisLink {
    fn call(&self, server: usize, request: redis::Cmd) -> LocalFuture<'_, Answer> {
        let mut calls = self.calls.borrow_mut();
        calls.next += 1;
        let id = calls.next;
        let asked = Asked::of(&request);
        calls.open.push(Call { id, asked, connection: None, answer: None, waker: None });
        calls.fresh.push((id, server, request));
        Box::pin(Waiting { id, calls: &self.calls, timeout: self.machine.timer(self.timeout) })
    }

    fn servers(&self) -> usize {
        self.servers
    }
}

struct Waiting<'a> {
    id: u64,
    calls: &'a RefCell<Calls>,
    timeout: Sleep<'a>,
}

impl Future for Waiting<'_> {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        {
            let mut calls = self.calls.borrow_mut();
            let call = calls.get(self.id).expect("open until this future is dropped");
            if let Some(answer) = call.answer.take() {
                return Poll::Ready(answer);
            }
            if !call.waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
                call.waker = Some(cx.waker().clone());
            }
        }
        match Pin::new(&mut self.timeout).poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(CallError::Unknown("no reply in time".into()))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.calls.borrow_mut().forget(self.id);
    }
}
