//! The two rules that are wrong, and why the line sweep is not one of them.

use super::Rule;
use super::strict::{self, StrictLock};
use crate::operation::{Ended, Operation, OperationKind, Token};
use crate::search::SearchAnswer;
use crate::state::ModelState;
use base::Mode;

/// Holds, each as process, mode, token, and the places of `invoke`, `ok` and the release.
type Hold = (u32, Mode, Option<u64>, u64, u64, u64);

fn operations(holds: &[Hold]) -> Vec<Operation> {
    let mut operations = Vec::new();
    for &(process, mode, token, invoke, ok, release) in holds {
        let mut push = |invoke, answer, action| {
            let (answer, ended) = (Some(answer), Ended::Ok);
            operations.push(Operation { process, key: 0, invoke, answer, ended, action });
        };
        let token = token.map(Token::from);
        push(invoke, ok, OperationKind::Acquire { mode, token, permits: 1 });
        push(release, release + 1, OperationKind::RELEASE);
    }
    operations
}

fn decide(rule: Rule, fenced: bool, holds: &[Hold]) -> SearchAnswer {
    let operations = operations(holds);
    let all: Vec<&Operation> = operations.iter().collect();
    strict::decide(StrictLock { rule, fenced }, &all).expect("it meets the precondition")
}

fn stuck(answer: SearchAnswer) -> (usize, Vec<usize>) {
    match answer {
        SearchAnswer::Illegal { stuck, concurrent, .. } => (stuck, concurrent),
        other => panic!("{other:?}"),
    }
}

const X: Mode = Mode::Exclusive;
const S: Mode = Mode::Shared;

/// The rule of pairs: two holds that are both legal alone and overlap are in conflict unless the
/// rule allows the two together.
fn some_pair_conflicts(rule: Rule, holds: &[Hold]) -> bool {
    let pairs =
        holds.iter().enumerate().flat_map(|(at, a)| holds[at + 1..].iter().map(move |b| [*a, *b]));
    pairs.into_iter().any(|pair| decide(rule, false, &pair) != SearchAnswer::Legal)
}

#[test]
fn pairs_say_nothing_about_three_permits_of_two() {
    let together = [(0, X, None, 0, 1, 20), (1, X, None, 2, 3, 22), (2, X, None, 4, 5, 24)];
    assert!(!some_pair_conflicts(Rule::Permits(2), &together));
    assert_eq!(stuck(decide(Rule::Permits(2), false, &together)), (4, vec![0, 2]));
    assert_eq!(decide(Rule::Permits(3), false, &together), SearchAnswer::Legal);
}

#[test]
fn pairs_say_nothing_about_the_third_entry_of_two() {
    // The same process enters three times and leaves three times.
    let mut ops = operations(&[]);
    let entry = |at| Operation {
        process: 0,
        key: 0,
        invoke: at,
        answer: Some(at + 1),
        ended: Ended::Ok,
        action: if at < 6 { OperationKind::acquire(X) } else { OperationKind::RELEASE },
    };
    ops.extend([0, 2, 4, 6, 8, 10].map(entry));
    let decide = |depth, ops: &[&Operation]| {
        strict::decide(StrictLock { rule: Rule::Reentrant(depth), fenced: false }, ops).unwrap()
    };
    let all: Vec<&Operation> = ops.iter().collect();
    for left_out in 0..3 {
        let two: Vec<&Operation> =
            (0..3).filter(|id| *id != left_out).chain(3..5).map(|id| &ops[id]).collect();
        assert_eq!(decide(2, &two), SearchAnswer::Legal, "every two of the entries are legal");
    }
    assert_eq!(stuck(decide(2, &all)), (2, vec![0, 1]));
    assert_eq!(decide(3, &all), SearchAnswer::Legal);
}

#[test]
fn another_process_may_not_enter_however_deep() {
    let two = [(0, X, None, 0, 1, 20), (1, X, None, 2, 3, 22)];
    assert_eq!(stuck(decide(Rule::Reentrant(9), false, &two)), (2, vec![0]));
}

