//! The line sweep on operations from anywhere: their definite holds in the strict normal form, if
//! they are such that its [proof](crate::line_sweep) holds.

use super::{HoldChange, Holder, LineSweep, Rule};
use crate::operation::{Ended, Operation, OperationKind, Token};
use crate::places;
use crate::search::SearchAnswer;
use crate::state::ModelState;
use base::Mode;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// The model as the line sweep reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StrictLock {
    /// The sets of holds that are legal.
    pub rule: Rule,
    /// Each grant has a greater token than those before.
    pub fenced: bool,
}

/// Decides the operations of one key. `None`: they are not as the proof asks.
pub(crate) fn decide(lock: StrictLock, operations: &[&Operation]) -> Option<SearchAnswer> {
    // A holder that takes the lock again may get the token that it has.
    if lock.fenced && lock.rule == Rule::Others {
        return None;
    }
    let clash = match swept(lock, operations, u64::MAX)? {
        None => return Some(SearchAnswer::Legal),
        // With tokens, whatever was found may not be what went wrong first.
        Some(clash) if lock.fenced => first(lock, operations).unwrap_or(clash),
        Some(clash) => clash,
    };
    let Clash { stuck, beside } = clash;
    let states = vec![just_before(lock, operations, stuck)];
    Some(SearchAnswer::Illegal { stuck, concurrent: beside, states })
}

/// Finds holds of a read/write lock that are definite, whatever is done with what is in doubt, and
/// forbid each other. `None`: there are none such, and the search decides.
///
/// A process that does one thing at a time holds the lock where more of its grants are answered
/// than releases of any outcome have begun. And it holds it exclusively after an exclusive grant:
/// with *a* grants before it, *t* acquires in doubt and *f* releases on the line, it then holds it
/// *a* + 1 + *t* - *f* = 1 times; since *f* is no more than the *r* releases that have begun, and
/// *r* no more than *a*, that leaves *t* = 0 and *f* = *r*. So nothing in doubt is left that could
/// end the hold, and only a downgrade in doubt could weaken it.
pub(crate) fn definite(lock: StrictLock, operations: &[&Operation]) -> Option<SearchAnswer> {
    if lock.rule != Rule::ReadWrite {
        return None;
    }
    let mut processes: HashMap<u32, CertainHold, FxBuildHasher> = HashMap::default();
    let mut changes = Vec::new();
    for id in by_invoke(operations) {
        let operation = operations[id as usize];
        if operation.ended == Ended::Fail {
            continue;
        }
        let ours = processes.entry(operation.process).or_default();
        if ours.until.is_some_and(|until| operation.invoke <= until) {
            return None;
        }
        let certain = operation.certain();
        ours.until = Some(if certain { operation.deadline() } else { operation.invoke });
        changes.extend(ours.change(id, operation));
    }
    changes.sort_by_key(|change: &HoldChange| change.at);
    let mut sweep = LineSweep::new(Rule::ReadWrite, 1, operations.len(), holder(operations));
    for change in changes {
        let holds = |sweep: &LineSweep<_>| -> Vec<(u32, Mode)> {
            sweep.active(0).into_iter().filter(|(hold, _)| *hold != change.hold).collect()
        };
        let (before, mut legal) = (holds(&sweep), true);
        sweep.step(change, |_| legal = false);
        if !legal {
            let process = |(hold, mode): &(u32, Mode)| (operations[*hold as usize].process, *mode);
            return Some(SearchAnswer::Illegal {
                stuck: changed_by(operations, change),
                concurrent: before.iter().map(|(hold, _)| *hold as usize).collect(),
                states: vec![ModelState::held(&before.iter().map(process).collect::<Vec<_>>())],
            });
        }
    }
    None
}

/// The hold that a process has for certain.
#[derive(Default)]
struct CertainHold {
    /// Its last operation was answered here or, if its outcome is unknown, begun.
    until: Option<u64>,
    /// Its certain grants, less the releases of any outcome.
    balance: i64,
    /// The acquire with which its present hold began.
    hold: Option<u32>,
    /// A downgrade of unknown outcome has begun.
    weak: bool,
}

impl CertainHold {
    /// Takes its next operation. Returns how its hold changes, if it does.
    fn change(&mut self, id: u32, operation: &Operation) -> Option<HoldChange> {
        let certain = operation.certain();
        let mode = |mode, weak| if weak { Mode::Shared } else { mode };
        let (at, to) = match operation.action {
            OperationKind::Acquire { mode: asked, .. } if certain => {
                self.balance += 1;
                // Where it holds the lock already, another hold of it changes nothing.
                self.hold = Some(id).filter(|_| self.balance == 1).or(self.hold);
                (self.balance == 1).then(|| (operation.deadline(), Some(mode(asked, self.weak))))?
            }
            OperationKind::Release { .. } => {
                self.balance -= 1;
                (self.balance <= 0).then_some((operation.invoke, None))?
            }
            OperationKind::Convert { mode: Mode::Exclusive } if certain && self.balance > 0 => {
                (operation.deadline(), Some(mode(Mode::Exclusive, self.weak)))
            }
            OperationKind::Convert { mode: Mode::Shared } => {
                self.weak |= !certain;
                (operation.invoke, Some(Mode::Shared))
            }
            _ => return None,
        };
        let hold = if to.is_none() { self.hold.take()? } else { self.hold? };
        Some(HoldChange { at, hold, to })
    }
}

