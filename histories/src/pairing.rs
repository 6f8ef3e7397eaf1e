//! From the events of a history to the operations that a model judges: each `invoke` and what
//! answered it become one [`Operation`], whatever the file's own words and values were.
//!
//! An operation takes the value of its answer, or of its `invoke` where the answer has none; a read
//! of `nil` found nothing in the register. An operation under way at the end is of unknown outcome.
//! A hold may also end without a release: when its process dies, reports that it may have lost the
//! lock, or learns that it has: its `extend` failed, or its `valid` was answered with no. From then
//! on the lock may be free at any moment, as if by a release of unknown outcome; a later release by
//! that process is not one of this hold any more, and is left out.
//!
//! An operation that failed is left out; but in a log in Porcupine's manner, a cas that failed with
//! its two values has found another one (`misses`).
//!
//! The key of an event distinguishes objects, or (`independent`) Jepsen's tuples do: the value is
//! then `[key value]`. A list of keys is several locks, taken or freed by one operation. A field
//! that makes a difference to the model is understood or refused, never passed over.

use crate::HistoryError;
use crate::models::NamedModel;
use crate::operation::{Ended, Operation, OperationKind};
use crate::reading::{Entry, Value, Verb, mode_of, short};
use base::{Kind, Mode};
use holding::{Freed, Holding, Holdings};
use lock_terms::LockTerms;
use progress::{Rooms, TimedPlace, Waiting};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;
use std::sync::Arc;

mod denials;
mod holding;
mod lock_terms;
mod numbers;
mod paired;
mod progress;

pub use paired::Paired;
pub use progress::Unserved;

/// The facts about a history that its events do not contain.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Values are `[key value]`. `None`: as the first read, cas or operation of a lock shows it.
    pub independent: Option<bool>,
    /// The value of every register before anything is written.
    pub initial: Value,
    /// A cas that failed and has its two values in the answer found another one: the failure is not
    /// just an error.
    pub misses: bool,
    /// Events that the model does not know are passed over: a run of ours holds the lock's
    /// operations and the vault's side by side.
    pub mixed: bool,
}

/// Pairs events up, one by one.
pub struct Pairing {
    model: NamedModel,
    reading: Reading,
    /// Events that wait until it is known whether values are tuples.
    waiting: Vec<Entry>,
    /// True if it is not given, but guessed from the events, whether values are tuples.
    guessed: bool,
    open: BTreeMap<Value, OpenOperation>,
    holdings: Holdings,
    progress: Rooms,
    /// Bytes of what waits or is open.
    held: usize,
    paired: Paired,
}

/// An operation that is under way.
struct OpenOperation {
    verb: Verb,
    line: u64,
    began: TimedPlace,
    /// The indices of the operation in the list, one for each of its keys; none where the model
    /// does not know it.
    indices: SmallVec<[usize; 1]>,
    value: Value,
    /// The terms of the `invoke`: the mode and the permits, where it gives them.
    asked: LockTerms,
    /// The holds that it ends, if it is a release.
    freed: Vec<Holding>,
}

/// The number of events that may wait for a sign that values are tuples.
const MOST_WAITING: usize = 10_000;

impl Pairing {
    /// Begins a history.
    pub fn new(model: NamedModel, reading: Reading) -> Self {
        let guessed = reading.independent.is_none();
        let paired = Paired::new(reading.independent == Some(true));
        let permits = if model.has_permits() { model.bound } else { 1 };
        Self {
            model,
            reading,
            waiting: Vec::new(),
            guessed,
            open: BTreeMap::new(),
            holdings: Holdings::default(),
            progress: Rooms::new(permits),
            held: 0,
            paired,
        }
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// Fails when it does not fit those before it, or the model: with its line.
    pub fn push(&mut self, entry: Entry) -> Result<(), HistoryError> {
        if self.reading.independent.is_some() {
            return self.pair(entry);
        }
        let sign = Self::sign(&entry);
        self.held += held(&entry.process, &entry.value);
        self.waiting.push(entry);
        if sign.is_some() || self.waiting.len() >= MOST_WAITING {
            self.settle(sign.unwrap_or(false))?;
        }
        Ok(())
    }

    /// The operations, when the history is at its end.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(mut self) -> Result<Paired, HistoryError> {
        self.settle(false)?;
        let asked = self.open.values().filter(|open| open.verb == Verb::Acquire);
        let waiting = asked.flat_map(|open| {
            open.indices.iter().map(|index| (*index, open.began, open.asked.permits))
        });
        let waiting = waiting.map(|(operation, asked, permits)| {
            let key = self.paired.operations[operation].key;
            Waiting { operation, key, permits: permits.unwrap_or(1), asked }
        });
        let releases = self.open.values().filter(|open| open.verb == Verb::Release);
        let releasing: Vec<u64> = releases.map(|open| open.began.place).collect();
        self.paired.unserved = self.progress.unserved(waiting.collect(), &releasing);
        Ok(self.paired)
    }

