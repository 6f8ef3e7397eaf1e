//! From the events of a history to the operations that a model judges: each `invoke` and what
//! answered it become one [`Operation`], whatever the file's own words and values were.
//!
//! What ends takes the value of its answer, or of its `invoke` where the answer says none; a read
//! of `nil` found nothing in the register. Whatever is under way at the end is of unknown outcome.
//! An operation that failed is left out; but a log in Porcupine's manner says of a cas that failed
//! with its two values that it found another one (`misses`).
//! Histories of several objects are told apart by the key of an event, or (`independent`) by
//! Jepsen's tuples: the value is then `[key value]`.

use crate::models::NamedModel;
use crate::operation::{Action, Ended, Operation};
use base::reading::{Entry, Value, Verb, mode_of, short};
use base::{HistoryError, Kind, Mode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of a history beside its events.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Values are `[key value]`. `None`: as the first read or cas shows it.
    pub independent: Option<bool>,
    /// What registers hold before anything is written.
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
    open: BTreeMap<i64, Open>,
    /// Bytes of what waits or is open.
    held: usize,
    paired: Paired,
}

/// An operation that is under way.
struct Open {
    verb: Verb,
    line: u64,
    /// Which it is in the list; `None` where the model does not know it.
    index: Option<usize>,
    value: Value,
    mode: Option<Mode>,
}

/// The operations of a history, and the names behind their numbers.
#[derive(Debug)]
pub struct Paired {
    /// The operations, by their begin.
    pub operations: Vec<Operation>,
    /// Whether values are `[key value]`.
    pub independent: bool,
    /// The line of each place.
    lines: Vec<u32>,
    keys: Numbers<Option<Value>>,
    processes: Numbers<i64>,
    /// Values that are no integers.
    values: Numbers<Value>,
    /// How many members all reads of sets show together.
    members: usize,
}

/// The places before the first event, in which registers get their initial values.
const BEFORE: u64 = 2;
/// How many events wait for a sign that values are tuples.
const MOST_WAITING: usize = 10_000;

