//! A simulated client's machine: its clocks, its timers and its mailbox. The client's task and the
//! simulator share it; the task leaves what it wants in here and the simulator picks it up.

use base::{ClientRequest, Clock, LocalFuture, Mailbox, Mono, Response, Rng, WallTime, World};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::chance::ChoiceLog;
use crate::timers::{TimerId, Timers};

/// The source of a process's random numbers.
pub struct RandomNumbers {
    pub process: u32,
    pub rng: Rng,
    pub choice_log: Option<Rc<ChoiceLog>>,
}

impl RandomNumbers {
    fn next(&mut self) -> u64 {
        match &self.choice_log {
            Some(choice_log) => choice_log.random(self.process, || self.rng.next()),
            None => self.rng.next(),
        }
    }
}

pub struct Machine {
    /// The simulator's time, which all machines share.
    now: Rc<Cell<Mono>>,
    /// The machine's own clocks. They belong to the client, not to one of its processes, and there
    /// faults find them.
    clock: Rc<Cell<Clock>>,
    /// The lead of this machine's wall clock without any fault.
    skew: Duration,
    numbers: RefCell<RandomNumbers>,
    pub timers: RefCell<Timers>,
    /// The harness's requests, in order, and how many of them have arrived.
    inbox: RefCell<VecDeque<ClientRequest>>,
    arrived: Cell<usize>,
    inbox_waker: RefCell<Option<Waker>>,
    outbox: RefCell<VecDeque<Response>>,
    /// True if the wall clock has been read.
    read_wall_clock: Cell<bool>,
}

impl Machine {
    pub fn new(
        now: Rc<Cell<Mono>>,
        clock: Rc<Cell<Clock>>,
        skew: Duration,
        numbers: RandomNumbers,
    ) -> Self {
        Self {
            now,
            clock,
            skew,
            numbers: RefCell::new(numbers),
            timers: RefCell::default(),
            inbox: RefCell::default(),
            arrived: Cell::new(0),
            inbox_waker: RefCell::default(),
            outbox: RefCell::default(),
            read_wall_clock: Cell::new(false),
        }
    }

    /// Returns true if the wall clock has been read.
    pub fn has_read_wall_clock(&self) -> bool {
        self.read_wall_clock.get()
    }

    /// Its clocks, as they are now.
    pub fn clock(&self) -> Clock {
        self.clock.get()
    }

    /// The future that `sleep` returns, without a box around it.
    pub fn timer(&self, duration: Duration) -> Sleep<'_> {
        Sleep { machine: self, until: self.monotonic() + duration, timer: None }
    }

    /// A request is on its way.
    pub fn put(&self, request: ClientRequest) {
        self.inbox.borrow_mut().push_back(request);
    }

    /// The next request has arrived.
    pub fn deliver(&self) {
        self.arrived.set(self.arrived.get() + 1);
        if let Some(waker) = &*self.inbox_waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Takes the next response of the client.
    pub fn next_response(&self) -> Option<Response> {
        self.outbox.borrow_mut().pop_front()
    }
}

impl World for Machine {
    fn now(&self) -> WallTime {
        self.read_wall_clock.set(true);
        self.clock().wall(self.now.get()) + self.skew
    }

    fn monotonic(&self) -> Mono {
        self.clock().mono(self.now.get())
    }

    fn sleep(&self, duration: Duration) -> LocalFuture<'_, ()> {
        Box::pin(self.timer(duration))
    }

    fn random(&self) -> u64 {
        self.numbers.borrow_mut().next()
    }
}

pub struct Sleep<'a> {
    machine: &'a Machine,
    /// The end of the sleep, by the machine's monotonic clock.
    until: Mono,
    timer: Option<TimerId>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let machine = self.machine;
        if machine.monotonic() >= self.until {
            return Poll::Ready(());
        }
        let mut timers = machine.timers.borrow_mut();
        match self.timer {
            Some(timer) => timers.wait(timer, cx.waker()),
            None => self.timer = Some(timers.set(self.until, cx.waker())),
        }
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            self.machine.timers.borrow_mut().unset(timer);
        }
    }
}

/// The client's end of its conversation with the harness.
pub struct SimMailbox(pub Rc<Machine>);

impl Mailbox for SimMailbox {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ClientRequest>> {
        if let Some(left) = self.0.arrived.get().checked_sub(1) {
            self.0.arrived.set(left);
            return Poll::Ready(self.0.inbox.borrow_mut().pop_front());
        }
        let mut waiting = self.0.inbox_waker.borrow_mut();
        if !waiting.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            *waiting = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    fn say(&mut self, response: Response) {
        self.0.outbox.borrow_mut().push_back(response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::up_for;
    use base::ClockChange;

    fn seconds(n: u64) -> Mono {
        Mono::ZERO + Duration::from_secs(n)
    }

    #[test]
    fn a_sleep_goes_by_the_machines_own_clock() {
        let (now, mut clock) = (Rc::new(Cell::new(Mono::ZERO)), up_for(Duration::ZERO));
        clock.change(ClockChange::Drift(-500_000), Mono::ZERO);
        let clock = Rc::new(Cell::new(clock));
        let numbers = RandomNumbers { process: 0, rng: Rng::new(1), choice_log: None };
        let machine = Machine::new(now.clone(), clock, Duration::ZERO, numbers);
        let mut sleep = machine.timer(Duration::from_secs(3));
        let mut is_over = |at| {
            now.set(at);
            Pin::new(&mut sleep).poll(&mut Context::from_waker(Waker::noop())).is_ready()
        };
        assert!(!is_over(Mono::ZERO));
        assert!(!is_over(seconds(5)), "its clock says 2.5 s");
        assert!(is_over(seconds(6)));
    }
}
