//! The line sweep against the search, and both against every line there is, on many small random
//! histories: in the strict normal form for all locks that it knows, and as clients believe.

use super::strict::{self, StrictLock};
use super::{Rule, conflicts};
use crate::holds::Claims;
use crate::models::{Model, ReentrantModel, ReentrantRw, Rw, Semaphore};
use crate::operation::{Ended, Operation, OperationKind};
use crate::search::SearchAnswer;
use crate::search::random::{Behaviour, Toy, history};
use crate::search::tests::{brute, cases, searched};
use base::{Event, F, History, Key, Kind, Mode, Process, Rng};
use std::collections::BTreeMap;

/// Compares on histories of a toy. The comparison is worth something only if most histories meet
/// the precondition and both answers are frequent.
fn agree<M: Model>(model: M, lock: StrictLock, toy: &Toy) {
    let cases = cases(6_000);
    let (mut swept, mut legal) = (0, 0);
    for seed in 0..cases {
        let mut rng = Rng::fork(11, seed);
        let manner = match seed % 16 {
            0 => Behaviour::Wild,
            1..8 => Behaviour::Stubborn,
            _ => Behaviour::Tame,
        };
        let events = 6 + rng.below(26);
        let operations = history(toy.clone(), manner, events, &mut rng);
        let all: Vec<&Operation> = operations.iter().collect();
        let Some(answer) = strict::decide(lock, &all) else { continue };
        let right = answer == SearchAnswer::Legal;
        let found = searched(&model, &operations, usize::MAX);
        assert_eq!(
            stuck(&answer),
            stuck(&found),
            "seed {seed}: the line sweep says {answer:?}, the search {found:?} of {operations:#?}"
        );
        if operations.len() <= 12 {
            assert_eq!(
                right,
                brute(&model, &operations),
                "seed {seed}: {answer:?} {operations:#?}"
            );
        }
        swept += 1;
        legal += u64::from(right);
    }
    assert!(
        swept > cases * 2 / 3 || toy.is_taken_again() && swept > cases / 3,
        "{swept} of {cases} meet the precondition"
    );
    assert!((swept / 5..swept * 9 / 10).contains(&legal), "{legal} of {swept} are legal");
}

/// Returns the operation that goes wrong first; `None` if nothing does.
fn stuck(answer: &SearchAnswer) -> Option<usize> {
    match answer {
        SearchAnswer::Illegal { stuck, .. } => Some(*stuck),
        SearchAnswer::Legal => None,
        SearchAnswer::Stopped(_) => panic!("{answer:?}"),
    }
}

fn permits(permits: u32) -> StrictLock {
    StrictLock { rule: Rule::Permits(permits), fenced: false }
}

#[test]
fn mutex_of_nobody() {
    agree(Semaphore { permits: 1 }, permits(1), &Toy::mutex());
}

#[test]
fn owner_mutex() {
    agree(ReentrantModel { depth: 1 }, permits(1), &Toy::mutex());
}

#[test]
fn semaphores() {
    agree(Semaphore { permits: 2 }, permits(2), &Toy::semaphore(2));
    agree(Semaphore { permits: 3 }, permits(3), &Toy::semaphore(3));
}

#[test]
fn rw_with_conversions() {
    agree(
        Rw { fenced: false },
        StrictLock { rule: Rule::ReadWrite, fenced: false },
        &Toy::rw(false),
    );
}

#[test]
fn rw_taken_again() {
    agree(ReentrantRw, StrictLock { rule: Rule::Others, fenced: false }, &Toy::rw_reentrant(false));
}

#[test]
fn fenced() {
    agree(Rw { fenced: true }, StrictLock { rule: Rule::ReadWrite, fenced: true }, &Toy::rw(true));
}

#[test]
fn reentrant_to_a_depth() {
    let lock = |depth| StrictLock { rule: Rule::Reentrant(depth), fenced: false };
    agree(ReentrantModel { depth: 1 }, lock(1), &Toy::reentrant(2));
    agree(ReentrantModel { depth: 2 }, lock(2), &Toy::reentrant(2));
    agree(ReentrantModel { depth: 3 }, lock(3), &Toy::reentrant(3));
}

