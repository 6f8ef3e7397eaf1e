//! The schedules of counterexamples that a lab keeps, to run them first the next time.

use std::path::{Path, PathBuf};
use std::{fs, process, thread};
use workloads::TestedLock;

use super::LabError;
use crate::schedule::Schedule;

/// The folder for them, below that of the package.
pub const FOLDER: &str = "picklock-regressions";

/// The variable that names the only schedule to run.
pub const REPLAY_VARIABLE: &str = "PICKLOCK_REPLAY";

/// Returns the schedules of a lock to run first, each with its file: the one that
/// PICKLOCK_REPLAY names, or those that were kept. `true`: there is nothing else to run.
pub fn first(
    lock: &TestedLock,
    folder: &Path,
) -> Result<(Vec<(PathBuf, Schedule)>, bool), LabError> {
    let asked = std::env::var_os(REPLAY_VARIABLE).map(PathBuf::from);
    // Another test's is left to that test. The folder may be named in another way here.
    let own = fs::canonicalize(folder.join(lock.name())).ok();
    let asked = asked.filter(|file| {
        own.is_some() && file.parent().and_then(|it| fs::canonicalize(it).ok()) == own
    });
    let is_only = asked.is_some();
    let files = asked.map_or_else(|| files(&folder.join(lock.name())), |file| vec![file]);
    let schedules = files.into_iter().map(|file| read(lock, &file).map(|it| (file, it)));
    Ok((schedules.collect::<Result<_, _>>()?, is_only))
}

fn read(lock: &TestedLock, file: &Path) -> Result<Schedule, LabError> {
    let lock_of = |name: &str| (name == lock.name()).then(|| lock.clone());
    let read = Schedule::read(file, &lock_of).map_err(|why| LabError::Kept(why.to_string()));
    read.map(|(schedule, _)| schedule)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        all.filter(|file| file.extension().is_some_and(|it| it == "json")).collect();
    files.sort();
    files
}

/// Keeps a schedule, and returns its file, and the schedule as every replay will read it.
pub fn keep(
    lock: &TestedLock,
    folder: &Path,
    name: &str,
    schedule: &Schedule,
) -> Result<(PathBuf, Schedule), LabError> {
    let folder = folder.join(lock.name());
    let file = folder.join(format!("{name}.json"));
    let failed = |why| LabError::Write { file: file.clone(), why };
    fs::create_dir_all(&folder).map_err(failed)?;
    // Whole or not at all, though a test be killed, and whichever others keep the same.
    let part = format!(".part-{}-{:?}", process::id(), thread::current().id());
    let part = folder.join(part);
    fs::write(&part, schedule.to_json()).map_err(failed)?;
    fs::rename(&part, &file).map_err(failed)?;
    let schedule = read(lock, &file)?;
    Ok((file, schedule))
}
