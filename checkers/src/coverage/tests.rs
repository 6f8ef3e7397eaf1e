//! Pictures of runs that could have failed, and of runs that could not.

use super::Coverage;
use crate::picture::picture;
use crate::{Case, Checker};
use base::{
    Action, ClockChange, Effect, Fault, FaultEvent, History, Node, Outcome, Run, ScriptedFault,
    Verdict,
};
use expect_test::{Expect, expect};

/// A run of a lock for one holder at a time.
fn mutex(text: &str) -> Run {
    let mut run = picture(text);
    run.info.lock.promises.shared = false;
    run
}

fn covered(run: &Run) -> String {
    let verdict = Coverage.check(&Case::of(run));
    assert_eq!(verdict.outcome, Outcome::Held, "{verdict:?}");
    verdict.summary
}

fn misses(run: &Run, expected: Expect) {
    let Verdict { outcome, summary, .. } = Coverage.check(&Case::of(run));
    assert_eq!(outcome, Outcome::Inconclusive, "{summary}");
    expected.assert_eq(&summary);
}

const BUSY: &str = "
    p0 | A=RA=RA=RA=RA=RA=R
    p1 | a-------A=R    a--A=RA=RA=R";

/// The busy run with more rows.
fn busy(rows: &str) -> Run {
    mutex(&format!("{BUSY}\n{rows}"))
}

/// Changes the faults of a run.
fn change_faults(run: &mut Run, change: impl Fn(&mut FaultEvent)) {
    let mut events = run.history.events().to_vec();
    events.iter_mut().filter_map(|event| event.fault.as_mut()).for_each(|about| change(about));
    run.history = History::default();
    for event in events {
        run.history.push(event);
    }
}

#[test]
fn contention_and_grants_are_enough_without_faults() {
    assert_eq!(covered(&busy("")), "10 grants by 2 processes, 5 contended");
}

#[test]
fn a_fault_that_bit_and_a_grant_after_it() {
    let run = busy(
        "
    pause c0 |  [          ]
    pause c4 |     [ ]
    run      |                Q            E",
    );
    assert_eq!(
        covered(&run),
        "10 grants by 2 processes, 5 contended; 1 of 2 faults could have done harm while the \
         lock was held or wanted; first grant 300 ms after the heal"
    );
}

#[test]
fn a_fault_among_servers_bites_whoever_uses_the_lock() {
    covered(&busy("cut s0-s1 |  [ ]\nrun |                Q            E"));
}

#[test]
fn a_kill_bites_whoever_asks() {
    let run = busy(
        "
    crash c2 |     [  ]
    p2       | a---X
    run      |                Q            E",
    );
    expect!["10 grants by 2 processes, 5 contended; 1 of 1 fault could have done harm while the lock was held or wanted; first grant 100 ms after the heal"].assert_eq(&covered(&run));
}

#[test]
fn a_kill_bites_whoever_frees() {
    let run = busy(
        "
    crash c2 |         [  ]
    p2       |     A==r  X
    run      |                Q            E",
    );
    expect!["11 grants by 3 processes, 6 contended; 1 of 1 fault could have done harm while the lock was held or wanted; first grant 100 ms after the heal"].assert_eq(&covered(&run));
    let later = busy(
        "
    crash c2 |         [  ]
    p2       |     A==R  X
    run      |                Q            E",
    );
    misses(
        &later,
        expect![
            "no fault had an effect while the lock was held or wanted (11 grants by 3 processes, 6 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 100 ms after the heal)"
        ],
    );
}

#[test]
fn those_contend_for_whom_too_few_permits_are_left() {
    let semaphore = |text: &str, permits: u32| {
        let mut run = picture(text);
        (run.info.lock.promises.permits, run.info.lock.promises.shared) = (permits, false);
        run
    };
    misses(
        &semaphore(BUSY, 2),
        expect!["nobody had to wait for anybody (10 grants by 2 processes, 0 contended)"],
    );
    let summary = covered(&semaphore(&BUSY.replace("p1 ", "p1*2 "), 2));
    expect!["10 grants by 2 processes, 5 contended"].assert_eq(&summary);
    misses(
        &semaphore(&BUSY.replace("p1 ", "p1*2 "), 3),
        expect!["nobody had to wait for anybody (10 grants by 2 processes, 0 contended)"],
    );
}

