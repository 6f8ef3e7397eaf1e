//! Pictures of histories that `progress` must reject, must accept, or cannot judge.

use super::Progress;
use crate::picture::{Gallery, judge, picture};

use base::{Cause, Outcome, Verdict, Wakes};
use expect_test::{Expect, expect};

/// Checks a lock that promises to be free again within one second, ten columns.
fn check(text: &str) -> Verdict {
    judge(&Progress, &picture(text))
}

fn check_unpromised(text: &str) -> Verdict {
    let mut run = picture(text);
    run.info.lock.promises.recovers = None;
    judge(&Progress, &run)
}

fn undecided(text: &str, summary: Expect) {
    let verdict = check(text);
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}{text}");
    summary.assert_eq(&verdict.summary);
}

const KILLED_WHILE_ASKING: &str = "
    crash c1 |      [    ]
    p4       | a?
    p0       |   A=R
    p1       |    a-X
    p2       |      a---------------------
    p3       |        a-----!   a------!
    run      |             Q             E
    ";

#[test]
fn a_client_killed_in_its_acquire_keeps_everybody_out() {
    let run = picture(KILLED_WHILE_ASKING);
    let verdict = judge(&Progress, &run);
    assert_eq!(verdict.outcome, Outcome::Violated, "{verdict:?}");
    let anomaly = &verdict.anomalies[0];
    assert_eq!((anomaly.name.as_str(), anomaly.count), ("deadlock", 1));
    assert_eq!(
        anomaly.explanation,
        "process 0 released at 0.400 s; process 1 was killed at 0.500 s while it asked; \
         process 2 asked at 0.500 s; the run was over at 2.600 s and nobody had been granted the \
         lock; all faults had been healed for 1.4 s, and the lock promises to be granted again \
         within 1 s"
    );
    assert_eq!(
        verdict.summary,
        "nobody was granted the lock in the 1.4 s after all faults were healed"
    );
}

#[test]
fn a_holder_that_was_killed_keeps_everybody_out() {
    let verdict = check(
        "
        crash c0 |   [  ]
        p0       | A=X
        p1       |     a--------------------
        run      |       Q             E
        ",
    );
    let text = &verdict.anomalies[0].explanation;
    assert!(text.starts_with("process 0 was killed at 0.200 s; process 1 asked at"), "{text}");
}

#[test]
fn asking_again_and_again_is_asking() {
    let verdict = check(
        "
        p0  | A=R  a!a!a!a!a!a!a!a!a!
        run |    Q                   E
        ",
    );
    assert!(verdict.shows("deadlock"));
}

#[test]
fn asking_twice_far_apart_is_not_asking_all_the_while() {
    let verdict = check(
        "
        p0  | A=R  a-!                a-!
        run |    Q                       E
        ",
    );
    assert!(!verdict.shows("deadlock"));
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
}

#[test]
fn one_lock_of_two_is_stuck() {
    let verdict = check(
        "
        p0/k0 | A=R    A=R A=R
        p1/k1 |    a---------------
        run   |      Q            E
        ",
    );
    assert!(verdict.shows("deadlock"));
    assert!(verdict.anomalies[0].explanation.starts_with("lock k1: process 1 asked"));
}

#[test]
fn whoever_is_not_notified_that_a_lock_ran_out_waits_for_ever_because_of_its_holder() {
    let cause = |text: &str| check(text).anomalies[0].cause;
    let died = "
        crash c0 |   [  ]
        p0       | A=X
        p1       |  a--------------------
        run      |       Q             E
        store    | 0   x";
    assert_eq!(cause(died), Cause::ClientDied.into());
    let paused = "
        pause c0 |   [     ]
        p0       | A=       N
        p1       |  a--------------------
        run      |          Q           E
        store    | 0   x";
    assert_eq!(cause(paused), Cause::HolderPaused.into());
    let freed = "
        p0       | A=R
        p1       |  a--------------------
        run      |       Q             E
        store    | 0  a";
    assert_eq!(cause(freed), Cause::Recipe.into(), "nobody was told");
}

