//! The counterexamples in `counterexamples/`, which `picklock explore --shrink` has made: each is
//! small, and each still shows its anomaly, exactly as it did. One that does not any more tells
//! that the simulator, the lock or the checker has changed. Those in `enumerated/` are the shortest
//! of an enumeration, which has no times, so that each is the shortest there is.

mod rows;

use picklock::exhaustive::{Enumerated, Enumeration};
use picklock::named_anomaly::NamedAnomaly;
use picklock::schedule::{ReadError, Schedule, Shows};
use picklock::setup::Setup;
use picklock::shrink::{CutShort, is_robust, is_small, shrink, size, story_of};
use picklock::simulate;
use picklock::suite::SuiteEntry;
use rows::rows;
use std::path::{Path, PathBuf};
use stores::Shape;
use workloads::{LOCKS, LockSpec, TestedLock};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../counterexamples")
}

/// Reads a counterexample, with its lock.
fn read(file: &Path) -> Result<(Schedule, TestedLock), ReadError> {
    Schedule::read(file, &workloads::lock)
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

/// The beginnings of the names of those that take more than three clients or twelve messages, and
/// why.
const LARGE: [(&str, &str); 2] = [
    (
        "zk-sequential-herd+",
        "a holder, the client whose turn it is, and two that are woken in vain",
    ),
    ("zk-rw-neighbour+", "several pairs of readers that waited for the same writer"),
];

#[test]
fn every_counterexample_shows_its_anomaly_and_is_small() {
    assert!(!files().is_empty());
    for file in files() {
        let name = file.display().to_string();
        let (schedule, lock) = read(&file).unwrap_or_else(|error| panic!("{error}"));
        let shows = schedule.shows.clone().expect("a counterexample says what it shows");
        let cause = shows.cause.unwrap_or_else(|| panic!("{name} names no cause"));
        let anomaly = shows.anomaly.replace(' ', "-");
        let stem = format!("{}+{}+{anomaly}+{}", schedule.algo, schedule.run.nemesis, cause.name());
        assert_eq!(file.file_stem().and_then(|s| s.to_str()), Some(stem.as_str()));
        let run = simulate::replay(&lock, &schedule).expect("the simulator runs");
        assert!(shows.is_in(&run), "{name} does not show its anomaly by its cause");
        let again = simulate::replay(&lock, &schedule).expect("the simulator runs");
        assert!(run.history == again.history, "{name}: a replay is exact");
        if let Err(error) = story_of(&lock, &schedule) {
            panic!("{name}: {error}");
        }
        let large = LARGE.iter().any(|(begin, _)| stem.starts_with(begin));
        assert!(
            is_small(&lock, &schedule) != large,
            "{name} does not fit on a screen, or does after all"
        );
    }
}

#[test]
fn every_counterexample_survives_a_quarter_more_quiet() {
    for file in files() {
        let (schedule, lock) = read(&file).unwrap_or_else(|error| panic!("{error}"));
        let shows = schedule.shows.clone().expect("a counterexample says what it shows");
        let run = simulate::replay(&lock, &schedule.with_more_quiet()).expect("the simulator runs");
        assert!(shows.is_in(&run), "{} hangs on the end of its bound", file.display());
    }
}

/// Those that hang on the order of single messages, and why.
const ON_A_HAIR: [(&str, &str); 13] = [
    (
        "redis-set-nx-px-threadid-as-printed+none+foreign-release+long-hold.json",
        "a grant between two messages of a release, of a lock that lives for 30 ms",
    ),
    ("redis-timestamp-del+crash-client+double-hold+recovery.json", RACE),
    ("redis-timestamp-del+two-recoverers.toml+double-hold+recovery.json", RACE),
    ("redlock+redlock-amnesia.toml+double-hold+server-forgets.json", MAJORITY),
    ("redlock+redlock-clock.toml+double-hold+server-clock.json", MAJORITY),
    ("zk-exclusive+none+herd+recipe.json", "two clients that wait when the third releases"),
    ("zk-exclusive-as-printed+lost-answer.toml+deadlock+reply-lost.json", THE_REPLY),
    (
        "zk-exclusive-naive+cut-off-holder.toml+foreign-release+holder-cut-off.json",
        "the next one has to get the lock between the heal and the release",
    ),
    (
        "zk-rw-as-printed+none+lost-wake-up+recipe.json",
        "a notification between two steps of a client",
    ),
    ("zk-sequential+cut-off-follower.toml+double-hold+short-session.json", ITS_SERVER),
    ("zk-sequential+partition-server+double-hold+short-session.json", ITS_SERVER),
    ("zk-sequential-naive+lost-answer.toml+deadlock+reply-lost.json", THE_REPLY),
    ("zk-sequential-naive+partition+deadlock+reply-lost.json", THE_REPLY),
];

const RACE: &str = "one of two recoverers has to come between two messages of the other";
const MAJORITY: &str = "a client needs just those three of five that a fault then hits";
const ITS_SERVER: &str = "the holder has to be at one server of three";
const THE_REPLY: &str = "the reply to one request of several has to be lost";

/// As on real servers: with delays and clocks of its own, and the faults aimed at the lock's state.
#[test]
fn every_counterexample_is_robust() {
    let fragile = |file: &PathBuf| {
        let (schedule, lock) = read(file).unwrap_or_else(|error| panic!("{error}"));
        !is_robust(&lock, &schedule)
    };
    let mut files = files();
    files.retain(fragile);
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    assert_eq!(names, ON_A_HAIR.map(|(name, _)| name));
}

/// Makes those that are missing where PICKLOCK_COUNTEREXAMPLES is `write`.
#[test]
fn every_violated_row_of_the_table_has_its_counterexamples() {
    let may_write = std::env::var("PICKLOCK_COUNTEREXAMPLES").is_ok_and(|it| it == "write");
    for row in rows() {
        for (property, anomaly) in row.expect.anomalies() {
            let cause =
                anomaly.cause.map_or(String::new(), |cause| format!("{}.json", cause.name()));
            let shown = anomaly.name.replace(' ', "-");
            let name = format!("{}+{}+{shown}+{cause}", row.lock.name(), row.run.nemesis);
            let named = |file: &PathBuf| {
                file.file_name()
                    .and_then(|file| file.to_str())
                    .is_some_and(|f| f.starts_with(&name))
            };
            if files().iter().any(named) {
                continue;
            }
            assert!(
                may_write,
                "{name} is missing: \
                 PICKLOCK_COUNTEREXAMPLES=write cargo test --release --test counterexamples"
            );
            let schedule = shortest(&row, property, anomaly);
            std::fs::write(folder().join(&name), schedule.to_json()).expect("it is written");
        }
    }
}

/// The number of schedules that are shrunk, of which the best one is kept.
const SHRUNK: usize = 5;

/// Searches the seeds of a row for schedules that show what it must, and shrinks them.
fn shortest(row: &SuiteEntry, property: &str, anomaly: &NamedAnomaly) -> Schedule {
    let shows =
        Shows { property: property.into(), anomaly: anomaly.name.clone(), cause: anomaly.cause };
    let found = (0..row.seeds.max(1_000)).filter_map(|seed| {
        let setup = row.simulated(seed).unwrap_or_else(|error| panic!("{error}"));
        let (run, schedule) = simulate::record(&setup).expect("the simulator runs");
        shows.is_in(&run).then_some(schedule)
    });
    // One that hangs on the end of its bound does not show it with a little more time.
    let shrunk =
        found.filter_map(|schedule| shrink(&row.lock, &schedule, &shows, &mut |_| true).ok());
    let shrunk = shrunk.take(SHRUNK).map(|shrink| shrink.schedule);
    let rank = |it: &Schedule| (!is_small(&row.lock, it), !is_robust(&row.lock, it), size(it));
    shrunk.min_by_key(rank).unwrap_or_else(|| panic!("no seed of {} shows {anomaly}", row.name))
}

/// The number of states after which an enumeration is cut off.
const STATES: u64 = 5_000;

/// Every lock on one server, with at most one fault of any kind. An enumeration knows no permits.
#[test]
fn the_shortest_schedules_of_an_enumeration_are_stored() {
    let mut shown = 0;
    let is_one = |it: &&&LockSpec| it.open.shape() == Shape::One && it.promises.permits == 1;
    for lock in LOCKS.iter().filter(is_one).copied() {
        let enumeration = Enumeration::new(lock.lock()).with(|case| case.faults = 1);
        let found = enumeration.search(STATES, &mut |_| true).findings;
        shown += usize::from(!found.is_empty());
        let file = folder().join("enumerated").join(format!("{}.json", lock.name));
        let stored = std::fs::read(&file).ok().map(|bytes| {
            let read: Enumerated = serde_json::from_slice(&bytes).expect("an enumeration");
            read.found.findings
        });
        assert!(
            stored.unwrap_or_default() == found,
            "picklock explore --exhaustive --algo {} --faults 1 --states {STATES} --out {} gives \
             others",
            lock.name,
            file.display()
        );
    }
    assert!(shown > 15, "{shown}");
}

#[test]
fn a_schedule_that_does_not_show_it_is_not_shrunk() {
    let lock = workloads::lock("zk-rw").expect("a lock of the list");
    let setup = Setup::new(&lock, lock.info.run("none", 1)).unwrap_or_else(|e| panic!("{e}"));
    let (_, schedule) = simulate::record(&setup).expect("the simulator runs");
    let shows = Shows { property: "exclusion".into(), anomaly: "double hold".into(), cause: None };
    let refused =
        shrink(&lock, &schedule, &shows, &mut |_| true).expect_err("there is nothing to shrink");
    assert_eq!(refused.to_string(), "the schedule does not show double hold");
}

#[test]
fn a_shrink_that_was_cut_short_says_so() {
    let path = folder().join("zk-rw-as-printed+none+reader-writer-overlap+recipe.json");
    let (schedule, lock) = read(&path).unwrap_or_else(|error| panic!("{error}"));
    let shows = schedule.shows.clone().expect("it says what it shows");
    let least = shrink(&lock, &schedule, &shows, &mut |_| true).expect("it shows it");
    assert_eq!(least.cut_short, None);
    let cut = shrink(&lock, &schedule, &shows, &mut |tried| tried < 3).expect("it shows it");
    assert_eq!((cut.cut_short, cut.tried), (Some(CutShort::Caller), 3));
}
