//! The actions that can come next.

use base::Mode;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// One step of an interleaving. `connection` and `timer` are numbers that a client gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Move {
    /// A client that is idle begins a turn: it asks for the lock, by the script of this number.
    Begin(u32, Mode, u32),
    /// The first packet on its way to a client reaches it.
    Hear(u64),
    /// A timer of a client goes off.
    Wake(u32, u64),
    /// The library of a client connects again, after the pause between two attempts.
    Tick(u32),
    /// A client that was granted the lock enters what it guards, and goes on until it works.
    Enter(u32),
    /// A client has done its work and goes on, mostly to release the lock.
    Leave(u32),
    /// The first packet on its way to the server reaches it and is answered.
    Arrive(u64),
    /// Time passes, beyond every ttl.
    Lapse,
    /// The server ends the session of a client.
    Expire(u32),
    /// A client dies; so many of the packets that it has sent still reach the server.
    Crash(u32, usize),
    /// A connection is lost; so many of the packets that the client has sent still reach the
    /// server, and no answer comes back.
    Reset(u64, usize),
}

/// Connections are numbered by client and by the client's own number.
const LOCAL: u32 = 16;

pub fn connection(client: u32, local: u64) -> u64 {
    u64::from(client) << LOCAL | local
}

/// All connections that a client can ever have.
pub fn connections(client: u32) -> std::ops::Range<u64> {
    connection(client, 0)..connection(client + 1, 0)
}

pub fn client_of(connection: u64) -> u32 {
    (connection >> LOCAL) as u32
}

pub fn local_of(connection: u64) -> u64 {
    connection & ((1 << LOCAL) - 1)
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wire =
            |f: &mut fmt::Formatter<'_>, c: u64| write!(f, " {} {}", client_of(c), local_of(c));
        match *self {
            Self::Begin(client, mode, script) => {
                let mode = if mode == Mode::Shared { "shared" } else { "exclusive" };
                write!(f, "begin {client} {mode}")?;
                if script > 0 { write!(f, " {script}") } else { Ok(()) }
            }
            Self::Wake(client, timer) => write!(f, "wake {client} {timer}"),
            Self::Tick(client) => write!(f, "tick {client}"),
            Self::Enter(client) => write!(f, "enter {client}"),
            Self::Leave(client) => write!(f, "leave {client}"),
            Self::Lapse => write!(f, "lapse"),
            Self::Expire(client) => write!(f, "expire {client}"),
            Self::Crash(client, kept) => write!(f, "crash {client} {kept}"),
            Self::Hear(c) => f.write_str("hear").and_then(|()| wire(f, c)),
            Self::Arrive(c) => f.write_str("arrive").and_then(|()| wire(f, c)),
            Self::Reset(c, kept) => {
                f.write_str("reset").and_then(|()| wire(f, c))?;
                write!(f, " {kept}")
            }
        }
    }
}

impl Serialize for Move {
    fn serialize<Z: Serializer>(&self, to: Z) -> Result<Z::Ok, Z::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Move {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A text that is not an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAction(String);

impl fmt::Display for NoAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no step of a schedule: {:?}", self.0)
    }
}

impl std::error::Error for NoAction {}

impl FromStr for Move {
    type Err = NoAction;

    fn from_str(text: &str) -> Result<Self, NoAction> {
        parse(text).ok_or_else(|| NoAction(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Move> {
    let words: Vec<&str> = text.split(' ').collect();
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let client = || number(1).and_then(|n| u32::try_from(n).ok());
    let wire = || Some(connection(client()?, number(2)?));
    let kept = |at| number(at).and_then(|n| usize::try_from(n).ok());
    Some(match (words[0], words.len()) {
        ("begin", 3 | 4) => {
            let mode = match words[2] {
                "exclusive" => Mode::Exclusive,
                "shared" => Mode::Shared,
                _ => return None,
            };
            let script = if words.len() == 3 { 0 } else { u32::try_from(number(3)?).ok()? };
            Move::Begin(client()?, mode, script)
        }
        ("wake", 3) => Move::Wake(client()?, number(2)?),
        ("tick", 2) => Move::Tick(client()?),
        ("enter", 2) => Move::Enter(client()?),
        ("leave", 2) => Move::Leave(client()?),
        ("lapse", 1) => Move::Lapse,
        ("expire", 2) => Move::Expire(client()?),
        ("crash", 3) => Move::Crash(client()?, kept(2)?),
        ("hear", 3) => Move::Hear(wire()?),
        ("arrive", 3) => Move::Arrive(wire()?),
        ("reset", 4) => Move::Reset(wire()?, kept(3)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = [
            Move::Begin(1, Mode::Shared, 0),
            Move::Begin(0, Mode::Exclusive, 1),
            Move::Hear(connection(2, 1)),
            Move::Wake(1, 7),
            Move::Tick(1),
            Move::Enter(0),
            Move::Leave(0),
            Move::Arrive(connection(0, 3)),
            Move::Lapse,
            Move::Expire(2),
            Move::Crash(1, 0),
            Move::Reset(connection(1, 1), 2),
        ];
        for action in all {
            assert_eq!(action.to_string().parse(), Ok(action));
        }
        for nonsense in ["", "begin", "begin 0", "begin x shared", "leave 0 1", "sleep 3"] {
            assert!(nonsense.parse::<Move>().is_err(), "{nonsense}");
        }
    }
}
