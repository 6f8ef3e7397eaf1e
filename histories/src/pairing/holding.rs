//! The locks that each process holds while a history is read, as far as its grants show.

use crate::reading::Value;
use base::Mode;
use std::collections::BTreeMap;

/// A hold of a process on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holding {
    /// The number of the key.
    pub key: u32,
    /// The mode in which it was granted, or to which it was converted.
    pub mode: Mode,
    /// The permits of a semaphore; 1 for any other lock.
    pub permits: u32,
    /// Its process could not free it: the release failed.
    pub refused: bool,
}

/// The locks that each process holds, and those that it has lost.
#[derive(Debug, Default)]
pub(super) struct Holdings(BTreeMap<Value, ProcessHoldings>);

#[derive(Debug, Default)]
struct ProcessHoldings {
    held: Vec<Holding>,
    /// The keys of holds that ended without a release.
    lost: Vec<u32>,
}

/// The holds that a release ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// These, or parts of them. The list is empty if its process is not known to hold the lock.
    Held(Vec<Holding>),
    /// None: its process had lost the hold before.
    Lost,
}

impl Holdings {
    /// Notes that a process was granted a lock, or that a release failed.
    pub fn take(&mut self, process: &Value, holding: Holding) {
        match self.0.get_mut(process) {
            Some(ours) => ours.held.push(holding),
            None => {
                let ours = ProcessHoldings { held: vec![holding], lost: Vec::new() };
                self.0.insert(process.clone(), ours);
            }
        }
    }

    /// The latest hold of a process on a key, in this mode if one is given and held.
    pub fn latest(&self, process: &Value, key: u32, mode: Option<Mode>) -> Option<Holding> {
        let ours = self.0.get(process)?;
        ours.place(key, mode).map(|place| ours.held[place])
    }

    /// Notes that a release begins, of so many permits.
    pub fn free(&mut self, process: &Value, key: u32, mode: Option<Mode>, permits: u32) -> Freed {
        let Some(ours) = self.0.get_mut(process) else { return Freed::Held(Vec::new()) };
        let (mut freed, mut left) = (Vec::new(), permits);
        while let Some(place) = ours.place(key, mode).filter(|_| left > 0) {
            let holding = &mut ours.held[place];
            let part = holding.permits.min(left);
            freed.push(Holding { permits: part, ..*holding });
            (holding.permits, left) = (holding.permits - part, left - part);
            if holding.permits == 0 {
                ours.held.remove(place);
            }
        }
        let lost = ours.lost.iter().rposition(|lost| *lost == key);
        match lost.filter(|_| freed.is_empty()) {
            Some(place) => {
                ours.lost.swap_remove(place);
                Freed::Lost
            }
            None => Freed::Held(freed),
        }
    }

    /// Ends the holds of a process without a release: on some keys, or on all. Returns them.
    pub fn lose(&mut self, process: &Value, is_lost: impl Fn(u32) -> bool) -> Vec<Holding> {
        let Some(ours) = self.0.get_mut(process) else { return Vec::new() };
        let lost: Vec<Holding> = ours.held.extract_if(.., |held| is_lost(held.key)).collect();
        ours.lost.extend(lost.iter().map(|holding| holding.key));
        lost
    }

    /// Notes that a process holds a lock in another mode from now on.
    pub fn convert(&mut self, process: &Value, key: u32, mode: Mode) {
        let Some(ours) = self.0.get_mut(process) else { return };
        if let Some(place) = ours.place(key, None) {
            ours.held[place].mode = mode;
        }
    }
}

impl ProcessHoldings {
    fn place(&self, key: u32, mode: Option<Mode>) -> Option<usize> {
        let last = |mode: Option<Mode>| {
            let is_it = |held: &Holding| held.key == key && mode.is_none_or(|it| it == held.mode);
            self.held.iter().rposition(is_it)
        };
        last(mode).or_else(|| last(None))
    }
}
