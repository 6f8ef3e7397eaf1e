//! The subcommands, a file each.

pub mod bench;
pub mod check;
pub mod clean;
pub mod client;
pub mod doctor;
mod exhaustive;
pub mod explore;
mod judge;
pub mod list;
pub mod merge;
pub mod replay;
pub mod suite;
pub mod survey;
pub mod sweep;
pub mod test;

use crate::Exit;
use crate::cli::{LoadArgs, LockArgs};
use crate::foreign::{self, ForeignError, ForeignLock, Promises};
use crate::input::{self, JudgingBudget, WrongKind};
use crate::lock_file;
use crate::nearest::Unlisted;
use crate::output::{note, try_to_write};
use crate::paths;
use crate::run;
use crate::setup::SetupError;
use crate::worlds::ChoiceError;
use base::{Mono, RunSpec, ScriptFile, visible};
use drive::Watcher;
use histories::HistoryError;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use workloads::TestedLock;

/// The reason why a command could not do its work, in one line, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    line: String,
    /// The lines below: the part of a file that the reason is about.
    pub excerpt: Vec<String>,
}

impl Failure {
    fn new(exit: Exit, line: impl ToString) -> Self {
        Self { exit, line: line.to_string(), excerpt: Vec::new() }
    }

    /// The arguments make no sense.
    pub fn arguments(line: impl ToString) -> Self {
        Self::new(Exit::BadArguments, line)
    }

    /// Ctrl-C ended it.
    pub fn interrupted(line: impl ToString) -> Self {
        Self::new(Exit::Interrupted, line)
    }

    /// Makes the failure of a command that could not do its work.
    pub fn could_not(line: impl ToString) -> Self {
        Self::new(Exit::CouldNotRun, line)
    }
}

/// Says, before a search tells its results, that it did not come to its end.
fn note_interruption(stop: &AtomicBool) {
    if stop.load(Ordering::Relaxed) {
        note("picklock: interrupted; this is what was searched so far");
    }
}

/// Returns how a search ends that may have been interrupted. A violation stands, and so does what
/// was lost.
fn ended(exit: Exit, stop: &AtomicBool) -> Exit {
    match exit {
        Exit::Held | Exit::Inconclusive if stop.load(Ordering::Relaxed) => Exit::Interrupted,
        exit => exit,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a hostile file says must neither move the cursor nor make two lines of one.
        f.write_str(&visible(&self.line))
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let line = format!("{error:#}");
        if error.chain().any(is_wrong_input) {
            Self::arguments(line)
        } else {
            Self::could_not(line)
        }
    }
}

/// Returns true if a file could be read, and is not what was asked for.
fn is_wrong_input(error: &(dyn std::error::Error + 'static)) -> bool {
    let history = error.downcast_ref();
    error.is::<WrongKind>()
        || history.is_some_and(|error| !matches!(error, HistoryError::Read { .. }))
}

/// The failure of a command of which something impossible was asked.
impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let excerpt = match &error {
            SetupError::Script(why) => why.excerpt().to_vec(),
            _ => Vec::new(),
        };
        Self { excerpt, ..Self::arguments(error) }
    }
}

impl From<ForeignError> for Failure {
    fn from(error: ForeignError) -> Self {
        let excerpt = error.excerpt().to_vec();
        Self { excerpt, ..Self::arguments(error) }
    }
}

impl From<ChoiceError> for Failure {
    fn from(error: ChoiceError) -> Self {
        match error {
            ChoiceError::Script(error) => error.into(),
            ChoiceError::Refused(_) => Self::arguments(error),
            ChoiceError::Absent(_) => Self::could_not(error),
        }
    }
}

/// Finds the lock under test.
fn tested(args: &LockArgs, load: &LoadArgs) -> Result<TestedLock, Failure> {
    let LockArgs { algo, client, lock, .. } = args;
    match (algo, client, lock) {
        (_, Some(command), _) => program(command, args, load),
        (_, _, Some(file)) => defined(file),
        (algo, None, None) => catalogued(algo.as_deref().unwrap_or_default()),
    }
}

/// Returns the lock of a program, as the command line describes it.
fn program(command: &str, args: &LockArgs, load: &LoadArgs) -> Result<TestedLock, Failure> {
    let on = load.topology().ok_or(ForeignError::Servers)?;
    let quoted = shlex::try_quote(command).unwrap_or_else(|_| command.into());
    let promised = match args.promises.join(",") {
        none if none.is_empty() => none,
        some => format!(" --promises {some}"),
    };
    let permits = args.permits.map(|it| format!(" --permits {it}")).unwrap_or_default();
    let promises = foreign::promised(Promises::mutex(), &args.promises)?;
    let promises = args.permits.map_or(promises, |permits| promises.permits(permits.get()));
    let lock = ForeignLock {
        arguments: format!("--client {quoted} --on {on}{promised}{permits}"),
        command: command.into(),
        on,
        promises,
        ..ForeignLock::default()
    };
    Ok(lock.tested()?)
}

