//! The commands on strings, and those on values of any type.

use super::commands::Call;
use super::expiry::{invalid_expire_time, relative};
use super::keyspace::{Millis, StoredValue};
use super::number::integer;
use super::option;
use super::value::{TypedValue, wrong_type};
use crate::redis::reply::{error, flag, not_an_integer, status, syntax_error};
use redis::Value;

/// GET key: the value, or nil.
pub fn get(call: Call<'_>) -> Value {
    stored(call.keys.get(call.args[1], call.clock.millis).as_deref())
}

/// The string of an entry, nil without one, or the error reply for a value of another type.
fn stored(entry: Option<&StoredValue>) -> Value {
    match entry.map(|entry| &entry.value) {
        Some(TypedValue::Text(text)) => Value::BulkString(text.to_vec()),
        Some(_) => wrong_type(),
        None => Value::Nil,
    }
}

const fn is_refused(reply: &Value) -> bool {
    matches!(reply, Value::ServerError(_))
}

/// The options behind SET's key and value.
#[derive(Default)]
struct SetOptions<'a> {
    only: Option<Only>,
    get: bool,
    keep_ttl: bool,
    expiry: Option<Expiry<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    IfAbsent,
    IfPresent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Millis,
    SecondsAt,
    MillisAt,
}

/// A time and its unit, as they are written.
type Expiry<'a> = (Unit, &'a [u8]);

impl<'a> SetOptions<'a> {
    /// Reads the options. `None` is a syntax error. An option may stand twice, two of one kind may
    /// not: Redis decides this by flags that exclude each other, and so does this.
    fn parse(args: &[&'a [u8]]) -> Option<Self> {
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
            match option::name(option) {
                option::NX if options.only != Some(Only::IfPresent) => {
                    options.only = Some(Only::IfAbsent);
                }
                option::XX if options.only != Some(Only::IfAbsent) => {
                    options.only = Some(Only::IfPresent);
                }
                option::GET => options.get = true,
                option::KEEPTTL if options.expiry.is_none() => options.keep_ttl = true,
                other => {
                    let unit = unit(other)?;
                    let same = options.expiry.is_none_or(|(before, _)| before == unit);
                    if options.keep_ttl || !same {
                        return None;
                    }
                    options.expiry = Some((unit, rest.next()?));
                }
            }
        }
        Some(options)
    }

    fn allows(&self, found: bool) -> bool {
        match self.only {
            None => true,
            Some(Only::IfAbsent) => !found,
            Some(Only::IfPresent) => found,
        }
    }
}

fn unit(option: u64) -> Option<Unit> {
    match option {
        option::EX => Some(Unit::Seconds),
        option::PX => Some(Unit::Millis),
        option::EXAT => Some(Unit::SecondsAt),
        option::PXAT => Some(Unit::MillisAt),
        _ => None,
    }
}

/// SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL].
pub fn set(call: Call<'_>) -> Value {
    match SetOptions::parse(&call.args[3..]) {
        Some(options) => set_with(call, &options),
        None => syntax_error(),
    }
}

fn set_with(call: Call<'_>, options: &SetOptions<'_>) -> Value {
    let now = call.clock.millis;
    let expires = match options.expiry {
        None => None,
        Some((unit, text)) => match expiry_time(unit, text, now, call.name) {
            Ok(when) => Some(when),
            Err(refusal) => return refusal,
        },
    };
    let (key, value) = (call.args[1], call.args[2]);
    let old = call.keys.get(key, now);
    let reply = options.get.then(|| stored(old.as_deref()));
    if !options.allows(old.is_some()) || reply.as_ref().is_some_and(is_refused) {
        return reply.unwrap_or(Value::Nil);
    }
    let kept = old.filter(|_| options.keep_ttl).and_then(|entry| entry.expires);
    call.keys.put(key, value, expires.or(kept));
    reply.unwrap_or(Value::Okay)
}

/// The time at which SET's key runs out; only times after the epoch make sense to it.
fn expiry_time(unit: Unit, text: &[u8], now: Millis, name: &str) -> Result<Millis, Value> {
    let number = integer(text).ok_or_else(not_an_integer)?;
    let refusal = || invalid_expire_time(name);
    let seconds = matches!(unit, Unit::Seconds | Unit::SecondsAt);
    let millis = if seconds { number.checked_mul(1000) } else { Some(number) };
    let millis = millis.filter(|_| number > 0).ok_or_else(refusal)?;
    match unit {
        Unit::Seconds | Unit::Millis => relative(millis, now).ok_or_else(refusal),
        Unit::SecondsAt | Unit::MillisAt => Ok(millis),
    }
}

/// SETNX key value.
pub fn setnx(call: Call<'_>) -> Value {
    let absent = call.keys.get(call.args[1], call.clock.millis).is_none();
    if absent {
        call.keys.put(call.args[1], call.args[2], None);
    }
    flag(absent)
}

/// SETEX key seconds value.
pub fn setex(call: Call<'_>) -> Value {
    set_for(call, Unit::Seconds)
}

/// PSETEX key milliseconds value.
pub fn psetex(call: Call<'_>) -> Value {
    set_for(call, Unit::Millis)
}

