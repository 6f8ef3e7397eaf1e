//! Pictures of which the times are known.

use super::Perf;
use crate::picture::Gallery;
use expect_test::expect;

const ANY: Gallery = Gallery { checker: &Perf, info: |_| {} };

#[test]
fn times_are_those_between_question_and_answer() {
    let summary = ANY.measures(
        "
        p0 | a-A=r--R
        p1 | a---A=r-R
        p2 |          |",
    );
    expect!["2 grants, 2.5 a second; to acquire took 200 ms (99 %: 400 ms), to release 200 ms (99 %: 300 ms)"].assert_eq(&summary);
}

#[test]
fn each_time_is_measured() {
    let verdict = ANY.judge("p0 | a-A=r---R");
    assert!(verdict.summary.starts_with("1 grant, 1.25 a second; to acquire"), "{verdict:?}");
    let measures = verdict.measures;
    let value = |name: &str| measures.iter().find(|m| m.name == name).map(|m| m.value);
    assert_eq!(value("grants"), Some(1));
    assert_eq!(value("grant rate"), Some(1_250));
    assert_eq!(value("acquire, median"), Some(200_000_000));
    assert_eq!(value("release, longest"), Some(400_000_000));
}

#[test]
fn a_release_of_unknown_outcome_took_no_known_time() {
    expect!["1 grant, 2 a second; to acquire took 0 s (99 %: 0 s), to release 0 s (99 %: 0 s)"]
        .assert_eq(&ANY.measures("p0 | A=r--?"));
}

#[test]
fn even_a_broken_lock_has_times() {
    ANY.measures(
        "
        p0 | A====R
        p1 |  A==R",
    );
}

#[test]
fn without_a_grant_there_is_nothing_to_measure() {
    assert_eq!(ANY.measures("p0 | a----!"), "nothing was granted");
}
