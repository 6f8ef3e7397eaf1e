//! Wake-ups: a recipe notes that the store has woken it, and its client reports it. Clones are the
//! same.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The wake-ups that a client has not reported yet.
#[derive(Clone, Debug, Default)]
pub struct Wakeups(Rc<WakeUpState>);

#[derive(Debug, Default)]
struct WakeUpState {
    noted: Cell<u64>,
    listener: RefCell<Option<Waker>>,
}

impl Wakeups {
    /// Notes that the store has woken the caller.
    pub fn notify(&self) {
        self.0.noted.set(self.0.noted.get() + 1);
        if let Some(listener) = self.0.listener.borrow_mut().take() {
            listener.wake();
        }
    }

    /// Takes one wake-up. Returns true if there was one.
    pub fn take(&self) -> bool {
        let noted = self.0.noted.get();
        self.0.noted.set(noted.saturating_sub(1));
        noted > 0
    }

    /// Takes one wake-up, or has the task woken when the next one comes.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.take() {
            return Poll::Ready(());
        }
        *self.0.listener.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Context;

    fn is_woken(wakeups: &Wakeups) -> bool {
        wakeups.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn every_wakeup_is_taken_once() {
        let wakeups = Wakeups::default();
        assert!(!is_woken(&wakeups));
        wakeups.notify();
        wakeups.clone().notify();
        assert!(is_woken(&wakeups));
        assert!(wakeups.take());
        assert!(!wakeups.take());
        assert!(!is_woken(&wakeups));
    }
}
