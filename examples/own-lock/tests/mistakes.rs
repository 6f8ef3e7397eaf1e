//! Planted mistakes: each is found, shrunk, kept, and replayed byte for byte.

mod tested;

use own_lock::mistakes::{acquire_again, keep_anyones, off_by_one, release_anyones};
use picklock::{AcquireError, Grant, Lab, Lock, Mode, Nemesis, ReleaseError, Removed};
use std::fs;
use std::time::Duration;
use tested::{Kept, Majority, One, freed, granted};

const TTL: Duration = Duration::from_secs(2);

/// Searches for a mistake, which is shrunk and kept. From then on the kept schedule is run first,
/// and has the same story and the same picture each time.
fn is_found_and_replayed(anomaly: &str, lab: impl Fn() -> Lab) {
    lab().ttl(TTL).assert_violated(anomaly);
    let replayed = || {
        let outcome = lab().ttl(TTL).check().expect("it runs");
        assert_eq!(outcome.schedules, 1);
        let found = outcome.counterexample.expect("a counterexample");
        let picture = fs::read(found.report.expect("a page")).expect("it is there");
        let schedule = fs::read(found.schedule.expect("a file")).expect("it is there");
        (found.anomaly, found.story, picture, schedule)
    };
    let (first, second) = (replayed(), replayed());
    assert!(first.0.starts_with(anomaly), "{}", first.0);
    assert!(first == second, "{}\n{}", first.1, second.1);
}

struct ReleasesAnyones(One);

impl Lock for ReleasesAnyones {
    async fn acquire(&mut self, mode: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        Lock::acquire(&mut self.0, mode, patience).await
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        freed(release_anyones(&self.0.lock, &mut self.0.connection).await, Removed::Any)
    }
}

#[test]
fn a_release_that_does_not_compare_frees_the_lock_of_another() {
    is_found_and_replayed("double hold by foreign-release", || {
        Lab::redis().lock(|site| ReleasesAnyones(One::new(site))).under([Nemesis::PauseClient])
    });
}

struct AcquiresAgain(One);

impl Lock for AcquiresAgain {
    async fn acquire(&mut self, _: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        granted(acquire_again(&self.0.lock, &mut self.0.connection, patience).await)
    }

    async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
        Lock::release(&mut self.0, grant).await
    }
}

#[test]
fn an_acquire_that_tries_again_after_an_error_leaves_the_lock_to_nobody() {
    is_found_and_replayed("phantom holder", || {
        Lab::redis().lock(|site| AcquiresAgain(One::new(site))).under([Nemesis::LinkLoseReply])
    });
}

#[test]
fn a_renewal_that_does_not_compare_takes_the_lock_from_another() {
    is_found_and_replayed("double hold by foreign-release", || {
        Lab::redis().lock(Kept::by(keep_anyones)).holding(TTL * 3).under([Nemesis::PauseClient])
    });
}

#[test]
fn a_majority_that_is_too_small_by_one_grants_it_twice() {
    is_found_and_replayed("double hold by recipe", || {
        Lab::redis_x5().lock(Majority::by(off_by_one)).under([Nemesis::None])
    });
}
