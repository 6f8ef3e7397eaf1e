//! From the events of a history to the operations that a model judges: each `invoke` and what
//! answered it become one [`Operation`], whatever the file's own words and values were.
//!
//! An operation takes the value of its answer, or of its `invoke` where the answer has none; a read
//! of `nil` found nothing in the register. An operation under way at the end is of unknown outcome.
//! A hold may also end without a release: when its process dies, or says that it may have lost the
//! lock. From then on the lock may be free at any moment, as if it had been released in doubt; what
//! the process itself frees later is not that hold any more, and is left out.
//!
//! One that failed is left out; but a log in Porcupine's manner says of a cas that failed with its
//! two values that it found another one (`misses`).
//!
//! Objects are told apart by the key of an event, or (`independent`) by Jepsen's tuples: the value
//! is then `[key value]`. A field that makes a difference to the model is understood or refused,
//! never passed over.

use crate::HistoryError;
use crate::models::NamedModel;
use crate::operation::{Ended, Operation, OperationKind};
use crate::reading::{Entry, Value, Verb, short};
use base::{Kind, Mode};
use said::Said;
use std::collections::BTreeMap;
use std::sync::Arc;

mod numbers;
mod paired;
mod said;

pub use paired::Paired;

/// The facts about a history that its events do not say.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Values are `[key value]`. `None`: as the first read, cas or operation of a lock shows it.
    pub independent: Option<bool>,
    /// The value of every register before anything is written.
    pub initial: Value,
    /// A cas that failed and says its values found another one, and did not just come to nothing.
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
    /// True while nobody has said whether values are tuples.
    guessed: bool,
    open: BTreeMap<Value, OpenOperation>,
    /// The locks that each process holds, by the number of the key: as often as it does.
    holds: BTreeMap<Value, ProcessHolds>,
    /// Bytes of what waits or is open.
    held: usize,
    paired: Paired,
}

/// An operation that is under way.
struct OpenOperation {
    verb: Verb,
    line: u64,
    /// The index of the operation in the list; `None` where the model does not know it.
    index: Option<usize>,
    value: Value,
    /// The mode in which the lock was asked for, where that was said.
    asked: Option<Mode>,
}

/// The locks that a process holds, and those that it has lost, by the numbers of their keys.
#[derive(Default)]
struct ProcessHolds {
    held: Vec<u32>,
    lost: Vec<u32>,
}

/// The number of events that may wait for a sign that values are tuples.
const MOST_WAITING: usize = 10_000;

