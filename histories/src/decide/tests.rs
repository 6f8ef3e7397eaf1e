//! Decisions on whole histories: keys, budgets, explanations, and what the search must not cost.

use super::{Decision, Illegal, Misfit, decide};
use crate::operation::{Ended, Operation, OperationKind};
use crate::search::Budget;
use crate::search::random::{Toy, honest};
use crate::state::ModelState;
use base::{Mode, Rng};
use expect_test::expect;

const TAKE: OperationKind = OperationKind::acquire(Mode::Exclusive);
const SHARE: OperationKind = OperationKind::acquire(Mode::Shared);

fn op(process: u32, invoke: u64, answer: u64, action: OperationKind) -> Operation {
    let answer = Some(answer);
    Operation { process, key: 0, invoke, answer, ended: Ended::Ok, action }
}

fn unknown(process: u32, invoke: u64, action: OperationKind) -> Operation {
    Operation { process, key: 0, invoke, answer: None, ended: Ended::Info, action }
}

fn write(value: i64) -> OperationKind {
    OperationKind::Write { value: Some(value) }
}

fn read(value: i64) -> OperationKind {
    OperationKind::Read { value: Some(Some(value)) }
}

fn on(key: u32, mut operation: Operation) -> Operation {
    operation.key = key;
    operation
}

/// The decision, and how often the clock was looked at: what it cost, in thousands of steps.
fn costed(model: &str, operations: &[Operation]) -> (Decision, u64) {
    let mut looks = 0;
    let mut expired = || {
        looks += 1;
        looks > 1_000
    };
    let budget = Budget { memory: 64 << 20, expired: &mut expired };
    let decision = decide(model.parse().unwrap(), operations, budget).unwrap();
    (decision, looks)
}

fn decided(model: &str, operations: &[Operation]) -> Decision {
    costed(model, operations).0
}