    /// Returns the bytes kept so far: see [`Paired::memory`], with what is not in the list yet.
    pub fn memory(&self) -> usize {
        self.paired.memory() + self.held
    }

    /// Returns whether an event shows that values are tuples; `None`: it shows nothing. Only what
    /// would make no sense otherwise does: a read that begins with `[key nil]`, a cas of
    /// `[key [old new]]`, two values at a lock.
    fn sign(entry: &Entry) -> Option<bool> {
        let pair = match entry.value.bare() {
            value if is_lock(&entry.verb) && are_keys(value) => None,
            Value::List(items) if items.len() == 2 => Some(&items[1]),
            _ => None,
        };
        let begins = entry.kind == Kind::Invoke;
        match (&entry.verb, pair) {
            _ if entry.key.is_some() => Some(false),
            (verb, _) if is_lock(verb) && begins => Some(pair.is_some()),
            (verb, _) if is_lock(verb) => {
                (pair.is_some() && entry.kind == Kind::Ok).then_some(true)
            }
            (_, None) => (entry.value != Value::Nil).then_some(false),
            (Verb::Read, Some(second)) if begins => Some(*second == Value::Nil),
            (Verb::Cas, Some(second)) => Some(second.items().is_some_and(|pair| pair.len() == 2)),
            _ => None,
        }
    }

    fn settle(&mut self, independent: bool) -> Result<(), HistoryError> {
        if self.reading.independent.is_none() {
            self.reading.independent = Some(independent);
            self.paired.independent = independent;
        }
        self.held = 0;
        std::mem::take(&mut self.waiting).into_iter().try_for_each(|entry| self.pair(entry))
    }

    fn pair(&mut self, mut entry: Entry) -> Result<(), HistoryError> {
        let place = self.paired.lines.len() as u64;
        self.paired.lines.push(u32::try_from(entry.line).unwrap_or(u32::MAX));
        let is_answer = entry.kind != Kind::Invoke;
        self.progress.at(TimedPlace { place, time_ns: entry.time_ns }, is_answer);
        if self.paired.independent {
            untuple(&mut entry)?;
        } else if self.guessed && Self::sign(&entry) == Some(true) {
            let (verb, value) = (&entry.verb, short(&entry.value));
            let why =
                format!("this {verb} of {value} may be one on a key, and those before it are not");
            let help = "if all values are [key value], say --independent";
            return Err(HistoryError::wrong(entry.line, format!("{why}; {help}")));
        }
        if is_lock(&entry.verb) && entry.key.is_none() && are_keys(&entry.value) {
            entry.key = Some(std::mem::take(&mut entry.value).into_bare());
        }
        match (entry.kind, &entry.verb) {
            (Kind::Invoke, _) => self.begin(place, entry),
            (_, Verb::Fact(_)) => Ok(()),
            (Kind::Info, Verb::Death | Verb::Lost) => {
                self.lose(place, &entry);
                Ok(())
            }
            _ => self.end(place, entry),
        }
    }

