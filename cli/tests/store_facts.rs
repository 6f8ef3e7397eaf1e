//! The store's facts stand in the history, of every lock.

use base::{Event, F, Facts, Kind, Removed, Run};
use expect_test::expect;
use picklock::setup::Setup;
use picklock::simulate;
use std::collections::BTreeSet;

fn run(algo: &str) -> Run {
    let lock = workloads::lock(algo).expect("a lock of the list");
    let setup =
        Setup::new(&lock, lock.info.run("none", 5)).unwrap_or_else(|error| panic!("{error}"));
    simulate::run(&setup).expect("the simulator runs")
}

fn ok(run: &Run, f: F) -> impl Iterator<Item = &Event> {
    run.history.events().iter().filter(move |event| event.f == f && event.kind == Kind::Ok)
}

fn facts(event: &Event) -> &Facts {
    event.facts.as_deref().unwrap_or_else(|| panic!("no facts: {event:?}"))
}

/// The locks without releases that succeed: nobody ever gets the first, and nobody can free the
/// others.
const NEVER_RELEASED: [&str; 3] =
    ["redis-lock-class-as-printed", "redis-set-nx-px-lua-as-printed", "memcached-add-as-printed"];

#[test]
fn every_release_says_what_it_removed() {
    for lock in workloads::LOCKS {
        if NEVER_RELEASED.contains(&lock.name) {
            assert_eq!(ok(&run(lock.name), F::Release).count(), 0, "{}", lock.name);
            continue;
        }
        let run = run(lock.name);
        assert!(ok(&run, F::Release).count() > 10, "{}", lock.name);
        let silent = ok(&run, F::Release).find(|event| facts(event).removed.is_none());
        assert_eq!(silent, None, "{}", lock.name);
    }
}

#[test]
fn a_bare_del_looks_at_nobody_and_a_comparison_does() {
    let whose = |algo: &str| facts(ok(&run(algo), F::Release).next().expect("released")).removed;
    assert_eq!(whose("redis-setnx-expire"), Some(Removed::Any));
    assert_eq!(whose("redis-set-nx-px"), Some(Removed::Own));
    assert_eq!(whose("zk-exclusive"), Some(Removed::Own));
}

#[test]
fn a_grant_with_a_ttl_was_asked_for_before_and_runs_out_after_its_answer() {
    let run = run("redis-set-nx-px");
    for grant in ok(&run, F::Acquire) {
        let (asked, expires) = (facts(grant).asked_ns, facts(grant).expires_ns);
        assert!(asked.is_some_and(|at| at < grant.time_ns), "{grant:?}");
        assert_eq!(expires, asked.map(|at| at + run.info.run.ttl_ns), "{grant:?}");
    }
}

#[test]
fn a_lock_may_say_itself_how_long_it_lives() {
    let run = run("redis-set-nx-px-threadid-as-printed");
    for grant in ok(&run, F::Acquire) {
        let (asked, expires) = (facts(grant).asked_ns, facts(grant).expires_ns);
        assert_eq!(expires, asked.map(|at| at + 30_000_000), "{grant:?}");
    }
}

#[test]
fn the_token_of_a_queue_grows_with_every_grant() {
    let run = run("zk-sequential-fenced");
    let tokens: Vec<u64> = ok(&run, F::Acquire).filter_map(|grant| grant.token).collect();
    assert_eq!(tokens.len(), ok(&run, F::Acquire).count());
    assert!(tokens.is_sorted_by(|earlier, later| earlier < later), "{tokens:?}");
}

#[test]
fn a_script_that_does_not_compile_fails_with_the_words_of_the_server() {
    let run = run("redis-set-nx-px-lua-as-printed");
    let failed = |event: &&Event| event.f == F::Release && event.kind == Kind::Fail;
    let failures: Vec<_> = run.history.events().iter().filter(failed).collect();
    assert!(failures.len() > 5, "{failures:?}");
    let errors = failures.iter().map(|event| event.error.as_deref().unwrap_or_default());
    let errors: Vec<&str> = BTreeSet::from_iter(errors).into_iter().collect();
    expect!["ERR Error compiling script (new function): user_script:1: '=' expected near '0'"]
        .assert_eq(&errors.join("\n"));
}

#[test]
fn a_grant_of_a_queue_has_its_place_and_who_waited_was_woken() {
    for algo in ["zk-sequential", "zk-rw"] {
        let run = run(algo);
        assert!(ok(&run, F::Acquire).all(|grant| facts(grant).place.is_some()));
        let woken = run.history.events().iter().filter(|event| event.f == F::Notified).count();
        assert!(woken > 10, "{algo}: {woken}");
    }
}
