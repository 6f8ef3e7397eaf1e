//! Reads claims, and accesses of the vault, from a history, event by event.

use super::{Access, AcquireAnswer, Claim, Claims, Ending, HoldEnd, StrayRelease};
use crate::line_sweep::HoldChange;
use crate::processes::Processes;
use base::{Event, F, Key, Kind, Mode};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;

/// The reader of claims: what it has read so far, and what it remembers of each process.
#[derive(Debug, Default)]
pub(super) struct ClaimTracker {
    clients: Processes<ProcessMemory>,
    read: Read,
}

/// The claims and accesses read so far.
#[derive(Debug, Default)]
struct Read {
    keys: Keys,
    claims: Vec<Claim>,
    strays: Vec<StrayRelease>,
    accesses: Vec<Access>,
    changes: Vec<HoldChange>,
    answered: Vec<u32>,
    run_events: Vec<u64>,
}

/// The memory of one process. Lists, not maps: a client has a handful of locks at most.
#[derive(Debug, Default)]
struct ProcessMemory {
    /// Claims that are being asked for or held.
    live: Vec<usize>,
    /// The claim whose release is under way.
    releasing: Option<usize>,
    /// The release under way of what it was never granted.
    stray: Option<usize>,
    /// The latest grant of each key.
    latest: LatestGrants,
    /// The number of its grants.
    grants: u64,
    /// True once it died, or an acquire of unknown outcome ended its number.
    gone: bool,
}

impl ClaimTracker {
    /// Makes a tracker with room for what a history of so many events mostly has. Room that is not
    /// used costs nothing, and lists that grow are copied each time: a claim has four events, but
    /// for those that are still open at the end.
    pub(super) fn with_room(events: usize) -> Self {
        let read = Read {
            claims: Vec::with_capacity(events / 3),
            changes: Vec::with_capacity(events / 2),
            accesses: Vec::with_capacity(events / 2),
            answered: Vec::with_capacity(events / 4),
            ..Read::default()
        };
        Self { read, ..Self::default() }
    }

    /// Takes the next event.
    pub(super) fn step(&mut self, event: &Event) {
        let Self { clients, read } = self;
        let of_run = matches!(event.f, F::Quiet | F::Stop | F::Heal | F::Interference | F::Stall);
        if event.fault.is_some() || of_run {
            read.run_events.push(event.index);
        }
        let Some(process) = event.client() else { return };
        let client = clients.of(process);
        match (event.f, event.kind) {
            (F::Acquire, Kind::Invoke) => {
                read.ask(process, client, event);
            }
            (F::Acquire, _) => read.answer(process, client, event),
            (F::Convert, kind) => read.convert(client, event, kind),
            (F::Release, Kind::Invoke) => read.release(process, client, event),
            (F::Release, _) => read.released(client, event),
            (F::Lost, _) => read.lose(client, event),
            (F::Death, _) => read.die(client, event.index),
            (F::Read | F::Write, _) => read.access(process, client, event),
            (F::Arrive, _) => read.arrive(process, event),
            _ => {}
        }
    }

    /// Returns all claims, when the history is at its end.
    pub(super) fn finish(self) -> Claims {
        let Read { keys, claims, strays, accesses, changes, answered, run_events } = self.read;
        let holders = self.clients.all().map(|(process, client)| (process, client.grants));
        let holders = holders.filter(|(_, grants)| *grants > 0).collect();
        Claims {
            keys: keys.names,
            claims,
            strays,
            changes,
            accesses,
            answered,
            run_events,
            holders,
        }
    }
}

impl ProcessMemory {
    /// The latest live claim on a key that is as asked for.
    fn live(&self, claims: &[Claim], key: usize, is: impl Fn(&Claim) -> bool) -> Option<usize> {
        let mut live = self.live.iter().rev().copied();
        live.find(|&id| claims[id].key == key && is(&claims[id]))
    }

