//! The faults that the locks bear, and those that they do not, in thousands of schedules of
//! picklock's simulator.

mod tested;

use own_lock::{Keeper, MajorityLock};
use picklock::{Lab, Nemesis, Promises};
use std::time::Duration;
use tested::{Kept, Majority, One};

const TTL: Duration = Duration::from_secs(2);

/// The longest pause of a lock between two tries.
const PAUSE: Duration = Duration::from_millis(100);

fn promises() -> Promises {
    Promises::mutex().recovers().back_off(PAUSE)
}

fn one() -> Lab {
    Lab::redis().lock(One::new).ttl(TTL).promises(promises())
}

/// A lock that is held for three times as long as it lives without its keeper.
fn kept() -> Lab {
    Lab::redis().lock(Kept::by(Keeper::of)).ttl(TTL).promises(promises()).holding(TTL * 3)
}

#[test]
fn it_survives_crashes_and_cuts() {
    one().under([Nemesis::CrashClient, Nemesis::PartitionClient]).schedules(10_000).assert_held();
}

/// It has no fencing: who holds it and is paused for longer than the ttl is not the only one.
#[test]
fn it_does_not_survive_a_pause() {
    one().under([Nemesis::PauseClient]).assert_violated("double hold by holder-paused");
}

#[test]
fn its_keeper_survives_crashes_and_cuts() {
    kept().under([Nemesis::CrashClient, Nemesis::PartitionClient]).assert_held();
}

/// A keeper is paused with its client, and nobody tells the server.
#[test]
fn its_keeper_does_not_survive_a_pause() {
    kept().under([Nemesis::PauseClient]).assert_violated("double hold by holder-paused");
}

/// It goes by the clock of its machine, which may be as wrong as any.
#[test]
fn its_keeper_does_not_survive_a_clock_that_stands_still() {
    kept().under([Nemesis::ClockFreeze]).assert_violated("double hold by client-clock");
}

#[test]
fn a_majority_survives_the_crash_of_a_client_or_a_server() {
    let lab = Lab::redis_x5().lock(Majority::by(MajorityLock::new)).ttl(TTL);
    lab.promises(Promises::mutex().back_off(PAUSE))
        .under([Nemesis::CrashClient, Nemesis::CrashServer])
        .assert_held();
}
