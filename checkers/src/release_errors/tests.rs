//! Pictures of releases that fail without a reason, and of such that may.

use super::ReleaseErrors;
use crate::picture::Gallery;
use expect_test::expect;

const ANY: Gallery = Gallery { checker: &ReleaseErrors, info: |_| {} };

#[test]
fn a_release_fails() {
    ANY.rejects("p0 | A==r!", "failed release", 1);
}

#[test]
fn a_release_removes_nothing() {
    ANY.rejects(
        "
        p0 | A==N
        p1 |      A==N",
        "release freed nothing",
        2,
    );
}

/// By the ledger it left what it had taken to its ttl, for which another had to wait.
#[test]
fn a_release_does_nothing() {
    let idle = "
        store | 0         x1
        p0    | A==r-R
        p1    |   a--------A==r-R";
    ANY.rejects(idle, "release freed nothing", 1);
    // It was freed in time, or nobody waited for it.
    ANY.accepts(&idle.replace("0         x1", "0   a    1 "));
    ANY.accepts(&idle.replace("  a--------A", "          aA"));
    ANY.accepts(&idle.replace("a--------A==r-R", "a----A==r-R"));
}

/// By the ledger it removed what it had taken, also under a fault.
#[test]
fn a_release_is_denied() {
    ANY.rejects(
        "
        store | 0  a
        p0    | A==r!",
        "denied release",
        1,
    );
    ANY.rejects(
        "
        cut c0-s0 |   [ ]
        store     | 0  a
        p0        | A==r!",
        "denied release",
        1,
    );
}

#[test]
fn a_release_fails_before_the_lock_has_run_out() {
    ANY.rejects(
        "
        ttl | *
        p0  | A==O  A======r!",
        "failed release",
        1,
    );
}

#[test]
fn others_who_wait_are_no_reason() {
    ANY.rejects(
        "
        p0 | A==r!    A=O
        p1 | a-----!",
        "failed release",
        1,
    );
}

/// The first can have failed by its recipe alone. In the time of the second, another release
/// removed whatever stood there.
#[test]
fn each_of_several_has_the_causes_that_it_can_have() {
    let verdict = ANY.judge(
        "
        p0    | A==r!
        p1/k1 | A=r-D
        p2/k1 |       A==r!",
    );
    let causes: Vec<String> =
        verdict.anomalies.iter().map(|anomaly| anomaly.cause.to_string()).collect();
    assert_eq!(verdict.summary, "2 of 3 releases failed without a reason");
    expect![[r#"
        the recipe itself allows it, without any fault
        one of: another client's release freed the lock; the recipe itself allows it, without any fault"#]].assert_eq(&causes.join("\n"));
}

#[test]
fn a_fault_long_before_is_no_reason() {
    ANY.rejects(
        "
        pause c0 | [ ]
        p0       |                 A==r!",
        "failed release",
        1,
    );
}

#[test]
fn a_release_that_removes_whatever_stands_there_is_no_reason_once_it_is_answered() {
    ANY.rejects(
        "
        p0 | A=r-D
        p1 |       A==r!",
        "failed release",
        1,
    );
}

#[test]
fn a_late_release_that_removes_whatever_stands_there_is_a_reason() {
    ANY.accepts(
        "
        p0 | A=r---D
        p1 |     A===r!",
    );
}

#[test]
fn a_release_that_took_the_lock_before_its_new_holder_heard_of_it_is_a_reason() {
    ANY.accepts(
        "
        store | 0x 1a            1  b
        p0    | A=r-D
        p1    |    a  A==r!      A==O",
    );
}

#[test]
fn releases_succeed() {
    ANY.accepts(
        "
        p0 | A==O
        p1 |      A==R",
    );
}

#[test]
fn a_fault_is_a_reason() {
    ANY.accepts(
        "
        pause c0 | [   ]
        p0       | A====r!                   A=R",
    );
}

#[test]
fn a_hold_that_has_run_out_is_one() {
    ANY.accepts(
        "
        ttl | *
        p0  | A===========N  A=O",
    );
}

#[test]
fn so_is_a_lock_that_was_lost_or_is_anothers() {
    ANY.accepts(
        "
        p0 | A==Lr!        A=R
        p1 |      A==r!
        p2 |       A==R",
    );
}

#[test]
fn a_release_of_unknown_outcome_tells_nothing() {
    ANY.unclear(
        "
        p0 | A==r?
        p1 |       A==Lr!",
        expect!["no release that had to succeed; 1 failed with a reason"],
    );
}

#[test]
fn a_release_that_was_under_way_when_the_lock_was_asked_for_is_a_reason() {
    ANY.accepts(
        "
        ttl | *
        p0  | A=r---D
        p1  |    ak--A==r!",
    );
}

#[test]
fn a_release_of_ones_own_that_is_under_way_is_no_reason() {
    ANY.rejects(
        "
        p0 | A=r---O
        p1 |     A===r!",
        "failed release",
        1,
    );
}

#[test]
fn what_ended_before_the_hold_began_or_began_after_its_end_is_no_reason() {
    ANY.rejects(
        "
        p0 | A=r-D
        p1 |    ak-A==r!",
        "failed release",
        1,
    );
    ANY.rejects(
        "
        p0 | S====r-D
        p1 |  S==r!",
        "failed release",
        1,
    );
}

#[test]
fn a_hold_has_run_out_at_the_moment_at_which_it_does() {
    ANY.unclear(
        "
        ttl | *
        p0  | ak-A======r!",
        expect!["no release that had to succeed; 1 failed with a reason"],
    );
    ANY.rejects(
        "
        ttl | *
        p0  | ak-A=====r!",
        "failed release",
        1,
    );
}

#[test]
fn those_that_succeeded_are_counted_beside_those_that_did_not() {
    let verdict = ANY.judge(
        "
        p0 | A==r!   A==N
        p1 |      A=O     A=O  A=O",
    );
    assert_eq!(verdict.summary, "2 of 5 releases failed without a reason");
}