/// An operation that can be put nowhere, and those that stand in its way.
struct Clash {
    stuck: usize,
    beside: Vec<usize>,
}

/// Sweeps over what is known up to a place: what is answered later may have happened or not.
/// `None`: the operations are not as the proof asks.
fn swept(lock: StrictLock, operations: &[&Operation], until: u64) -> Option<Option<Clash>> {
    let mut changes = changes(lock, operations, until)?;
    // Two that share a place have no order, and the search takes them to be concurrent.
    if !places::sort(&mut changes, |change| change.at) {
        return None;
    }
    if lock.fenced {
        if let Err(clash) = advance(&mut changes, operations) {
            return Some(Some(clash));
        }
        changes.sort_by_key(|change| change.at);
    }
    let mut sweep = LineSweep::new(lock.rule, 1, operations.len(), holder(operations));
    for change in changes {
        let mut legal = true;
        sweep.step(change, |_| legal = false);
        if !legal {
            let holds = sweep.active(0).into_iter().map(|(hold, _)| hold as usize);
            let beside = holds.filter(|hold| *hold != change.hold as usize).collect();
            return Some(Some(Clash { stuck: changed_by(operations, change), beside }));
        }
    }
    Some(None)
}

fn holder(operations: &[&Operation]) -> impl Fn(u32) -> Holder {
    |hold| Holder { process: operations[hold as usize].process, key: 0, permits: 1 }
}

/// The operation that a change of a hold comes from.
fn changed_by(operations: &[&Operation], change: HoldChange) -> usize {
    let hold = change.hold as usize;
    let converts = |operation: &&Operation| {
        operation.process == operations[hold].process
            && operation.answer == Some(change.at)
            && operation.converts()
    };
    operations.iter().position(converts).unwrap_or(hold)
}

/// Returns what goes wrong first: the operation whose answer is the first place up to which the
/// history is illegal. A history that begins legal goes on illegal from one place on, so it is
/// found by halves.
fn first(lock: StrictLock, operations: &[&Operation]) -> Option<Clash> {
    let certain = |id: &usize| operations[*id].certain();
    let mut answered: Vec<usize> = (0..operations.len()).filter(certain).collect();
    answered.sort_by_key(|id| operations[*id].deadline());
    let clash = |id: usize| swept(lock, operations, operations[id].deadline()).flatten();
    let stuck = *answered.get(answered.partition_point(|id| clash(*id).is_none()))?;
    let Clash { stuck: other, mut beside } = clash(stuck)?;
    beside.push(other);
    beside.retain(|id| *id != stuck);
    beside.sort_unstable();
    Some(Clash { stuck, beside })
}

/// The lock right before the answer of an operation, up to which all was well.
fn just_before(lock: StrictLock, operations: &[&Operation], stuck: usize) -> ModelState {
    let until = operations[stuck].deadline() - 1;
    let mut changes = changes(lock, operations, until).unwrap_or_default();
    changes.sort_by_key(|change| change.at);
    let mut sweep = LineSweep::new(lock.rule, 1, operations.len(), holder(operations));
    changes.into_iter().for_each(|change| sweep.step(change, |_| {}));
    let process = |(hold, mode): (u32, Mode)| (operations[hold as usize].process, mode);
    let holds: Vec<(u32, Mode)> = sweep.active(0).into_iter().map(process).collect();
    let state = match (lock.rule, holds.first()) {
        (Rule::Permits(of), _) if of > 1 => ModelState::Taken { permits: holds.len() as u32, of },
        (Rule::Reentrant(_), Some((process, _))) => {
            ModelState::Deep { process: *process, depth: holds.len() as u32 }
        }
        _ => ModelState::held(&holds),
    };
    let tokens = operations.iter().filter(|operation| operation.deadline() <= until);
    state.fenced(tokens.filter_map(|operation| token(operation)).max().filter(|_| lock.fenced))
}

/// The token that a grant brought.
fn token(operation: &Operation) -> Option<Token> {
    match operation.action {
        OperationKind::Acquire { token, .. } => token,
        _ => None,
    }
}

/// The state of a process in the line sweep.
#[derive(Default)]
struct ProcessState {
    /// Its last operation was answered here or, if its outcome is unknown, begun.
    until: Option<u64>,
    /// An operation of unknown outcome may yet free or weaken what it takes from here on.
    loose: bool,
    /// An operation of unknown outcome has begun.
    in_doubt: bool,
    /// Its certain grants that are not released, as operations.
    grants: SmallVec<[u32; 2]>,
}

