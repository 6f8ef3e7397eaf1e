//! Tests of what is shown of histories: of the right keys, the right operations, and no more than
//! there is room for.

use super::{Extract, Room, extract};
use crate::decide::decide;
use crate::operation::{Ended, Operation, OperationKind};
use crate::search::Budget;
use base::Mode;

const TAKE: OperationKind = OperationKind::acquire(Mode::Exclusive);
const ROOM: Room = Room { keys: 4, operations: 16, close: 6, processes: 8 };

fn op(process: u32, invoke: u64, action: OperationKind) -> Operation {
    let answer = Some(invoke + 1);
    Operation { process, key: 0, invoke, answer, ended: Ended::Ok, action }
}

/// Returns the operations of so many rounds of a mutex, by two processes in turn.
fn rounds(count: u64) -> Vec<Operation> {
    let round = |n: u64| {
        let process = (n % 2) as u32;
        [op(process, 4 * n, TAKE), op(process, 4 * n + 2, OperationKind::RELEASE)]
    };
    (0..count).flat_map(round).collect()
}

fn extracted(model: &str, operations: &[Operation], room: Room, memory: usize) -> Extract {
    let model = model.parse().unwrap();
    let budget = |memory| Budget { memory, expired: Box::leak(Box::new(|| false)) };
    let decision = decide(model, operations, budget(usize::MAX)).unwrap();
    extract(model, operations, &decision, room, budget(memory))
}

#[test]
fn the_end_of_the_order_is_shown_and_the_hold_of_long_ago_that_stands_in_the_way() {
    let mut operations = vec![op(7, 0, TAKE)];
    let later =
        |op: Operation| Operation { invoke: op.invoke + 2, answer: Some(op.invoke + 3), ..op };
    // A mutex that knows no owners has two permits here, so that one is always free.
    operations.extend(rounds(1_000).into_iter().map(later));
    operations.push(op(8, 5_000, TAKE));
    operations.push(op(9, 5_002, TAKE));
    operations.extend(rounds(50).into_iter().map(|op| Operation {
        invoke: op.invoke + 6_000,
        answer: Some(op.invoke + 6_001),
        ..op
    }));
    let all = extracted("semaphore:2", &operations, ROOM, usize::MAX);
    let key = &all.keys[0];
    assert_eq!((all.keys.len(), all.left_out, key.operations), (1, 0, operations.len()));
    let illegal = key.illegal.as_ref().unwrap();
    assert_eq!((illegal.stuck, &illegal.concurrent[..]), (2_002, &[0, 2_001][..]));
    for view in [&key.close, &key.wide] {
        assert!([0, 2_000, 2_001, 2_002].iter().all(|id| view.shown.contains(id)), "{view:?}");
        let skipped: usize = view.skipped.values().sum();
        assert_eq!(view.shown.len() + skipped, operations.len(), "{view:?}");
    }
    assert_eq!((key.close.shown.len(), key.wide.shown.len()), (ROOM.close, ROOM.operations));
    assert!(key.wide.shown.contains(&2_003), "what came next");
    let first = key.wide.shown[1];
    assert_eq!(key.wide.skipped[&operations[first].invoke], first - 1);
    assert_eq!(key.wide.skipped[&u64::MAX], operations.len() - 1 - key.wide.shown[15]);
    assert!(key.line.whole);
    assert_eq!(key.line.points.len(), 2_002);
    assert!(key.line.states.contains_key(&0));
}

#[test]
fn what_can_be_ordered_is_shown_from_its_begin_on() {
    let all = extracted("mutex", &rounds(100), ROOM, usize::MAX);
    assert_eq!(all.keys[0].wide.shown, (0..16).collect::<Vec<_>>());
    assert_eq!(all.keys[0].line.points.len(), 200);
    assert_eq!(all.keys[0].line.until, None);
}

#[test]
fn keys_that_go_wrong_come_first() {
    let on = |key: u32, op: Operation| Operation { key, ..op };
    let mut operations: Vec<Operation> = (0..9).map(|key| on(key, op(0, 100, TAKE))).collect();
    operations.extend([on(7, op(1, 300, TAKE)), on(5, op(1, 200, TAKE))]);
    let all = extracted("mutex", &operations, ROOM, usize::MAX);
    let keys: Vec<u32> = all.keys.iter().map(|key| key.key).collect();
    assert_eq!((keys, all.left_out), (vec![5, 7, 0, 1], 5));
    let wrong = all.keys.iter().map(|key| key.illegal.is_some());
    assert_eq!(wrong.collect::<Vec<_>>(), [true, true, false, false]);
}

#[test]
fn there_are_no_more_lanes_than_there_is_room_for() {
    let operations: Vec<Operation> =
        (0..100).map(|n| op(n, 2 * u64::from(n), OperationKind::RELEASE)).collect();
    let room = Room { processes: 3, ..ROOM };
    let all = extracted("semaphore:3", &operations, room, usize::MAX);
    assert_eq!(all.keys[0].wide.shown, [0, 1, 2]);
}

#[test]
fn without_a_budget_there_is_no_order_and_the_rest_is_shown_all_the_same() {
    let mut operations = rounds(100);
    operations.extend([op(3, 500, TAKE), op(4, 502, TAKE)]);
    let all = extracted("mutex", &operations, ROOM, 0);
    let key = &all.keys[0];
    assert!(!key.line.whole && key.line.points.is_empty());
    assert_eq!(key.close.shown.last(), Some(&201));
    assert_eq!(key.wide.shown.len(), ROOM.operations);
}
