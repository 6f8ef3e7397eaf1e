//! Lines of a history file, one at a time: bounded in length, valid UTF-8, numbered.

use crate::HistoryError;
use std::io::{BufRead, Read};

/// The longest line that is read, in bytes. No event is near it; a file of one endless line must
/// not fill the memory.
pub const LONGEST_LINE: usize = 1 << 20;

/// One line, without its end.
#[derive(Clone, Copy, Debug)]
pub struct TextLine<'a> {
    /// The number of the line, from 1.
    pub number: u64,
    /// The text of the line.
    pub text: &'a str,
    /// True if the line ends with a line break. The last line of a file that was cut off does not.
    pub whole: bool,
}

/// Reads lines from anything that can be read.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines from the place where the reader stands.
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), number: 0 }
    }

    /// The next line; `None` at the end. A last line that ends in the middle of a character is
    /// given up to there: it was cut off.
    ///
    /// # Errors
    /// Fails when it cannot be read, is too long, or is not UTF-8.
    pub fn read(&mut self) -> Result<Option<TextLine<'_>>, HistoryError> {
        self.buffer.clear();
        self.number += 1;
        let number = self.number;
        let mut bounded = (&mut self.reader).take(LONGEST_LINE as u64 + 1);
        bounded
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| HistoryError::Read { line: number, error })?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        let whole = self.buffer.last() == Some(&b'\n');
        if !whole && self.buffer.len() > LONGEST_LINE {
            return Err(HistoryError::TooLong { line: number });
        }
        let text = match std::str::from_utf8(strip_end(&self.buffer)) {
            Ok(text) => text,
            Err(error) if !whole && error.error_len().is_none() => {
                let valid = &self.buffer[..error.valid_up_to()];
                std::str::from_utf8(valid).expect("checked")
            }
            Err(_) => return Err(HistoryError::NotUtf8 { line: number }),
        };
        Ok(Some(TextLine { number, text, whole }))
    }
}

fn strip_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(String, bool)>, String> {
        let mut lines = Lines::new(bytes);
        let mut read = Vec::new();
        while let Some(line) = lines.read().map_err(|error| error.to_string())? {
            assert_eq!(line.number, read.len() as u64 + 1);
            read.push((line.text.to_owned(), line.whole));
        }
        Ok(read)
    }

    #[test]
    fn lines_come_without_their_ends() {
        let read = all(b"one\r\n\ntwo").unwrap();
        assert_eq!(read, [("one".into(), true), (String::new(), true), ("two".into(), false)]);
        assert_eq!(all(b"").unwrap(), []);
    }

    #[test]
    fn a_character_that_was_cut_is_left_out_at_the_end_and_refused_elsewhere() {
        assert_eq!(all(b"a\xc3").unwrap(), [("a".into(), false)]);
        assert!(all(b"ok\na\xc3\n").unwrap_err().starts_with("line 2: not UTF-8"));
        assert!(all(b"\xff").unwrap_err().starts_with("line 1: not UTF-8"));
    }

    #[test]
    fn an_endless_line_is_refused() {
        let long = vec![b'x'; LONGEST_LINE];
        assert_eq!(all(&long).unwrap()[0].0.len(), LONGEST_LINE);
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        let message = Lines::new(endless).read().unwrap_err().to_string();
        assert!(message.starts_with("line 1: longer than"), "{message}");
    }
}
