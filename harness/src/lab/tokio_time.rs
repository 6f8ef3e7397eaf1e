//! Tokio for a lock in the simulator: its timers, tasks and `Instant` go by the clock of the
//! client's machine, so that a pause stops them and a drift carries them away.
//!
//! A lock has a runtime of its own, with one thread and a clock that stands still. It is set
//! forward to the machine's clock before each step. Nobody can ask tokio for the time of its next
//! timer, but a runtime whose clock stands still goes there by itself when it has nothing else to
//! do. Where nothing but a timer can wake the lock, it is let, and the lock sleeps until its machine
//! is there, too. Else, with a call under way or while it is held, it is looked after again and
//! again, ever more rarely: a timer may come late by a third of the wait, or by a twentieth of the
//! ttl.

use base::{
    AcquireError, Grant, Link, LocalFuture, Lock, Mode, Mono, ReleaseError, Removed, World,
};
use std::cell::Cell;
use std::future::poll_fn;
use std::ops::DerefMut;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use stores::redis::Redis;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep};

use super::bell::Bell;
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
    runtime: Runtime,
    leap: SharedLeap,
    link: Rc<WatchedLink>,
    bell: Arc<Bell>,
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
        let bell = Arc::new(Bell::default());
        let (unparked, rung) = (leap.clone(), bell.clone());
        let mut builder = Builder::new_current_thread();
        builder.enable_time().start_paused(true).on_thread_unpark(move || {
            // A runtime that was woken, as by a new timer, parks once more before its clock goes on.
            let is_over =
                |it: &mut Leap| it.begun < Instant::now() && (it.has_tasks || rung.is_rung());
            if let Some(leap) = waiting(&unparked).take_if(is_over) {
                leap.waker.wake();
            }
        });
        let runtime = builder.build().expect("a runtime without any driver but time");
        let shown = Cell::new(link.world().monotonic());
        let link = Rc::new(WatchedLink::new(link, bell.clone()));
        let lock = {
            let _within = runtime.enter();
            open(link.clone())
        };
        Self { lock, clockwork: Clockwork { runtime, leap, link, bell, wires, ttl, shown } }
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
struct TimerWait<'a> {
    sleep: LocalFuture<'a, ()>,
    length: Duration,
    /// True if the next timer is at its end, and nothing can come before.
    is_exact: bool,
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
            let mut wait: Option<TimerWait<'a>> = None;
            poll_fn(|cx| {
                loop {
                    let length = match &mut wait {
                        None => GRAIN,
                        Some(TimerWait { sleep, length, is_exact }) => {
                            match sleep.as_mut().poll(cx) {
                                Poll::Ready(()) if *is_exact => GRAIN,
                                Poll::Ready(()) => self.after(*length),
                                // Whatever has rung, a reply say, may lead to new timers.
                                Poll::Pending if !*is_exact && self.bell.take() => GRAIN,
                                Poll::Pending => return Poll::Pending,
                            }
                        }
                    };
                    self.bell.hang(cx.waker());
                    let (length, is_exact) = match self.step(beside, |cx| future.as_mut().poll(cx))
                    {
                        LockStep::Done(done) => return Poll::Ready(done),
                        LockStep::Leapt(length) => (length, true),
                        LockStep::Waits => (length, false),
                    };
                    let sleep = self.link.machine().sleep(length);
                    wait = Some(TimerWait { sleep, length, is_exact });
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
        let waker = Waker::from(self.bell.clone());
        let cx = &mut Context::from_waker(&waker);
        self.runtime.block_on(async {
            self.catch_up().await;
            for _ in 0..ROUNDS {
                self.bell.take();
                self.wires.poll(cx);
                if let Poll::Ready(done) = poll(cx) {
                    return LockStep::Done(done);
                }
                // Its tasks and timers go on, and may have something for it, or for a server.
                yield_now().await;
                if !self.bell.is_rung() {
                    break;
                }
            }
            match beside == Beside::Nothing && !self.link.is_awaited() {
                true => LockStep::Leapt(self.leap().await),
                false => LockStep::Waits,
            }
        })
    }

    /// Sets the runtime's clock forward to that of the machine.
    async fn catch_up(&self) {
        let now = self.link.monotonic();
        let passed = now.since(self.shown.replace(now));
        if !passed.is_zero() {
            let mut advanced = pin!(advance(passed));
            // Timers that are due are for the next round: to await it would be a round of its own.
            poll_fn(|cx| {
                let _ = advanced.as_mut().poll(cx);
                Poll::Ready(())
            })
            .await;
        }
    }

    /// Lets the runtime go on to its next timer, and returns the time until then.
    async fn leap(&self) -> Duration {
        // The timer wakes the lock, which sleeps for as long.
        self.bell.unhang();
        let begun = Instant::now();
        let has_tasks = self.runtime.metrics().num_alive_tasks() > 0;
        let mut never = pin!(sleep(NEVER));
        let mut is_begun = false;
        poll_fn(|cx| {
            // Without any timer at all it would wait in real time.
            let is_over = never.as_mut().poll(cx).is_ready();
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
