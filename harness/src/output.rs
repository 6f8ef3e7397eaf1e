//! Output to the terminal and to files. Nothing of it is lost without a word, and what is lost does
//! not take the verdict with it.

use anyhow::{Context, Result};
use base::Outcome;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

use crate::Exit;
pub use crate::notes::note;
use crate::paths::is_named_fifo;

/// Prints to stdout. A reader that has gone away wants no more, which is no error.
///
/// # Errors
/// Fails when stdout takes no more, as a full disk does not.
pub fn say(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    unless_closed(written).context("cannot write to stdout")
}

/// Treats a broken pipe as a success: its reader wants no more.
pub fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a file whole or not at all, whoever else writes it at the same time. What is not a file,
/// such as `/dev/stdout`, is written to and not replaced.
///
/// # Errors
/// Fails when it cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    let written = match () {
        () if is_named_fifo(path) => Err(nobody_reads()),
        () if is_special(path) => {
            let file = OpenOptions::new().write(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes()))
        }
        () => replace(path, text),
    };
    unless_closed(written).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Finds out whether a file could be written, and leaves everything as it is.
///
/// # Errors
/// Fails when it could not.
pub fn try_to_write(path: &Path) -> io::Result<()> {
    match () {
        () if path.is_dir() => Err(ErrorKind::IsADirectory.into()),
        () if is_named_fifo(path) => Err(nobody_reads()),
        () if is_special(path) => OpenOptions::new().write(true).open(path).map(drop),
        () => part_of(path).map(drop),
    }
}

/// The error of a FIFO, which would keep its writer until somebody reads.
fn nobody_reads() -> io::Error {
    io::Error::other("it is a FIFO, not a file")
}

/// Returns true for what there is that is neither a file nor a folder.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// Makes an empty file beside another, to take its place.
fn part_of(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    tempfile::Builder::new()
        .prefix(".part-")
        // What the umask leaves of it, as for any other file.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(without_its_path)
}

/// Takes the path of the part, which nobody has asked for, out of an error of `tempfile`.
fn without_its_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause.to_owned()),
        None => error,
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut part = part_of(path)?;
    part.write_all(text.as_bytes()).map_err(without_its_path)?;
    part.persist(path).map(drop).map_err(|error| error.error)
}

/// The parts of a standing verdict that could not be printed or stored.
#[derive(Debug, Default)]
pub struct OutputLosses(Vec<String>);

impl OutputLosses {
    /// Notes what an attempt has lost, if it has.
    pub fn note(&mut self, attempt: Result<()>) {
        self.0.extend(attempt.err().map(|error| format!("{error:#}")));
    }

    /// Writes the files that were asked for, each with its text.
    pub fn write<const FILES: usize>(
        &mut self,
        files: [(&Option<PathBuf>, Result<String>); FILES],
    ) {
        for (file, text) in files {
            let Some(file) = file else { continue };
            self.note(text.and_then(|text| write_whole(file, &text)));
        }
    }

    /// Returns true if nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names what was lost.
    pub fn tell(&self) {
        for loss in &self.0 {
            note(&format!("picklock: {loss}"));
        }
    }

    /// Ends with a verdict. A violation is one whatever was lost; any other verdict that was not
    /// printed or stored in full is no clean end. Losses are named with the verdict, which may be
    /// among what was lost.
    pub fn end(self, outcome: Outcome) -> Exit {
        self.end_as(outcome, outcome.into())
    }

    /// Ends with a verdict that means this exit, such as of a run with an expected outcome.
    pub fn end_as(self, outcome: Outcome, exit: Exit) -> Exit {
        if self.is_empty() {
            return exit;
        }
        self.tell();
        note(&format!("picklock: {}, but not without the errors above", word(outcome)));
        match exit {
            Exit::Violated => Exit::Violated,
            _ => Exit::CouldNotRun,
        }
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "HELD",
        Outcome::Violated => "VIOLATED",
        _ => "INCONCLUSIVE",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_leaves_a_violation_and_nothing_green() {
        let lost = || OutputLosses(vec!["cannot write `verdict.json`".into()]);
        assert_eq!(OutputLosses::default().end(Outcome::Held), Exit::Held);
        assert_eq!(lost().end(Outcome::Held), Exit::CouldNotRun);
        assert_eq!(lost().end(Outcome::Inconclusive), Exit::CouldNotRun);
        assert_eq!(lost().end(Outcome::Violated), Exit::Violated);
    }

    #[test]
    fn what_is_no_file_is_written_to_and_stays() {
        write_whole(Path::new("/dev/null"), "gone").expect("it takes everything");
        let error = write_whole(Path::new("/dev/full"), "more").expect_err("it takes nothing");
        assert!(format!("{error:#}").starts_with("cannot write `/dev/full`: No space left"));
        assert!(!fs::metadata("/dev/full").expect("it is there").is_file());
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let home = tempfile::TempDir::new().expect("a folder");
        let path = home.path().join("file");
        for text in ["one", "another"] {
            write_whole(&path, text).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
        }
        assert_eq!(fs::read_dir(home.path()).expect("listed").count(), 1);
        assert!(write_whole(home.path(), "text").is_err(), "a folder is no file");
        assert_eq!(fs::read_dir(home.path()).expect("listed").count(), 1);
    }
}
