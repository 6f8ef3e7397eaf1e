//! A client's connection in version 3.0 of the protocol, as the bytes that go over it tell.

use super::Statement;
use super::model::{LockScope, Lockable};
use std::collections::VecDeque;

/// A thing that a session does with locks, or itself.
#[derive(Debug, PartialEq, Eq)]
pub enum Deed {
    /// It is open.
    Begins,
    /// It has been granted a lock.
    Takes(Lockable, LockScope),
    /// It has given one back that it took once.
    Gives(Lockable),
    /// It is in no transaction, or in one that has failed.
    HasNoTransaction,
    /// It is over.
    Ends,
}

/// A connection from a client.
pub struct WireConnection {
    /// The bytes of a message that is not whole yet, from the client and from the server.
    asking: Vec<u8>,
    answering: Vec<u8>,
    is_open: bool,
    /// The statements that are not answered, in order; `None` for one that does nothing with locks.
    asked: VecDeque<Option<Statement>>,
    /// The answer to the first of them so far: the first letter of its first row, and whether there
    /// was an error.
    row: Option<u8>,
    has_failed: bool,
}

impl Default for WireConnection {
    fn default() -> Self {
        // The first message of a client is the only one without a letter before its length.
        let (asking, answering, asked) = (vec![0], Vec::new(), VecDeque::new());
        Self { asking, answering, is_open: false, asked, row: None, has_failed: false }
    }
}

impl WireConnection {
    /// Takes what the client says.
    pub fn ask(&mut self, bytes: &[u8]) {
        self.asking.extend_from_slice(bytes);
        while let Some((kind, body)) = message(&mut self.asking) {
            if kind == b'Q' {
                let sql = body.strip_suffix(b"\0").unwrap_or(&body);
                self.asked.push_back(Statement::of_sql(&String::from_utf8_lossy(sql)));
            }
        }
    }

    /// Takes what the server says, and returns what it has done; `None`: it answers what nobody
    /// asked.
    pub fn answer(&mut self, bytes: &[u8]) -> Option<Vec<Deed>> {
        self.answering.extend_from_slice(bytes);
        let mut deeds = Vec::new();
        while let Some((kind, body)) = message(&mut self.answering) {
            match kind {
                // The number of columns, and the length of the first, come before it.
                b'D' => self.row = self.row.or(body.get(6).copied()),
                b'E' if is_fatal(&body) => deeds.push(Deed::Ends),
                b'E' => self.has_failed = true,
                b'Z' if self.is_open => deeds.extend(self.end_of_answer(body == b"T")?),
                b'Z' => {
                    self.is_open = true;
                    deeds.push(Deed::Begins);
                }
                _ => {}
            }
        }
        Some(deeds)
    }

    /// Returns what a statement has done that is answered. After it the session is in a
    /// transaction, or not.
    fn end_of_answer(
        &mut self,
        in_transaction: bool,
    ) -> Option<impl Iterator<Item = Deed> + use<>> {
        let (row, has_failed) = (self.row.take(), std::mem::take(&mut self.has_failed));
        let (is_true, is_there) = (row == Some(b't'), row.is_some());
        let deed = match self.asked.pop_front()?.filter(|_| !has_failed) {
            Some(Statement::AdvisoryLock { key }) => {
                Some(Deed::Takes(Lockable::Advisory(key), LockScope::Session))
            }
            Some(Statement::TryAdvisoryLock { key }) if is_true => {
                Some(Deed::Takes(Lockable::Advisory(key), LockScope::Session))
            }
            Some(Statement::AdvisoryXactLock { key }) if in_transaction => {
                Some(Deed::Takes(Lockable::Advisory(key), LockScope::Transaction))
            }
            Some(Statement::TryAdvisoryXactLock { key }) if is_true && in_transaction => {
                Some(Deed::Takes(Lockable::Advisory(key), LockScope::Transaction))
            }
            Some(Statement::AdvisoryUnlock { key }) if is_true => {
                Some(Deed::Gives(Lockable::Advisory(key)))
            }
            Some(Statement::LockRow { name, .. }) if is_there && in_transaction => {
                Some(Deed::Takes(Lockable::Row(name), LockScope::Transaction))
            }
            _ => None,
        };
        Some(deed.into_iter().chain((!in_transaction).then_some(Deed::HasNoTransaction)))
    }
}

/// Takes out the first message, if it is whole: its letter, and what comes after its length.
fn message(bytes: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let length = u32::from_be_bytes(bytes.get(1..5)?.try_into().ok()?) as usize;
    let message = (bytes[0], bytes.get(5..=length)?.to_vec());
    bytes.drain(..=length);
    Some(message)
}

/// Returns true if an error ends the session.
fn is_fatal(error: &[u8]) -> bool {
    let mut fields = error.split(|byte| *byte == 0);
    fields.any(|field| field == b"VFATAL" || field == b"VPANIC")
}
