//! The commands on sorted sets that change them, and the sorted sets themselves.

use super::commands::Call;
use super::keyspace::Bytes;
use super::lists::{places, pop_count};
use super::number::{float, integer, lua_number};
use super::option;
use super::score_range::{LexRange, MemberBounds, ScoreRange};
use super::value::{Collection, TypedValue};
use crate::redis::reply::{bulk, error, not_an_integer, syntax_error};
use redis::Value;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// The score of a member. It is never NaN, and never -0: as long as a sorted set is small, Redis
/// stores whole numbers as integers.
#[derive(Clone, Copy, Debug)]
pub struct Score(pub f64);

impl Score {
    fn new(score: f64) -> Self {
        // The sum of -0 and 0 is 0.
        Self(score + 0.0)
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Score {}

impl Hash for Score {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A member with its score, in the order of a sorted set.
pub type Scored = (Score, Bytes);

/// The members of a sorted set, by their scores, and by their bytes where those are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SortedSetValue(Vec<Scored>);

impl Collection for SortedSetValue {
    fn of(value: &mut TypedValue) -> Option<&mut Self> {
        match value {
            TypedValue::SortedSet(set) => Some(set),
            _ => None,
        }
    }

    fn stored(self) -> TypedValue {
        TypedValue::SortedSet(self)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl SortedSetValue {
    /// All members in order.
    pub fn members(&self) -> &[Scored] {
        &self.0
    }

    /// The place of a member from the first one.
    pub fn rank(&self, member: &[u8]) -> Option<usize> {
        self.0.iter().position(|(_, known)| known.as_slice() == member)
    }

    fn insert(&mut self, score: f64, member: &[u8]) {
        let scored = (Score::new(score), Bytes::from_slice(member));
        let place = self.0.partition_point(|known| *known < scored);
        self.0.insert(place, scored);
    }

    /// Sets the score of a member, unless the conditions forbid it.
    fn add(&mut self, options: &AddOptions, score: f64, member: &[u8]) -> Result<Added, Value> {
        let Some(rank) = self.rank(member) else {
            if options.present {
                return Ok(Added::Nothing);
            }
            self.insert(score, member);
            return Ok(Added::New(score));
        };
        let old = self.0[rank].0.0;
        let score = if options.increment { old + score } else { score };
        if options.absent {
            return Ok(Added::Nothing);
        }
        if score.is_nan() {
            return Err(error("ERR resulting score is not a number (NaN)"));
        }
        if options.less && score >= old || options.greater && score <= old {
            return Ok(Added::Nothing);
        }
        if score == old {
            return Ok(Added::Same(score));
        }
        self.0.remove(rank);
        self.insert(score, member);
        Ok(Added::Changed(score))
    }
}

/// The effect of an addition, with the score that the member has now.
enum Added {
    Nothing,
    Same(f64),
    Changed(f64),
    New(f64),
}

/// The options of ZADD.
#[derive(Default)]
struct AddOptions {
    absent: bool,
    present: bool,
    greater: bool,
    less: bool,
    /// True if the reply counts members whose score has changed, too.
    changed: bool,
    increment: bool,
}

impl AddOptions {
    /// Reads the options, and returns what stands behind them.
    fn parse<'a>(mut self, words: &'a [&'a [u8]]) -> (Self, &'a [&'a [u8]]) {
        for (place, word) in words.iter().enumerate() {
            match option::name(word) {
                option::NX => self.absent = true,
                option::XX => self.present = true,
                option::GT => self.greater = true,
                option::LT => self.less = true,
                option::CH => self.changed = true,
                option::INCR => self.increment = true,
                _ => return (self, &words[place..]),
            }
        }
        (self, &[])
    }

    fn check(&self, members: usize) -> Result<(), Value> {
        let reason = if self.absent && self.present {
            "XX and NX options at the same time are not compatible"
        } else if self.absent && (self.greater || self.less) || self.greater && self.less {
            "GT, LT, and/or NX options at the same time are not compatible"
        } else if self.increment && members > 1 {
            "INCR option supports a single increment-element pair"
        } else {
            return Ok(());
        };
        Err(error(&format!("ERR {reason}")))
    }
}

/// ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member….
pub fn zadd(call: Call<'_>) -> Result<Value, Value> {
    add(call, AddOptions::default())
}

/// ZINCRBY key number member. Redis reads it as ZADD with INCR, options and all.
pub fn zincrby(call: Call<'_>) -> Result<Value, Value> {
    add(call, AddOptions { increment: true, ..AddOptions::default() })
}

fn add(call: Call<'_>, options: AddOptions) -> Result<Value, Value> {
    let (options, words) = options.parse(&call.args[2..]);
    let (pairs, rest) = words.as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return Err(syntax_error());
    }
    options.check(pairs.len())?;
    let scored = |[score, member]: &[&'_ [u8]; 2]| {
        let score = float(score).ok_or_else(|| error("ERR value is not a valid float"))?;
        Ok((score, Bytes::from_slice(member)))
    };
    let scored = pairs.iter().map(scored).collect::<Result<Vec<(f64, Bytes)>, Value>>()?;
    call.change(|set: &mut SortedSetValue| {
        let (mut new, mut changed, mut last) = (0, 0, Value::Nil);
        for (score, member) in &scored {
            let (is_new, is_changed, score) = match set.add(&options, *score, member)? {
                Added::Nothing => continue,
                Added::Same(score) => (0, 0, score),
                Added::Changed(score) => (0, 1, score),
                Added::New(score) => (1, 0, score),
            };
            (new, changed) = (new + is_new, changed + is_changed);
            last = bulk(lua_number(score));
        }
        let count = if options.changed { new + changed } else { new };
        let reply = if options.increment { last } else { Value::Int(count) };
        Ok((reply, new + changed > 0))
    })
}

/// ZREM key member…: the number of members that were there.
pub fn zrem(call: Call<'_>) -> Result<Value, Value> {
    let members = &call.args[2..];
    call.change(|set: &mut SortedSetValue| {
        let mut gone = 0;
        for member in members {
            if let Some(rank) = set.rank(member) {
                set.0.remove(rank);
                gone += 1;
            }
        }
        Ok((Value::Int(gone), gone > 0))
    })
}

/// ZREMRANGEBYRANK key start end.
pub fn zremrangebyrank(call: Call<'_>) -> Result<Value, Value> {
    let number = |word| integer(word).ok_or_else(not_an_integer);
    let (start, end) = (number(call.args[2])?, number(call.args[3])?);
    call.change(|set: &mut SortedSetValue| {
        let gone = set.0.drain(places(start, end, set.0.len())).count();
        Ok((Value::Int(gone as i64), gone > 0))
    })
}

/// ZREMRANGEBYSCORE key min max.
pub fn zremrangebyscore(call: Call<'_>) -> Result<Value, Value> {
    let range = ScoreRange::parse(call.args[2], call.args[3])?;
    let Call { keys, clock, args, .. } = call;
    let mut gone = Vec::new();
    let reply = keys.change(args[1], clock.millis, |set: &mut SortedSetValue| {
        gone = remove(set, &range);
        Ok(counted(&gone))
    })?;
    if let Some(members) = keys.members.as_mut().filter(|_| range.is_of_the_least()) {
        members.note_overdue(args[1], gone.iter().map(|(_, member)| member));
    }
    Ok(reply)
}

/// ZREMRANGEBYLEX key min max.
pub fn zremrangebylex(call: Call<'_>) -> Result<Value, Value> {
    let range = LexRange::parse(call.args[2], call.args[3])?;
    call.change(|set: &mut SortedSetValue| Ok(counted(&remove(set, &range))))
}

fn remove(set: &mut SortedSetValue, range: &impl MemberBounds) -> Vec<Scored> {
    set.0.drain(range.places(&set.0, false)).collect()
}

fn counted(gone: &[Scored]) -> (Value, bool) {
    (Value::Int(gone.len() as i64), !gone.is_empty())
}

/// ZPOPMIN key [count]: the members with the least scores.
pub fn zpopmin(call: Call<'_>) -> Result<Value, Value> {
    pop(call, |set| (!set.0.is_empty()).then(|| set.0.remove(0)))
}

/// ZPOPMAX key [count].
pub fn zpopmax(call: Call<'_>) -> Result<Value, Value> {
    pop(call, |set| set.0.pop())
}

fn pop(
    call: Call<'_>,
    mut next: impl FnMut(&mut SortedSetValue) -> Option<Scored>,
) -> Result<Value, Value> {
    let count = match call.args {
        [_, _] => 1,
        [_, _, count] => pop_count(count)?,
        _ => return Err(syntax_error()),
    };
    call.change(|set: &mut SortedSetValue| {
        let popped: Vec<Scored> = (0..count).map_while(|_| next(set)).collect();
        Ok((members_reply(&popped, true), !popped.is_empty()))
    })
}

/// Members as a reply, with their scores or without.
pub fn members_reply(members: &[Scored], with_scores: bool) -> Value {
    let words = members.iter().flat_map(|(score, member)| {
        let score = with_scores.then(|| bulk(lua_number(score.0)));
        std::iter::once(bulk(member.to_vec())).chain(score)
    });
    Value::Array(words.collect())
}
