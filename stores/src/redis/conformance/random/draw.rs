//! The vocabulary of random sequences: commands with options, right and wrong. Each sequence has
//! one type of values beside strings, and meets the others rarely, all on the same few keys.

mod collections;
mod scripts;

use super::transcript::{self, CaseStep};
use base::Rng;
use std::time::Duration;

/// The number of steps in a sequence.
const STEPS: u64 = 30;
/// The number of connections that take part.
const CONNECTIONS: u64 = super::super::CONNECTIONS as u64;

/// A few names, so that commands meet on the same keys.
const KEYS: &[&str] = &["a", "b", "lock"];
const ODD_KEYS: &[&str] = &["", "a b", "\u{e9}\0\r\n"];

const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "7",
    "v",
    "mine",
    "other",
    "",
    " 1",
    "9223372036854775807",
    "\"\\\r\n\0\u{fc}",
];

/// Texts that are not numbers, or not sensible ones.
const ODD_NUMBERS: &[&str] = &[
    "0",
    "-1",
    "-30",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "9223372036854775",
    "12x",
    "",
    "1.5",
    "1e3",
    "+1",
    "01",
    " 1",
    "-0",
    "0x10",
];

/// Words that may stand in an option's place.
const ODD_OPTIONS: &[&str] = &["", "n", "NXX", "PERSIST", "GT", "v", "10"];

type CommandWords = Vec<String>;
type CommandGenerator = fn(&mut CommandDraw) -> CommandWords;

/// A generator of commands.
struct CommandDraw {
    rng: Rng,
    /// The scripts that were drawn so far.
    scripts: Vec<String>,
    /// The commands of the sequence beside those on strings.
    family: &'static [(u64, CommandGenerator)],
}

/// The sequence of this seed.
pub fn sequence(seed: u64) -> Vec<CaseStep> {
    let family = FAMILIES[(seed % FAMILIES.len() as u64) as usize];
    let mut draw = CommandDraw { rng: Rng::new(seed), scripts: Vec::new(), family };
    (0..STEPS).map(|_| draw.step()).collect()
}

/// The families of commands, of which each sequence has one.
const FAMILIES: &[&[(u64, CommandGenerator)]] = &[
    &[],
    collections::HASHES,
    collections::SORTED_SETS,
    collections::LISTS,
    collections::SETS,
    TRANSACTIONS,
];

/// The commands of transactions, and the state of connections.
const TRANSACTIONS: &[(u64, CommandGenerator)] = &[
    (10, CommandDraw::transaction),
    (5, CommandDraw::watch),
    (6, CommandDraw::on_a_value),
    (4, CommandDraw::on_keys),
    (3, CommandDraw::set),
    (3, CommandDraw::client_name),
];

/// The commands on strings and on the server, each as its weight and the function that draws one.
const COMMANDS: &[(u64, CommandGenerator)] = &[
    (12, CommandDraw::set),
    (8, CommandDraw::expire),
    (3, CommandDraw::getex),
    (14, CommandDraw::on_a_key),
    (6, CommandDraw::on_a_value),
    (6, CommandDraw::on_keys),
    (4, CommandDraw::number_command),
    (3, CommandDraw::setex),
    (12, CommandDraw::eval),
    (4, CommandDraw::evalsha),
    (2, CommandDraw::script),
    (4, CommandDraw::small_talk),
];

impl CommandDraw {
    fn step(&mut self) -> CaseStep {
        if self.rng.chance(0.05) {
            return CaseStep::Wait(Duration::from_millis(1 + self.rng.below(25)));
        }
        let connection = self.rng.below(CONNECTIONS) as usize;
        if self.rng.chance(0.01) {
            return CaseStep::HangUp(connection);
        }
        let text = transcript::line(&self.command());
        CaseStep::Call { connection, text, expected: Vec::new() }
    }

