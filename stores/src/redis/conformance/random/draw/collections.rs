//! The commands on values of each type but the string.

use super::{CommandDraw, CommandGenerator, CommandWords, ODD_NUMBERS};

/// A few fields, so that commands meet on them, too.
const FIELDS: &[&str] = &["f", "g", "h", "7", "", "\0\u{fc}"];

/// The commands on hashes.
pub(super) const HASHES: &[(u64, CommandGenerator)] = &[
    (10, CommandDraw::set_fields),
    (10, CommandDraw::on_a_field),
    (6, CommandDraw::on_fields),
    (6, CommandDraw::on_a_hash),
    (6, CommandDraw::increment_field),
];

/// The commands on sorted sets.
pub(super) const SORTED_SETS: &[(u64, CommandGenerator)] = &[
    (16, CommandDraw::add_scored),
    (8, CommandDraw::on_a_member),
    (5, CommandDraw::on_members),
    (10, CommandDraw::range_of_members),
    (5, CommandDraw::remove_range),
    (3, CommandDraw::count_members),
    (4, CommandDraw::pop_member),
];

/// The commands on lists.
pub(super) const LISTS: &[(u64, CommandGenerator)] = &[
    (12, CommandDraw::push_items),
    (8, CommandDraw::pop_items),
    (4, CommandDraw::remove_items),
    (6, CommandDraw::places_of_items),
    (4, CommandDraw::length_or_item),
    (6, CommandDraw::move_item),
    (10, CommandDraw::wait_for_item),
];

/// The commands on sets.
pub(super) const SETS: &[(u64, CommandGenerator)] =
    &[(8, CommandDraw::change_set), (6, CommandDraw::look_into_set)];

/// Scores, and what is none.
const SCORES: &[&str] = &[
    "0", "1", "1", "2", "3", "-1", "1.5", "0.1", "-2.25", "inf", "-inf", "+inf", "-0", "nan",
    "1e3", "0x10", ".5", "1e400", "",
];

/// Ends of ranges of scores.
const SCORE_BOUNDS: &[&str] =
    &["-inf", "+inf", "inf", "(1", "1", "2", "(2", "0", "(-1", "1.5", "(", "", "x", "(nan", " 1"];

/// Ends of ranges of members.
const LEX_BOUNDS: &[&str] = &["-", "+", "[f", "(f", "[h", "(g", "[", "(7", "f", ""];

impl CommandDraw {
    fn add_scored(&mut self) -> CommandWords {
        if self.rng.chance(0.2) {
            return vec!["ZINCRBY".to_owned(), self.key(), self.of(SCORES), self.field()];
        }
        let mut words = vec!["ZADD".to_owned(), self.key()];
        while words.len() < 5 && self.rng.chance(0.45) {
            let option = self.of(&["NX", "XX", "GT", "LT", "CH", "INCR"]);
            words.push(self.spelled(&option));
        }
        for _ in 0..[1, 1, 1, 2, 3][self.rng.below(5) as usize] {
            words.extend([self.of(SCORES), self.field()]);
        }
        words
    }

    fn on_a_member(&mut self) -> CommandWords {
        vec![self.of(&["ZSCORE", "ZRANK", "ZREVRANK"]), self.key(), self.field()]
    }

