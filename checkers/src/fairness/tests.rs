//! Pictures of queues that are served in order, and of others. A digit behind a grant is its place.

use super::Fairness;
use crate::picture::{Gallery, judge, picture};
use base::{Outcome, Verdict};
use expect_test::expect;

const QUEUE: Gallery = Gallery { checker: &Fairness, info: |info| info.lock.promises.fifo = true };

#[test]
fn the_second_is_served_before_the_first() {
    QUEUE.rejects(
        "
        p0 | a--A2=R
        p1 | a-------A1=R",
        "fifo inversion",
        1,
    );
}

#[test]
fn a_reader_is_served_before_a_writer_in_front_of_it() {
    QUEUE.rejects(
        "
        p0 | A1==R
        p1 | a---------A2=R
        p2 | s----S3==R",
        "fifo inversion",
        1,
    );
}

#[test]
fn a_writer_is_served_before_readers_in_front_of_it() {
    QUEUE.rejects(
        "
        p0 | A3=R
        p1 | s----S1==R
        p2 | s----S2==R",
        "fifo inversion",
        2,
    );
}

#[test]
fn a_waiter_starves() {
    let alone = Gallery {
        checker: &Fairness,
        info: |info| {
            info.lock.promises.fifo = true;
            info.run.clients = 1;
        },
    };
    alone.rejects(
        "
        p0 | A2=R
        p1 |  a--------------------------
        p2 |     S=RS=RS=RS=RS=R",
        "starvation",
        1,
    );
}

/// Whoever takes again what it holds overtakes nobody.
#[test]
fn a_holder_that_takes_its_lock_again_overtakes_nobody() {
    let alone = Gallery {
        checker: &Fairness,
        info: |info| {
            info.lock.promises.fifo = true;
            info.lock.promises.reentrant = true;
            info.run.clients = 1;
        },
    };
    alone.accepts(
        "
        p0 | A2=R                 A3=R
        p1 |  a----------------------------A4=R
        p2 |     S=S=RS=RS=RS=RS=RR",
    );
}

