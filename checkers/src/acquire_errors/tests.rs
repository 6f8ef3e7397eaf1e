//! Pictures of acquires in doubt that nothing explains, and of such that something may.

use super::AcquireErrors;
use crate::picture::{Gallery, judge, picture};
use base::{Event, F, History, Kind, Outcome, Process, Run, RunInfo, Task};

const ANY: Gallery = Gallery { checker: &AcquireErrors, info: waits_for_a_second };

/// A run of the usual task whose acquires wait for a second.
fn waits_for_a_second(info: &mut RunInfo) {
    info.run.task = Task::CONTEND.name.into();
    info.acquire_timeout_ns = 1_000_000_000;
}

#[test]
fn an_acquire_that_has_to_wait_ends_in_doubt() {
    ANY.rejects(
        "
        p0 | A======R
        p1 |   a-?",
        "unexplained doubt",
        1,
    );
}

#[test]
fn two_do() {
    ANY.rejects(
        "
        p0 | A======R
        p1 |   a-?
        p2 |    a-?",
        "unexplained doubt",
        2,
    );
}

#[test]
fn it_is_in_doubt_before_the_first_fault() {
    ANY.rejects(
        "
        cut c0-s0 |              [ ]
        p0        | A=R   a--?",
        "unexplained doubt",
        1,
    );
}

#[test]
fn refusals_and_grants_are_no_doubts() {
    let held = ANY.judge(
        "
        p0 | A======R
        p1 |   a-!    A=R",
    );
    assert_eq!((held.outcome, &*held.summary), (Outcome::Held, "3 acquires, none in doubt"));
}

#[test]
fn an_acquire_whose_time_is_over_may_be_in_doubt() {
    const LONG: &str = "
        p0 | A================R
        p1 |   a---------?";
    assert_eq!(ANY.judge(LONG).outcome, Outcome::Held);
    let shorter = Gallery {
        checker: &AcquireErrors,
        info: |info| {
            waits_for_a_second(info);
            info.run.task = "try".into();
        },
    };
    const SHORT: &str = "
        p0 | A================R
        p1 |   a--?";
    assert_eq!(shorter.judge(SHORT).outcome, Outcome::Held);
    assert_eq!(ANY.judge(SHORT).outcome, Outcome::Violated);
}

#[test]
fn a_fault_may_be_the_reason_long_after_its_end() {
    let judged = ANY.judge(
        "
        cut c0-s0 | []
        p0        |                                    a--?",
    );
    assert_eq!((judged.outcome, &*judged.summary), (Outcome::Inconclusive, NOTHING));
}

/// The summary where nothing can be judged.
const NOTHING: &str = "nothing was granted before the first fault";

#[test]
fn servers_that_have_granted_nothing_may_not_serve_yet() {
    let judged = ANY.judge(
        "
        p0 | a-------A=R
        p1 |   a-------?",
    );
    assert_eq!((judged.outcome, &*judged.summary), (Outcome::Held, "2 acquires, none in doubt"));
}

#[test]
fn a_death_is_a_reason() {
    let judged = ANY.judge(
        "
        p0 | X
        p1 |  a-?",
    );
    assert_eq!((judged.outcome, &*judged.summary), (Outcome::Inconclusive, NOTHING));
}

#[test]
fn others_may_not_tell_of_faults() {
    let unstated = Gallery { checker: &AcquireErrors, info: |info| info.run.nemesis.clear() };
    assert_eq!(unstated.judge("p0 | A=R a--?").outcome, Outcome::Inconclusive);
    let cancels = Gallery { checker: &AcquireErrors, info: |info| info.run.task = "cancel".into() };
    assert_eq!(cancels.judge("p0 | A=R a--?").outcome, Outcome::NotApplicable);
}

#[test]
fn interference_began_before_it_was_seen() {
    let judged = ANY.judge(
        "
        run |           X
        p0  | A=R
        p1  |      a--?",
    );
    assert_eq!((judged.outcome, &*judged.summary), (Outcome::Held, "1 acquire, none in doubt"));
}

#[test]
fn a_doubt_before_a_release_is_not_of_the_interference_that_was_seen_after_that() {
    ANY.rejects(
        "
        run |            X
        p0  | A======R
        p1  |   a-?",
        "unexplained doubt",
        1,
    );
}

/// The outcome where process 0 asks about its hold at a column, and is refused at the next one.
fn asked_at(column: u64, f: F, text: &str) -> Outcome {
    let run = picture(text);
    let key = run.history.events().iter().find_map(|event| event.key.clone());
    let answer = |column: u64, kind| Event {
        key: key.clone(),
        ..Event::new(column * 100_000_000, Process::Client(0), kind, f)
    };
    let more = [answer(column, Kind::Invoke), answer(column + 1, Kind::Fail)];
    let mut events: Vec<Event> = run.history.events().iter().cloned().chain(more).collect();
    events.sort_by_key(|event| event.time_ns);
    let mut history = History::default();
    for event in events {
        history.push(event);
    }
    judge(&AcquireErrors, &Run { history, ..run }).outcome
}

#[test]
fn a_holder_is_answered_that_it_no_longer_holds_the_lock() {
    let holds = "p0 | A============R";
    for f in [F::Extend, F::Valid] {
        assert_eq!(asked_at(2, f, holds), Outcome::Violated);
        // Half of its ttl is over, it holds nothing, or it does not know why.
        assert_eq!(asked_at(6, f, holds), Outcome::Held);
        assert_eq!(asked_at(2, f, "p0 | AR"), Outcome::Held);
        assert_eq!(asked_at(2, f, "p0 | A============R\npause c1 |  [ ]"), Outcome::Held);
    }
}
