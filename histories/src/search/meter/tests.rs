//! Tests of what a budget covers: steps by their size, large sets, many keys.

use super::{BLOCK, Budget, Meter, SpentBudget, TICKS};
use crate::operation::{Ended, Operation, OperationKind};
use crate::{Decision, decide_by_search};
use expect_test::expect;

/// Returns what this makes of a budget of so much memory and so many looks at the clock, and how
/// often the clock was looked at.
fn within<T>(memory: usize, looks: u64, spend: impl FnOnce(Budget<'_>) -> T) -> (T, u64) {
    let mut looked = 0;
    let mut expired = || {
        looked += 1;
        looked > looks
    };
    (spend(Budget { memory, expired: &mut expired }), looked)
}

#[test]
fn memory_can_be_used_to_the_last_byte_and_again_when_it_is_given_back() {
    within(100, 0, |mut budget| {
        let mut meter = Meter::new(&mut budget);
        assert_eq!(meter.take(100), Ok(()));
        assert_eq!(meter.take(1), Err(SpentBudget::Memory));
        meter.give(51);
        assert_eq!((meter.take(50), meter.used()), (Ok(()), 100));
    });
}

/// Counts how often something of this size can be handled until the clock has been looked at ten
/// times.
fn handled(bytes: usize) -> usize {
    let (count, _) = within(0, 10, |mut budget| {
        let mut meter = Meter::new(&mut budget);
        (0..20 * TICKS).take_while(|_| meter.handle(bytes).is_ok()).count()
    });
    count
}

#[test]
fn the_clock_is_looked_at_the_more_often_the_larger_the_steps() {
    let small = handled(0);
    assert!((10 * TICKS..=11 * TICKS).contains(&small), "{small}");
    let large = handled(99 * BLOCK);
    assert!((small / 110..small / 90).contains(&large), "{large} of {small}");
    assert_eq!(handled(usize::MAX), 10);
}

fn op(key: u32, at: u64, action: OperationKind) -> Operation {
    let answer = Some(at + 1);
    Operation { process: 0, key, invoke: at, answer, ended: Ended::Ok, action }
}

/// Returns the reason why it is not decided, if it is not; and how often the clock was looked at.
fn spent(model: &str, operations: &[Operation], memory: usize) -> (Option<String>, u64) {
    let model = model.parse().unwrap();
    let (decision, looks) =
        within(memory, 100, |budget| decide_by_search(model, operations, budget));
    match decision.unwrap() {
        Decision::Inconclusive(why) => (Some(why), looks),
        Decision::Legal | Decision::Illegal(_) => (None, looks),
    }
}

/// A read of the first so many members.
fn first(members: i64) -> OperationKind {
    OperationKind::Members { values: Some((0..members).collect()) }
}

#[test]
fn what_it_takes_to_learn_what_large_sets_hold_is_on_the_budget() {
    let growing = |reads: u64| -> Vec<Operation> {
        (0..reads).map(|n| op(0, n * 2, first(n as i64 * 200))).collect()
    };
    // Ten thousand names, and rows of six hundred bytes on average.
    let (why, looks) = spent("set", &growing(50), 680_000);
    assert_eq!(why, None);
    assert!(looks as usize * TICKS > 49 * 50 * 200 / 2, "{looks}");
    let reasons = [(50, 650_000), (80, usize::MAX)]
        .map(|(reads, memory)| spent("set", &growing(reads), memory).0.unwrap());
    expect![[r#"
        the memory budget was spent before it was known
        the time budget was spent before it was known"#]]
    .assert_eq(&reasons.join("\n"));
    // Those who see the same share it.
    let last = OperationKind::Members { values: Some([19_999].into()) };
    let mut same = vec![op(0, 0, first(20_000))];
    same.extend((1..100).map(|n| op(0, n * 2, last.clone())));
    assert_eq!(spent("set", &same, 1_340_000).0, None);
}

#[test]
fn steps_from_large_sets_are_large_ones() {
    let all = Operation { ended: Ended::Info, ..op(0, 0, first(100_000)) };
    let add = |n: u64| op(0, 2 + n * 2, OperationKind::Add { value: 99_999 - n as i64 });
    let (idle, busy) = ([all.clone()], [vec![all], (0..1_000).map(add).collect()].concat());
    let looks = |operations: &[Operation]| match spent("set", operations, 64 << 20) {
        (None, looks) => looks,
        (Some(why), _) => panic!("{why}"),
    };
    let more = looks(&busy) - looks(&idle);
    assert!(more > 4, "{more}");
}

#[test]
fn each_operation_takes_its_part() {
    let write = |n: u64| op(0, n * 2, OperationKind::Write { value: None });
    let operations: Vec<Operation> = (0..1_000).map(write).collect();
    expect!["the memory budget was spent before it was known"]
        .assert_eq(&spent("register", &operations, 100_000).0.unwrap());
    assert_eq!(spent("register", &operations, 200_000).0, None);
}

#[test]
fn keys_in_turn_cost_the_memory_of_one() {
    let writes =
        |key: u32| (0..10).map(move |n| op(key, n * 2, OperationKind::Write { value: None }));
    let one: Vec<Operation> = writes(0).collect();
    let many: Vec<Operation> = (0..100).flat_map(writes).collect();
    let enough = (0..100).map(|n| n * 64).find(|size| spent("register", &one, *size).0.is_none());
    assert_eq!(spent("register", &many, enough.unwrap()).0, None);
}
