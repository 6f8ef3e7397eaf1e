//! The commands on times to live.

use super::commands::{Call, clipped};
use super::keyspace::Millis;
use super::number::integer;
use super::option;
use crate::redis::reply::{error, flag, not_an_integer};
use redis::Value;

/// A time from now on; `None` beyond the end of time.
pub fn relative(millis: Millis, now: Millis) -> Option<Millis> {
    millis.checked_add(now)
}

/// The error reply for a time that makes no sense.
pub fn invalid_expire_time(name: &str) -> Value {
    error(&format!("ERR invalid expire time in '{name}' command"))
}

/// The conditions under which a new expiry may replace the old one.
#[derive(Default)]
struct Conditions {
    absent: bool,
    present: bool,
    greater: bool,
    less: bool,
}

impl Conditions {
    fn parse(options: &[&[u8]]) -> Result<Self, Value> {
        let mut conditions = Self::default();
        for option in options {
            match option::name(option) {
                option::NX => conditions.absent = true,
                option::XX => conditions.present = true,
                option::GT => conditions.greater = true,
                option::LT => conditions.less = true,
                _ => {
                    let option = clipped(option, usize::MAX);
                    return Err(error(&format!("ERR Unsupported option {option}")));
                }
            }
        }
        conditions.compatible()
    }

    fn compatible(self) -> Result<Self, Value> {
        let reason = if self.absent && (self.present || self.greater || self.less) {
            "NX and XX, GT or LT options at the same time are not compatible"
        } else if self.greater && self.less {
            "GT and LT options at the same time are not compatible"
        } else {
            return Ok(self);
        };
        Err(error(&format!("ERR {reason}")))
    }

    /// Returns true if the conditions allow `when`. A key without an expiry counts as one that
    /// lives for ever.
    fn hold(&self, current: Option<Millis>, when: Millis) -> bool {
        !(self.absent && current.is_some()
            || self.present && current.is_none()
            || self.greater && current.is_none_or(|current| when <= current)
            || self.less && current.is_some_and(|current| when >= current))
    }
}

/// EXPIRE key seconds [NX | XX | GT | LT].
pub fn expire(call: Call<'_>) -> Value {
    let now = call.clock.millis;
    expire_from(call, now, 1000)
}

/// PEXPIRE key milliseconds [NX | XX | GT | LT].
pub fn pexpire(call: Call<'_>) -> Value {
    let now = call.clock.millis;
    expire_from(call, now, 1)
}

/// EXPIREAT key seconds [NX | XX | GT | LT].
pub fn expireat(call: Call<'_>) -> Value {
    expire_from(call, 0, 1000)
}

/// PEXPIREAT key milliseconds [NX | XX | GT | LT].
pub fn pexpireat(call: Call<'_>) -> Value {
    expire_from(call, 0, 1)
}

fn expire_from(call: Call<'_>, base: Millis, unit: i64) -> Value {
    let conditions = match Conditions::parse(&call.args[3..]) {
        Ok(conditions) => conditions,
        Err(refusal) => return refusal,
    };
    let Some(number) = integer(call.args[2]) else { return not_an_integer() };
    let Some(when) = number.checked_mul(unit).and_then(|millis| relative(millis, base)) else {
        return invalid_expire_time(call.name);
    };
    let (key, now) = (call.args[1], call.clock.millis);
    let Some(entry) = call.keys.get(key, now) else { return flag(false) };
    if !conditions.hold(entry.expires, when) {
        return flag(false);
    }
    // A time that is over deletes the key at once.
    if when <= now {
        call.keys.delete(key, now);
    } else {
        entry.expires = Some(when);
        call.keys.touch(key, true);
    }
    flag(true)
}

/// PERSIST key: removes the expiry.
pub fn persist(call: Call<'_>) -> Value {
    let entry = call.keys.get(call.args[1], call.clock.millis);
    let had_one = entry.is_some_and(|entry| entry.expires.take().is_some());
    if had_one {
        call.keys.touch(call.args[1], true);
    }
    flag(had_one)
}

/// TTL key, in seconds, rounded.
pub fn ttl(call: Call<'_>) -> Value {
    let now = call.clock.millis;
    time_left(call, |when| seconds(left(when, now)))
}

/// PTTL key, in milliseconds.
pub fn pttl(call: Call<'_>) -> Value {
    let now = call.clock.millis;
    time_left(call, |when| left(when, now))
}

/// EXPIRETIME key, in seconds since the epoch, rounded.
pub fn expiretime(call: Call<'_>) -> Value {
    time_left(call, |when| seconds(when.max(0)))
}

/// PEXPIRETIME key, in milliseconds since the epoch.
pub fn pexpiretime(call: Call<'_>) -> Value {
    time_left(call, |when| when.max(0))
}

/// Rounds to seconds. The end of time has no half a second after it; Redis counts on all the same.
fn seconds(millis: Millis) -> i64 {
    ((millis.unsigned_abs() + 500) / 1000) as i64
}

fn left(when: Millis, now: Millis) -> i64 {
    when.saturating_sub(now).max(0)
}

/// The time left of a key: -2 without a key, -1 without an expiry.
fn time_left(call: Call<'_>, tell: impl Fn(Millis) -> i64) -> Value {
    let entry = call.keys.get(call.args[1], call.clock.millis);
    Value::Int(entry.map_or(-2, |entry| entry.expires.map_or(-1, tell)))
}
