//! A reader with a deadline: once that has passed its text ends, as one that was cut off does.

use std::io::{self, Read};

/// The greatest number of bytes that are read between two looks at the clock.
const PIECE: usize = 1 << 18;

/// Reads until the time is over. A caller who wants to know whether it was asks the clock again.
#[derive(Debug)]
pub struct Until<R, E> {
    reader: R,
    expired: E,
    /// True once a piece was read. The first is read at any rate: an empty text would be mistaken
    /// for an empty file.
    begun: bool,
}

impl<R: Read, E: FnMut() -> bool> Until<R, E> {
    /// Reads from here, as long as the time is not `expired`.
    pub fn new(reader: R, expired: E) -> Self {
        Self { reader, expired, begun: false }
    }
}

impl<R: Read, E: FnMut() -> bool> Read for Until<R, E> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if std::mem::replace(&mut self.begun, true) && (self.expired)() {
            return Ok(0);
        }
        let most = into.len().min(PIECE);
        self.reader.read(&mut into[..most])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Entries;
    use std::io::BufReader;

    /// The number of entries that are read of a text with these lines over and over, in pieces of
    /// this many bytes, when the clock is looked at so often; and the line in which it ends.
    fn read(lines: &str, piece: usize, looks: u32) -> (usize, Option<u64>) {
        let endless = std::iter::repeat_n(lines, 1_000).collect::<String>();
        let mut asked = 0;
        let expired = || {
            asked += 1;
            asked > looks
        };
        let text = BufReader::with_capacity(piece, Until::new(endless.as_bytes(), expired));
        let mut entries = Entries::open(text, None).expect("a text");
        let read: Result<Vec<_>, _> = entries.by_ref().collect();
        (read.expect("entries").len(), entries.cut_off())
    }

    #[test]
    fn what_was_read_when_the_time_is_over_stands() {
        let line = "- 0 :invoke :read nil\n";
        assert_eq!(read(line, 5 * line.len(), u32::MAX), (1_000, None));
        assert_eq!(read(line, 5 * line.len(), 0), (5, None));
        assert_eq!(read(line, 5 * line.len() + 3, 1), (10, Some(11)));
    }

    #[test]
    fn a_text_that_says_nothing_ends_too() {
        let (read, end) = read("INFO nothing\n", 130, 3);
        assert!(read == 0 && end.is_some_and(|line| line < 1_000), "{end:?}");
    }
}
