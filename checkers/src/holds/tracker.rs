//! Reads claims, and accesses of the vault, from a history, event by event.

use super::{Access, Answer, Claim, Claims, End, Ending};
use crate::sweep::Change;
use base::{Event, F, Key, Kind, Mode};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    keys: Keys,
    claims: Vec<Claim>,
    accesses: Vec<Access>,
    changes: Vec<Change>,
    clients: HashMap<u32, Client, FxBuildHasher>,
}

/// What is remembered of a process. Lists, not maps: a client has a handful of locks at most.
#[derive(Debug, Default)]
struct Client {
    /// Claims that are being asked for or held.
    live: Vec<usize>,
    /// The claim whose release is under way.
    releasing: Option<usize>,
    /// The latest grant of each key.
    grants: Vec<(usize, usize)>,
    /// It died, or an acquire of unknown outcome ended its number.
    gone: bool,
}

impl Tracker {
    /// With room for what a history of so many events mostly has. Room that is not used costs
    /// nothing, and lists that grow are copied each time.
    pub(super) fn with_room(events: usize) -> Self {
        Self {
            claims: Vec::with_capacity(events / 4),
            changes: Vec::with_capacity(events / 2),
            ..Self::default()
        }
    }

    /// Takes the next event.
    pub(super) fn step(&mut self, event: &Event) {
        let Some(process) = event.client() else { return };
        match (event.f, event.kind) {
            (F::Acquire, Kind::Invoke) => {
                self.ask(process, event);
            }
            (F::Acquire, _) => self.answer(process, event),
            (F::Convert, kind) => self.convert(process, event, kind),
            (F::Release, Kind::Invoke) => self.release(process, event),
            (F::Release, kind) => self.released(process, event.index, kind),
            (F::Lost, _) => self.lose(process, event),
            (F::Death, _) => self.die(process, event.index),
            (F::Read | F::Write, _) => self.access(process, event),
            _ => {}
        }
    }

    /// The small number of the lock that an event names.
    fn key(&mut self, event: &Event) -> usize {
        self.keys.id(event.key.as_ref())
    }

    /// The latest grant of a key to a process, whether or not it still holds it.
    fn latest_grant(&self, process: u32, key: usize) -> Option<usize> {
        let client = self.clients.get(&process)?;
        client.grants.iter().find(|(of, _)| *of == key).map(|(_, claim)| *claim)
    }

    /// All there is to know, when the history is at its end.
    pub(super) fn finish(self) -> Claims {
        let Self { keys, claims, accesses, changes, .. } = self;
        Claims { keys: keys.names, claims, changes, accesses }
    }

    fn access(&mut self, process: u32, event: &Event) {
        let key = self.key(event);
        let grant = self.latest_grant(process, key);
        self.accesses.push(Access { at: event.index, key, grant });
    }

    fn ask(&mut self, process: u32, event: &Event) -> usize {
        let id = self.claims.len();
        self.claims.push(Claim {
            process,
            key: self.keys.id(event.key.as_ref()),
            mode: event.mode.unwrap_or_default(),
            token: None,
            invoke: event.index,
            answer: Answer::Open,
            end: None,
            freed: None,
        });
        self.clients.entry(process).or_default().live.push(id);
        id
    }

    fn answer(&mut self, process: u32, event: &Event) {
        let key = self.key(event);
        let asked = self.live(process, key, |claim| claim.answer == Answer::Open);
        let id = match (asked, event.kind) {
            (Some(id), _) => id,
            // An answer after the end of its process changes nothing: the claim stays unknown.
            (None, Kind::Ok) if !self.is_gone(process) => self.ask(process, event),
            (None, _) => return,
        };
        let client = self.clients.entry(process).or_default();
        self.claims[id].answer = match event.kind {
            Kind::Ok => Answer::Granted(event.index),
            Kind::Fail => Answer::Failed(event.index),
            Kind::Info | Kind::Invoke => Answer::Unknown(event.index),
        };
        if event.kind == Kind::Ok {
            self.claims[id].token = event.token;
            let to = Some(self.claims[id].mode);
            self.changes.push(Change { at: event.index, hold: id as u32, to });
            match client.grants.iter_mut().find(|(of, _)| *of == key) {
                Some((_, latest)) => *latest = id,
                None => client.grants.push((key, id)),
            }
        } else {
            client.live.retain(|live| *live != id);
            client.gone |= event.kind != Kind::Fail;
        }
    }

    fn is_gone(&self, process: u32) -> bool {
        self.clients.get(&process).is_some_and(|client| client.gone)
    }

    fn release(&mut self, process: u32, event: &Event) {
        let key = self.key(event);
        let held = self.live(process, key, |claim| claim.granted().is_some());
        let last = self.latest_grant(process, key);
        let client = self.clients.entry(process).or_default();
        // A client may still release what it has declared lost: that hold has ended already, and
        // only the outcome of its release is noted.
        client.releasing = held.or(last);
        if let Some(id) = held {
            client.live.retain(|live| *live != id);
            self.end(id, event.index, Ending::Released);
        }
    }

    fn end(&mut self, id: usize, at: u64, how: Ending) {
        self.claims[id].end = Some(End { at, how });
        self.changes.push(Change { at, hold: id as u32, to: None });
    }