/// Holds that are definite in spite of doubts forbid each other only where no line exists.
#[test]
fn definite_holds_in_doubtful_company() {
    let lock = StrictLock { rule: Rule::ReadWrite, fenced: false };
    let cases = cases(20_000);
    let mut found = 0;
    for seed in 0..cases {
        let mut rng = Rng::fork(17, seed);
        let manner = if seed % 8 == 0 { Behaviour::Wild } else { Behaviour::Stubborn };
        let events = 6 + rng.below(26);
        let operations = history(Toy::rw(false), manner, events, &mut rng);
        let all: Vec<&Operation> = operations.iter().collect();
        let unswept = strict::decide(lock, &all).is_none();
        let Some(answer) = strict::definite(lock, &all) else { continue };
        let searched = searched(&Rw { fenced: false }, &operations, usize::MAX);
        assert_ne!(searched, SearchAnswer::Legal, "seed {seed}: {answer:?} {operations:#?}");
        if operations.len() <= 12 {
            assert!(
                !brute(&Rw { fenced: false }, &operations),
                "seed {seed}: {answer:?} {operations:#?}"
            );
        }
        found += u64::from(unswept);
    }
    assert!(found > cases / 50, "{found} of {cases}");
}

/// Operations as clients believe, read from the events without the claims: each grant is a
/// process of its own, because a client goes on after it has lost a lock or freed it in doubt.
fn believed(history: &History) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut asked: BTreeMap<u32, usize> = BTreeMap::new();
    let mut held: BTreeMap<u32, u32> = BTreeMap::new();
    let mut converting: BTreeMap<u32, usize> = BTreeMap::new();
    for event in history.events() {
        let (client, at) = (event.client().unwrap(), event.index);
        let mode = event.mode.unwrap_or_default();
        let mut begin = |process: u32, action: OperationKind| {
            let (answer, ended) = (None, Ended::Info);
            operations.push(Operation { process, key: 0, invoke: at, answer, ended, action });
            operations.len() - 1
        };
        match (event.f, event.kind) {
            (F::Acquire, Kind::Invoke) => {
                let permits = event.value.map_or(1, |permits| permits as u32);
                let action = OperationKind::Acquire { mode, token: None, permits };
                asked.insert(client, begin(at as u32, action));
            }
            (F::Convert, Kind::Invoke) => {
                if let Some(grant) = held.get(&client) {
                    converting.insert(client, begin(*grant, OperationKind::Convert { mode }));
                }
            }
            (F::Release, Kind::Invoke) | (F::Lost, _) | (F::Death, _) => {
                converting.remove(&client);
                if let Some(grant) = held.remove(&client) {
                    let value = history.get(grant.into()).and_then(|asked| asked.value);
                    let permits = value.map_or(1, |permits| permits as u32);
                    begin(grant, OperationKind::Release { mode: None, permits });
                }
                if event.f == F::Death {
                    asked.remove(&client);
                }
            }
            (F::Acquire, kind) => {
                let Some(id) = asked.remove(&client) else { continue };
                close(&mut operations[id], at, kind);
                if kind == Kind::Ok {
                    held.insert(client, operations[id].process);
                }
            }
            // A client that failed to downgrade counts on no more than one that did.
            (F::Convert, kind) => {
                let Some(id) = converting.remove(&client) else { continue };
                let up =
                    operations[id].action == (OperationKind::Convert { mode: Mode::Exclusive });
                let kind = if kind == Kind::Fail && !up { Kind::Ok } else { kind };
                close(&mut operations[id], at, kind);
            }
            _ => {}
        }
    }
    operations
}

fn close(operation: &mut Operation, at: u64, kind: Kind) {
    operation.answer = Some(at);
    operation.ended = match kind {
        Kind::Ok => Ended::Ok,
        Kind::Fail => Ended::Fail,
        Kind::Info | Kind::Invoke => Ended::Info,
    };
}

