//! The bell of a lock on tokio: whatever its futures wait for rings it, and it wakes the client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Notes that it was rung, and wakes the client.
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

    fn ring(&self) {
        self.rung.store(true, Ordering::Relaxed);
        if let Some(client) = &*self.client.lock().unwrap_or_else(PoisonError::into_inner) {
            client.wake_by_ref();
        }
    }
}

/// The rope of a bell: a waker that rings it, and that knows whether somebody holds on to it.
pub struct Rope {
    pull: Arc<Pull>,
    waker: Waker,
}

struct Pull(Arc<Bell>);

impl Rope {
    /// Ties a new rope to a bell.
    pub fn of(bell: &Arc<Bell>) -> Self {
        let pull = Arc::new(Pull(bell.clone()));
        Self { waker: Waker::from(pull.clone()), pull }
    }

    /// Returns the waker.
    pub const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Returns true if anybody else has a copy of the waker, and so may pull at it.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.pull) > 2
    }
}

impl Wake for Pull {
    fn wake(self: Arc<Self>) {
        self.0.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.ring();
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