    /// The weaker hold is kept throughout, whatever the outcome.
    fn convert(&mut self, process: u32, event: &Event, kind: Kind) {
        let key = self.key(event);
        let held = self.live(process, key, |claim| claim.granted().is_some());
        let mode = event.mode.unwrap_or_default();
        if let (Some(id), (Mode::Shared, Kind::Invoke) | (Mode::Exclusive, Kind::Ok)) =
            (held, (mode, kind))
        {
            self.changes.push(Change { at: event.index, hold: id as u32, to: Some(mode) });
        }
        if kind == Kind::Info {
            self.clients.entry(process).or_default().gone = true;
        }
    }

    fn released(&mut self, process: u32, at: u64, kind: Kind) {
        let client = self.clients.get_mut(&process);
        if let Some(id) = client.and_then(|client| client.releasing.take()) {
            self.claims[id].freed = Some((at, kind));
        }
    }

    fn lose(&mut self, process: u32, event: &Event) {
        let key = self.key(event);
        while let Some(id) = self.live(process, key, |claim| claim.granted().is_some()) {
            self.end(id, event.index, Ending::Lost);
            let client = self.clients.entry(process).or_default();
            client.live.retain(|live| *live != id);
        }
    }

    fn die(&mut self, process: u32, at: u64) {
        let client = self.clients.entry(process).or_default();
        client.gone = true;
        let live = std::mem::take(&mut client.live);
        if let Some(id) = client.releasing.take() {
            self.claims[id].freed = Some((at, Kind::Info));
        }
        for id in live {
            match self.claims[id].answer {
                Answer::Granted(_) => self.end(id, at, Ending::Death),
                _ => self.claims[id].answer = Answer::Unknown(at),
            }
        }
    }

    /// The latest live claim of a process on a key that is as asked for.
    fn live(&self, process: u32, key: usize, is: impl Fn(&Claim) -> bool) -> Option<usize> {
        let live = &self.clients.get(&process)?.live;
        live.iter().rev().copied().find(|&id| self.claims[id].key == key && is(&self.claims[id]))
    }
}

/// Small numbers for keys.
#[derive(Debug, Default)]
struct Keys {
    names: Vec<Key>,
    ids: BTreeMap<Key, usize>,
    /// Most histories name one key most of the time: the last answer is mostly the next one.
    last: usize,
}

impl Keys {
    /// An event without a key is about a lock without a name.
    fn id(&mut self, key: Option<&Key>) -> usize {
        let name = key.map_or("", |key| key.as_ref());
        let same = |last: &Key| key.is_some_and(|key| Arc::ptr_eq(last, key)) || **last == *name;
        if self.names.get(self.last).is_some_and(same) {
            return self.last;
        }
        self.last = match self.ids.get(name) {
            Some(id) => *id,
            None => self.add(key.map_or_else(|| name.into(), Key::clone)),
        };
        self.last
    }

    fn add(&mut self, key: Key) -> usize {
        let id = self.names.len();
        self.ids.insert(key.clone(), id);
        self.names.push(key);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{History, Process};

    /// The claims of events that are given as process, type and what was done, all of one key.
    fn claims(events: &[(u32, Kind, F)]) -> Vec<Claim> {
        let mut history = History::default();
        for (process, kind, f) in events {
            history.push(Event::new(0, Process::Client(*process), *kind, *f));
        }
        Claims::of(&history).claims
    }

    #[test]
    fn an_answer_without_its_question_opens_a_claim() {
        let read = claims(&[
            (u32::MAX, Kind::Ok, F::Acquire),
            (u32::MAX, Kind::Invoke, F::Release),
            (u32::MAX, Kind::Fail, F::Acquire),
        ]);
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].definite(), Some(0..1));
    }

    #[test]
    fn what_ends_no_hold_is_passed_over() {
        let read = claims(&[
            (1, Kind::Invoke, F::Release),
            (1, Kind::Ok, F::Release),
            (1, Kind::Info, F::Lost),
            (2, Kind::Info, F::Death),
        ]);
        assert!(read.is_empty());
    }

    #[test]
    fn an_answer_after_the_end_of_its_process_gives_nothing() {
        let asked = (1, Kind::Invoke, F::Acquire);
        let late = (1, Kind::Ok, F::Acquire);
        for end in [(1, Kind::Info, F::Death), (1, Kind::Info, F::Acquire)] {
            let read = claims(&[asked, end, late]);
            assert_eq!(read.len(), 1, "{read:?}");
            assert_eq!(read[0].answer, Answer::Unknown(1));
        }
    }

    #[test]
    fn a_release_ends_the_later_of_two_holds_and_death_ends_both() {
        let twice = [
            (1, Kind::Invoke, F::Acquire),
            (1, Kind::Ok, F::Acquire),
            (1, Kind::Invoke, F::Acquire),
            (1, Kind::Ok, F::Acquire),
        ];
        let freed = [(1, Kind::Invoke, F::Release), (1, Kind::Ok, F::Release)];
        let read = claims(&[&twice[..], &freed[..]].concat());
        assert_eq!(read[0].definite(), Some(1..u64::MAX));
        assert_eq!(read[1].definite(), Some(3..4));
        assert_eq!(read[1].freed, Some((5, Kind::Ok)));
        let read = claims(&[&twice[..], &[(1, Kind::Info, F::Death)]].concat());
        assert!(read.iter().all(|claim| claim.end == Some(End { at: 4, how: Ending::Death })));
    }
}
