//! Pictures of holders that ask again for what they hold.

use super::Reentrancy;
use crate::picture::Gallery;
use expect_test::expect;

const AGAIN: Gallery =
    Gallery { checker: &Reentrancy, info: |info| info.lock.promises.reentrant = true };

#[test]
fn the_holder_is_refused() {
    AGAIN.rejects("p0 | A==a---!==R", "self-deadlock", 1);
}

#[test]
fn the_holder_waits_for_itself_for_ever() {
    AGAIN.rejects(
        "
        p0 | A==a----------
        p1 | a------------!",
        "self-deadlock",
        1,
    );
}

/// The run ended before the inner acquire could be answered.
#[test]
fn an_acquire_at_the_very_end_tells_nothing() {
    let slow = Gallery {
        checker: &Reentrancy,
        info: |info| {
            info.lock.promises.reentrant = true;
            info.slowest_message_ns = info.run.ttl_ns;
        },
    };
    slow.accepts("p0 | A==A==R==R  A==a--");
}

#[test]
fn the_inner_release_frees_the_outer_hold() {
    AGAIN.rejects(
        "
        p0 | A==A==R=====R
        p1 | a-------A=R",
        "inner release freed the lock",
        1,
    );
}

#[test]
fn a_reader_gets_in_when_the_inner_hold_is_released() {
    AGAIN.rejects(
        "
        p0 | A==S==R=====R
        p1 | s-------S=R",
        "inner release freed the lock",
        1,
    );
}

#[test]
fn each_hold_is_given_back_once() {
    AGAIN.accepts(
        "
        p0 | A==A==R==R
        p1 | a----------A=R",
    );
}

/// Its client was cut off, say, and the lock had run out: the inner release did nothing to it.
#[test]
fn an_inner_release_that_only_counts_frees_nothing() {
    AGAIN.accepts(
        "
        p0 | A==A==K=====R
        p1 | a-------A=R",
    );
}

#[test]
fn three_deep() {
    AGAIN.accepts("p0 | A=A=A=R=R=R");
}

#[test]
fn readers_share_whatever_is_nested() {
    AGAIN.accepts(
        "
        p0 | S==S==R=====R
        p1 | s-------S=R",
    );
}

#[test]
fn a_holder_that_dies_while_it_asks_tells_nothing_against_it() {
    AGAIN.accepts(
        "
        p0 | A==a---X
        p1 |            A==A=R=R",
    );
}

#[test]
fn nobody_asked_for_what_it_held() {
    AGAIN.unclear(
        "
        p0    | A====R
        p0/k1 |  A==R",
        expect!["no process asked for what it held"],
    );
}

#[test]
fn most_locks_do_not_promise_it() {
    let plain = Gallery { checker: &Reentrancy, info: |_| {} };
    plain.does_not_apply("p0 | A==a---!==R");
}
