//! Random sequences of commands from several connections, with scripts, and with time that passes
//! so that keys run out, answered by a server and by the model side by side: they find what nobody
//! thought of writing down as a case.
//!
//! Replies depend on the moment: a key with 20 ms to live is there or is not. So every command is
//! sent between two questions for the server's own time, and the model must give the reply at one
//! of the milliseconds in between. Where it gives the same reply at several of them, or with and
//! without the server's active cycle of expiry, all of these models are kept: one of them stands
//! for what happened, and later replies tell which.

mod draw;
mod shrink;
#[cfg(test)]
mod tests;

use super::{ConformanceReport, ConformanceSubject, Difference, Moments, empty, transcript};
use crate::model::{Clocks, ServerModel};
use crate::redis::Server;
use crate::redis::model::Millis;
use crate::redis::script::Engine;
use base::{Mono, WallTime};
use redis::Cmd;
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

/// The most models that are kept: waiting for a stalled machine teaches nothing.
const MOST_MODELS: usize = 500;

/// The number of sequences with a difference that are shrunk, which takes time on a real server.
const MOST_SHRUNK: usize = 5;

/// A step of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SequenceStep {
    /// A command. A word `{now+7}` stands for the time by the server's clock, 7 ms ahead,
    /// `{now/1000+1}` for the same in seconds.
    Call { connection: usize, words: Vec<String> },
    /// A wait of so many milliseconds.
    Wait(u64),
}

/// The end of a sequence.
enum SequenceEnd {
    /// All replies were the model's.
    Agreed,
    /// A reply that no model gives came after so many steps.
    Differed(usize, Box<Difference>),
    /// The clock moved on while a script ran, or the machine stood still for long: nothing can be
    /// said of what follows.
    Lost,
}

/// Runs the sequences of these seeds, and shrinks those that show a difference.
pub fn compare(
    engine: &Engine,
    real: &mut dyn ConformanceSubject,
    seeds: std::ops::Range<u64>,
    report: &mut ConformanceReport,
) -> io::Result<()> {
    for seed in seeds {
        let steps = draw::sequence(seed);
        match run(engine, real, &steps, report)? {
            SequenceEnd::Agreed => report.sequences += 1,
            SequenceEnd::Lost => report.lost += 1,
            SequenceEnd::Differed(end, difference) if report.differences.len() < MOST_SHRUNK => {
                let (steps, difference) =
                    shrink::shrink(engine, real, steps[..end].to_vec(), *difference)?;
                let case = format!("random sequence {seed}, shrunk:\n{}", told(&steps));
                report.differences.push(Difference { case, ..difference });
            }
            SequenceEnd::Differed(_, difference) => report.differences.push(*difference),
        }
    }
    Ok(())
}

/// The steps in the notation of the cases.
fn told(steps: &[SequenceStep]) -> String {
    let line = |step: &SequenceStep| match step {
        SequenceStep::Call { connection, words } => {
            format!("{}> {}", connection + 1, line_of(words))
        }
        SequenceStep::Wait(millis) => format!("wait {millis}ms"),
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line_of(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
    };
    let words = words
        .iter()
        .map(|word| if plain(word) { word.clone() } else { transcript::quoted(word.as_bytes()) });
    words.collect::<Vec<_>>().join(" ")
}

/// Runs one sequence on an empty server.
fn run(
    engine: &Engine,
    real: &mut dyn ConformanceSubject,
    steps: &[SequenceStep],
    report: &mut ConformanceReport,
) -> io::Result<SequenceEnd> {
    empty(real)?;
    let mut models = vec![Server::new(engine.clone())];
    let mut now = real.timed(0, &redis::cmd("PING"))?.0.1;
    for (number, step) in steps.iter().enumerate() {
        let (connection, words) = match step {
            SequenceStep::Wait(millis) => {
                real.wait(Duration::from_millis(*millis));
                continue;
            }
            SequenceStep::Call { connection, words } => (*connection, at(words, now)),
        };
        let command = command(&words);
        let (moments, value) = real.timed(connection, &command)?;
        now = moments.1;
        let got = transcript::render(&value);
        let (agreeing, expected) = answers(&models, moments, &command, &got);
        if agreeing.is_empty() {
            // Redis stops its clock during a script for some commands, and not for others.
            if moments.0 != moments.1 && words[0].to_lowercase().starts_with("eval") {
                return Ok(SequenceEnd::Lost);
            }
            return Ok(SequenceEnd::Differed(
                number + 1,
                Box::new(Difference {
                    case: format!("a random sequence:\n{}", told(&steps[..=number])),
                    command: line_of(&words),
                    expected: got.join("\n         "),
                    got: expected.join("\n         "),
                }),
            ));
        }
        if agreeing.len() > MOST_MODELS {
            return Ok(SequenceEnd::Lost);
        }
        report.replies += 1;
        models = agreeing;
    }
    Ok(SequenceEnd::Agreed)
}

/// The models that give this reply at one of these moments, as the command leaves them; and what
/// one of the others says.
fn answers(
    models: &[Server],
    moments: Moments,
    command: &Cmd,
    got: &[String],
) -> (Vec<Server>, Vec<String>) {
    let mut agreeing: Vec<Server> = Vec::new();
    let mut other = Vec::new();
    let mut ask = |mut model: Server, at: Millis| {
        let said = transcript::render(&model.execute(wall(at), command));
        if said != got {
            other = said;
        } else if !agreeing.iter().any(|known| known.entries().eq(model.entries())) {
            agreeing.push(model);
        }
    };
    for model in models {
        for at in moments.0..=moments.1 {
            ask(model.clone(), at);
            for cycled in cycled(model, at) {
                ask(cycled, at);
            }
        }
    }
    (agreeing, other)
}

/// A model after its active cycle, which may have come at any time before this one: after all of
/// its keys ran out, or after some of them.
fn cycled(model: &Server, at: Millis) -> impl Iterator<Item = Server> {
    let ends: BTreeSet<Millis> = model.entries().filter_map(|(_, _, end)| end).collect();
    ends.into_iter().filter(move |end| *end < at).map(|end| {
        let mut cycled = model.clone();
        cycled.tick(Clocks { wall: wall(end + 1), mono: Mono::ZERO }, &mut Vec::new());
        cycled
    })
}

fn wall(millis: Millis) -> WallTime {
    WallTime::ZERO + Duration::from_millis(millis.unsigned_abs())
}

/// The words, with the times that they stand for.
fn at(words: &[String], now: Millis) -> Vec<String> {
    let resolved = |word: &String| {
        let (base, after) = word.strip_prefix("{now")?.strip_suffix('}')?.split_once('+')?;
        let base = if base.is_empty() { now } else { now / 1000 };
        Some((base + after.parse::<Millis>().ok()?).to_string())
    };
    words.iter().map(|word| resolved(word).unwrap_or_else(|| word.clone())).collect()
}

fn command(words: &[String]) -> Cmd {
    let mut command = Cmd::new();
    words.iter().for_each(|word| {
        command.arg(word);
    });
    command
}
