//! Redis in the simulator: the link that a lock calls and the library behind it. One connection a
//! server, opened by the first call and again by the call after it was closed; a call that takes
//! too long is given up, and its late reply dropped, as `redis` does.

use base::{CallError, Link, LocalFuture, Mono, Wall, World, emplace};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use stores::redis::script::Engine;
use stores::redis::{Packet, Redis, Refusal, Server, judge_reply};

use crate::library::{Do, Library, Settings, SimStore};
use crate::machine::{Machine, Sleep};

/// Redis servers that share one script engine.
pub struct RedisWorld {
    engine: Engine,
}

impl Default for RedisWorld {
    /// Makes a store with the script engine of this thread.
    fn default() -> Self {
        Self { engine: Engine::of_this_thread() }
    }
}

impl SimStore for RedisWorld {
    type Server = Server;
    type Library = RedisLibrary;
    type Link = dyn Link<Redis>;

    fn server(&self, _number: u32, _servers: u32) -> Server {
        Server::new(self.engine.clone())
    }

    fn client(&self, settings: Settings) -> (RedisLibrary, Rc<dyn Link<Redis>>) {
        let calls = Rc::new(RefCell::new(Calls::to(settings.servers)));
        let library = RedisLibrary { calls: calls.clone() };
        let link = RedisLink {
            machine: settings.machine,
            calls,
            servers: settings.servers,
            timeout: settings.call_timeout,
        };
        (library, Rc::new(link))
    }
}

type Answer = Result<Box<redis::Value>, CallError<Refusal>>;

/// Calls on their way, shared by the futures that wait for them and the library that answers.
struct Calls {
    next: u64,
    /// A client has few of them at a time, so they are looked through one by one. The place of one
    /// that is over stays for the next, which is most likely the same task's.
    open: Vec<Call>,
    /// The connection to each server.
    connections: Vec<Option<u64>>,
    /// The connections among them that no server has answered yet.
    unanswered: Vec<u64>,
    next_connection: u64,
    /// Actions for the calls made since the library last looked.
    fresh: Vec<Do<Packet>>,
}

struct Call {
    /// The number of the call; [`OVER`] for one that is over.
    id: u64,
    connection: u64,
    command: Rc<redis::Cmd>,
    answer: Option<Answer>,
    waker: Option<Waker>,
}

/// The id of no call.
const OVER: u64 = 0;

impl Calls {
    fn to(servers: usize) -> Self {
        Self {
            next: 0,
            open: Vec::new(),
            connections: vec![None; servers],
            unanswered: Vec::new(),
            next_connection: 0,
            fresh: Vec::new(),
        }
    }

    fn call(&mut self, server: usize, command: Rc<redis::Cmd>) -> u64 {
        let connection = self.connection(server);
        self.next += 1;
        let id = self.next;
        let sent = command.clone();
        emplace(&mut self.fresh, || Do::Send {
            connection,
            packet: Packet::Request { id, command: sent },
        });
        match self.open.iter_mut().find(|call| call.id == OVER) {
            Some(call) => (call.id, call.connection, call.command) = (id, connection, command),
            None => self.open.push(Call { id, connection, command, answer: None, waker: None }),
        }
        id
    }

    fn connection(&mut self, server: usize) -> u64 {
        *self.connections[server].get_or_insert_with(|| {
            self.next_connection += 1;
            self.fresh.push(Do::Open { connection: self.next_connection, server });
            self.next_connection
        })
    }

    fn answer(&mut self, id: u64, answer: impl FnOnce(&redis::Cmd) -> Answer) {
        // A call that was given up is not here any more: its late reply is dropped.
        if let Some(call) = self.open.iter_mut().find(|call| call.id == id) {
            call.answer = Some(answer(&call.command));
            if let Some(waker) = &call.waker {
                waker.wake_by_ref();
            }
        }
    }

    /// The answer to a call, if it is here; else this waker waits for it.
    fn poll(&mut self, id: u64, waker: &Waker) -> Option<Answer> {
        let call = self.open.iter_mut().find(|call| call.id == id);
        let call = call.expect("open until its future is dropped");
        if call.answer.is_none() && !call.waker.as_ref().is_some_and(|w| w.will_wake(waker)) {
            call.waker = Some(waker.clone());
        }
        call.answer.take()
    }

    /// Returns the error of a call that took too long.
    fn too_late(&self, id: u64) -> CallError<Refusal> {
        let call = self.open.iter().find(|call| call.id == id);
        match call.is_some_and(|call| self.unanswered.contains(&call.connection)) {
            true => CallError::Refused(Refusal("no connection in time".into())),
            false => CallError::Unknown("no reply in time".into()),
        }
    }

    fn forget(&mut self, id: u64) {
        let Some(call) = self.open.iter_mut().find(|call| call.id == id) else { return };
        let connection = call.connection;
        (call.id, call.answer) = (OVER, None);
        if !self.unanswered.is_empty() && self.unanswered.contains(&connection) {
            // A client has one call to a server under way at a time: nobody else waits for it.
            self.end(connection);
            self.fresh.push(Do::Close { connection });
        }
    }

    /// A connection is no more: the next call opens another.
    fn end(&mut self, connection: u64) {
        self.unanswered.retain(|known| *known != connection);
        for open in &mut self.connections {
            if *open == Some(connection) {
                *open = None;
            }
        }
    }
}

pub struct RedisLibrary {
    calls: Rc<RefCell<Calls>>,
}

impl RedisLibrary {
    /// A connection is no more: the calls on it end so.
    fn end(&mut self, connection: u64, error: &CallError<Refusal>) {
        let mut calls = self.calls.borrow_mut();
        calls.end(connection);
        let lost: Vec<u64> = calls
            .open
            .iter()
            .filter(|call| call.id != OVER && call.connection == connection)
            .filter(|call| call.answer.is_none())
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
        let fresh = &mut self.calls.borrow_mut().fresh;
        if fresh.is_empty() {
            return;
        }
        if out.is_empty() {
            // No copy: both keep their memory.
            std::mem::swap(out, fresh);
        }
        out.append(fresh);
    }

    fn receive(&mut self, _at: Mono, _connection: u64, packet: Packet, _out: &mut Vec<Do<Packet>>) {
        if let Packet::Reply { id, value } = packet {
            self.calls.borrow_mut().answer(id, |command| judge_reply(command, value));
        }
    }

    fn closed(&mut self, _at: Mono, connection: u64, _out: &mut Vec<Do<Packet>>) {
        self.end(connection, &CallError::Unknown("connection closed".into()));
    }

    fn waits(&mut self, connection: u64) {
        self.calls.borrow_mut().unanswered.push(connection);
    }

    fn opened(&mut self, connection: u64) {
        self.calls.borrow_mut().unanswered.retain(|known| *known != connection);
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
    fn call(&self, server: usize, request: Rc<redis::Cmd>) -> LocalFuture<'_, Answer> {
        let id = self.calls.borrow_mut().call(server, request);
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
        if let Some(answer) = self.calls.borrow_mut().poll(self.id, cx.waker()) {
            return Poll::Ready(answer);
        }
        match Pin::new(&mut self.timeout).poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(self.calls.borrow().too_late(self.id))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.calls.borrow_mut().forget(self.id);
    }
}
