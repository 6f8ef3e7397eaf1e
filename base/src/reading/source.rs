//! Bytes of a text, one at a time, with the line on which they stand.

use super::edn::is_blank;
use crate::HistoryError;
use std::io::BufRead;

/// Bytes, and where they stand.
#[derive(Debug)]
pub struct Source<R> {
    reader: R,
    line: u64,
    token_line: u64,
}

impl<R: BufRead> Source<R> {
    pub fn new(reader: R, line: u64) -> Self {
        Self { reader, line, token_line: line }
    }

    /// The line of the first byte after the last blank.
    pub fn token_line(&self) -> u64 {
        self.token_line
    }

    /// The next byte, left where it is.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, HistoryError> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(said) => return Err(HistoryError::Read { line: self.line, said }),
            }
        }
    }

    /// Takes bytes up to the first that ends it, as far as they are at hand. Nothing is taken when
    /// the next byte ends it, or the text is at its end.
    pub fn take_until(
        &mut self,
        ends: impl Fn(u8) -> bool,
        into: &mut Vec<u8>,
    ) -> Result<usize, HistoryError> {
        self.peek()?;
        let (line, bytes) = (self.line, self.reader.fill_buf());
        let bytes = bytes.map_err(|said| HistoryError::Read { line, said })?;
        let count = bytes.iter().position(|byte| ends(*byte)).unwrap_or(bytes.len());
        into.extend_from_slice(&bytes[..count]);
        self.line += bytes[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
        self.reader.consume(count);
        Ok(count)
    }

    /// The next byte, taken.
    #[inline]
    pub fn bump(&mut self) -> Result<Option<u8>, HistoryError> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.reader.consume(1);
            self.line += u64::from(byte == b'\n');
        }
        Ok(byte)
    }

    /// Passes over white space, commas and comments.
    pub fn skip_blank(&mut self) -> Result<(), HistoryError> {
        let mut comment = false;
        while let Some(byte) = self.peek()? {
            comment = byte != b'\n' && (comment || byte == b';');
            if !comment && !is_blank(byte) {
                break;
            }
            self.bump()?;
        }
        self.token_line = self.line;
        Ok(())
    }
}
