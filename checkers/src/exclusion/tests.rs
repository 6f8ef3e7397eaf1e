//! Pictures of histories that `exclusion` must reject, must accept, or cannot judge.

use super::Exclusion;
use crate::picture::{Gallery, judge, picture};
use expect_test::expect;

const ANY: Gallery = Gallery { checker: &Exclusion, info: |_| {} };

#[test]
fn two_exclusive_holds_overlap() {
    ANY.rejects(
        "
        p0 | A====R
        p1 |    A===R
        ",
        "double hold",
        1,
    );
}

const TWO_PERMITS: Gallery = Gallery {
    checker: &Exclusion,
    info: |info| (info.lock.promises.permits, info.lock.promises.shared) = (2, false),
};

#[test]
fn a_semaphore_lets_in_as_many_as_it_has_permits() {
    TWO_PERMITS.accepts(
        "
        p0 | A====R
        p1 |  A======R
        p2 |       A===R
        ",
    );
    TWO_PERMITS.rejects(
        "
        p0 | A====R
        p1 |  A======R
        p2 |    A===R
        ",
        "double hold",
        1,
    );
}

#[test]
fn a_semaphore_counts_permits_and_not_holders() {
    TWO_PERMITS.rejects(
        "
        p0*2 | A====R
        p1   |   A====R
        ",
        "double hold",
        1,
    );
    TWO_PERMITS.rejects(
        "
        p0   | A====R
        p1*2 |   A====R
        p2   |        A==R
        ",
        "double hold",
        1,
    );
    TWO_PERMITS.accepts(
        "
        p0*2 | A==R
        p1   |     A===R
        p2   |      A=R
        p1*2 |          A=R
        ",
    );
    let three = Gallery { checker: &Exclusion, info: |info| info.lock.promises.permits = 3 };
    let picture = "
        p0*2 | A====R
        p1   |   A====R
        p2   |        A==R
        ";
    three.accepts(picture);
    three.rejects(&picture.replace("p1  ", "p1*3"), "double hold", 1);
}

#[test]
fn an_over_admission_is_described_in_permits_with_all_who_hold_them() {
    let verdict = TWO_PERMITS.judge(
        "
        p0       | A=======R
        p1       |  A=========R
        p2*2     |      A====R
        pause c1 |   [    ]
        ",
    );
    assert_eq!(verdict.summary, "1 of 3 grants were given while too few of 2 permits were free");
    assert_eq!(
        verdict.anomalies[0].explanation,
        "process 0 acquired at 0.000 s; process 1 acquired at 0.100 s and was paused at 0.200 s \
         while it held; process 2 acquired 2 permits at 0.500 s; process 1 ran on at 0.700 s; \
         process 0 released at 0.800 s; 4 permits were held at once, of 2"
    );
    // The pause of any holder can be why.
    let causes = verdict.anomalies[0].cause;
    assert!(causes.contains(base::Cause::HolderPaused), "{causes:?}");
}

#[test]
fn a_release_ends_the_hold_of_its_own_lock() {
    ANY.accepts(
        "
        p0    | A======R
        p0/k1 |   A======R
        p1    |         A=R
        ",
    );
}

#[test]
fn a_reader_is_let_in_beside_a_writer() {
    ANY.rejects(
        "
        p0 | A====R
        p1 |   S==R
        p2 |    S==R
        ",
        "reader-writer overlap",
        2,
    );
}

#[test]
fn a_writer_is_let_in_beside_readers() {
    ANY.rejects(
        "
        p0 | S====R
        p1 |  S===R
        p2 |    A==R
        ",
        "reader-writer overlap",
        1,
    );
}

#[test]
fn a_failed_release_ends_a_hold_too_but_only_from_its_begin() {
    ANY.rejects(
        "
        p0 | A====r!
        p1 |   A==r?
        ",
        "double hold",
        1,
    );
}

#[test]
fn a_hold_that_nothing_ended_goes_on() {
    ANY.rejects(
        "
        p0 | A=
        p1 |       A=R
        p2 |           A=R
        ",
        "double hold",
        2,
    );
}

#[test]
fn a_ttl_that_has_run_out_ends_nothing() {
    ANY.rejects(
        "
        p0 | A==============R
        p1 |              A==R
        ",
        "double hold",
        1,
    );
}

#[test]
fn touching_holds_do_not_conflict() {
    ANY.accepts(
        "
        p0 | A==R
        p1 | a--A==R
        ",
    );
}

#[test]
fn the_begin_of_a_release_ends_the_hold_whatever_its_outcome() {
    ANY.accepts(
        "
        p0 | A==r----?
        p1 |     A==r----!
        p2 |         A=====R
        ",
    );
}

