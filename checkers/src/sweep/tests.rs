//! The two rules that are wrong, and why the sweep is not one of them.

use super::Rule;
use super::strict::{self, Lock};
use crate::operation::{Action, Ended, Operation};
use crate::search::Answer;
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
        push(invoke, ok, Action::Acquire { mode, token });
        push(release, release + 1, Action::Release);
    }
    operations
}

fn decide(rule: Rule, fenced: bool, holds: &[Hold]) -> Answer {
    let operations = operations(holds);
    let all: Vec<&Operation> = operations.iter().collect();
    strict::decide(Lock { rule, fenced }, &all).expect("it meets the precondition")
}

fn stuck(answer: Answer) -> (usize, Vec<usize>) {
    match answer {
        Answer::Illegal { stuck, concurrent, .. } => (stuck, concurrent),
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
    pairs.into_iter().any(|pair| decide(rule, false, &pair) != Answer::Legal)
}

#[test]
fn pairs_say_nothing_about_three_permits_of_two() {
    let together = [(0, X, None, 0, 1, 20), (1, X, None, 2, 3, 22), (2, X, None, 4, 5, 24)];
    assert!(!some_pair_conflicts(Rule::Permits(2), &together));
    assert_eq!(stuck(decide(Rule::Permits(2), false, &together)), (4, vec![0, 2]));
    assert_eq!(decide(Rule::Permits(3), false, &together), Answer::Legal);
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
        action: if at < 6 { Action::Acquire { mode: X, token: None } } else { Action::Release },
    };
    ops.extend([0, 2, 4, 6, 8, 10].map(entry));
    let decide = |depth, ops: &[&Operation]| {
        strict::decide(Lock { rule: Rule::Reentrant(depth), fenced: false }, ops).unwrap()
    };
    let all: Vec<&Operation> = ops.iter().collect();
    for left_out in 0..3 {
        let two: Vec<&Operation> =
            (0..3).filter(|id| *id != left_out).chain(3..5).map(|id| &ops[id]).collect();
        assert_eq!(decide(2, &two), Answer::Legal, "every two of the entries are legal");
    }
    assert_eq!(stuck(decide(2, &all)), (2, vec![0, 1]));
    assert_eq!(decide(3, &all), Answer::Legal);
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
    assert_eq!(by_ok, Answer::Legal, "by its `ok` reader 1 comes after the writer");
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &apart)), (4, vec![2]));
}

#[test]
fn a_token_that_is_too_low_for_its_place_is_illegal() {
    let late = [(0, X, Some(2), 0, 1, 2), (1, X, Some(1), 4, 5, 6)];
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &late)), (2, vec![0]));
    let same = [(0, X, Some(2), 0, 1, 2), (1, X, Some(2), 4, 5, 6)];
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &same)), (2, vec![0]));
    let rising = [(0, X, Some(2), 0, 1, 2), (1, X, Some(3), 4, 5, 6)];
    assert_eq!(decide(Rule::ReadWrite, true, &rising), Answer::Legal);
}

/// A token that is lower than one that was answered before it was asked for. Readers, because two
/// holds that exclude each other would be illegal by their overlap already.
#[test]
fn a_reader_whose_token_is_too_low_for_its_place_is_illegal() {
    let late = [(0, S, Some(2), 0, 1, 2), (1, S, Some(1), 4, 5, 6)];
    assert_eq!(stuck(decide(Rule::ReadWrite, true, &late)), (2, vec![0]));
}

fn convert(process: u32, invoke: u64, mode: Mode) -> Operation {
    let (answer, ended) = (Some(invoke + 1), Ended::Ok);
    Operation { process, key: 0, invoke, answer, ended, action: Action::Convert { mode } }
}

#[test]
fn a_conversion_that_goes_wrong_is_what_is_stuck() {
    let mut ops = operations(&[(0, S, None, 0, 1, 20), (1, S, None, 2, 3, 22)]);
    ops.extend([convert(0, 4, S), convert(1, 5, S), convert(0, 7, X)]);
    let all: Vec<&Operation> = ops.iter().collect();
    let lock = Lock { rule: Rule::ReadWrite, fenced: false };
    match strict::decide(lock, &all) {
        Some(Answer::Illegal { stuck, concurrent, states }) => {
            assert_eq!((stuck, concurrent), (6, vec![2]));
            assert_eq!(states, ["held shared by process 1"]);
        }
        other => panic!("{other:?}"),
    }
    ops.pop();
    ops.extend(operations(&[(2, X, None, 30, 31, 40), (3, S, None, 32, 33, 42)]));
    let all: Vec<&Operation> = ops.iter().collect();
    match strict::decide(lock, &all) {
        Some(Answer::Illegal { stuck, concurrent, states }) => {
            assert_eq!((stuck, concurrent), (8, vec![6]));
            assert_eq!(states, ["held by process 2"]);
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
            strict::decide(Lock { rule: Rule::Permits(1), fenced: false }, &all)
        };
        assert_eq!(apart(3, 4), Some(Answer::Legal));
        assert!(matches!(apart(0, 3), Some(Answer::Legal)));
        assert_eq!(apart(0, 2), None, "one begins where the other ends");
        let overlap = [(0, X, None, 0, scale, 4 * scale), (1, X, None, 2, 3 * scale, 9 * scale)];
        assert_eq!(stuck(decide(Rule::Permits(1), false, &overlap)), (2, vec![0]));
    }
}

#[test]
fn what_does_not_meet_the_precondition_is_not_decided() {
    let lock = Lock { rule: Rule::Permits(1), fenced: false };
    let release = |process, invoke| Operation {
        process,
        key: 0,
        invoke,
        answer: Some(invoke + 1),
        ended: Ended::Ok,
        action: Action::Release,
    };
    let decided = |ops: &[Operation]| {
        let all: Vec<&Operation> = ops.iter().collect();
        strict::decide(lock, &all).is_some()
    };
    let hold = operations(&[(0, X, None, 0, 1, 2)]);
    assert!(decided(&hold));
    assert!(!decided(&[hold.clone(), vec![release(1, 4)]].concat()), "a release of nothing");
    assert!(!decided(&[hold.clone(), vec![release(0, 4)]].concat()), "a second release");
    let mut doubt = hold.clone();
    doubt[1].ended = Ended::Info;
    assert!(decided(&doubt));
    let again = operations(&[(0, X, None, 4, 5, 6)]);
    assert!(!decided(&[doubt, again].concat()), "a process that goes on after doubt");
    let both = operations(&[(0, X, None, 0, 4, 6), (0, X, None, 3, 5, 8)]);
    assert!(!decided(&both), "two operations of one process at once");
}
