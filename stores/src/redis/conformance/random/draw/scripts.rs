//! Scripts, and the commands that load and call them.

use super::{CommandDraw, CommandWords, ODD_NUMBERS};
use crate::redis::script::sha1hex;

/// The script that locks release by.
const COMPARE_AND_DELETE: &str = "if redis.call('get',KEYS[1]) == ARGV[1] then \
     return redis.call('del',KEYS[1]) else return 0 end";

impl CommandDraw {
    pub(super) fn script(&mut self) -> CommandWords {
        let mut words = vec!["SCRIPT".to_owned()];
        match self.rng.below(6) {
            0 | 1 => words.extend(["LOAD".to_owned(), self.body()]),
            2 | 3 => {
                words.push("EXISTS".to_owned());
                (0..=self.rng.below(2)).for_each(|_| words.push(self.sha()));
            }
            4 => words.push("FLUSH".to_owned()),
            _ => words.extend(["FLUSH".to_owned(), self.of(&["ASYNC", "SYNC", "", "NOW"])]),
        }
        words[1] = self.spelled(&words[1].clone());
        words
    }

    pub(super) fn eval(&mut self) -> CommandWords {
        let body = self.body();
        self.called("EVAL", body)
    }

    pub(super) fn evalsha(&mut self) -> CommandWords {
        let sha = self.sha();
        self.called("EVALSHA", sha)
    }

    /// The SHA-1 of a script, most likely of one that was drawn before.
    fn sha(&mut self) -> String {
        let sha = self.rng.pick(&self.scripts).map(|body| sha1hex(body.as_bytes()));
        match (sha, self.rng.below(10)) {
            (Some(sha), 1..) => self.spelled(&sha.to_uppercase()).to_lowercase(),
            (Some(sha), 0) if self.rng.chance(0.5) => sha.to_uppercase(),
            _ => self.of(&["ffffffffffffffffffffffffffffffffffffffff", "", "short"]),
        }
    }

    fn called(&mut self, name: &str, script: String) -> CommandWords {
        let (keys, values) = (self.rng.below(3), self.rng.below(3));
        let count = if self.rng.chance(0.04) { self.of(ODD_NUMBERS) } else { keys.to_string() };
        let mut words = vec![name.to_owned(), script, count];
        (0..keys).for_each(|_| words.push(self.key()));
        (0..values).for_each(|_| {
            let number = self.rng.chance(0.5);
            words.push(if number { self.millis() } else { self.value() });
        });
        words
    }

    /// A script: an old one, or a new one that sometimes does not compile.
    fn body(&mut self) -> String {
        if self.rng.chance(0.3)
            && let Some(old) = self.rng.pick(&self.scripts)
        {
            return old.clone();
        }
        let mut lines: Vec<String> = (0..self.rng.below(3)).map(|_| self.statement()).collect();
        lines.push(self.last());
        let mut body = lines.join(if self.rng.chance(0.3) { "\n" } else { " " });
        // A letter less, and `{err='x'}` is such a table as `raised` speaks of.
        if self.rng.chance(0.04) && !body.contains("error(") {
            body.remove(self.rng.below(body.len() as u64) as usize);
        }
        self.scripts.push(body.clone());
        body
    }

    fn statement(&mut self) -> String {
        match self.rng.below(8) {
            0 => format!("if {} then return {} end", self.condition(), self.result()),
            1 => format!("local r = {}", self.called_in_lua("pcall")),
            2 => format!("local r = {}", self.result()),
            _ => self.called_in_lua("call"),
        }
    }

    fn condition(&mut self) -> String {
        match self.rng.below(5) {
            0 => "redis.call('get', KEYS[1]) == ARGV[1]".to_owned(),
            1 => "redis.call('exists', KEYS[1]) == 1".to_owned(),
            2 => "redis.call('get', KEYS[1]) == false".to_owned(),
            3 => "redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 20)".to_owned(),
            _ => format!("{} == {}", self.expression(), self.expression()),
        }
    }

