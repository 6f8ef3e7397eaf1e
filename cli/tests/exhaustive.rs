//! Exhaustive enumeration: spaces that are known to be clean or broken, the reduction held against
//! the enumeration without it, and the counterexamples held against the checkers.

use base::{Cause, Causes};
use checkers::Judgement;
use expect_test::expect;
use picklock::exhaustive::{Enumerated, Enumeration, Finding, Found};
use sim::exhaustive::{EnumerationCase, FaultKind, Sign};
use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A number larger than any space here.
const MOST: u64 = 1_000_000;

fn lock(name: &str) -> Enumeration {
    Enumeration::new(workloads::lock(name).expect("a lock of the catalogue"))
}

fn fault(kind: FaultKind) -> impl FnOnce(&mut EnumerationCase) {
    move |case| (case.faults, case.kinds) = (1, vec![kind])
}

fn search(enumeration: &Enumeration) -> Found {
    enumeration.search(MOST, &mut |_| true)
}

/// Returns the anomalies that were found, each with its cause.
fn anomalies(found: &Found) -> BTreeSet<(String, Causes)> {
    found.findings.iter().map(|f| (f.anomaly.clone(), f.cause)).collect()
}

/// The names alone.
fn names(found: &Found) -> BTreeSet<&str> {
    found.findings.iter().map(|finding| finding.anomaly.as_str()).collect()
}

#[track_caller]
fn clean(enumeration: &Enumeration) {
    let found = search(enumeration);
    assert!(found.extent.exhausted, "{:?}", enumeration.case());
    assert_eq!(found.findings, [], "{:?}", enumeration.case());
    assert!(found.extent.states > 20 && found.extent.schedules > 1, "{found:?}");
}

/// The locks that live as long as a connection.
const ON_CONNECTION: [&str; 3] = ["postgres-advisory", "postgres-advisory-xact", "postgres-row"];

#[test]
fn correct_locks_break_in_no_schedule() {
    for name in ["redis-set-nx-px", "redis-set-nx-px-fenced"] {
        clean(&lock(name).with(|case| case.unlimited = true));
        clean(&lock(name).with(|case| case.clients = 3));
        clean(&lock(name).with(|case| case.cycles = 2));
    }
    for name in ["zk-exclusive", "zk-sequential", "zk-rw"].into_iter().chain(ON_CONNECTION) {
        clean(&lock(name));
    }
}

#[test]
fn correct_locks_survive_a_crash_and_a_lost_connection_anywhere() {
    for kind in [FaultKind::Crash, FaultKind::Reset] {
        clean(&lock("redis-set-nx-px").with(fault(kind)));
        clean(&lock("zk-exclusive").with(fault(kind)));
    }
    for name in ["zk-sequential"].into_iter().chain(ON_CONNECTION) {
        clean(&lock(name).with(fault(FaultKind::Crash)));
    }
}

/// Its server may hear of that before its client does.
#[test]
fn a_lock_on_a_connection_goes_with_it() {
    for name in ON_CONNECTION {
        let lost = lock(name).with(fault(FaultKind::Reset));
        let lines = breaks(&lost, "double hold", Cause::HolderCutOff);
        assert!(
            lines.iter().any(|line| line == "the connection of client 0 is lost"),
            "{lines:#?}"
        );
    }
}

fn two_faults(kinds: &[FaultKind]) -> impl FnOnce(&mut EnumerationCase) {
    let kinds = kinds.to_vec();
    move |case| (case.faults, case.kinds) = (2, kinds)
}

/// The second time a client library connects again only after a pause.
#[test]
fn correct_locks_survive_two_lost_connections_anywhere() {
    for name in ["redis-set-nx-px", "zk-exclusive", "zk-sequential"] {
        clean(&lock(name).with(two_faults(&[FaultKind::Reset])));
    }
}

/// Beliefs overlap where a session ends while its client sleeps, but nobody waits for ever.
#[test]
fn whatever_two_faults_hit_a_lock_on_sessions_nobody_waits_for_ever() {
    let found = search(&lock("zk-exclusive").with(|case| case.faults = 2));
    assert!(found.extent.exhausted, "{found:?}");
    let overlaps = ["double hold", "lost update", "stale write accepted"];
    assert_eq!(names(&found), BTreeSet::from(overlaps));
    let slept = |finding: &Finding| finding.cause == Cause::HolderPaused.into();
    assert!(found.findings.iter().all(slept), "{found:?}");
}

/// An anomaly by its cause, which is known of its lock; its shortest schedule replays to the same.
#[track_caller]
fn breaks(enumeration: &Enumeration, anomaly: &str, cause: Cause) -> Vec<String> {
    let found = search(enumeration);
    let is_it = |finding: &&Finding| finding.anomaly == anomaly && finding.cause == cause.into();
    let finding = found.findings.iter().find(is_it);
    let finding = finding.unwrap_or_else(|| panic!("{anomaly}: {:#?}", found.findings));
    assert!(finding.known.is_some(), "{finding:?}");
    let (story, signs) = enumeration.replay(&finding.schedule).expect("it replays");
    let again = signs.into_iter().flat_map(|sign| enumeration.judge(sign, &story));
    let mut again = again.filter(|again| again.anomaly == anomaly && again.cause == cause.into());
    assert!(again.next().is_some(), "{anomaly}");
    assert!(finding.schedule.len() < 60 && story.lines.len() < 30, "{:#?}", story.lines);
    story.lines
}