#[test]
fn readers_contend_with_writers() {
    let mut run = picture(&BUSY.replacen('A', "S", 3));
    expect!["10 grants by 2 processes, 5 contended"].assert_eq(&covered(&run));
    run = picture(BUSY);
    misses(
        &run,
        expect!["no reader contended with a writer (10 grants by 2 processes, 5 contended)"],
    );
    // Readers among themselves do not contend at all.
    let readers = picture(&BUSY.replace('A', "S").replace('a', "s"));
    misses(
        &readers,
        expect![
            "nobody had to wait for anybody; no reader contended with a writer (10 grants by 2 processes, 0 contended)"
        ],
    );
}

#[test]
fn it_is_the_same_who_of_a_reader_and_a_writer_was_first() {
    let writer_waits = "
        p0 | S===R         A=RA=RA=RA=RA=R
        p1 |  a----A=RA=R                 A=RA=RA=R";
    let reader_waits = "
        p0 | A===R         A=RA=RA=RA=RA=R
        p1 |  s----S=RS=R                 S=RS=RS=R";
    for text in [writer_waits, reader_waits] {
        assert_eq!(covered(&picture(text)), "11 grants by 2 processes, 1 contended");
    }
}

#[test]
fn a_run_without_contention() {
    misses(
        &mutex("p0 | ARARARARAR\np1 |            ARARARARAR"),
        expect!["nobody had to wait for anybody (10 grants by 2 processes, 0 contended)"],
    );
}

#[test]
fn a_run_with_few_grants_or_one_client() {
    misses(
        &mutex("p0 | A=RA=R\np1 | a----A=R"),
        expect!["fewer than 10 grants (3 grants by 2 processes, 2 contended)"],
    );
    misses(
        &mutex("p0 | ARARARARARARARARARAR\np1 | a!a!a!a!a!a!"),
        expect!["fewer than 2 processes got the lock (10 grants by 1 process, 0 contended)"],
    );
}

#[test]
fn a_fault_without_effect_or_while_nobody_cared() {
    let after = "run |                Q            E";
    misses(
        &busy(&format!("pause c0 |  [ }}\n{after}")),
        expect![
            "no fault had an effect while the lock was held or wanted (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 300 ms after the heal)"
        ],
    );
    misses(
        &busy(&format!("pause c4 |  [ ]\n{after}")),
        expect![
            "no fault had an effect while the lock was held or wanted (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 300 ms after the heal)"
        ],
    );
    // Its client is there, but between its own requests.
    misses(
        &busy(&format!("pause c1 |             [ ]\n{after}")),
        expect![
            "no fault had an effect while the lock was held or wanted (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 100 ms after the heal)"
        ],
    );
}

#[test]
fn a_nemesis_that_did_nothing() {
    let mut run = busy("run |                Q            E");
    run.info.run.nemesis = "pause".into();
    run.info.run.time_limit_ns = 6_000_000_000;
    misses(
        &run,
        expect![
            "no fault came that could end within 6 s, with a ttl of 1 s (10 grants by 2 processes, 5 contended; 0 of 0 faults could have done harm while the lock was held or wanted; first grant 300 ms after the quiet phase began)"
        ],
    );
}

#[test]
fn a_pause_shorter_than_what_is_left_of_a_grant() {
    let paused =
        |pause: &str| busy(&format!("pause c0 |{pause}\nrun |                Q            E"));
    // Its grant was 100 ms old.
    misses(
        &paused("  [    ]"),
        expect![
            "no fault went far enough to do harm: client 0 paused for 500 ms; it takes 900 ms (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 200 ms after the heal)"
        ],
    );
    covered(&paused("  [        ]"));
    // Whoever asks for shorter faults gets what was asked for.
    let mut run = paused("  [    ]");
    run.info.run.fault_scale_ns = Some(400_000_000);
    covered(&run);
    // What is renewed has two thirds of a life before it, however old it is.
    let mut run = paused("  [    ]");
    run.info.lock.longest_hold_permille = 1_000;
    misses(
        &run,
        expect![
            "no fault went far enough to do harm: client 0 paused for 500 ms; it takes 667 ms (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 200 ms after the heal)"
        ],
    );
}

#[test]
fn a_pause_of_a_server_shorter_than_a_call() {
    let after = "run |                Q            E";
    covered(&busy(&format!("pause s0 |  [ ]\n{after}")));
    let mut run = busy(&format!("pause s0 |  [ ]\n{after}"));
    run.info.run.ttl_ns = 4_000_000_000;
    misses(
        &run,
        expect![
            "no fault went far enough to do harm: server 0 paused for 200 ms; it takes 500 ms (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 300 ms after the heal)"
        ],
    );
}

