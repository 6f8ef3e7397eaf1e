//! Bytes of a text, one at a time, with the line on which they stand.

use super::edn::BLANK;
use crate::HistoryError;
use std::io::BufRead;

/// A stream of bytes that keeps count of lines.
#[derive(Debug)]
pub struct Source<R> {
    reader: R,
    /// The bytes at hand: asking a chain of readers for each single byte is slower by far.
    piece: Vec<u8>,
    /// The number of these bytes that have been taken.
    taken: usize,
    line: u64,
    token_line: u64,
}

impl<R: BufRead> Source<R> {
    pub fn new(reader: R, line: u64) -> Self {
        Self { reader, piece: Vec::new(), taken: 0, line, token_line: line }
    }

    /// The line of the first byte after the last blank.
    pub fn token_line(&self) -> u64 {
        self.token_line
    }

    /// The bytes at hand, fetched if there are none; empty at the end of the text.
    #[inline]
    fn rest(&mut self) -> Result<&[u8], HistoryError> {
        if self.taken == self.piece.len() {
            self.fetch()?;
        }
        Ok(&self.piece[self.taken..])
    }

    fn fetch(&mut self) -> Result<(), HistoryError> {
        self.piece.clear();
        self.taken = 0;
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => {
                    self.piece.extend_from_slice(bytes);
                    break;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(HistoryError::Read { line: self.line, error }),
            }
        }
        self.reader.consume(self.piece.len());
        Ok(())
    }

    /// The next byte, left where it is.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, HistoryError> {
        self.rest().map(|rest| rest.first().copied())
    }

    /// Takes bytes up to the first that ends it, as far as they are at hand. Nothing is taken when
    /// the next byte ends it, or the text is at its end.
    pub fn take_until(
        &mut self,
        ends: impl Fn(u8) -> bool,
        into: &mut Vec<u8>,
    ) -> Result<usize, HistoryError> {
        let rest = self.rest()?;
        let count = rest.iter().position(|byte| ends(*byte)).unwrap_or(rest.len());
        let taken = &rest[..count];
        into.extend_from_slice(taken);
        let lines = taken.iter().filter(|byte| **byte == b'\n').count();
        self.taken += count;
        self.line += lines as u64;
        Ok(count)
    }

    /// Takes what comes before the first byte that ends it, if that is at hand: it is on one line.
    #[inline]
    pub fn take_word(&mut self, ends: &[bool; 256]) -> Option<&[u8]> {
        let from = self.taken;
        let length = self.piece[from..].iter().position(|byte| ends[*byte as usize])?;
        self.taken += length;
        Some(&self.piece[from..self.taken])
    }

    /// Takes blanks, and then the word that comes before the first byte that ends it, if that is at
    /// hand and there is a value for it.
    #[inline]
    pub fn take_word_as<T>(
        &mut self,
        ends: &[bool; 256],
        value: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        while let Some(byte) = self.piece.get(self.taken).filter(|byte| BLANK[**byte as usize]) {
            self.taken += 1;
            self.line += u64::from(*byte == b'\n');
        }
        let rest = &self.piece[self.taken..];
        let length = rest.iter().position(|byte| ends[*byte as usize])?;
        let value = value(&rest[..length])?;
        self.taken += length;
        Some(value)
    }

    /// The next byte, taken.
    #[inline]
    pub fn bump(&mut self) -> Result<Option<u8>, HistoryError> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.taken += 1;
            self.line += u64::from(byte == b'\n');
        }
        Ok(byte)
    }

    /// Passes over white space, commas and comments.
    pub fn skip_blank(&mut self) -> Result<(), HistoryError> {
        let mut comment = false;
        while let Some(byte) = self.peek()? {
            comment = byte != b'\n' && (comment || byte == b';');
            if !comment && !BLANK[byte as usize] {
                break;
            }
            self.taken += 1;
            self.line += u64::from(byte == b'\n');
        }
        self.token_line = self.line;
        Ok(())
    }
}
