//! Lines that are easily lost, the report where none goes on, and what must not cost much.

use crate::operation::{Ended, Operation, OperationKind};
use crate::search::Budget;
use crate::state::tests::Plain;
use crate::{Decision, Illegal, decide_by_search};

fn op(invoke: u64, answer: u64, action: OperationKind) -> Operation {
    let answer = Some(answer);
    Operation { process: 0, key: 0, invoke, answer, ended: Ended::Ok, action }
}

fn unknown(invoke: u64, action: OperationKind) -> Operation {
    Operation { answer: None, ended: Ended::Info, ..op(invoke, 0, action) }
}

fn write(value: i64) -> OperationKind {
    OperationKind::Write { value: Some(value) }
}

fn read(value: i64) -> OperationKind {
    OperationKind::Read { value: Some(Some(value)) }
}

fn cas(old: i64, new: i64) -> OperationKind {
    OperationKind::Cas { old: Some(old), new: Some(new) }
}

/// The decision of a register, and how many steps it took, in thousands.
fn costed(operations: &[Operation]) -> (Decision, u64) {
    let mut looks = 0;
    let mut expired = || {
        looks += 1;
        looks > 200
    };
    let budget = Budget { memory: 64 << 20, expired: &mut expired };
    let decision = decide_by_search("cas-register".parse().unwrap(), operations, budget);
    (decision.unwrap(), looks * 4)
}

fn decided(operations: &[Operation]) -> Decision {
    costed(operations).0
}

fn illegal(operations: &[Operation]) -> Illegal {
    match decided(operations) {
        Decision::Illegal(illegal) => illegal[0].clone(),
        other => panic!("{other:?}"),
    }
}

/// A write in doubt that changes nothing may still have hidden another one, which is answered late.
#[test]
fn a_write_in_doubt_hides_another_where_it_changes_nothing() {
    let mut operations = vec![
        op(0, 1, write(1)),
        op(2, 100, write(3)),
        unknown(3, write(1)),
        op(4, 10, cas(1, 5)),
        op(101, 102, read(5)),
    ];
    assert_eq!(decided(&operations), Decision::Legal);
    operations.remove(2);
    assert_eq!(illegal(&operations).stuck, 3);
}

#[test]
fn what_begins_and_ends_at_one_place_was_under_way_for_a_moment() {
    assert_eq!(decided(&[op(5, 5, write(1)), op(6, 6, read(1))]), Decision::Legal);
    assert_eq!(illegal(&[op(5, 5, write(1)), op(6, 6, read(2))]).stuck, 1);
}

#[test]
fn the_states_just_before_are_reported_each_once_and_at_most_four() {
    let reported = |writes: &[i64]| {
        let begin = |(at, value): (usize, &i64)| op(at as u64, at as u64 + 10, write(*value));
        let mut operations: Vec<_> = writes.iter().enumerate().map(begin).collect();
        operations.push(op(50, 51, read(9)));
        let states = illegal(&operations).states;
        let mut clauses: Vec<String> = states.iter().map(|state| state.clause(&Plain)).collect();
        clauses.sort();
        clauses
    };
    assert_eq!(reported(&[1, 2]), ["it held 1", "it held 2"]);
    assert_eq!(reported(&[1, 2, 1, 2]), ["it held 1", "it held 2"]);
    assert_eq!(reported(&[1, 2, 3, 4, 5, 6]).len(), 4);
}

/// Sixteen clients set a cell and sixteen free it, all at once: who was first is all the same.
#[test]
fn equal_operations_at_once_cost_little() {
    let mut operations = vec![op(0, 1, write(0))];
    for n in 0..16 {
        operations.push(op(2 + n, 200 + n, cas(0, 1)));
        operations.push(op(50 + n, 300 + n, cas(1, 0)));
    }
    operations.extend((0..8).map(|n| op(100 + n * 2, 101 + n * 2, read(1 - n as i64 % 2))));
    let (decision, cost) = costed(&operations);
    assert_eq!(decision, Decision::Legal);
    assert!(cost < 20, "{cost} thousand steps");
}

/// Writes in doubt of values that nobody finds: each is looked at whenever something is answered.
#[test]
fn what_is_looked_at_in_vain_is_on_the_clock() {
    let mut operations = vec![op(0, 1, write(0))];
    operations.extend((0..1_600).map(|n| unknown(2 + n, write(10 + n as i64))));
    let turn = |n: u64| op(2_000 + n * 2, 2_001 + n * 2, cas(n as i64 % 2, 1 - n as i64 % 2));
    operations.extend((0..200).map(turn));
    let (decision, cost) = costed(&operations);
    assert_eq!(decision, Decision::Legal);
    assert!((16..40).contains(&cost), "{cost} thousand steps");
}
