//! Histories that no run of ours would write.

use super::*;
use base::{History, Process};

/// The claims of events that are given as process, type and what was done, all of one key.
fn claims(events: &[(u32, Kind, F)]) -> Vec<Claim> {
    let mut history = History::default();
    for (process, kind, f) in events {
        history.push(Event::new(0, Process::Client(*process), *kind, *f));
    }
    Claims::of(&history).claims
}

#[test]
fn an_answer_without_its_question_opens_a_claim() {
    let read = claims(&[
        (u32::MAX, Kind::Ok, F::Acquire),
        (u32::MAX, Kind::Invoke, F::Release),
        (u32::MAX, Kind::Fail, F::Acquire),
    ]);
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].definite(), Some(0..1));
}

#[test]
fn what_ends_no_hold_is_passed_over() {
    let read = claims(&[
        (1, Kind::Invoke, F::Release),
        (1, Kind::Ok, F::Release),
        (1, Kind::Info, F::Lost),
        (2, Kind::Info, F::Death),
    ]);
    assert!(read.is_empty());
}

#[test]
fn an_answer_after_the_end_of_its_process_gives_nothing() {
    let asked = (1, Kind::Invoke, F::Acquire);
    let late = (1, Kind::Ok, F::Acquire);
    for end in [(1, Kind::Info, F::Death), (1, Kind::Info, F::Acquire)] {
        let read = claims(&[asked, end, late]);
        assert_eq!(read.len(), 1, "{read:?}");
        assert_eq!(read[0].answer, AcquireAnswer::Unknown(1));
    }
}

#[test]
fn a_convert_in_doubt_ends_its_process_and_one_that_went_well_does_not() {
    let begun =
        [(1, Kind::Invoke, F::Acquire), (1, Kind::Ok, F::Acquire), (1, Kind::Invoke, F::Convert)];
    let late = (1, Kind::Ok, F::Acquire);
    let after = |end: Kind| claims(&[&begun[..], &[(1, end, F::Convert), late]].concat());
    assert_eq!(after(Kind::Info).len(), 1);
    assert_eq!(after(Kind::Ok)[1].definite(), Some(4..u64::MAX));
}

#[test]
fn a_release_ends_the_later_of_two_holds_and_death_ends_both() {
    let twice = [
        (1, Kind::Invoke, F::Acquire),
        (1, Kind::Ok, F::Acquire),
        (1, Kind::Invoke, F::Acquire),
        (1, Kind::Ok, F::Acquire),
    ];
    let freed = [(1, Kind::Invoke, F::Release), (1, Kind::Ok, F::Release)];
    let read = claims(&[&twice[..], &freed[..]].concat());
    assert_eq!(read[0].definite(), Some(1..u64::MAX));
    assert_eq!(read[1].definite(), Some(3..4));
    assert_eq!(read[1].freed, Some((5, Kind::Ok)));
    let read = claims(&[&twice[..], &[(1, Kind::Info, F::Death)]].concat());
    assert!(read.iter().all(|claim| claim.end == Some(HoldEnd { at: 4, how: Ending::Death })));
}

/// The parts of the holds of process 1 after these events, each with its mode.
fn parts(events: &[(Kind, F, Mode)]) -> Vec<(usize, Mode, u64, u64)> {
    let mut history = History::default();
    for (kind, f, mode) in events {
        let event = Event::new(0, Process::Client(1), *kind, *f);
        history.push(Event { mode: Some(*mode), ..event });
    }
    let parts = Claims::of(&history).parts();
    parts.iter().map(|part| (part.claim, part.mode, part.from, part.until)).collect()
}

#[test]
fn a_conversion_parts_a_hold_where_its_weaker_mode_begins_and_ends() {
    use Mode::{Exclusive, Shared};
    let read = parts(&[
        (Kind::Invoke, F::Acquire, Exclusive),
        (Kind::Ok, F::Acquire, Exclusive),
        (Kind::Invoke, F::Convert, Shared),
        (Kind::Ok, F::Convert, Shared),
        (Kind::Invoke, F::Convert, Exclusive),
        (Kind::Ok, F::Convert, Exclusive),
        (Kind::Invoke, F::Release, Exclusive),
    ]);
    assert_eq!(read, [(0, Exclusive, 1, 2), (0, Shared, 2, 5), (0, Exclusive, 5, 6)]);
}

#[test]
fn what_does_not_change_the_mode_parts_nothing() {
    use Mode::{Exclusive, Shared};
    let read = parts(&[
        (Kind::Invoke, F::Acquire, Shared),
        (Kind::Ok, F::Acquire, Shared),
        (Kind::Invoke, F::Convert, Exclusive),
        (Kind::Fail, F::Convert, Exclusive),
        (Kind::Invoke, F::Convert, Shared),
        (Kind::Ok, F::Convert, Shared),
    ]);
    assert_eq!(read, [(0, Shared, 1, u64::MAX)]);
}

#[test]
fn holds_within_each_other_have_parts_of_their_own_by_their_begin() {
    use Mode::{Exclusive, Shared};
    let read = parts(&[
        (Kind::Invoke, F::Acquire, Exclusive),
        (Kind::Ok, F::Acquire, Exclusive),
        (Kind::Invoke, F::Acquire, Exclusive),
        (Kind::Ok, F::Acquire, Exclusive),
        (Kind::Invoke, F::Convert, Shared),
        (Kind::Invoke, F::Release, Shared),
        (Kind::Info, F::Death, Exclusive),
    ]);
    assert_eq!(read, [(0, Exclusive, 1, 6), (1, Exclusive, 3, 4), (1, Shared, 4, 5)]);
}