/// Reader 0 has token 3 and hears of it first; so reader 1, with token 2, was in by then, and the
/// writer that comes and goes before reader 1 hears of it was in at the same time.
#[test]
fn a_shared_hold_with_a_token_may_begin_before_its_ok() {
    let writer = (2, X, Some(9), 10, 11, 12);
    let apart = [(0, S, Some(3), 2, 5, 6), (1, S, Some(2), 0, 15, 22), writer];
    let by_ok = decide(Rule::ReadWrite, false, &apart);
    assert_eq!(by_ok, SearchAnswer::Legal, "by its `ok` reader 1 comes after the writer");
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &apart)), (2, vec![4]));
}

#[test]
fn a_token_that_is_too_low_for_its_place_is_illegal() {
    let late = [(0, X, Some(2), 0, 1, 2), (1, X, Some(1), 4, 5, 6)];
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &late)), (2, vec![0]));
    let same = [(0, X, Some(2), 0, 1, 2), (1, X, Some(2), 4, 5, 6)];
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &same)), (2, vec![0]));
    let rising = [(0, X, Some(2), 0, 1, 2), (1, X, Some(3), 4, 5, 6)];
    assert_eq!(decide(Rule::ReadWrite, true, &rising), SearchAnswer::Legal);
}

/// A token that is lower than one that was answered before it was asked for. Readers, because two
/// holds that exclude each other would be illegal by their overlap already.
#[test]
fn a_reader_whose_token_is_too_low_for_its_place_is_illegal() {
    let late = [(0, S, Some(2), 0, 1, 2), (1, S, Some(1), 4, 5, 6)];
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &late)), (2, vec![0]));
}

/// Two hold it at once, long before a token falls.
#[test]
fn what_goes_wrong_first_is_reported() {
    let holds = [
        (0, X, Some(5), 0, 1, 20),
        (1, X, Some(9), 2, 3, 4),
        (2, X, Some(3), 30, 31, 40),
        (3, X, Some(9), 50, 51, 60),
    ];
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &holds)), (2, vec![0]));
    let apart = [holds[1], holds[2], holds[3]];
    let operations = operations(&apart);
    let all: Vec<&Operation> = operations.iter().collect();
    match strict::decide(StrictLock { rule: Rule::ReadWrite, fenced: true }, &all) {
        Some(SearchAnswer::Illegal { stuck, concurrent, states }) => {
            assert_eq!((stuck, concurrent), (2, vec![0]));
            assert_eq!(states, [ModelState::Free.fenced(Some(Token::from(9_u64)))]);
        }
        other => panic!("{other:?}"),
    }
}

/// The state gives the number of holders, and not their names: there may be thousands.
#[test]
fn a_lock_of_many_is_described_by_their_number() {
    let hold = |n: u64| (n as u32, X, None, n * 2, n * 2 + 1, 50 + n * 2);
    let holds: Vec<Hold> = (0..4).map(hold).collect();
    match decide(Rule::Permits(3), false, &holds) {
        SearchAnswer::Illegal { states, .. } => {
            assert_eq!(states, [ModelState::Taken { permits: 3, of: 3 }])
        }
        other => panic!("{other:?}"),
    }
}

fn convert(process: u32, invoke: u64, mode: Mode) -> Operation {
    let (answer, ended) = (Some(invoke + 1), Ended::Ok);
    Operation { process, key: 0, invoke, answer, ended, action: OperationKind::Convert { mode } }
}