    fn last(&mut self) -> String {
        match self.rng.below(12) {
            0 => "error('enough')".to_owned(),
            1 => format!("error({})", self.raised()),
            2 => COMPARE_AND_DELETE.to_owned(),
            _ => format!("return {}", self.result()),
        }
    }

    /// No table without a text: that is how a script crashes Redis 7.0.15.
    fn raised(&mut self) -> String {
        self.of(&[
            "nil",
            "7",
            "true",
            "ARGV[1]",
            "'no place', 0",
            "{err='MY fault'}",
            "{err='fault'}",
            "redis.error_reply('MY fault')",
            "redis.pcall('incr')",
        ])
    }

    fn result(&mut self) -> String {
        match self.rng.below(9) {
            0..4 => self.called_in_lua("call"),
            4 => self.called_in_lua("pcall"),
            5 => format!("{{{}, {}}}", self.expression(), self.called_in_lua("pcall")),
            6 => format!("{{{}, {{{}}}}}", self.expression(), self.expression()),
            _ => self.expression(),
        }
    }

    fn expression(&mut self) -> String {
        self.of(&[
            "KEYS[1]",
            "ARGV[1]",
            "ARGV[2]",
            "#KEYS",
            "#ARGV",
            "KEYS",
            "ARGV",
            "nil",
            "true",
            "false",
            "1",
            "-7",
            "3.99",
            "2^53",
            "1e300",
            "0/0",
            "'text'",
            "''",
            "r",
            "{}",
            "{ok='fine'}",
            "{err='MY fault'}",
            "{err='fault'}",
            "{1,2,nil,4}",
            "{x=1}",
            "tostring(ARGV[1])",
            "tonumber(ARGV[1])",
            "tonumber(ARGV[1]) + 1",
            "tonumber('12x')",
            "ARGV[1] .. 'x'",
            "ARGV[1] < ARGV[2]",
            "redis.error_reply('MY fault')",
            "redis.error_reply('fault')",
            "redis.status_reply('fine')",
            "redis.sha1hex('')",
            "type(redis.call('get', KEYS[1]))",
            "#redis.call('get', KEYS[1])",
            "string.len(ARGV[1])",
            "string.format('%d', 7)",
            "select('#', unpack(ARGV))",
            "nosuch",
            "redis.nosuch",
            "KEYS[1].x",
            "math.floor(2.5)",
            "table.concat(ARGV, ',')",
        ])
    }

    /// A command, as Lua calls it.
    fn called_in_lua(&mut self, how: &str) -> String {
        let mut words = self.command();
        // With a number from ARGV it would reach databases that the model does not have.
        while words[0].eq_ignore_ascii_case("select") {
            words = self.command();
        }
        let literals: Vec<String> =
            words.iter().enumerate().map(|(place, word)| self.literal(place, word)).collect();
        format!("redis.{how}({})", literals.join(","))
    }

    /// A word as an argument of Lua's: itself, or what stands in KEYS or ARGV.
    fn literal(&mut self, place: usize, word: &str) -> String {
        match self.rng.below(12) {
            0 => self.of(&["ARGV[1]", "ARGV[2]"]),
            1..6 if place == 1 => "KEYS[1]".to_owned(),
            6 if self.rng.chance(0.2) => self.expression(),
            // A script does not know what time it is; who calls it does.
            _ if word.starts_with("{now") => "ARGV[1]".to_owned(),
            _ => in_lua(word),
        }
    }
}

/// A word as Lua writes it.
fn in_lua(word: &str) -> String {
    if word.parse::<u32>().is_ok_and(|number| number.to_string() == word) {
        return word.to_owned();
    }
    let bytes: String = word
        .bytes()
        .map(|byte| match byte {
            b'\'' | b'\\' => format!("\\{}", byte as char),
            0x20..=0x7e => (byte as char).to_string(),
            byte => format!("\\{byte:03}"),
        })
        .collect();
    format!("'{bytes}'")
}
