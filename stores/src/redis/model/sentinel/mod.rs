//! A Sentinel as a pure state machine, after `sentinel.c` of Redis 7.0.15: it watches the primary,
//! its replicas and the other Sentinels, agrees with them that the primary is down, and promotes a
//! replica. It says to clients where the primary is.
//!
//! The intervals are Redis's own, and its times are readings of the wall clock, as in Redis: a
//! clock that jumps, or a pause, puts it into TILT, in which it decides nothing for half a minute.
//!
//! Left out is what no client can see. A Sentinel knows all others from its start, and tells them
//! of a new primary itself; Redis does that, too, and through the data servers besides. Replicas
//! learn of a new primary all at once (`parallel-syncs`).

mod answers;
mod failover;
mod opinion;
#[cfg(test)]
mod tests;
mod watched;

pub use opinion::LeaderVote;

use crate::model::{Clocks, Out, Peer};
use crate::redis::{Layout, Packet, SentinelTiming};
use base::{Mono, Rng};
use failover::Failover;
use opinion::Opinion;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use watched::Watched;

use crate::redis::sentinel_timing::QUORUM;

/// A reading of a Sentinel's wall clock in milliseconds. Signed, since such clocks jump back.
type Millis = i64;

type Opinions = BTreeMap<u32, Opinion>;

/// A gap between two turns that puts a Sentinel into TILT, and the time for which it stays there.
const TILT_TRIGGER: Millis = 2_000;
const TILT_PERIOD: Millis = 30_000;

/// The interval at which a Sentinel tells the others what it knows.
const HELLO_PERIOD: Millis = 2_000;

/// The time for which a server must report that it is a master, and be well, before a Sentinel
/// makes it follow the primary: news of a failover may be on its way.
const MASTER_GRACE: Millis = HELLO_PERIOD * 4;

/// A message between a Sentinel and a server that it watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentinelMessage {
    /// Are you alive?
    Ping,
    /// The answer to `PING`.
    Pong,
    /// A question for the server's role (`INFO`).
    Inquire,
    /// The answer to `INFO`.
    Status(Status),
    /// Follow this server, or nobody; write that to your configuration and close the connections of
    /// clients: a transaction of `REPLICAOF`, `CONFIG REWRITE` and `CLIENT KILL`.
    Reconfigure(Option<u32>),
    /// The sender's process is dead, and its machine closes the connection.
    HangUp,
    /// Is this primary down? (`SENTINEL is-master-down-by-addr`)
    Ask {
        /// The primary in question.
        primary: u32,
        /// The epoch of the asker.
        epoch: u64,
        /// True if it asks for a vote, too.
        stands: bool,
    },
    /// The finding of this Sentinel, and the vote that it gave last.
    Find {
        /// True if it finds it down.
        is_down: bool,
        /// The vote, if one was asked for.
        vote: Option<LeaderVote>,
    },
    /// The knowledge of this Sentinel.
    Hello {
        /// The epoch of the configuration.
        epoch: u64,
        /// The epoch of the failover that made the primary.
        config_epoch: u64,
        /// The number of the primary.
        primary: u32,
    },
}

/// A data server's report of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The server that it follows; `None`: it is a master.
    pub follows: Option<u32>,
    /// The amount of data that it has, if it follows another.
    pub offset: u64,
    /// The id of its process.
    pub run_id: u64,
}

/// The data that a Sentinel has on its disk.
#[derive(Clone, Copy, Debug)]
struct Kept {
    epoch: u64,
    config_epoch: u64,
    primary: u32,
    vote: LeaderVote,
}

/// The model of one Sentinel.
#[derive(Clone, Debug)]
pub struct Sentinel {
    number: u32,
    timing: SentinelTiming,
    /// The data servers and the Sentinels, by number.
    data: Range<u32>,
    sentinels: Range<u32>,
    kept: Kept,
    rng: Rng,
    watched: BTreeMap<u32, Watched>,
    opinions: Opinions,
    failover: Option<Failover>,
    /// The time of the last failover that was tried, or that another had this one's vote for.
    tried: Millis,
    greeted: Millis,
    /// The time of its last turn, and that at which it went into TILT.
    turned: Option<Millis>,
    tilted: Option<Millis>,
    /// The primary that it has just made.
    appointed: Option<u32>,
}

impl Sentinel {
    /// A Sentinel that knows everybody, and has not looked at them yet.
    pub fn new(number: u32, layout: &Layout, timing: SentinelTiming) -> Self {
        let kept = Kept { epoch: 0, config_epoch: 0, primary: 0, vote: LeaderVote::default() };
        Self {
            number,
            timing,
            data: 0..layout.data,
            sentinels: layout.data..layout.servers,
            kept,
            rng: Rng::new(0),
            watched: BTreeMap::new(),
            opinions: BTreeMap::new(),
            failover: None,
            tried: 0,
            greeted: 0,
            turned: None,
            tilted: None,
            appointed: None,
        }
    }

    /// The primary that it has made since the last call.
    pub fn take_appointed(&mut self) -> Option<u32> {
        self.appointed.take()
    }

    /// Starts again after a crash, with what it has on its disk.
    pub fn restart(&mut self) {
        let layout = Layout { data: self.data.end, servers: self.sentinels.end };
        *self = Self { kept: self.kept, ..Self::new(self.number, &layout, self.timing) };
    }

