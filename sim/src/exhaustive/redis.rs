//! Redis, enumerated: the model of the simulator as it is.

use redis::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use stores::model::Out;
use stores::redis::{Packet, Server};

use super::examine::Examine;
use super::fingerprint::Fingerprint;
use crate::RedisWorld;

impl Examine for RedisWorld {
    const SESSIONS: bool = false;

    fn fingerprint(server: &Server, into: &mut Fingerprint) {
        for entry in server.entries() {
            into.add(entry);
        }
    }

    fn things(server: &Server) -> BTreeMap<String, u64> {
        let thing = |(name, value, expires): (&[u8], &[u8], Option<i64>)| {
            let mut stamp = Fingerprint::new();
            stamp.add((value, expires));
            (String::from_utf8_lossy(name).into_owned(), stamp.bits() as u64)
        };
        server.entries().map(thing).collect()
    }

    fn session(_: &Server, _: Range<u64>) -> Option<i64> {
        None
    }

    fn expire(_: &mut Server, _: i64, _: &mut Vec<Out<Packet>>) {}

    fn may_call(_: &Server, _: Range<u64>) -> bool {
        false
    }

    fn opens(_: &Packet) -> bool {
        false
    }

    fn answers(_: &Packet) -> bool {
        true
    }

    fn words(packet: &Packet) -> String {
        match packet {
            Packet::Request { command, .. } => {
                let word = |arg| match arg {
                    redis::Arg::Simple(bytes) => short(&String::from_utf8_lossy(bytes)),
                    _ => "0".into(),
                };
                command.args_iter().map(word).collect::<Vec<_>>().join(" ")
            }
            Packet::Follow => "follow".into(),
            Packet::Copied(_) => "copied".into(),
            Packet::Reply { value, .. } => match &**value {
                Value::Nil => "nil".into(),
                Value::Okay => "OK".into(),
                Value::Int(number) => number.to_string(),
                Value::BulkString(bytes) => short(&String::from_utf8_lossy(bytes)),
                Value::SimpleString(text) => text.clone(),
                Value::ServerError(error) => format!("{error:?}"),
                other => short(&format!("{other:?}")),
            },
        }
    }
}

/// A long value or script, cut: it is told apart by its first letters.
fn short(text: &str) -> String {
    match text.char_indices().nth(24) {
        Some(_) if text.contains(' ') => {
            format!("'{}…'", text.chars().take(24).collect::<String>())
        }
        Some(_) => format!("{}…", text.chars().take(8).collect::<String>()),
        None => text.into(),
    }
}