fn illegal(model: &str, operations: &[Operation]) -> Illegal {
    match decided(model, operations) {
        Decision::Illegal(illegal) => illegal[0].clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_thousand_operations_with_doubts_are_decided() {
    for (model, toy) in [("rw", Toy::rw(false)), ("fenced", Toy::rw(true))] {
        for seed in 0..4 {
            let operations = honest(toy.clone(), 20, 1_000, 40, &mut Rng::fork(17, seed));
            let doubts = operations.iter().filter(|it| it.ended == Ended::Info).count();
            assert!((30..90).contains(&doubts), "{doubts}");
            let (decision, looks) = costed(model, &operations);
            assert!(decision == Decision::Legal && looks < 600, "{model} {seed}: {looks} looks");
            // Two holds that are definite forbid each other, whatever became of the doubts.
            let end = operations.iter().map(|it| it.invoke.max(it.answer.unwrap_or(0))).max();
            let end = end.unwrap_or(0);
            let twice = [op(30, end + 1, end + 2, TAKE), op(31, end + 3, end + 4, TAKE)];
            let (decision, looks) = costed(model, &[&operations[..], &twice].concat());
            let is_illegal = matches!(decision, Decision::Illegal(_));
            assert!(is_illegal && looks == 0, "{model} {seed}: {looks} looks");
        }
    }
}

#[test]
fn nothing_is_legal() {
    for spec in crate::MODELS {
        let name = spec.bound.map_or(spec.name.to_owned(), |_| format!("{}:2", spec.name));
        assert_eq!(decided(&name, &[]), Decision::Legal);
    }
}

#[test]
fn what_a_model_does_not_know_is_named() {
    let operations = [op(0, 0, 1, TAKE), op(0, 2, 3, write(1))];
    let budget = Budget { memory: 0, expired: &mut || true };
    assert_eq!(decide("mutex".parse().unwrap(), &operations, budget), Err(Misfit(1)));
}

#[test]
fn a_stale_read_is_stuck_beside_what_was_open() {
    let operations =
        [op(0, 0, 1, write(1)), op(1, 2, 9, write(2)), op(2, 3, 4, read(2)), op(2, 5, 6, read(1))];
    let illegal = illegal("register", &operations);
    assert_eq!((illegal.stuck, illegal.concurrent), (3, vec![1]));
    assert_eq!(illegal.states, [ModelState::Cell(Some(2))]);
}

#[test]
fn failed_operations_are_dropped() {
    let mut failed = op(1, 2, 3, TAKE);
    failed.ended = Ended::Fail;
    assert_eq!(decided("mutex", &[op(0, 0, 1, TAKE), failed]), Decision::Legal);
}

#[test]
fn a_cas_that_missed_found_another_value() {
    let miss = |old| OperationKind::Miss { old: Some(old) };
    let operations = [op(0, 0, 9, write(1)), op(1, 2, 3, miss(1)), op(1, 4, 5, read(1))];
    assert_eq!(decided("cas-register", &operations), Decision::Legal);
    let late = [operations.to_vec(), vec![op(2, 10, 11, miss(1))]].concat();
    assert_eq!(illegal("cas-register", &late).stuck, 3);
}

#[test]
fn an_owner_is_known_to_one_mutex_and_not_to_the_other() {
    let operations = [op(0, 0, 1, TAKE), op(1, 2, 3, OperationKind::RELEASE), op(2, 4, 5, TAKE)];
    assert_eq!(decided("mutex", &operations), Decision::Legal);
    assert_eq!(illegal("owner-mutex", &operations).stuck, 1);
}

#[test]
fn keys_are_judged_by_themselves_and_the_first_to_go_wrong_is_reported_first() {
    let twice = |key, at| [on(key, op(0, at, at + 1, TAKE)), on(key, op(1, at + 2, at + 3, TAKE))];
    let legal = [on(5, op(0, 0, 1, TAKE)), on(6, op(1, 2, 3, TAKE))];
    assert_eq!(decided("mutex", &legal), Decision::Legal);
    let operations = [twice(5, 20), twice(6, 10)].concat();
    let illegal = illegal("mutex", &operations);
    assert_eq!((illegal.key, illegal.stuck, illegal.concurrent), (6, 3, vec![2]));
}

/// Fourteen pairs of cas that lead away from a value and back to it, all at once: any of them may
/// have taken place when the first of them is seen, and when it is seen again, which cannot be.
fn wide() -> Vec<Operation> {
    let cas = |old, new| OperationKind::Cas { old: Some(old), new: Some(new) };
    let mut operations = vec![op(0, 0, 1, write(0))];
    for n in 1..15_u32 {
        let (at, there, back) = (u64::from(n), cas(0, n.into()), cas(n.into(), 0));
        operations.extend([op(n, at + 10, at + 100, there), op(n + 20, at + 30, at + 200, back)]);
    }
    let seen = [read(1), read(0), read(1)];
    operations.extend((61..).step_by(2).zip(seen).map(|(at, seen)| op(50, at, at + 1, seen)));
    operations
}

#[test]
fn a_spent_budget_is_inconclusive() {
    let with = |memory: usize, limit: u64| {
        let mut looks = 0;
        let mut expired = || {
            looks += 1;
            looks > limit
        };
        let budget = Budget { memory, expired: &mut expired };
        match decide("cas-register".parse().unwrap(), &wide(), budget).unwrap() {
            Decision::Inconclusive(why) => why,
            other => panic!("{other:?}"),
        }
    };
    let budgets = [(usize::MAX, 0), (usize::MAX, 20), (1 << 20, u64::MAX), (0, u64::MAX)];
    let reasons = budgets.map(|(memory, limit)| with(memory, limit));
    expect![[r#"
        the time budget was spent before it was known
        the time budget was spent before it was known
        the memory budget was spent before it was known
        the memory budget was spent before it was known"#]]
    .assert_eq(&reasons.join("\n"));
}

#[test]
fn the_sweep_takes_its_memory_from_the_budget_and_gives_it_back() {
    let turns = |key, cycles| turns(cycles, 3, TAKE).into_iter().map(move |op| on(key, op));
    let keys: Vec<_> = (0..10).flat_map(|key| turns(key, 100)).collect();
    let with = |operations: &[Operation]| {
        let budget = Budget { memory: 40_000, expired: &mut || true };
        decide("mutex".parse().unwrap(), operations, budget).unwrap()
    };
    assert!(matches!(with(&keys), Decision::Illegal(_)));
    let long: Vec<_> = turns(0, 1_000).collect();
    assert_eq!(
        with(&long),
        Decision::Inconclusive("the memory budget was spent before it was known".into())
    );
}

#[test]
fn an_illegal_key_outweighs_one_that_nobody_knows() {
    let mut operations: Vec<_> = wide().into_iter().map(|op| on(1, op)).collect();
    operations.extend([on(0, op(0, 200, 201, write(1))), on(0, op(0, 202, 203, read(2)))]);
    let budget = Budget { memory: 1 << 20, expired: &mut || false };
    let decision = decide("cas-register".parse().unwrap(), &operations, budget).unwrap();
    assert!(matches!(decision, Decision::Illegal(illegal) if illegal[0].key == 0));
}

/// Cycles of clients that take turns, an operation in four open at once, and a second grant while
/// the lock is held near the end.
fn turns(cycles: u64, clients: u32, last: OperationKind) -> Vec<Operation> {
    let mut operations = Vec::new();
    for n in 0..cycles {
        let process = n as u32 % clients;
        let ask = (n * 10).saturating_sub(u64::from(clients - 1) * 10);
        operations.push(op(process, ask, n * 10 + 5, TAKE));
        operations.push(op(process, n * 10 + 6, n * 10 + 9, OperationKind::RELEASE));
    }
    let at = cycles * 10;
    operations.push(op(90, at, at + 1, TAKE));
    operations.push(op(91, at + 2, at + 3, last));
    operations
}

/// The clients that asked and freed without an answer free the lock for nobody in particular.
#[test]
fn twenty_pairs_of_unknown_outcome_cost_little() {
    let mut operations = turns(480, 10, TAKE);
    for n in 0..20 {
        operations.push(unknown(100 + n, 1 + u64::from(n) * 200, TAKE));
        operations.push(unknown(200 + n, 2 + u64::from(n) * 200, OperationKind::RELEASE));
    }
    // One grant too many is what the releases of unknown outcome can explain; forty are not.
    for n in 0..40 {
        let at = 10_000 + n * 2;
        operations.push(op(300 + n as u32, at, at + 1, TAKE));
    }
    let (decision, looks) = costed("mutex", &operations);
    assert!(matches!(decision, Decision::Illegal(_)), "{decision:?}");
    assert!(looks < 300, "{looks} thousand steps");
}

/// Readers that all come and go at once take no more work than one.
#[test]
fn thirty_readers_at_once_cost_little() {
    let mut operations = Vec::new();
    for round in 0..16 {
        for reader in 0..30 {
            let at = round * 200 + u64::from(reader);
            operations.push(op(reader, at, at + 40, SHARE));
            operations.push(op(reader, at + 80, at + 120, OperationKind::RELEASE));
        }
        operations.push(op(40, round * 200 + 1, round * 200 + 190, TAKE));
        operations.push(op(40, round * 200 + 191, round * 200 + 192, OperationKind::RELEASE));
    }
    let (decision, looks) = costed("rw", &operations);
    assert!(matches!(decision, Decision::Legal), "{decision:?}");
    assert!(looks < 100, "{looks} thousand steps");
    operations.extend([op(50, 5_000, 5_001, SHARE), op(51, 5_002, 5_003, TAKE)]);
    let (decision, looks) = costed("rw", &operations);
    assert!(matches!(decision, Decision::Illegal(_)), "{decision:?}");
    assert!(looks < 100, "{looks} thousand steps");
}

/// Writes that are all under way at once leave no trace but that of the last one that is read.
#[test]
fn writes_at_once_cost_little() {
    let mut operations = Vec::new();
    for n in 0..40_u32 {
        let at = u64::from(n);
        operations.push(op(n, at, at + 1_000, write(n.into())));
    }
    operations.extend((0..30).map(|n| op(50, 100 + n * 2, 101 + n * 2, read(n as i64))));
    let (decision, looks) = costed("register", &operations);
    assert_eq!(decision, Decision::Legal);
    assert!(looks < 10, "{looks} thousand steps");
    operations.push(op(50, 200, 201, read(5)));
    let (decision, looks) = costed("register", &operations);
    assert!(matches!(decision, Decision::Illegal(_)), "{decision:?}");
    assert!(looks < 10, "{looks} thousand steps");
}

/// A member of unknown outcome is in the final set or not, and nobody tries them all.
#[test]
fn adds_of_unknown_outcome_cost_little() {
    let mut operations: Vec<_> = (0..500)
        .map(|n| unknown(n, u64::from(n), OperationKind::Add { value: n.into() }))
        .collect();
    let even: std::sync::Arc<[i64]> = (0..500).step_by(2).collect();
    operations.push(op(900, 1_000, 1_001, OperationKind::Members { values: Some(even.clone()) }));
    let (decision, looks) = costed("set", &operations);
    assert_eq!(decision, Decision::Legal);
    assert!(looks < 200, "{looks} thousand steps");
    let fewer: std::sync::Arc<[i64]> = even.iter().copied().skip(1).collect();
    operations.push(op(900, 1_002, 1_003, OperationKind::Members { values: Some(fewer) }));
    assert_eq!(illegal("set", &operations).stuck, 501);
}
