//! A bell with which a recipe tells its client that the store has woken it. Clones are the same
//! bell.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// A bell that counts the rings that were not yet heard.
#[derive(Clone, Debug, Default)]
pub struct Bell(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    rings: Cell<u64>,
    listener: RefCell<Option<Waker>>,
}

impl Bell {
    /// Rings: the store has woken the caller.
    pub fn ring(&self) {
        self.0.rings.set(self.0.rings.get() + 1);
        if let Some(listener) = self.0.listener.borrow_mut().take() {
            listener.wake();
        }
    }

    /// Hears one ring. Returns true if there was one that had not been heard.
    pub fn take(&self) -> bool {
        let rings = self.0.rings.get();
        self.0.rings.set(rings.saturating_sub(1));
        rings > 0
    }

    /// Waits for the next ring. It can be dropped without a ring being missed.
    pub async fn heard(&self) {
        poll_fn(|cx| {
            if self.take() {
                return Poll::Ready(());
            }
            *self.0.listener.borrow_mut() = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn every_ring_is_heard_once() {
        let bell = Bell::default();
        assert_eq!(bell.heard().now_or_never(), None);
        bell.ring();
        bell.clone().ring();
        assert_eq!(bell.heard().now_or_never(), Some(()));
        assert!(bell.take());
        assert!(!bell.take());
        assert_eq!(bell.heard().now_or_never(), None);
    }
}
