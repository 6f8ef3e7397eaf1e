//! The way to the primary of a key in a Redis Cluster: a link to one server around the links to
//! all.
//!
//! A member says which server has which slots, by its name, which stands for this client's own link
//! to it, so that what befalls the link befalls the client. A server that has not the slot of a key
//! names the one that has (MOVED), and has carried nothing out, so that the command goes there.
//! Each answer is good until a call fails in any other way; the next call asks anew. No command is
//! ever sent again that may have been carried out.

use super::model::find;
use super::shards::slot;
use super::{Redis, Refusal, Shards};
use crate::driver::no_server;
use crate::node_number;
use base::{Answer, CallError, Link, LocalFuture, World};
use redis::{Arg, Cmd, FromRedisValue, Value};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::future::ready;
use std::rc::Rc;
use std::time::Duration;

/// The number of servers that a command is passed on to, one after the other, as other clients do.
const MOST_MOVES: usize = 5;

/// The time within which a server that is down refuses.
const AT_ONCE: Duration = Duration::from_millis(50);

/// A link to whichever server has the slot of a key.
pub struct SlotRouted {
    links: Rc<dyn Link<Redis>>,
    shards: Shards,
    /// The primary of each shard, as far as it is known.
    primaries: RefCell<Vec<Option<usize>>>,
    /// The server to ask first.
    first: Cell<usize>,
    /// The shard of the last key, which is asked what concerns no key.
    last: Cell<u32>,
}

impl SlotRouted {
    /// Makes it, around the links to all servers of a cluster.
    pub fn new(links: Rc<dyn Link<Redis>>, shards: Shards) -> Self {
        let primaries = RefCell::new(vec![None; shards.count as usize]);
        Self { links, shards, primaries, first: Cell::default(), last: Cell::default() }
    }

    fn primary(&self, shard: u32) -> Option<usize> {
        self.primaries.borrow()[shard as usize]
    }

    fn know(&self, shard: u32, primary: Option<usize>) {
        self.primaries.borrow_mut()[shard as usize] = primary;
    }

    /// The shard of a command's first key.
    fn shard(&self, request: &Cmd) -> u32 {
        if let Some(key) = first_key(request) {
            self.last.set(self.shards.of_slot(slot(key)));
        }
        self.last.get()
    }

    /// Finds the primary of a shard. Nothing has been asked of it then.
    async fn find(&self, shard: u32) -> Result<usize, CallError<Refusal>> {
        self.learn().await;
        let why = || CallError::Refused(Refusal("no server says who has the slot".into()));
        self.primary(shard).ok_or_else(why)
    }

    /// Asks for the primaries. A server that cannot be reached is passed over if that shows at
    /// once; if not, another is asked by the next call, so that none takes too long.
    async fn learn(&self) {
        let mut ask = Cmd::new();
        ask.arg("CLUSTER").arg("SLOTS");
        let (ask, first) = (Rc::new(ask), self.first.get());
        let (count, begun) = (self.links.servers(), self.links.world().monotonic());
        for server in (first..first + count).map(|server| server % count) {
            self.first.set((server + 1) % count);
            if let Ok(answer) = self.links.call(server, ask.clone()).await {
                for (slot, primary) in ranges(&answer) {
                    self.know(self.shards.of_slot(slot), Some(primary));
                }
                return;
            }
            if self.links.world().monotonic().since(begun) > AT_ONCE {
                return;
            }
        }
    }
}

/// The ranges of an answer to CLUSTER SLOTS: their first slots, and who has them.
fn ranges(answer: &Value) -> Vec<(u16, usize)> {
    let Value::Array(ranges) = answer else { return Vec::new() };
    let read = |range: &Value| {
        let Value::Array(range) = range else { return None };
        let Value::Array(primary) = range.get(2)? else { return None };
        let first = u16::from_redis_value_ref(range.first()?).ok()?;
        let name = String::from_redis_value_ref(primary.first()?).ok()?;
        Some((first, node_number(&name)? as usize))
    };
    ranges.iter().filter_map(read).collect()
}

/// The server that a refusal names as the one that has the slot.
fn moved(answer: &Answer<Redis>) -> Option<usize> {
    let Err(CallError::Refused(Refusal(text))) = answer else { return None };
    let (name, _port) = text.strip_prefix("MOVED ")?.split(' ').nth(1)?.rsplit_once(':')?;
    node_number(name).map(|number| number as usize)
}

/// The first key of a command; `None` if it has none. That of a command which the model does not
/// know is its first argument.
fn first_key(request: &Cmd) -> Option<&[u8]> {
    let args: SmallVec<[&[u8]; 8]> = request
        .args_iter()
        .map(|arg| match arg {
            Arg::Simple(bytes) => bytes,
            _ => &[],
        })
        .collect();
    match find(&args) {
        Some(command) => command.keys(&args).first().copied(),
        None => args.get(1).copied(),
    }
}

impl Link<Redis> for SlotRouted {
    fn world(&self) -> &dyn World {
        self.links.world()
    }

    /// The command leaves now if the primary is known.
    fn call(&self, server: usize, request: Rc<Cmd>) -> LocalFuture<'_, Answer<Redis>> {
        if server > 0 {
            return Box::pin(ready(Err(no_server::<Redis>(server))));
        }
        let shard = self.shard(&request);
        let known = self.primary(shard);
        let known = known.map(|primary| (primary, self.links.call(primary, request.clone())));
        Box::pin(async move {
            let (mut primary, answer) = match known {
                Some(known) => known,
                None => {
                    let primary = self.find(shard).await?;
                    (primary, self.links.call(primary, request.clone()))
                }
            };
            let mut answer = answer.await;
            for _ in 0..MOST_MOVES {
                let Some(next) = moved(&answer) else { break };
                primary = next;
                self.know(shard, Some(primary));
                answer = self.links.call(primary, request.clone()).await;
            }
            if answer.is_err() && self.primary(shard) == Some(primary) {
                self.know(shard, None);
            }
            answer
        })
    }

    fn servers(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests;
