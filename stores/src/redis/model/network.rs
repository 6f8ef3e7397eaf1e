//! The servers of a topology in virtual time, for tests and for comparisons with real servers.

use super::Packet;
use crate::conformance::Killing;
use crate::model_network::ModelNetwork;
use crate::redis::Redis;
use crate::redis::conformance::{ClusterSubject, NO_CONNECTION, render};
use crate::zookeeper::Timing;
use crate::{Cluster, Store, StoreId};
use base::{Data, Mono};
use redis::{Cmd, Value};
use std::io;
use std::time::Duration;

impl ModelNetwork<Redis> {
    /// The servers of the topology with this name.
    pub fn redis(topology: &str, seed: u64) -> Self {
        let topology = StoreId::topology(topology).expect("it is in the list");
        let cluster = Cluster::new(topology, Redis::TTL, Timing::of(Redis::TTL));
        let mut network = Self::new(&cluster, Duration::from_millis(5), seed);
        network.cuts_lose = true;
        network
    }

    /// The reply to a command, which may have to wait for other servers.
    pub fn ask(&mut self, server: u32, command: &Cmd) -> Value {
        self.send(server, |id| Packet::Request { id, command: command.clone().into() });
        self.run_until(Duration::from_secs(60), |it| !it.replies.is_empty());
        match self.replies.pop() {
            Some((_, Packet::Reply { value, .. })) => *value,
            other => panic!("{other:?} is no reply"),
        }
    }
}

impl Killing for ModelNetwork<Redis> {
    fn cut_off(&mut self, member: usize) -> io::Result<()> {
        self.isolate(member as u32);
        Ok(())
    }

    fn crash(&mut self, member: usize) -> io::Result<()> {
        Self::crash(self, member as u32);
        Ok(())
    }

    fn kill(&mut self, member: usize) -> io::Result<()> {
        self.isolate(member as u32);
        Self::kill(self, member as u32);
        Ok(())
    }

    fn start(&mut self, member: usize) -> io::Result<String> {
        self.heal();
        Self::start(self, member as u32, Data::Kept);
        Ok(crate::node_name(member as u32))
    }
}

impl ClusterSubject for ModelNetwork<Redis> {
    fn ask(&mut self, member: usize, command: &Cmd) -> io::Result<String> {
        Ok(match self.up[member] {
            true => render(&Self::ask(self, member as u32, command)).join("\n"),
            false => NO_CONNECTION.into(),
        })
    }

    fn now(&self) -> Duration {
        self.now.since(Mono::ZERO)
    }

    fn wait(&mut self, duration: Duration) {
        self.run(duration);
    }
}

#[cfg(test)]
impl ModelNetwork<Redis> {
    /// Returns true if a server says that it is a master.
    pub fn is_master(&mut self, server: u32) -> bool {
        let role = self.ask(server, &redis::cmd("ROLE"));
        matches!(role, Value::Array(words) if words[0] == crate::redis::reply::bulk("master"))
    }

    /// Crashes a server, cuts one off, starts those that are down, or heals what is cut.
    pub fn disturb(&mut self, rng: &mut base::Rng) {
        let server = rng.below(6) as u32;
        let up = self.up.iter().filter(|up| **up).count();
        match rng.below(4) {
            0 if up > 4 && self.up[server as usize] => self.crash(server),
            0 | 1 => self.revive(),
            2 => self.isolate(server),
            _ => self.heal(),
        }
    }

    /// Starts the servers that are down.
    pub fn revive(&mut self) {
        for server in 0..self.servers.len() as u32 {
            if !self.up[server as usize] {
                self.start(server, Data::Kept);
            }
        }
    }
}
