//! Reads histories from anything that can be read, event by event: ours, Jepsen's and Knossos' EDN,
//! and operations in a log. The first bytes of a file decide which of these it is.
//!
//! A file may be cut off, or hostile. What is read is bounded in memory; a text that ends too early
//! is read up to there, which [`Entries::cut_off`] says; whatever else is wrong is an error with
//! its line.

mod edn;
mod entry;
mod jsonl;
mod lines;
mod log;
mod number;
mod operation;
mod source;
mod until;

pub use edn::EdnError;
pub(crate) use entry::Quoted;
pub use entry::{Entry, Value, Verb};
pub use lines::{LONGEST_LINE, Lines, TextLine};
pub use operation::{mode_of, short};
pub use until::Until;

use crate::HistoryError;
use crate::stored::read_header;
use base::Header;
use edn::{NextForm, NoForm, Parser};
use operation::ParsedEvent;
use std::io::{BufRead, Chain, Cursor, Read};

/// The notation of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// JSON Lines: an object an event. Ours begin with a header.
    Jsonl,
    /// EDN, as Jepsen and Knossos write it: a map an event, one after another or in one vector.
    Edn,
    /// A log with operations in it, as Jepsen prints them.
    Log,
}

/// The bytes of a file from which its format is detected.
const PEEK: u64 = 4096;

/// The events of clients in a history, in order.
pub struct Entries<R> {
    format: Notation,
    text: Text<R>,
    order: EventOrder,
    cut_off: Option<u64>,
    stopped: bool,
    done: bool,
}

type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

enum Text<R> {
    Jsonl { lines: Lines<Peeked<R>>, ours: bool, begun: bool },
    Edn { parser: Parser<Peeked<R>>, sequence: Option<u8>, begun: bool },
    Log { lines: Lines<Peeked<R>> },
}

impl<R: BufRead> Entries<R> {
    /// Begins to read a history; `format` overrides the format that its first bytes suggest.
    ///
    /// # Errors
    /// Fails when nothing can be read, or there is nothing.
    pub fn open(mut reader: R, format: Option<Notation>) -> Result<Self, HistoryError> {
        let mut head = Vec::new();
        let read = (&mut reader).take(PEEK).read_to_end(&mut head);
        read.map_err(|error| HistoryError::Read { line: 1, error })?;
        no_text(&head)?;
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        if head.iter().all(u8::is_ascii_whitespace) && (head.len() as u64) < PEEK - 3 {
            return Err(HistoryError::Empty);
        }
        let format = format.unwrap_or_else(|| detect(&head));
        let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let ours = format == Notation::Jsonl && serde_json::from_slice::<Header>(first).is_ok();
        let reader = Cursor::new(head).chain(reader);
        let text = match format {
            Notation::Jsonl => Text::Jsonl { lines: Lines::new(reader), ours, begun: false },
            Notation::Edn => {
                Text::Edn { parser: Parser::new(reader, 1), sequence: None, begun: false }
            }
            Notation::Log => Text::Log { lines: Lines::new(reader) },
        };
        Ok(Self {
            format,
            text,
            order: EventOrder::default(),
            cut_off: None,
            stopped: false,
            done: false,
        })
    }

    /// The notation of this history.
    pub fn format(&self) -> Notation {
        self.format
    }

    /// Returns true for one of ours: JSON Lines with a header.
    pub fn ours(&self) -> bool {
        matches!(self.text, Text::Jsonl { ours: true, .. })
    }

    /// The number of the line in which the text breaks off, if it does, once all is read.
    pub fn cut_off(&self) -> Option<u64> {
        self.cut_off
    }

    /// Once all is read: whether it is one of ours and lacks the `stop` with which a run ends, as
    /// does one that was cut off between two lines.
    pub fn lacks_end(&self) -> bool {
        self.ours() && !self.stopped
    }

    /// The first line whose time is before that of the line above. Order is the place in the file,
    /// so this changes no verdict.
    pub fn time_goes_back(&self) -> Option<u64> {
        self.order.back
    }

