//! The search against every line there is, on small random histories of every model.

use super::random::{Behaviour, Toy, history};
use crate::models::{CasRegister, Model, ReentrantModel, ReentrantRw, Rw, Semaphore, Set};
use crate::operation::{Ended, Operation};
use crate::search::{Budget, Line, Meter, SearchAnswer, WantedLine, line, search};
use base::Rng;
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

/// Returns the number of histories of each kind to try: `PICKLOCK_CASES`, or this many.
pub(crate) fn cases(default: u64) -> u64 {
    let given = std::env::var("PICKLOCK_CASES").ok();
    given.map_or(default, |given| given.parse().expect("PICKLOCK_CASES is a number"))
}

/// Finds out whether there is a line, by trying every order that the places allow. It shares
/// nothing with the search but the model's steps.
pub(crate) fn brute<M: Model>(model: &M, operations: &[Operation]) -> bool {
    let ops: Vec<&Operation> = operations.iter().filter(|op| op.ended != Ended::Fail).collect();
    let mut budget = Budget { memory: usize::MAX, expired: &mut || false };
    let steps = model.steps(&ops, &mut Meter::new(&mut budget)).unwrap();
    let mut seen: HashSet<(u32, M::State), FxBuildHasher> = HashSet::default();
    let mut stack = vec![(0u32, model.initial())];
    while let Some((placed, state)) = stack.pop() {
        if !seen.insert((placed, state.clone())) {
            continue;
        }
        let open: Vec<usize> = (0..ops.len()).filter(|id| placed & (1 << id) == 0).collect();
        if open.iter().all(|id| !ops[*id].certain()) {
            return true;
        }
        // Nothing may be placed after an operation that had ended before it began.
        let first_end = open.iter().map(|id| ops[*id].deadline()).min().unwrap();
        for id in open.into_iter().filter(|id| ops[*id].invoke < first_end) {
            if let Some(next) = model.apply(&state, &steps[id]) {
                stack.push((placed | 1 << id, next));
            }
        }
    }
    false
}

pub(crate) fn searched<M: Model>(
    model: &M,
    operations: &[Operation],
    memory: usize,
) -> SearchAnswer {
    let mut budget = Budget { memory, expired: &mut || false };
    let operations: Vec<&Operation> = operations.iter().collect();
    search(model, &operations, &mut Meter::new(&mut budget))
}

/// The line of these operations up to a place.
pub(crate) fn lined<M: Model>(model: &M, operations: &[Operation], until: u64) -> Line {
    let mut budget = Budget { memory: usize::MAX, expired: &mut || false };
    let operations: Vec<&Operation> = operations.iter().collect();
    let wanted = WantedLine { until, states_after: &[] };
    line(model, &operations, &wanted, &mut Meter::new(&mut budget))
}

/// There is a line up to what the search says cannot be put anywhere, and it is one: all that was
/// answered by then is on it, each within its time, and the model can walk it.
fn goes_as_far_as_can_be<M: Model>(model: &M, operations: &[Operation], found: &SearchAnswer) {
    let until = match found {
        SearchAnswer::Illegal { stuck, .. } => operations[*stuck].deadline(),
        _ => u64::MAX,
    };
    let line = lined(model, operations, until);
    assert!(line.whole, "{line:?} {operations:#?}");
    let mut budget = Budget { memory: usize::MAX, expired: &mut || false };
    let ops: Vec<&Operation> = operations.iter().collect();
    let steps = model.steps(&ops, &mut Meter::new(&mut budget)).unwrap();
    let (mut state, mut last, mut placed) = (model.initial(), 0, vec![false; ops.len()]);
    for (number, point) in line.points.iter().enumerate() {
        let operation = ops[point.operation];
        let within = operation.invoke < point.before && point.before <= operation.deadline();
        assert!(within && last <= point.before && point.before < until, "{line:?} {ops:#?}");
        assert!(!std::mem::replace(&mut placed[point.operation], true), "{line:?}");
        state = model.apply(&state, &steps[point.operation]).expect("a legal step");
        assert_eq!(line.states[&number], model.describe(&state));
        last = point.before;
    }
    assert!(
        (0..ops.len()).all(|id| placed[id] || ops[id].deadline() >= until),
        "{line:?} {ops:#?}"
    );
}

/// Tries random histories of a toy, and wants enough of both kinds among them: a comparison in
/// which both sides always say the same would prove nothing.
fn agree<M: Model>(model: M, toy: &Toy) {
    let cases = cases(4_000);
    let mut legal = 0;
    for seed in 0..cases {
        let mut rng = Rng::fork(7, seed);
        let manner = [Behaviour::Wild, Behaviour::Tame, Behaviour::Stubborn][seed as usize % 3];
        let events = 6 + rng.below(18);
        let operations = history(toy.clone(), manner, events, &mut rng);
        if operations.len() > 14 {
            continue;
        }
        let expected = brute(&model, &operations);
        let found = searched(&model, &operations, usize::MAX);
        assert_eq!(
            expected,
            found == SearchAnswer::Legal,
            "seed {seed}: {found:?} {operations:#?}"
        );
        goes_as_far_as_can_be(&model, &operations, &found);
        legal += u64::from(expected);
    }
    assert!((cases / 5..cases * 9 / 10).contains(&legal), "{legal} of {cases} are legal");
}

#[test]
fn mutex() {
    agree(Semaphore { permits: 1 }, &Toy::mutex());
}

#[test]
fn owner_mutex() {
    agree(ReentrantModel { depth: 1 }, &Toy::mutex());
}

#[test]
fn rw() {
    agree(Rw { fenced: false }, &Toy::rw(false));
}

#[test]
fn fenced() {
    agree(Rw { fenced: true }, &Toy::rw(true));
}

#[test]
fn reentrant() {
    agree(ReentrantModel { depth: 2 }, &Toy::reentrant(2));
}

#[test]
fn semaphore() {
    agree(Semaphore { permits: 2 }, &Toy::semaphore(2));
}

#[test]
fn semaphore_with_several_permits_at_once() {
    agree(Semaphore { permits: 3 }, &Toy::permits(3));
}

#[test]
fn rw_reentrant() {
    agree(ReentrantRw, &Toy::rw_reentrant(false));
}

#[test]
fn fenced_reentrant() {
    agree(ReentrantRw, &Toy::rw_reentrant(true));
}

#[test]
fn register() {
    agree(CasRegister, &Toy::Register { cell: None, cas: false });
}

#[test]
fn cas_register() {
    agree(CasRegister, &Toy::Register { cell: None, cas: true });
}

#[test]
fn set() {
    agree(Set, &Toy::Set(Default::default()));
}
