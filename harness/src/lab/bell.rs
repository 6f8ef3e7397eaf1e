//! The bell of a lock on tokio: whatever its futures wait for rings it, and it wakes the client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// A waker that notes that it was woken.
#[derive(Default)]
pub struct Bell {
    rung: AtomicBool,
    /// The task of the client. `None` while it is not to be woken.
    client: Mutex<Option<Waker>>,
}

impl Bell {
    /// Wakes this task from now on.
    pub fn hang(&self, client: &Waker) {
        let mut known = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.as_ref().is_some_and(|it| it.will_wake(client)) {
            *known = Some(client.clone());
        }
    }

    /// Wakes nobody from now on.
    pub fn unhang(&self) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns true if it was rung since this was last asked.
    pub fn take(&self) -> bool {
        self.rung.swap(false, Ordering::Relaxed)
    }

    /// Returns true if it was rung since it was last taken.
    pub fn is_rung(&self) -> bool {
        self.rung.load(Ordering::Relaxed)
    }

    /// Returns a waker that rings it and wakes this one, a task of tokio say.
    pub fn beside(self: &Arc<Self>, waker: &Waker) -> Waker {
        let own = Waker::from(self.clone());
        if own.will_wake(waker) {
            return own;
        }
        Waker::from(Arc::new(BothWakers(waker.clone(), own)))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Relaxed);
        if let Some(client) = &*self.client.lock().unwrap_or_else(PoisonError::into_inner) {
            client.wake_by_ref();
        }
    }
}

/// Two wakers in one.
struct BothWakers(Waker, Waker);

impl Wake for BothWakers {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_by_ref();
        self.1.wake_by_ref();
    }
}
