//! The stderr of a client: a file of the run folder, or one without a name.

use base::visible;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;

/// The number of bytes at the end that are read for its last words.
const TAIL: u64 = 4_096;

/// The number of lines that are repeated as its last words.
const LINES: usize = 3;

/// The file that takes the stderr of a client. A client without one is better than none.
pub struct ClientLog(Option<File>);

impl ClientLog {
    /// Opens the log of a process in a folder; without one, a file that nobody else can see.
    pub fn open(process: u32, logs: Option<&Path>) -> Self {
        let file = match logs {
            Some(folder) => OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(folder.join(format!("client-{process}.log"))),
            None => tempfile::tempfile(),
        };
        Self(file.ok())
    }

    /// Returns the end for the client to write to.
    pub fn writer(&self) -> Stdio {
        let file = self.0.as_ref().and_then(|file| file.try_clone().ok());
        file.map_or_else(Stdio::null, Stdio::from)
    }

    /// Returns the last lines that the client has written, to stand behind a sentence; empty if it
    /// has written none.
    pub fn last_words(&self) -> String {
        let lines = self.tail().unwrap_or_default();
        // JavaScript and Java end with the frames of a stack, below what has happened.
        let says = |line: &&str| {
            line.contains(char::is_alphanumeric) && !line.trim_start().starts_with("at ")
        };
        let mut lines: Vec<&str> = lines.lines().filter(says).collect();
        let lines = lines.split_off(lines.len().saturating_sub(LINES));
        match lines.is_empty() {
            true => String::new(),
            false => format!("; its last words: {}", visible(&lines.join(" / "))),
        }
    }

    fn tail(&self) -> Option<String> {
        let file = self.0.as_ref()?;
        let length = file.metadata().ok()?.len().min(TAIL);
        let mut tail = vec![0; length as usize];
        // The place at which the client writes is not to be moved.
        file.read_exact_at(&mut tail, file.metadata().ok()?.len() - length).ok()?;
        Some(String::from_utf8_lossy(&tail).into_owned())
    }
}
