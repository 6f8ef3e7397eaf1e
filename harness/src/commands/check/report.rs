//! The page of a history that was held against a model: what was decided, with a picture of it.

use base::Kind;
use histories::operation::{Ended, Operation};
use histories::{Decision, Extract, KeyExtract, NamedModel, Names, Paired, Room, extract};
use reports::history::{Drawn, End, OperationRole, PictureKey, PictureView, Point, Sheet};
use reports::terminal::Decided;
use std::collections::{BTreeMap, BTreeSet};

use crate::input::JudgingBudget;

/// The room on a page: it stays below two megabytes, and its first picture can be taken in at a
/// glance.
const ROOM: Room = Room { keys: 8, operations: 240, close: 14, processes: 32 };

/// The clock is asked every few thousand steps. So often the answer does not count, so that there
/// is something to see where deciding took all the time; and so often is the most.
const GRACE: u32 = 100;
const MOST: u32 = 5_000;

/// A history, what is decided of it, and how to say it.
pub(super) struct PageSubject<'a> {
    pub model: NamedModel,
    pub paired: &'a Paired,
    pub decision: &'a Decision,
    pub budget: JudgingBudget,
}

/// The words of a page about the history.
pub(super) struct PageWords {
    pub decided: Decided,
    pub file: String,
    pub command: String,
}

/// Returns the page as HTML.
pub(super) fn page(subject: &PageSubject<'_>, words: PageWords) -> String {
    let Extract { keys, left_out } = subject.extract();
    reports::html::history(&Sheet {
        decided: words.decided,
        about: subject.model.spec.summary.into(),
        file: words.file,
        command: words.command,
        version: env!("CARGO_PKG_VERSION").into(),
        keys: keys.iter().map(|key| subject.key(key)).collect(),
        left_out: left_out as u64,
    })
}

impl PageSubject<'_> {
    fn extract(&self) -> Extract {
        let mut looks = 0;
        let mut expired = || {
            looks += 1;
            looks > MOST || looks > GRACE && self.budget.is_over()
        };
        let memory = self.budget.memory.saturating_sub(self.paired.memory());
        let budget = histories::Budget { memory, expired: &mut expired };
        extract(self.model, &self.paired.operations, self.decision, ROOM, budget)
    }

    fn key(&self, key: &KeyExtract) -> PictureKey {
        let line = &key.line;
        let shown: BTreeSet<usize> =
            key.close.shown.iter().chain(&key.wide.shown).copied().collect();
        let as_point = |(number, point): (usize, &histories::LinePoint)| {
            let state = line.states.get(&number).map(|state| state.clause(self.paired));
            let number = number as u64 + 1;
            (point.operation, Point { number, before: point.before, state })
        };
        let numbered = line.points.iter().enumerate();
        let points: BTreeMap<usize, Point> =
            numbered.filter(|(_, point)| shown.contains(&point.operation)).map(as_point).collect();
        let view = |view: &histories::ShownOperations| PictureView {
            operations: view.shown.iter().map(|id| self.drawn(key, *id, &points)).collect(),
            skipped: view.skipped.iter().map(|(place, count)| (*place, *count as u64)).collect(),
        };
        PictureKey {
            name: self.paired.key(key.key),
            operations: key.operations as u64,
            ordered: line.points.len() as u64,
            end: self.end(key),
            close: view(&key.close),
            wide: view(&key.wide),
        }
    }

    fn end(&self, key: &KeyExtract) -> End {
        let place = |id: usize| self.paired.operations[id].deadline();
        match (&key.illegal, key.line.until) {
            (Some(illegal), _) => End::Stuck { at: place(illegal.stuck), reached: key.line.whole },
            (None, _) if key.line.whole => End::Whole,
            (None, until) => End::Unknown { at: until.unwrap_or(0) },
        }
    }

    fn drawn(&self, key: &KeyExtract, id: usize, points: &BTreeMap<usize, Point>) -> Drawn {
        let operation = &self.paired.operations[id];
        let role = match &key.illegal {
            Some(illegal) if illegal.stuck == id => OperationRole::Stuck,
            Some(illegal) if illegal.concurrent.contains(&id) => OperationRole::Beside,
            _ => OperationRole::Plain,
        };
        Drawn {
            process: self.process(operation),
            label: self.paired.label(&operation.action),
            text: self.paired.describe(operation),
            invoke: operation.invoke,
            answer: operation.answer,
            ended: match operation.ended {
                Ended::Ok => Kind::Ok,
                Ended::Fail => Kind::Fail,
                Ended::Info => Kind::Info,
            },
            point: points.get(&id).cloned(),
            role,
        }
    }

    /// Returns the name of an operation's lane.
    fn process(&self, operation: &Operation) -> String {
        match self.paired.line(operation.invoke) {
            Some(_) => self.paired.process(operation.process),
            None => "at first".into(),
        }
    }
}
