//! A memcached server as a pure state machine, after memcached 1.6.
//!
//! It counts whole seconds on its own ticks: a value with `exptime` n that is stored between two
//! ticks is gone at the n-th tick after that, so that it lives for n - 1 to n seconds. The ticks go
//! by the monotonic clock. It stores nothing on a disk: whatever the fault says of its data, a
//! server that comes back is empty. Where its memory is full, it evicts what was used least
//! recently (`memory.rs`).

use base::{Data, Mono};
use std::time::Duration;

use super::memory::{Memory, StoredItem};
use super::{Packet, Reply, Request};
use crate::model::{By, Clocks, Name, Noted, Out, Peer, ServerModel, What};

const SECOND: Duration = Duration::from_secs(1);

/// A simulated memcached server.
#[derive(Clone, Debug, Default)]
pub struct Server {
    memory: Memory,
    /// The number of ticks so far.
    now: i64,
    /// The number of items that were evicted.
    evictions: u64,
    journal: Vec<Noted>,
}

impl Server {
    /// Executes a command.
    pub fn execute(&mut self, request: &Request) -> Reply {
        match request {
            Request::Add { key, value, exptime } => {
                self.make_room();
                match self.memory.find(key) {
                    Some(_) => {
                        self.memory.touch(key, self.now);
                        Reply::NotStored
                    }
                    None => self.store(key, value, *exptime),
                }
            }
            Request::Set { key, value, exptime } => {
                self.make_room();
                self.store(key, value, *exptime)
            }
            Request::Get { key } => {
                let value = self.memory.find(key).map(|item| item.value.clone());
                self.memory.touch(key, self.now);
                Reply::Value(value)
            }
            Request::Delete { key } => {
                if self.memory.find(key).is_none() {
                    return Reply::NotFound;
                }
                self.memory.remove(key);
                self.note(key, What::Deleted(By::Caller));
                Reply::Deleted
            }
        }
    }

    /// The number of items that it has evicted.
    pub const fn evictions(&self) -> u64 {
        self.evictions
    }

    fn make_room(&mut self) {
        if let Some(evicted) = self.memory.make_room(self.now) {
            self.evictions += 1;
            self.note(&evicted, What::Evicted);
        }
    }

    fn store(&mut self, key: &str, value: &str, exptime: i64) -> Reply {
        let gone_at = match exptime {
            0 => None,
            seconds => Some(self.now.saturating_add(seconds)),
        };
        self.memory.store(key, value, gone_at, self.now);
        self.note(key, What::Written(By::Caller));
        // A negative time is over at once.
        self.expire();
        Reply::Stored
    }

    fn expire(&mut self) {
        let gone = self.memory.expire(self.now);
        gone.iter().for_each(|key| self.note(key, What::Expired));
    }

    fn note(&mut self, key: &str, what: What) {
        self.journal.push(Noted { object: Name::from_slice(key.as_bytes()), what, zxid: None });
    }

    /// The items in the store, by key.
    pub(super) fn items(&self) -> impl Iterator<Item = (&String, &StoredItem)> {
        self.memory.items()
    }

    /// The number of ticks so far.
    pub(super) const fn now(&self) -> i64 {
        self.now
    }
}

impl ServerModel for Server {
    type Packet = Packet;

    fn is_call(_: &Packet) -> bool {
        true
    }

    fn receive(&mut self, _: Clocks, from: Peer, packet: Packet, out: &mut Vec<Out<Packet>>) {
        if let Packet::Request { id, request } = packet {
            out.push(Out::Send(from, Packet::Reply { id, reply: self.execute(&request) }));
        }
    }

    fn disconnected(&mut self, _: Clocks, _: u64, _: &mut Vec<Out<Packet>>) {}

    fn tick(&mut self, at: Clocks, _: &mut Vec<Out<Packet>>) -> Option<Mono> {
        let second = SECOND.as_nanos() as u64;
        let ticks = at.mono.nanos() / second;
        self.now = ticks as i64;
        self.expire();
        Some(Mono::from_nanos((ticks + 1) * second))
    }

    fn restart(&mut self, at: Clocks, _: Data) {
        let lost = self.memory.clear();
        lost.iter().for_each(|key| self.note(key, What::Wiped));
        self.tick(at, &mut Vec::new());
    }

    fn fill_memory(&mut self) -> u64 {
        let evicted = self.memory.fill();
        evicted.iter().for_each(|key| self.note(key, What::Evicted));
        self.evictions += evicted.len() as u64;
        evicted.len() as u64
    }

    fn take_out_junk(&mut self) {
        self.memory.take_out_junk();
    }

    fn take_journal(&mut self, into: &mut Vec<Noted>) {
        into.append(&mut self.journal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::WallTime;

    fn at(millis: u64) -> Clocks {
        let mono = Mono::ZERO + Duration::from_millis(millis);
        Clocks { wall: WallTime::from_nanos(0), mono }
    }

    fn add(server: &mut Server, exptime: i64) -> Reply {
        server.execute(&Request::Add { key: "k".into(), value: "v".into(), exptime })
    }

    fn is_there(server: &mut Server) -> bool {
        server.execute(&Request::Get { key: "k".into() }) != Reply::Value(None)
    }

    #[test]
    fn a_value_lives_for_its_last_tick_less_than_it_says() {
        let mut server = Server::default();
        assert_eq!(server.tick(at(900), &mut Vec::new()), Some(at(1_000).mono));
        assert_eq!(add(&mut server, 2), Reply::Stored);
        assert_eq!(add(&mut server, 2), Reply::NotStored);
        server.tick(at(1_000), &mut Vec::new());
        assert!(is_there(&mut server), "after 0.1 s");
        server.tick(at(2_000), &mut Vec::new());
        assert!(!is_there(&mut server), "after 1.1 s");
    }

    #[test]
    fn zero_is_for_ever_and_less_is_over_at_once() {
        let mut server = Server::default();
        assert_eq!(add(&mut server, -1), Reply::Stored);
        assert!(!is_there(&mut server));
        assert_eq!(add(&mut server, 0), Reply::Stored);
        server.tick(at(1_000_000_000), &mut Vec::new());
        assert!(is_there(&mut server));
    }

    #[test]
    fn a_restart_loses_everything_whatever_the_fault_says_of_the_data() {
        let mut server = Server::default();
        add(&mut server, 0);
        server.restart(at(5_000), Data::Kept);
        assert!(!is_there(&mut server));
        let mut journal = Vec::new();
        server.take_journal(&mut journal);
        assert_eq!(journal.last().map(|noted| noted.what), Some(What::Wiped));
    }
}
