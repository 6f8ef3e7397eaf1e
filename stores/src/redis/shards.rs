//! The parts of a Redis Cluster: which servers hold copies of the same data, and which keys these
//! are.

use crate::Topology;
use std::ops::RangeInclusive;

/// The number of hash slots, over which all keys are spread.
const SLOTS: u32 = 16_384;

/// The shards of a cluster: of each there is a primary, then a replica in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards {
    /// The number of shards.
    pub count: u32,
    /// The number of servers.
    pub servers: u32,
}

impl Shards {
    /// The shards of a topology; `None` if one server has all keys.
    pub fn of(topology: &Topology) -> Option<Self> {
        let count = topology.primaries().len() as u32;
        (count > 1).then(|| Self { count, servers: topology.servers() })
    }

    /// The shard that a server belongs to.
    pub const fn of_server(&self, number: u32) -> u32 {
        number % self.count
    }

    /// The shard that has a slot.
    pub fn of_slot(&self, slot: u16) -> u32 {
        let has = |shard: &u32| self.slots(*shard).contains(&slot);
        (0..self.count).find(has).unwrap_or_default()
    }

    /// The slots of a shard, as `redis-cli --cluster create` deals them out.
    pub const fn slots(&self, shard: u32) -> RangeInclusive<u16> {
        self.first_slot(shard) as u16..=(self.first_slot(shard + 1) - 1) as u16
    }

    /// The first slot of a shard: its share of all, rounded.
    const fn first_slot(&self, shard: u32) -> u32 {
        (shard * SLOTS * 2 / self.count).div_ceil(2)
    }
}

/// Returns the slot of a key: its CRC16, or that of the part of it which stands in braces.
pub fn slot(key: &[u8]) -> u16 {
    crc16(tag(key).unwrap_or(key)) % SLOTS as u16
}

/// The text between the first brace and the next one that closes, if there is any.
fn tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let rest = &key[open + 1..];
    let length = rest.iter().position(|byte| *byte == b'}')?;
    (length > 0).then(|| &rest[..length])
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    let shifted = |crc: u16| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
    let with =
        |crc: u16, byte: &u8| (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| shifted(crc));
    bytes.iter().fold(0, with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreId;

    /// As Redis 7.0.15 answers CLUSTER KEYSLOT.
    #[test]
    fn keys_have_the_slots_that_redis_gives_them() {
        let known: &[(&str, u16)] =
            &[("b", 3300), ("k", 7629), ("foo", 12_182), ("{a}b", 15_495), ("a", 15_495)];
        for (key, expected) in known {
            assert_eq!(slot(key.as_bytes()), *expected, "{key}");
        }
        assert_eq!(slot(b"{}a"), crc16(b"{}a") % 16_384, "empty braces are no tag");
        assert_eq!(slot(b"x{b}{k}"), 3300, "the first braces count");
    }

    #[test]
    fn every_slot_has_one_shard() {
        let topology = StoreId::topology("redis-cluster").expect("it is in the list");
        let shards = Shards::of(topology).expect("it has several");
        let slots: Vec<_> = (0..shards.count).map(|shard| shards.slots(shard)).collect();
        assert_eq!(slots, [0..=5_460, 5_461..=10_922, 10_923..=16_383]);
        for slot in 0..16_384 {
            assert!(shards.slots(shards.of_slot(slot)).contains(&slot));
        }
    }
}