#[test]
fn a_lock_that_never_promised_to_recover_is_stuck_for_good() {
    // Every unanswered acquire would excuse a lock that recovers: its client may hold it.
    let text = "
        p0  | A==X
        p1  |      a-----?
        p2  |      a------------?
        run |    Q                E
        ";
    let verdict = check_unpromised(text);
    assert!(verdict.shows("deadlock"), "{verdict:?}");
    let explanation = &verdict.anomalies[0].explanation;
    assert!(explanation.ends_with("and the lock never promised to recover"), "{explanation}");
    undecided(
        text,
        expect![
            "nobody was granted the lock, and 2 acquires of the quiet phase ended in doubt, each of which may have taken it: see that its servers are there to the end"
        ],
    );
}

#[test]
fn a_lock_that_is_left_taken_in_the_quiet_phase_is_stuck() {
    let verdict = check(
        "
        p0  | A=R  A==r-!
        p1  |       a-------------------
        p2  |        a------------------
        run |    Q                      E
        ",
    );
    assert!(verdict.shows("deadlock"), "{verdict:?}");
    assert_eq!(verdict.summary, "nobody was granted the lock in the last 2.1 s of the quiet phase");
    expect!["process 1 asked at 0.600 s; process 0 released at 0.800 s; the run was over at 2.600 s and nobody had been granted the lock; nobody had been granted it since 0.500 s, and the lock promises to be granted again within 1 s"].assert_eq(&verdict.anomalies[0].explanation);
}

#[test]
fn a_lock_that_is_held_or_asked_for_too_shortly_to_the_end_is_not_stuck() {
    for text in [
        "p0  | A=R  A====================\np1  |       a-------------------\nrun |    Q                      E",
        "p0  | A=R  A==R\np1  |                      a----\nrun |    Q                      E",
    ] {
        assert_eq!(check(text).outcome, Outcome::Held, "{text}");
    }
}

#[test]
fn one_grant_in_the_quiet_phase_is_progress() {
    let verdict = check(
        "
        crash c0 |   [  ]
        p0       | A=X
        p1       |  a-----------A=R a------
        run      |       Q                   E
        ",
    );
    assert_eq!(verdict.outcome, Outcome::Held);
    assert_eq!(
        verdict.summary,
        "first grant 800 ms after the heal, 1 grant in the quiet phase; granted again within 1.1 s \
         of a holder's death (bound 1 s)"
    );
    let measures: Vec<_> = verdict.measures.iter().map(|m| (m.name.as_str(), m.value)).collect();
    assert_eq!(
        measures,
        [
            ("first grant in the quiet phase, after", 800_000_000),
            ("slowest grant after a holder's death", 1_100_000_000),
            ("its bound", 1_000_000_000),
        ]
    );
}

#[test]
fn without_faults_the_quiet_phase_itself_is_the_mark() {
    let verdict = check(
        "
        p0  | A=R A=R A=R
        run |    Q        E
        ",
    );
    assert_eq!(
        verdict.summary,
        "first grant 100 ms after the quiet phase began, 2 grants in the quiet phase"
    );
}

#[test]
fn a_lock_that_nobody_asked_for_does_not_spoil_another() {
    let verdict = check(
        "
        p0/k0 | A=R
        p1/k1 |      A=R
        run   |    Q       E
        ",
    );
    assert_eq!(verdict.outcome, Outcome::Held);
}

#[test]
fn a_history_without_its_phases_cannot_tell() {
    undecided(
        "p0 | A=R a-----------------",
        expect!["the run ended before its faults were healed"],
    );
    undecided(
        "
        p0  | A=R a-----------------
        run |    Q
        ",
        expect!["the run was cut off in its quiet phase"],
    );
}

#[test]
fn too_short_a_phase_cannot_tell() {
    undecided(
        "
        p0  | A=R a----------
        run |    Q       E
        ",
        expect![
            "nobody was granted the lock, but it was asked for over 700 ms only and may take 1 s to be granted again: a longer quiet phase would tell"
        ],
    );
}

