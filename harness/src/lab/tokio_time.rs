//! Tokio for a lock in the simulator: its timers, tasks and `Instant` go by the clock of the
//! client's machine, so that a pause stops them and a drift carries them away.
//!
//! A lock has a runtime of its own, with one thread and a clock that stands still. It is set
//! forward to the machine's clock before each step. Nobody can ask tokio for the time of its next
//! timer, but a runtime whose clock stands still goes there by itself when it has nothing else to
//! do. Where nothing but a timer can wake the lock, it is let, and the lock sleeps until its machine
//! is there, too. Else, with a call under way or while it is held, it is looked after again and
//! again, ever more rarely: a timer may come late by a third of the wait, or by a twentieth of the
//! ttl. That is spared where there can be no timer: without tasks, and if nobody but the link has
//! kept a waker of the lock's future.

use base::{
    AcquireError, Grant, Link, LocalFuture, Lock, Mode, Mono, ReleaseError, Removed, World,
};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::DerefMut;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use stores::redis::Redis;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, advance, sleep};

use super::client_waker::{ClientWaker, WakerHandle};
use super::site::Wires;
use super::watched::WatchedLink;

/// The first wait of those that look for a timer beside a call, most of which are over by then.
const GRAIN: Duration = Duration::from_millis(5);

/// The share of a ttl that passes between two looks at most.
const LONGEST: u32 = 20;

/// A wait that no run is long enough for.
const NEVER: Duration = Duration::from_secs(1 << 20);

/// The most times that a lock and its tasks wake each other at one moment.
const ROUNDS: u32 = 100;

/// A lock with a runtime of its own.
pub struct OnTokio {
    // Ends before the runtime that its timers belong to.
    lock: Box<dyn Lock>,
    clockwork: Clockwork,
}

struct Clockwork {
    /// A timer at the end of all times. Without any timer a runtime would wait in real time.
    never: RefCell<Pin<Box<Sleep>>>,
    runtime: Runtime,
    leap: SharedLeap,
    link: Rc<WatchedLink>,
    client_waker: Arc<ClientWaker>,
    /// The waker that the lock's futures are given.
    lock_waker: Rc<WakerHandle>,
    wires: Wires,
    ttl: Duration,
    /// The time of the machine's clock that the runtime has been shown.
    shown: Cell<Mono>,
}

/// The wait for the runtime's clock to go on to its next timer.
struct Leap {
    /// Its begin, by that clock.
    begun: Instant,
    /// True if the timer may be a task's. It ends wherever the clock stops, then.
    has_tasks: bool,
    waker: Waker,
}

type SharedLeap = Arc<Mutex<Option<Leap>>>;

/// The result of a step.
enum LockStep<T> {
    /// The future is at its end.
    Done(T),
    /// The runtime has gone on to its next timer, by so much.
    Leapt(Duration),
    /// Something else than a timer may come.
    Waits,
    /// Nothing but an answer to a call may come.
    Listens,
}

impl OnTokio {
    /// Opens a lock within its runtime, with its link.
    ///
    /// # Panics
    /// Panics when the system has no memory for a runtime.
    pub fn open(
        link: Rc<dyn Link<Redis>>,
        wires: Wires,
        ttl: Duration,
        open: impl FnOnce(Rc<dyn Link<Redis>>) -> Box<dyn Lock>,
    ) -> Self {
        let leap = SharedLeap::default();
        let client_waker = Arc::new(ClientWaker::default());
        let (unparked, woken) = (leap.clone(), client_waker.clone());
        let mut builder = Builder::new_current_thread();
        builder.enable_time().start_paused(true).on_thread_unpark(move || {
            // A runtime that was woken, as by a new timer, parks once more before its clock goes on.
            let is_over =
                |it: &mut Leap| it.begun < Instant::now() && (it.has_tasks || woken.is_woken());
            if let Some(leap) = waiting(&unparked).take_if(is_over) {
                leap.waker.wake();
            }
        });
        let runtime = builder.build().expect("a runtime without any driver but time");
        let shown = Cell::new(link.world().monotonic());
        let lock_waker = Rc::new(WakerHandle::of(&client_waker));
        let link_waker = WakerHandle::of(&client_waker);
        let link = Rc::new(WatchedLink::new(link, link_waker, lock_waker.clone()));
        let (lock, never) = {
            let _within = runtime.enter();
            (open(link.clone()), RefCell::new(Box::pin(sleep(NEVER))))
        };
        let clockwork =
            Clockwork { never, runtime, leap, link, client_waker, lock_waker, wires, ttl, shown };
        Self { lock, clockwork }
    }
}

fn waiting(leap: &SharedLeap) -> impl DerefMut<Target = Option<Leap>> {
    leap.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The parties that can end the wait of a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// The lock alone.
    Nothing,
    /// The lock, or its client, which wants something else of it.
    Client,
}

