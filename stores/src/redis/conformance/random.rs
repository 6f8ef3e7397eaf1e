//! Random commands, answered by the model and by a real server side by side: what nobody thought of
//! writing down as a case.

use super::{Difference, Report, Subject, empty, transcript};
use base::Rng;
use redis::Cmd;
use std::io;

/// Few, so that commands meet.
const KEYS: &[&str] = &["a", "b", "lock"];

/// Values and numbers, sensible and not. The great number is a time in the year 3021: times that
/// come near make replies depend on the moment.
const WORDS: &[&str] =
    &["0", "1", "-1", "7", "12x", "", "v", "9223372036854775807", "33177117420000", "GET", "nx"];

/// `K` stands for a key, `W` for a word.
const SHAPES: &[&str] = &[
    "GET K",
    "SET K W",
    "SET K W NX",
    "SET K W XX GET",
    "SET K W NX GET",
    "SET K W PX 100000000",
    "SET K W KEEPTTL",
    "SET K W PXAT 33177117420000 W",
    "SET K W EX W",
    "SET K W W W",
    "SETNX K W",
    "GETSET K W",
    "GETDEL K",
    "DEL K K",
    "UNLINK K",
    "EXISTS K K K",
    "INCR K",
    "DECR K",
    "INCRBY K W",
    "DECRBY K W",
    "EXPIRE K 100000 NX",
    "EXPIRE K 100000 XX",
    "EXPIRE K W W",
    "PEXPIREAT K 33177117420000",
    "PEXPIREAT K 33177117430000 GT",
    "PEXPIREAT K 33177117410000 LT",
    "PEXPIREAT K W W",
    "PERSIST K",
    "DBSIZE",
    "W K",
    "SCRIPT W",
    "EVAL W W K",
    "EVAL return(redis.call('get',KEYS[1])) 1 K",
    "EVAL return(redis.call('incr',KEYS[1])) 1 K",
    "EVAL return(redis.pcall('incrby',KEYS[1],ARGV[1])) 1 K W",
    "EVAL return(redis.call('set',KEYS[1],ARGV[1],'NX')) 1 K W",
    "EVAL return(redis.call(ARGV[1],KEYS[1])) 1 K W",
    "EVAL return({redis.call('exists',KEYS[1]),ARGV[1],redis.call('del',KEYS[1])}) 1 K W",
];

/// Asks both for so many commands and notes where their answers differ.
pub fn compare(
    model: &mut dyn Subject,
    real: &mut dyn Subject,
    seed: u64,
    commands: usize,
    report: &mut Report,
) -> io::Result<()> {
    let mut rng = Rng::new(seed);
    empty(model)?;
    empty(real)?;
    for number in 0..commands {
        let (command, text) = draw(&mut rng);
        let expected = transcript::render(&real.call(0, &command)?).join("\n         ");
        let got = transcript::render(&model.call(0, &command)?).join("\n         ");
        report.replies += 1;
        if expected != got {
            let case = format!("random command {number} of seed {seed}");
            report.differences.push(Difference { case, command: text, expected, got });
        }
    }
    Ok(())
}

fn draw(rng: &mut Rng) -> (Cmd, String) {
    let shape = rng.pick(SHAPES).copied().unwrap_or_default();
    let words: Vec<&str> = shape
        .split(' ')
        .map(|word| match word {
            "K" => rng.pick(KEYS).copied().unwrap_or_default(),
            "W" => rng.pick(WORDS).copied().unwrap_or_default(),
            word => word,
        })
        .collect();
    let mut command = Cmd::new();
    words.iter().for_each(|word| {
        command.arg(*word);
    });
    (command, words.join(" "))
}
