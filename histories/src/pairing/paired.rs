//! The operations of a history, and the names behind their numbers.

use super::numbers::Numbers;
use super::progress::Unserved;
use crate::models::NamedModel;
use crate::operation::{self, Ended, Operation, OperationKind};
use crate::reading::{Value, short};
use crate::state::Names;
use base::Mode;
use base::units::{count, counted};

/// The operations of a history, and the names behind their numbers.
#[derive(Debug)]
pub struct Paired {
    /// The operations, by their begin.
    pub operations: Vec<Operation>,
    /// True if values are `[key value]`.
    pub independent: bool,
    /// True if one operation takes or frees several locks at once.
    pub several: bool,
    /// The locks that nobody was given any more, though they were free.
    pub unserved: Vec<Unserved>,
    /// The number of operations that are of another object than the model's, and left out.
    pub left_out: u64,
    /// The line of each place.
    pub(super) lines: Vec<u32>,
    pub(super) keys: Numbers<Option<Value>>,
    pub(super) processes: Numbers<Value>,
    /// The values that are not integers.
    values: Numbers<Value>,
    /// The number of members that all reads of sets show together.
    pub(super) members: usize,
}

/// The places before the first event, in which registers get their initial values.
const BEFORE: u64 = 2;
/// The integers that are their own numbers.
const INTEGERS: std::ops::RangeInclusive<i128> = (i64::MIN / 2) as i128..=i64::MAX as i128;
/// The number of members of a set that are listed.
const MEMBERS: usize = 10;

impl Paired {
    pub(super) fn new(independent: bool) -> Self {
        Self {
            operations: Vec::new(),
            independent,
            several: false,
            unserved: Vec::new(),
            left_out: 0,
            lines: vec![0; BEFORE as usize],
            keys: Numbers::default(),
            processes: Numbers::default(),
            values: Numbers::default(),
            members: 0,
        }
    }

    /// Returns the number of operations by clients: all but the initial values of registers.
    pub fn asked(&self) -> usize {
        self.by_clients().count()
    }

    /// Returns the number of acquires that nobody ever answered.
    pub fn unanswered_acquires(&self) -> u64 {
        let acquires = |it: &&Operation| matches!(it.action, OperationKind::Acquire { .. });
        let open = self.by_clients().filter(acquires).filter(|it| it.answer.is_none());
        open.count() as u64
    }

