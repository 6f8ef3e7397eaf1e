//! Pictures of tokens that grow, and of tokens that do not. A digit behind a grant is its token.

use super::Fencing;
use crate::picture::Gallery;
use expect_test::expect;

const FENCED: Gallery =
    Gallery { checker: &Fencing, info: |info| info.lock.promises.fenced = true };

#[test]
fn a_later_grant_has_the_same_token() {
    FENCED.rejects(
        "
        p0 | A5=R
        p1 |     A5=R",
        "token went back",
        1,
    );
}

#[test]
fn a_later_grant_has_a_smaller_token() {
    FENCED.rejects(
        "
        p0 | A5=R     A7=R
        p1 |     A3=R",
        "token went back",
        1,
    );
}

#[test]
fn it_is_smaller_than_one_long_before() {
    FENCED.rejects(
        "
        p0 | A7=R        A2=R
        p1 |    A8=R
        p2 |        A9=R     A8=R",
        "token went back",
        2,
    );
}

#[test]
fn the_reason_comes_last() {
    let verdict = FENCED.judge(
        "
        p0 | A5=R
        p1 |     A5=R",
    );
    let explanation = &verdict.anomalies[0].explanation;
    assert!(explanation.ends_with("; a later grant must have a greater token"), "{explanation}");
}

#[test]
fn a_grant_has_no_token() {
    FENCED.rejects(
        "
        p0 | A1=R
        p1 |     A==R",
        "grant without token",
        1,
    );
}

#[test]
fn two_who_asked_side_by_side_have_the_same_token() {
    FENCED.rejects(
        "
        p0 | a-----A2=R
        p1 | a-A2====R
        p2 |            A4=R",
        "token given twice",
        1,
    );
}

#[test]
fn readers_may_share_a_token() {
    FENCED.accepts(
        "
        p0 | s-----S2=R
        p1 | s-S2====R
        p2 |            A4=R",
    );
}

#[test]
fn tokens_grow_with_gaps() {
    FENCED.accepts(
        "
        p0 | A1=R    A7=R
        p1 |     A3=R",
    );
}

#[test]
fn each_key_counts_for_itself() {
    FENCED.accepts(
        "
        p0    | A5=R     A6=R
        p1/k1 |     A1=R     A2=R",
    );
}

#[test]
fn one_grant_has_nothing_to_be_compared_with() {
    FENCED.unclear("p0 | A5=R", expect!["no grant came after another: nothing to compare"]);
}

#[test]
fn a_lock_without_tokens_promises_none() {
    let plain = Gallery { checker: &Fencing, info: |_| {} };
    plain.does_not_apply("p0 | A=R");
}

const DRAWN_BEFORE: &str = "
        p0       | a-----A2=R
        p1       | a-A3=R
        p2       |                             A4=R
        ";

#[test]
fn its_turn_came_later_though_it_asked_at_the_same_time() {
    FENCED.rejects(DRAWN_BEFORE, "token went back", 1);
    let readers = DRAWN_BEFORE.replace("a-A3", "s-S3").replace("a-----A2", "s-----S2");
    FENCED.accepts(&readers);
    FENCED.rejects(&readers.replace("s-S3", "a-A3"), "token went back", 1);
    // What was taken first may have been lost since: a ttl later, or by a fault.
    let late = "a-------------A2=R";
    FENCED.accepts(&DRAWN_BEFORE.replace("a-----A2=R", late).replace("a-A3", "          aA3"));
    FENCED.accepts(&(DRAWN_BEFORE.to_owned() + "wipe s0  |  []"));
    // And of two holds at once, nobody knows which came first.
    FENCED.accepts(&DRAWN_BEFORE.replace("A3=R", "A3=====R"));
}