/// The wait for the next step.
enum StepWait<'a> {
    /// The next timer is at its end, and nothing can come before.
    Exact(LocalFuture<'a, ()>),
    /// Something may come before, or a timer at any time.
    Look(LocalFuture<'a, ()>, Duration),
    /// An answer ends it.
    Listen,
}

impl Clockwork {
    /// Runs a future of the lock to its end.
    fn run<'a, T: 'a>(
        &'a self,
        beside: Beside,
        future: impl Future<Output = T> + 'a,
    ) -> LocalFuture<'a, T> {
        Box::pin(async move {
            let mut future = pin!(future);
            let mut wait: Option<StepWait<'a>> = None;
            poll_fn(|cx| {
                loop {
                    let length = match &mut wait {
                        None => GRAIN,
                        Some(StepWait::Exact(sleep)) => match sleep.as_mut().poll(cx) {
                            Poll::Ready(()) => GRAIN,
                            Poll::Pending => return Poll::Pending,
                        },
                        Some(StepWait::Look(sleep, length)) => match sleep.as_mut().poll(cx) {
                            Poll::Ready(()) => self.after(*length),
                            // Whatever has woken it, a reply say, may lead to new timers.
                            Poll::Pending if self.client_waker.take_woken() => GRAIN,
                            Poll::Pending => return Poll::Pending,
                        },
                        Some(StepWait::Listen) if self.client_waker.take_woken() => GRAIN,
                        Some(StepWait::Listen) => return Poll::Pending,
                    };
                    self.client_waker.register(cx.waker());
                    let sleep = |length| self.link.machine().sleep(length);
                    wait = Some(match self.step(beside, |cx| future.as_mut().poll(cx)) {
                        LockStep::Done(done) => return Poll::Ready(done),
                        LockStep::Leapt(length) => StepWait::Exact(sleep(length)),
                        LockStep::Waits => StepWait::Look(sleep(length), length),
                        LockStep::Listens => StepWait::Listen,
                    });
                }
            })
            .await
        })
    }

    /// The wait after one in which nothing came.
    fn after(&self, wait: Duration) -> Duration {
        (wait + wait / 3).min(self.ttl / LONGEST).max(GRAIN)
    }

    /// Takes a step of a future, and of the tasks beside it, at the machine's time. Goes on to the
    /// next timer if nothing else can come before.
    fn step<T>(
        &self,
        beside: Beside,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> LockStep<T> {
        let cx = &mut Context::from_waker(self.lock_waker.waker());
        let mut poll = || {
            self.client_waker.take_woken();
            self.wires.poll(cx);
            let wires = self.wires.count();
            let polled = poll(cx);
            // A new wire has to know whom to wake.
            if self.wires.count() > wires {
                self.wires.poll(cx);
            }
            polled
        };
        // To enter the runtime takes its time: a lock without timers and tasks needs no turn of it.
        let is_polled = !self.has_timers();
        {
            let _within = self.runtime.enter();
            self.catch_up();
            if is_polled && let Poll::Ready(done) = poll() {
                return LockStep::Done(done);
            }
        }
        // The timers that it has just set are not due.
        let is_at_rest = is_polled && !self.client_waker.is_woken() && !self.has_tasks();
        if is_at_rest && !(self.has_timers() && self.is_alone(beside)) {
            return if self.has_timers() { LockStep::Waits } else { LockStep::Listens };
        }
        self.runtime.block_on(async {
            let rounds = if is_at_rest { 0 } else { ROUNDS };
            for round in 0..rounds {
                if (round > 0 || !is_polled)
                    && let Poll::Ready(done) = poll()
                {
                    return LockStep::Done(done);
                }
                // Its tasks and timers go on, and may have something for it, or for a server.
                yield_now().await;
                if !self.client_waker.is_woken() {
                    break;
                }
            }
            match self.is_alone(beside) {
                true => LockStep::Leapt(self.leap().await),
                false => LockStep::Waits,
            }
        })
    }

    fn has_tasks(&self) -> bool {
        self.runtime.metrics().num_alive_tasks() > 0
    }

    /// Returns true if there may be timers: of tasks, or of the lock's future itself.
    fn has_timers(&self) -> bool {
        self.lock_waker.is_held() || self.has_tasks()
    }

    /// Returns true if nothing but a timer can end the wait of the lock.
    fn is_alone(&self, beside: Beside) -> bool {
        beside == Beside::Nothing && !self.link.is_awaited()
    }

    /// Sets the runtime's clock forward to that of the machine. Timers that are due have their turn
    /// later.
    fn catch_up(&self) {
        let now = self.link.monotonic();
        let passed = now.since(self.shown.replace(now));
        if !passed.is_zero() {
            // The first poll does it; a second one would only give way to others.
            let _ = pin!(advance(passed)).poll(&mut Context::from_waker(Waker::noop()));
        }
    }

    /// Lets the runtime go on to its next timer, and returns the time until then.
    async fn leap(&self) -> Duration {
        // The timer wakes the lock, which sleeps for as long.
        self.client_waker.unregister();
        let begun = Instant::now();
        let has_tasks = self.has_tasks();
        let mut is_begun = false;
        poll_fn(|cx| {
            let is_over = self.never.borrow_mut().as_mut().poll(cx).is_ready();
            let mut leap = waiting(&self.leap);
            if is_over || (is_begun && leap.is_none()) {
                *leap = None;
                return Poll::Ready(());
            }
            is_begun = true;
            *leap = Some(Leap { begun, has_tasks, waker: cx.waker().clone() });
            Poll::Pending
        })
        .await;
        let passed = begun.elapsed();
        self.shown.set(self.shown.get() + passed);
        passed
    }
}

impl Lock for OnTokio {
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(Beside::Nothing, lock.acquire(mode, timeout))
    }

    fn acquire_permits(
        &mut self,
        permits: u32,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(Beside::Nothing, lock.acquire_permits(permits, timeout))
    }

    fn release(&mut self, grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(Beside::Nothing, lock.release(grant))
    }

    fn convert(&mut self, grant: Grant, to: Mode) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(Beside::Nothing, lock.convert(grant, to))
    }

    fn extend(&mut self, grant: Grant) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(Beside::Nothing, lock.extend(grant))
    }

    fn held(&self) -> LocalFuture<'_, Option<bool>> {
        self.clockwork.run(Beside::Nothing, self.lock.held())
    }

    /// Polled for as long as it is held, so that its tasks go on meanwhile.
    fn lost(&self) -> LocalFuture<'_, String> {
        self.clockwork.run(Beside::Client, self.lock.lost())
    }
}