    fn command(&mut self) -> CommandWords {
        let family = match self.rng.below(12) {
            0 => FAMILIES[self.rng.below(FAMILIES.len() as u64) as usize],
            1..8 => self.family,
            _ => COMMANDS,
        };
        let mut words = self.one_of(if family.is_empty() { COMMANDS } else { family });
        words[0] = self.spelled(&words[0].clone());
        // Too few or too many.
        match self.rng.below(50) {
            0 if words.len() > 1 => drop(words.pop()),
            1 => words.push(self.of(VALUES)),
            _ => {}
        }
        words
    }

    fn one_of(&mut self, commands: &[(u64, CommandGenerator)]) -> CommandWords {
        let all: u64 = commands.iter().map(|(weight, _)| weight).sum();
        let mut left = self.rng.below(all);
        let chosen = commands.iter().find(|(weight, _)| {
            let here = left < *weight;
            left = left.saturating_sub(*weight);
            here
        });
        chosen.map_or_else(Vec::new, |(_, draw)| draw(self))
    }

    fn of(&mut self, words: &[&str]) -> String {
        self.rng.pick(words).copied().unwrap_or_default().to_owned()
    }

    /// A name or an option, in capitals or not.
    fn spelled(&mut self, word: &str) -> String {
        match self.rng.below(6) {
            0 => word.to_lowercase(),
            1 => word
                .chars()
                .map(|c| if self.rng.chance(0.5) { c } else { c.to_ascii_lowercase() })
                .collect(),
            _ => word.to_owned(),
        }
    }

    fn key(&mut self) -> String {
        let keys = if self.rng.chance(0.03) { ODD_KEYS } else { KEYS };
        self.of(keys)
    }

    fn value(&mut self) -> String {
        self.of(VALUES)
    }

    /// A number of milliseconds: soon over, or not for long.
    fn millis(&mut self) -> String {
        match self.rng.below(8) {
            0 => self.of(ODD_NUMBERS),
            1 | 2 => (100_000 + self.rng.below(1000)).to_string(),
            _ => (1 + self.rng.below(25)).to_string(),
        }
    }

    fn seconds(&mut self) -> String {
        if self.rng.chance(0.2) {
            self.of(ODD_NUMBERS)
        } else {
            (1 + self.rng.below(300)).to_string()
        }
    }

    /// A moment near the present one, which the server's clock says when the command is sent.
    fn moment(&mut self, unit: &str) -> String {
        match self.rng.below(8) {
            0 => self.of(ODD_NUMBERS),
            1 => "33177117420".to_owned() + if unit == "ms" { "000" } else { "" },
            _ if unit == "ms" => format!("{{now+{}}}", self.rng.below(25)),
            _ => format!("{{now/1000+{}}}", self.rng.below(3)),
        }
    }

    /// EX, PX, EXAT or PXAT with its number.
    fn expiry(&mut self) -> CommandWords {
        let (name, number) = match self.rng.below(6) {
            0 => ("EX", self.seconds()),
            1 => ("EXAT", self.moment("s")),
            2 => ("PXAT", self.moment("ms")),
            _ => ("PX", self.millis()),
        };
        vec![self.spelled(name), number]
    }

    fn set(&mut self) -> CommandWords {
        let mut words = vec!["SET".to_owned(), self.key(), self.value()];
        for _ in 0..self.rng.below(4) {
            match self.rng.below(8) {
                0 | 1 => words.push(self.spelled("NX")),
                2 => words.push(self.spelled("XX")),
                3 => words.push(self.spelled("GET")),
                4 => words.push(self.spelled("KEEPTTL")),
                5 if self.rng.chance(0.3) => words.push(self.of(ODD_OPTIONS)),
                _ => words.extend(self.expiry()),
            }
        }
        words
    }

