//! Pictures of locks that wait for each other, and of such that do not.

use super::Independence;
use crate::picture::Gallery;
use expect_test::expect;

const TWO: Gallery = Gallery { checker: &Independence, info: |_| {} };

#[test]
fn one_lock_is_granted_when_the_other_is_free() {
    TWO.rejects(
        "
        p0    | A====R    A====R    A====R
        p1/k1 |  a-----A=R a-----A=R a-----A=R",
        "waits for another key",
        3,
    );
}

#[test]
fn most_of_them_wait() {
    TWO.rejects(
        "
        p0    | A====R    A====R    A====R    A====R
        p1/k1 |  a-----A=R a-----A=R a-----A=R a-A=R",
        "waits for another key",
        3,
    );
}

#[test]
fn it_never_gets_an_answer() {
    TWO.rejects(
        "
        p0    | A====R    A====R    A====R
        p1/k1 |  a-----A=R a-----A=R a----------",
        "waits for another key",
        3,
    );
}

#[test]
fn each_is_granted_while_the_other_is_held() {
    TWO.accepts(
        "
        p0    | A====R    A====R    A====R
        p1/k1 |  a-A=R     a-A=R     A=R",
    );
}

#[test]
fn a_slow_moment_is_no_rule() {
    TWO.accepts(
        "
        p0    | A====R    A====R    A====R
        p1/k1 |  a-----A=R a-A=R     A=R",
    );
}

#[test]
fn who_waits_for_its_own_key_waits_for_a_reason() {
    TWO.accepts(
        "
        p0    | A====R    A====R    A====R    A====R    A====R    A====R
        p1/k1 |  a-----A=R a-----A=R a-----A=R a-A=R     a-A=R     a-A=R
        p2/k1 |  A====R    A====R    A====R",
    );
}

#[test]
fn two_chances_show_little() {
    TWO.unclear(
        "
        p0    | A====R    A====R
        p1/k1 |  a-----A=R a-----A=R",
        expect!["2 chances to be granted a free lock while another was held, 0 taken"],
    );
}

#[test]
fn one_key_depends_on_none() {
    TWO.does_not_apply("p0 | A==R");
}

#[test]
fn as_many_chances_are_taken_as_missed() {
    let summary = TWO.accepts(
        "
        p0    | A====R    A====R    A====R    A====R    A====R    A====R
        p1/k1 |  a-----A=R a-----A=R a-----A=R a-A=R     a-A=R     a-A=R",
    );
    assert_eq!(summary, "6 chances to be granted a free lock while another was held, 3 taken");
}

#[test]
fn a_tenth_of_the_ttl_is_a_chance_and_less_is_none() {
    TWO.rejects(
        "
        p0    | A==R      A==R      A==R
        p1/k1 |   a-A=R     a-A=R     a-A=R",
        "waits for another key",
        3,
    );
    TWO.unclear(
        "
        p1/k1 |    aA=R      aA=R      aA=R
        p0    | A==R      A==R      A==R",
        expect!["0 chances to be granted a free lock while another was held, 0 taken"],
    );
}

#[test]
fn who_holds_the_other_lock_itself_has_no_chance() {
    TWO.unclear(
        "
        p0    | A====R    A====R    A====R
        p0/k1 |  a-----A=R a-----A=R a-----A=R",
        expect!["0 chances to be granted a free lock while another was held, 0 taken"],
    );
}

#[test]
fn who_is_refused_while_the_other_is_held_took_no_chance_and_missed_none() {
    TWO.unclear(
        "
        p0    | A====R    A====R    A====R
        p1/k1 |  a-!       a-!       a-!",
        expect!["0 chances to be granted a free lock while another was held, 0 taken"],
    );
}

#[test]
fn who_is_overtaken_or_comes_while_it_is_released_had_a_rival() {
    TWO.unclear(
        "
        p0    | A====R    A====R    A====R
        p1/k1 |  a-----A=R a-----A=R a-----A=R
        p2/k1 |   A=R       A=R       A=R",
        expect!["0 chances to be granted a free lock while another was held, 0 taken"],
    );
    TWO.unclear(
        "
        p0    |   A====R      A====R      A====R
        p2/k1 | A=r---R     A=r---R     A=r---R
        p1/k1 |    a-----A=R   a-----A=R   a-----A=R",
        expect!["0 chances to be granted a free lock while another was held, 0 taken"],
    );
}

#[test]
fn what_it_takes_to_be_granted_a_free_lock_is_seen_in_the_run() {
    let slow = Gallery { info: |info| info.lock.promises.pace.back_off_ns = 900_000_000, ..TWO };
    let text = "
        p0    |                A====R    A====R    A====R
        p1/k1 | A=R  A=R  A=R   a-----A=R a-----A=R a-----A=R";
    slow.rejects(text, "waits for another key", 3);
    // It takes as long where nobody holds the other.
    let takes_long = text.replace("A=R  A=R  A=R ", "a----A=R      ");
    slow.unclear(
        &takes_long,
        expect!["0 chances to be granted a free lock while another was held, 0 taken"],
    );
}