    fn by_clients(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| self.line(operation.invoke).is_some())
    }

    /// Returns the reason why the operations could not have been against the model, if they could
    /// not.
    pub fn proves_nothing(&self, model: NamedModel) -> Option<String> {
        if !self.by_clients().any(Operation::certain) {
            return Some("every operation failed or has no known outcome".into());
        }
        let (grants, tokens) = self.grants();
        (model.is_fenced() && tokens == 0).then(|| match grants {
            0 => "nothing was granted, so there is no fencing token to compare".into(),
            _ => "no grant says its fencing token".into(),
        })
    }

    /// Describes the parts of the history that a model ignores, if there are any.
    pub fn passed_over(&self, model: NamedModel) -> Option<String> {
        let (grants, tokens) = self.grants();
        if model.is_fenced() && tokens < grants {
            let grants = counted(grants, "grant", "grants");
            let tokens = count(tokens);
            return Some(format!(
                "of {grants}, {tokens} said a fencing token; only those are compared"
            ));
        }
        let shared = |action: &OperationKind| {
            matches!(action, OperationKind::Acquire { mode: Mode::Shared, .. })
        };
        let any = !model.is_shared() && self.operations.iter().any(|op| shared(&op.action));
        any.then(|| format!("the model {model} knows no shared holds; it takes all for exclusive"))
    }

    /// Returns the number of certain grants, and of those among them that have a token.
    fn grants(&self) -> (u64, u64) {
        let certain = self.operations.iter().filter(|operation| operation.certain());
        let tokens = certain.filter_map(|operation| match operation.action {
            OperationKind::Acquire { token, .. } => Some(token.is_some()),
            _ => None,
        });
        tokens.fold((0, 0), |(grants, tokens), fenced| (grants + 1, tokens + u64::from(fenced)))
    }

    /// Estimates the bytes that the operations take.
    pub fn memory(&self) -> usize {
        self.operations.capacity() * size_of::<Operation>()
            + self.lines.capacity() * size_of::<u32>()
            + self.members * size_of::<i64>()
            + self.keys.memory()
            + self.processes.memory()
            + self.values.memory()
    }

    /// Returns the number of objects.
    pub fn keys(&self) -> usize {
        self.keys.names.len()
    }

    /// Returns the number of events.
    pub fn events(&self) -> usize {
        self.lines.len() - BEFORE as usize
    }

    /// Returns the number of processes.
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
        let process = self.process(operation.process);
        format!("process {process}'s {} ({lines}{doubt})", self.done(&operation.action))
    }

    /// Labels an operation in as few words as will do: `read 5`.
    pub fn label(&self, action: &OperationKind) -> String {
        let value = |value: &operation::RegisterValue| self.value(*value);
        match action {
            OperationKind::Acquire { mode, token, permits } => {
                let shared = if *mode == Mode::Shared { " shared" } else { "" };
                let token = token.map_or(String::new(), |token| format!(", token {token}"));
                format!("acquire{shared}{}{token}", many(*permits))
            }
            OperationKind::Read { value: Some(found) } => format!("read {}", value(found)),
            OperationKind::Write { value: new } => format!("write {}", value(new)),
            OperationKind::Cas { old, new } => format!("cas {} → {}", value(old), value(new)),
            OperationKind::Miss { old } => format!("cas, not {}", value(old)),
            OperationKind::Add { value: new } => format!("add {}", value(&Some(*new))),
            OperationKind::Members { values: Some(values) } => {
                let some: Vec<String> =
                    values.iter().take(MEMBERS).map(|member| value(&Some(*member))).collect();
                let more = if values.len() > MEMBERS { " …" } else { "" };
                format!("read {{{}{more}}}", some.join(" "))
            }
            _ => self.done(action),
        }
    }

    fn done(&self, action: &OperationKind) -> String {
        match action {
            OperationKind::Acquire { mode, token, permits } => {
                let shared = if *mode == Mode::Shared { "shared " } else { "" };
                let token = token.map_or(String::new(), |token| format!(" with token {token}"));
                format!("{shared}acquire{}{token}", many(*permits))
            }
            OperationKind::Convert { mode: Mode::Exclusive } => "upgrade".into(),
            OperationKind::Convert { mode: Mode::Shared } => "downgrade".into(),
            OperationKind::Release { permits, .. } => format!("release{}", many(*permits)),
            OperationKind::Confirm => "confirmed hold".into(),
            OperationKind::Read { value: None } | OperationKind::Members { values: None } => {
                "read".into()
            }
            OperationKind::Read { value: Some(value) } => format!("read of {}", self.value(*value)),
            OperationKind::Write { value } => format!("write of {}", self.value(*value)),
            OperationKind::Cas { old, new } => {
                format!("cas from {} to {}", self.value(*old), self.value(*new))
            }
            OperationKind::Miss { old } => format!("cas that did not find {}", self.value(*old)),
            OperationKind::Add { value } => format!("add of {}", self.value(Some(*value))),
            OperationKind::Members { values: Some(values) } if values.is_empty() => {
                "read of no members".into()
            }
            OperationKind::Members { values: Some(values) } => {
                let some: Vec<String> =
                    values.iter().take(MEMBERS).map(|value| self.value(Some(*value))).collect();
                let more = if values.len() > MEMBERS { " …" } else { "" };
                let members = counted(values.len() as u64, "member", "members");
                format!("read of {members}: {}{more}", some.join(" "))
            }
        }
    }

    /// The number of a value: an integer is its own, others get the numbers from the lowest on,
    /// which no integer has here.
    pub(super) fn number(&mut self, value: &Value) -> Option<i64> {
        match value {
            Value::Nil => None,
            Value::Int(n) if INTEGERS.contains(n) => Some(*n as i64),
            other => Some(i64::MIN + i64::from(self.values.of(other))),
        }
    }
}

/// Words for more than one permit.
fn many(permits: u32) -> String {
    if permits == 1 { String::new() } else { format!(" of {} permits", count(permits.into())) }
}

impl Names for Paired {
    fn process(&self, number: u32) -> String {
        self.processes.names.get(number as usize).map_or_else(|| number.to_string(), short)
    }

    fn value(&self, value: operation::RegisterValue) -> String {
        let Some(number) = value else { return "nil".into() };
        let index = number.wrapping_sub(i64::MIN);
        match usize::try_from(index).ok().and_then(|index| self.values.names.get(index)) {
            Some(value) => short(value),
            None => number.to_string(),
        }
    }
}
