//! The locks of sessions, and the queues of those that wait for them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A thing that one session at a time can lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lockable {
    /// An advisory lock. A session may take it several times, and its transaction once more.
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

/// The scope in which a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockScope {
    /// The session has it until it has given it back as many times as it has taken it.
    Session,
    /// The session has it until its transaction ends.
    Transaction,
}

/// The ways in which a session has a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Taken {
    /// The number of times that it has taken it, and not yet given it back.
    times: u32,
    /// True if it has it until its transaction ends.
    in_transaction: bool,
}

impl Taken {
    /// Takes it, possibly once more.
    pub const fn take(&mut self, scope: LockScope) {
        match scope {
            LockScope::Session => self.times += 1,
            LockScope::Transaction => self.in_transaction = true,
        }
    }

    /// Gives it back once, or as the transaction ends. Returns false if it was not taken so.
    pub const fn give_back(&mut self, scope: LockScope) -> bool {
        match scope {
            LockScope::Session if self.times == 0 => return false,
            LockScope::Session => self.times -= 1,
            LockScope::Transaction => return std::mem::replace(&mut self.in_transaction, false),
        }
        true
    }

    /// Returns true if the session does not have it any more.
    pub const fn is_free(self) -> bool {
        self.times == 0 && !self.in_transaction
    }
}

/// A lock, as long as somebody has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TakenLock {
    /// The connection whose session has it.
    by: u64,
    /// The ways in which that has it.
    taken: Taken,
    /// The connections that wait for it, in order.
    waiting: VecDeque<(u64, LockScope)>,
}

impl TakenLock {
    fn new(by: u64, scope: LockScope, waiting: VecDeque<(u64, LockScope)>) -> Self {
        let mut taken = Taken::default();
        taken.take(scope);
        Self { by, taken, waiting }
    }
}

/// All locks that somebody has.
#[derive(Clone, Debug, Default, Hash)]
pub struct Locks(BTreeMap<Lockable, TakenLock>);

impl Locks {
    /// Takes a lock if it is free or the session's own. Returns false if it is another's.
    pub fn take(&mut self, what: &Lockable, who: u64, scope: LockScope) -> bool {
        match self.0.get_mut(what) {
            Some(lock) if lock.by != who => return false,
            Some(lock) => lock.taken.take(scope),
            None => {
                self.0.insert(what.clone(), TakenLock::new(who, scope, VecDeque::new()));
            }
        }
        true
    }

    /// Returns true if a session has a lock.
    pub fn has(&self, what: &Lockable, who: u64) -> bool {
        self.0.get(what).is_some_and(|taken| taken.by == who)
    }

    /// Has a session wait for a lock that is another's.
    pub fn wait(&mut self, what: &Lockable, who: u64, scope: LockScope) {
        if let Some(taken) = self.0.get_mut(what) {
            taken.waiting.push_back((who, scope));
        }
    }

    /// Has a session wait no longer.
    pub fn give_up(&mut self, what: &Lockable, who: u64) {
        if let Some(taken) = self.0.get_mut(what) {
            taken.waiting.retain(|(waiting, _)| *waiting != who);
        }
    }

    /// The session that waits for a lock before all others.
    pub fn first(&self, what: &Lockable) -> Option<u64> {
        self.0.get(what)?.waiting.front().map(|(first, _)| *first)
    }

    /// Gives back a lock that a session has, once or as its transaction ends. Returns whether it is
    /// free then; `None`: the session had not taken it so.
    pub fn give_back(&mut self, what: &Lockable, who: u64, scope: LockScope) -> Option<bool> {
        let lock = self.0.get_mut(what).filter(|lock| lock.by == who)?;
        lock.taken.give_back(scope).then(|| lock.taken.is_free())
    }

    /// Hands a lock on to whoever waits for it first, and returns that one.
    pub fn hand_on(&mut self, what: &Lockable) -> Option<u64> {
        let mut waiting = self.0.remove(what)?.waiting;
        let (next, scope) = waiting.pop_front()?;
        self.0.insert(what.clone(), TakenLock::new(next, scope, waiting));
        Some(next)
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