    fn getex(&mut self) -> CommandWords {
        let mut words = vec!["GETEX".to_owned(), self.key()];
        for _ in 0..[0, 1, 1, 1, 2][self.rng.below(5) as usize] {
            match self.rng.below(6) {
                0 | 1 => words.push(self.spelled("PERSIST")),
                2 if self.rng.chance(0.5) => words.push(self.of(&["NX", "KEEPTTL", "GET", ""])),
                _ => words.extend(self.expiry()),
            }
        }
        words
    }

    fn expire(&mut self) -> CommandWords {
        let (name, number) = match self.rng.below(6) {
            0 => ("EXPIRE", self.seconds()),
            1 => ("EXPIREAT", self.moment("s")),
            2 => ("PEXPIREAT", self.moment("ms")),
            _ => ("PEXPIRE", self.millis()),
        };
        let mut words = vec![name.to_owned(), self.key(), number];
        for _ in 0..[0, 0, 0, 1, 1, 2][self.rng.below(6) as usize] {
            let conditions: &[&str] = &["NX", "XX", "GT", "LT"];
            let odd = self.rng.chance(0.05);
            let word = self.of(if odd { ODD_OPTIONS } else { conditions });
            words.push(self.spelled(&word));
        }
        words
    }

    fn on_a_key(&mut self) -> CommandWords {
        let names = [
            "GET",
            "GETDEL",
            "INCR",
            "DECR",
            "PERSIST",
            "TTL",
            "PTTL",
            "PTTL",
            "TYPE",
            "EXPIRETIME",
            "PEXPIRETIME",
        ];
        vec![self.of(&names), self.key()]
    }

    fn on_a_value(&mut self) -> CommandWords {
        vec![self.of(&["SETNX", "SETNX", "GETSET", "APPEND"]), self.key(), self.value()]
    }

    fn on_keys(&mut self) -> CommandWords {
        let mut words = vec![self.of(&["DEL", "DEL", "UNLINK", "EXISTS"])];
        for _ in 0..[1, 1, 1, 2, 3][self.rng.below(5) as usize] {
            words.push(self.key());
        }
        words
    }

    fn number_command(&mut self) -> CommandWords {
        let number = if self.rng.chance(0.4) {
            self.of(ODD_NUMBERS)
        } else {
            self.rng.below(50).to_string()
        };
        vec![self.of(&["INCRBY", "DECRBY"]), self.key(), number]
    }

    fn setex(&mut self) -> CommandWords {
        let (name, number) = if self.rng.chance(0.3) {
            ("SETEX", self.seconds())
        } else {
            ("PSETEX", self.millis())
        };
        vec![name.to_owned(), self.key(), number, self.value()]
    }

    fn transaction(&mut self) -> CommandWords {
        vec![self.of(&["MULTI", "MULTI", "MULTI", "EXEC", "EXEC", "EXEC", "DISCARD", "UNWATCH"])]
    }

    fn watch(&mut self) -> CommandWords {
        let mut words = vec!["WATCH".to_owned()];
        (0..=self.rng.below(2)).for_each(|_| words.push(self.key()));
        words
    }

    fn client_name(&mut self) -> CommandWords {
        match self.rng.below(3) {
            0 => vec!["CLIENT".to_owned(), "GETNAME".to_owned()],
            _ => vec!["CLIENT".to_owned(), self.spelled("SETNAME"), self.value()],
        }
    }

    fn small_talk(&mut self) -> CommandWords {
        let value = self.value();
        let text = match self.rng.below(10) {
            0 => "PING",
            1 => "ECHO v",
            2 => return vec!["PING".to_owned(), value],
            3 => "SELECT 0",
            4 => return vec!["SELECT".to_owned(), self.of(ODD_NUMBERS)],
            5 | 6 => ["FLUSHALL", "FLUSHDB SYNC", "FLUSHALL ASYNC", "FLUSHALL SYNC", "FLUSHDB v"]
                [self.rng.below(5) as usize],
            7 => "NOSUCH a b",
            _ => "DBSIZE",
        };
        text.split(' ').map(str::to_owned).collect()
    }
}
