//! The locks of sessions, and the queues of those that wait for them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A thing that one session at a time can lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lockable {
    /// An advisory lock. A session may take it several times.
    Advisory(String),
    /// A row of the table. A transaction that has locked it may do so again.
    Row(String),
}

impl fmt::Display for Lockable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Advisory(key) => write!(f, "advisory lock {key}"),
            Self::Row(name) => write!(f, "row {name}"),
        }
    }
}

/// A lock, as long as somebody has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TakenLock {
    /// The connection whose session has it.
    by: u64,
    /// The number of times that it has taken it.
    times: u32,
    /// The connections that wait for it, in order.
    waiting: VecDeque<u64>,
}

/// All locks that somebody has.
#[derive(Clone, Debug, Default, Hash)]
pub struct Locks(BTreeMap<Lockable, TakenLock>);

impl Locks {
    /// Takes a lock if it is free or the session's own. Returns false if it is another's.
    pub fn take(&mut self, what: &Lockable, who: u64) -> bool {
        match self.0.get_mut(what) {
            Some(taken) if taken.by != who => return false,
            Some(taken) => taken.times += u32::from(matches!(what, Lockable::Advisory(_))),
            None => {
                let taken = TakenLock { by: who, times: 1, waiting: VecDeque::new() };
                self.0.insert(what.clone(), taken);
            }
        }
        true
    }

    /// Returns true if a session has a lock.
    pub fn has(&self, what: &Lockable, who: u64) -> bool {
        self.0.get(what).is_some_and(|taken| taken.by == who)
    }

    /// Has a session wait for a lock that is another's. Returns true if it is the first to wait.
    pub fn wait(&mut self, what: &Lockable, who: u64) -> bool {
        let Some(taken) = self.0.get_mut(what) else { return false };
        taken.waiting.push_back(who);
        taken.waiting.len() == 1
    }

    /// Has a session wait no longer.
    pub fn give_up(&mut self, what: &Lockable, who: u64) {
        if let Some(taken) = self.0.get_mut(what) {
            taken.waiting.retain(|waiting| *waiting != who);
        }
    }

    /// The session that waits for a lock before all others.
    pub fn first(&self, what: &Lockable) -> Option<u64> {
        self.0.get(what)?.waiting.front().copied()
    }

    /// Gives back a lock as many times as it was taken, or once. Returns true if it is free then.
    pub fn give_back(&mut self, what: &Lockable, all: bool) -> bool {
        let Some(taken) = self.0.get_mut(what) else { return false };
        taken.times = if all { 0 } else { taken.times - 1 };
        taken.times == 0
    }

    /// Hands a lock that was given back to whoever waits for it first, and returns that one.
    pub fn hand_on(&mut self, what: &Lockable) -> Option<u64> {
        let next = self.0.get_mut(what).and_then(|taken| {
            taken.by = taken.waiting.pop_front()?;
            taken.times = 1;
            Some(taken.by)
        });
        if next.is_none() {
            self.0.remove(what);
        }
        next
    }

    /// The locks that a session has.
    pub fn of(&self, who: u64) -> Vec<Lockable> {
        let own = self.0.iter().filter(|(_, taken)| taken.by == who);
        own.map(|(what, _)| what.clone()).collect()
    }

    /// All locks, each with the session that has it.
    pub fn all(&self) -> impl Iterator<Item = (&Lockable, u64)> {
        self.0.iter().map(|(what, taken)| (what, taken.by))
    }
}