#[test]
fn a_clock_that_is_wrong_by_less_than_the_longest_hold_leaves() {
    let wrong_by = |millis: u64| {
        let mut run = busy("pause s0 |  [ ]\nrun |                Q            E");
        run.info.lock.longest_hold_permille = 600;
        let jump = Action::Clock(ClockChange::Jump(millis as i64 * 1_000_000));
        change_faults(&mut run, |about| {
            about.fault = Fault::at(Node::Server(0), jump);
            about.effect = about.effect.take().map(|it| Effect { amount: millis * 1_000, ..it });
        });
        run
    };
    misses(
        &wrong_by(300),
        expect![
            "no fault went far enough to do harm: clock of server 0 jumped 0.300 s ahead, wrong by 300 ms; it takes 400 ms (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 300 ms after the heal)"
        ],
    );
    covered(&wrong_by(500));
}

#[test]
fn nothing_was_granted_after_the_heal() {
    misses(
        &busy("pause c0 |  [ ]\nrun |                              Q  E"),
        expect![
            "no fault went far enough to do harm: client 0 paused for 200 ms; it takes 900 ms; nothing was granted in the quiet phase (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 300 ms after the heal)"
        ],
    );
    misses(
        &busy("pause c0 |  [ ]"),
        expect![
            "no fault went far enough to do harm: client 0 paused for 200 ms; it takes 900 ms; the run ended before its faults were healed (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted)"
        ],
    );
}

#[test]
fn advice_fits_what_is_missing() {
    let advice = |run: &Run| Coverage.check(&Case::of(run)).advice;
    let mut alone = mutex("p0 | ARARARARARARARARARARAR");
    alone.info.run.clients = 1;
    assert_eq!(advice(&alone), ["more --clients"]);
    misses(&alone, expect!["one client alone has no rival (11 grants by 1 process, 0 contended)"]);
    assert_eq!(advice(&mutex("p0 | A=RA=R\np1 | a----A=R")), ["a longer --time-limit"]);
    let short = mutex("pause c0 |  []\np0 | A===RA=R\np1 | a-------A=R");
    assert_eq!(advice(&short), ["a longer --time-limit or a shorter --ttl"]);
    let apart = mutex("p0 | ARARARARAR\np1 |            ARARARARAR");
    assert_eq!(advice(&apart), ["more --clients, a longer --hold or fewer --keys"]);
    assert!(advice(&busy("")).is_empty());
}

#[test]
fn a_fault_of_the_script_that_never_came_or_did_nothing() {
    let scripted = |picture: &str, line| {
        let mut run = busy(&format!("{picture}\nrun |                Q            E"));
        run.info.script = vec![ScriptedFault { line: 3, what: "pause holder".into() }];
        change_faults(&mut run, |about| about.line = Some(line));
        run
    };
    let came = scripted("pause c0 |  [          ]", 3);
    assert_eq!(Coverage.check(&Case::of(&came)).outcome, Outcome::Held);
    misses(
        &scripted("pause c0 |  [ ]", 7),
        expect![
            "no fault went far enough to do harm: client 0 paused for 200 ms; it takes 900 ms; the fault in line 3 of the script, pause holder, never came (10 grants by 2 processes, 5 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 300 ms after the heal)"
        ],
    );
    misses(
        &scripted("pause c0 |  [ }\npause c1 |  [ ]", 3),
        expect![
            "no fault went far enough to do harm: client 1 paused for 200 ms; it takes 1 s; the fault in line 3 of the script, pause holder, had no effect (10 grants by 2 processes, 5 contended; 0 of 2 faults could have done harm while the lock was held or wanted; first grant 300 ms after the heal)"
        ],
    );
}

#[test]
fn the_loss_of_data_matters_to_whoever_held_the_lock_until_the_server_was_back() {
    let run = "
    wipe s0  |  [  ]
    run      |                Q            E
    p2       |                 A=R";
    misses(
        &busy(run),
        expect![
            "no fault went far enough to do harm: server 0 crashed, data lost, and nobody held the lock from then until it was back (11 grants by 3 processes, 6 contended; 0 of 1 fault could have done harm while the lock was held or wanted; first grant 200 ms after the heal)"
        ],
    );
    let held = mutex(&format!(
        "{}\n{run}\n    p3       |  A=R A=R",
        BUSY.replace("A=RA=RA=R", "A======RA=R")
    ));
    expect!["10 grants by 4 processes, 7 contended; 1 of 1 fault could have done harm while the lock was held or wanted; first grant 100 ms after the heal"].assert_eq(&covered(&held));
    // Its tokens may go back whoever holds it.
    let mut fenced = busy(run);
    fenced.info.lock.promises.fenced = true;
    expect!["11 grants by 3 processes, 6 contended; 1 of 1 fault could have done harm while the lock was held or wanted; first grant 200 ms after the heal"].assert_eq(&covered(&fenced));
}