#[test]
fn death_ends_a_hold() {
    ANY.accepts(
        "
        p0 | A==X
        p1 |     A==R
        ",
    );
}

#[test]
fn a_lost_notice_ends_a_hold_before_its_release() {
    ANY.accepts(
        "
        p0 | A==L   R
        p1 |     A====R
        ",
    );
}

#[test]
fn a_failed_acquire_holds_nothing() {
    ANY.accepts(
        "
        p0 | A====R
        p1 |  a-!
        p2 |       A=R
        ",
    );
}

#[test]
fn an_acquire_of_unknown_outcome_is_no_definite_hold() {
    ANY.accepts(
        "
        p0 | a?
        p1 | a--X
        p2 | a
        p3 |   A====R
        p4 |          A=R
        ",
    );
}

#[test]
fn readers_overlap_freely() {
    ANY.accepts(
        "
        p0 | S====R
        p1 |  S=====R
        p2 |   S=R
        p3 |          A=R
        ",
    );
}

#[test]
fn different_locks_never_conflict() {
    ANY.accepts(
        "
        p0/k0 | A====R
        p1/k1 |   A====R
        p0/k1 |          A=R
        ",
    );
}

#[test]
fn what_was_granted_is_counted_with_its_holders() {
    let summary = ANY.accepts("p0 | A=R A=R");
    assert_eq!(summary, "2 grants to 1 process, and no hold forbade another");
    let summary = ANY.accepts("p0 | A=R A=R\np1 |          A");
    assert_eq!(summary, "3 grants to 2 processes, and no hold forbade another");
}

#[test]
fn one_grant_cannot_overlap() {
    ANY.unclear(
        "
        p0 | A====R
        p1 |  a-!
        ",
        expect!["1 grant: at least two are needed to overlap"],
    );
    ANY.unclear("p0 | a--!", expect!["0 grants: at least two are needed to overlap"]);
}

#[test]
fn the_witness_names_grants_fault_and_end_in_order() {
    let run = picture(
        "
        p3       | A=======R
        p1       |     A=R
        pause c3 |  [    ]
        ",
    );
    let verdict = judge(&Exclusion, &run);
    let anomaly = &verdict.anomalies[0];
    assert_eq!(
        anomaly.explanation,
        "process 3 acquired exclusively at 0.000 s and was paused at 0.100 s while it held; \
         process 1 acquired exclusively at 0.400 s; process 3 ran on at 0.600 s and released at \
         0.800 s"
    );
    let shown: Vec<String> = anomaly
        .witness
        .iter()
        .map(|at| run.history.get(*at).unwrap())
        .map(|event| format!("{} {:?}", event.f, event.kind))
        .collect();
    assert_eq!(shown, ["acquire Ok", "fault Info", "acquire Ok", "heal Info", "release Invoke"]);
    assert_eq!(verdict.summary, "1 of 2 grants were given while another hold forbade it");
}

#[test]
fn the_fault_of_a_client_that_came_back_is_its_own() {
    // Process 8 is the second one of client 3; the pause of client 4 is not its concern, and the
    // one of its own client did nothing.
    let verdict = ANY.judge(
        "
        p8        | A=====R
        p1        |     A=R
        cut c3-s0 |  [     ]
        pause c4  |  [     ]
        pause c3  |  [    }
        ",
    );
    expect!["process 8 acquired exclusively at 0.000 s and was cut off from server 0 at 0.100 s while it held; process 1 acquired exclusively at 0.400 s; process 8 released at 0.600 s"].assert_eq(&verdict.anomalies[0].explanation);
}

#[test]
fn the_reply_to_an_acquire_that_came_late_is_reported_with_its_pause() {
    let verdict = ANY.judge(
        "
        p0       | a-------A=R
        p1       |     A=====R
        pause c0 |  [     ]
        ",
    );
    assert_eq!(
        verdict.anomalies[0].explanation,
        "process 0 was paused at 0.100 s while it asked; process 1 acquired exclusively at \
         0.400 s; process 0 ran on at 0.700 s and acquired exclusively at 0.800 s; process 1 \
         released at 1.000 s"
    );
}

#[test]
fn a_server_fault_is_reported_when_no_client_was_hit() {
    let verdict = ANY.judge(
        "
        p0      | A=====
        p1      |     A=R
        wipe s0 |  []
        ",
    );
    assert_eq!(
        verdict.anomalies[0].explanation,
        "process 0 acquired exclusively at 0.000 s; server 0 crashed and lost its data at \
         0.100 s and was started again at 0.200 s; process 1 acquired exclusively at 0.400 s; \
         process 0 never released"
    );
}