#[test]
fn asking_for_too_short_a_time_cannot_tell() {
    undecided(
        "
        p0  | A=R  a--!
        run |    Q                   E
        ",
        expect![
            "nobody was granted the lock, but it was asked for over 300 ms only and may take 1 s to be granted again: a longer quiet phase would tell"
        ],
    );
}

#[test]
fn nobody_asked() {
    undecided(
        "
        p0  | A=R                     a------------
        run |    Q                   E
        ",
        expect!["nobody asked for the lock in the 2 s of quiet"],
    );
}

#[test]
fn a_hold_that_goes_on_excuses_the_lock() {
    undecided(
        "
        p0  | A===================
        p1  |   a-----------------
        run |    Q               E
        ",
        expect!["process 0 held the lock until the end"],
    );
}

#[test]
fn the_time_to_recover_begins_with_the_last_excuse() {
    // The quiet phase is long enough, the part of it after the death is not.
    undecided(
        "
        p0  | A=========X
        p1  |   a-----------------
        run |    Q               E
        ",
        expect![
            "nobody was granted the lock, but it was asked for over 900 ms only and may take 1 s to be granted again: a longer quiet phase would tell"
        ],
    );
    // A release that has ended in uncertainty may have freed nothing.
    undecided(
        "
        p0  | A=r-------?
        p1  |   a-----------------
        run |    Q               E
        ",
        expect![
            "nobody was granted the lock, but it was asked for over 900 ms only and may take 1 s to be granted again: a longer quiet phase would tell"
        ],
    );
    // So may the release of a hold that its client had declared lost.
    undecided(
        "
        p0  | A=Lr------?
        p1  |   a-----------------
        run |    Q               E
        ",
        expect![
            "nobody was granted the lock, but it was asked for over 900 ms only and may take 1 s to be granted again: a longer quiet phase would tell"
        ],
    );
    // So may one that its process did not live to see answered.
    undecided(
        "
        p0  | A=r-------X
        p1  |   a-----------------
        run |    Q               E
        ",
        expect![
            "nobody was granted the lock, but it was asked for over 900 ms only and may take 1 s to be granted again: a longer quiet phase would tell"
        ],
    );
}

#[test]
fn a_lock_that_never_promised_to_recover_is_excused_by_holds_too() {
    let verdict = check_unpromised(
        "
        p0  | A=========X
        p1  |   a-----------------
        run |    Q               E
        ",
    );
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
    expect!["nobody was granted the lock, but it was asked for over 900 ms only and may take 1 s to be granted again: a longer quiet phase would tell"].assert_eq(&verdict.summary);
}

/// The story of a lock that nobody got, with these rows before the quiet phase.
fn stuck(rows: &str) -> String {
    let verdict = check(&format!(
        "
        {rows}
        p1       |     a-----------------------
        run      |         Q                  E
        "
    ));
    assert_eq!(verdict.anomalies[0].name, "deadlock", "{verdict:?}");
    verdict.anomalies[0].explanation.clone()
}

