//! The commands that read a sorted set, and ranges of scores and of members.

use super::commands::Call;
use super::lists::places;
use super::number::{float_before, integer, lua_number};
use super::option;
use super::sorted_sets::{Scored, SortedSetValue, members_reply};
use crate::redis::reply::{bulk, error, not_an_integer, syntax_error};
use redis::Value;
use std::ops::Range;

/// Bounds between which members lie. Those of a range of names mean something only where all scores
/// are equal; where they are not, this finds what Redis finds.
pub trait MemberBounds {
    /// Returns true if a member is not before the first bound.
    fn is_above(&self, scored: &Scored) -> bool;

    /// Returns true if a member is not behind the last bound.
    fn is_below(&self, scored: &Scored) -> bool;

    /// The places of the members in between, looked for from the first one on or from the last.
    fn places(&self, members: &[Scored], from_last: bool) -> Range<usize> {
        let (Some(first), Some(last)) = (members.first(), members.last()) else { return 0..0 };
        if !self.is_above(last) || !self.is_below(first) {
            return 0..0;
        }
        if from_last {
            let end = members.iter().rposition(|it| self.is_below(it)).map_or(0, |it| it + 1);
            let inside = members[..end].iter().rev().take_while(|it| self.is_above(it)).count();
            return end - inside..end;
        }
        let start = members.iter().position(|it| self.is_above(it)).unwrap_or(members.len());
        let inside = members[start..].iter().take_while(|it| self.is_below(it)).count();
        start..start + inside
    }
}

/// A bound of a range, and whether it belongs to it.
#[derive(Clone, Copy)]
struct ScoreBound {
    score: f64,
    is_open: bool,
}

/// The scores from one to another.
#[derive(Clone, Copy)]
pub struct ScoreRange {
    min: ScoreBound,
    max: ScoreBound,
}

impl ScoreRange {
    /// Reads the bounds.
    ///
    /// # Errors
    /// The error reply, if one of them is no number.
    pub fn parse(min: &[u8], max: &[u8]) -> Result<Self, Value> {
        let bound = |word: &[u8]| {
            let open = word.strip_prefix(b"(");
            // Redis reads it as C does, up to the first zero, with blanks before it; and 0 in
            // nothing at all.
            let text = open.unwrap_or(word).split(|byte| *byte == 0).next().unwrap_or_default();
            let (score, rest) = float_before(text);
            let score = Some(score).filter(|score| rest.is_empty() && !score.is_nan());
            score.map(|score| ScoreBound { score, is_open: open.is_some() })
        };
        match (bound(min), bound(max)) {
            (Some(min), Some(max)) => Ok(Self { min, max }),
            _ => Err(error("ERR min or max is not a float")),
        }
    }

    /// Returns true if it has the least of all times on, so that those in it are over.
    pub fn is_of_the_least(&self) -> bool {
        self.min.score <= 0.0
    }
}

impl MemberBounds for ScoreRange {
    fn is_above(&self, (score, _): &Scored) -> bool {
        if self.min.is_open { score.0 > self.min.score } else { score.0 >= self.min.score }
    }

    fn is_below(&self, (score, _): &Scored) -> bool {
        if self.max.is_open { score.0 < self.max.score } else { score.0 <= self.max.score }
    }
}

/// A bound of a range of members.
#[derive(Clone, Copy)]
enum LexBound<'a> {
    /// "-", before all.
    Least,
    /// "+", behind all.
    Most,
    Closed(&'a [u8]),
    Open(&'a [u8]),
}

/// The members from one to another.
#[derive(Clone, Copy)]
pub struct LexRange<'a> {
    min: LexBound<'a>,
    max: LexBound<'a>,
}

