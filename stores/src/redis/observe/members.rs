//! The members of the collections of a real Redis. Keyspace events name collections alone, so a
//! copy of what is stored is kept up with the server, by the model: it executes each command that
//! has changed something, once the server reports it.

use super::{KeyspaceEvent, connect, is_asked};
use crate::Endpoint;
use crate::model::{Name, Noted};
use crate::redis::model::{Call, CommandFunction, Keyspace, Members, WallClock, checked};
use redis::{RedisResult, Value, cmd};

/// A copy of what a server stores.
pub(super) struct FollowedKeys(Keyspace);

/// The clock of the copy, in which nothing runs out: the server tells of that.
const STANDING_STILL: WallClock = WallClock { millis: 0, micros: 0 };

impl FollowedKeys {
    /// A copy of a server on which there is nothing of the run.
    pub(super) fn empty() -> Self {
        let mut keys = Keyspace::default();
        keys.tell_members();
        Self(keys)
    }

    /// A copy of all that a server stores, while nobody changes it.
    pub(super) async fn load(endpoint: &Endpoint) -> RedisResult<Self> {
        let mut connection = connect(endpoint).await?;
        let mut copy = Self::empty();
        let names: Vec<Vec<u8>> = cmd("KEYS").arg("*").query_async(&mut connection).await?;
        for key in names {
            let kind: String = cmd("TYPE").arg(&key).query_async(&mut connection).await?;
            let (read, tail, write): (&str, &[&str], &[u8]) = match kind.as_str() {
                "zset" => ("ZRANGE", &["0", "-1", "WITHSCORES"], b"ZADD"),
                "list" => ("LRANGE", &["0", "-1"], b"RPUSH"),
                "hash" => ("HGETALL", &[], b"HSET"),
                "set" => ("SMEMBERS", &[], b"SADD"),
                _ => ("GET", &[], b"SET"),
            };
            let mut contents: Value =
                cmd(read).arg(&key).arg(tail).query_async(&mut connection).await?;
            if let Value::BulkString(_) = contents {
                contents = Value::Array(vec![contents]);
            }
            let mut contents: Vec<Vec<u8>> = redis::from_redis_value(contents)?;
            if kind == "zset" {
                // A score comes before its member where it is written.
                contents.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| pair.reverse());
            }
            let words = [write.to_vec(), key].into_iter().chain(contents);
            copy.execute(&words.collect::<Vec<_>>());
        }
        copy.0.take_journal(&mut Vec::new());
        Ok(copy)
    }

    /// The names of all things.
    pub(super) fn names(&self) -> Vec<Name> {
        Members::names(&self.0)
    }

    /// The changes that the events of a command tell, each with the time at which it was heard;
    /// `None`: nobody knows which members it has changed.
    pub(super) fn follow(
        &mut self,
        events: Vec<KeyspaceEvent>,
        command: &str,
    ) -> Option<Vec<(u64, Noted)>> {
        let mut changes = Vec::new();
        let (asked, lost): (Vec<_>, Vec<_>) =
            events.into_iter().partition(|event| is_asked(event.what));
        for KeyspaceEvent { key, what, heard_ns } in lost {
            self.0.lose(&key, what);
            self.tell(heard_ns, &mut changes);
        }
        let Some(last) = asked.last() else { return Some(changes) };
        let heard_ns = last.heard_ns;
        if self.execute(&words(command)?) {
            self.tell(heard_ns, &mut changes);
        } else if asked.iter().any(|event| Members::has(&self.0, &event.key)) {
            return None;
        } else {
            changes.extend(asked.into_iter().map(|event| (event.heard_ns, event.noted())));
        }
        Some(changes)
    }

    fn tell(&mut self, heard_ns: u64, into: &mut Vec<(u64, Noted)>) {
        let mut noted = Vec::new();
        self.0.take_journal(&mut noted);
        into.extend(noted.into_iter().map(|noted| (heard_ns, noted)));
    }

    /// Returns true if the model knows a command, and has executed it.
    fn execute(&mut self, words: &[Vec<u8>]) -> bool {
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let Ok(command) = checked(&args) else { return false };
        let CommandFunction::Keys(run) = command.run else { return false };
        let (keys, clock) = (&mut self.0, STANDING_STILL);
        let reply = run.run(Call { keys, clock, args: &args, name: command.name });
        self.0.clear_ready();
        !matches!(reply, Value::ServerError(_))
    }
}

