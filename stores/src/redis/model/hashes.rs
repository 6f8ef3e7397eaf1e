//! The commands on hashes.

use super::commands::Call;
use super::keyspace::Bytes;
use super::number::integer;
use super::value::{Collection, TypedValue};
use crate::redis::reply::{bulk, error, flag, not_an_integer, wrong_arity};
use redis::Value;

/// The fields of a hash with their values, in the order in which they came. Redis keeps that order
/// as long as a hash is small (128 fields, none of more than 64 bytes); no order is certain after
/// that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HashValue(Vec<(Bytes, Bytes)>);

impl HashValue {
    /// All fields with their values, in order.
    pub fn fields(&self) -> &[(Bytes, Bytes)] {
        &self.0
    }

    fn get(&self, field: &[u8]) -> Option<&Bytes> {
        self.0.iter().find(|(name, _)| name.as_slice() == field).map(|(_, value)| value)
    }

    /// Sets a field. Returns true if it is new.
    fn set(&mut self, field: &[u8], value: &[u8]) -> bool {
        let value = Bytes::from_slice(value);
        match self.0.iter_mut().find(|(name, _)| name.as_slice() == field) {
            Some((_, old)) => {
                *old = value;
                false
            }
            None => {
                self.0.push((Bytes::from_slice(field), value));
                true
            }
        }
    }

    fn remove(&mut self, field: &[u8]) -> bool {
        let place = self.0.iter().position(|(name, _)| name.as_slice() == field);
        place.map(|place| self.0.remove(place)).is_some()
    }

    fn value_or_nil(&self, field: &[u8]) -> Value {
        self.get(field).map_or(Value::Nil, |value| bulk(value.to_vec()))
    }
}

impl Collection for HashValue {
    fn of(value: &mut TypedValue) -> Option<&mut Self> {
        match value {
            TypedValue::Hash(hash) => Some(hash),
            _ => None,
        }
    }

    fn stored(self) -> TypedValue {
        TypedValue::Hash(self)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// HSET key field value…: the number of fields that are new.
pub fn hset(call: Call<'_>) -> Result<Value, Value> {
    let (pairs, rest) = call.args[2..].as_chunks::<2>();
    if !rest.is_empty() {
        return Err(wrong_arity(call.name));
    }
    call.change(|hash: &mut HashValue| {
        let new = pairs.iter().filter(|[field, value]| hash.set(field, value)).count();
        Ok((Value::Int(new as i64), true))
    })
}

/// HMSET key field value…, which is HSET of old.
pub fn hmset(call: Call<'_>) -> Result<Value, Value> {
    hset(call).map(|_| Value::Okay)
}

/// HSETNX key field value: sets a field that is not there.
pub fn hsetnx(call: Call<'_>) -> Result<Value, Value> {
    let (field, value) = (call.args[2], call.args[3]);
    call.change(|hash: &mut HashValue| {
        let absent = hash.get(field).is_none() && hash.set(field, value);
        Ok((flag(absent), absent))
    })
}

/// HGET key field: the value, or nil.
pub fn hget(call: Call<'_>) -> Result<Value, Value> {
    let field = call.args[2];
    call.read(|hash: &HashValue| hash.value_or_nil(field))
}

/// HMGET key field…: the values, each of which may be nil.
pub fn hmget(call: Call<'_>) -> Result<Value, Value> {
    let fields = &call.args[2..];
    call.read(|hash: &HashValue| {
        Value::Array(fields.iter().map(|field| hash.value_or_nil(field)).collect())
    })
}

/// HDEL key field…: the number of fields that were there.
pub fn hdel(call: Call<'_>) -> Result<Value, Value> {
    let fields = &call.args[2..];
    call.change(|hash: &mut HashValue| {
        let gone = fields.iter().filter(|field| hash.remove(field)).count();
        Ok((Value::Int(gone as i64), gone > 0))
    })
}

/// HEXISTS key field.
pub fn hexists(call: Call<'_>) -> Result<Value, Value> {
    let field = call.args[2];
    call.read(|hash: &HashValue| flag(hash.get(field).is_some()))
}

/// HLEN key: the number of fields.
pub fn hlen(call: Call<'_>) -> Result<Value, Value> {
    call.read(|hash: &HashValue| Value::Int(hash.0.len() as i64))
}

/// HSTRLEN key field: the length of the value.
pub fn hstrlen(call: Call<'_>) -> Result<Value, Value> {
    let field = call.args[2];
    call.read(|hash: &HashValue| Value::Int(hash.get(field).map_or(0, |it| it.len() as i64)))
}

/// HINCRBY key field number.
pub fn hincrby(call: Call<'_>) -> Result<Value, Value> {
    let field = call.args[2];
    let by = integer(call.args[3]).ok_or_else(not_an_integer)?;
    call.change(|hash: &mut HashValue| {
        let old = hash.get(field).map_or(Some(0), |old| integer(old));
        let old = old.ok_or_else(|| error("ERR hash value is not an integer"))?;
        let sum = old.checked_add(by);
        let sum = sum.ok_or_else(|| error("ERR increment or decrement would overflow"))?;
        hash.set(field, sum.to_string().as_bytes());
        Ok((Value::Int(sum), true))
    })
}

/// HKEYS key: the names of the fields.
pub fn hkeys(call: Call<'_>) -> Result<Value, Value> {
    call.read(|hash: &HashValue| {
        Value::Array(hash.0.iter().map(|(name, _)| bulk(name.to_vec())).collect())
    })
}

/// HVALS key: the values of the fields.
pub fn hvals(call: Call<'_>) -> Result<Value, Value> {
    call.read(|hash: &HashValue| {
        Value::Array(hash.0.iter().map(|(_, value)| bulk(value.to_vec())).collect())
    })
}

/// HGETALL key: each field and its value.
pub fn hgetall(call: Call<'_>) -> Result<Value, Value> {
    call.read(|hash: &HashValue| {
        let pairs = hash.0.iter().flat_map(|(name, value)| [name, value]);
        Value::Array(pairs.map(|it| bulk(it.to_vec())).collect())
    })
}
