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

impl CommandDraw {
    fn field(&mut self) -> String {
        self.of(FIELDS)
    }

    /// So many drawn words, from one to three.
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
