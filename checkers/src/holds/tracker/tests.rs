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
        assert_eq!(read[0].answer, Answer::Unknown(1));
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
    assert!(read.iter().all(|claim| claim.end == Some(End { at: 4, how: Ending::Death })));
}
