//! The run folder: `store/<algo>+<nemesis>/<time>/` with everything about one run, so that it can
//! be judged and drawn again at any time.

use crate::input::{self, JudgingBudget, WrongKind};
use crate::output::{OutputLosses, write_whole};
use crate::paths;
use anyhow::{Context as _, Result, bail};
use base::{Ledger, RUN_VERSION, Run, RunInfo, WrongVersion};
use checkers::Judgement;
use histories::{HistoryError, StoredHistory};
use reports::Context;
use serde::Deserialize;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Says what to do with a history that is no run's.
const WITH_MODEL: &str = "any other history is held against a model, which --model names: \
                          --model mutex (`picklock list models`)";

/// A run folder.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The store that it stands in.
    store: PathBuf,
}

impl RunFolder {
    /// Makes a new one below `store`. Where the store takes nothing at present, there is none, and
    /// that is a loss: the run is worth its verdict all the same.
    ///
    /// # Errors
    /// Fails when the store cannot be a folder.
    pub fn create(store: &Path, info: &RunInfo, losses: &mut OutputLosses) -> Result<Option<Self>> {
        match Self::make(store, info) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.downcast_ref().is_some_and(takes_nothing) => {
                losses.note(Err(error));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a new one below `store`.
    ///
    /// # Errors
    /// Fails when it cannot be written.
    pub fn make(store: &Path, info: &RunInfo) -> Result<Self> {
        let time = humantime::format_rfc3339_millis(now()).to_string();
        let stamp = time.replace([':', '-'], "");
        let kind = format!("{}+{}", info.lock.name, info.run.nemesis);
        let help = || {
            format!(
                "cannot write the store folder `{}`; name another with --store",
                store.display()
            )
        };
        let parent = store.join(&kind);
        fs::create_dir_all(&parent).with_context(help)?;
        let name = unused(&parent, &stamp).with_context(help)?;
        let folder = Self { path: parent.join(&name), store: store.to_owned() };
        let header = folder.write_json("run.json", info);
        header.inspect_err(|_| folder.discard())?;
        Ok(folder)
    }

    /// Points `store/latest` to it. A convenience: where links are not to be had, there is none.
    pub fn publish(&self) {
        let Ok(target) = self.path.strip_prefix(&self.store) else { return };
        let part = tempfile::Builder::new()
            .prefix(".latest-")
            .make_in(&self.store, |part| std::os::unix::fs::symlink(target, part));
        if let Ok(part) = part {
            let _ = part.into_temp_path().persist(self.store.join("latest"));
        }
    }

    /// Removes it: the run never began, and there is nothing in it to judge.
    pub fn discard(&self) {
        let _ = fs::remove_dir_all(&self.path);
        // The folder of its lock and nemesis goes with it, unless other runs stand there.
        let _ = self.path.parent().map(fs::remove_dir);
    }

    /// The folder of a stored run: the folder itself, or a file in it.
    pub fn find(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            bail!(WrongKind(format!("what stands on standard input is no run; {WITH_MODEL}")));
        }
        let real = paths::real(path);
        let folder = if real.is_dir() { &real } else { real.parent().unwrap_or(Path::new(".")) };
        if !folder.join("run.json").is_file() {
            let name = path.display();
            bail!(WrongKind(match path.is_dir() {
                true => format!("`{name}` is not a run folder: it has no run.json"),
                false => format!(
                    "`{name}` is not in a run folder: there is no run.json beside it; {WITH_MODEL}"
                ),
            }));
        }
        let store = folder.join("../..");
        Ok(Self { path: folder.to_owned(), store })
    }

    /// Returns the path of the run folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whole or not at all.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        write_whole(&self.file(name), text)
    }

    /// Writes a whole run with its verdicts and its report.
    pub fn write_run(&self, run: &Run, judgement: &Judgement, losses: &mut OutputLosses) {
        losses.note(self.write("history.jsonl", &run.history.to_jsonl()));
        if let Some(ledger) = &run.ledger {
            losses.note(self.write("ledger.jsonl", &ledger.to_lines()));
        }
        losses.note(self.write_json("verdict.json", judgement));
        let context = Context {
            folder: self.path.display().to_string(),
            version: env!("CARGO_PKG_VERSION").into(),
            elapsed: None,
        };
        let page = reports::html::page(run, &judgement.verdicts, judgement.outcome, &context);
        losses.note(self.write("report.html", &page));
    }