#[test]
fn the_scheduler_alone_breaks_the_lock_as_printed() {
    let printed = lock("zk-rw-as-printed");
    let h27 = breaks(&printed, "reader-writer overlap", Cause::Recipe);
    expect!["  while client 0 holds it as well"].assert_eq(h27.last().unwrap());
    let h28 = breaks(&printed, "lost wake-up", Cause::Recipe);
    assert!(h28.iter().any(|line| line.contains("fires: Deleted")), "{h28:#?}");
    let h31 =
        breaks(&printed.clone().with(|case| case.keys = 2), "waits for another key", Cause::Recipe);
    assert!(h31.iter().any(|line| line.contains("exists")), "{h31:#?}");
    // With keys of their own, a lock without this mistake is independent.
    clean(&lock("zk-rw").with(|case| case.keys = 2));
}

#[test]
fn one_crash_between_two_commands_is_a_deadlock() {
    let h2 = lock("redis-setnx-expire").with(fault(FaultKind::Crash));
    let lines = breaks(&h2, "deadlock", Cause::ClientDied);
    assert!(lines.iter().any(|line| line.ends_with(" dies")), "{lines:#?}");
}

/// One fault anywhere, or none, and the shortest way to what the catalogue says of each recipe.
#[test]
fn the_naive_recipes_break_as_their_hazards_say() {
    let h5 = lock("redis-set-nx-px-getdel").with(fault(FaultKind::Expire));
    let lines = breaks(&h5, "foreign release", Cause::RanOutWhileReleasing);
    let freed = "which frees the lock that client 0 holds";
    assert!(lines.iter().any(|line| line.contains(freed)), "{lines:#?}");

    let h17 = lock("redis-timestamp-del").with(fault(FaultKind::Crash));
    let lines = breaks(&h17.with(|case| case.clients = 3), "double hold", Cause::Recovery);
    assert!(lines.iter().filter(|line| line.contains("DEL lock:k0")).count() > 1, "{lines:#?}");

    let h20 = breaks(&lock("zk-exclusive-naive"), "lost wake-up", Cause::Recipe);
    expect!["server, for client 0: exists /lock-k0, watched → no"].assert_eq(h20.last().unwrap());

    let h23 = lock("zk-sequential-naive").with(fault(FaultKind::Reset));
    let lines = breaks(&h23, "deadlock", Cause::ReplyLost);
    let lost = "is lost, but not its last request";
    assert!(lines.iter().any(|line| line.contains(lost)), "{lines:#?}");
}

/// A client that asks nobody any more, because its session is over, does not keep an enumeration
/// from its end.
#[test]
fn a_client_that_sleeps_for_ever_is_a_deadlock() {
    let printed = || lock("zk-exclusive-as-printed");
    for kind in [FaultKind::Crash, FaultKind::Expire, FaultKind::Reset] {
        assert!(search(&printed().with(fault(kind))).extent.exhausted, "{kind:?}");
    }
    let h42 = printed().with(fault(FaultKind::Expire));
    let lines = breaks(&h42, "deadlock", Cause::HolderPaused);
    expect!["client 1 has waited long enough"].assert_eq(lines.last().unwrap());
    breaks(&printed().with(fault(FaultKind::Reset)), "deadlock", Cause::ReplyLost);
}

#[test]
fn a_ttl_that_runs_out_is_a_double_hold_unless_the_vault_is_fenced() {
    let plain = lock("redis-set-nx-px").with(fault(FaultKind::Expire));
    breaks(&plain, "double hold", Cause::HolderPaused);
    breaks(&plain, "lost update", Cause::HolderPaused);
    let fenced = search(&lock("redis-set-nx-px-fenced").with(fault(FaultKind::Expire)));
    // Beliefs overlap all the same.
    assert_eq!(names(&fenced), BTreeSet::from(["double hold"]));
}

