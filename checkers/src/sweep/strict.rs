//! The sweep on operations from anywhere: their definite holds in the strict normal form, if they
//! are such that the proof of [`sweep`](crate::sweep) holds.

use super::{Change, Holder, Rule, Sweep};
use crate::operation::{Action, Ended, Operation};
use crate::places;
use crate::search::Answer;
use base::Mode;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// How the sweep reads a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    /// Which sets of holds are legal.
    pub rule: Rule,
    /// Each grant has a greater token than those before.
    pub fenced: bool,
}

/// Decides the operations of one key. `None`: they are not as the proof asks.
pub(crate) fn decide(lock: Lock, operations: &[&Operation]) -> Option<Answer> {
    let mut changes = changes(lock, operations)?;
    // Two that share a place have no order, and the search takes them to be concurrent.
    if !places::sort(&mut changes, |change| change.at) {
        return None;
    }
    if lock.fenced {
        if let Err(answer) = advance(&mut changes, operations) {
            return Some(answer);
        }
        changes.sort_by_key(|change| change.at);
    }
    let holder = |hold: u32| Holder { process: operations[hold as usize].process, key: 0 };
    let mut sweep = Sweep::new(lock.rule, 1, operations.len(), holder);
    for change in changes {
        let mut legal = true;
        sweep.step(change, |_| legal = false);
        if !legal {
            return Some(illegal(operations, change, &sweep.active(0)));
        }
    }
    Some(Answer::Legal)
}

/// What a process is about.
#[derive(Default)]
struct Client {
    /// Its last operation was answered here.
    until: Option<u64>,
    /// Its last operation has no known outcome.
    over: bool,
    /// Its grants that are not released, as operations.
    grants: SmallVec<[u32; 2]>,
}

/// Every begin, change and end of a definite hold, whose number is that of its acquire.
fn changes(lock: Lock, operations: &[&Operation]) -> Option<Vec<Change>> {
    let mut clients: HashMap<u32, Client, FxBuildHasher> = HashMap::default();
    let mut changes = Vec::with_capacity(operations.len());
    for id in by_invoke(operations) {
        let operation = operations[id as usize];
        if operation.ended == Ended::Fail {
            continue;
        }
        let client = clients.entry(operation.process).or_default();
        if client.over || client.until.is_some_and(|until| operation.invoke <= until) {
            return None;
        }
        client.over = !operation.certain();
        client.until = Some(operation.deadline());
        let mode = |mode| if lock.rule == Rule::ReadWrite { mode } else { Mode::Exclusive };
        let (at, hold, to) = match operation.action {
            Action::Acquire { mode: asked, .. } => {
                client.grants.push(id);
                (operation.deadline(), id, Some(mode(asked)))
            }
            Action::Convert { mode: Mode::Exclusive } => {
                (operation.deadline(), *client.grants.last()?, Some(Mode::Exclusive))
            }
            Action::Convert { mode: Mode::Shared } => {
                (operation.invoke, *client.grants.last()?, Some(Mode::Shared))
            }
            Action::Release => (operation.invoke, client.grants.pop()?, None),
            _ => return None,
        };
        // An acquire or an upgrade of unknown outcome is left out.
        if at != u64::MAX {
            changes.push(Change { at, hold, to });
        }
    }
    Some(changes)
}

/// The operations by their begin.
fn by_invoke(operations: &[&Operation]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..operations.len() as u32).collect();
    order.sort_by_key(|id| operations[*id as usize].invoke);
    order
}

/// Puts each grant with a token at its point: the `ok` of a grant with a higher token, if that is
/// earlier than its own.
fn advance(changes: &mut [Change], operations: &[&Operation]) -> Result<(), Answer> {
    let token = |change: &Change| match operations[change.hold as usize] {
        // A conversion has no token of its own.
        Operation { action: Action::Acquire { token, .. }, .. }
            if operations[change.hold as usize].deadline() == change.at =>
        {
            change.to.and(*token)
        }
        _ => None,
    };
    let mut grants: Vec<(u64, usize)> = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        grants.extend(token(change).map(|token| (token, at)));
    }
    grants.sort_unstable();
    let mut above: Option<(u64, usize)> = None;
    // The grant at whose `ok` the next lower one must be there.
    let mut point: Option<usize> = None;
    for (token, at) in grants.into_iter().rev() {
        let hold = changes[at].hold as usize;
        let answer = |stuck: usize, other: u32| Answer::Illegal {
            stuck,
            concurrent: vec![other as usize],
            states: vec![format!("token {token} was given")],
        };
        if let Some((_, other)) = above.filter(|(above, _)| *above == token) {
            let mut pair = [changes[other].hold, changes[at].hold];
            pair.sort_by_key(|hold| operations[*hold as usize].deadline());
            return Err(answer(pair[1] as usize, pair[0]));
        }
        above = Some((token, at));
        if let Some(next) = point.filter(|next| changes[*next].at < changes[at].at) {
            if operations[hold].invoke > changes[next].at {
                return Err(answer(hold, changes[next].hold));
            }
            changes[at].at = changes[next].at;
        }
        point = Some(at);
    }
    Ok(())
}

fn illegal(operations: &[&Operation], change: Change, active: &[(u32, Mode)]) -> Answer {
    let hold = change.hold as usize;
    let process = operations[hold].process;
    let converts = |operation: &&Operation| {
        operation.process == process
            && operation.answer == Some(change.at)
            && matches!(operation.action, Action::Convert { .. })
    };
    let others: Vec<&(u32, Mode)> =
        active.iter().filter(|(other, _)| *other != change.hold).collect();
    let states = others.iter().map(|(other, mode)| {
        let how = if *mode == Mode::Shared { " shared" } else { "" };
        format!("held{how} by process {}", operations[*other as usize].process)
    });
    Answer::Illegal {
        stuck: operations.iter().position(converts).unwrap_or(hold),
        states: vec![states.collect::<Vec<_>>().join(", ")],
        concurrent: others.into_iter().map(|(other, _)| *other as usize).collect(),
    }
}