    /// Writes a value as JSON.
    pub fn write_json(&self, name: &str, value: &impl serde::Serialize) -> Result<()> {
        self.write(name, &(serde_json::to_string_pretty(value)? + "\n"))
    }

    /// Reads the run, as far as the budget goes.
    pub fn read(&self, budget: JudgingBudget) -> Result<StoredRun> {
        let run_json = self.file("run.json");
        let text = input::text(&run_json, budget)?;
        let info = run_info(&run_json, &text)?;
        let path = self.file("history.jsonl");
        let (reader, bar) = input::open(&path, budget.to_read())?;
        let read = histories::read_within(reader, budget.memory / SHARE);
        bar.finish_and_clear();
        let budget = budget.to_read();
        let read = match read {
            // Nobody wrote anything in time.
            Err(HistoryError::Empty) if budget.is_over() => Ok(StoredHistory::default()),
            read => read.with_context(|| format!("`{}`", path.display())),
        };
        let StoredHistory { history, cut_off, full } = read?;
        let unread = match (full, budget.is_over()) {
            (true, _) => Some("it is larger than the memory budget"),
            (_, true) => Some("the time budget was spent in reading it"),
            _ => None,
        };
        let ledger = self.ledger(budget.memory / SHARE)?;
        let run = Run { info, history, ledger };
        Ok(StoredRun { run, cut_off: cut_off && unread.is_none(), unread })
    }

    /// The ledger of the run, if its backend kept one, the run came to its end, and it is no larger
    /// than this many bytes.
    fn ledger(&self, most: usize) -> Result<Option<Ledger>> {
        let path = self.file("ledger.jsonl");
        let Ok(about) = fs::metadata(&path) else { return Ok(None) };
        if !about.is_file() || about.len() > most as u64 {
            return Ok(None);
        }
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let ledger = Ledger::from_lines(&text);
        let wrong = |why| WrongKind(format!("`{}`: {why}", path.display()));
        Ok(Some(ledger.map_err(wrong)?))
    }
}

/// The first thing that is read of a run.json.
#[derive(Deserialize)]
struct RunVersion {
    version: u64,
}

/// Reads a run.json.
fn run_info(path: &Path, text: &str) -> Result<RunInfo> {
    let no_run = |why: serde_json::Error| {
        WrongKind(format!("`{}` is not a run.json of picklock: {why}", path.display()))
    };
    let RunVersion { version } = serde_json::from_str(text).map_err(no_run)?;
    if let Err(why) = WrongVersion::check(version, RUN_VERSION) {
        bail!(WrongKind(format!("`{}` {why}", path.display())));
    }
    Ok(serde_json::from_str(text).map_err(no_run)?)
}

/// The divisor of the memory budget that bounds what is read, because judging it takes more.
const SHARE: usize = 3;

/// A run, as it was read.
pub struct StoredRun {
    /// The run that was read.
    pub run: Run,
    /// Its history ends in the middle of a line.
    pub cut_off: bool,
    /// The reason why only part of its history was read, if so.
    pub unread: Option<&'static str>,
}

#[expect(clippy::disallowed_methods, reason = "a run folder is named after the time of day")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// A new folder below `parent`; two runs of the same millisecond get different ones.
fn unused(parent: &Path, stamp: &str) -> std::io::Result<String> {
    for n in 1.. {
        let name = if n == 1 { stamp.to_owned() } else { format!("{stamp}-{n}") };
        match fs::create_dir(parent.join(&name)) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            outcome => return outcome.map(|()| name),
        }
    }
    unreachable!("there is always a next number")
}

/// Returns true if files can stand at a place, but none can be written there now.
fn takes_nothing(error: &std::io::Error) -> bool {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}
