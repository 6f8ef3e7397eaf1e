//! A reader for what may keep its reader waiting: to open a FIFO that has no writer blocks for
//! ever, and so does a writer that stalls. No call of the system ends in time, so a thread of its
//! own makes it, and is left behind when the time is over.

use super::BUFFER;
use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// The number of pieces read ahead.
const AHEAD: usize = 4;

/// Reads what a thread reads, until the time is over; there it ends.
pub struct Piped<L> {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
    left: L,
}

impl<L: FnMut() -> Duration> Piped<L> {
    /// Begins to open and to read; `left` says how much time there is.
    pub fn new<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static, left: L) -> Self {
        let (send, pieces) = sync_channel(AHEAD);
        let failed = send.clone();
        if let Err(error) = thread::Builder::new().spawn(move || pump(open, &send)) {
            drop(failed.send(Err(error)));
        }
        Self { pieces, piece: Cursor::default(), left }
    }
}

impl<L: FnMut() -> Duration> Read for Piped<L> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.piece.position() == self.piece.get_ref().len() as u64 {
            self.piece = match self.pieces.recv_timeout((self.left)()) {
                Ok(piece) => Cursor::new(piece?),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(0),
            };
        }
        self.piece.read(into)
    }
}

/// Sends pieces to the end, to the first error, or until nobody wants them any more.
fn pump<R: Read>(open: impl FnOnce() -> io::Result<R>, to: &SyncSender<io::Result<Vec<u8>>>) {
    let mut from = match open() {
        Ok(from) => from,
        Err(error) => return drop(to.send(Err(error))),
    };
    loop {
        let piece = next(&mut from);
        let last = piece.as_ref().map_or(true, Vec::is_empty);
        if to.send(piece).is_err() || last {
            return;
        }
    }
}

/// The next piece; an empty one at the end.
fn next(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; BUFFER];
    loop {
        match from.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => {
                piece.truncate(read?);
                return Ok(piece);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a time that is never waited for: what is read ends before.
    fn long() -> Duration {
        Duration::from_secs(3_600)
    }

    #[test]
    fn what_a_thread_reads_comes_whole_and_in_order() {
        let text: Vec<u8> = (0..3 * BUFFER + 7).map(|n| (n % 251) as u8).collect();
        let sent = text.clone();
        let mut piped = Piped::new(|| Ok(Cursor::new(sent)), long);
        let mut read = Vec::new();
        piped.read_to_end(&mut read).expect("read");
        assert!(read == text);
        assert_eq!(piped.read(&mut [0; 8]).expect("the end"), 0);
    }

    #[test]
    fn what_cannot_be_opened_is_an_error() {
        let open = || Err::<io::Empty, _>(io::ErrorKind::PermissionDenied.into());
        let refused = Piped::new(open, long).read(&mut [0; 8]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }

    /// Reads a few bytes and then waits until its test is over.
    struct Stalls(Receiver<()>, &'static [u8]);

    impl Read for Stalls {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.1.is_empty() {
                let _ = self.0.recv();
            }
            self.1.read(into)
        }
    }

    #[test]
    fn a_writer_that_stalls_ends_with_the_time() {
        let (over, wait) = sync_channel::<()>(0);
        let stalls = move || Ok(Stalls(wait, b"so far"));
        let mut times = [long(), Duration::ZERO].into_iter();
        let mut piped = Piped::new(stalls, || times.next().unwrap_or_default());
        let mut read = String::new();
        piped.read_to_string(&mut read).expect("the end");
        assert_eq!(read, "so far");
        drop(over);
    }
}
