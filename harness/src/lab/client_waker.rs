//! The waker of the client of a lock on tokio: whatever the futures of the lock wait for wakes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Wakes the client, and notes that it was woken.
#[derive(Default)]
pub struct ClientWaker {
    woken: AtomicBool,
    /// The task of the client. `None` while it is not to be woken.
    client: Mutex<Option<Waker>>,
}

impl ClientWaker {
    /// Wakes this task from now on.
    pub fn register(&self, client: &Waker) {
        let mut known = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.as_ref().is_some_and(|it| it.will_wake(client)) {
            *known = Some(client.clone());
        }
    }

    /// Wakes nobody from now on.
    pub fn unregister(&self) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns true if it was woken since this was last asked.
    pub fn take_woken(&self) -> bool {
        self.woken.swap(false, Ordering::Relaxed)
    }

    /// Returns true if it was woken since `take_woken` was last asked.
    pub fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    fn wake_client(&self) {
        self.woken.store(true, Ordering::Relaxed);
        if let Some(client) = &*self.client.lock().unwrap_or_else(PoisonError::into_inner) {
            client.wake_by_ref();
        }
    }
}

/// A handle to the waker of the client. It knows whether anybody else keeps a copy of its own.
pub struct WakerHandle {
    target: Arc<WakeTarget>,
    waker: Waker,
}

struct WakeTarget(Arc<ClientWaker>);

impl WakerHandle {
    /// Makes a new handle.
    pub fn of(client_waker: &Arc<ClientWaker>) -> Self {
        let target = Arc::new(WakeTarget(client_waker.clone()));
        Self { waker: Waker::from(target.clone()), target }
    }

    /// Returns the waker.
    pub const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Returns true if anybody else has a copy of the waker, and so may wake the client by it.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.target) > 2
    }
}

impl Wake for WakeTarget {
    fn wake(self: Arc<Self>) {
        self.0.wake_client();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_client();
    }
}

/// Two wakers in one.
pub struct BothWakers(pub Waker, pub Waker);

impl Wake for BothWakers {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_by_ref();
        self.1.wake_by_ref();
    }
}
