//! The conclusions of a Sentinel from the answers that it gets, and its replies to clients.

use super::watched::INFO_PERIOD;
use super::{HELLO_PERIOD, Kept, MASTER_GRACE, Millis, Sentinel, SentinelMessage, Status};
use crate::model::{Clocks, Out};
use crate::node_name;
use crate::redis::reply::{bulk, error};
use crate::redis::sentinel_timing::MASTER;
use crate::redis::{PORT, Packet};
use redis::{Arg, Cmd, Value};

impl Sentinel {
    /// Handles a message of another server.
    pub fn hear(
        &mut self,
        at: Clocks,
        from: u32,
        message: SentinelMessage,
        out: &mut Vec<Out<Packet>>,
    ) {
        let now = at.wall.millis() as Millis;
        match message {
            SentinelMessage::Ping => self.say(from, SentinelMessage::Pong, out),
            SentinelMessage::Pong => {
                if let Some(watched) = self.watched.get_mut(&from) {
                    watched.hear(now);
                }
            }
            SentinelMessage::HangUp => {
                if let Some(watched) = self.watched.get_mut(&from) {
                    watched.hung_up = true;
                }
            }
            SentinelMessage::Status(status) => self.learn(now, from, status, out),
            SentinelMessage::Ask { primary, epoch, stands } => {
                let known = primary == self.kept.primary;
                let is_down = known && self.tilted.is_none() && self.finds_primary_down();
                let vote = (known && stands).then(|| self.vote(epoch, from, now));
                self.say(from, SentinelMessage::Find { is_down, vote }, out);
            }
            SentinelMessage::Find { is_down, vote } => {
                self.opinions.entry(from).or_default().hear(now, is_down, vote);
            }
            SentinelMessage::Hello { epoch, config_epoch, primary } => {
                self.kept.epoch = self.kept.epoch.max(epoch);
                if self.kept.config_epoch < config_epoch {
                    self.kept.config_epoch = config_epoch;
                    self.go_over_to(now, primary);
                }
            }
            SentinelMessage::Inquire | SentinelMessage::Reconfigure(_) => {}
        }
    }

    /// Knows another primary from now on.
    fn go_over_to(&mut self, now: Millis, primary: u32) {
        if self.kept.primary == primary {
            return;
        }
        self.kept.primary = primary;
        (self.failover, self.tried) = (None, 0);
        let data = self.data.clone();
        self.watch_anew(now, |server| data.contains(&server));
    }

    /// Learns from a data server's report: a replica that it has promoted is the primary, and one that
    /// follows nobody, or somebody else, is to follow the primary.
    fn learn(&mut self, now: Millis, from: u32, status: Status, out: &mut Vec<Out<Packet>>) {
        let Some(watched) = self.watched.get_mut(&from) else { return };
        watched.learn(now, status);
        let is_primary = from == self.kept.primary;
        if self.tilted.is_some() || is_primary || status.follows == Some(self.kept.primary) {
            return;
        }
        let promoted = self.failover.filter(|it| it.promotes(from) && status.follows.is_none());
        if let Some(failover) = promoted {
            return self.appoint(now, from, failover.epoch(), out);
        }
        let grace = match status.follows {
            None => MASTER_GRACE,
            Some(_) => self.timing.failover_timeout.as_millis() as Millis,
        };
        let watched = &self.watched[&from];
        if self.is_primary_sane(now)
            && watched.is_well_for(now, grace)
            && now - watched.since > grace
        {
            self.say(from, SentinelMessage::Reconfigure(Some(self.kept.primary)), out);
        }
    }

    /// Makes a promoted replica the primary, and tells everybody.
    fn appoint(&mut self, now: Millis, primary: u32, epoch: u64, out: &mut Vec<Out<Packet>>) {
        let others = self.replicas().filter(|server| *server != primary);
        let others: Vec<u32> = others.filter(|it| !self.watched[it].hung_up).collect();
        for server in others {
            self.say(server, SentinelMessage::Reconfigure(Some(primary)), out);
        }
        self.kept.config_epoch = epoch;
        self.go_over_to(now, primary);
        self.appointed = Some(primary);
        // With its next turn.
        self.greeted = now - HELLO_PERIOD - 1;
    }

    fn is_primary_sane(&self, now: Millis) -> bool {
        let Some(watched) = self.watched.get(&self.kept.primary) else { return false };
        let sane =
            |(status, at): (Status, Millis)| status.follows.is_none() && now - at < INFO_PERIOD * 2;
        !watched.is_down && watched.status.is_some_and(sane)
    }

    /// Answers a client.
    pub fn execute(&self, command: &Cmd) -> Value {
        let words = command.args_iter().map(|arg| match arg {
            Arg::Simple(bytes) => bytes.to_ascii_lowercase(),
            _ => Vec::new(),
        });
        let words: Vec<Vec<u8>> = words.collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        match words.as_slice() {
            [b"ping"] => Value::SimpleString("PONG".into()),
            [b"role"] => Value::Array(vec![bulk("sentinel"), Value::Array(vec![bulk(MASTER)])]),
            [b"sentinel", b"get-master-addr-by-name", name] if *name == MASTER.as_bytes() => {
                let Kept { primary, .. } = self.kept;
                Value::Array(vec![bulk(node_name(primary)), bulk(PORT.to_string())])
            }
            [b"sentinel", b"get-master-addr-by-name", _] => Value::Nil,
            _ => error("ERR unknown command of a Sentinel"),
        }
    }
}