#[test]
fn overtakers_are_counted_up_to_sixteen_a_client() {
    let alone = Gallery { checker: &Fairness, info: |info| info.run.clients = 1 };
    let summaries = [12, 20].map(|overtakers| {
        let grants = "AR".repeat(overtakers);
        let verdict = alone.judge(&format!("p0 | a\np1 |  {grants}"));
        format!("{overtakers} overtakers: {}\n", verdict.summary)
    });
    expect![[r#"
        12 overtakers: the lock promises no order: at most 12 overtook one acquire, Jain's index 1000 ‰
        20 overtakers: the lock promises no order: at most 16 overtook one acquire, Jain's index 1000 ‰
    "#]].assert_eq(&summaries.concat());
}

#[test]
fn those_on_another_key_or_who_may_share_overtake_nobody() {
    let any = Gallery { checker: &Fairness, info: |_| {} };
    let pictures = ["p0 | a\np1/k1 |  ARARAR", "p0 | s\np1 |  SRSRSR"];
    let summaries = pictures.map(|text| any.does_not_apply(text));
    expect![[r#"
        the lock promises no order: at most 0 overtook one acquire, Jain's index 200 ‰
        the lock promises no order: at most 0 overtook one acquire, Jain's index 200 ‰"#]]
    .assert_eq(&summaries.join("\n"));
}

#[test]
fn few_that_come_later_starve_nobody() {
    let alone = Gallery {
        checker: &Fairness,
        info: |info| {
            info.lock.promises.fifo = true;
            info.run.clients = 1;
        },
    };
    let summary = alone.accepts(
        "
        p0 | A2=R                 A3=R
        p1 |  a--------------------------
        p2 |     S=RS=RS=R",
    );
    expect![
        "1 grant in the order of the queue; at most 4 overtook one acquire, Jain's index 1000 ‰"
    ]
    .assert_eq(&summary);
}

/// A semaphore of two permits is free for one acquire and not for another, which asks for more.
#[test]
fn an_acquire_of_several_permits_starves_while_too_few_are_free() {
    let semaphore = Gallery {
        checker: &Fairness,
        info: |info| (info.lock.promises.permits, info.run.clients) = (2, 3),
    };
    // One holds a permit throughout, and the others come and go.
    let picture = |waiter: &str| format!("p1 | A\n{waiter} | a\np2 |  {}", "AR".repeat(60));
    semaphore.rejects(&picture("p0*2"), "starvation", 1);
    semaphore.does_not_apply(&picture("p0"));
}

/// A lock without a queue, of two workers, that others are granted a tenth of a second after each
/// other.
fn lottery(grants: usize, promised: Option<u32>) -> Verdict {
    let mut run = picture(&format!("p0 | a\np1 |  {}", "SR".repeat(grants)));
    run.info.run.clients = 2;
    run.info.lock.promises.patience = promised;
    judge(&Fairness, &run)
}

/// A writer that waits for two readers, one of whom lets go of the lock only after the other has
/// come.
fn readers_in_turn(each: usize) -> Verdict {
    let reader = "S===R ".repeat(each);
    let mut run = picture(&format!("p0 | a\np1 |  {reader}\np2 |     {reader}"));
    run.info.run.clients = 2;
    judge(&Fairness, &run)
}

#[test]
fn a_writer_starves_behind_readers_though_there_is_no_queue() {
    let verdict = readers_in_turn(17);
    assert!(verdict.shows("starvation"), "{verdict:?}");
    expect!["process 0 asked at 0.000 s; process 1 acquired at 0.100 s; while process 0 waited, the lock was granted at least 32 times to those who asked later, which is 16 times its fair share"].assert_eq(&verdict.anomalies[0].explanation);
    assert_eq!(readers_in_turn(15).outcome, Outcome::NotApplicable);
}

#[test]
fn a_lock_that_was_free_between_its_grants_starves_nobody() {
    assert_eq!(lottery(64, None).outcome, Outcome::NotApplicable);
}

#[test]
fn a_promise_sets_the_shares_after_which_an_acquire_starves() {
    assert!(lottery(10, Some(5)).shows("starvation"));
    assert!(!lottery(32, Some(17)).shows("starvation"));
    assert!(lottery(34, Some(17)).shows("starvation"));
}

#[test]
fn who_is_overtaken_often_in_a_short_time_does_not_starve() {
    let mut run = picture(&format!("p0 | a\np1 |  {}", "SR".repeat(32)));
    run.info.run.clients = 2;
    run.info.run.ttl_ns *= 10;
    run.info.lock.promises.patience = Some(16);
    assert!(!judge(&Fairness, &run).shows("starvation"));
}

#[test]
fn what_comes_after_a_fault_and_its_aftermath_counts() {
    let starved = |after: usize| {
        let text = format!(
            "pause c1 | [ ]\np0       | a\np1       |                        {}",
            "SR".repeat(after)
        );
        let mut run = picture(&text);
        run.info.run.clients = 2;
        run.info.lock.promises.patience = Some(16);
        judge(&Fairness, &run).shows("starvation")
    };
    assert!(starved(32));
    assert!(!starved(31));
}

#[test]
fn two_may_have_the_same_place() {
    QUEUE.accepts(
        "
        p0 | A1=R
        p1 |     A1=R",
    );
}

#[test]
fn a_queue_is_served_in_its_order() {
    QUEUE.accepts(
        "
        p0 | A1=R          A4=R
        p1 | a----A2=R
        p2 | a---------A3=R",
    );
}

#[test]
fn readers_pass_each_other() {
    QUEUE.accepts(
        "
        p0 | A1=R
        p1 | s-----S2=R
        p2 | s---S3=R",
    );
}

#[test]
fn under_a_fault_the_news_of_a_grant_may_come_late() {
    QUEUE.accepts(
        "
        pause c1 | [    ]
        p0       | a--A2=R
        p1       | a-------A1=R
        p2       |                              A3=R  A4=R",
    );
}

#[test]
fn each_key_has_its_own_queue() {
    QUEUE.accepts(
        "
        p0    | A5=R A6=R
        p1/k1 |  a-----A1=R A2=R",
    );
}

#[test]
fn grants_without_a_place_cannot_be_compared() {
    QUEUE.unclear(
        "
        p0 | A=R
        p1 | a---A=R",
        expect!["no two grants with a place in a queue, far from any fault"],
    );
}

#[test]
fn a_lock_without_an_order_is_only_measured() {
    let plain = Gallery { checker: &Fairness, info: |info| info.run.clients = 2 };
    let summary = plain.does_not_apply(
        "
        p0 | a--------A=R
        p1 | A=R A=RA=R",
    );
    expect!["the lock promises no order: at most 3 overtook one acquire, Jain's index 800 ‰"]
        .assert_eq(&summary);
    let measures = plain.judge("p0 | A=R").measures;
    assert_eq!(measures.iter().map(|m| m.value).collect::<Vec<_>>(), [0, 500]);
}
