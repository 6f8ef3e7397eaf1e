//! The case that checkers judge: the evidence, and what its causes are found by, made once for all.

use super::books::Books;
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
    books: OnceCell<Option<Books>>,
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
            books: OnceCell::new(),
            shared: OnceCell::new(),
            left: RefCell::default(),
        }
    }

    /// Returns the contents of the store at a time. Many locks that are stuck are so at the same
    /// one.
    pub(crate) fn left(&self, books: &Books, at_ns: u64) -> Rc<Left> {
        let mut left = self.left.borrow_mut();
        left.entry(at_ns).or_insert_with(|| Rc::new(Left::of(self, books, at_ns))).clone()
    }

    /// Returns the writer and the remover of each thing in the store, if they are known of this
    /// run: the store's ledger knows the owner of a thing, and the holders of a semaphore only where
    /// each has put something of its own there.
    pub(crate) fn ownership(&self) -> Option<&Books> {
        let is_known =
            |books: &Books| self.run.info.lock.promises.permits == 1 || books.tell_all(self);
        let ledger = || self.run.ledger.as_ref();
        let read = || ledger().and_then(|ledger| Books::of(self, ledger)).filter(is_known);
        self.books.get_or_init(read).as_ref()
    }

    /// Returns the claims that share their owner with another one in the store.
    pub(crate) fn shared(&self, books: &Books) -> &SharedClaims {
        self.shared.get_or_init(|| SharedClaims::of(self, books))
    }
}