    /// Handles a packet: a message of another server, or a client's command.
    pub fn receive(&mut self, at: Clocks, from: Peer, packet: Packet, out: &mut Vec<Out<Packet>>) {
        match (packet, from) {
            (Packet::Sentinel(message), Peer::Server(server)) => {
                self.hear(at, server, *message, out)
            }
            (Packet::Request { id, command }, _) => {
                let value = Box::new(self.execute(&command));
                out.push(Out::Send(from, Packet::Reply { id, value }));
            }
            _ => {}
        }
    }

    /// Tells all servers that this one's process is dead.
    pub fn hang_up(&self, out: &mut Vec<Out<Packet>>) {
        for &server in self.watched.keys() {
            self.say(server, SentinelMessage::HangUp, out);
        }
    }

    /// Takes its turn: looks at everybody, and decides. Returns when the next one is due.
    pub fn tick(&mut self, at: Clocks, out: &mut Vec<Out<Packet>>) -> Mono {
        let now = at.wall.millis() as Millis;
        if self.turned.is_none() {
            // Its own clock is all that a fresh server has of chance.
            self.rng = Rng::fork(at.wall.nanos(), u64::from(self.number));
            self.watch_anew(now, |_| true);
        }
        self.check_tilt(now);
        self.keep_in_touch(now, out);
        if self.tilted.is_none() {
            self.judge(now);
            self.begin_failover(now, out);
            self.advance_failover(now, out);
            self.ask_others(now, false, out);
        }
        // `hz` is drawn anew each time, so that Sentinels get out of step.
        at.mono + Duration::from_millis(1_000 / (10 + self.rng.below(10)))
    }

    fn watch_anew(&mut self, now: Millis, which: impl Fn(u32) -> bool) {
        let all = self.data.clone().chain(self.sentinels.clone());
        let others = all.filter(|server| *server != self.number && which(*server));
        self.watched.extend(others.map(|server| (server, Watched::new(now))));
    }

    /// Notices that its clock has jumped, or that it did not run.
    fn check_tilt(&mut self, now: Millis) {
        let gap = now - self.turned.replace(now).unwrap_or(now);
        if !(0..=TILT_TRIGGER).contains(&gap) {
            self.tilted = Some(now);
        }
        self.tilted = self.tilted.filter(|since| now - since < TILT_PERIOD);
    }

    /// Asks whoever is to be asked now, and tells the other Sentinels what it knows.
    fn keep_in_touch(&mut self, now: Millis, out: &mut Vec<Out<Packet>>) {
        let urgent = self.is_agreed_down() || self.failover.is_some();
        let (primary, data, timing) = (self.kept.primary, self.data.clone(), self.timing);
        let mut messages = Vec::new();
        for (&server, watched) in &mut self.watched {
            let is_replica = data.contains(&server) && server != primary;
            if data.contains(&server) && watched.inquire(now, urgent && is_replica) {
                messages.push((server, SentinelMessage::Inquire));
            }
            if watched.ping(now, timing) {
                messages.push((server, SentinelMessage::Ping));
            }
        }
        for (server, message) in messages {
            self.say(server, message, out);
        }
        if now - self.greeted > HELLO_PERIOD {
            self.greet(now, out);
        }
    }

    fn greet(&mut self, now: Millis, out: &mut Vec<Out<Packet>>) {
        self.greeted = now;
        let Kept { epoch, config_epoch, primary, .. } = self.kept;
        for other in self.others() {
            self.say(other, SentinelMessage::Hello { epoch, config_epoch, primary }, out);
        }
    }

    /// Decides who is down. A primary that has long reported to be a replica counts as down.
    fn judge(&mut self, now: Millis) {
        for watched in self.watched.values_mut() {
            watched.judge(now, self.timing);
        }
        let patience = self.timing.patience().as_millis() as Millis;
        if let Some(watched) = self.watched.get_mut(&self.kept.primary)
            && watched.status.is_some_and(|(status, _)| status.follows.is_some())
            && now - watched.since > patience
        {
            watched.set_down(now, true);
        }
    }

    fn finds_primary_down(&self) -> bool {
        self.watched.get(&self.kept.primary).is_some_and(|watched| watched.is_down)
    }

    /// Asks the other Sentinels for their opinion of a primary that is down: all at once, or those
    /// whose last answer is stale.
    fn ask_others(&mut self, now: Millis, at_once: bool, out: &mut Vec<Out<Packet>>) {
        let Kept { primary, epoch, .. } = self.kept;
        let (is_down, stands) = (self.finds_primary_down(), self.failover.is_some());
        for other in self.others() {
            let opinion = self.opinions.entry(other).or_default();
            opinion.fade(now);
            let connected = self.watched.get(&other).is_some_and(|watched| !watched.hung_up);
            if is_down && connected && (at_once || opinion.is_stale(now)) {
                self.say(other, SentinelMessage::Ask { primary, epoch, stands }, out);
            }
        }
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let number = self.number;
        self.sentinels.clone().filter(move |other| *other != number)
    }

    fn replicas(&self) -> impl Iterator<Item = u32> + use<> {
        let primary = self.kept.primary;
        self.data.clone().filter(move |server| *server != primary)
    }

    fn say(&self, to: u32, message: SentinelMessage, out: &mut Vec<Out<Packet>>) {
        out.push(Out::Send(Peer::Server(to), Packet::Sentinel(Box::new(message))));
    }
}
