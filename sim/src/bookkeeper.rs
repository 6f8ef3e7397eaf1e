//! Keeps the ledger of a world: turns what the models note into entries by process.

use base::{Change, Ledger, Mono};
use std::collections::BTreeMap;
use stores::model::{By, Name, Noted, What};

/// The ledger in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bookkeeper {
    ledger: Ledger,
    /// The process of each session.
    sessions: BTreeMap<i64, u32>,
    /// The last transaction of an ensemble that was entered.
    zxid: i64,
    /// The znodes in an ensemble's store, each with its session: only sessions have owners to miss.
    standing: BTreeMap<Name, i64>,
}

impl Bookkeeper {
    /// Enters what a server has noted while it served this process, if it served one.
    pub fn enter(&mut self, at: Mono, server: u32, caller: Option<u32>, noted: &mut Vec<Noted>) {
        let last = self.zxid;
        for Noted { object, what, zxid } in noted.drain(..) {
            // Members of an ensemble all apply the same transactions: the first one counts.
            if zxid.is_some_and(|zxid| zxid <= last) {
                continue;
            }
            self.zxid = self.zxid.max(zxid.unwrap_or(0));
            if zxid.is_some() {
                self.stand(&object, what);
            }
            let place = if zxid.is_some() { 0 } else { server };
            if let Some(change) = self.change(caller, what) {
                self.note(at, place, &object, change);
            }
        }
    }

    /// A process has this session, if it has one, from before the first entry.
    pub fn open(&mut self, session: Option<i64>, process: u32) {
        self.sessions.extend(session.map(|session| (session, process)));
    }

    /// Compares what stands in an ensemble's store under a new leader with what should.
    pub fn restate(&mut self, at: Mono, now: Vec<(Name, i64)>) {
        let now: BTreeMap<Name, i64> = now.into_iter().collect();
        let before = std::mem::replace(&mut self.standing, now.clone());
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            self.note(at, 0, name, Change::Wiped);
        }
        for (name, session) in now.iter().filter(|(name, _)| !before.contains_key(*name)) {
            if let Some(process) = self.sessions.get(session).copied() {
                self.note(at, 0, name, Change::Written(process));
            }
        }
    }

    /// The ledger so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The same, for whoever needs no more of it here.
    pub fn take(&mut self) -> Ledger {
        std::mem::take(&mut self.ledger)
    }

    fn note(&mut self, at: Mono, server: u32, object: &Name, change: Change) {
        self.ledger.note(at.nanos(), server, &String::from_utf8_lossy(object), change);
    }

    fn stand(&mut self, object: &Name, what: What) {
        match what {
            What::Written(By::Session(session)) => {
                self.standing.entry(object.clone()).or_insert(session);
            }
            _ => {
                self.standing.remove(object);
            }
        }
    }

    fn change(&mut self, caller: Option<u32>, what: What) -> Option<Change> {
        let who = |by| match by {
            By::Caller => caller,
            By::Session(session) => self.sessions.get(&session).copied(),
        };
        match what {
            What::Written(by) => who(by).map(Change::Written),
            What::Deleted(by) => who(by).map(Change::Deleted),
            What::Expired => Some(Change::Expired),
            What::Evicted => Some(Change::Evicted),
            What::SessionBegan(session) => {
                self.sessions.extend(caller.map(|process| (session, process)));
                None
            }
            What::SessionEnded(session) => {
                self.sessions.get(&session).copied().map(Change::SessionEnded)
            }
            What::Wiped => Some(Change::Wiped),
            What::Restored => Some(Change::Restored),
        }
    }
}
