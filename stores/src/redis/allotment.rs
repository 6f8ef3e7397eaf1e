//! The allotment of a run on a Redis that others use, too: keys with a name in front.
//!
//! A command says which of its words are keys only to those who know it, so one that is not known
//! here is refused and never sent. So is a script without KEYS; what else a script names nobody can
//! see.

use super::{Redis, Refusal};
use crate::allotment::{Allotment, END};
use base::{Answer, CallError, Link, LocalFuture, World};
use redis::{Arg, Cmd};
use std::ops::Range;
use std::rc::Rc;

/// The way to keep to it, and to clear it.
pub const ALLOTMENT: Allotment<Redis> = Allotment {
    confine: |link, name| Rc::new(Confined { link, name: format!("{name}{END}").into_bytes() }),
    #[cfg(feature = "real")]
    mark: |servers, name| Box::pin(real::mark(servers, name)),
    #[cfg(feature = "real")]
    remove: |servers, chosen| Box::pin(real::remove(servers, chosen)),
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
    /// The name with its end.
    name: Vec<u8>,
}

impl Confined {
    fn confine(&self, request: &Cmd) -> Result<Cmd, String> {
        let words: Vec<&[u8]> = request.args_iter().map(word).collect();
        let keys = keys(&words)?;
        let mut confined = Cmd::new();
        for (place, word) in words.iter().enumerate() {
            match keys.contains(&place) {
                true => confined.arg([&self.name, *word].concat()),
                false => confined.arg(*word),
            };
        }
        Ok(confined)
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
            Ok(confined) => self.link.call(server, Rc::new(confined)),
            Err(why) => Box::pin(std::future::ready(Err(CallError::Refused(Refusal(why))))),
        }
    }

    fn servers(&self) -> usize {
        self.link.servers()
    }
}

#[cfg(feature = "real")]
mod real {
    use crate::allotment::{Chosen, name_of, within};
    use redis::aio::MultiplexedConnection;
    use redis::{AsyncConnectionConfig, Client, RedisError, cmd};
    use std::time::Duration;

    /// The longest time for a question.
    const LIMIT: Duration = Duration::from_secs(10);

    pub async fn mark(servers: Vec<String>, name: String) -> Result<(), String> {
        for server in servers {
            let mut set = cmd("SET");
            let set = set.arg(within(&name, "")).arg("");
            let marked = async { set.exec_async(&mut open(&server).await?).await };
            marked.await.map_err(|error| format!("{server}: {error}"))?;
        }
        Ok(())
    }

    pub async fn remove(servers: Vec<String>, chosen: Chosen) -> Result<u64, String> {
        let mut removed = 0;
        for server in servers {
            let cleared = clear(&server, &chosen).await;
            removed += cleared.map_err(|error| format!("{server}: {error}"))?;
        }
        Ok(removed)
    }

    async fn clear(server: &str, chosen: &Chosen) -> Result<u64, RedisError> {
        let mut connection = open(server).await?;
        let (mut cursor, mut removed) = (0_u64, 0);
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("COUNT").arg(1_000);
            let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(&mut connection).await?;
            for key in keys {
                if name_of(&String::from_utf8_lossy(&key)).is_some_and(|name| chosen(name)) {
                    removed += cmd("DEL").arg(key).query_async::<u64>(&mut connection).await?;
                }
            }
            cursor = next;
            if cursor == 0 {
                return Ok(removed);
            }
        }
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