/// Plays clients: each asks, is answered, converts, frees or loses, dies. Those that died or got an
/// `info` come back under a new number, as in a run.
fn play(rng: &mut Rng, events: u64) -> History {
    let mut history = History::default();
    let mut clients: Vec<(u32, F, Kind, bool)> =
        (0..2 + rng.below(3) as u32).map(|client| (client, F::Release, Kind::Ok, false)).collect();
    for _ in 0..events {
        let client = rng.below(clients.len() as u64) as usize;
        let (process, f, kind, holds) = clients[client];
        let draw = rng.below(20);
        let (next_f, next_kind) = match (draw, kind) {
            (0, _) => (F::Death, Kind::Info),
            (1, _) if holds => (F::Lost, Kind::Info),
            (2 | 3, Kind::Invoke) => (f, Kind::Fail),
            (4, Kind::Invoke) => (f, Kind::Info),
            (_, Kind::Invoke) => (f, Kind::Ok),
            (5..10, _) if holds => (F::Convert, Kind::Invoke),
            _ if holds => (F::Release, Kind::Invoke),
            _ => (F::Acquire, Kind::Invoke),
        };
        let mut event = Event::new(0, Process::Client(process), next_kind, next_f);
        event.key = Some(Key::from("k0"));
        if matches!(next_f, F::Acquire | F::Convert) {
            let mode = if rng.chance(0.6) { Mode::Shared } else { Mode::Exclusive };
            // An answer has the mode of its question.
            let asked = history.events().iter().rev().find(|e| e.process == event.process);
            event.mode = if next_kind == Kind::Invoke { Some(mode) } else { asked.unwrap().mode };
        }
        history.push(event);
        let holds = match (next_f, next_kind) {
            (F::Acquire, Kind::Ok) => true,
            (F::Release | F::Lost, _) => false,
            _ => holds,
        };
        let ends = next_f == F::Death || (next_f != F::Lost && next_kind == Kind::Info);
        clients[client] = match (ends, next_f) {
            (true, _) => (process + 4, F::Release, Kind::Ok, false),
            // A conversion or a release that was under way has no answer any more.
            (_, F::Lost) => (process, F::Lost, Kind::Ok, false),
            _ => (process, next_f, next_kind, holds),
        };
    }
    history
}

/// The same history of a semaphore, of which an acquire takes one permit, two or three.
fn of_permits(history: &History, rng: &mut Rng) -> History {
    let mut asked: BTreeMap<Process, u64> = BTreeMap::new();
    let mut of_permits = History::default();
    for event in history.events().iter().filter(|event| event.f != F::Convert) {
        let mut event = Event { mode: None, ..event.clone() };
        if event.f == F::Acquire {
            if event.kind == Kind::Invoke {
                asked.insert(event.process, 1 + rng.below(3));
            }
            event.value = asked.get(&event.process).copied().filter(|permits| *permits > 1);
        }
        of_permits.push(event);
    }
    of_permits
}

#[test]
fn belief_in_permits() {
    let cases = cases(20_000);
    let mut legal = 0;
    for seed in 0..cases {
        let mut rng = Rng::fork(19, seed);
        let events = 4 + rng.below(28);
        let history = of_permits(&play(&mut rng, events), &mut rng);
        let operations = believed(&history);
        let right = conflicts(&Claims::of(&history), Rule::Permits(4)).is_empty();
        let model = Semaphore { permits: 4 };
        let found = searched(&model, &operations, usize::MAX);
        let shown = || format!("seed {seed}: {found:?}\n{}", history.to_jsonl());
        assert_eq!(right, found == SearchAnswer::Legal, "{}", shown());
        if operations.len() <= 12 {
            assert_eq!(right, brute(&model, &operations), "{}", shown());
        }
        legal += u64::from(right);
    }
    assert!((cases / 5..cases * 4 / 5).contains(&legal), "{legal} of {cases} are right");
}

#[test]
fn belief() {
    let cases = cases(20_000);
    let mut legal = 0;
    for seed in 0..cases {
        let mut rng = Rng::fork(13, seed);
        let events = 4 + rng.below(28);
        let history = play(&mut rng, events);
        let operations = believed(&history);
        let right = conflicts(&Claims::of(&history), Rule::Others).is_empty();
        let found = searched(&Rw { fenced: false }, &operations, usize::MAX);
        let shown = || format!("seed {seed}: {found:?}\n{}", history.to_jsonl());
        assert_eq!(right, found == SearchAnswer::Legal, "{}", shown());
        if operations.len() <= 12 {
            assert_eq!(right, brute(&Rw { fenced: false }, &operations), "{}", shown());
        }
        legal += u64::from(right);
    }
    assert!((cases / 5..cases * 4 / 5).contains(&legal), "{legal} of {cases} are right");
}
