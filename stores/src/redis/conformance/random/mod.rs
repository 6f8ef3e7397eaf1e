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
#[cfg(test)]
mod tests;

use super::transcript::{self, CaseStep};
use super::{CONNECTIONS, ConformanceSubject, Moments, at_once, empty, other_reply};
use crate::conformance::{Compared, Comparison, Stop};
use crate::model::{Clocks, Out, Peer, ServerModel};
use crate::redis::model::Millis;
use crate::redis::script::Engine;
use crate::redis::{Packet, Server};
use base::{Mono, WallTime};
use redis::{Cmd, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::time::Duration;

/// The most models that are kept: waiting for a stalled machine teaches nothing.
const MOST_MODELS: usize = 500;

/// Runs the sequences of these seeds.
pub fn compare(subject: &mut dyn ConformanceSubject, seeds: Range<u64>, report: &mut Compared) {
    let engine = Engine::of_this_thread();
    let mut both =
        BesideModel { subject, engine, models: Vec::new(), waiting: BTreeSet::new(), now: 0 };
    for seed in seeds {
        at_once(report.compare(&mut both, &seed.to_string(), draw::sequence(seed)));
    }
}

/// A subject beside the models that may stand for it.
struct BesideModel<'a> {
    subject: &'a mut dyn ConformanceSubject,
    engine: Engine,
    models: Vec<Server>,
    /// The connections whose commands wait.
    waiting: BTreeSet<usize>,
    /// The time by the subject's clock.
    now: Millis,
}

impl Comparison for BesideModel<'_> {
    /// A word `{now+7}` stands for the time by the server's clock, 7 ms ahead, `{now/1000+1}` for
    /// the same in seconds.
    type Step = CaseStep;

    /// A model that is wrong is wrong again; what does not come again is when each command was
    /// carried out.
    const CHANCY: bool = true;

    async fn begin(&mut self, _: &str) -> Result<(), Stop> {
        empty(self.subject)?;
        self.models = vec![Server::new(self.engine.clone())];
        self.waiting.clear();
        self.now = self.subject.timed(0, &redis::cmd("PING"))?.0.1;
        Ok(())
    }

    async fn step(&mut self, step: &CaseStep, report: &mut Compared) -> Result<(), Stop> {
        let (connection, text) = match step {
            CaseStep::Call { connection, text, .. } => (*connection, at(text, self.now)),
            CaseStep::Wait(duration) => {
                self.subject.wait(*duration);
                return Ok(());
            }
            CaseStep::Restart(data) => return Ok(self.subject.restart(*data)?),
            CaseStep::HangUp(connection) => {
                self.subject.hang_up(*connection);
                let gone = |model: &mut Server| {
                    let clocks = Clocks { wall: wall(self.now), mono: Mono::ZERO };
                    model.disconnected(clocks, peer(*connection), &mut Vec::new());
                };
                self.models.iter_mut().for_each(gone);
                self.waiting.remove(connection);
                return Ok(());
            }
            CaseStep::Reply { .. } => return Ok(()),
        };
        // Nobody listens to it.
        if self.waiting.contains(&connection) {
            return Ok(());
        }
        let command = transcript::command(&text);
        let call = CallStep { connection, command, has_order: !has_no_order(&text) };
        let (moments, got) = self.exchange(&call, &text)?;
        self.now = moments.1;
        let (agreeing, other) = answers(&self.models, moments, &call, &got);
        // Redis stops its clock during a script or a transaction for some commands, and not for
        // others.
        let text = text.to_lowercase();
        let is_script = text.starts_with("eval") || text.starts_with("exec");
        match agreeing.len() {
            0 if is_script && moments.0 != moments.1 => Err(Stop::Lost),
            0 => Err(other_reply(&reply_lines(&got), &reply_lines(&other))),
            many if many > MOST_MODELS => Err(Stop::Lost),
            _ => {
                report.replies += 1;
                self.models = agreeing;
                Ok(())
            }
        }
    }
}