    fn read(&mut self) -> Result<Option<Entry>, HistoryError> {
        while !self.done {
            let read = match &mut self.text {
                Text::Jsonl { lines, ours, begun } => jsonl_step(lines, *ours, begun)?,
                Text::Edn { parser, sequence, begun } => edn_step(parser, sequence, begun)?,
                Text::Log { lines } => log_step(lines)?,
            };
            match read {
                ReadStep::Event(line, event) => {
                    self.order.follow(line, &event, self.ours())?;
                    self.stopped |= event.stop;
                    if event.entry.is_some() {
                        return Ok(event.entry);
                    }
                }
                ReadStep::Nothing => {}
                ReadStep::CutOff(line) => {
                    self.cut_off = Some(line);
                    self.done = true;
                }
                ReadStep::End => self.done = true,
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Entries<R> {
    type Item = Result<Entry, HistoryError>;

    /// The next event; nothing more after an error.
    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read().transpose();
        self.done |= !matches!(read, Some(Ok(_)));
        read
    }
}

/// The result of one step of reading.
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation for every event")]
enum ReadStep {
    Event(u64, ParsedEvent),
    Nothing,
    CutOff(u64),
    End,
}

fn jsonl_step<R: BufRead>(
    lines: &mut Lines<R>,
    ours: bool,
    begun: &mut bool,
) -> Result<ReadStep, HistoryError> {
    let Some(line) = lines.read()? else { return Ok(ReadStep::End) };
    if !std::mem::replace(begun, true) && ours {
        return read_header(line.text).map(|()| ReadStep::Nothing);
    }
    if line.text.trim().is_empty() {
        return Ok(ReadStep::Nothing);
    }
    // A line that is JSON was not cut off, whatever it lacks.
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(line.text).is_ok();
    match jsonl::parse(line.number, line.text) {
        Ok(event) => Ok(ReadStep::Event(line.number, event)),
        Err(_) if !line.whole && !is_json() => Ok(ReadStep::CutOff(line.number)),
        Err(error) => Err(error),
    }
}

fn edn_step<R: BufRead>(
    parser: &mut Parser<R>,
    sequence: &mut Option<u8>,
    begun: &mut bool,
) -> Result<ReadStep, HistoryError> {
    let next = if std::mem::replace(begun, true) {
        parser.form(*sequence)
    } else {
        match parser.enter() {
            Ok(Ok(close)) => {
                *sequence = Some(close);
                parser.form(*sequence)
            }
            Ok(Err(next)) => Ok(next),
            Err(stop) => Err(stop),
        }
    };
    match next {
        Ok(NextForm::Form(line, form)) => {
            operation::parse(line, form).map(|event| ReadStep::Event(line, event))
        }
        // After one vector there may be another: logs that were joined.
        Ok(NextForm::Close) => {
            (*sequence, *begun) = (None, false);
            Ok(ReadStep::Nothing)
        }
        Ok(NextForm::End) if sequence.is_some() => Ok(ReadStep::CutOff(parser.line())),
        Ok(NextForm::End) => Ok(ReadStep::End),
        Err(NoForm::CutOff) => Ok(ReadStep::CutOff(parser.line())),
        Err(NoForm::Wrong(error)) => Err(error),
    }
}

fn log_step<R: BufRead>(lines: &mut Lines<R>) -> Result<ReadStep, HistoryError> {
    let Some(line) = lines.read()? else { return Ok(ReadStep::End) };
    let number = line.number;
    Ok(match log::parse(line)? {
        log::LogMeaning::Operation(entry) => ReadStep::Event(
            number,
            ParsedEvent { index: None, time_ns: None, entry: Some(entry), stop: false },
        ),
        log::LogMeaning::Nothing => ReadStep::Nothing,
        log::LogMeaning::CutOff => ReadStep::CutOff(number),
    })
}

/// Holds the events of a file to its order.
#[derive(Debug, Default)]
struct EventOrder {
    /// The index that must not come again, nor a smaller one.
    last: Option<u64>,
    time_ns: Option<i128>,
    back: Option<u64>,
}

impl EventOrder {
    /// Checks the index and the time of an event. Our histories are numbered without gaps; others
    /// may have left events out, but not moved them.
    fn follow(&mut self, line: u64, event: &ParsedEvent, ours: bool) -> Result<(), HistoryError> {
        if let Some(found) = event.index {
            let expected = self.last.map_or(0, |last| last + 1);
            if ours && found != expected {
                return Err(HistoryError::Index { line, found, expected });
            }
            if let Some(last) = self.last.filter(|last| found <= *last) {
                let why = format!("event {found} stands after event {last}");
                return Err(HistoryError::wrong(line, why));
            }
            self.last = Some(found);
        }
        if let Some(time) = event.time_ns {
            if self.time_ns.is_some_and(|before| time < before) {
                self.back.get_or_insert(line);
            }
            self.time_ns = Some(time);
        }
        Ok(())
    }
}

/// Refuses files that are often given in place of a text, known by their first bytes.
fn no_text(head: &[u8]) -> Result<(), HistoryError> {
    let why = match head {
        [0x1f, 0x8b, ..] => "compressed by gzip; unpack it first",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "compressed by zstd; unpack it first",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16 text; write it as UTF-8",
        _ => return Ok(()),
    };
    Err(HistoryError::wrong(1, why))
}

/// The format of a text that begins so.
fn detect(head: &[u8]) -> Notation {
    let text = head.trim_ascii_start();
    let after = |skip: usize| text.get(skip..).unwrap_or_default().trim_ascii_start();
    match text.first() {
        Some(b'{') if is_json(after(1)) => Notation::Jsonl,
        // An array: its one line says that it is no event.
        Some(b'[') if after(1).strip_prefix(b"{").is_some_and(is_json) => Notation::Jsonl,
        Some(b'{' | b'(' | b'#' | b';') => Notation::Edn,
        // A log may begin with a bracket as well.
        Some(b'[') if after(1).first().is_none_or(|next| b"{#];[(".contains(next)) => Notation::Edn,
        _ => Notation::Log,
    }
}

/// Returns true if this, after a brace, is JSON: a string, then a colon that begins no keyword.
fn is_json(text: &[u8]) -> bool {
    let Some(text) = text.strip_prefix(b"\"") else { return text.first() == Some(&b'}') };
    let Some(end) = text.iter().position(|byte| *byte == b'"') else { return true };
    match text.get(end + 1..) {
        None | Some([] | [b':', ..]) => true,
        Some(after) => match after.trim_ascii_start() {
            [b':', next, ..] => !next.is_ascii_alphabetic(),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests;