fn set_for(call: Call<'_>, unit: Unit) -> Value {
    match expiry_time(unit, call.args[2], call.clock.millis, call.name) {
        Ok(when) => {
            call.keys.put(call.args[1], call.args[3], Some(when));
            Value::Okay
        }
        Err(refusal) => refusal,
    }
}

/// GETSET key value. The new value has no expiry, whatever the old one had.
pub fn getset(call: Call<'_>) -> Value {
    let old = stored(call.keys.get(call.args[1], call.clock.millis).as_deref());
    if !is_refused(&old) {
        call.keys.put(call.args[1], call.args[2], None);
    }
    old
}

/// GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST].
pub fn getex(call: Call<'_>) -> Value {
    let now = call.clock.millis;
    let Some((persist, expiry)) = getex_options(&call.args[2..]) else { return syntax_error() };
    let Some(entry) = call.keys.get(call.args[1], now) else { return Value::Nil };
    let value = stored(Some(entry));
    if is_refused(&value) {
        return value;
    }
    let Some((unit, text)) = expiry else {
        if persist && entry.expires.take().is_some() {
            call.keys.touch(call.args[1], true);
        }
        return value;
    };
    match expiry_time(unit, text, now, call.name) {
        // A time that is over deletes the key at once.
        Ok(when) if when <= now => drop(call.keys.delete(call.args[1], now)),
        Ok(when) => {
            entry.expires = Some(when);
            call.keys.touch(call.args[1], true);
        }
        Err(refusal) => return refusal,
    }
    value
}

/// The options of GETEX: whether it removes the expiry, and which it sets. `None` is a syntax
/// error.
fn getex_options<'a>(args: &[&'a [u8]]) -> Option<(bool, Option<Expiry<'a>>)> {
    let (mut persist, mut expiry) = (false, None);
    let mut rest = args.iter();
    while let Some(option) = rest.next() {
        match option::name(option) {
            option::PERSIST if expiry.is_none() => persist = true,
            other => {
                let unit = unit(other)?;
                let same = expiry.is_none_or(|(before, _)| before == unit);
                if persist || !same {
                    return None;
                }
                expiry = Some((unit, *rest.next()?));
            }
        }
    }
    Some((persist, expiry))
}

/// GETDEL key: the value, or nil, and deletes the key.
pub fn getdel(call: Call<'_>) -> Value {
    let now = call.clock.millis;
    let old = stored(call.keys.get(call.args[1], now).as_deref());
    if !is_refused(&old) {
        call.keys.delete(call.args[1], now);
    }
    old
}

/// DEL key… and UNLINK key….
pub fn del(call: Call<'_>) -> Value {
    let now = call.clock.millis;
    let gone = call.args[1..].iter().filter(|key| call.keys.delete(key, now)).count();
    Value::Int(gone as i64)
}

/// EXISTS key…. A key that is named twice counts twice.
pub fn exists(call: Call<'_>) -> Value {
    let now = call.clock.millis;
    let there = call.args[1..].iter().filter(|key| call.keys.get(key, now).is_some()).count();
    Value::Int(there as i64)
}

/// TYPE key: the name of the value's type.
pub fn type_of(call: Call<'_>) -> Value {
    let entry = call.keys.get(call.args[1], call.clock.millis);
    status(entry.map_or("none", |entry| entry.value.type_name()).into())
}

/// INCR key: adds one.
pub fn incr(call: Call<'_>) -> Value {
    add(call, 1)
}

/// DECR key: subtracts one.
pub fn decr(call: Call<'_>) -> Value {
    add(call, -1)
}

/// INCRBY key number.
pub fn incrby(call: Call<'_>) -> Value {
    match integer(call.args[2]) {
        Some(by) => add(call, by),
        None => not_an_integer(),
    }
}

/// DECRBY key number.
pub fn decrby(call: Call<'_>) -> Value {
    match integer(call.args[2]).map(i64::checked_neg) {
        Some(Some(by)) => add(call, by),
        Some(None) => error("ERR decrement would overflow"),
        None => not_an_integer(),
    }
}

fn add(call: Call<'_>, by: i64) -> Value {
    let key = call.args[1];
    let old = match call.keys.get(key, call.clock.millis).map(|entry| &entry.value) {
        None => Some(0),
        Some(TypedValue::Text(text)) => integer(text),
        Some(_) => return wrong_type(),
    };
    let Some(old) = old else { return not_an_integer() };
    let Some(sum) = old.checked_add(by) else {
        return error("ERR increment or decrement would overflow");
    };
    call.keys.put_count(key, sum, call.clock.millis);
    Value::Int(sum)
}

/// APPEND key bytes: the length of the string.
pub fn append(call: Call<'_>) -> Value {
    let (key, bytes) = (call.args[1], call.args[2]);
    let Some(entry) = call.keys.get(key, call.clock.millis) else {
        call.keys.put(key, bytes, None);
        return Value::Int(bytes.len() as i64);
    };
    let TypedValue::Text(text) = &entry.value else { return wrong_type() };
    let (longer, expires) = ([text, bytes].concat(), entry.expires);
    call.keys.put(key, &longer, expires);
    Value::Int(longer.len() as i64)
}
