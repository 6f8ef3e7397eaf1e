//! The answers of a member of a cluster to clients: whose key it is, and where that one is.

use super::Bus;
use crate::node_name;
use crate::redis::model::commands::CommandSpec;
use crate::redis::model::number::integer;
use crate::redis::model::{Server, WallClock};
use crate::redis::reply::{bulk, error};
use crate::redis::{PORT, Shards, shards};
use redis::Value;
use smallvec::SmallVec;

/// The answer of a server that is in no cluster.
const NO_CLUSTER: &str = "ERR This instance has cluster support disabled";

/// The one slot of these keys; `None` if they have several.
fn common_slot(keys: &[&[u8]]) -> Option<u16> {
    let slots: SmallVec<[u16; 4]> = keys.iter().map(|key| shards::slot(key)).collect();
    let first = slots.first().copied()?;
    slots.iter().all(|slot| *slot == first).then_some(first)
}

/// The keys that a script may use on a member of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct LocalKeys {
    shards: Shards,
    /// The shard that the member is the primary of.
    shard: Option<u32>,
    is_ok: bool,
}

impl LocalKeys {
    /// The refusal of a command that a script calls; `None`: it is let through.
    pub fn refusal(&self, command: &CommandSpec, args: &[&[u8]]) -> Option<Value> {
        let keys = command.keys(args);
        let Some(slot) = common_slot(keys) else {
            return (!keys.is_empty()).then(|| {
                error("ERR Script attempted to access keys that do not hash to the same slot")
            });
        };
        if !self.is_ok {
            let text = "ERR Script attempted to execute a command while the cluster is down";
            return Some(error(text));
        }
        (self.shard != Some(self.shards.of_slot(slot)))
            .then(|| error("ERR Script attempted to access a non local key in a cluster node"))
    }
}

/// The refusal of a client's command that this member cannot carry out; `None`: it can.
pub fn turn_away(bus: &Bus, command: &CommandSpec, args: &[&[u8]]) -> Option<Value> {
    match command.name {
        "select"
            if integer(args[1]).is_some_and(|index| index != 0 && i32::try_from(index).is_ok()) =>
        {
            return Some(error("ERR SELECT is not allowed in cluster mode"));
        }
        "replicaof" => return Some(error("ERR REPLICAOF not allowed in cluster mode.")),
        _ => {}
    }
    turn_away_keys(bus, command.keys(args))
}

/// The refusal of commands on these keys.
pub fn turn_away_keys(bus: &Bus, keys: &[&[u8]]) -> Option<Value> {
    if keys.is_empty() {
        return None;
    }
    let Some(slot) = common_slot(keys) else {
        return Some(error("CROSSSLOT Keys in request don't hash to the same slot"));
    };
    if !bus.is_ok {
        return Some(error("CLUSTERDOWN The cluster is down"));
    }
    let owner = bus.file.owners[bus.shards.of_slot(slot) as usize];
    let moved = || error(&format!("MOVED {slot} {}:{PORT}", node_name(owner)));
    (owner != bus.number).then(moved)
}

impl Bus {
    /// The keys that a script may use.
    pub fn local_keys(&self) -> LocalKeys {
        let shard = self.shards.of_server(self.number);
        let shard = self.is_owner(self.number).then_some(shard);
        LocalKeys { shards: self.shards, shard, is_ok: self.is_ok }
    }

    /// The id of a member.
    fn id(number: u32) -> Value {
        bulk(format!("{number:040}"))
    }
}

/// CLUSTER SLOTS: the ranges of slots, each with its primary and its replicas that are well.
pub fn slots(server: &mut Server, _: WallClock, _: &[&[u8]]) -> Value {
    let Some(bus) = &server.bus else { return error(NO_CLUSTER) };
    let member = |number: u32| {
        let port = Value::Int(PORT.into());
        let ip = Value::Array(vec![bulk("ip"), bulk(format!("10.0.0.{}", number + 2))]);
        Value::Array(vec![bulk(node_name(number)), port, Bus::id(number), ip])
    };
    let range = |(shard, owner): (u32, &u32)| {
        let slots = bus.shards.slots(shard);
        let is_replica = |number: &u32| {
            let known = &bus.file.members[*number as usize];
            known.follows == Some(*owner) && known.failed.is_none()
        };
        let bounds = [slots.start(), slots.end()].map(|slot| Value::Int((*slot).into()));
        let replicas = (0..bus.shards.servers).filter(is_replica);
        let members = std::iter::once(*owner).chain(replicas).map(member);
        Value::Array(bounds.into_iter().chain(members).collect())
    };
    Value::Array((0..).zip(&bus.file.owners).map(range).collect())
}

/// CLUSTER KEYSLOT key: the slot of a key.
pub fn keyslot(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    match server.bus {
        Some(_) => Value::Int(shards::slot(args[2]).into()),
        None => error(NO_CLUSTER),
    }
}

/// CLUSTER MYID: the id of this member.
pub fn myid(server: &mut Server, _: WallClock, _: &[&[u8]]) -> Value {
    server.bus.as_ref().map_or_else(|| error(NO_CLUSTER), |bus| Bus::id(bus.number))
}