/// Returns the lock of a definition file.
fn defined(file: &Path) -> Result<TestedLock, Failure> {
    if !file.exists() {
        let help = "give the definition file of a lock (docs/own-lock.md)";
        return Err(Failure::arguments(paths::missing(file, help)));
    }
    let text = input::text(file, JudgingBudget::default())?;
    Ok(lock_file::read(file, &text)?)
}

/// Finds a lock of the catalogue.
fn catalogued(name: &str) -> Result<TestedLock, Failure> {
    if let Some(hint) = foreign::hint(name) {
        return Err(Failure::arguments(hint));
    }
    let all = || workloads::LOCKS.iter().map(|lock| lock.name);
    let unlisted = || Failure::arguments(Unlisted::new("lock", name, all()));
    workloads::lock(name).ok_or_else(unlisted)
}

/// Reads the fault script that was asked for, if one was.
fn with_script(run: RunSpec, path: Option<&Path>) -> Result<RunSpec, Failure> {
    let Some(path) = path else { return Ok(run) };
    if !path.exists() {
        let help = "give a fault script (docs/scripts.md)";
        return Err(Failure::arguments(paths::missing(path, help)));
    }
    let script =
        ScriptFile { path: path.into(), text: input::text(path, JudgingBudget::default())? };
    Ok(RunSpec { nemesis: script.name(), script: Some(Arc::new(script)), ..run })
}

/// Finds out before the work whether its results can be written after it.
fn writable<'a>(
    files: impl IntoIterator<Item = (&'a Option<PathBuf>, &'static str)>,
) -> Result<(), Failure> {
    let mut files = files.into_iter().filter_map(|(file, flag)| Some((file.as_deref()?, flag)));
    files.try_for_each(|(file, flag)| {
        try_to_write(file).map_err(|why| {
            let help = match why.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
                    "name a file in a folder that exists".to_owned()
                }
                ErrorKind::Other => format!("{why}; name another file"),
                kind => format!("{kind}; name another file"),
            };
            Failure::could_not(format!("cannot write `{}`: {help} with {flag}", file.display()))
        })
    })
}

/// Finds out before the work whether its results can have a folder after it, which is made only
/// then.
fn can_be_folder(folder: &Path, flag: &str) -> Result<(), Failure> {
    let real = paths::real(folder);
    let there = real.ancestors().find(|it| it.exists()).unwrap_or(Path::new("."));
    if !there.is_dir() {
        return Err(Failure::could_not(format!(
            "`{}` cannot be a folder, since `{}` is none; name another with {flag}",
            folder.display(),
            there.display()
        )));
    }
    // Where a disk is full, there may be room again when the work is done.
    match tempfile::tempdir_in(there).map_err(|error| error.kind()) {
        Ok(_) | Err(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => Ok(()),
        Err(kind) => Err(Failure::could_not(format!(
            "cannot write the folder `{}`: {kind}; name another with {flag}",
            folder.display()
        ))),
    }
}

/// The first Ctrl-C ends the run in order; the second one ends the program, and says what that
/// leaves. So do the other ways to ask for an end, but for a terminal that closes where that is to
/// be ignored (`nohup`).
fn interruptible() -> Result<Arc<AtomicBool>, Failure> {
    static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(asked) = ASKED.get() {
        return Ok(asked.clone());
    }
    let asked = ASKED.get_or_init(Arc::default).clone();
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter();
    let signals = signals.filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP));
    let listen = |mut signals: Signals| {
        let asked = asked.clone();
        let wait = move || {
            if signals.forever().any(|_| asked.swap(true, Ordering::Relaxed)) {
                note(&format!("picklock: ended at once; {}", run::left()));
                std::process::exit(Exit::Interrupted.code().into());
            }
        };
        std::thread::Builder::new().spawn(wait).map(drop)
    };
    let listens = Signals::new(signals).and_then(listen);
    listens.map_err(|e| Failure::could_not(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(asked)
}

/// Ends a run when the command is to end.
struct UntilStopped<'a>(&'a AtomicBool);

impl Watcher for UntilStopped<'_> {
    fn goes_on(&mut self, _: Mono, _: usize) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Returns true if whoever started this process has made it ignore a signal.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
