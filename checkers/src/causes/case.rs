//! The case that checkers judge: the evidence, and what its causes are found by, made once for all.

use super::ownership::Ownership;
use super::shared::SharedClaims;
use super::stuck::Left;
use crate::evidence::Evidence;
use base::Run;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

/// A run with what has been read from it, and with what its causes are found by. Most runs break
/// nothing, so that this is made when it is first asked for.
#[derive(Debug)]
pub struct Case<'a> {
    evidence: Evidence<'a>,
    /// The ledger by thing.
    ownership: OnceCell<Option<Ownership>>,
    shared: OnceCell<SharedClaims>,
    /// The contents of the store, by time.
    left: RefCell<BTreeMap<u64, Rc<Left>>>,
}

impl<'a> Deref for Case<'a> {
    type Target = Evidence<'a>;

    fn deref(&self) -> &Self::Target {
        &self.evidence
    }
}

impl<'a> Case<'a> {
    /// Reads a run.
    pub fn of(run: &'a Run) -> Self {
        Self {
            evidence: Evidence::of(run),
            ownership: OnceCell::new(),
            shared: OnceCell::new(),
            left: RefCell::default(),
        }
    }

    /// Returns the contents of the store at a time. Many locks that are stuck are so at the same
    /// one.
    pub(crate) fn left(&self, ownership: &Ownership, at_ns: u64) -> Rc<Left> {
        let mut left = self.left.borrow_mut();
        left.entry(at_ns).or_insert_with(|| Rc::new(Left::of(self, ownership, at_ns))).clone()
    }

    /// Returns the writer and the remover of each thing in the store, if they are known of this
    /// run: the store's ledger knows the owner of a thing, and the holders of a semaphore only where
    /// each has put something of its own there.
    pub(crate) fn ownership(&self) -> Option<&Ownership> {
        let is_known = |ownership: &Ownership| {
            self.run.info.lock.promises.permits == 1 || ownership.tells_all(self)
        };
        let ledger = || self.run.ledger.as_ref();
        let read = || ledger().and_then(|ledger| Ownership::of(self, ledger)).filter(is_known);
        self.ownership.get_or_init(read).as_ref()
    }

    /// Returns the claims that share their owner with another one in the store.
    pub(crate) fn shared(&self, ownership: &Ownership) -> &SharedClaims {
        self.shared.get_or_init(|| SharedClaims::of(self, ownership))
    }
}
