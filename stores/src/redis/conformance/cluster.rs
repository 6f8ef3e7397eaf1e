//! Failovers of a Redis Cluster, as clients see them: the same questions to real members and to
//! models, one primary killed after the other. What a real one answers must be what the models
//! answer, and take as long.

use crate::conformance::{Killing, TimeRange, Times};
use crate::model_network::ModelNetwork;
use crate::{node_name, node_number};
use redis::{Cmd, cmd};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// The answer of a member that nobody can connect to.
pub const NO_CONNECTION: &str = "no connection";

/// The pause between two rounds of questions, and the time in which all must have come to its end.
const PAUSE: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(20);

/// The time for which a cluster stands before the next primary is killed.
const CALM: Duration = Duration::from_millis(500);

/// A key of each shard.
const KEYS: [&str; 3] = ["b", "k", "foo"];

/// The refusal of all keys while a primary has failed that nobody has replaced.
const DOWN: &str = "(error) CLUSTERDOWN The cluster is down";

/// The times that begin when the old primary serves again. A start keeps a machine busy, which no
/// model has, so that such a time may be longer by more.
const LED_ON: &str = "led on by the old primary";
const FOLLOWED: &str = "followed by the old primary";
const BUSIER: u32 = 3;

/// A cluster whose members are killed. One that is started again has answered.
pub trait ClusterSubject: Killing {
    /// Asks a member, and returns the answer as redis-cli shows it, or `NO_CONNECTION`.
    ///
    /// # Errors
    /// Fails when the member is there and does not answer.
    fn ask(&mut self, member: usize, command: &Cmd) -> io::Result<String>;

    /// The time since the subject was made.
    fn now(&self) -> Duration;

    /// Lets this much time pass.
    fn wait(&mut self, duration: Duration);
}

/// A failover as clients saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFigures {
    /// The answers to each question, one after the other.
    pub words: BTreeMap<&'static str, Vec<String>>,
    /// The time from the death of the primary, or from when it serves again, until each of these.
    pub times: Times,
}

/// Displays the times.
impl fmt::Display for ClusterFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |(what, time): (&&str, &Duration)| format!("{what} after {time:.2?}");
        f.write_str(&self.times.iter().map(time).collect::<Vec<_>>().join(", "))
    }
}

/// A question that is asked again and again, and the answers that differed from those before.
struct RepeatedQuestion {
    member: usize,
    command: Cmd,
    seen: Vec<(Duration, String)>,
}

impl RepeatedQuestion {
    fn new(member: usize, key: &str) -> Self {
        Self { member, command: cmd("SET").arg(key).arg("v").clone(), seen: Vec::new() }
    }

    fn ask(&mut self, subject: &mut dyn ClusterSubject) -> io::Result<()> {
        let answer = named(subject.ask(self.member, &self.command)?);
        if self.seen.last().is_none_or(|(_, last)| *last != answer) {
            self.seen.push((subject.now(), answer));
        }
        Ok(())
    }

    fn says(&self, words: &str) -> bool {
        self.seen.last().is_some_and(|(_, last)| last.ends_with(words))
    }

    fn words(&self) -> Vec<String> {
        self.seen.iter().map(|(_, word)| word.clone()).collect()
    }

    /// The time until it first answered so.
    fn first(&self, word: &str) -> Option<Duration> {
        self.seen.iter().find(|(_, seen)| seen == word).map(|(at, _)| *at)
    }

    /// The time until it gave its last answer for the first time.
    fn last(&self) -> Option<Duration> {
        self.seen.last().map(|(at, _)| *at)
    }
}

/// An answer without the address of the member that it names, which each subject has others of.
fn named(answer: String) -> String {
    let target = answer.strip_prefix("(error) MOVED ").and_then(|rest| rest.split_once(' '));
    let member = target.and_then(|(slot, place)| Some((slot, place.rsplit_once(':')?.0)));
    match member.and_then(|(slot, member)| Some((slot, node_number(member)?))) {
        Some((slot, member)) => format!("(error) MOVED {slot} {}", node_name(member)),
        None => answer,
    }
}

