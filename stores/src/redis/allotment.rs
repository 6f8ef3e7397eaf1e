//! The allotment of a run on a Redis that others use, too: keys with a name in front.
//!
//! A command says which of its words are keys only to those who know it, so one that is not known
//! here is refused and never sent. So is a script without KEYS; what else a script names nobody can
//! see.
//!
//! The mark of the run is a set of all keys that its clients have named: each adds one to it before
//! it first sends a command about it. So the run finds them again without a search of the server,
//! which would block others while it lasts, and which the server may forbid. A program of somebody
//! else notes nothing. It is asked for keys with the name in front, and puts more before it or
//! behind it, so those are searched for: a few at a time.

use super::{Redis, Refusal};
use crate::allotment::{Allotment, END, MarkQuestion, ProgramAllotment};
use base::{Answer, CallError, Link, LocalFuture, World};
use redis::{Arg, Cmd};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

/// The way to keep to it, and to clear it.
pub const ALLOTMENT: Allotment<Redis> = Allotment {
    confine: |link, name| {
        let name = format!("{name}{END}").into_bytes();
        Rc::new(Confined { link, name, noted: RefCell::default() })
    },
    programs: ProgramAllotment::Keys,
    #[cfg(feature = "real")]
    mark: |servers, name| Box::pin(real::mark(servers, name)),
    // Clients may have made the set anew, but not with its own name in it. What changes nothing is
    // answered as a write is: not at all while a server lets nobody write.
    ask_for_mark: Some(|name| MarkQuestion {
        send: format!("SREM {name}{END} {END}\r\nSISMEMBER {name}{END} {name}{END}\r\nQUIT\r\n"),
        gone: ":0\r\n:0\r\n",
    }),
    #[cfg(feature = "real")]
    remove: |servers, whose| Box::pin(real::remove(servers, whose)),
};

/// Commands whose first word is their only key.
const ONE_KEY: &[&str] = &[
    "SET",
    "SETNX",
    "SETEX",
    "PSETEX",
    "GET",
    "GETSET",
    "GETDEL",
    "GETEX",
    "APPEND",
    "STRLEN",
    "INCR",
    "INCRBY",
    "DECR",
    "DECRBY",
    "EXPIRE",
    "PEXPIRE",
    "EXPIREAT",
    "PEXPIREAT",
    "TTL",
    "PTTL",
    "PERSIST",
    "TYPE",
    "HSET",
    "HSETNX",
    "HGET",
    "HDEL",
    "HEXISTS",
    "HINCRBY",
    "HGETALL",
    "HLEN",
    "ZREM",
];
/// Commands whose words are all keys.
const ALL_KEYS: &[&str] = &["DEL", "UNLINK", "EXISTS", "TOUCH", "MGET", "WATCH"];
/// Commands whose first word is a script or its hash, and the second the number of keys behind it.
const COUNTED: &[&str] = &["EVAL", "EVALSHA"];
/// Commands that have no key.
const NO_KEY: &[&str] =
    &["PING", "ECHO", "TIME", "ROLE", "SCRIPT", "WAIT", "MULTI", "EXEC", "DISCARD"];

/// A link that knows no other keys than those of an allotment.
struct Confined {
    link: Rc<dyn Link<Redis>>,
    /// The name with its end, which is the key of the mark.
    name: Vec<u8>,
    /// The keys that are in the mark of each server.
    noted: RefCell<BTreeSet<(usize, Vec<u8>)>>,
}

impl Confined {
    /// Returns a command about keys of the allotment, and these keys.
    fn confine(&self, request: &Cmd) -> Result<(Cmd, Vec<Vec<u8>>), String> {
        let words: Vec<&[u8]> = request.args_iter().map(word).collect();
        let (keys, mut named) = (keys(&words)?, Vec::new());
        let mut confined = Cmd::new();
        for (place, word) in words.iter().enumerate() {
            if keys.contains(&place) {
                named.push([&self.name, *word].concat());
                confined.arg(named.last());
            } else {
                confined.arg(*word);
            }
        }
        Ok((confined, named))
    }

