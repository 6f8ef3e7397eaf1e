//! Pictures of waiters who are woken in vain, and of such whose turn it is.

use super::Herd;
use crate::picture::Gallery;
use base::Wakes;
use expect_test::expect;

const NEXT: Gallery =
    Gallery { checker: &Herd, info: |info| info.lock.promises.wakes = Some(Wakes::Next) };

#[test]
fn a_release_wakes_everybody() {
    NEXT.rejects(
        "
        p0 | A==R
        p1 | a---n
        p2 | a---n
        p3 | a---nA=R",
        "herd",
        1,
    );
}

#[test]
fn each_release_wakes_everybody() {
    NEXT.rejects(
        "
        p0 | A==R
        p1 | a---n------n
        p2 | a---n------n
        p3 | a---nA===R
        p4 | a----------nA=R",
        "herd",
        2,
    );
}

#[test]
fn an_arrival_wakes_everybody() {
    NEXT.rejects(
        "
        p0 | A=========R
        p1 | a---n------A=R
        p2 | a---n
        p3 | a---n
        p4 |    a",
        "herd",
        1,
    );
}

#[test]
fn a_fault_between_the_wake_up_and_the_turn_is_a_reason() {
    NEXT.accepts(
        "
        p0       | A==R
        p1       | a---n
        p2       | a---n
        p3       | a---n---A=R
        pause s0 |      [ ]",
    );
}

#[test]
fn who_gives_up_wakes_others_before_it_is_answered() {
    let round_trip = |info: &mut base::RunInfo| {
        info.lock.promises.wakes = Some(Wakes::Next);
        info.slowest_message_ns = 50_000_000;
    };
    let timed = Gallery { checker: &Herd, info: round_trip };
    timed.accepts(
        "
        p0 | A========R
        p1 | a---!
        p2 | a--n
        p3 | a--n
        p4 | a--------nA=R",
    );
    timed.rejects(
        "
        p0 | A========R
        p1 | a--------!
        p2 | a--n
        p3 | a--n
        p4 | a--------nA=R",
        "herd",
        1,
    );
}

#[test]
fn whoever_gives_up_after_the_wake_up_was_not_passed_over() {
    NEXT.accepts(
        "
        p0 | A==R
        p1 | a---n-!
        p2 | a---n-!
        p3 | a---n---A=R",
    );
}

#[test]
fn a_release_wakes_the_next() {
    NEXT.accepts(
        "
        p0 | A==R
        p1 | a---nA==R
        p2 | a--------nA=R
        p3 | a------------nA=R",
    );
}

#[test]
fn readers_are_woken_together_and_enter_together() {
    NEXT.accepts(
        "
        p0 | A==R
        p1 | s---nS===R
        p2 | s---nS==R
        p3 | s---nS=R",
    );
}

#[test]
fn one_may_look_in_vain() {
    NEXT.accepts(
        "
        p0 | A==R
        p1 | a---nA=R
        p2 | a---n",
    );
}

#[test]
fn sessions_that_run_out_under_a_fault_are_nobodys_herd() {
    NEXT.accepts(
        "
        pause c0 |  [ ]
        p0       | A==R                        A=R
        p1       | a---n                        a-nA=R
        p2       | a---n
        p3       | a---nA=R",
    );
}

#[test]
fn who_does_not_ask_any_more_does_not_look_in_vain() {
    NEXT.accepts(
        "
        p0 | A==R
        p1 | a!  n
        p2 | a!  n
        p3 | a---nA=R",
    );
}

#[test]
fn nobody_had_to_be_woken() {
    NEXT.unclear(
        "
        p0 | A==R
        p1 |      A=R",
        expect!["nobody was woken"],
    );
}

#[test]
fn each_key_has_its_own_waiters() {
    NEXT.rejects(
        "
        p0    | A==R
        p1/k1 |  A==R
        p2/k1 |  a---n
        p3/k1 |  a---n
        p4/k1 |  a---nA=R
        p5    |     A=R",
        "herd",
        1,
    );
}

#[test]
fn who_declares_a_herd_is_only_measured() {
    let all = Gallery { checker: &Herd, info: |info| info.lock.promises.wakes = Some(Wakes::All) };
    let summary = all.does_not_apply(
        "
        p0 | A==R
        p1 | a---n
        p2 | a---nA=R",
    );
    expect!["it declares that it wakes everybody who waits: 2 wake-ups; one release woke at most 2, one arrival at most 0"].assert_eq(&summary);
    let measures = all.judge("p0 | A==R\np1 | a---n\np2 | a---nA=R\np3 | a----n").measures;
    assert_eq!(measures.iter().map(|m| m.value).collect::<Vec<_>>(), [3, 1, 3, 0]);
    let polls = Gallery { checker: &Herd, info: |_| {} };
    polls.does_not_apply("p0 | A==R");
}