impl<'a> LexRange<'a> {
    /// Reads the bounds.
    ///
    /// # Errors
    /// The error reply, if one of them is none.
    pub fn parse(min: &'a [u8], max: &'a [u8]) -> Result<Self, Value> {
        let bound = |word: &'a [u8]| match word {
            b"-" => Some(LexBound::Least),
            b"+" => Some(LexBound::Most),
            [b'[', member @ ..] => Some(LexBound::Closed(member)),
            [b'(', member @ ..] => Some(LexBound::Open(member)),
            _ => None,
        };
        match (bound(min), bound(max)) {
            (Some(min), Some(max)) => Ok(Self { min, max }),
            _ => Err(error("ERR min or max not valid string range item")),
        }
    }
}

impl MemberBounds for LexRange<'_> {
    fn is_above(&self, (_, member): &Scored) -> bool {
        match self.min {
            LexBound::Least => true,
            LexBound::Most => false,
            LexBound::Closed(min) => member.as_slice() >= min,
            LexBound::Open(min) => member.as_slice() > min,
        }
    }

    fn is_below(&self, (_, member): &Scored) -> bool {
        match self.max {
            LexBound::Least => false,
            LexBound::Most => true,
            LexBound::Closed(max) => member.as_slice() <= max,
            LexBound::Open(max) => member.as_slice() < max,
        }
    }
}

/// A range as ZRANGE and its older forms read it.
enum MemberRange<'a> {
    Rank(i64, i64),
    Score(ScoreRange),
    Lex(LexRange<'a>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RangeKind {
    Rank,
    Score,
    Lex,
}

/// The options of ZRANGE. Those that the name of an older form says are given from the start.
#[derive(Clone, Copy, Default)]
struct RangeOptions {
    kind: Option<RangeKind>,
    reversed: Option<bool>,
    with_scores: bool,
    /// The offset and the number of members, of which a negative one means all.
    limit: Option<(i64, i64)>,
}

impl RangeOptions {
    fn parse(mut self, words: &[&[u8]]) -> Result<Self, Value> {
        let mut rest = words;
        while let [word, behind @ ..] = rest {
            rest = behind;
            match option::name(word) {
                option::REV if self.reversed.is_none() => self.reversed = Some(true),
                option::BYSCORE if self.kind.is_none() => self.kind = Some(RangeKind::Score),
                option::BYLEX if self.kind.is_none() => self.kind = Some(RangeKind::Lex),
                option::LIMIT if behind.len() >= 2 => {
                    self.limit = Some((number(behind[0])?, number(behind[1])?));
                    rest = &behind[2..];
                }
                // The one name with more letters than an option's number has room for.
                _ if is_with_scores(word) => self.with_scores = true,
                _ => return Err(syntax_error()),
            }
        }
        self.check()
    }

    fn check(self) -> Result<Self, Value> {
        let is_limited = self.limit.is_some_and(|(_, count)| count != -1);
        let reason = match self.kind.unwrap_or(RangeKind::Rank) {
            RangeKind::Rank if is_limited => {
                "LIMIT is only supported in combination with either BYSCORE or BYLEX"
            }
            RangeKind::Lex if self.with_scores => {
                "WITHSCORES not supported in combination with BYLEX"
            }
            _ => return Ok(self),
        };
        Err(error(&format!("ERR syntax error, {reason}")))
    }

    fn range<'a>(&self, first: &'a [u8], last: &'a [u8]) -> Result<MemberRange<'a>, Value> {
        let is_reversed = self.reversed == Some(true);
        let (min, max) = if is_reversed { (last, first) } else { (first, last) };
        Ok(match self.kind.unwrap_or(RangeKind::Rank) {
            RangeKind::Rank => MemberRange::Rank(number(first)?, number(last)?),
            RangeKind::Score => MemberRange::Score(ScoreRange::parse(min, max)?),
            RangeKind::Lex => MemberRange::Lex(LexRange::parse(min, max)?),
        })
    }

