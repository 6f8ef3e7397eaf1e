//! The link of a lock on tokio, which knows whether the lock waits for anything but its timers.

use base::{Answer, CallError, Link, LocalFuture, Mono, WallTime, World};
use redis::{Cmd, Value};
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use stores::redis::{Redis, Refusal};

use super::client_waker::{BothWakers, WakerHandle};

/// A link whose waits are counted, and wake the client when they are over.
pub struct WatchedLink {
    link: Rc<dyn Link<Redis>>,
    /// Woken by what the link waits for.
    link_waker: WakerHandle,
    /// Woken by everything else that the lock's futures wait for.
    lock_waker: Rc<WakerHandle>,
    waits: Cell<usize>,
}

impl WatchedLink {
    /// Watches a link of a lock whose futures are given the `lock_waker`. What the link itself
    /// waits for is given the other one.
    pub fn new(
        link: Rc<dyn Link<Redis>>,
        link_waker: WakerHandle,
        lock_waker: Rc<WakerHandle>,
    ) -> Self {
        Self { link, link_waker, lock_waker, waits: Cell::new(0) }
    }

    /// Returns true if the lock waits for a server or for the machine's clock.
    pub fn is_awaited(&self) -> bool {
        self.waits.get() > 0
    }

    /// Returns the machine, whose sleeps are not counted here.
    pub fn machine(&self) -> &dyn World {
        self.link.world()
    }

    fn wait<'a, T: 'a>(&'a self, inner: LocalFuture<'a, T>) -> LocalFuture<'a, T> {
        self.waits.set(self.waits.get() + 1);
        Box::pin(CountedWait { link: self, inner })
    }
}

/// A wait that counts for as long as it is there.
struct CountedWait<'a, T> {
    link: &'a WatchedLink,
    inner: LocalFuture<'a, T>,
}

impl<T> Future for CountedWait<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let WatchedLink { link_waker, lock_waker, .. } = self.link;
        if lock_waker.waker().will_wake(cx.waker()) {
            return self.inner.as_mut().poll(&mut Context::from_waker(link_waker.waker()));
        }
        // A task of tokio is woken beside the client, which has to run it.
        let both = Arc::new(BothWakers(cx.waker().clone(), link_waker.waker().clone()));
        self.inner.as_mut().poll(&mut Context::from_waker(&Waker::from(both)))
    }
}

impl<T> Drop for CountedWait<'_, T> {
    fn drop(&mut self) {
        self.link.waits.set(self.link.waits.get() - 1);
    }
}

impl Link<Redis> for WatchedLink {
    fn world(&self) -> &dyn World {
        self
    }

    fn call(&self, server: usize, request: Rc<Cmd>) -> LocalFuture<'_, Answer<Redis>> {
        self.wait(self.link.call(server, request))
    }

    fn pushed(&self, connection: usize) -> LocalFuture<'_, Option<Box<Value>>> {
        self.wait(self.link.pushed(connection))
    }

    fn hang_up(&self, connection: usize) {
        self.link.hang_up(connection);
    }

    fn renew(&self) -> LocalFuture<'_, Result<(), CallError<Refusal>>> {
        self.wait(self.link.renew())
    }

    fn servers(&self) -> usize {
        self.link.servers()
    }
}

impl World for WatchedLink {
    fn now(&self) -> WallTime {
        self.link.world().now()
    }

    fn monotonic(&self) -> Mono {
        self.link.world().monotonic()
    }

    fn sleep(&self, duration: Duration) -> LocalFuture<'_, ()> {
        self.wait(self.link.world().sleep(duration))
    }

    fn random(&self) -> u64 {
        self.link.world().random()
    }
}
