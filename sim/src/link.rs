//! The link of a simulated client: the calls of its lock on one side, the driver of its store on
//! the other. The lock's futures wait here for what the driver has found out.

use base::{Answer, CallError, Link, LocalFuture, Mono, World};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use stores::driver::{Do, Driver, Outbox};
use stores::{PacketOf, Store};

use crate::machine::{Machine, Sleep};

/// Makes the two ends of a client's link: the library, which the simulator drives, and the link,
/// which the lock calls.
pub fn link<S: Store>(
    machine: Rc<Machine>,
    driver: S::Driver,
    servers: usize,
    call_timeout: Duration,
) -> (Library<S>, Rc<dyn Link<S>>) {
    let shared = Rc::new(RefCell::new(SharedLink {
        driver,
        outbox: Outbox::default(),
        next: OVER,
        fresh: Vec::new(),
        open: Vec::new(),
        signals: VecDeque::new(),
        waker: None,
        ears: Vec::new(),
    }));
    let link = SimLink { machine, shared: shared.clone(), servers, call_timeout };
    (Library(shared), Rc::new(link))
}

struct SharedLink<S: Store> {
    driver: S::Driver,
    outbox: Outbox<S::Driver>,
    /// The number of the latest call.
    next: u64,
    /// The wishes of the client's task that the driver has not seen yet.
    fresh: Vec<Wish<S::Request>>,
    /// The calls that a future waits for. A client has few at a time, so they are looked through
    /// one by one. The place of one that is over stays for the next, most likely the same task's.
    open: Vec<PendingCall<S>>,
    signals: VecDeque<S::Signal>,
    /// Woken when a signal comes.
    waker: Option<Waker>,
    /// The further connections that somebody listens to.
    ears: Vec<Ear<S::Signal>>,
}

/// A further connection to which somebody listens.
struct Ear<M> {
    /// Its name.
    named: usize,
    /// The messages that have come, and the end.
    heard: VecDeque<Option<M>>,
    waker: Option<Waker>,
}

enum Wish<R> {
    Call { id: u64, server: usize, request: R },
    Forget(u64),
    HangUp(usize),
    Renew,
}

struct PendingCall<S: Store> {
    /// The number of the call; [`OVER`] for one that is over.
    id: u64,
    answer: Option<Answer<S>>,
    waker: Option<Waker>,
}

/// The number of no call.
const OVER: u64 = 0;

impl<S: Store> SharedLink<S> {
    fn call(&mut self, server: usize, request: S::Request) -> u64 {
        self.next += 1;
        let id = self.next;
        self.fresh.push(Wish::Call { id, server, request });
        match self.open.iter_mut().find(|call| call.id == OVER) {
            Some(call) => call.id = id,
            None => self.open.push(PendingCall { id, answer: None, waker: None }),
        }
        id
    }

    /// Takes the answer to a call, if it is here; else this waker waits for it.
    fn poll(&mut self, id: u64, waker: &Waker) -> Option<Answer<S>> {
        let call = self.open.iter_mut().find(|call| call.id == id);
        let call = call.expect("open until its future is dropped");
        if call.answer.is_none() && !call.waker.as_ref().is_some_and(|w| w.will_wake(waker)) {
            call.waker = Some(waker.clone());
        }
        call.answer.take()
    }

    /// Takes the next message over a further connection, if one is here; else this waker waits for
    /// it.
    fn hear(&mut self, named: usize, waker: &Waker) -> Option<Option<S::Signal>> {
        let place = self.ears.iter().position(|ear| ear.named == named).unwrap_or_else(|| {
            self.ears.push(Ear { named, heard: VecDeque::new(), waker: None });
            self.ears.len() - 1
        });
        let ear = &mut self.ears[place];
        ear.waker = Some(waker.clone());
        ear.heard.pop_front()
    }

    fn forget(&mut self, id: u64, answered: bool) {
        if let Some(call) = self.open.iter_mut().find(|call| call.id == id) {
            (call.id, call.answer) = (OVER, None);
        }
        if !answered {
            self.fresh.push(Wish::Forget(id));
        }
    }

    /// Hands what the driver has found out to the futures that wait for it.
    fn hand_out(&mut self) {
        for (id, answer) in self.outbox.answers.drain(..) {
            // A call that was given up is not here any more.
            if let Some(call) = self.open.iter_mut().find(|call| call.id == id) {
                call.answer = Some(answer);
                if let Some(waker) = &call.waker {
                    waker.wake_by_ref();
                }
            }
        }
        if !self.outbox.pushed.is_empty() {
            self.hand_out_messages();
        }
        if !self.outbox.signals.is_empty() {
            self.signals.extend(self.outbox.signals.drain(..));
            if let Some(waker) = &self.waker {
                waker.wake_by_ref();
            }
        }
    }

    fn hand_out_messages(&mut self) {
        for (named, message) in self.outbox.pushed.drain(..) {
            if let Some(ear) = self.ears.iter_mut().find(|ear| ear.named == named) {
                ear.heard.push_back(message);
                if let Some(waker) = &ear.waker {
                    waker.wake_by_ref();
                }
            }
        }
    }
}

/// A client library in the simulator. Its times are readings of its machine's monotonic clock.
pub struct Library<S: Store>(Rc<RefCell<SharedLink<S>>>);

type Todo<S> = Vec<Do<PacketOf<S>>>;