    fn on_members(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["ZREM", "ZREM", "ZMSCORE"]), self.key()];
        words.extend(self.some(Self::field));
        words
    }

    /// Two bounds of a range by rank, by score or by member.
    fn bounds(&mut self, kind: u64) -> [String; 2] {
        match kind {
            0 => [self.of(SCORE_BOUNDS), self.of(SCORE_BOUNDS)],
            1 => [self.of(LEX_BOUNDS), self.of(LEX_BOUNDS)],
            _ => [self.whole_number(), self.whole_number()],
        }
    }

    fn range_of_members(&mut self) -> CommandWords {
        let names =
            ["ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZREVRANGE", "ZRANGE", "ZRANGE", "ZRANGE"];
        let mut words = vec![self.of(&names), self.key()];
        let kind = match words[0].as_str() {
            "ZRANGE" => self.rng.below(4),
            "ZREVRANGE" => 2,
            _ => 0,
        };
        words.extend(self.bounds(kind));
        let by = ["BYSCORE", "BYLEX"].get(kind as usize);
        if words[0] == "ZRANGE" {
            words.extend(by.map(|by| self.spelled(by)));
        }
        for _ in 0..self.rng.below(3) {
            match self.rng.below(8) {
                0..3 => words.push(self.spelled("WITHSCORES")),
                3 | 4 if words[0] == "ZRANGE" => words.push(self.spelled("REV")),
                5 => words.push(self.of(&["BYSCORE", "BYLEX", "REV", "LIMIT", "v", ""])),
                _ => {
                    words.extend([self.spelled("LIMIT"), self.whole_number(), self.whole_number()]);
                }
            }
        }
        words
    }

    fn remove_range(&mut self) -> CommandWords {
        let kind = self.rng.below(3);
        let name = ["ZREMRANGEBYSCORE", "ZREMRANGEBYLEX", "ZREMRANGEBYRANK"][kind as usize];
        let mut words = vec![name.to_owned(), self.key()];
        words.extend(self.bounds(kind));
        words
    }

    fn count_members(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["ZCARD", "ZCOUNT"]), self.key()];
        if words[0] == "ZCOUNT" {
            words.extend(self.bounds(0));
        }
        words
    }

    fn pop_member(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["ZPOPMIN", "ZPOPMAX"]), self.key()];
        if self.rng.chance(0.4) {
            words.push(self.whole_number());
        }
        words
    }

    fn push_items(&mut self) -> CommandWords {
        let names = ["LPUSH", "RPUSH", "LPUSH", "RPUSH", "LPUSHX", "RPUSHX"];
        let mut words = vec![self.of(&names), self.key()];
        words.extend(self.some(Self::field));
        words
    }

    fn pop_items(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["LPOP", "RPOP"]), self.key()];
        if self.rng.chance(0.4) {
            words.push(self.whole_number());
        }
        words
    }

    fn remove_items(&mut self) -> CommandWords {
        vec!["LREM".to_owned(), self.key(), self.whole_number(), self.field()]
    }

    fn places_of_items(&mut self) -> CommandWords {
        let name = self.of(&["LRANGE", "LRANGE", "LRANGE", "LTRIM"]);
        vec![name, self.key(), self.whole_number(), self.whole_number()]
    }

    fn length_or_item(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["LLEN", "LINDEX"]), self.key()];
        if words[0] == "LINDEX" {
            words.push(self.whole_number());
        }
        words
    }

    fn move_item(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["RPOPLPUSH", "LMOVE", "LMOVE"]), self.key(), self.key()];
        if words[0] == "LMOVE" {
            for _ in 0..2 {
                let odd = self.rng.chance(0.05);
                let end = self.of(if odd { &["", "UP"] } else { &["LEFT", "RIGHT"] });
                words.push(self.spelled(&end));
            }
        }
        words
    }

    fn wait_for_item(&mut self) -> CommandWords {
        let names = ["BLPOP", "BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE"];
        let mut words = vec![self.of(&names), self.key(), self.key()];
        match words[0].as_str() {
            "BLMOVE" => words.extend([self.of(&["LEFT", "RIGHT"]), self.of(&["LEFT", "RIGHT"])]),
            "BLPOP" | "BRPOP" if self.rng.chance(0.5) => words.truncate(2),
            _ => {}
        }
        // How long a wait takes that nobody ends is for the cases to show.
        let odd = self.rng.chance(0.05);
        words.push(self.of(if odd { &["-1", "x", "", "1e3"] } else { &["0", "100", "99.5"] }));
        words
    }

    fn change_set(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["SADD", "SADD", "SADD", "SREM"]), self.key()];
        let numbers = self.rng.chance(0.4);
        words.extend(self.some(|draw| if numbers { draw.whole_number() } else { draw.field() }));
        words
    }

    fn look_into_set(&mut self) -> CommandWords {
        let names = ["SISMEMBER", "SMISMEMBER", "SCARD", "SMEMBERS", "SMEMBERS"];
        let mut words = vec![self.of(&names), self.key()];
        match words[0].as_str() {
            "SISMEMBER" => words.push(self.field()),
            "SMISMEMBER" => words.extend(self.some(Self::field)),
            _ => {}
        }
        words
    }

    fn field(&mut self) -> String {
        self.of(FIELDS)
    }

    /// Draws some words, from one to three.
    fn some(&mut self, mut draw: impl FnMut(&mut Self) -> String) -> CommandWords {
        (0..=self.rng.below(3)).map(|_| draw(self)).collect()
    }

    fn set_fields(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["HSET", "HSET", "HSET", "HSETNX", "HMSET"]), self.key()];
        for _ in 0..[1, 1, 1, 2, 3][self.rng.below(5) as usize] {
            words.extend([self.field(), self.value()]);
        }
        if words[0] == "HSETNX" {
            words.truncate(4);
        }
        words
    }

    fn on_a_field(&mut self) -> CommandWords {
        vec![self.of(&["HGET", "HGET", "HEXISTS", "HSTRLEN"]), self.key(), self.field()]
    }

    fn on_fields(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["HDEL", "HMGET"]), self.key()];
        words.extend(self.some(Self::field));
        words
    }

    fn on_a_hash(&mut self) -> CommandWords {
        vec![self.of(&["HLEN", "HKEYS", "HVALS", "HGETALL", "HGETALL"]), self.key()]
    }

    fn increment_field(&mut self) -> CommandWords {
        vec!["HINCRBY".to_owned(), self.key(), self.field(), self.whole_number()]
    }

    /// A number of which most are small.
    pub(super) fn whole_number(&mut self) -> String {
        match self.rng.below(10) {
            0 | 1 => self.of(ODD_NUMBERS),
            2 => format!("-{}", 1 + self.rng.below(3)),
            _ => self.rng.below(5).to_string(),
        }
    }
}
