//! Reads the stored form of a run's own history: a header line, then a line an event.

use crate::HistoryError;
use crate::reading::Lines;
use base::{Event, F, HEADER_VERSION, Header, History, Kind, Process, WrongVersion};
use std::collections::BTreeMap;
use std::io::BufRead;

/// The result of reading a stored history.
#[derive(Debug, Default)]
pub struct StoredHistory {
    /// The events that were read.
    pub history: History,
    /// True if the file ends in the middle of a line, which was left out.
    pub cut_off: bool,
    /// True if there are more events than were asked for.
    pub full: bool,
}

/// Reads the stored form. A last line that was cut off (a run killed at any moment) is left out;
/// [`StoredHistory::cut_off`] says so.
///
/// # Errors
/// With the number of the first line that is not what it should be.
pub fn read(reader: impl BufRead) -> Result<StoredHistory, HistoryError> {
    read_within(reader, usize::MAX)
}

/// Does the same with events that take at most so many bytes; [`StoredHistory::full`] says whether
/// there are more.
///
/// # Errors
/// As [`read`].
pub fn read_within(reader: impl BufRead, room: usize) -> Result<StoredHistory, HistoryError> {
    let mut lines = Lines::new(reader);
    read_header(lines.read()?.ok_or(HistoryError::Empty)?.text)?;
    let (mut events, mut cut_off, mut full) = (Vec::<Event>::new(), false, false);
    let (mut pairs, mut heap) = (Pairs::default(), 0);
    while let Some(line) = lines.read()? {
        full = events.capacity() * size_of::<Event>() + heap > room;
        if full {
            break;
        }
        let number = line.number;
        let event = match serde_json::from_str::<Event>(line.text) {
            Ok(event) => event,
            Err(_) if !line.whole => {
                cut_off = true;
                break;
            }
            Err(error) => return Err(HistoryError::Line { line: number, error }),
        };
        let expected = events.len() as u64;
        if event.index != expected {
            return Err(HistoryError::Index { line: number, found: event.index, expected });
        }
        pairs.follow(number, &event)?;
        heap += event.heap(line.text.len());
        events.push(event);
    }
    Ok(StoredHistory { history: events.into(), cut_off, full })
}

/// Checks that each process has one operation at a time: what ends has begun, and what begins does
/// so when nothing else of its process is under way.
#[derive(Debug, Default)]
struct Pairs {
    /// The operation that each process has under way and the line of its beginning, by process
    /// number, where that is small.
    small: Vec<Option<(u64, F)>>,
    large: BTreeMap<u32, (u64, F)>,
}

impl Pairs {
    /// Records what a process has under way, and returns what it had.
    fn put(&mut self, process: u32, now: Option<(u64, F)>) -> Option<(u64, F)> {
        const SMALL: usize = 1 << 12;
        let place = process as usize;
        if place < SMALL {
            self.small.resize(self.small.len().max(place + 1), None);
            return std::mem::replace(&mut self.small[place], now);
        }
        match now {
            Some(now) => self.large.insert(process, now),
            None => self.large.remove(&process),
        }
    }

    fn follow(&mut self, line: u64, event: &Event) -> Result<(), HistoryError> {
        let Process::Client(process) = event.process else { return Ok(()) };
        if !matches!(event.f, F::Acquire | F::Release | F::Read | F::Write) {
            return Ok(());
        }
        let (number, f) = (&process, &event.f);
        if event.kind == Kind::Invoke {
            return match self.put(process, Some((line, event.f))) {
                Some((since, open)) => Err(HistoryError::busy(line, number, f, &open, since)),
                None => Ok(()),
            };
        }
        match self.put(process, None) {
            Some((_, open)) if open == event.f => Ok(()),
            _ => Err(HistoryError::not_begun(line, number, f)),
        }
    }
}

pub(crate) fn read_header(line: &str) -> Result<(), HistoryError> {
    let header: Header = serde_json::from_str(line).map_err(|_| HistoryError::NoHeader)?;
    WrongVersion::check(header.picklock_history.into(), HEADER_VERSION)
        .map_err(HistoryError::Version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Action, Effect, Fault, FaultEvent, Mode, Node};
    use expect_test::expect;

    fn sample() -> History {
        let mut history = History::default();
        let mut acquire = Event::new(5, Process::Client(1), Kind::Invoke, F::Acquire);
        acquire.mode = Some(Mode::Exclusive);
        acquire.key = Some("k0".into());
        history.push(acquire);
        let mut fault = Event::new(9, Process::Nemesis, Kind::Info, F::Heal);
        fault.fault = Some(Box::new(FaultEvent {
            id: 1,
            fault: Fault::at(Node::Client(1), Action::Pause),
            effect: Some(Effect::new("process state T", 3)),
            line: None,
            leaders: Vec::new(),
        }));
        history.push(fault);
        history
    }

    #[test]
    fn what_is_written_is_read() {
        let text = sample().to_jsonl();
        expect![[r#"
            {"picklock_history":2}
            {"index":0,"time_ns":5,"process":1,"type":"invoke","f":"acquire","key":"k0","mode":"exclusive"}
            {"index":1,"time_ns":9,"process":"nemesis","type":"info","f":"heal","fault":{"id":1,"fault":{"kind":"pause","node":{"client":1}},"effect":{"what":"process state T","amount":3}}}
        "#]].assert_eq(&text);
        let parsed = read(text.as_bytes()).unwrap();
        assert_eq!(parsed.history, sample());
        assert!(!parsed.cut_off);
    }

    #[test]
    fn a_cut_off_line_is_left_out_and_reported() {
        let text = sample().to_jsonl();
        let parsed = read(&text.as_bytes()[..text.len() - 10]).unwrap();
        assert_eq!(parsed.history.events().len(), 1);
        assert!(parsed.cut_off);
    }

    #[test]
    fn what_is_no_history_is_refused_with_its_line() {
        let text = sample().to_jsonl();
        let early = text.replace("\"invoke\"", "\"ok\"");
        let messages = [
            "",
            "hello\n",
            "{\"picklock_history\":99}\n",
            &text.replace("\"invoke\"", "\"begin\""),
            &text.replace("\"process\":1", "\"process\":9223372036854775808"),
            &early,
            &early.replace("\"process\":1", "\"process\":4294967295"),
            &(text.clone() + text.lines().nth(1).unwrap() + "\n"),
        ]
        .map(|text| read(text.as_bytes()).unwrap_err().to_string());
        expect![[r#"
            the history is empty
            line 1: not a picklock history (its first line is {"picklock_history":2})
            line 1: the history has version 99, of a newer picklock; this one reads version 2
            line 2: not an event: unknown variant `begin`, expected one of `invoke`, `ok`, `fail`, `info` at column 49
            line 2: not an event: invalid value: integer `9223372036854775808`, expected a process number below 2^32, or "nemesis" at column 52
            line 2: process 1 ends its acquire, which it did not begin
            line 2: process 4294967295 ends its acquire, which it did not begin
            line 4: event 0 stands where event 2 should"#]].assert_eq(&messages.join("\n"));
    }
}
