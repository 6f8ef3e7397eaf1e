//! `redlock`: the reference lock on a majority of five independent Redis servers (seed 000;
//! Salvatore Sanfilippo, "Distributed Locks with Redis", redis.io).
//!
//! The client asks all servers at once, each for a small part of the ttl at most. It holds the lock
//! if a majority granted it and time is left: the ttl, less what the asking took, less an allowance
//! for clocks that run apart. Otherwise it frees what it may have got, on every server, and tries
//! again after a random pause. A release goes to every server too.
//!
//! It breaks where one server's lock breaks (a holder outlives its validity), and where one server
//! of a bare majority forgets: it restarts without its data, or its clock jumps (Martin Kleppmann,
//! "How to do distributed locking", 2016).

use base::{
    AcquireError, Cause, Grant, Link, Lock, Mode, Pace, Promises, Recipe, ReleaseError, Removed,
};
use futures_util::future::{Either, join_all, select};
use redis::FromRedisValue;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{AHEAD, LONG_HOLD, OVERLAP, STOOD_STILL, WRITE_DELAYED, breaks};
use super::redis_node::{BACK_OFF, CallResult, RedisNode, polling};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redlock",
    summary: "SET NX PX on a majority of five independent servers, with a time of validity",
    promises: Promises {
        recovers: Some(1),
        available: true,
        // A split vote is freed and asked for again; each server has a tenth of the ttl to answer.
        pace: Pace { tries: 8, answer_permille: 100, ..polling(BACK_OFF, 2) },
        ..Promises::MUTEX
    },
    breaks: &[&[
        breaks(&[Cause::HolderPaused], OVERLAP, PAUSED),
        STOOD_STILL,
        LONG_HOLD,
        AHEAD,
        WRITE_DELAYED,
        breaks(&[Cause::ServerForgets], OVERLAP, FORGETS),
        breaks(&[Cause::ServerClock], OVERLAP, CLOCK),
    ]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::several(open),
};

const PAUSED: &str = "H12: a majority of servers does not cure the pause: the lock ran out on all of them \
     while its holder was paused; only a fencing token that the resource checks can stop its write";

const FORGETS: &str = "H13: servers of the majority that granted the lock came back empty, so that \
     another majority could grant it again";

const CLOCK: &str = "H13: the clocks of servers of a bare majority jumped, so that another majority \
     could grant it again";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(Redlock { node: RedisNode::new(link, settings), value: String::new(), left: 0 })
}

struct Redlock {
    node: RedisNode,
    /// The value of the last try, which is the owner's.
    value: String,
    /// The most servers that a try of this acquire may have left it on.
    left: usize,
}

/// The servers' answers, counted.
#[derive(Default)]
struct Votes {
    yes: usize,
    /// No answer came in time, or none that says what was done.
    unknown: usize,
}

impl Redlock {
    fn servers(&self) -> usize {
        self.node.link.servers()
    }

    fn majority(&self) -> usize {
        self.servers() / 2 + 1
    }

    /// The allowance for clocks that run apart while the lock is held: a hundredth of the ttl, and
    /// two milliseconds for the grain of Redis's expiry.
    fn drift(&self) -> Duration {
        self.node.ttl / 100 + Duration::from_millis(2)
    }

    /// Asks every server at once and waits for each a tenth of the ttl at most, so that one that is
    /// down does not eat up the validity.
    async fn ask_all<T: FromRedisValue>(
        &self,
        command: redis::Cmd,
        yes: impl Fn(T) -> bool,
    ) -> Votes {
        let command = &Rc::new(command);
        let calls = (0..self.servers()).map(|server| async move {
            let call = self.node.call_at::<T>(server, command.clone());
            let time_out = self.node.link.world().sleep(self.node.ttl / 10);
            match select(Box::pin(call), time_out).await {
                Either::Left((answer, _)) => Some(answer),
                Either::Right(_) => None,
            }
        });
        let mut votes = Votes::default();
        for answer in join_all(calls).await {
            votes.count(answer.map(|answer| answer.map(&yes)));
        }
        votes
    }

    /// One try: `None` when there was no majority, or no time left.
    async fn attempt(&mut self) -> Option<Grant> {
        self.value = self.node.unique();
        let asked = self.node.link.world().monotonic();
        let set = self.node.set_nx_px_command(&self.value);
        let votes = self.ask_all(set, |granted: Option<String>| granted.is_some()).await;

        let expires = asked + self.node.ttl.saturating_sub(self.drift());
        if votes.yes >= self.majority() && self.node.link.world().monotonic() < expires {
            return Some(Grant { asked: Some(asked), expires: Some(expires), ..Grant::default() });
        }
        // A server that was asked in vain may have granted it nevertheless, or may do so later.
        self.left = self.left.max(self.free().await.unknown);
        None
    }

    /// The error of an acquire whose timeout is over.
    fn given_up(&self) -> AcquireError {
        if self.left < self.majority() {
            return AcquireError::Failed("no majority".into());
        }
        AcquireError::Unknown(format!("{} servers may still hold it for this client", self.left))
    }

    async fn free(&self) -> Votes {
        let eval = self.node.compare_and_delete_command(&self.value);
        self.ask_all(eval, |removed: u64| removed > 0).await
    }
}

impl Votes {
    fn count(&mut self, answer: Option<CallResult<bool>>) {
        use base::CallError::{Refused, Unknown};
        match answer {
            Some(Ok(true)) => self.yes += 1,
            Some(Ok(false) | Err(Refused(_))) => {}
            Some(Err(Unknown(_))) | None => self.unknown += 1,
        }
    }
}

impl Recipe for Redlock {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let until = self.node.link.world().monotonic() + timeout;
        self.left = 0;
        loop {
            if let Some(grant) = self.attempt().await {
                return Ok(grant);
            }
            if self.node.link.world().monotonic() >= until {
                return Err(self.given_up());
            }
            self.node.back_off(&BACK_OFF).await;
        }
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let Votes { yes, unknown } = self.free().await;
        if yes < self.majority() && unknown > 0 {
            let why = format!("freed on {yes} servers, unknown on {unknown}");
            return Err(ReleaseError::Unknown(why));
        }
        if yes == 0 {
            return Err(ReleaseError::NotHeld("no server had it for this client".into()));
        }
        Ok(Removed::Own)
    }
}
