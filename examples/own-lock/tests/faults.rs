//! The faults that the lock bears, and those that it does not, in thousands of schedules of picklock's simulator.

use own_lock::OwnLock;
use picklock::lab::{AcquireError, Grant, Lab, Mode, Recipe, ReleaseError, Removed, Site};
use std::time::Duration;

/// The lock, in the terms of picklock.
struct Tested {
    site: Site,
    lock: OwnLock,
    compares: bool,
}

fn opened(compares: bool) -> impl Fn(Site) -> Tested {
    move |site| {
        let owner = format!("{:016x}", site.random());
        Tested { lock: OwnLock::new(site.key(), owner, site.ttl()), site, compares }
    }
}

impl Recipe for Tested {
    async fn acquire(&mut self, _: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        match self.lock.acquire(&mut self.site.connection(0), patience).await {
            Ok(true) => Ok(Grant::default()),
            Ok(false) => Err(AcquireError::Failed("somebody else has it".into())),
            Err(error) => Err(AcquireError::Unknown(error.to_string())),
        }
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        let mut connection = self.site.connection(0);
        let (released, removed) = match self.compares {
            true => (self.lock.release(&mut connection).await, Removed::Own),
            false => (self.lock.release_whoever_has_it(&mut connection).await, Removed::Any),
        };
        match released {
            Ok(true) => Ok(removed),
            Ok(false) => Err(ReleaseError::NotHeld("its time was over".into())),
            Err(error) => Err(ReleaseError::Unknown(error.to_string())),
        }
    }
}

fn lab(compares: bool) -> Lab {
    Lab::redis().lock(opened(compares)).ttl(Duration::from_secs(2)).promises(["recovers"])
}

#[test]
fn it_survives_crashes_and_cuts() {
    lab(true).under(["crash-client", "partition-client"]).schedules(300).assert_held();
}

/// It has no fencing: who holds it and is paused for longer than the ttl is not the only one.
#[test]
fn it_does_not_survive_a_pause() {
    lab(true).under(["pause-client"]).assert_violated("double hold by holder-paused");
}

#[test]
fn a_release_that_does_not_compare_frees_the_lock_of_another() {
    lab(false).under(["pause-client"]).assert_violated("double hold by foreign-release");
}