    /// Adds keys to the mark of a server, unless they are in it.
    async fn note(&self, server: usize, keys: Vec<Vec<u8>>) -> Result<(), CallError<Refusal>> {
        let keys = keys.into_iter().map(|key| (server, key));
        let new: Vec<_> = keys.filter(|key| !self.noted.borrow().contains(key)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut add = redis::cmd("SADD");
        add.arg(&self.name);
        new.iter().for_each(|(_, key)| _ = add.arg(key));
        self.link.call(server, Rc::new(add)).await?;
        self.noted.borrow_mut().extend(new);
        Ok(())
    }
}

fn word(arg: Arg<&[u8]>) -> &[u8] {
    match arg {
        Arg::Simple(bytes) => bytes,
        _ => b"0",
    }
}

/// The places of the keys among the words of a command; the reason why nobody knows.
fn keys(words: &[&[u8]]) -> Result<Range<usize>, String> {
    let name = String::from_utf8_lossy(words.first().copied().unwrap_or_default()).to_uppercase();
    let is_one_of = |names: &[&str]| names.contains(&&*name);
    let count = |word: Option<&&[u8]>| std::str::from_utf8(word?).ok()?.parse::<usize>().ok();
    match () {
        () if is_one_of(ONE_KEY) => Ok(1..2),
        () if is_one_of(ALL_KEYS) => Ok(1..words.len()),
        () if is_one_of(NO_KEY) => Ok(0..0),
        () if is_one_of(COUNTED) => match count(words.get(2)) {
            Some(count) if count > 0 => Ok(3..3 + count),
            _ => Err("a script on servers that others use, too, has to name its KEYS".into()),
        },
        () => Err(format!("nobody knows the keys of `{name}` on servers that others use, too")),
    }
}

impl Link<Redis> for Confined {
    fn world(&self) -> &dyn World {
        self.link.world()
    }

    fn call(&self, server: usize, request: Rc<Cmd>) -> LocalFuture<'_, Answer<Redis>> {
        match self.confine(&request) {
            Ok((confined, keys)) => Box::pin(async move {
                self.note(server, keys).await?;
                self.link.call(server, Rc::new(confined)).await
            }),
            Err(why) => Box::pin(std::future::ready(Err(CallError::Refused(Refusal(why))))),
        }
    }

    fn servers(&self) -> usize {
        self.link.servers()
    }
}

/// The setting by which a server tells of changes to its keys: an observer has it changed.
#[cfg(feature = "real")]
pub const SETTING: &str = "notify-keyspace-events";

#[cfg(feature = "real")]
mod real {
    use super::{END, SETTING};
    use crate::allotment::{Whose, within};
    use redis::aio::MultiplexedConnection;
    use redis::{AsyncConnectionConfig, Client, RedisError, cmd};
    use std::time::Duration;

    /// The longest time for a question.
    const LIMIT: Duration = Duration::from_secs(10);

    /// The number of keys that a server looks at in one go: it answers nobody else meanwhile.
    const LOOKED_AT: u32 = 100;

    pub async fn mark(servers: Vec<String>, name: String) -> Result<(), String> {
        for server in servers {
            let mut add = cmd("SADD");
            let add = add.arg(within(&name, "")).arg(within(&name, ""));
            let marked = async { add.exec_async(&mut open(&server).await?).await };
            marked.await.map_err(|error| format!("{server}: {error}"))?;
        }
        Ok(())
    }

    pub async fn remove(servers: Vec<String>, whose: Whose) -> Result<u64, String> {
        let mut removed = 0;
        for server in servers {
            let cleared = clear(&server, &whose).await;
            removed += cleared.map_err(|error| format!("{server}: {error}"))?;
        }
        Ok(removed)
    }