impl Pairing {
    /// Begins a history.
    pub fn new(model: NamedModel, reading: Reading) -> Self {
        let guessed = reading.independent.is_none();
        let paired = Paired::new(reading.independent == Some(true));
        let (waiting, open, holds) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { model, reading, waiting, guessed, open, holds, held: 0, paired }
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
        if self.paired.independent {
            untuple(&mut entry)?;
        } else if self.guessed && Self::sign(&entry) == Some(true) {
            let (verb, value) = (&entry.verb, short(&entry.value));
            let why =
                format!("this {verb} of {value} may be one on a key, and those before it are not");
            let help = "if all values are [key value], say --independent";
            return Err(HistoryError::wrong(entry.line, format!("{why}; {help}")));
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

    /// Ends the holds of a process without a release, on one key or on all.
    fn lose(&mut self, place: u64, entry: &Entry) {
        let Some(holds) = self.holds.get_mut(&entry.process) else { return };
        let only = entry.key.as_ref().map(|key| self.paired.keys.of(&Some(key.clone())));
        let (lost, held): (Vec<u32>, Vec<u32>) = std::mem::take(&mut holds.held)
            .into_iter()
            .partition(|key| only.is_none_or(|it| it == *key));
        holds.held = held;
        holds.lost.extend(&lost);
        let process = self.paired.processes.of(&entry.process);
        let freed = |key| Operation {
            process,
            key,
            invoke: place,
            answer: None,
            ended: Ended::Info,
            action: OperationKind::Release,
        };
        self.paired.operations.extend(lost.into_iter().map(freed));
    }

    /// Notes that a release of a process begins. Returns true if it is one of what it has lost.
    fn frees_what_was_lost(&mut self, entry: &Entry) -> bool {
        let key = self.paired.keys.of(&entry.key);
        let Some(holds) = self.holds.get_mut(&entry.process) else { return false };
        let take = |keys: &mut Vec<u32>| {
            let place = keys.iter().rposition(|held| *held == key);
            place.map(|place| keys.swap_remove(place)).is_some()
        };
        !take(&mut holds.held) && take(&mut holds.lost)
    }

    fn begin(&mut self, place: u64, entry: Entry) -> Result<(), HistoryError> {
        let said = Said::of(self.model, &entry, None)?;
        let index = match self.action(&entry, said)? {
            Some(OperationKind::Release) if self.frees_what_was_lost(&entry) => None,
            Some(action) => Some(self.add(place, &entry, action)),
            None if self.reading.mixed => None,
            None if self.is_of_another_object(&entry.verb) => {
                self.paired.left_out += 1;
                None
            }
            None => {
                let why = format!("the model {} has no `{}`", self.model, entry.verb);
                return Err(HistoryError::wrong(entry.line, why));
            }
        };
        let Entry { line, process, verb, value, .. } = entry;
        if let Some(other) = self.open.get(&process) {
            return Err(HistoryError::busy(line, &short(&process), &verb, &other.verb, other.line));
        }
        self.held += held(&process, &value);
        self.open.insert(process, OpenOperation { verb, line, index, value, asked: said.mode });
        Ok(())
    }

    /// Returns true if a verb is one of data where the model is of a lock, or the other way round: what
    /// is done to the one says nothing about the other.
    fn is_of_another_object(&self, verb: &Verb) -> bool {
        let data = matches!(verb, Verb::Read | Verb::Write | Verb::Cas | Verb::Add);
        match (self.model.spec.takes)(&OperationKind::Release) {
            true => data,
            false => is_lock(verb),
        }
    }

    /// Returns the action of an operation, as far as an event says it; `None` where the model does
    /// not know it. Results count only in an `ok`.
    fn action(&mut self, entry: &Entry, said: Said) -> Result<Option<OperationKind>, HistoryError> {
        let takes = self.model.spec.takes;
        let ok = entry.kind == Kind::Ok;
        let action = match &entry.verb {
            Verb::Acquire => {
                OperationKind::Acquire { mode: said.mode.unwrap_or_default(), token: said.token }
            }
            Verb::Release => OperationKind::Release,
            Verb::Upgrade => OperationKind::Convert { mode: Mode::Exclusive },
            Verb::Downgrade => OperationKind::Convert { mode: Mode::Shared },
            Verb::Convert => {
                let why = || HistoryError::wrong(entry.line, "a convert without its new mode");
                OperationKind::Convert { mode: said.mode.ok_or_else(why)? }
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

    fn add(&mut self, place: u64, entry: &Entry, action: OperationKind) -> usize {
        let known = self.paired.keys.names.len();
        let key = self.paired.keys.of(&entry.key);
        if key as usize == known {
            self.initialise(key);
        }
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
        let Some(index) = open.index else { return Ok(()) };
        if let Some(key) = &entry.key
            && self.paired.operations[index].key != self.paired.keys.of(&Some(key.clone()))
        {
            let process = short(process);
            let why = format!("process {process} ends on another key than it began on");
            return Err(HistoryError::wrong(line, why));
        }
        // A failed operation is left out, whatever it was about, and one of unknown outcome may be
        // what it was begun as.
        let missed = self.missed(&entry, &open.value);
        if entry.kind == Kind::Ok {
            let said = Said::of(self.model, &entry, open.asked)?;
            if entry.value == Value::Nil && entry.verb != Verb::Read {
                entry.value = open.value;
            }
            if let Some(action) = self.action(&entry, said)? {
                self.paired.operations[index].action = action;
            }
        }
        if entry.kind == Kind::Ok && entry.verb == Verb::Acquire {
            let key = self.paired.operations[index].key;
            self.holds.entry(entry.process.clone()).or_default().held.push(key);
        }
        let operation = &mut self.paired.operations[index];
        operation.answer = Some(place);
        operation.ended = match entry.kind {
            Kind::Ok => Ended::Ok,
            Kind::Fail => Ended::Fail,
            Kind::Info | Kind::Invoke => Ended::Info,
        };
        if let Some(old) = missed {
            (operation.action, operation.ended) = (OperationKind::Miss { old }, Ended::Ok);
        }
        Ok(())
    }

    /// Returns the value that a failed cas did not find, if the history says so: by the values with
    /// which it began. Anything else in their place is an error.
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
    use Verb::{Acquire, Convert, Downgrade, Release, Upgrade};
    matches!(verb, Acquire | Release | Convert | Upgrade | Downgrade)
}

#[cfg(test)]
mod tests;