#[test]
fn a_server_fault_is_reported_beside_one_that_hit_a_client_if_it_may_be_the_cause() {
    let cases = [(0, "pause s0"), (0, "wipe s0"), (1, "wipe s0")];
    let explanations = cases.map(|(client, fault)| {
        let verdict = ANY.judge(&format!(
            "
            p0      | A=====R
            p1      |  a--A=R
            {fault} |  []
            pause c{client} |  []
            "
        ));
        format!("{fault}, pause c{client}: {}\n", verdict.anomalies[0].explanation)
    });
    expect![[r#"
        pause s0, pause c0: process 0 acquired exclusively at 0.000 s; server 0 was paused at 0.100 s; process 0 was paused at 0.100 s while it held; server 0 ran on at 0.200 s; process 0 ran on at 0.200 s; process 1 acquired exclusively at 0.400 s; process 0 released at 0.600 s
        wipe s0, pause c0: process 0 acquired exclusively at 0.000 s; server 0 crashed and lost its data at 0.100 s; process 0 was paused at 0.100 s while it held; server 0 was started again at 0.200 s; process 0 ran on at 0.200 s; process 1 acquired exclusively at 0.400 s; process 0 released at 0.600 s
        wipe s0, pause c1: process 0 acquired exclusively at 0.000 s; server 0 crashed and lost its data at 0.100 s; process 1 was paused at 0.100 s while it asked; server 0 was started again at 0.200 s; process 1 ran on at 0.200 s and acquired exclusively at 0.400 s; process 0 released at 0.600 s
    "#]].assert_eq(&explanations.concat());
}

#[test]
fn with_several_locks_the_story_names_its_own() {
    let verdict = ANY.judge(
        "
        p0/k0 | A=R
        p0/k1 |     A==R
        p1/k1 |       A=R
        ",
    );
    assert!(verdict.anomalies[0].explanation.starts_with("lock k1: process 0 acquired"));
}

#[test]
fn an_upgrade_beside_a_reader_overlaps_it_from_then_on() {
    let text = "
        p0 | S==u=U===R
        p1 |  S========R
        ";
    ANY.rejects(text, "reader-writer overlap", 1);
    expect!["process 0 acquired shared at 0.000 s; process 1 acquired shared at 0.100 s; process 0 upgraded its hold at 0.500 s; process 1 released at 1.000 s"].assert_eq(&ANY.judge(text).anomalies[0].explanation);
    ANY.rejects(
        "
        p0 | S=U===R
        p1 |     S==R
        ",
        "reader-writer overlap",
        1,
    );
    let beside_a_writer = ANY.judge(
        "
        p0 | A==========R
        p1 |   S=U==R
        ",
    );
    let anomalies = ["double hold", "reader-writer overlap"];
    assert!(anomalies.iter().all(|name| beside_a_writer.shows(name)), "{beside_a_writer:?}");
}

#[test]
fn a_downgrade_lets_readers_in_from_its_begin_and_no_writer() {
    ANY.accepts(
        "
        p0 | A==v==V==R
        p1 |     S=====R
        ",
    );
    ANY.accepts(
        "
        p0 | A==v==!==R
        p1 |     S=====R
        ",
    );
    ANY.rejects(
        "
        p0 | A==v==V==R
        p1 |         A==R
        ",
        "reader-writer overlap",
        1,
    );
}

#[test]
fn an_upgrade_that_failed_or_is_unknown_holds_no_more_than_before() {
    for sign in ["!", "?", "="] {
        ANY.accepts(&format!(
            "
            p0 | S==u=={sign}======
            p1 |  S============R
            "
        ));
    }
}

#[test]
fn the_only_reader_may_upgrade() {
    ANY.accepts(
        "
        p0 | S=U==V=U=R
        p1 |           A=R
        ",
    );
}

#[test]
fn whoever_frees_the_lock_of_a_holder_is_reported_with_its_faults() {
    let verdict = ANY.judge(
        "
        p2       | A=r----------R
        p0       |   a--A========R
        p1       |      a-----A==R
        pause c2 |   [         ]
        store    | 2  x 0   c 1",
    );
    let double = verdict.anomalies.iter().find(|it| it.name == "double hold").expect("seen");
    expect!["process 2 began to release at 0.200 s (it removed the lock of another) and was paused at 0.200 s; process 0 acquired exclusively at 0.500 s; process 1 acquired exclusively at 1.100 s; process 0 released at 1.400 s"].assert_eq(&double.explanation);
    assert_eq!((double.faults.len(), double.witness.len()), (1, 5), "{double:?}");
}