impl<S: Store> Library<S> {
    /// Has the driver do some work, adds the actions that it asks for, and hands out the rest.
    fn work(&self, todo: &mut Todo<S>, work: impl FnOnce(&mut S::Driver, &mut Outbox<S::Driver>)) {
        let shared = &mut *self.0.borrow_mut();
        std::mem::swap(todo, &mut shared.outbox.todo);
        work(&mut shared.driver, &mut shared.outbox);
        std::mem::swap(todo, &mut shared.outbox.todo);
        shared.hand_out();
    }

    /// Starts the client.
    pub fn start(&self, at: Mono, todo: &mut Todo<S>) {
        self.work(todo, |driver, out| driver.start(at, out));
    }

    /// Makes the calls that the client's task has left.
    pub fn calls(&self, at: Mono, todo: &mut Todo<S>) {
        let mut fresh = std::mem::take(&mut self.0.borrow_mut().fresh);
        if fresh.is_empty() {
            return;
        }
        self.work(todo, |driver, out| {
            for wish in fresh.drain(..) {
                match wish {
                    Wish::Call { id, server, request } => driver.call(at, id, server, request, out),
                    Wish::Forget(id) => driver.forget(id, out),
                    Wish::HangUp(connection) => driver.hang_up(connection, out),
                    Wish::Renew => driver.renew(at, out),
                }
            }
        });
        // Its memory is kept for the next.
        self.0.borrow_mut().fresh = fresh;
    }

    /// Handles a packet that has arrived.
    pub fn receive(&self, at: Mono, connection: u64, packet: PacketOf<S>, todo: &mut Todo<S>) {
        self.work(todo, |driver, out| driver.receive(at, connection, packet, out));
    }

    /// Handles the end of a connection.
    pub fn closed(&self, at: Mono, connection: u64, todo: &mut Todo<S>) {
        self.work(todo, |driver, out| driver.closed(at, connection, out));
    }

    /// Handles the end of a connection that was never made.
    pub fn refused(&self, at: Mono, connection: u64, todo: &mut Todo<S>) {
        self.work(todo, |driver, out| driver.refused(at, connection, out));
    }

    /// Notes that the server has not answered yet.
    pub fn waits(&self, connection: u64) {
        self.0.borrow_mut().driver.waits(connection);
    }

    /// Notes that the server has answered.
    pub fn opened(&self, connection: u64) {
        self.0.borrow_mut().driver.opened(connection);
    }

    /// Handles the coming of the time that it asked for.
    pub fn tick(&self, at: Mono, todo: &mut Todo<S>) {
        self.work(todo, |driver, out| driver.tick(at, out));
    }

    /// Returns the time at which it wants to be ticked.
    pub fn deadline(&self) -> Option<Mono> {
        self.0.borrow().driver.deadline()
    }

    /// Returns the same when a tick makes it connect again.
    pub fn connects_at(&self) -> Option<Mono> {
        self.0.borrow().driver.connects_at()
    }
}

struct SimLink<S: Store> {
    machine: Rc<Machine>,
    shared: Rc<RefCell<SharedLink<S>>>,
    servers: usize,
    call_timeout: Duration,
}

impl<S: Store> Link<S> for SimLink<S> {
    fn world(&self) -> &dyn World {
        &*self.machine
    }

    fn call(&self, server: usize, request: S::Request) -> LocalFuture<'_, Answer<S>> {
        let id = self.shared.borrow_mut().call(server, request);
        let timeout = S::Driver::CALLS_TIME_OUT.then(|| self.machine.timer(self.call_timeout));
        Box::pin(WaitingCall { id, shared: &self.shared, timeout, answered: false })
    }

    fn signal(&self) -> Option<S::Signal> {
        self.shared.borrow_mut().signals.pop_front()
    }

    fn wake_on_signal(&self, waker: &Waker) {
        let known = &mut self.shared.borrow_mut().waker;
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    fn pushed(&self, connection: usize) -> LocalFuture<'_, Option<S::Signal>> {
        Box::pin(poll_fn(move |cx| {
            let heard = self.shared.borrow_mut().hear(connection, cx.waker());
            heard.map_or(Poll::Pending, Poll::Ready)
        }))
    }

    fn hang_up(&self, connection: usize) {
        let shared = &mut *self.shared.borrow_mut();
        shared.ears.retain(|ear| ear.named != connection);
        shared.fresh.push(Wish::HangUp(connection));
    }

    fn renew(&self) -> LocalFuture<'_, Result<(), CallError<S::Refusal>>> {
        self.shared.borrow_mut().fresh.push(Wish::Renew);
        Box::pin(std::future::ready(Ok(())))
    }

    fn servers(&self) -> usize {
        self.servers
    }
}

/// A call that waits for its answer.
struct WaitingCall<'a, S: Store> {
    id: u64,
    shared: &'a RefCell<SharedLink<S>>,
    /// `None`: it waits for as long as it takes.
    timeout: Option<Sleep<'a>>,
    answered: bool,
}

impl<S: Store> Future for WaitingCall<'_, S> {
    type Output = Answer<S>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<S>> {
        let answer = self.shared.borrow_mut().poll(self.id, cx.waker());
        if let Some(answer) = answer {
            self.answered = true;
            return Poll::Ready(answer);
        }
        let Some(timeout) = &mut self.timeout else { return Poll::Pending };
        match Pin::new(timeout).poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(self.shared.borrow().driver.too_late(self.id))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: Store> Drop for WaitingCall<'_, S> {
    fn drop(&mut self) {
        self.shared.borrow_mut().forget(self.id, self.answered);
    }
}