#[test]
fn whoever_may_have_left_the_lock_taken_is_reported() {
    let explanations = [
        "p0       | A=r--?",
        "p0       | A=R\n        p2       |   a--?",
        "p0       | A=R\n        p2       |   a--X",
        "p0       | A==L",
        // Servers, where no client left it taken.
        "p0       | A=R\n        wipe s0  |    []",
        "p0       | A=r--?\n        wipe s0  |    []",
    ]
    .map(stuck);
    expect![[r#"
        process 0 released at 0.200 s; process 1 asked at 0.400 s; process 0's release ended unknown at 0.500 s; the run was over at 2.700 s and nobody had been granted the lock; all faults had been healed for 1.9 s, and the lock promises to be granted again within 1 s
        process 0 released at 0.200 s; process 1 asked at 0.400 s; process 2's acquire ended unknown at 0.500 s; the run was over at 2.700 s and nobody had been granted the lock; all faults had been healed for 1.9 s, and the lock promises to be granted again within 1 s
        process 0 released at 0.200 s; process 1 asked at 0.400 s; process 2 died at 0.500 s while it asked; the run was over at 2.700 s and nobody had been granted the lock; all faults had been healed for 1.9 s, and the lock promises to be granted again within 1 s
        process 0 noticed that it may have lost the lock at 0.300 s; process 1 asked at 0.400 s; the run was over at 2.700 s and nobody had been granted the lock; all faults had been healed for 1.9 s, and the lock promises to be granted again within 1 s
        process 0 released at 0.200 s; server 0 crashed and lost its data at 0.300 s and was started again at 0.400 s; process 1 asked at 0.400 s; the run was over at 2.700 s and nobody had been granted the lock; all faults had been healed for 1.9 s, and the lock promises to be granted again within 1 s
        process 0 released at 0.200 s; process 1 asked at 0.400 s; process 0's release ended unknown at 0.500 s; the run was over at 2.700 s and nobody had been granted the lock; all faults had been healed for 1.9 s, and the lock promises to be granted again within 1 s"#]].assert_eq(&explanations.join("\n"));
}

const WOKEN: Gallery = Gallery {
    checker: &Progress,
    info: |info| {
        info.lock.promises.wakes = Some(Wakes::Next);
        info.run.clients = 1;
    },
};

#[test]
fn nothing_wakes_a_waiter_while_others_come_and_go() {
    WOKEN.rejects(
        "
        p0 | A=R
        p1 |  a----------------------------
        p2 |    A=R A=R A=R A=R A=R A=R",
        "lost wake-up",
        1,
    );
}

#[test]
fn a_reader_sleeps_behind_writers() {
    WOKEN.rejects(
        "
        p0 | A=R
        p1 |  s----n-----------------------!
        p2 |     A=R A=R A=R A=R A=R A=R A=R
        p3 |  s------------------------------",
        "lost wake-up",
        1,
    );
}

#[test]
fn each_that_sleeps_on_counts() {
    WOKEN.rejects(
        "
        p0 | A=R
        p1 |  a----------------------------
        p3 |  a---------------------------!
        p2 |    S=R S=R S=R S=R S=R S=R",
        "lost wake-up",
        2,
    );
}

#[test]
fn whoever_is_woken_has_lost_no_wake_up_though_it_starves() {
    let verdict = WOKEN.judge(
        "
        p0  | A=R
        p1  |  a--------------n-------------
        p2  |    A=R A=R A=R A=R A=R A=R
        run |                                Q  E",
    );
    assert!(!verdict.shows("lost wake-up"), "{verdict:?}");
}

#[test]
fn few_that_come_later_or_for_a_short_time_are_no_lost_wake_up() {
    for text in [
        "
        p0  | A=R
        p1  |  a----------------------------
        p2  |    A=R A=R A=R A=R
        run |                           Q  E",
        "
        p0  | A=R
        p1  |  a---------!
        p2  |   ARARARARARAR
        run |                           Q  E",
        "
        pause c0 |    []
        p0       | A=R
        p1       |  a----------------------------
        p2       |    A=R A=R A=R A=R A=R A=R A=R
        run      |                           Q  E",
    ] {
        let verdict = WOKEN.judge(text);
        assert!(!verdict.shows("lost wake-up"), "{verdict:?}{text}");
    }
}

#[test]
fn who_asks_again_and_again_cannot_lose_a_wake_up() {
    let polls = Gallery { checker: &Progress, info: |info| info.run.clients = 1 };
    let verdict = polls.judge(
        "
        p0  | A=R
        p1  |  a----------------------------
        p2  |    A=R A=R A=R A=R A=R A=R",
    );
    assert!(!verdict.shows("lost wake-up"), "{verdict:?}");
}

#[test]
fn a_client_is_refused_and_holds_the_lock() {
    WOKEN.rejects("p0 | a---~ a---~", "phantom holder", 2);
    WOKEN.rejects(
        "
        p0  | a---~
        p1  |     a---------------------------",
        "phantom holder",
        1,
    );
    let verdict = WOKEN.judge("p0 | a---! a---!");
    assert!(verdict.anomalies.is_empty(), "{verdict:?}");
}

#[test]
fn the_ledger_shows_that_a_client_was_refused_and_holds_the_lock() {
    let is_phantom = |store: &str| {
        let verdict = check(&format!("p0    | a---!\np1    |         A==R\nstore | {store}"));
        verdict.shows("phantom holder")
    };
    assert!(is_phantom("  0     x 1  b"));
    assert!(!is_phantom("  0a      1  b"), "it took it back");
    assert!(!is_phantom("  0x      1  b"), "its time was over");
    assert!(!is_phantom("  0       1  b"), "others write it while it stands");
    assert!(!is_phantom("  0     x"), "nobody else had it");
}

/// Returns the time from a holder's death to the next grant of the lock, in tenths of a second.
fn after_death(text: &str) -> Option<u64> {
    let measures = check(text).measures;
    let slowest = measures.iter().find(|m| m.name == "slowest grant after a holder's death")?;
    Some(slowest.value / 100_000_000)
}

#[test]
fn the_time_from_a_death_counts_from_when_somebody_asks_and_to_whom_the_hold_kept_out() {
    let one = "
        p0 | A==X
        p1 |  a-------A=R";
    assert_eq!(after_death(one), Some(6));
    let the_slowest_of_two = "
        p0 | A==X       A==X
        p1 |  a-------A=R a----A=R";
    assert_eq!(after_death(the_slowest_of_two), Some(6));
    let nobody_asked_at_once = "
        p0 | A==X
        p1 |        a---A=R";
    assert_eq!(after_death(nobody_asked_at_once), Some(4));
    let another_reader = "
        p0 | S==X
        p1 |  s-S=R
        p2 |  a------A=R";
    assert_eq!(after_death(another_reader), Some(5));
    assert_eq!(after_death("p0 | A==R\np1 |  a-A=R"), None);
    assert_eq!(after_death("p0 | A==X\np1 |  a-----"), None);
}

#[test]
fn a_lock_that_is_left_taken_is_one_deadlock_whoever_left_it() {
    for text in [
        "
        crash c0 |   [  ]
        p0       | A=X
        p1       | a---------------------------
        run      |       Q                    E",
        "
        p0       | A=r-?
        p1       | a---------------------------
        run      |       Q                    E",
        "
        p0       | A=R
        p2       |   a-?
        p1       |    a------------------------
        run      |       Q                    E",
    ] {
        WOKEN.rejects(text, "deadlock", 1);
    }
}

#[test]
fn whoever_sleeps_while_the_lock_is_freed_and_is_not_woken_keeps_everybody_out() {
    for text in [
        "
        p0  | A=R
        p1  |  a----------------------------
        run |    Q                        E",
        "
        p0  | A===R a----------------------
        p1  |  a---------------------------
        p2  |   a--------------------------
        run |         Q                   E",
        "
        p0  | S=R
        p2  | S===R
        p1  |  a--------------?
        p3  |     a---------------------------
        run |         Q                    E",
    ] {
        WOKEN.rejects(text, "lost wake-up", 1);
    }
    let text = "
        p0  | A=R
        p1  |  a----------------------------
        run |    Q                        E";
    assert_eq!(
        WOKEN.judge(text).anomalies[0].explanation,
        "process 1 asked at 0.100 s; process 0 released at 0.200 s; the run was over at 2.800 s and \
         nobody had been granted the lock; process 1 slept on when the lock was freed: nothing woke \
         it, and it keeps everybody out"
    );
}

#[test]
fn a_lock_that_is_stuck_for_another_reason_has_lost_no_wake_up() {
    for text in [
        // It was woken.
        "
        p0  | A=R
        p1  |  a--n-------------------------
        run |     Q                        E",
        // It asked when the lock was free already.
        "
        p0  | A=R
        p1  |    a--------------------------
        run |     Q                        E",
        // The release freed nothing.
        "
        p0  | A=N
        p1  |  a----------------------------
        run |     Q                        E",
        // The reply to what it asked may have been lost.
        "
        cut c1-s0 |  [ ]
        p0        | A=R
        p1        |  a----------------------------
        run       |     Q                        E",
        // Another may have left something in the store before.
        "
        cut c2-s0 | []
        p0        | A=R
        p1        |  a----------------------------
        run       |     Q                        E",
    ] {
        WOKEN.rejects(text, "deadlock", 1);
    }
    let woken = "
        p0  | A=R
        p1  |  a--nA=R
        p2  |     a----nA=R
        run |     Q                        E";
    expect!["first grant 100 ms after the quiet phase began, 2 grants in the quiet phase"]
        .assert_eq(&WOKEN.accepts(woken));
    let early = "
        p0  | A=R
        p1  |  a----------
        run |     Q      E";
    WOKEN.unclear(early, expect!["nobody was granted the lock, but it was asked for over 700 ms only and may take 1 s to be granted again: a longer quiet phase would tell"]);
}

#[test]
fn a_lock_that_a_phantom_keeps_from_everybody_is_reported_once() {
    WOKEN.rejects(
        "
        p0  | a---~
        p1  |     a------------------------
        run |       Q                     E",
        "phantom holder",
        1,
    );
}

#[test]
fn a_lock_that_is_slow_to_pick_up_is_given_the_time() {
    let text = "
        p0  | A=R
        p1  |   a-------------
        run |    Q            E";
    assert!(check(text).shows("deadlock"));
    let slower = |change: fn(&mut base::RunInfo)| {
        let mut run = picture(text);
        change(&mut run.info);
        judge(&Progress, &run)
    };
    for verdict in [
        slower(|info| info.tick_ns = 400_000_000),
        slower(|info| info.lock.promises.pace.back_off_ns = 200_000_000),
        slower(|info| info.lock.promises.pace.grain_ns = 1_500_000_000),
        slower(|info| {
            info.lock.promises.pace.grain_ns = 1_000_000_000;
            info.lock.promises.pace.grains_more = 1;
        }),
        slower(|info| info.slowest_message_ns = 100_000_000),
        slower(|info| {
            info.run.link_delay_ns = 50_000_000;
            info.lock.promises.pace.round_trips = 2;
        }),
    ] {
        assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:?}");
    }
}

#[test]
fn a_lock_that_was_stuck_until_a_client_was_given_up_was_stuck() {
    let left = "
        p0  | A=R
        p1  |   a------------?
        p2  |    a------------A=R
        p3  |       a-----------A==R
        run |                       Q       E";
    WOKEN.rejects(left, "deadlock", 1);
    let verdict = check(left);
    assert_eq!(verdict.anomalies[0].name, "deadlock", "{verdict:?}");
    // It is not stuck for the whole of its bound, or not without a fault, or nobody asks.
    for text in [
        "
        p0  | A=R
        p1  |   a------?
        p2  |    a------A=R
        p3  |       a-----A==R
        p4  |                         A=R
        run |                       Q       E",
        "
        pause s0 |         []
        p0       | A=R
        p1       |   a------------?
        p2       |    a------------A=R
        p3       |       a-----------A==R
        p4       |                           A=R
        run      |                       Q       E",
        "
        p0  | A=R
        p1  |            a---?
        p2  |             a---A=R
        p4  |                          A=R
        run |                       Q       E",
        // Who asks after a while in which nobody did, and gets it at once, may have had it before.
        "
        p0  | A=R
        p1  |   a----!
        p2  |                 A=R
        p4  |                          A=R
        run |                       Q       E",
    ] {
        let verdict = check(text);
        assert_eq!(verdict.anomalies, [], "{text}");
    }
    // Unless it has to wait for it, or is refused.
    for text in [
        "
        p0  | A=R
        p1  |   a----!
        p2  |         a------A=R
        p4  |                          A=R
        run |                       Q       E",
        "
        p0  | A=R
        p1  |   a----!
        p2  |               a!aA=R
        p4  |                          A=R
        run |                       Q       E",
    ] {
        assert_eq!(check(text).anomalies[0].name, "deadlock", "{text}");
    }
}

/// A reader was killed, and what counts the readers never forgets it.
const WRITERS_SHUT_OUT: &str = "
    crash c1 |    [   ]
    p0       | A=R
    p1       |   S-X
    p2       |     S=R   S=R     S=R      S=R       S=R
    p3       |       a------------------------------------
    p0       |         a----------!     a---------!
    run      |            Q                             E
    ";

fn read_write(text: &str) -> Verdict {
    let mut run = picture(text);
    run.info.lock.promises.shared = true;
    judge(&Progress, &run)
}

#[test]
fn readers_come_and_go_and_no_writer_gets_in() {
    let verdict = read_write(WRITERS_SHUT_OUT);
    assert_eq!(verdict.outcome, Outcome::Violated, "{verdict:?}");
    assert_eq!(verdict.anomalies[0].name, "deadlock");
    expect![[r#"
        no writer was granted the lock in the 3 s after all faults were healed
        process 0 released at 0.200 s; process 3 asked at 0.600 s; the run was over at 4.100 s and no writer had been granted the lock; all faults had been healed for 3 s, and the lock promises to be granted again within 1 s"#]].assert_eq(&format!("{}\n{}", verdict.summary, verdict.anomalies[0].explanation));
    // One writer that gets in, or readers that leave no room, prove nothing.
    let granted = WRITERS_SHUT_OUT.replace("!     a---------!", "!     a----A====R");
    assert_eq!(read_write(&granted).outcome, Outcome::Held);
    let busy = WRITERS_SHUT_OUT
        .replace("S=R   S=R     S=R      S=R       S=R", "S=RS======RS========RS========RS=R");
    assert_eq!(read_write(&busy).outcome, Outcome::Held);
    // One long gap shows as much as many short ones, if nobody died so late that it may be the
    // reason.
    let gap =
        busy.replace("S=RS======RS========RS========RS=R", "S=RS======R         S============");
    assert_eq!(read_write(&gap).outcome, Outcome::Violated);
    let dead = gap.replace("S=RS======R     ", "S=RS======R s-X ");
    assert_eq!(read_write(&dead).outcome, Outcome::Held);
}

/// A client dies with one of two permits, and it stays with it.
const PERMIT_GONE: &str = "
    crash c1 |    [   ]
    p1       | A==X
    p0       | A===R   A====R      A====R      A====R
    p2       |           a---A====R a----A===R  a-----A==
    run      |          Q                                 E
    ";

fn semaphore(text: &str) -> Verdict {
    let mut run = picture(text);
    run.info.lock.promises.permits = 2;
    judge(&Progress, &run)
}

#[test]
fn one_of_two_permits_is_gone() {
    let verdict = semaphore(PERMIT_GONE);
    assert_eq!(verdict.outcome, Outcome::Violated, "{verdict:?}");
    assert_eq!(verdict.anomalies[0].name, "deadlock");
    expect![[r#"
        no more than 1 of 2 permits were held at once in the 3.4 s after all faults were healed
        process 1 was killed at 0.300 s; process 2 asked at 1.000 s; the run was over at 4.300 s and no more than 1 of 2 permits had been held at once; all faults had been healed for 3.4 s, and the lock promises to be granted again within 1 s"#]].assert_eq(&format!("{}\n{}", verdict.summary, verdict.anomalies[0].explanation));
    // All permits once, or holds that are too short to meet, prove nothing.
    let all = PERMIT_GONE.replace("A====R      A====R\n", "A======R    A====R\n");
    assert_eq!(semaphore(&all).outcome, Outcome::Held);
    let short = PERMIT_GONE.replace("A====R", "AR    ").replace("A===R a", "AR    a");
    assert_eq!(semaphore(&short).outcome, Outcome::Held);
}

#[test]
fn a_death_keeps_a_lock_for_no_longer_than_was_promised() {
    let judged = |text: &str| {
        let mut run = picture(text);
        run.info.quiet_ns = 3_000_000_000;
        judge(&Progress, &run).outcome
    };
    let text = "
        crash c0 |   []
        p0       | A=X
        p1       |   a------------A==R a==A=R
        run      |                      Q                             E";
    assert_eq!(judged(text), Outcome::Violated);
    assert_eq!(judged(&text.replace("------------A", "--------A    ")), Outcome::Held);
    // A server that was down has a quiet phase's time to be ready again.
    assert_eq!(judged(&(text.to_owned() + "\n        crash s0 |   []")), Outcome::Held);
}