    /// The latest live claim on a key that was granted.
    fn held(&self, claims: &[Claim], key: usize) -> Option<usize> {
        self.live(claims, key, |claim| claim.granted().is_some())
    }

    fn forget(&mut self, claim: usize) {
        self.live.retain(|live| *live != claim);
    }
}

impl Read {
    /// The small number of the lock that an event names.
    fn key(&mut self, event: &Event) -> usize {
        self.keys.id(&event.key)
    }

    fn access(&mut self, process: u32, client: &ProcessMemory, event: &Event) {
        let key = self.key(event);
        let grant = client.latest.of(key).map(|claim| claim as u32);
        self.touch(process, key, grant, event);
    }

    fn touch(&mut self, process: u32, key: usize, grant: Option<u32>, event: &Event) {
        let Event { index, kind, f, mode, .. } = *event;
        self.accesses.push(Access { at: index, process, key: key as u32, grant, f, kind, mode });
    }

    /// A write that comes late belongs to the grant under which it was sent.
    fn arrive(&mut self, process: u32, event: &Event) {
        let key = self.key(event);
        let begun = event.facts.as_ref().and_then(|facts| facts.begun);
        let sent = begun.and_then(|at| self.accesses.binary_search_by_key(&at, |a| a.at).ok());
        let grant = sent.and_then(|place| self.accesses[place].grant);
        self.touch(process, key, grant, event);
    }

    fn ask(&mut self, process: u32, client: &mut ProcessMemory, event: &Event) -> usize {
        let id = self.claims.len();
        self.claims.push(Claim {
            process,
            key: self.keys.id(&event.key),
            mode: event.mode.unwrap_or_default(),
            permits: event.value.map_or(1, |permits| u32::try_from(permits).unwrap_or(u32::MAX)),
            token: None,
            invoke: event.index,
            answer: AcquireAnswer::Open,
            end: None,
            freeing: None,
            freed: None,
            removed: None,
        });
        client.live.push(id);
        id
    }

    fn answer(&mut self, process: u32, client: &mut ProcessMemory, event: &Event) {
        let key = self.key(event);
        let asked = client.live(&self.claims, key, |claim| claim.answer == AcquireAnswer::Open);
        let id = match (asked, event.kind) {
            (Some(id), _) => id,
            // An answer after the end of its process changes nothing: the claim stays unknown.
            (None, Kind::Ok) if !client.gone => self.ask(process, client, event),
            (None, _) => return,
        };
        self.answered.push(id as u32);
        let claim = &mut self.claims[id];
        claim.answer = match event.kind {
            Kind::Ok => AcquireAnswer::Granted(event.index),
            Kind::Fail => AcquireAnswer::Failed(event.index),
            Kind::Info | Kind::Invoke => AcquireAnswer::Unknown(event.index),
        };
        if event.kind == Kind::Ok {
            claim.token = event.token;
            let to = Some(claim.mode);
            self.changes.push(HoldChange { at: event.index, hold: id as u32, to });
            client.latest.put(key, id);
            client.grants += 1;
        } else {
            client.forget(id);
            client.gone |= event.kind != Kind::Fail;
        }
    }

    fn release(&mut self, process: u32, client: &mut ProcessMemory, event: &Event) {
        let key = self.key(event);
        let held = client.held(&self.claims, key);
        // A client may still release what it has declared lost: that hold has ended already, and
        // only the outcome of its release is noted.
        client.releasing = held.or(client.latest.of(key));
        match client.releasing {
            Some(id) => self.claims[id].freeing = Some(event.index),
            None => {
                client.stray = Some(self.strays.len());
                let invoke = event.index;
                self.strays.push(StrayRelease { process, key, invoke, freed: None, removed: None });
            }
        }
        if let Some(id) = held {
            client.forget(id);
            self.end(id, event.index, Ending::Released);
            // What follows an inner release happens under the outer hold.
            if let Some(outer) = client.held(&self.claims, key) {
                client.latest.put(key, outer);
            }
        }
    }