    async fn clear(server: &str, whose: &Whose) -> Result<u64, RedisError> {
        let mut connection = open(server).await?;
        match whose {
            Whose::Own(name) => clear_own(&mut connection, name).await,
            Whose::Others { .. } => match clear_found(&mut connection, whose).await {
                // What others have left is then for whoever may look.
                Err(error) if error.code() == Some("NOPERM") => Ok(0),
                cleared => cleared,
            },
        }
    }

    /// Removes the keys that are in the mark or, where nobody has noted any or notes were lost, that
    /// have the name in them; and the mark once there is none left.
    async fn clear_own(
        connection: &mut MultiplexedConnection,
        name: &str,
    ) -> Result<u64, RedisError> {
        let mark = within(name, "");
        let mut keys: Vec<Vec<u8>> = cmd("SMEMBERS").arg(&mark).query_async(connection).await?;
        let noted = keys.len();
        keys.retain(|key| *key != mark.as_bytes());
        if keys.is_empty() || keys.len() == noted {
            keys = search(connection, &format!("*{mark}?*")).await?;
        }
        let mut removed = 0;
        for key in &keys {
            removed += drop_key(connection, key).await?;
        }
        if removed == 0 {
            cmd("DEL").arg(&mark).exec_async(connection).await?;
        }
        Ok(removed)
    }

    /// Looks through all keys of a server, a few at a time, for those that fit a pattern.
    async fn search(
        connection: &mut MultiplexedConnection,
        pattern: &str,
    ) -> Result<Vec<Vec<u8>>, RedisError> {
        let (mut cursor, mut found) = (0_u64, Vec::new());
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(LOOKED_AT);
            let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(connection).await?;
            found.extend(keys);
            cursor = next;
            if cursor == 0 {
                return Ok(found);
            }
        }
    }

    /// Removes the keys of others' runs, whose names begin with that of their allotment or, where a
    /// program has put more in front of it, have it somewhere.
    async fn clear_found(
        connection: &mut MultiplexedConnection,
        whose: &Whose,
    ) -> Result<u64, RedisError> {
        let (prefix, mut removed) = (whose.prefix(), 0);
        for key in search(connection, &format!("*{prefix}*{END}*")).await? {
            if whose.has(&String::from_utf8_lossy(&key)) {
                removed += drop_key(connection, &key).await?;
            }
        }
        Ok(removed)
    }

    /// Removes a key. If it has a setting of the server, as that was before the run, the server
    /// gets it back.
    async fn drop_key(
        connection: &mut MultiplexedConnection,
        key: &[u8],
    ) -> Result<u64, RedisError> {
        if key.ends_with(within("", SETTING).as_bytes()) {
            let before: Option<String> = cmd("GET").arg(key).query_async(connection).await?;
            if let Some(before) = before {
                let set = cmd("CONFIG").arg("SET").arg(SETTING).arg(before).take();
                set.exec_async(connection).await?;
            }
        }
        cmd("DEL").arg(key).query_async(connection).await
    }

    async fn open(server: &str) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(LIMIT))
            .set_response_timeout(Some(LIMIT));
        let client = Client::open(format!("redis://{server}"))?;
        client.get_multiplexed_async_connection_with_config(&config).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(command: &str) -> Result<Range<usize>, String> {
        keys(&command.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }

    #[test]
    fn keys_are_found_and_what_is_not_known_is_refused() {
        assert_eq!(places("SET k v NX PX 10"), Ok(1..2));
        assert_eq!(places("del a b c"), Ok(1..4));
        assert_eq!(places("EVAL script 2 a b c"), Ok(3..5));
        assert_eq!(places("TIME"), Ok(0..0));
        for unknown in ["EVAL script 0 a", "EVAL", "FLUSHALL", "KEYS *", "RENAME a b", ""] {
            assert!(places(unknown).is_err(), "{unknown}");
        }
    }
}