/// Reads `"SET" "a key" "\x00\"1\""`, as `MONITOR` tells commands.
fn words(command: &str) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut bytes = command.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' => {}
            b'"' => words.push(word(&mut bytes)?),
            _ => return None,
        }
    }
    Some(words)
}

/// Reads a word up to its closing quotation mark.
fn word(bytes: &mut impl Iterator<Item = u8>) -> Option<Vec<u8>> {
    let mut word = Vec::new();
    loop {
        word.push(match bytes.next()? {
            b'"' => return Some(word),
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'a' => 7,
                b'b' => 8,
                b'x' => {
                    let mut digit = || char::from(bytes.next()?).to_digit(16);
                    u8::try_from(digit()? * 16 + digit()?).ok()?
                }
                byte => byte,
            },
            byte => byte,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{By, What};

    fn event(key: &str, what: What) -> KeyspaceEvent {
        KeyspaceEvent { key: Name::from_slice(key.as_bytes()), what, heard_ns: 0 }
    }

    fn followed(copy: &mut FollowedKeys, key: &str, what: What, command: &str) -> Vec<String> {
        let changes = copy.follow(vec![event(key, what)], command).expect("followed");
        let tell = |(_, noted): (u64, Noted)| {
            format!("{} {:?}", String::from_utf8_lossy(&noted.object), noted.what)
        };
        changes.into_iter().map(tell).collect()
    }

    #[test]
    fn members_come_and_go_with_the_commands_that_are_reported() {
        let mut copy = FollowedKeys::empty();
        let shared = What::Shared(By::Caller);
        let mut follow = |command: &str| followed(&mut copy, "k", shared, command);
        assert_eq!(
            follow(r#""zadd" "k" "5" "a\x00b" "1e3" "\"c\"""#),
            ["k \"c\" Written(Caller)", "k a\0b Written(Caller)"]
        );
        assert_eq!(follow(r#""ZREM" "k" "\"c\"" "d""#), ["k \"c\" Deleted(Caller)"]);
        assert_eq!(follow(r#""ZADD" "k" "9" "e""#), ["k e Written(Caller)"]);
        // The first of all times are over, and a range of others is none of times.
        let over = r#""zremrangebyscore" "k" "-inf" "6""#;
        assert_eq!(follow(over), ["k a\0b Overdue(Caller)"]);
        assert_eq!(follow(r#""zremrangebyscore" "k" "9" "9""#), ["k e Deleted(Caller)"]);
    }

    #[test]
    fn members_run_out_with_their_key_and_lists_have_none() {
        let mut copy = FollowedKeys::empty();
        let shared = What::Shared(By::Caller);
        followed(&mut copy, "k", shared, r#""HSET" "k" "a" "1""#);
        assert_eq!(followed(&mut copy, "k", What::Expired, r#""GET" "x""#), ["k a Expired"]);
        assert_eq!(followed(&mut copy, "l", shared, r#""RPUSH" "l" "a""#), ["l Shared(Caller)"]);
        // Which one is drawn nobody knows.
        followed(&mut copy, "s", shared, r#""SADD" "s" "a" "b""#);
        assert!(copy.follow(vec![event("s", shared)], r#""SPOP" "s""#).is_none());
        assert_eq!(followed(&mut copy, "l", shared, r#""LSET" "l" "0" "b""#), ["l Shared(Caller)"]);
        let names = ["s a", "s b", "l"].map(|name| Name::from_slice(name.as_bytes()));
        assert_eq!(copy.names(), names);
    }
}