    fn end(&mut self, id: usize, at: u64, how: Ending) {
        self.claims[id].end = Some(HoldEnd { at, how });
        self.changes.push(HoldChange { at, hold: id as u32, to: None });
    }

    /// The weaker hold is kept throughout, whatever the outcome.
    fn convert(&mut self, client: &mut ProcessMemory, event: &Event, kind: Kind) {
        let key = self.key(event);
        let held = client.held(&self.claims, key);
        let mode = event.mode.unwrap_or_default();
        if let (Some(id), (Mode::Shared, Kind::Invoke) | (Mode::Exclusive, Kind::Ok)) =
            (held, (mode, kind))
        {
            self.changes.push(HoldChange { at: event.index, hold: id as u32, to: Some(mode) });
        }
        client.gone |= kind == Kind::Info;
    }

    fn released(&mut self, client: &mut ProcessMemory, event: &Event) {
        let freed = Some((event.index, event.kind));
        let removed = event.facts.as_ref().and_then(|facts| facts.removed);
        if let Some(id) = client.releasing.take() {
            let claim = &mut self.claims[id];
            (claim.freed, claim.removed) = (freed, removed);
        } else if let Some(id) = client.stray.take() {
            let stray = &mut self.strays[id];
            (stray.freed, stray.removed) = (freed, removed);
        }
    }

    fn lose(&mut self, client: &mut ProcessMemory, event: &Event) {
        let key = self.key(event);
        while let Some(id) = client.held(&self.claims, key) {
            self.end(id, event.index, Ending::Lost);
            client.forget(id);
        }
    }

    fn die(&mut self, client: &mut ProcessMemory, at: u64) {
        client.gone = true;
        if let Some(id) = client.releasing.take() {
            let claim = &mut self.claims[id];
            (claim.freed, claim.removed) = (Some((at, Kind::Info)), None);
        }
        for id in std::mem::take(&mut client.live) {
            match self.claims[id].answer {
                AcquireAnswer::Granted(_) => self.end(id, at, Ending::Death),
                _ => {
                    self.claims[id].answer = AcquireAnswer::Unknown(at);
                    self.answered.push(id as u32);
                }
            }
        }
    }
}

/// The latest grant of each key. A client has a handful of keys in most histories, and then nothing
/// is hashed.
#[derive(Debug, Default)]
struct LatestGrants {
    few: Vec<(usize, usize)>,
    more: HashMap<usize, usize, FxBuildHasher>,
}

/// The number of keys that are looked for one by one.
const FEW: usize = 8;

impl LatestGrants {
    /// The grant, whether or not it is still held.
    fn of(&self, key: usize) -> Option<usize> {
        let found = self.few.iter().find(|(of, _)| *of == key).map(|(_, claim)| *claim);
        found.or_else(|| self.more.get(&key).copied())
    }

    fn put(&mut self, key: usize, claim: usize) {
        let room = self.few.len() < FEW;
        match self.few.iter_mut().find(|(of, _)| *of == key) {
            Some((_, latest)) => *latest = claim,
            None if room => self.few.push((key, claim)),
            None => drop(self.more.insert(key, claim)),
        }
    }
}

/// Small numbers for keys.
#[derive(Debug, Default)]
struct Keys {
    names: Vec<Key>,
    ids: BTreeMap<Key, usize>,
    /// The last answer: most histories name one key most of the time, so it is mostly the next one,
    /// too.
    last: Option<usize>,
}

impl Keys {
    /// An event without a key is about a lock without a name.
    fn id(&mut self, key: &Option<Key>) -> usize {
        let name = key.as_deref().unwrap_or_default();
        if let Some(id) = self.last.filter(|last| *self.names[*last] == *name) {
            return id;
        }
        let id = *self.ids.entry(name.into()).or_insert_with(|| {
            self.names.push(name.into());
            self.names.len() - 1
        });
        self.last = Some(id);
        id
    }
}

#[cfg(test)]
mod tests;
