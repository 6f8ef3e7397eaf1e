//! The loss of exactly one call: a request that never arrives, or a reply that never comes back.
//! The connection breaks with it, for both ends, so that the client learns that something was lost
//! and not which of the two.

use super::gate::Gate;
use super::{LinkProxy, SharedProxy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A loss that strikes once, on whichever of its links the first call comes.
#[derive(Default)]
pub struct CallLoss(AtomicBool);

impl CallLoss {
    /// Returns true once: what is on its way is the one to be lost.
    pub fn strikes(&self) -> bool {
        !self.0.swap(true, Relaxed)
    }

    /// The number of calls that it has lost.
    pub fn lost(&self) -> u64 {
        self.0.load(Relaxed).into()
    }
}

/// The half of a call that is to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The request: it is not carried out.
    Request,
    /// The reply: the request has been carried out.
    Reply,
}

impl LinkProxy {
    /// Has this loss strike here, until the returned guard is dropped.
    pub fn lose(&self, half: Half, loss: &Arc<CallLoss>) -> Losing {
        let losing = Losing { shared: self.shared.clone(), half, loss: loss.clone() };
        losing.gate().losses.add(loss);
        losing
    }
}

/// A link on which a call is to be lost. Dropping it ends that.
#[must_use = "nothing is lost any more when this is dropped"]
pub struct Losing {
    shared: Arc<SharedProxy>,
    half: Half,
    loss: Arc<CallLoss>,
}

impl Losing {
    fn gate(&self) -> &Gate {
        match self.half {
            Half::Request => &self.shared.up,
            Half::Reply => &self.shared.down,
        }
    }
}

impl Drop for Losing {
    fn drop(&mut self) {
        self.gate().losses.remove(&self.loss);
    }
}
