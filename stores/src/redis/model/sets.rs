//! The commands on sets.

use super::commands::Call;
use super::keyspace::Bytes;
use super::number::integer;
use super::value::{Collection, TypedValue};
use crate::redis::reply::{bulk, flag};
use redis::Value;

/// The members of a set, in the order of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SetValue(Vec<Bytes>);

impl SetValue {
    /// All members in order.
    pub fn members(&self) -> &[Bytes] {
        &self.0
    }

    fn place(&self, member: &[u8]) -> Result<usize, usize> {
        self.0.binary_search_by(|known| known.as_slice().cmp(member))
    }

    /// Adds a member. Returns true if it is new.
    fn add(&mut self, member: &[u8]) -> bool {
        let place = self.place(member);
        place.map_err(|place| self.0.insert(place, Bytes::from_slice(member))).is_err()
    }

    fn remove(&mut self, member: &[u8]) -> bool {
        self.place(member).map(|place| self.0.remove(place)).is_ok()
    }

    fn has(&self, member: &[u8]) -> Value {
        flag(self.place(member).is_ok())
    }
}

impl Collection for SetValue {
    fn of(value: &mut TypedValue) -> Option<&mut Self> {
        match value {
            TypedValue::Set(set) => Some(set),
            _ => None,
        }
    }

    fn stored(self) -> TypedValue {
        TypedValue::Set(self)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// SADD key member…: the number of members that are new.
pub fn sadd(call: Call<'_>) -> Result<Value, Value> {
    let members = &call.args[2..];
    call.change(|set: &mut SetValue| {
        let new = members.iter().filter(|member| set.add(member)).count();
        Ok((Value::Int(new as i64), new > 0))
    })
}

/// SREM key member…: the number of members that were there.
pub fn srem(call: Call<'_>) -> Result<Value, Value> {
    let members = &call.args[2..];
    call.change(|set: &mut SetValue| {
        let gone = members.iter().filter(|member| set.remove(member)).count();
        Ok((Value::Int(gone as i64), gone > 0))
    })
}

/// SISMEMBER key member.
pub fn sismember(call: Call<'_>) -> Result<Value, Value> {
    let member = call.args[2];
    call.read(|set: &SetValue| set.has(member))
}

/// SMISMEMBER key member….
pub fn smismember(call: Call<'_>) -> Result<Value, Value> {
    let members = &call.args[2..];
    call.read(|set: &SetValue| Value::Array(members.iter().map(|it| set.has(it)).collect()))
}

/// SCARD key: the number of members.
pub fn scard(call: Call<'_>) -> Result<Value, Value> {
    call.read(|set: &SetValue| Value::Int(set.0.len() as i64))
}

/// SMEMBERS key. Redis keeps numbers alone in the order of their size; the order of anything else
/// is by chance there, and by their bytes here.
pub fn smembers(call: Call<'_>) -> Result<Value, Value> {
    call.read(|set: &SetValue| {
        let numbers: Option<Vec<i64>> = set.0.iter().map(|member| integer(member)).collect();
        Value::Array(match numbers {
            Some(mut numbers) => {
                numbers.sort_unstable();
                numbers.into_iter().map(|number| bulk(number.to_string())).collect()
            }
            None => set.0.iter().map(|member| bulk(member.to_vec())).collect(),
        })
    })
}
