//! A backend: the process of the server that serves one session.

use super::locks::Lockable;
use crate::postgres::{SessionSettings, Statement};
use base::Mono;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// A server process, which serves one session.
#[derive(Clone, Debug)]
pub struct BackendProcess {
    /// The number of its session, which no other has.
    pub session: i64,
    /// The settings of its session.
    pub settings: SessionSettings,
    /// The transaction that is open.
    pub transaction: Option<TransactionState>,
    /// The lock that it waits for. Until then it reads nothing.
    pub blocked: Option<Blocked>,
    /// The statements that it has yet to read.
    pub inbox: VecDeque<Statement>,
    /// True if its client has hung up, which it finds out when it reads.
    pub hung_up: bool,
    /// The time since which it has had nothing to do.
    pub idle_since: Mono,
}

/// The state of a backend's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionState {
    /// All went well so far.
    Good,
    /// There was an error: it can only be ended.
    Failed,
}

/// A wait for a lock.
#[derive(Clone, Debug)]
pub struct Blocked {
    /// The lock that is waited for.
    pub on: Lockable,
    /// The time at which it gives up.
    pub until: Option<Mono>,
}

impl BackendProcess {
    /// Makes the backend of a new session.
    pub fn new(session: i64, settings: SessionSettings, at: Mono) -> Self {
        Self {
            session,
            settings,
            transaction: None,
            blocked: None,
            inbox: VecDeque::new(),
            hung_up: false,
            idle_since: at,
        }
    }

    /// The time at which it gives up a wait for a lock that begins now.
    pub fn gives_up(&self, now: Mono) -> Option<Mono> {
        let timeout = self.settings.lock_timeout;
        (!timeout.is_zero()).then(|| now + timeout)
    }

    /// The time at which it does something by itself.
    pub fn due(&self) -> Option<Mono> {
        if let Some(blocked) = &self.blocked {
            return blocked.until;
        }
        let idle = self.settings.idle_in_transaction;
        (self.transaction.is_some() && !idle.is_zero()).then(|| self.idle_since + idle)
    }
}

/// Everything but the times: an enumeration has none.
impl Hash for BackendProcess {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Self { session, settings, transaction, blocked, inbox, hung_up, idle_since: _ } = self;
        let on = blocked.as_ref().map(|blocked| &blocked.on);
        (session, settings, transaction, on, inbox, hung_up).hash(into);
    }
}
