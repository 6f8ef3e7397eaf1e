//! A client's connection in the text protocol, as the bytes that go over it tell.

use std::collections::VecDeque;

/// A connection from a client.
#[derive(Default)]
pub struct TextConnection {
    /// The client's side is closed: nothing comes any more.
    pub is_closed: bool,
    /// The server's side is closed: nothing is carried out any more.
    pub is_over: bool,
    /// The bytes of a command, or of an answer, that is not whole yet.
    asking: Vec<u8>,
    answering: Vec<u8>,
    /// The commands that the server is not known to have carried out, in order.
    sent: VecDeque<SentCommand>,
    /// The number of commands before them.
    carried_out: usize,
    /// The answers to all commands, in order: the time of those that did something.
    answers: Vec<Option<u64>>,
}

/// A command that was sent to a server.
pub struct SentCommand {
    pub key: String,
    /// It removes an item, if there is one.
    pub deletes: bool,
    /// The time at which it was sent.
    pub asked_ns: u64,
    /// The time of the answer that it did something.
    pub done_ns: Option<u64>,
}

impl TextConnection {
    /// Takes what the client says.
    pub fn ask(&mut self, asked_ns: u64, bytes: &[u8]) {
        self.asking.extend_from_slice(bytes);
        while let Some(line) = first_line(&self.asking) {
            let mut words = line.split(' ');
            let (verb, key) = (words.next().unwrap_or(""), words.next().unwrap_or("").to_owned());
            let value = match verb {
                "add" | "set" => words.nth(2).and_then(|bytes| bytes.parse().ok()).unwrap_or(0) + 2,
                _ => 0,
            };
            let end = line.len() + 2 + value;
            if self.asking.len() < end {
                return;
            }
            if matches!(verb, "add" | "set" | "get" | "delete") {
                let deletes = verb == "delete";
                self.sent.push_back(SentCommand { key, deletes, asked_ns, done_ns: None });
            }
            self.asking.drain(..end);
        }
    }

    /// Takes what the server says.
    pub fn answer(&mut self, at_ns: u64, bytes: &[u8]) {
        self.answering.extend_from_slice(bytes);
        while let Some(line) = first_line(&self.answering) {
            self.answering.drain(..line.len() + 2);
            match line.as_str() {
                "STORED" | "DELETED" => self.answers.push(Some(at_ns)),
                "NOT_STORED" | "NOT_FOUND" | "END" => self.answers.push(None),
                other if other.contains("ERROR") => self.answers.push(None),
                // A value, before the END.
                _ => {}
            }
        }
    }

    /// Takes out the first command that the server is not known to have carried out: now it is.
    pub fn carried_out(&mut self) -> Option<SentCommand> {
        self.carried_out += 1;
        self.sent.pop_front()
    }

    /// The commands that the server is not known to have carried out, and may have: those that did
    /// something, and such as delete and are not answered.
    pub fn unread(self) -> impl Iterator<Item = SentCommand> {
        let answers = self.answers.into_iter().skip(self.carried_out).map(Some);
        let commands = self.sent.into_iter().zip(answers.chain(std::iter::repeat(None)));
        commands.filter_map(|(command, answer)| match answer {
            Some(done_ns) => done_ns.map(|at_ns| SentCommand { done_ns: Some(at_ns), ..command }),
            None => Some(command).filter(|it| it.deletes),
        })
    }
}

/// The first line, without its end, if it is whole.
fn first_line(bytes: &[u8]) -> Option<String> {
    let end = bytes.windows(2).position(|it| it == b"\r\n")?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