    /// The numbers of the keys of an event: of one, or of a lock that is a list of several.
    fn keys(&mut self, key: &Option<Value>) -> SmallVec<[u32; 1]> {
        let several = key.as_ref().and_then(|key| key.bare().items());
        let several = several.filter(|_| self.model.is_lock());
        let Some(several) = several else { return smallvec![self.paired.keys.of(key)] };
        let mut keys: SmallVec<[u32; 1]> =
            several.iter().map(|key| self.paired.keys.of(&Some(key.clone()))).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Ends the holds of a process without a release, on the keys of the event or on all.
    fn lose(&mut self, place: u64, entry: &Entry) {
        let only = entry.key.as_ref().map(|_| self.keys(&entry.key));
        let is_lost = |key| only.as_ref().is_none_or(|only| only.contains(&key));
        let lost = self.holdings.lose(&entry.process, is_lost);
        let process = self.paired.processes.of(&entry.process);
        for Holding { key, mode, permits, refused } in lost {
            if !refused {
                self.progress.lost(key, permits);
            }
            self.paired.operations.push(Operation {
                process,
                key,
                invoke: place,
                answer: None,
                ended: Ended::Info,
                action: OperationKind::Release { mode: Some(mode), permits },
            });
        }
    }

    /// Notes that the release of one key begins. Returns the permits that it frees, and the holds
    /// that it ends; `None` if it is one of what its process has lost.
    fn free(&mut self, entry: &Entry, key: u32, terms: LockTerms) -> Option<(u32, Vec<Holding>)> {
        let process = &entry.process;
        let latest = || self.holdings.latest(process, key, terms.mode).map(|held| held.permits);
        let permits = terms.permits.or_else(latest).unwrap_or(1);
        let Freed::Held(freed) = self.holdings.free(process, key, terms.mode, permits) else {
            return None;
        };
        for held in freed.iter().filter(|held| !held.refused) {
            self.progress.freed(key, held.permits);
        }
        Some((permits, freed))
    }

    fn begin(&mut self, place: u64, entry: Entry) -> Result<(), HistoryError> {
        let terms = LockTerms::of(self.model, &entry, None)?;
        let (mut indices, mut freed) = (SmallVec::new(), Vec::new());
        match self.action(&entry, terms)? {
            Some(action) => {
                let known = self.paired.keys.names.len();
                let keys = self.keys(&entry.key);
                if keys.is_empty() {
                    let why = format!("this {} is of an empty list of locks", entry.verb);
                    return Err(HistoryError::wrong(entry.line, why));
                }
                self.paired.several |= keys.len() > 1;
                for key in keys {
                    if key as usize >= known {
                        self.initialise(key);
                    }
                    let mut action = action.clone();
                    if let OperationKind::Release { permits, .. } = &mut action {
                        let Some((of, held)) = self.free(&entry, key, terms) else { continue };
                        *permits = of;
                        freed.extend(held);
                    }
                    if matches!(action, OperationKind::Acquire { .. }) {
                        self.progress.asks(key);
                    }
                    indices.push(self.add(place, &entry, key, action));
                }
            }
            None if self.reading.mixed => {}
            None if self.is_of_another_object(&entry.verb) => self.paired.left_out += 1,
            None => {
                let why = format!("the model {} has no `{}`", self.model, entry.verb);
                return Err(HistoryError::wrong(entry.line, why));
            }
        }
        let Entry { line, time_ns, process, verb, value, .. } = entry;
        if let Some(other) = self.open.get(&process) {
            return Err(HistoryError::busy(line, &short(&process), &verb, &other.verb, other.line));
        }
        self.held += held(&process, &value);
        let began = TimedPlace { place, time_ns };
        let open = OpenOperation { verb, line, began, indices, value, asked: terms, freed };
        self.open.insert(process, open);
        Ok(())
    }

    /// Returns true if a verb is one of data where the model is of a lock, or the other way round:
    /// what is done to the one says nothing about the other.
    fn is_of_another_object(&self, verb: &Verb) -> bool {
        let data = matches!(verb, Verb::Read | Verb::Write | Verb::Cas | Verb::Add);
        if self.model.is_lock() { data } else { is_lock(verb) }
    }

    /// Returns the action of an operation, as far as an event gives it; `None` if the model has no
    /// such action. Results count only in an `ok`.
    fn action(
        &mut self,
        entry: &Entry,
        terms: LockTerms,
    ) -> Result<Option<OperationKind>, HistoryError> {
        let takes = self.model.spec.takes;
        let ok = entry.kind == Kind::Ok;
        let action = match &entry.verb {
            Verb::Acquire => OperationKind::Acquire {
                mode: terms.mode.unwrap_or_default(),
                token: terms.token,
                permits: terms.permits.unwrap_or(1),
            },
            Verb::Release => OperationKind::Release { mode: terms.mode, permits: 1 },
            Verb::Extend | Verb::Valid => OperationKind::Confirm,
            Verb::Upgrade => OperationKind::Convert { mode: Mode::Exclusive },
            Verb::Downgrade => OperationKind::Convert { mode: Mode::Shared },
            Verb::Convert => {
                let why = || HistoryError::wrong(entry.line, "a convert without its new mode");
                OperationKind::Convert { mode: terms.mode.ok_or_else(why)? }
            }
            Verb::Read if takes(&OperationKind::Members { values: None }) => {
                let values = ok.then(|| self.members(entry)).transpose()?;
                OperationKind::Members { values }
            }
            Verb::Read => {
                OperationKind::Read { value: ok.then(|| self.paired.number(&entry.value)) }
            }
            Verb::Write => OperationKind::Write { value: self.paired.number(&entry.value) },
            Verb::Cas if takes(&OperationKind::Cas { old: None, new: None }) => {
                let Some([old, new]) = entry.value.items() else {
                    let found = short(&entry.value);
                    let why = format!("a cas needs [old new], and this one says {found}");
                    return Err(HistoryError::wrong(entry.line, why));
                };
                OperationKind::Cas { old: self.paired.number(old), new: self.paired.number(new) }
            }
            Verb::Add => match self.paired.number(&entry.value) {
                Some(value) => OperationKind::Add { value },
                None => return Err(HistoryError::wrong(entry.line, "an add of nothing")),
            },
            Verb::Cas | Verb::Death | Verb::Lost | Verb::Fact(_) | Verb::Other(_) => {
                return Ok(None);
            }
        };
        Ok(takes(&action).then_some(action))
    }

    fn members(&mut self, entry: &Entry) -> Result<Arc<[i64]>, HistoryError> {
        let no_set = || {
            let why = format!("a read of a set needs its members, not {}", short(&entry.value));
            HistoryError::wrong(entry.line, why)
        };
        let items = entry.value.bare().items().ok_or_else(no_set)?;
        // What is shared has two counters in front.
        self.paired.members += items.len() + 2;
        items.iter().map(|item| self.paired.number(item).ok_or_else(no_set)).collect()
    }

    fn add(&mut self, place: u64, entry: &Entry, key: u32, action: OperationKind) -> usize {
        let process = self.paired.processes.of(&entry.process);
        let (invoke, answer, ended) = (place, None, Ended::Info);
        let operation = Operation { process, key, invoke, answer, ended, action };
        self.paired.operations.push(operation);
        self.paired.operations.len() - 1
    }

    /// A register that holds something from the start is one that was written before anything.
    fn initialise(&mut self, key: u32) {
        if self.reading.initial == Value::Nil {
            return;
        }
        let action = OperationKind::Write { value: self.paired.number(&self.reading.initial) };
        if (self.model.spec.takes)(&action) {
            let (process, ended) = (u32::MAX, Ended::Ok);
            let (invoke, answer) = (0, Some(1));
            let first = Operation { process, key, invoke, answer, ended, action };
            self.paired.operations.push(first);
        }
    }

    fn end(&mut self, place: u64, mut entry: Entry) -> Result<(), HistoryError> {
        // Facts about a process are not ends of anything.
        if self.reading.mixed && matches!(entry.verb, Verb::Other(_)) {
            return Ok(());
        }
        let (line, process) = (entry.line, &entry.process);
        let open = match self.open.remove(process) {
            Some(open) if open.verb == entry.verb => open,
            _ => return Err(HistoryError::not_begun(line, &short(process), &entry.verb)),
        };
        self.held -= held(process, &open.value);
        if open.indices.is_empty() {
            return Ok(());
        }
        if entry.key.is_some() {
            let ends_on = self.keys(&entry.key);
            let begun_on = open.indices.iter().map(|index| self.paired.operations[*index].key);
            if !begun_on.into_iter().all(|key| ends_on.contains(&key)) {
                let process = short(&entry.process);
                let why = format!("process {process} ends on another key than it began on");
                return Err(HistoryError::wrong(line, why));
            }
        }
        // A failed operation is left out, whatever it was about, and one of unknown outcome may be
        // what it was begun as.
        let missed = self.missed(&entry, &open.value);
        let denied = self.denied(&entry);
        let mut granted = None;
        if entry.kind == Kind::Ok && entry.verb != Verb::Release {
            let terms = LockTerms::of(self.model, &entry, open.asked.mode)?;
            let terms = LockTerms { permits: terms.permits.or(open.asked.permits), ..terms };
            if entry.value == Value::Nil && entry.verb != Verb::Read {
                entry.value = open.value.clone();
            }
            granted = self.action(&entry, terms)?;
        }
        for index in &open.indices {
            let operation = &mut self.paired.operations[*index];
            operation.answer = Some(place);
            operation.ended = match entry.kind {
                Kind::Ok if denied => Ended::Fail,
                Kind::Ok => Ended::Ok,
                Kind::Fail => Ended::Fail,
                Kind::Info | Kind::Invoke => Ended::Info,
            };
            if let Some(action) = &granted {
                operation.action = action.clone();
            }
            if let Some(old) = missed {
                (operation.action, operation.ended) = (OperationKind::Miss { old }, Ended::Ok);
            }
        }
        self.note_holds(&entry, &open);
        if denied {
            // The hold may have ended as early as the `invoke` of the operation that was denied.
            self.lose(open.began.place, &entry);
        }
        Ok(())
    }

    /// Returns true if a process learns that it does not hold the lock any more.
    fn denied(&self, entry: &Entry) -> bool {
        match entry.verb {
            Verb::Extend | Verb::Valid if entry.kind == Kind::Fail => true,
            Verb::Valid => entry.kind == Kind::Ok && *entry.value.bare() == Value::Bool(false),
            _ => false,
        }
    }

    /// Updates the holds of a process by an answer to it.
    fn note_holds(&mut self, entry: &Entry, open: &OpenOperation) {
        for index in &open.indices {
            let Operation { key, ended, ref action, .. } = self.paired.operations[*index];
            if matches!(action, OperationKind::Acquire { .. }) {
                self.progress.is_answered(key);
            }
            match (action, ended) {
                (OperationKind::Acquire { permits, .. }, Ended::Fail) => {
                    let permits = *permits;
                    self.progress.denied(key, permits, (*index, open.began.place));
                }
                (OperationKind::Acquire { mode, permits, .. }, Ended::Ok) => {
                    let (mode, permits) = (*mode, *permits);
                    let holding = Holding { key, mode, permits, refused: false };
                    self.holdings.take(&entry.process, holding);
                    self.progress.granted(key, permits, open.began);
                }
                (OperationKind::Acquire { .. }, Ended::Info) => self.progress.granted_perhaps(key),
                (OperationKind::Convert { mode }, Ended::Ok) => {
                    self.holdings.convert(&entry.process, key, *mode);
                }
                (OperationKind::Release { .. }, ended) => {
                    self.progress.answered(key, open.began.place, ended == Ended::Ok);
                    match ended {
                        Ended::Fail if open.freed.is_empty() => {}
                        Ended::Fail => self.progress.refused(key),
                        Ended::Ok | Ended::Info => self.progress.freed_after_all(key),
                    }
                }
                _ => {}
            }
        }
        if entry.kind == Kind::Fail {
            for held in &open.freed {
                self.holdings.take(&entry.process, Holding { refused: true, ..*held });
            }
        }
    }

    /// Returns the value that a failed cas did not find, if the history shows that: its answer has
    /// the same two values as its `invoke`. Anything else in their place is an error.
    fn missed(&mut self, entry: &Entry, asked: &Value) -> Option<Option<i64>> {
        let fails = entry.kind == Kind::Fail && entry.verb == Verb::Cas;
        let says = self.reading.misses && fails && entry.value == *asked;
        match entry.value.items().filter(|_| says) {
            Some([old, _]) => Some(self.paired.number(old)),
            _ => None,
        }
    }
}

/// Takes a tuple apart.
fn untuple(entry: &mut Entry) -> Result<(), HistoryError> {
    // Beside a failure stands an error, and beside a crash often nothing.
    let needed = matches!(entry.kind, Kind::Invoke | Kind::Ok);
    match std::mem::take(&mut entry.value).into_bare() {
        Value::List(items) if items.len() == 2 => {
            let mut items = items.into_iter();
            entry.key = items.next();
            entry.value = items.next().unwrap_or_default();
        }
        _ if !needed => {}
        other => {
            let why = format!("values are [key value] here, and this one is {}", short(&other));
            return Err(HistoryError::wrong(entry.line, why));
        }
    }
    Ok(())
}

/// Bytes of an event that waits or is open.
fn held(process: &Value, value: &Value) -> usize {
    size_of::<Entry>() + process.heap() + value.heap()
}

/// Returns true for a verb of a lock.
fn is_lock(verb: &Verb) -> bool {
    use Verb::{Acquire, Convert, Downgrade, Extend, Release, Upgrade, Valid};
    matches!(verb, Acquire | Release | Convert | Upgrade | Downgrade | Extend | Valid)
}

/// Returns true if the value of an operation of a lock is a list of keys, by their names. One name
/// and a mode are a key with a value.
fn are_keys(value: &Value) -> bool {
    let name = |item: &Value| item.name().is_some_and(|name| mode_of(name).is_none());
    value.bare().items().is_some_and(|items| !items.is_empty() && items.iter().all(name))
}

#[cfg(test)]
mod tests;