/// Everything that is left out as equivalent is equivalent: without the reduction the same is
/// broken, and without a fault the last states are as many.
#[test]
fn the_reduction_loses_nothing() {
    let without = |_: &mut EnumerationCase| {};
    let cases: Vec<Enumeration> = vec![
        lock("redis-set-nx-px").with(without),
        lock("redis-set-nx-px").with(fault(FaultKind::Crash)),
        lock("redis-set-nx-px").with(fault(FaultKind::Expire)),
        lock("redis-set-nx-px").with(fault(FaultKind::Reset)),
        lock("redis-set-nx-px").with(|case| case.cycles = 2),
        lock("redis-set-nx-px").with(|case| case.clients = 3),
        lock("redis-setnx-expire").with(fault(FaultKind::Crash)),
        lock("redis-setnx-expire").with(fault(FaultKind::Reset)),
        lock("redis-setnx-expire").with(fault(FaultKind::Expire)),
        lock("redis-getset").with(without),
        lock("redis-getset").with(fault(FaultKind::Expire)),
        lock("zk-exclusive").with(without),
        lock("zk-exclusive").with(fault(FaultKind::Crash)),
        lock("zk-exclusive").with(fault(FaultKind::Expire)),
        lock("zk-exclusive").with(fault(FaultKind::Reset)),
        lock("zk-sequential").with(without),
        lock("zk-rw").with(without),
        lock("zk-rw-as-printed").with(without),
        lock("zk-rw-as-printed").with(|case| case.keys = 2),
        lock("zk-rw-as-printed").with(fault(FaultKind::Crash)),
    ];
    for enumeration in cases {
        let reduced = search(&enumeration);
        let whole = search(&enumeration.clone().unreduced());
        let case = enumeration.case();
        assert!(reduced.extent.exhausted && whole.extent.exhausted, "{case:?}");
        assert_eq!(anomalies(&reduced), anomalies(&whole), "{case:?}");
        assert!(reduced.extent.states <= whole.extent.states, "{case:?}");
        if case.faults == 0 {
            assert_eq!(reduced.extent.ends, whole.extent.ends, "{case:?}");
        }
        assert!(reduced.extent.schedules <= whole.extent.schedules, "{case:?}");
    }
}

/// Merging equal states loses nothing, and the signs are those of what the checkers see: of every
/// single schedule both say the same, and all of them together break what the search says, by the
/// same causes.
#[test]
fn every_schedule_judged_by_itself_breaks_the_same() {
    const JUDGED: [(Sign, &str); 3] = [
        (Sign::Overlap, "exclusion"),
        (Sign::StaleWrite, "stale write accepted"),
        (Sign::LostUpdate, "lost update"),
    ];
    let cases = [
        lock("redis-set-nx-px"),
        lock("redis-set-nx-px").unreduced(),
        lock("redis-set-nx-px").with(fault(FaultKind::Crash)),
        lock("redis-set-nx-px").with(fault(FaultKind::Expire)),
        lock("redis-set-nx-px-fenced").with(fault(FaultKind::Expire)),
        lock("redis-setnx-expire").with(fault(FaultKind::Reset)),
        lock("zk-exclusive"),
        lock("zk-sequential"),
        lock("zk-rw-as-printed"),
    ];
    for enumeration in cases {
        let case = enumeration.case();
        let found = search(&enumeration);
        let mut all = BTreeSet::new();
        let mut schedules = 0;
        enumeration.walk(&mut |story, signs| {
            schedules += 1;
            let judged = Judgement::of(&enumeration.run(story, Duration::ZERO)).verdicts;
            for (sign, name) in JUDGED {
                let fits =
                    |v: &base::Verdict, a: &base::Anomaly| v.property == name || a.name == name;
                let seen = judged.iter().flat_map(|v| v.anomalies.iter().map(move |a| (v, a)));
                let seen: Vec<_> = seen.filter(|(v, a)| fits(v, a)).map(|(_, a)| a).collect();
                assert_eq!(!seen.is_empty(), signs.contains(&sign), "{name}: {:#?}", story.lines);
                all.extend(seen.iter().map(|anomaly| (anomaly.name.clone(), anomaly.cause)));
            }
        });
        let mut found_all = anomalies(&found);
        found_all
            .retain(|(name, _)| ["deadlock", "lost wake-up"].iter().all(|stuck| name != stuck));
        assert_eq!(all, found_all, "{case:?}");
        assert_eq!(schedules, found.extent.schedules, "{case:?}");
    }
}

#[test]
fn a_bound_is_reported_and_a_search_is_the_same_twice() {
    let enumeration = lock("zk-rw").with(|case| case.clients = 3);
    let found = enumeration.search(500, &mut |_| true);
    assert!(!found.extent.exhausted && found.extent.states > 500, "{found:?}");
    let again = lock("zk-rw-as-printed");
    assert_eq!(search(&again), search(&again));
}

#[test]
fn a_schedule_that_cannot_be_is_refused_at_its_step() {
    let enumeration = lock("redis-set-nx-px");
    let schedule = ["begin 0 exclusive", "leave 0"].map(|step| step.parse().expect("a step"));
    assert_eq!(enumeration.replay(&schedule).map(|_| ()), Err(1));
}

fn picklock(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args(args.split(' ')).stdin(Stdio::null()).output().expect("picklock starts")
}

#[test]
fn the_command_says_it_in_words_and_in_json() {
    let output = picklock("explore --exhaustive --algo redis-set-nx-px --ttl unlimited");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{text}");
    expect!["HELD: the space is exhausted, and no schedule breaks a promise"]
        .assert_eq(text.lines().last().unwrap());

    let output = picklock("explore --exhaustive --algo zk-rw-as-printed --format json");
    assert_eq!(output.status.code(), Some(1));
    let stored: Enumerated = serde_json::from_slice(&output.stdout).expect("an enumeration");
    assert_eq!(stored.found, search(&lock("zk-rw-as-printed")));

    let output = picklock("explore --exhaustive --algo zk-rw --clients 3 --states 100");
    assert_eq!(output.status.code(), Some(2));
}
