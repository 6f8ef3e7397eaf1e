//! A simulated client's machine: its clocks, its timers and its mailbox. The client's task and the
//! simulator share it; the task leaves what it wants in here and the simulator picks it up.

use base::{LocalFuture, Mailbox, Mono, Request, Response, Rng, Wall, World};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Where every simulated wall clock starts: 2025-01-01T00:00:00Z.
pub const EPOCH: Duration = Duration::from_secs(1_735_689_600);

pub struct Machine {
    /// The simulator's time, which all machines share.
    now: Rc<Cell<Mono>>,
    /// How far this machine's wall clock is ahead.
    skew: Duration,
    rng: RefCell<Rng>,
    next_timer: Cell<u64>,
    /// Who waits for which timer.
    timers: RefCell<BTreeMap<u64, Waker>>,
    /// Timers that the simulator has yet to put on its agenda.
    new_timers: RefCell<Vec<(Mono, u64)>>,
    inbox: RefCell<VecDeque<Request>>,
    inbox_waker: RefCell<Option<Waker>>,
    outbox: RefCell<Vec<Response>>,
}

impl Machine {
    pub fn new(now: Rc<Cell<Mono>>, skew: Duration, rng: Rng) -> Self {
        Self {
            now,
            skew,
            rng: RefCell::new(rng),
            next_timer: Cell::new(0),
            timers: RefCell::default(),
            new_timers: RefCell::default(),
            inbox: RefCell::default(),
            inbox_waker: RefCell::default(),
            outbox: RefCell::default(),
        }
    }

    /// A timer rings; whoever waits for it is woken.
    pub fn ring(&self, timer: u64) {
        if let Some(waker) = self.timers.borrow_mut().remove(&timer) {
            waker.wake();
        }
    }

    pub fn take_timers(&self) -> Vec<(Mono, u64)> {
        std::mem::take(&mut self.new_timers.borrow_mut())
    }

    pub fn put(&self, request: Request) {
        self.inbox.borrow_mut().push_back(request);
        if let Some(waker) = self.inbox_waker.borrow_mut().take() {
            waker.wake();
        }
    }

    pub fn take_said(&self) -> Vec<Response> {
        std::mem::take(&mut self.outbox.borrow_mut())
    }
}

impl World for Machine {
    fn now(&self) -> Wall {
        Wall::ZERO + EPOCH + self.skew + self.now.get().since(Mono::ZERO)
    }

    fn monotonic(&self) -> Mono {
        self.now.get()
    }

    fn sleep(&self, duration: Duration) -> LocalFuture<'_, ()> {
        Box::pin(Sleep { machine: self, until: self.now.get() + duration, timer: None })
    }

    fn random(&self) -> u64 {
        self.rng.borrow_mut().next()
    }
}

struct Sleep<'a> {
    machine: &'a Machine,
    until: Mono,
    timer: Option<u64>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let machine = self.machine;
        if machine.now.get() >= self.until {
            return Poll::Ready(());
        }
        let timer = self.timer.unwrap_or_else(|| {
            let timer = machine.next_timer.get();
            machine.next_timer.set(timer + 1);
            machine.new_timers.borrow_mut().push((self.until, timer));
            timer
        });
        self.timer = Some(timer);
        machine.timers.borrow_mut().insert(timer, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            self.machine.timers.borrow_mut().remove(&timer);
        }
    }
}

/// The client's end of its conversation with the harness.
pub struct SimMailbox(pub Rc<Machine>);

impl Mailbox for SimMailbox {
    fn next(&mut self) -> LocalFuture<'_, Option<Request>> {
        Box::pin(std::future::poll_fn(|cx| match self.0.inbox.borrow_mut().pop_front() {
            Some(request) => Poll::Ready(Some(request)),
            None => {
                *self.0.inbox_waker.borrow_mut() = Some(cx.waker().clone());
                Poll::Pending
            }
        }))
    }

    fn say(&mut self, response: Response) {
        self.0.outbox.borrow_mut().push(response);
    }
}