impl BesideModel<'_> {
    /// Sends a command, and returns the replies that came of it, and when. If it may wait, or
    /// others do, that takes longer.
    fn exchange(&mut self, call: &CallStep, text: &str) -> io::Result<(Moments, CallReplies)> {
        let text = text.to_lowercase();
        if self.waiting.is_empty() && !text.starts_with("bl") && !text.starts_with("br") {
            let (moments, value) = self.subject.timed(call.connection, &call.command)?;
            return Ok((moments, vec![(call.connection, call.shown(value))]));
        }
        let ping = redis::cmd("PING");
        let before = self.subject.timed(CONNECTIONS, &ping)?.0.0;
        self.subject.send(call.connection, &call.command)?;
        self.waiting.insert(call.connection);
        let mut replies = Vec::new();
        for connection in self.waiting.clone() {
            if let Some(value) = self.subject.take(connection)? {
                self.waiting.remove(&connection);
                replies.push((connection, call.shown(value)));
            }
        }
        let after = self.subject.timed(CONNECTIONS, &ping)?.0.1;
        Ok(((before, after), replies))
    }
}

/// The replies to a call, each with its connection, in the order of those.
type CallReplies = Vec<(usize, Vec<String>)>;

/// Renders the replies to a call, line by line.
fn reply_lines(replies: &CallReplies) -> Vec<String> {
    let lines = |(connection, lines): &(usize, Vec<String>)| {
        let head = format!("{}< ", connection + 1);
        lines.iter().map(move |line| format!("{head}{line}")).collect::<Vec<_>>()
    };
    replies.iter().flat_map(lines).collect()
}

/// The number of a connection at a model, which counts from 1.
pub fn peer(connection: usize) -> u64 {
    connection as u64 + 1
}

/// The reply that a server sends, and the connection that it goes to.
pub fn reply(sent: Out<Packet>) -> Option<(u64, Value)> {
    match sent {
        Out::Send(Peer::Connection(to), Packet::Reply { value, .. } | Packet::Push(value)) => {
            Some((to, *value))
        }
        _ => None,
    }
}

/// The replies of a model that receives a command.
pub fn received(
    model: &mut Server,
    at: Clocks,
    connection: usize,
    command: &Cmd,
) -> Vec<(u64, Value)> {
    let mut out = Vec::new();
    let packet = Packet::Request { id: 0, command: command.clone().into() };
    model.receive(at, Peer::Connection(peer(connection)), packet, &mut out);
    out.into_iter().filter_map(reply).collect()
}

/// Returns true if the reply may have the members of a set in it, whose order is by chance. A
/// script that is called by its SHA-1 does not show what it calls, nor does EXEC.
fn has_no_order(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("smembers") || text.starts_with("evalsha") || text.starts_with("exec")
}

/// A command of a sequence.
struct CallStep {
    connection: usize,
    command: Cmd,
    /// False if lists in the reply may come in any order.
    has_order: bool,
}

impl CallStep {
    /// A reply line by line; where it has no order, its lists are sorted.
    fn shown(&self, value: Value) -> Vec<String> {
        transcript::render(&if self.has_order { value } else { sorted(value) })
    }
}

fn sorted(value: Value) -> Value {
    let Value::Array(values) = value else { return value };
    let mut values: Vec<Value> = values.into_iter().map(sorted).collect();
    values.sort_by_cached_key(transcript::render);
    Value::Array(values)
}

/// The models that give this reply at one of these moments, as the command leaves them; and what
/// one of the others says.
fn answers(
    models: &[Server],
    moments: Moments,
    call: &CallStep,
    got: &CallReplies,
) -> (Vec<Server>, CallReplies) {
    let mut agreeing: Vec<Server> = Vec::new();
    let mut other = Vec::new();
    let mut ask = |mut model: Server, at: Millis| {
        let clocks = Clocks { wall: wall(at), mono: Mono::ZERO };
        let replies = received(&mut model, clocks, call.connection, &call.command).into_iter();
        let replies = replies.map(|(to, value)| (to as usize - 1, call.shown(value)));
        let replies: CallReplies = replies.collect::<BTreeMap<_, _>>().into_iter().collect();
        if replies != *got {
            other = replies;
        } else if !agreeing.iter().any(|known| is_same(known, &model)) {
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

fn is_same(one: &Server, other: &Server) -> bool {
    one.entries().eq(other.entries()) && one.sessions() == other.sessions()
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

/// A command as it is written, with the times that its words stand for.
fn at(text: &str, now: Millis) -> String {
    let resolved = |word: &str| {
        let (base, after) = word.strip_prefix("{now")?.strip_suffix('}')?.split_once('+')?;
        let base = if base.is_empty() { now } else { now / 1000 };
        Some((base + after.parse::<Millis>().ok()?).to_string())
    };
    let words = text.split(' ').map(|word| resolved(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<_>>().join(" ")
}
