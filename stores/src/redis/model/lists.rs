//! The commands on lists.

use super::commands::Call;
use super::keyspace::{Bytes, Keyspace, Millis};
use super::number::integer;
use super::option;
use super::value::{Collection, TypedValue};
use crate::redis::reply::{bulk, error, not_an_integer, syntax_error, wrong_arity};
use redis::Value;
use std::collections::VecDeque;
use std::ops::Range;

/// The items of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListValue(VecDeque<Bytes>);

impl Collection for ListValue {
    fn of(value: &mut TypedValue) -> Option<&mut Self> {
        match value {
            TypedValue::List(list) => Some(list),
            _ => None,
        }
    }

    fn stored(self) -> TypedValue {
        TypedValue::List(self)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListEnd {
    /// The head.
    Left,
    /// The tail.
    Right,
}

impl ListEnd {
    /// Reads LEFT or RIGHT.
    ///
    /// # Errors
    /// The error reply for anything else.
    pub fn parse(word: &[u8]) -> Result<Self, Value> {
        match option::name(word) {
            option::LEFT => Ok(Self::Left),
            option::RIGHT => Ok(Self::Right),
            _ => Err(syntax_error()),
        }
    }
}

impl ListValue {
    fn push(&mut self, end: ListEnd, item: Bytes) {
        match end {
            ListEnd::Left => self.0.push_front(item),
            ListEnd::Right => self.0.push_back(item),
        }
    }

    fn pop(&mut self, end: ListEnd) -> Option<Bytes> {
        match end {
            ListEnd::Left => self.0.pop_front(),
            ListEnd::Right => self.0.pop_back(),
        }
    }

    /// Removes items that are equal to this one: so many from the head, or from the tail for a
    /// negative number, or all for 0. Returns how many.
    fn remove(&mut self, item: &[u8], count: i64) -> usize {
        let is_it = |known: &Bytes| known.as_slice() == item;
        let there = self.0.iter().filter(|known| is_it(known)).count();
        let most = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let gone = if count == 0 { there } else { there.min(most) };
        let first = if count < 0 { there - gone } else { 0 };
        let mut seen = 0;
        self.0.retain(|known| {
            let goes = is_it(known) && (first..first + gone).contains(&seen);
            seen += usize::from(is_it(known));
            !goes
        });
        gone
    }
}

/// The places from one index to another, of which negative ones count from the end.
pub fn places(start: i64, end: i64, length: usize) -> Range<usize> {
    let length = length as i64;
    let from_end = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let (start, end) = (from_end(start).max(0), from_end(end).min(length - 1));
    if start > end { 0..0 } else { start as usize..end as usize + 1 }
}

fn index(word: &[u8]) -> Result<i64, Value> {
    integer(word).ok_or_else(not_an_integer)
}

/// The number of things to pop, which is not negative.
pub fn pop_count(word: &[u8]) -> Result<usize, Value> {
    let count = integer(word).and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| error("ERR value is out of range, must be positive"))
}

fn value_or_nil(item: Option<Bytes>) -> Value {
    item.map_or(Value::Nil, |item| bulk(item.into_vec()))
}

/// LPUSH key item…: the length of the list.
pub fn lpush(call: Call<'_>) -> Result<Value, Value> {
    push(call, ListEnd::Left, true)
}

/// RPUSH key item….
pub fn rpush(call: Call<'_>) -> Result<Value, Value> {
    push(call, ListEnd::Right, true)
}

/// LPUSHX key item…: does nothing without a list.
pub fn lpushx(call: Call<'_>) -> Result<Value, Value> {
    push(call, ListEnd::Left, false)
}

/// RPUSHX key item….
pub fn rpushx(call: Call<'_>) -> Result<Value, Value> {
    push(call, ListEnd::Right, false)
}

fn push(call: Call<'_>, end: ListEnd, makes: bool) -> Result<Value, Value> {
    let items = &call.args[2..];
    call.change(|list: &mut ListValue| {
        let pushes = makes || !list.is_empty();
        if pushes {
            items.iter().for_each(|item| list.push(end, Bytes::from_slice(item)));
        }
        Ok((Value::Int(list.0.len() as i64), pushes))
    })
}

/// LPOP key [count].
pub fn lpop(call: Call<'_>) -> Result<Value, Value> {
    pop(call, ListEnd::Left)
}

/// RPOP key [count].
pub fn rpop(call: Call<'_>) -> Result<Value, Value> {
    pop(call, ListEnd::Right)
}

fn pop(call: Call<'_>, end: ListEnd) -> Result<Value, Value> {
    let count = match call.args {
        [_, _] => None,
        [_, _, count] => Some(pop_count(count)?),
        _ => return Err(wrong_arity(call.name)),
    };
    call.change(|list: &mut ListValue| {
        let Some(count) = count else {
            let item = list.pop(end);
            let popped = item.is_some();
            return Ok((value_or_nil(item), popped));
        };
        if list.is_empty() {
            return Ok((Value::Nil, false));
        }
        let items: Vec<Value> =
            (0..count.min(list.0.len())).map(|_| value_or_nil(list.pop(end))).collect();
        let popped = !items.is_empty();
        Ok((Value::Array(items), popped))
    })
}

/// LREM key count item: the number of items that were removed.
pub fn lrem(call: Call<'_>) -> Result<Value, Value> {
    let (count, item) = (index(call.args[2])?, call.args[3]);
    call.change(|list: &mut ListValue| {
        let gone = list.remove(item, count);
        Ok((Value::Int(gone as i64), gone > 0))
    })
}

/// LRANGE key start end.
pub fn lrange(call: Call<'_>) -> Result<Value, Value> {
    let (start, end) = (index(call.args[2])?, index(call.args[3])?);
    call.read(|list: &ListValue| {
        let items = list.0.range(places(start, end, list.0.len()));
        Value::Array(items.map(|item| bulk(item.to_vec())).collect())
    })
}

/// LLEN key: the length of the list.
pub fn llen(call: Call<'_>) -> Result<Value, Value> {
    call.read(|list: &ListValue| Value::Int(list.0.len() as i64))
}

/// LINDEX key index. The index in a list that is not there may be anything.
pub fn lindex(call: Call<'_>) -> Result<Value, Value> {
    let place = index(call.args[2]);
    call.read(|list: &ListValue| {
        if list.is_empty() {
            return Ok(Value::Nil);
        }
        let from_end = |place: i64| place.saturating_add(list.0.len() as i64);
        let place = place.map(|place| if place < 0 { from_end(place) } else { place })?;
        Ok(value_or_nil(usize::try_from(place).ok().and_then(|place| list.0.get(place).cloned())))
    })?
}

/// LTRIM key start end: keeps these items alone. It counts as a write even if they are all.
pub fn ltrim(call: Call<'_>) -> Result<Value, Value> {
    let (start, end) = (index(call.args[2])?, index(call.args[3])?);
    call.change(|list: &mut ListValue| {
        let kept = places(start, end, list.0.len());
        list.0.truncate(kept.end);
        list.0.drain(..kept.start);
        Ok((Value::Okay, true))
    })
}

/// RPOPLPUSH source destination.
pub fn rpoplpush(call: Call<'_>) -> Result<Value, Value> {
    let (source, destination) = (call.args[1], call.args[2]);
    let ends = (ListEnd::Right, ListEnd::Left);
    move_item(call.keys, call.clock.millis, (source, destination), ends)
}

/// LMOVE source destination LEFT|RIGHT LEFT|RIGHT.
pub fn lmove(call: Call<'_>) -> Result<Value, Value> {
    let (source, destination) = (call.args[1], call.args[2]);
    let ends = (ListEnd::parse(call.args[3])?, ListEnd::parse(call.args[4])?);
    move_item(call.keys, call.clock.millis, (source, destination), ends)
}

/// Takes an item from an end of a list; `None` if there is no list.
///
/// # Errors
/// The error reply, if the key has a value of another type.
pub fn pop_item(
    keys: &mut Keyspace,
    key: &[u8],
    now: Millis,
    end: ListEnd,
) -> Result<Option<Bytes>, Value> {
    let mut popped = None;
    keys.change(key, now, |list: &mut ListValue| {
        popped = list.pop(end);
        Ok((Value::Nil, popped.is_some()))
    })?;
    Ok(popped)
}

/// Moves an item from an end of a list to an end of another, or of the same one.
///
/// # Errors
/// The error reply, if one of the keys has a value of another type.
pub fn move_item(
    keys: &mut Keyspace,
    now: Millis,
    (source, destination): (&[u8], &[u8]),
    (from, to): (ListEnd, ListEnd),
) -> Result<Value, Value> {
    if keys.read(source, now, ListValue::is_empty)? {
        return Ok(Value::Nil);
    }
    if source == destination {
        // Not even for a moment is it empty, which would end its time to live.
        return keys.change(source, now, |list: &mut ListValue| {
            let item = list.pop(from);
            item.iter().for_each(|item| list.push(to, item.clone()));
            Ok((value_or_nil(item), true))
        });
    }
    keys.read(destination, now, |_: &ListValue| ())?;
    let Some(item) = pop_item(keys, source, now, from)? else { return Ok(Value::Nil) };
    keys.change(destination, now, |list: &mut ListValue| {
        list.push(to, item.clone());
        Ok((value_or_nil(Some(item)), true))
    })
}
