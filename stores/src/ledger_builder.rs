//! Builds the ledger of a world: turns what the models note into entries by process.

use crate::Topology;
use crate::model::{By, Name, Noted, What};
use base::{Change, Ledger, Mono};
use std::collections::BTreeMap;

/// The ledger in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerBuilder {
    ledger: Ledger,
    /// The process of each session.
    sessions: BTreeMap<i64, u32>,
    /// The last transaction of an ensemble that was entered.
    zxid: i64,
    /// The servers that stand for the store, each for a share of it, where others hold the same:
    /// what another writes is lost.
    primaries: Vec<u32>,
    /// The znodes in an ensemble's store, each with its session: only sessions have owners to miss.
    /// Of a store with a primary: the things in it, each with the process that wrote it.
    standing: BTreeMap<Name, i64>,
}

impl LedgerBuilder {
    /// The builder of a topology's ledger.
    pub fn of(topology: &Topology) -> Self {
        Self { primaries: topology.primaries().collect(), ..Self::default() }
    }

    /// The server in whose place this one comes to stand for a share of the store.
    pub fn before(&self, primary: u32) -> Option<u32> {
        self.primaries.get(self.share(primary)?).copied()
    }

    /// The share of the store that a server holds: they are dealt out in turn.
    fn share(&self, server: u32) -> Option<usize> {
        (server as usize).checked_rem(self.primaries.len())
    }

    /// Enters what is lost because the store goes on with another server's data.
    pub fn go_over_to(&mut self, at: Mono, primary: u32, noted: &mut Vec<Noted>) {
        if let Some(share) = self.share(primary) {
            self.primaries[share] = primary;
        }
        self.enter(at, primary, None, noted);
    }

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
            let Some(change) = self.change(caller, what) else { continue };
            if let What::Shared(_) = what {
                self.ledger.share(&String::from_utf8_lossy(&object));
            }
            match self.before(server).filter(|_| zxid.is_none()) {
                Some(primary) if primary != server => {
                    self.enter_in_vain(at, server, &object, change);
                }
                Some(_) => self.enter_for_all(at, &object, change),
                None => self.note(at, if zxid.is_some() { 0 } else { server }, &object, change),
            }
        }
    }

    /// Enters what the server does that stands for the store.
    fn enter_for_all(&mut self, at: Mono, object: &Name, change: Change) {
        match change {
            Change::Written(process) => {
                self.standing.insert(object.clone(), process.into());
            }
            Change::Restored => {}
            _ => drop(self.standing.remove(object)),
        }
        self.note(at, 0, object, change);
    }

    /// Enters what a server does that does not stand for the store. Whatever is written there is
    /// lost: it is another thing than that of the same name in the store. What its owner removes
    /// there still stands in the store.
    fn enter_in_vain(&mut self, at: Mono, server: u32, object: &Name, change: Change) {
        match change {
            Change::Written(_) => {
                self.note(at, server + 1, object, change);
                self.note(at, server + 1, object, Change::Wiped);
            }
            Change::Deleted(by) if self.standing.get(object) == Some(&by.into()) => {
                self.note(at, 0, object, Change::Restored);
            }
            _ => {}
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
            What::Written(by) | What::Shared(by) => who(by).map(Change::Written),
            What::Deleted(by) => who(by).map(Change::Deleted),
            What::Overdue(by) => who(by).map(Change::Overdue),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreId;

    fn noted(what: What) -> Vec<Noted> {
        vec![Noted { object: Name::from_slice(b"k"), what, zxid: None }]
    }

    /// Server 0 is the primary until server 2 takes its place without what process 7 wrote last.
    #[test]
    fn what_a_deposed_primary_does_is_in_vain() {
        let topology = StoreId::topology("redis-sentinel").expect("it is in the list");
        let mut ledger = LedgerBuilder::of(topology);
        let (written, deleted) = (What::Written(By::Caller), What::Deleted(By::Caller));
        let enter = |ledger: &mut LedgerBuilder, server, process, what| {
            ledger.enter(Mono::ZERO, server, Some(process), &mut noted(what));
        };
        enter(&mut ledger, 0, 6, written);
        ledger.go_over_to(Mono::ZERO, 2, &mut Vec::new());
        enter(&mut ledger, 0, 6, deleted);
        enter(&mut ledger, 0, 7, written);
        enter(&mut ledger, 2, 8, written);
        enter(&mut ledger, 0, 6, deleted);
        ledger.go_over_to(Mono::ZERO, 1, &mut noted(What::Wiped));
        let entries = ledger.take();
        let entries = entries.entries().iter().map(|entry| (entry.server, entry.change));
        let expected = [
            (0, Change::Written(6)),
            (0, Change::Restored),
            (1, Change::Written(7)),
            (1, Change::Wiped),
            (0, Change::Written(8)),
            (0, Change::Wiped),
        ];
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }
}
