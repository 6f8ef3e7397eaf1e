//! Tokio for a lock in the simulator: its timers, tasks and `Instant` go by the clock of the
//! client's machine, so that a pause stops them and a drift carries them away.
//!
//! A lock has a runtime of its own, with one thread and a clock that stands still. It is set
//! forward to the machine's clock before each step. Nobody can ask tokio for the time of its next
//! timer, so a lock that waits is asked again and again, first after a millisecond, then ever more
//! rarely: a timer may come late by a third of the wait, or by a twentieth of the ttl.

use base::{AcquireError, Grant, Link, LocalFuture, Lock, Mode, Mono, ReleaseError, Removed};
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use stores::redis::Redis;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::advance;

use super::site::Wires;

/// The first wait for a timer: the grain of those of tokio.
const GRAIN: Duration = Duration::from_millis(1);

/// The share of a ttl that passes between two looks at most.
const LONGEST: u32 = 20;

/// A lock with a runtime of its own.
pub struct OnTokio {
    // Ends before the runtime that its timers belong to.
    lock: Box<dyn Lock>,
    clockwork: Clockwork,
}

struct Clockwork {
    runtime: Runtime,
    link: Rc<dyn Link<Redis>>,
    wires: Wires,
    ttl: Duration,
    /// The time of the machine's clock that the runtime has been shown.
    shown: Cell<Mono>,
}

impl OnTokio {
    /// Opens a lock within its runtime.
    ///
    /// # Panics
    /// Panics when the system has no memory for a runtime.
    pub fn open(
        link: Rc<dyn Link<Redis>>,
        wires: Wires,
        ttl: Duration,
        open: impl FnOnce() -> Box<dyn Lock>,
    ) -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime without any driver but time");
        let lock = {
            let _within = runtime.enter();
            open()
        };
        let shown = Cell::new(link.world().monotonic());
        Self { lock, clockwork: Clockwork { runtime, link, wires, ttl, shown } }
    }
}

impl Clockwork {
    /// Runs a future of the lock to its end.
    fn run<'a, T: 'a>(&'a self, future: impl Future<Output = T> + 'a) -> LocalFuture<'a, T> {
        Box::pin(async move {
            let mut future = pin!(future);
            let mut wait = GRAIN;
            let mut look = self.link.world().sleep(wait);
            poll_fn(|cx| {
                // Whatever else has woken it, a reply say, may lead to new timers.
                wait = if look.as_mut().poll(cx).is_ready() { self.after(wait) } else { GRAIN };
                loop {
                    look = self.link.world().sleep(wait);
                    let step = self.step(cx, |cx| future.as_mut().poll(cx));
                    if step.is_ready() || look.as_mut().poll(cx).is_pending() {
                        return step;
                    }
                    wait = self.after(wait);
                }
            })
            .await
        })
    }

    /// The wait after one in which nothing came.
    fn after(&self, wait: Duration) -> Duration {
        (wait + wait / 3).min(self.ttl / LONGEST).max(GRAIN)
    }

    /// Takes a step of a future, and of the tasks beside it, at the machine's time.
    fn step<T>(
        &self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.runtime.block_on(async {
            let now = self.link.world().monotonic();
            advance(now.since(self.shown.replace(now))).await;
            self.wires.poll(cx);
            if let Poll::Ready(done) = poll(cx) {
                return Poll::Ready(done);
            }
            // Its tasks go on, and may have something for it, or for a server.
            yield_now().await;
            self.wires.poll(cx);
            poll(cx)
        })
    }
}

impl Lock for OnTokio {
    fn acquire(
        &mut self,
        mode: Mode,
        timeout: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(lock.acquire(mode, timeout))
    }

    fn release(&mut self, grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(lock.release(grant))
    }

    fn convert(&mut self, grant: Grant, to: Mode) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(lock.convert(grant, to))
    }

    fn extend(&mut self, grant: Grant) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let Self { lock, clockwork } = self;
        clockwork.run(lock.extend(grant))
    }

    fn held(&self) -> LocalFuture<'_, Option<bool>> {
        self.clockwork.run(self.lock.held())
    }

    /// Polled for as long as it is held, so that its tasks go on meanwhile.
    fn lost(&self) -> LocalFuture<'_, String> {
        self.clockwork.run(self.lock.lost())
    }
}