impl Pairing {
    /// Begins a history.
    pub fn new(model: NamedModel, reading: Reading) -> Self {
        let paired = Paired {
            operations: Vec::new(),
            independent: reading.independent == Some(true),
            lines: vec![0; BEFORE as usize],
            keys: Numbers::default(),
            processes: Numbers::default(),
            values: Numbers::default(),
            members: 0,
        };
        Self { model, reading, waiting: Vec::new(), open: BTreeMap::new(), held: 0, paired }
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// When it does not fit those before it, or the model: with its line.
    pub fn push(&mut self, entry: Entry) -> Result<(), HistoryError> {
        if self.reading.independent.is_some() {
            return self.pair(entry);
        }
        let sign = self.sign(&entry);
        self.held += held(&entry.value);
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

    /// As [`Paired::memory`], so far, with what is not in the list yet.
    pub fn memory(&self) -> usize {
        self.paired.memory() + self.held
    }

    /// Whether an event shows that values are tuples. Only what would make no sense otherwise
    /// does: a read that begins with `[key nil]`, a cas of `[key [old new]]`.
    fn sign(&self, entry: &Entry) -> Option<bool> {
        let Value::List(items) = entry.value.bare() else {
            return (entry.value != Value::Nil).then_some(false);
        };
        let [_, second] = &items[..] else { return Some(false) };
        match (&entry.verb, entry.kind, second) {
            _ if entry.key.is_some() => Some(false),
            (Verb::Read, Kind::Invoke, Value::Nil) => Some(true),
            (Verb::Cas, _, Value::List(pair)) if pair.len() == 2 => Some(true),
            (Verb::Cas, ..) | (Verb::Read, Kind::Invoke, _) => Some(false),
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
        }
        match entry.kind {
            Kind::Invoke => self.begin(place, entry),
            _ => self.end(place, entry),
        }
    }

    fn begin(&mut self, place: u64, entry: Entry) -> Result<(), HistoryError> {
        let (line, process) = (entry.line, entry.process);
        let index = match self.action(&entry)? {
            Some(action) => Some(self.add(place, &entry, action)),
            None if self.reading.mixed => None,
            None => {
                let why = format!("the model {} has no `{}`", self.model, entry.verb);
                return Err(HistoryError::wrong(line, why));
            }
        };
        let (verb, value, mode) = (entry.verb.clone(), entry.value, entry.mode);
        self.held += held(&value);
        match self.open.insert(process, Open { verb, line, index, value, mode }) {
            Some(other) => {
                Err(HistoryError::busy(line, process, &entry.verb, &other.verb, other.line))
            }
            None => Ok(()),
        }
    }

    /// What an operation does, as far as an event says it; `None` where the model does not know
    /// it. Results count only in an `ok`.
    fn action(&mut self, entry: &Entry) -> Result<Option<Action>, HistoryError> {
        let takes = self.model.spec.takes;
        let ok = entry.kind == Kind::Ok;
        let mode = entry.mode.or_else(|| value_mode(&entry.value));
        let action = match &entry.verb {
            Verb::Acquire => {
                let token = entry.token.or_else(|| value_token(&entry.value)).filter(|_| ok);
                Action::Acquire { mode: mode.unwrap_or_default(), token }
            }
            Verb::Release => Action::Release,
            Verb::Upgrade => Action::Convert { mode: Mode::Exclusive },
            Verb::Downgrade => Action::Convert { mode: Mode::Shared },
            Verb::Convert => {
                let why = || HistoryError::wrong(entry.line, "a convert without its new mode");
                Action::Convert { mode: mode.ok_or_else(why)? }
            }
            Verb::Read if takes(&Action::Members { values: None }) => {
                let values = ok.then(|| self.members(entry)).transpose()?;
                Action::Members { values }
            }
            Verb::Read => Action::Read { value: ok.then(|| self.paired.number(&entry.value)) },
            Verb::Write => Action::Write { value: self.paired.number(&entry.value) },
            Verb::Cas if takes(&Action::Cas { old: None, new: None }) => {
                let Some([old, new]) = entry.value.items() else {
                    let found = short(&entry.value);
                    let why = format!("a cas needs [old new], and this one says {found}");
                    return Err(HistoryError::wrong(entry.line, why));
                };
                Action::Cas { old: self.paired.number(old), new: self.paired.number(new) }
            }
            Verb::Add => match self.paired.number(&entry.value) {
                Some(value) => Action::Add { value },
                None => return Err(HistoryError::wrong(entry.line, "an add of nothing")),
            },
            Verb::Cas | Verb::Other(_) => return Ok(None),
        };
        Ok(takes(&action).then_some(action))
    }

    fn members(&mut self, entry: &Entry) -> Result<Arc<[i64]>, HistoryError> {
        let no_set = || {
            let why = format!("a read of a set needs its members, not {}", short(&entry.value));
            HistoryError::wrong(entry.line, why)
        };
        let items = entry.value.bare().items().ok_or_else(no_set)?;
        self.paired.members += items.len();
        items.iter().map(|item| self.paired.number(item).ok_or_else(no_set)).collect()
    }

    fn add(&mut self, place: u64, entry: &Entry, action: Action) -> usize {
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
        let action = Action::Write { value: self.paired.number(&self.reading.initial) };
        if (self.model.spec.takes)(&action) {
            let (process, ended) = (u32::MAX, Ended::Ok);
            let (invoke, answer) = (0, Some(1));
            let first = Operation { process, key, invoke, answer, ended, action };
            self.paired.operations.push(first);
        }
    }

    fn end(&mut self, place: u64, mut entry: Entry) -> Result<(), HistoryError> {
        // Facts about a process, such as its death, are no ends of anything.
        if self.reading.mixed && matches!(entry.verb, Verb::Other(_)) {
            return Ok(());
        }
        let (line, process) = (entry.line, entry.process);
        let open = match self.open.remove(&process) {
            Some(open) if open.verb == entry.verb => open,
            _ => return Err(HistoryError::not_begun(line, process, &entry.verb)),
        };
        self.held -= held(&open.value);
        let Some(index) = open.index else { return Ok(()) };
        if let Some(key) = &entry.key
            && self.paired.operations[index].key != self.paired.keys.of(&Some(key.clone()))
        {
            let why = format!("process {process} ends on another key than it began on");
            return Err(HistoryError::wrong(line, why));
        }
        // A failed operation is left out, whatever it was about, and one of unknown outcome may be
        // what it was begun as.
        if entry.kind == Kind::Ok {
            if entry.value == Value::Nil && entry.verb != Verb::Read {
                entry.value = open.value;
            }
            entry.mode = entry.mode.or(open.mode);
            if let Some(action) = self.action(&entry)? {
                self.paired.operations[index].action = action;
            }
        }
        let missed = self.missed(&entry);
        let operation = &mut self.paired.operations[index];
        operation.answer = Some(place);
        operation.ended = match entry.kind {
            Kind::Ok => Ended::Ok,
            Kind::Fail => Ended::Fail,
            Kind::Info | Kind::Invoke => Ended::Info,
        };
        if let Some(old) = missed {
            (operation.action, operation.ended) = (Action::Miss { old }, Ended::Ok);
        }
        Ok(())
    }

    /// What a cas that failed did not find, if the history says so.
    fn missed(&mut self, entry: &Entry) -> Option<Option<i64>> {
        let says = self.reading.misses && entry.kind == Kind::Fail && entry.verb == Verb::Cas;
        match entry.value.items().filter(|_| says) {
            Some([old, _]) => Some(self.paired.number(old)),
            _ => None,
        }
    }
}

/// The integers that are their own numbers.
const INTEGERS: std::ops::RangeInclusive<i128> = (i64::MIN / 2) as i128..=i64::MAX as i128;

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
fn held(value: &Value) -> usize {
    size_of::<Entry>() + value.heap()
}

/// The mode of an acquire whose value says it: `:read`, or `{:mode :shared}`.
fn value_mode(value: &Value) -> Option<Mode> {
    let said = value.get("mode").unwrap_or(value);
    mode_of(said.name()?)
}

/// The token of a grant whose value says it: a number, or `{:token 7}`, `{:fence 7}`.
fn value_token(value: &Value) -> Option<u64> {
    value.get("token").or_else(|| value.get("fence")).unwrap_or(value).int()
}

impl Paired {
    /// About how many bytes the operations take.
    pub fn memory(&self) -> usize {
        self.operations.len() * size_of::<Operation>()
            + self.lines.len() * size_of::<u32>()
            + self.members * size_of::<i64>()
            + self.keys.memory()
            + self.processes.memory()
            + self.values.memory()
    }

    /// How many objects there are.
    pub fn keys(&self) -> usize {
        self.keys.names.len()
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.lines.len() - BEFORE as usize
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.processes.names.len()
    }

    /// The name of an object, where the file has one.
    pub fn key(&self, key: u32) -> Option<String> {
        let name = self.keys.names.get(key as usize)?.as_ref()?;
        Some(name.name().map_or_else(|| name.to_string(), str::to_owned))
    }

    /// The line of a place; `None` for what was before the first line.
    pub fn line(&self, place: u64) -> Option<u64> {
        let line = *self.lines.get(usize::try_from(place).ok()?)?;
        (line > 0).then_some(line.into())
    }

    /// An operation in words, with its lines: `process 3's read of 5 (lines 10 to 12)`.
    pub fn describe(&self, operation: &Operation) -> String {
        let Some(begin) = self.line(operation.invoke) else { return "the initial value".into() };
        let end = operation.answer.and_then(|place| self.line(place));
        let lines = match end {
            Some(end) if end == begin => format!("line {begin}"),
            Some(end) => format!("lines {begin} to {end}"),
            None => format!("from line {begin} on, never answered"),
        };
        let doubt = match (operation.ended, end) {
            (Ended::Info, Some(_)) => ", outcome unknown",
            _ => "",
        };
        let process = self.processes.names[operation.process as usize];
        format!("process {process}'s {} ({lines}{doubt})", self.done(&operation.action))
    }

    fn done(&self, action: &Action) -> String {
        match action {
            Action::Acquire { mode, token } => {
                let shared = if *mode == Mode::Shared { "shared " } else { "" };
                let token = token.map_or(String::new(), |token| format!(" with token {token}"));
                format!("{shared}acquire{token}")
            }
            Action::Convert { mode: Mode::Exclusive } => "upgrade".into(),
            Action::Convert { mode: Mode::Shared } => "downgrade".into(),
            Action::Release => "release".into(),
            Action::Read { value: None } | Action::Members { values: None } => "read".into(),
            Action::Read { value: Some(value) } => format!("read of {}", self.value(*value)),
            Action::Write { value } => format!("write of {}", self.value(*value)),
            Action::Cas { old, new } => {
                format!("cas from {} to {}", self.value(*old), self.value(*new))
            }
            Action::Miss { old } => format!("cas that did not find {}", self.value(*old)),
            Action::Add { value } => format!("add of {}", self.value(Some(*value))),
            Action::Members { values: Some(values) } => {
                let some: Vec<String> =
                    values.iter().take(10).map(|value| self.value(Some(*value))).collect();
                let more = if values.len() > 10 { " …" } else { "" };
                format!("read of {} members: {}{more}", values.len(), some.join(" "))
            }
        }
    }

    fn value(&self, value: Option<i64>) -> String {
        let Some(number) = value else { return "nil".into() };
        let index = number.wrapping_sub(i64::MIN);
        match usize::try_from(index).ok().and_then(|index| self.values.names.get(index)) {
            Some(value) => short(value),
            None => number.to_string(),
        }
    }

    /// The number of a value: an integer is its own, others get the numbers from the lowest on,
    /// which no integer has here.
    fn number(&mut self, value: &Value) -> Option<i64> {
        match value {
            Value::Nil => None,
            Value::Int(n) if INTEGERS.contains(n) => Some(*n as i64),
            other => Some(i64::MIN + i64::from(self.values.of(other))),
        }
    }
}

/// Small numbers for things, in the order in which they come.
#[derive(Debug)]
struct Numbers<T> {
    names: Vec<T>,
    ids: BTreeMap<T, u32>,
    /// Most histories name one thing many times in a row.
    last: u32,
    /// Bytes of the names, outside of the names themselves.
    heap: usize,
}

/// What gets a number.
trait Name: Clone + Ord {
    /// Bytes outside of the name itself.
    fn heap(&self) -> usize;
}

impl Name for i64 {
    fn heap(&self) -> usize {
        0
    }
}

impl Name for Value {
    fn heap(&self) -> usize {
        Self::heap(self)
    }
}

impl Name for Option<Value> {
    fn heap(&self) -> usize {
        self.as_ref().map_or(0, Value::heap)
    }
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { names: Vec::new(), ids: BTreeMap::new(), last: 0, heap: 0 }
    }
}

impl<T: Name> Numbers<T> {
    fn of(&mut self, name: &T) -> u32 {
        if self.names.get(self.last as usize) == Some(name) {
            return self.last;
        }
        self.last = match self.ids.get(name) {
            Some(id) => *id,
            None => {
                let id = self.names.len() as u32;
                self.heap += name.heap();
                self.ids.insert(name.clone(), id);
                self.names.push(name.clone());
                id
            }
        };
        self.last
    }

    /// About how many bytes they take: each name stands in two places.
    fn memory(&self) -> usize {
        self.names.len() * 128 + self.heap * 2
    }
}

#[cfg(test)]
mod tests;
