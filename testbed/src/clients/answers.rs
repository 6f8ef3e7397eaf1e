//! The answers of a client: lines of bounded length, and those that must come promptly.

use base::{Mono, Response, visible};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// The longest line that a client may write, in bytes.
const LONGEST: u64 = 1 << 16;

/// The length of the part of a wrong line that is shown, in characters.
const SHOWN: usize = 120;

/// The responses that a client writes, a line each.
pub struct ResponseLines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> ResponseLines<R> {
    pub fn new(from: R) -> Self {
        Self { from: BufReader::new(from), line: Vec::new() }
    }

    /// Returns the next response; `None` once the client has closed its stdout.
    ///
    /// # Errors
    /// Fails, in words, at a line that is no response.
    pub async fn next(&mut self) -> Result<Option<Response>, String> {
        self.line.clear();
        let read = (&mut self.from).take(LONGEST).read_until(b'\n', &mut self.line).await;
        match read {
            Ok(0) | Err(_) => return Ok(None),
            Ok(length) if length as u64 == LONGEST => {
                let line = excerpt(&self.line);
                return Err(format!("it wrote a line of more than {LONGEST} bytes: {line}"));
            }
            Ok(_) => {}
        }
        let response = serde_json::from_slice(&self.line).map_err(|e| {
            let line = excerpt(&self.line);
            format!(
                "it wrote a line to stdout that is no response ({e}): {line} (whatever else it says \
                 belongs on stderr)"
            )
        })?;
        Ok(Some(response))
    }
}

/// Returns the beginning of a line, as it can be shown.
fn excerpt(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
    let shown: String = text.trim_end().chars().take(SHOWN).collect();
    let more = if text.chars().count() > SHOWN { "…" } else { "" };
    format!("`{}{more}`", visible(&shown))
}

/// The time within which a client that runs answers a request that waits for nothing.
const PROMPT: Duration = Duration::from_secs(10);

/// The requests that a client has to answer at once, whatever its lock does.
#[derive(Default)]
pub struct PromptAnswers {
    /// The times from which the open ones count.
    open: BTreeMap<u64, Mono>,
}

impl PromptAnswers {
    pub fn asked(&mut self, id: u64, now: Mono) {
        self.open.insert(id, now);
    }

    pub fn answered(&mut self, id: u64) {
        self.open.remove(&id);
    }

    /// The client was paused until now.
    pub fn goes_on(&mut self, now: Mono) {
        self.open.values_mut().for_each(|since| *since = now);
    }

    /// Returns what has not been answered in time, in words.
    pub fn overdue(&self, now: Mono) -> Option<String> {
        let (id, _) = self.open.iter().find(|(_, since)| now.since(**since) > PROMPT)?;
        let within = PROMPT.as_secs();
        Some(format!(
            "has not answered the `touch` of request {id} for {within} s, which waits for nothing: \
             something seems to block the reader of its stdin"
        ))
    }
}
