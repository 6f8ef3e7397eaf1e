//! Tests of models: how they are named, what they know, how they describe their states, and what
//! they save the search. All by search: the line sweep would decide most of it without asking them.

use super::{CasRegister, MODELS, Model, NamedModel, NoModel, Rw, Set};
use crate::operation::{Ended, Operation, OperationKind, Token};
use crate::reading::Entries;
use crate::search::{Budget, Meter};
use crate::state::tests::Plain;
use crate::{Decision, Misfit, Pairing, Reading, decide_by_search};
use base::Mode;
use expect_test::expect;

fn parsed(text: &str) -> Result<String, NoModel> {
    text.parse().map(|model: NamedModel| {
        assert_eq!(format!("{model:?}"), model.to_string());
        model.to_string()
    })
}

#[test]
fn every_model_is_found_by_its_name() {
    for spec in MODELS {
        let name = spec.bound.map_or(spec.name.to_owned(), |_| format!("{}:3", spec.name));
        assert_eq!(parsed(&name), Ok(name));
        assert_eq!(spec.reentrant.map(parsed), spec.reentrant.map(|name| Ok(name.into())));
    }
}

#[test]
fn what_names_no_model_is_refused_with_the_remedy() {
    assert_eq!(parsed("mutexx"), Err(NoModel::Unknown("mutexx".into())));
    assert_eq!(parsed(""), Err(NoModel::Unknown("".into())));
    let bound = |text: &str| match parsed(text) {
        Err(NoModel::Bound(line)) => line,
        other => panic!("{text}: {other:?}"),
    };
    let texts = ["semaphore", "semaphore:", "semaphore:0", "semaphore:-1", "semaphore:x"];
    expect![[r#"
        `semaphore` needs the number of permits, from 1 on: write `semaphore:2`
        `semaphore` needs the number of permits, from 1 on: write `semaphore:2`
        `semaphore` needs the number of permits, from 1 on: write `semaphore:2`
        `semaphore` needs the number of permits, from 1 on: write `semaphore:2`
        `semaphore` needs the number of permits, from 1 on: write `semaphore:2`"#]]
    .assert_eq(&texts.map(bound).join("\n"));
    assert_eq!(bound("mutex:2"), "`mutex` takes no number: write `mutex`");
    assert_eq!(bound("rw:reentrnt"), "`rw` takes no number: write `rw` or `rw:reentrant`");
}

const TAKE: OperationKind = OperationKind::acquire(Mode::Exclusive);
const SHARE: OperationKind = OperationKind::acquire(Mode::Shared);

fn op(process: u32, invoke: u64, answer: u64, action: OperationKind) -> Operation {
    let answer = Some(answer);
    Operation { process, key: 0, invoke, answer, ended: Ended::Ok, action }
}

/// The decision, and how often the clock was looked at: what it cost, in thousands of steps.
fn searched(model: &str, operations: &[Operation]) -> Result<(Decision, u64), Misfit> {
    let mut looks = 0;
    let mut expired = || {
        looks += 1;
        looks > 1_000
    };
    let budget = Budget { memory: 64 << 20, expired: &mut expired };
    let decision = decide_by_search(model.parse().unwrap(), operations, budget)?;
    Ok((decision, looks))
}

#[test]
fn what_a_model_does_not_know_is_named() {
    let write = || OperationKind::Write { value: Some(1) };
    let cas = || OperationKind::Cas { old: None, new: Some(1) };
    let convert = OperationKind::Convert { mode: Mode::Shared };
    for (model, known, unknown) in [
        ("mutex", TAKE, convert.clone()),
        ("owner-mutex", OperationKind::RELEASE, write()),
        ("semaphore:2", TAKE, convert.clone()),
        ("reentrant:2", TAKE, convert.clone()),
        ("rw", convert.clone(), write()),
        ("fenced", convert.clone(), OperationKind::Add { value: 1 }),
        ("rw:reentrant", OperationKind::Confirm, write()),
        ("fenced:reentrant", convert, OperationKind::Add { value: 1 }),
        ("register", write(), cas()),
        ("cas-register", cas(), TAKE),
        ("set", OperationKind::Add { value: 1 }, write()),
    ] {
        assert!(searched(model, &[op(0, 0, 1, known.clone())]).is_ok(), "{model}");
        let both = [op(0, 0, 1, known), op(0, 2, 3, unknown)];
        assert_eq!(searched(model, &both), Err(Misfit(1)), "{model}");
    }
}

/// Returns the states of a model just before the last of these, each of another process, one after
/// the other.
fn just_before(model: &str, actions: &[OperationKind]) -> Vec<String> {
    let operations: Vec<Operation> = (0..)
        .zip(actions)
        .map(|(at, action)| op(at, u64::from(at) * 2, u64::from(at) * 2 + 1, action.clone()))
        .collect();
    match searched(model, &operations) {
        Ok((Decision::Illegal(illegal), _)) => {
            assert_eq!(illegal[0].stuck, actions.len() - 1, "{model}");
            illegal[0].states.iter().map(|state| state.clause(&Plain)).collect()
        }
        other => panic!("{model}: {other:?}"),
    }
}

#[test]
fn a_state_is_described_in_words() {
    let token = |token: u64| OperationKind::Acquire {
        mode: Mode::Exclusive,
        token: Some(Token::from(token)),
        permits: 1,
    };
    let read = |value| OperationKind::Read { value: Some(value) };
    let write = |value| OperationKind::Write { value: Some(value) };
    let add = |value| OperationKind::Add { value };
    for (model, actions, words) in [
        ("mutex", vec![TAKE, TAKE], "it was held"),
        ("mutex", vec![OperationKind::RELEASE], "it was free"),
        ("owner-mutex", vec![TAKE, TAKE], "it was held by process 0"),
        ("owner-mutex", vec![OperationKind::RELEASE], "it was free"),
        ("semaphore:2", vec![TAKE, TAKE, TAKE], "all its permits were taken"),
        ("semaphore:2", vec![OperationKind::RELEASE], "none of its permits was taken"),
        ("reentrant:2", vec![TAKE, TAKE], "it was held by process 0, which had entered it 1 time"),
        ("reentrant:2", vec![OperationKind::RELEASE], "it was free"),
        ("rw", vec![TAKE, TAKE], "it was held by process 0"),
        ("rw", vec![SHARE, TAKE], "it was held shared by process 0"),
        ("rw", vec![SHARE, SHARE, TAKE], "it was held shared by processes 0 and 1"),
        ("rw", vec![OperationKind::RELEASE], "it was free"),
        ("fenced", vec![token(7), token(8)], "it was held by process 0, and its last token was 7"),
        ("fenced", vec![OperationKind::RELEASE], "it was free"),
        ("register", vec![write(4), read(Some(5))], "it held 4"),
        ("cas-register", vec![read(Some(5))], "there was nothing in it"),
        (
            "set",
            vec![add(7), add(8), OperationKind::Members { values: Some([].into()) }],
            "it had 2 members",
        ),
    ] {
        assert_eq!(just_before(model, &actions), [words], "{model}");
    }
}

/// Operations one after the other, each as a process and what it does: `T`akes the lock, takes it
/// `S`hared, `F`rees it, frees it as a `W`riter or `R`eader, `U`pgrades, `D`owngrades, gets its
/// hold `C`onfirmed; takes two permits or gives them back (`2`, `3`).
fn walk(text: &str) -> Vec<Operation> {
    let step = |(at, word): (u64, &str)| {
        let action = match word.as_bytes()[1] {
            b'T' => TAKE,
            b'S' => SHARE,
            b'F' => OperationKind::RELEASE,
            b'W' => OperationKind::Release { mode: Some(Mode::Exclusive), permits: 1 },
            b'R' => OperationKind::Release { mode: Some(Mode::Shared), permits: 1 },
            b'C' => OperationKind::Confirm,
            b'2' => OperationKind::Acquire { mode: Mode::Exclusive, token: None, permits: 2 },
            b'3' => OperationKind::Release { mode: None, permits: 2 },
            b'U' => OperationKind::Convert { mode: Mode::Exclusive },
            b'D' => OperationKind::Convert { mode: Mode::Shared },
            other => panic!("{}", char::from(other)),
        };
        op(u32::from(word.as_bytes()[0] - b'0'), at * 2, at * 2 + 1, action)
    };
    (0..).zip(text.split(' ')).map(step).collect()
}

#[test]
fn each_lock_walks_its_own_lines() {
    for (model, legal, illegal) in [
        ("mutex", "0T 0F 1T 2F", ["0T 1T", "0F", "0T 0F 0F"]),
        ("owner-mutex", "0T 0F 1T 1F", ["0T 0T", "0T 1F", "0T 0F 0F"]),
        ("semaphore:2", "0T 0T 0F 1T 2F 2F", ["0T 1T 2T", "0F", "0T 0F 0F"]),
        ("reentrant:2", "0T 0T 0F 0T 0F 0F 1T 1F", ["0T 0T 0T", "0T 0T 0F 1T", "0T 1F"]),
        ("reentrant:3", "0T 0T 0T 0F 0F 0T 0T 0F 0F 0F 1T", ["0T 0T 0T 0F 0T 0T", "0T 1T", "0F"]),
        ("rw", "0S 1S 1F 0U 0D 2S 0F 2F 1T", ["0S 1S 0U", "0S 1T", "0T 1S"]),
        ("rw", "1S 0S 1S 1F 0F 1U 1F 2T", ["1S 0S 1S 1F 1F 1F", "0U", "0T 0D 1T"]),
        ("fenced", "0S 1S 1F 0U 0D 2S 0F 2F 1T", ["0S 1S 0U", "0S 1T", "0T 1S"]),
        (
            "rw:reentrant",
            "0T 0S 0W 1S 0R 1R 1T 1T 1F 1F 2S",
            ["0T 0S 1S", "0S 1S 0T", "0T 0S 0R 1S"],
        ),
        ("rw:reentrant", "0S 0T 0F 1S 1F 0U 0D 1S", ["0S 0T 1S", "0T 0T 0F 1T", "0T 1F"]),
        ("fenced:reentrant", "0T 0T 0F 0F 1S 2S", ["0T 1T", "0F", "0T 0F 0F"]),
        ("mutex", "0T 0C 1C 0F", ["0C", "0T 0F 0C", "0T 0F 1T 1F 1C"]),
        ("owner-mutex", "0T 0C 0F 1T 1C", ["0C", "0T 1C", "0T 0F 1T 0C"]),
        ("reentrant:2", "0T 0C 0T 0C 0F 0C 0F", ["0C", "0T 1C", "0T 0F 0C"]),
        ("rw", "0S 1S 0C 1C 1F 0U 0C", ["0C", "0S 1C", "0S 1S 0F 0C"]),
        ("semaphore:3", "02 0T 0C 03 12 1F 0F 1F", ["02 12", "0T 03", "0C"]),
    ] {
        assert_eq!(searched(model, &walk(legal)).unwrap().0, Decision::Legal, "{model} {legal}");
        for text in illegal {
            let (decision, _) = searched(model, &walk(text)).unwrap();
            assert!(matches!(decision, Decision::Illegal(_)), "{model} {text}");
        }
    }
}

/// Of two that may take the lock before it is freed, the one that is answered first must.
#[test]
fn who_is_answered_first_takes_the_lock_first() {
    let operations = [
        op(0, 1, 100, TAKE),
        op(1, 2, 20, TAKE),
        op(2, 3, 4, OperationKind::RELEASE),
        op(3, 6, 8, TAKE),
        op(4, 50, 51, OperationKind::RELEASE),
    ];
    for model in ["mutex", "semaphore:1"] {
        assert_eq!(searched(model, &operations).unwrap().0, Decision::Legal, "{model}");
    }
}

/// A process that does several things at once may have taken and freed the lock before another got
/// it, or after: who has done both is not better off.
#[test]
fn what_could_have_been_done_already_may_be_needed_later() {
    let operations = [
        op(2, 1, 100, TAKE),
        op(2, 2, 101, OperationKind::RELEASE),
        op(1, 3, 4, TAKE),
        op(1, 5, 6, OperationKind::RELEASE),
        op(2, 50, 51, OperationKind::RELEASE),
        op(2, 60, 70, TAKE),
    ];
    for model in ["mutex", "owner-mutex", "semaphore:1", "reentrant:1", "rw", "fenced"] {
        assert_eq!(searched(model, &operations).unwrap().0, Decision::Legal, "{model}");
    }
}

/// Makes an operation of unknown outcome.
fn doubt(process: u32, invoke: u64, action: OperationKind) -> Operation {
    Operation { process, key: 0, invoke, answer: None, ended: Ended::Info, action }
}

/// A state of this model after these, one after the other, in bytes outside of itself.
fn heap<M: Model>(model: &M, operations: &[Operation]) -> usize {
    let mut budget = Budget { memory: usize::MAX, expired: &mut || false };
    let all: Vec<&Operation> = operations.iter().collect();
    let steps = model.steps(&all, &mut Meter::new(&mut budget)).unwrap();
    let next = |state, step| model.apply(&state, step).expect("legal");
    M::heap(&steps.iter().fold(model.initial(), next))
}

#[test]
fn what_a_large_state_takes_is_known() {
    let shared: Vec<_> = (0..1_000).map(|n| op(n, 0, 1, SHARE)).collect();
    assert_eq!(heap(&Rw { fenced: false }, &shared), 4_000);
    assert_eq!(heap(&Rw { fenced: true }, &shared), 4_000);
    let adds: Vec<_> = (0..6_400).map(|n| op(0, 0, 1, OperationKind::Add { value: n })).collect();
    assert_eq!(heap(&Set, &adds), 800);
    assert_eq!(heap(&CasRegister, &[op(0, 0, 1, OperationKind::Write { value: Some(7) })]), 0);
}

/// Forty clients ask at once, again and again, and each is served in turn; now and then one gives
/// up without an answer. To put each of those who wait before the one that is served would cost
/// forty times as much.
#[test]
fn a_crowd_that_waits_costs_no_more_than_those_who_are_served() {
    let mut operations = Vec::new();
    for turn in 0..2_000u64 {
        let (process, at) = (turn as u32 % 40, turn * 10);
        operations.push(op(process, at.saturating_sub(380), at + 5, TAKE));
        operations.push(op(process, at + 6, at + 19, OperationKind::RELEASE));
        if turn % 50 == 0 {
            operations.push(doubt(1_000 + turn as u32, at + 1, TAKE));
        }
    }
    for model in ["owner-mutex", "reentrant:1", "rw", "fenced"] {
        let (decision, looks) = searched(model, &operations).unwrap();
        assert_eq!(decision, Decision::Legal, "{model}");
        assert!(looks < 20, "{model}: {looks} thousand steps");
    }
}

/// A lock without an owner can be freed by anybody: forty may have taken or freed it in doubt, and
/// one is too many in the end.
#[test]
fn pairs_in_doubt_cost_little_where_nobody_owns_anything() {
    let mut operations = Vec::new();
    for turn in 0..200u64 {
        let (process, at) = (turn as u32 % 10, turn * 10);
        operations.push(op(process, at.saturating_sub(80), at + 5, TAKE));
        operations.push(op(process, at + 6, at + 9, OperationKind::RELEASE));
    }
    for pair in 0..20u32 {
        let at = u64::from(pair) * 90;
        operations.extend([
            doubt(100 + pair, at + 1, TAKE),
            doubt(200 + pair, at + 2, OperationKind::RELEASE),
        ]);
    }
    operations.extend(
        (0..22).map(|n| op(300 + n, 3_000 + u64::from(n) * 2, 3_001 + u64::from(n) * 2, TAKE)),
    );
    for model in ["mutex", "semaphore:1"] {
        let (decision, looks) = searched(model, &operations).unwrap();
        assert!(matches!(decision, Decision::Illegal(_)), "{model}");
        assert!(looks < 100, "{model}: {looks} thousand steps");
    }
}

/// Readers of whom nobody knows whether they ever entered or left, between turns of others. To try
/// each with and without the others would double the time with each.
#[test]
fn readers_in_doubt_cost_little() {
    let mut operations = Vec::new();
    for reader in 0..40u32 {
        let at = u64::from(reader) * 20;
        let mode = if reader % 2 == 0 { Mode::Shared } else { Mode::Exclusive };
        let take = OperationKind::acquire(mode);
        operations.push(doubt(100 + reader, at, SHARE));
        operations.push(doubt(100 + reader, at + 2, OperationKind::RELEASE));
        operations.push(op(reader % 3, at + 4, at + 5, take));
        operations.push(op(reader % 3, at + 6, at + 7, OperationKind::RELEASE));
    }
    // A release that was answered, after an acquire that was not.
    operations.push(doubt(200, 1, SHARE));
    operations.push(op(200, 3, 900, OperationKind::RELEASE));
    for model in ["rw", "fenced"] {
        let (decision, looks) = searched(model, &operations).unwrap();
        assert_eq!(decision, Decision::Legal, "{model}");
        assert!(looks < 20, "{model}: {looks} thousand steps");
        let twice = [op(1, 1_000, 1_001, TAKE), op(2, 1_002, 1_003, TAKE)];
        let (decision, looks) = searched(model, &[&operations[..], &twice].concat()).unwrap();
        assert!(matches!(decision, Decision::Illegal(_)), "{model}");
        assert!(looks < 20, "{model}: {looks} thousand steps");
    }
}

/// Readers whose release was answered, and whose acquire was not: they entered, all at once or one
/// by one.
#[test]
fn readers_that_entered_in_doubt_cost_little() {
    let mut operations = Vec::new();
    for reader in 0..40u32 {
        let at = u64::from(reader);
        operations.push(doubt(reader, at, SHARE));
        operations.push(op(reader, 100 + at, 400 + at, OperationKind::RELEASE));
    }
    for turn in 0..10u64 {
        operations.push(op(50, 200 + turn * 4, 201 + turn * 4, SHARE));
        operations.push(op(50, 202 + turn * 4, 203 + turn * 4, OperationKind::RELEASE));
    }
    for model in ["rw", "fenced"] {
        let (decision, looks) = searched(model, &operations).unwrap();
        assert_eq!(decision, Decision::Legal, "{model}");
        assert!(looks < 20, "{model}: {looks} thousand steps");
    }
}

/// Thirty readers leave at once: any part of them may have gone before the next comes.
#[test]
fn readers_that_leave_at_once_cost_little() {
    let mut operations = Vec::new();
    for reader in 0..30 {
        let at = u64::from(reader);
        operations.push(op(reader, at, 100 + at, SHARE));
        operations.push(op(reader, 200 + at, 400 + at, OperationKind::RELEASE));
    }
    operations.push(op(50, 300, 390, SHARE));
    operations.push(op(51, 391, 700, TAKE));
    operations.push(op(50, 392, 600, OperationKind::RELEASE));
    for model in ["rw", "fenced"] {
        let (decision, looks) = searched(model, &operations).unwrap();
        assert_eq!(decision, Decision::Legal, "{model}");
        assert!(looks < 20, "{model}: {looks} thousand steps");
    }
}

/// 400 operations of 12 processes that go on after each of the 51 of unknown outcome: most doubts
/// are nobody's business, and must not add up.
#[test]
fn doubts_of_processes_that_go_on_do_not_add_up() {
    for model in ["rw", "fenced"] {
        let mut pairing = Pairing::new(model.parse().unwrap(), Reading::default());
        for entry in Entries::open(&include_bytes!("doubts.jsonl")[..], None).unwrap() {
            pairing.push(entry.unwrap()).unwrap();
        }
        let (decision, looks) = searched(model, &pairing.finish().unwrap().operations).unwrap();
        assert_eq!(decision, Decision::Legal, "{model}");
        assert!(looks < 200, "{model}: {looks}");
    }
}
