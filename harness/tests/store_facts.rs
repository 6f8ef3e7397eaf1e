//! What the store said stands in the history, of every lock.

use base::{Event, F, Facts, Kind, Removed, Run};
use picklock::setup::{Options, Setup};
use picklock::simulate;

fn run(algo: &str) -> Run {
    let setup = Setup::new(Options::new(algo, "none", 5)).unwrap_or_else(|error| panic!("{error}"));
    simulate::run(&setup).expect("the simulator runs")
}

fn ok(run: &Run, f: F) -> impl Iterator<Item = &Event> {
    run.history.events().iter().filter(move |event| event.f == f && event.kind == Kind::Ok)
}

fn facts(event: &Event) -> &Facts {
    event.facts.as_deref().unwrap_or_else(|| panic!("no facts: {event:?}"))
}

#[test]
fn every_release_says_what_it_removed() {
    for lock in workloads::LOCKS {
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
        let (asked, expires) = (facts(grant).asked, facts(grant).expires);
        assert!(asked.is_some_and(|at| at < grant.time), "{grant:?}");
        assert_eq!(expires, asked.map(|at| at + run.info.ttl), "{grant:?}");
    }
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