/// Every begin, change and end of a definite hold up to a place. The number of a hold is that of
/// its acquire.
fn changes(lock: StrictLock, operations: &[&Operation], until: u64) -> Option<Vec<HoldChange>> {
    let mut clients: HashMap<u32, ProcessState, FxBuildHasher> = HashMap::default();
    let mut changes = Vec::with_capacity(operations.len());
    for id in by_invoke(operations) {
        let operation = operations[id as usize];
        if operation.invoke > until {
            break;
        }
        if operation.ended == Ended::Fail {
            continue;
        }
        let deadline = Some(operation.deadline()).filter(|at| *at <= until).unwrap_or(u64::MAX);
        let client = clients.entry(operation.process).or_default();
        if client.until.is_some_and(|until| operation.invoke <= until) {
            return None;
        }
        let certain = deadline != u64::MAX;
        client.until = Some(if certain { deadline } else { operation.invoke });
        let modes = matches!(lock.rule, Rule::ReadWrite | Rule::Others);
        let mode = |mode| if modes { mode } else { Mode::Exclusive };
        let in_doubt = client.in_doubt;
        client.in_doubt |= !certain;
        if lock.rule == Rule::Others && (in_doubt || operation.converts()) {
            return None;
        }
        let (at, hold, to) = match operation.action {
            // Of what it holds for certain, nothing else need be shown.
            OperationKind::Confirm if !certain || !client.grants.is_empty() => continue,
            OperationKind::Acquire { permits, .. } | OperationKind::Release { permits, .. }
                if permits != 1 =>
            {
                return None;
            }
            OperationKind::Acquire { .. } | OperationKind::Convert { mode: Mode::Exclusive }
                if !certain =>
            {
                continue;
            }
            OperationKind::Acquire { .. } | OperationKind::Convert { mode: Mode::Exclusive }
                if client.loose =>
            {
                return None;
            }
            OperationKind::Acquire { mode: asked, .. } => {
                client.grants.push(id);
                (deadline, id, Some(mode(asked)))
            }
            OperationKind::Convert { mode: Mode::Exclusive } => {
                (deadline, *client.grants.last()?, Some(Mode::Exclusive))
            }
            // What no grant is known for can only be about one of unknown outcome, or a later one.
            OperationKind::Convert { .. } | OperationKind::Release { .. }
                if !certain && lock.has_owners() && client.grants.is_empty() =>
            {
                client.loose = true;
                continue;
            }
            OperationKind::Convert { mode: Mode::Shared } => {
                client.loose |= !certain;
                (operation.invoke, *client.grants.last()?, Some(Mode::Shared))
            }
            OperationKind::Release { mode, .. } => {
                let ends = |grant: &u32| {
                    lock.rule != Rule::Others
                        || mode.is_none_or(|mode| operations[*grant as usize].asks(mode))
                };
                let place = client.grants.iter().rposition(ends)?;
                (operation.invoke, client.grants.remove(place), None)
            }
            _ => return None,
        };
        changes.push(HoldChange { at, hold, to });
    }
    Some(changes)
}

impl StrictLock {
    /// Returns true if a release frees nothing but a hold of its own process.
    fn has_owners(self) -> bool {
        !matches!(self.rule, Rule::Permits(_))
    }
}

/// The operations by their begin.
fn by_invoke(operations: &[&Operation]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..operations.len() as u32).collect();
    order.sort_by_key(|id| operations[*id as usize].invoke);
    order
}

/// Puts each grant with a token at its point: the `ok` of a grant with a higher token, if that is
/// earlier than its own.
fn advance(changes: &mut [HoldChange], operations: &[&Operation]) -> Result<(), Clash> {
    let mut grants: Vec<(Token, usize)> = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let operation = operations[change.hold as usize];
        // A conversion has no token of its own.
        let given = token(operation).filter(|_| operation.deadline() == change.at);
        grants.extend(given.map(|token| (token, at)));
    }
    grants.sort_unstable();
    let mut above: Option<(Token, usize)> = None;
    // The grant at whose `ok` the next lower one must be there.
    let mut point: Option<usize> = None;
    for (token, at) in grants.into_iter().rev() {
        let hold = changes[at].hold as usize;
        let clash = |stuck: usize, other: u32| Clash { stuck, beside: vec![other as usize] };
        if let Some((_, other)) = above.filter(|(above, _)| *above == token) {
            let mut pair = [changes[other].hold, changes[at].hold];
            pair.sort_by_key(|hold| operations[*hold as usize].deadline());
            return Err(clash(pair[1] as usize, pair[0]));
        }
        above = Some((token, at));
        if let Some(next) = point.filter(|next| changes[*next].at < changes[at].at) {
            if operations[hold].invoke > changes[next].at {
                return Err(clash(hold, changes[next].hold));
            }
            changes[at].at = changes[next].at;
        }
        point = Some(at);
    }
    Ok(())
}
