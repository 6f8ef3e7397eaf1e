//! The counterexamples of the repository, as the pages link to them.

use picklock::schedule::Schedule;
use picklock::suite::SuiteEntry;
use std::path::Path;
use workloads::TestedLock;

/// A shrunk schedule that shows an anomaly.
pub struct Counterexample {
    /// The name of its file.
    pub file: String,
    /// The schedule.
    pub schedule: Schedule,
    /// Its lock.
    pub lock: TestedLock,
}

impl Counterexample {
    /// A link to it, from a page that is so far below the root.
    pub fn link(&self, root: &str) -> String {
        format!("[{}]({root}counterexamples/{})", self.file.trim_end_matches(".json"), self.file)
    }

    /// The command that runs it again.
    pub fn command(&self) -> String {
        format!("picklock replay counterexamples/{}", self.file)
    }

    /// The reason why its lock is known to break so.
    pub fn why(&self) -> Option<String> {
        let shows = self.schedule.shows.as_ref()?;
        let known = &self.lock.info.known;
        let of = |it: &&base::Known| Some(it.cause) == shows.cause && it.anomaly == shows.anomaly;
        known.iter().find(of).map(|known| known.why.clone())
    }
}

/// Reads all of them, in the order of their names.
pub fn read(root: &Path) -> Vec<Counterexample> {
    let entries = std::fs::read_dir(root.join("counterexamples")).expect("the folder is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "json"));
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let read = Schedule::read(path, &workloads::lock);
        let (schedule, lock) = read.unwrap_or_else(|error| panic!("{error}"));
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        Counterexample { file, schedule, lock }
    };
    paths.iter().map(read).collect()
}

/// Finds those of what an entry must see.
pub fn of_entry<'a>(
    entry: &SuiteEntry,
    all: &'a [Counterexample],
) -> impl Iterator<Item = &'a Counterexample> + use<'a> {
    let begins = entry.expect.anomalies().map(|(_, anomaly)| {
        let name = anomaly.name.replace(' ', "-");
        let cause = anomaly.cause.map_or(String::new(), |cause| format!("{}.json", cause.name()));
        format!("{}+{}+{name}+{cause}", entry.lock.name(), entry.run.nemesis)
    });
    let begins: Vec<String> = begins.collect();
    all.iter().filter(move |it| begins.iter().any(|begin| it.file.starts_with(begin)))
}
