//! A server as a Sentinel sees it: when it last answered, what it last reported.

use super::{Millis, Status};
use crate::redis::sentinel_timing::{self, SentinelTiming};

/// The interval at which a Sentinel asks a server whether it is alive, unless it is to notice
/// sooner.
pub const PING_PERIOD: Millis = 1_000;

/// The interval at which it asks a server what it does, and the shorter one while it matters.
pub const INFO_PERIOD: Millis = sentinel_timing::INFO_PERIOD.as_millis() as Millis;
const URGENT_INFO_PERIOD: Millis = 1_000;

/// A server that a Sentinel watches. Times are readings of the Sentinel's wall clock.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The time of the oldest question that is not answered.
    asked: Option<Millis>,
    /// The time of the last question, and of the last time that it was asked for a connection.
    pinged: Millis,
    knocked: Millis,
    /// The time of the last answer.
    heard: Millis,
    /// True if it has closed the connection, or none was made yet, and it has not answered since.
    pub hung_up: bool,
    /// True if it has not answered for too long.
    pub is_down: bool,
    /// The time at which it was last found to be down.
    found_down: Option<Millis>,
    /// The state that it reported last, and the time of that report.
    pub status: Option<(Status, Millis)>,
    /// The time since which it has reported that it is a master, or that it follows the same one.
    pub since: Millis,
}

impl Watched {
    /// Begins to watch a server. It is taken as asked, so that one which never answers is found
    /// down.
    pub fn new(now: Millis) -> Self {
        Self {
            asked: Some(now),
            pinged: now,
            knocked: now - PING_PERIOD,
            heard: now,
            hung_up: true,
            is_down: false,
            found_down: None,
            status: None,
            since: now,
        }
    }

    /// Returns true if it is to be asked now whether it is alive. One that has hung up is asked for
    /// a connection with it.
    pub fn ping(&mut self, now: Millis, timing: SentinelTiming) -> bool {
        let period = PING_PERIOD.min(timing.down_after.as_millis() as Millis);
        let due = match self.hung_up {
            true => now - self.knocked >= PING_PERIOD,
            false => now - self.heard > period && now - self.pinged > period / 2,
        };
        if due && self.hung_up {
            self.knocked = now;
        }
        if due {
            self.pinged = now;
            self.asked.get_or_insert(now);
        }
        due
    }

    /// Returns true if it is to be asked now what it does.
    pub fn inquire(&self, now: Millis, is_urgent: bool) -> bool {
        let period = if is_urgent { URGENT_INFO_PERIOD } else { INFO_PERIOD };
        !self.hung_up && self.status.is_none_or(|(_, at)| now - at > period)
    }

    /// Notes an answer to the question whether it is alive.
    pub fn hear(&mut self, now: Millis) {
        (self.asked, self.heard, self.hung_up) = (None, now, false);
    }

    /// Notes what it reported of itself.
    pub fn learn(&mut self, now: Millis, status: Status) {
        let before = self.status.map(|(status, _)| status.follows);
        if before != Some(status.follows) {
            self.since = now;
        }
        self.status = Some((status, now));
    }

    /// Decides whether it counts as down: it has not answered for too long.
    pub fn judge(&mut self, now: Millis, timing: SentinelTiming) {
        let since = self.asked.or(self.hung_up.then_some(self.heard));
        let silent = since.map_or(0, |since| now - since);
        self.set_down(now, silent > timing.down_after.as_millis() as Millis);
    }

    /// Notes whether it is down.
    pub fn set_down(&mut self, now: Millis, is_down: bool) {
        if is_down && !self.is_down {
            self.found_down = Some(now);
        }
        self.is_down = is_down;
    }

    /// Returns true if it was not found to be down for so long.
    pub fn is_well_for(&self, now: Millis, time: Millis) -> bool {
        self.found_down.is_none_or(|at| now - at > time)
    }

    /// Returns true if it may be promoted: it answers, and has reported its role of late.
    pub fn is_fit(&self, now: Millis) -> bool {
        let fresh = |(_, at): &(Status, Millis)| now - at <= PING_PERIOD * 5;
        !self.hung_up
            && !self.is_down
            && now - self.heard <= PING_PERIOD * 5
            && self.status.as_ref().is_some_and(fresh)
    }
}