/// The members that a failover concerns.
struct FailoverParts {
    key: &'static str,
    primary: usize,
    replica: usize,
    /// The primary of another shard, with a key of that.
    other: (usize, &'static str),
}

impl FailoverParts {
    fn of(subject: &mut dyn ClusterSubject, round: usize) -> io::Result<Self> {
        let (shard, next) = (round % KEYS.len(), (round + 1) % KEYS.len());
        let (primary, other) = (primary(subject, shard)?, primary(subject, next)?);
        let replica = if primary == shard { shard + KEYS.len() } else { shard };
        Ok(Self { key: KEYS[shard], primary, replica, other: (other, KEYS[next]) })
    }
}

fn primary(subject: &mut dyn ClusterSubject, shard: usize) -> io::Result<usize> {
    for member in [shard, shard + KEYS.len()] {
        if subject.ask(member, &cmd("ROLE"))?.contains("master") {
            return Ok(member);
        }
    }
    Err(io::Error::other(format!("shard {shard} has no primary")))
}

/// Kills the primary of a shard, asks what follows, and starts it again. In every other round its
/// machine is gone, so that nobody hears that it dies, and what it has acknowledged at last has
/// reached nobody.
///
/// # Errors
/// Fails when a member does not answer, or all does not come to its end in time.
pub fn cluster_failover(
    subject: &mut dyn ClusterSubject,
    round: usize,
) -> io::Result<ClusterFigures> {
    subject.wait(CALM);
    let parts = FailoverParts::of(subject, round)?;
    let mut figures = ClusterFigures::default();
    let of = |name: &str| format!("{{{}}}-{name}-{round}", parts.key);
    let (kept, lost) = (of("kept"), of("lost"));
    subject.ask(parts.primary, cmd("SET").arg(&kept).arg("v"))?;
    until(subject, |subject| has_copy(subject, &parts))?;
    let mut died = subject.now();
    if is_silent(round) {
        subject.cut_off(parts.primary)?;
        let answer = subject.ask(parts.primary, cmd("SET").arg(&lost).arg("v"))?;
        figures.words.insert("a write that reached nobody else", vec![answer]);
        subject.kill(parts.primary)?;
    } else {
        subject.crash(parts.primary)?;
        died = subject.now();
    }
    watch_death(subject, &parts, died, &mut figures)?;
    for (what, key) in [("a replicated key", &kept), ("a key that was not replicated", &lost)] {
        let answer = subject.ask(parts.replica, cmd("GET").arg(key))?;
        figures.words.insert(what, vec![answer]);
    }
    watch_return(subject, &parts, &mut figures)?;
    Ok(figures)
}

/// Returns true if the primary's machine dies with it.
const fn is_silent(round: usize) -> bool {
    round % 2 == 1
}

fn watch_death(
    subject: &mut dyn ClusterSubject,
    parts: &FailoverParts,
    died: Duration,
    figures: &mut ClusterFigures,
) -> io::Result<()> {
    let mut dead = RepeatedQuestion::new(parts.primary, parts.key);
    let mut replica = RepeatedQuestion::new(parts.replica, parts.key);
    let mut elsewhere = RepeatedQuestion::new(parts.other.0, parts.key);
    let mut others = RepeatedQuestion::new(parts.other.0, parts.other.1);
    let successor = format!("server-{}", parts.replica);
    until(subject, |subject| {
        for watch in [&mut dead, &mut replica, &mut elsewhere, &mut others] {
            watch.ask(subject)?;
        }
        Ok(replica.says("OK") && others.says("OK") && elsewhere.says(&successor))
    })?;
    for (what, watch) in [
        ("the dead primary", &dead),
        ("its replica", &replica),
        ("another primary, asked for its keys", &elsewhere),
        ("another primary, asked for keys of its own", &others),
    ] {
        figures.words.insert(what, watch.words());
    }
    for (what, at) in [
        ("refused by the replica", replica.first(DOWN)),
        ("refused by another primary", others.first(DOWN)),
        ("written to the replica", replica.last()),
        ("led to the replica", elsewhere.last()),
        ("written to another primary again", others.last()),
    ] {
        figures.times.extend(at.map(|at| (what, at.saturating_sub(died))));
    }
    Ok(())
}

fn watch_return(
    subject: &mut dyn ClusterSubject,
    parts: &FailoverParts,
    figures: &mut ClusterFigures,
) -> io::Result<()> {
    subject.start(parts.primary)?;
    let started = subject.now();
    let mut back = RepeatedQuestion::new(parts.primary, parts.key);
    let successor = format!("server-{}", parts.replica);
    until(subject, |subject| back.ask(subject).map(|()| back.says(&successor)))?;
    let led_on = subject.now();
    until(subject, |subject| {
        let role = subject.ask(parts.primary, &cmd("ROLE"))?;
        let (is, was) = (parts.replica, parts.primary);
        let has_all = has_copy(subject, &FailoverParts { primary: is, replica: was, ..*parts })?;
        Ok(role.contains("connected") && has_all)
    })?;
    let follows = subject.now();
    figures.words.insert("the old primary at last", back.words().split_off(back.seen.len() - 1));
    figures.times.insert(LED_ON, led_on.saturating_sub(started));
    figures.times.insert(FOLLOWED, follows.saturating_sub(started));
    Ok(())
}

/// Returns true if the replica has as many keys as its primary.
fn has_copy(subject: &mut dyn ClusterSubject, parts: &FailoverParts) -> io::Result<bool> {
    let size = cmd("DBSIZE");
    Ok(subject.ask(parts.primary, &size)? == subject.ask(parts.replica, &size)?)
}

/// Asks again and again until something is true.
fn until(
    subject: &mut dyn ClusterSubject,
    mut is_so: impl FnMut(&mut dyn ClusterSubject) -> io::Result<bool>,
) -> io::Result<()> {
    let begun = subject.now();
    while !is_so(subject)? {
        if subject.now().saturating_sub(begun) > LIMIT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        subject.wait(PAUSE);
    }
    Ok(())
}

/// The answers of many models to the same questions, round by round.
#[derive(Clone, Debug, Default)]
pub struct ClusterRange {
    words: BTreeMap<(usize, &'static str), BTreeSet<Vec<String>>>,
    /// The times after the death of a primary alone, and with its machine.
    times: [TimeRange; 2],
}

impl ClusterRange {
    /// Asks the models of these seeds.
    ///
    /// # Errors
    /// Fails when one does not come to its end in time.
    pub fn of_models(seeds: Range<u64>, rounds: usize) -> io::Result<Self> {
        let mut range = Self::default();
        for seed in seeds {
            let mut models = ModelNetwork::redis("redis-cluster", seed);
            for round in 0..rounds {
                range.extend(round, cluster_failover(&mut models, round)?);
            }
        }
        Ok(range)
    }