    /// The members of a range, in the order and as many as these options say.
    fn select(&self, set: &SortedSetValue, range: &MemberRange<'_>) -> Vec<Scored> {
        let is_reversed = self.reversed == Some(true);
        let all = set.members();
        let places = match range {
            // Counted from the end of the order that is asked for.
            MemberRange::Rank(start, end) if is_reversed => {
                let places = places(*start, *end, all.len());
                all.len() - places.end..all.len() - places.start
            }
            MemberRange::Rank(start, end) => places(*start, *end, all.len()),
            MemberRange::Score(range) => range.places(all, is_reversed),
            MemberRange::Lex(range) => range.places(all, is_reversed),
        };
        let (offset, count) = self.limit.filter(|_| self.kind.is_some()).unwrap_or((0, -1));
        // A negative offset passes over all.
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut members = all[places].to_vec();
        if is_reversed {
            members.reverse();
        }
        members.into_iter().skip(offset).take(count).collect()
    }
}

fn is_with_scores(word: &[u8]) -> bool {
    let name = word.split(|byte| *byte == 0).next().unwrap_or_default();
    name.eq_ignore_ascii_case(b"withscores")
}

fn number(word: &[u8]) -> Result<i64, Value> {
    integer(word).ok_or_else(not_an_integer)
}

/// ZRANGE key start end [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES].
pub fn zrange(call: Call<'_>) -> Result<Value, Value> {
    members(call, RangeOptions::default())
}

/// ZREVRANGE key start end [WITHSCORES].
pub fn zrevrange(call: Call<'_>) -> Result<Value, Value> {
    members(call, of(RangeKind::Rank, true))
}

/// ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count].
pub fn zrangebyscore(call: Call<'_>) -> Result<Value, Value> {
    members(call, of(RangeKind::Score, false))
}

/// ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count].
pub fn zrevrangebyscore(call: Call<'_>) -> Result<Value, Value> {
    members(call, of(RangeKind::Score, true))
}

fn of(kind: RangeKind, reversed: bool) -> RangeOptions {
    RangeOptions { kind: Some(kind), reversed: Some(reversed), ..RangeOptions::default() }
}

fn members(call: Call<'_>, options: RangeOptions) -> Result<Value, Value> {
    let options = options.parse(&call.args[4..])?;
    let range = options.range(call.args[2], call.args[3])?;
    call.read(|set: &SortedSetValue| {
        members_reply(&options.select(set, &range), options.with_scores)
    })
}

/// ZCOUNT key min max: the number of members with such a score.
pub fn zcount(call: Call<'_>) -> Result<Value, Value> {
    let range = ScoreRange::parse(call.args[2], call.args[3])?;
    call.read(|set: &SortedSetValue| Value::Int(range.places(set.members(), false).len() as i64))
}

/// ZCARD key: the number of members.
pub fn zcard(call: Call<'_>) -> Result<Value, Value> {
    call.read(|set: &SortedSetValue| Value::Int(set.members().len() as i64))
}

fn score(set: &SortedSetValue, member: &[u8]) -> Value {
    let rank = set.rank(member);
    rank.map_or(Value::Nil, |rank| bulk(lua_number(set.members()[rank].0.0)))
}

/// ZSCORE key member.
pub fn zscore(call: Call<'_>) -> Result<Value, Value> {
    let member = call.args[2];
    call.read(|set: &SortedSetValue| score(set, member))
}

/// ZMSCORE key member….
pub fn zmscore(call: Call<'_>) -> Result<Value, Value> {
    let members = &call.args[2..];
    call.read(|set: &SortedSetValue| {
        Value::Array(members.iter().map(|member| score(set, member)).collect())
    })
}

/// ZRANK key member: the number of members before it.
pub fn zrank(call: Call<'_>) -> Result<Value, Value> {
    let member = call.args[2];
    call.read(|set: &SortedSetValue| {
        set.rank(member).map_or(Value::Nil, |rank| Value::Int(rank as i64))
    })
}

/// ZREVRANK key member: the number of members behind it.
pub fn zrevrank(call: Call<'_>) -> Result<Value, Value> {
    let member = call.args[2];
    call.read(|set: &SortedSetValue| {
        let behind = |rank| Value::Int((set.members().len() - 1 - rank) as i64);
        set.rank(member).map_or(Value::Nil, behind)
    })
}
