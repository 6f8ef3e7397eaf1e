//! Acquires that a lock refused though it was free, and nobody else asked for it.

/// The denials of one lock since its last grant.
#[derive(Clone, Debug, Default)]
pub(super) struct Denials {
    /// The acquires, as indices of operations.
    denied: Vec<usize>,
    /// The last hold ended with a release that succeeded.
    clean: bool,
    /// A hold ended in another way: something of it may be there still.
    spoilt: bool,
    /// The number of acquires that are under way.
    asking: u32,
    /// The last place in the history at which there were several.
    crowded: u64,
}

impl Denials {
    /// Notes that an acquire begins at a place.
    pub fn asks(&mut self, place: u64) {
        self.asking += 1;
        if self.asking > 1 {
            self.crowded = place;
        }
    }

    /// Notes that an acquire has its answer.
    pub fn is_answered(&mut self) {
        self.asking = self.asking.saturating_sub(1);
    }

    /// Notes that a free lock was refused to an acquire that began at a place. It counts if the
    /// acquire alone asked, and every release had succeeded.
    pub fn add(&mut self, operation: usize, began: u64) {
        if self.clean && !self.spoilt && self.crowded < began {
            self.denied.push(operation);
        }
    }

    /// Notes a grant.
    pub fn granted(&mut self) {
        self.denied.clear();
    }

    /// Notes that a hold is over: its release begins, or it is lost.
    pub fn freed(&mut self) {
        self.clean = false;
    }

    /// Notes that a hold ended without a release.
    pub fn lost(&mut self) {
        self.spoilt = true;
    }

    /// Notes that a release was answered, with success or not.
    pub fn released(&mut self, is_ok: bool) {
        self.clean = is_ok;
        self.spoilt |= !is_ok;
    }

    /// Returns the acquires that the lock refused for good: more than one.
    pub fn for_good(&self) -> Option<&[usize]> {
        (self.denied.len() > 1).then_some(&self.denied)
    }
}