    fn extend(&mut self, round: usize, figures: ClusterFigures) {
        for (what, words) in figures.words {
            self.words.entry((round, what)).or_default().insert(words);
        }
        self.times[usize::from(is_silent(round))].extend(figures.times);
    }

    /// The differences of a failover from all that the models did, in words: another answer, or a
    /// time that is shorter or longer than all of theirs by more than this, or three times this
    /// after a start.
    pub fn differences(
        &self,
        round: usize,
        figures: &ClusterFigures,
        slack: Duration,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for ((_, what), known) in self.words.iter().filter(|((of, _), _)| *of == round) {
            let words = figures.words.get(what).cloned().unwrap_or_default();
            if !known.contains(&words) {
                found.push(format!("{what}: {words:?}, where models say {known:?}"));
            }
        }
        let slack =
            |what: &str| slack * if [LED_ON, FOLLOWED].contains(&what) { BUSIER } else { 1 };
        found.extend(self.times[usize::from(is_silent(round))].differences(&figures.times, slack));
        found
    }
}

/// Displays the times.
impl fmt::Display for ClusterRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [alone, silent] = &self.times;
        writeln!(f, "dead alone: {alone}\ndead with its machine: {silent}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times in milliseconds that real members took, Redis 7.0.15 with `cluster-node-timeout
    /// 250`: the shortest and the longest of eighteen primaries that died alone, and of as many
    /// that died with their machines, on one that had much else to do.
    const REAL: [(&str, [u64; 2], [u64; 2]); 7] = [
        ("refused by the replica", [419, 596], [420, 644]),
        ("refused by another primary", [419, 596], [420, 643]),
        ("written to the replica", [1_080, 1_690], [1_130, 1_620]),
        ("led to the replica", [1_080, 1_880], [1_130, 1_640]),
        ("written to another primary again", [1_080, 1_890], [1_130, 1_640]),
        (LED_ON, [0, 112], [1, 381]),
        (FOLLOWED, [44, 160], [16, 579]),
    ];

    /// The time that a busy machine takes more.
    const SLACK: Duration = Duration::from_millis(300);

    /// The failover of a round as real members showed it, with these times.
    fn recorded(round: usize, times: impl Iterator<Item = (&'static str, u64)>) -> ClusterFigures {
        let (slot, primary) = [(3_300, 0), (7_629, 1), (12_182, 2), (3_300, 3)][round];
        let moved = |to: usize| format!("(error) MOVED {slot} server-{to}");
        let (before, after) = (moved(primary), moved((primary + 3) % 6));
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut answers: BTreeMap<_, Vec<String>> = [
            ("the dead primary", words(&[NO_CONNECTION])),
            ("its replica", words(&[&before, DOWN, "OK"])),
            ("another primary, asked for its keys", words(&[&before, DOWN, &after])),
            ("another primary, asked for keys of its own", words(&["OK", DOWN, "OK"])),
            ("a replicated key", words(&["\"v\""])),
            ("a key that was not replicated", words(&["(nil)"])),
            ("the old primary at last", words(&[&after])),
        ]
        .into();
        if is_silent(round) {
            answers.insert("a write that reached nobody else", words(&["OK"]));
        }
        let times = times.map(|(what, ms)| (what, Duration::from_millis(ms)));
        ClusterFigures { words: answers, times: times.collect() }
    }

    #[test]
    fn models_answer_as_real_members_did_and_in_their_time() {
        let range = ClusterRange::of_models(0..200, 4).expect("they answer");
        print!("{range}");
        for round in 0..4 {
            for end in [0, 1] {
                let of = |(what, alone, silent): (_, [u64; 2], [u64; 2])| {
                    (what, if is_silent(round) { silent } else { alone }[end])
                };
                let figures = recorded(round, REAL.into_iter().map(of));
                let differences = range.differences(round, &figures, SLACK);
                assert!(differences.is_empty(), "{round}: {differences:#?}");
            }
        }
    }

    #[test]
    fn another_answer_is_found_and_a_time_that_no_model_takes() {
        let range = ClusterRange::of_models(0..5, 1).expect("they answer");
        let figures = cluster_failover(&mut ModelNetwork::redis("redis-cluster", 3), 0);
        let figures = figures.expect("it answers");
        assert_eq!(range.differences(0, &figures, Duration::ZERO), [""; 0]);
        let mut other = figures.clone();
        other.words.insert("its replica", vec!["OK".into()]);
        other.times.insert("written to the replica", Duration::from_millis(100));
        other.times.remove("refused by the replica");
        assert_eq!(range.differences(0, &other, Duration::ZERO).len(), 3);
    }
}