#[test]
fn a_conversion_that_goes_wrong_is_what_is_stuck() {
    let mut ops = operations(&[(0, S, None, 0, 1, 20), (1, S, None, 2, 3, 22)]);
    ops.extend([convert(0, 4, S), convert(1, 5, S), convert(0, 7, X)]);
    let all: Vec<&Operation> = ops.iter().collect();
    let lock = StrictLock { rule: Rule::ReadWrite, fenced: false };
    match strict::decide(lock, &all) {
        Some(SearchAnswer::Illegal { stuck, concurrent, states }) => {
            assert_eq!((stuck, concurrent), (6, vec![2]));
            assert_eq!(states, [ModelState::held(&[(0, S), (1, S)])]);
        }
        other => panic!("{other:?}"),
    }
    ops.pop();
    ops.extend(operations(&[(2, X, None, 30, 31, 40), (3, S, None, 32, 33, 42)]));
    let all: Vec<&Operation> = ops.iter().collect();
    match strict::decide(lock, &all) {
        Some(SearchAnswer::Illegal { stuck, concurrent, states }) => {
            assert_eq!((stuck, concurrent), (8, vec![6]));
            assert_eq!(states, [ModelState::held(&[(2, X)])]);
        }
        other => panic!("{other:?}"),
    }
}

/// Places need not lie close together, and where two changes share one, they have no order.
#[test]
fn places_may_lie_far_apart_but_none_is_shared() {
    for scale in [1, 1_000] {
        let apart = |a: u64, b: u64| {
            let holds =
                [(0, X, None, 0, scale, 2 * scale), (1, X, None, a * scale, b * scale, 9 * scale)];
            let ops = operations(&holds);
            let all: Vec<&Operation> = ops.iter().collect();
            strict::decide(StrictLock { rule: Rule::Permits(1), fenced: false }, &all)
        };
        assert_eq!(apart(3, 4), Some(SearchAnswer::Legal));
        assert!(matches!(apart(0, 3), Some(SearchAnswer::Legal)));
        assert_eq!(apart(0, 2), None, "one begins where the other ends");
        let overlap = [(0, X, None, 0, scale, 4 * scale), (1, X, None, 2, 3 * scale, 9 * scale)];
        assert_eq!(stuck(decide(Rule::Permits(1), false, &overlap)), (2, vec![0]));
    }
}

#[test]
fn what_does_not_meet_the_precondition_is_not_decided() {
    let release = |process, invoke| Operation {
        process,
        key: 0,
        invoke,
        answer: Some(invoke + 1),
        ended: Ended::Ok,
        action: OperationKind::RELEASE,
    };
    let by = |rule, ops: &[Operation]| {
        let all: Vec<&Operation> = ops.iter().collect();
        strict::decide(StrictLock { rule, fenced: false }, &all).is_some()
    };
    let decided = |ops: &[Operation]| by(Rule::Permits(1), ops);
    let hold = operations(&[(0, X, None, 0, 1, 2)]);
    assert!(decided(&hold));
    assert!(!decided(&[hold.clone(), vec![release(1, 4)]].concat()), "a release of nothing");
    assert!(!decided(&[hold.clone(), vec![release(0, 4)]].concat()), "a second release");
    let mut doubt = hold.clone();
    doubt[1].ended = Ended::Info;
    assert!(decided(&doubt));
    let again = operations(&[(0, X, None, 4, 5, 6)]);
    assert!(decided(&[doubt.clone(), again.clone()].concat()), "its release is its own");
    let unknown = |mut op: Operation| {
        op.ended = Ended::Info;
        op
    };
    let homeless: Vec<Operation> = [hold[0].clone(), release(0, 2)].map(unknown).into();
    assert!(by(Rule::ReadWrite, &homeless), "a pair in doubt");
    assert!(!decided(&homeless), "it may free the lock for somebody else");
    let then = [homeless, again].concat();
    assert!(!by(Rule::ReadWrite, &then), "it may free what its process takes later");
    let weakens =
        Operation { action: OperationKind::Convert { mode: S }, ..unknown(release(0, 2)) };
    let weakened = [hold[0].clone(), weakens, release(0, 4)];
    assert!(by(Rule::ReadWrite, &weakened), "a downgrade in doubt");
    let later = operations(&[(0, X, None, 7, 8, 9)]);
    let then = [&weakened[..], &later].concat();
    assert!(!by(Rule::ReadWrite, &then), "it may weaken what its process takes later");
    let both = operations(&[(0, X, None, 0, 4, 6), (0, X, None, 3, 5, 8)]);
    assert!(!decided(&both), "two operations of one process at once");
}
