//! A witness in words: the few events that show an anomaly, told in their order.

use crate::faults::{Outage, seat};
use crate::holds::{Claim, End, Ending};
use base::{Anomaly, Data, Direction, F, Fault, Key, Mode, Node, Run};
use std::ops::Range;

/// A time of the history as people read it: seconds, to the millisecond.
pub(crate) fn seconds(nanos: u64) -> String {
    format!("{}.{:03} s", nanos / 1_000_000_000, nanos / 1_000_000 % 1_000)
}

/// A number and its noun: "1 grant", "2 grants".
pub(crate) fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

struct Clause {
    at: u64,
    subject: String,
    said: String,
}

/// Collects events and what is to be said of each.
pub(crate) struct Story<'a> {
    run: &'a Run,
    outages: &'a [Outage],
    clauses: Vec<Clause>,
    remark: String,
}

impl<'a> Story<'a> {
    pub(crate) fn new(run: &'a Run, outages: &'a [Outage]) -> Self {
        Self { run, outages, clauses: Vec::new(), remark: String::new() }
    }

    /// The time of an event, in words.
    pub(crate) fn time(&self, at: u64) -> String {
        seconds(self.run.history.get(at).map_or(self.run.history.end(), |event| event.time))
    }

    /// "`subject` `what` at 4.100 s`tail`".
    pub(crate) fn tell(&mut self, at: u64, subject: impl ToString, what: &str, tail: &str) {
        let said = format!("{what} at {}{tail}", self.time(at));
        self.clauses.push(Clause { at, subject: subject.to_string(), said });
    }

    /// Adds an event to the witness; `said` is the whole clause after its subject.
    pub(crate) fn say(&mut self, at: u64, subject: impl ToString, said: String) {
        self.clauses.push(Clause { at, subject: subject.to_string(), said });
    }

    /// What is said last, of no event.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remark = text.into();
    }

    /// The grant of a claim.
    pub(crate) fn grant(&mut self, claim: &Claim) {
        let how = match (self.run.info.promises.shared, claim.mode) {
            (false, _) => "acquired",
            (true, Mode::Exclusive) => "acquired exclusively",
            (true, Mode::Shared) => "acquired shared",
        };
        if let Some(ok) = claim.granted() {
            self.tell(ok, process(claim), how, "");
        }
    }

    /// What ended a hold.
    pub(crate) fn end(&mut self, claim: &Claim, end: End) {
        let how = match end.how {
            Ending::Released => "released",
            Ending::Lost => "noticed that it may have lost the lock",
            Ending::Death => self.death(claim, end.at),
        };
        self.tell(end.at, process(claim), how, "");
    }

    /// Whether an event is the death of a process.
    pub(crate) fn is_death(&self, at: u64) -> bool {
        self.run.history.get(at).is_some_and(|event| event.f == F::Death)
    }

    /// How a process died: by a fault, or for a reason of its own.
    pub(crate) fn death(&self, claim: &Claim, at: u64) -> &'static str {
        let node = Node::Client(self.seat(claim));
        let kills = |fault: &Fault| matches!(fault, Fault::Crash { node: n, .. } if *n == node);
        let killed = |outage: &&Outage| outage.meets(at, at) && kills(&outage.fault);
        self.outages.iter().find(killed).map_or("died", |_| "was killed")
    }

    pub(crate) fn seat(&self, claim: &Claim) -> u32 {
        seat(claim.process, self.run.info.clients)
    }

    /// The faults that hit the client of this claim in a stretch of the history, the latest two,
    /// with their heals up to `until`; returns whether there were any.
    pub(crate) fn client_faults(&mut self, claim: &Claim, during: Range<u64>, until: u64) -> bool {
        let seat = self.seat(claim);
        let hits = |outage: &&Outage| outage.seats().any(|hit| hit == seat);
        let found = self.latest(during, hits);
        for outage in &found {
            let at = outage.shown_at();
            let while_what = match claim.granted() {
                Some(ok) if ok <= at => " while it held",
                _ => " while it asked",
            };
            let tail = if at >= claim.invoke { while_what } else { "" };
            self.tell(at, process(claim), &hit(&outage.fault, seat), tail);
            self.heal(outage, process(claim), undone(&outage.fault), until);
        }
        !found.is_empty()
    }

    /// The faults that hit only servers, the latest two, with their heals up to `until`.
    pub(crate) fn server_faults(&mut self, during: Range<u64>, until: u64) {
        for outage in self.latest(during, |outage| outage.seats().next().is_none()) {
            let (subject, what, healed) = on_servers(&outage.fault);
            self.tell(outage.shown_at(), &subject, what, "");
            self.heal(outage, subject, healed, until);
        }
    }

    fn heal(&mut self, outage: &Outage, subject: String, what: &str, until: u64) {
        if let Some(healed) = outage.healed.filter(|healed| *healed <= until) {
            self.tell(healed, subject, what, "");
        }
    }

    fn latest(&self, during: Range<u64>, is: impl Fn(&&Outage) -> bool) -> Vec<&'a Outage> {
        let meets = |o: &&Outage| o.meets(during.start, during.end) && !o.had_none();
        let mut found: Vec<_> = self.outages.iter().filter(meets).filter(is).collect();
        found.drain(..found.len().saturating_sub(2));
        found
    }

    /// The anomaly that the story shows. Several locks in one run: the story names its lock.
    pub(crate) fn anomaly(mut self, name: &str, seen: u64, keys: &[Key], key: usize) -> Anomaly {
        self.clauses.sort_by_key(|clause| clause.at);
        self.clauses.dedup_by_key(|clause| clause.at);
        let lock = keys.get(key).filter(|_| keys.len() > 1);
        let mut explanation = lock.map_or(String::new(), |key| format!("lock {key}: "));
        let by_subject = self.clauses.chunk_by(|a, b| a.subject == b.subject);
        let mut told: Vec<String> = by_subject.map(sentence).collect();
        told.extend((!self.remark.is_empty()).then_some(self.remark));
        explanation.push_str(&told.join("; "));
        let witness = self.clauses.iter().map(|clause| clause.at).collect();
        Anomaly { name: name.into(), count: seen, witness, explanation }
    }
}

/// "process 3 acquired at 4.100 s and was paused at 4.210 s".
fn sentence(clauses: &[Clause]) -> String {
    let said: Vec<&str> = clauses.iter().map(|clause| clause.said.as_str()).collect();
    let joined = match said.as_slice() {
        [] => String::new(),
        [only] => (*only).into(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    };
    clauses.first().map_or(String::new(), |first| format!("{} {joined}", first.subject))
}

pub(crate) fn process(claim: &Claim) -> String {
    format!("process {}", claim.process)
}

/// What a fault does to the client in this seat.
fn hit(fault: &Fault, seat: u32) -> String {
    match fault {
        Fault::Pause { .. } => "was paused".into(),
        Fault::Crash { .. } => "was killed".into(),
        Fault::Cut { links, direction } => cut_off(links, *direction, seat),
    }
}

/// "was cut off from server 0, server 1". A link's direction is seen from the client, whichever
/// end of the link it is.
fn cut_off(links: &[(Node, Node)], direction: Direction, seat: u32) -> String {
    let client = Node::Client(seat);
    let ours = links.iter().filter(|(a, b)| *a == client || *b == client);
    let others: Vec<String> =
        ours.clone().map(|(a, b)| if *a == client { b } else { a }.to_string()).collect();
    let first = ours.clone().any(|(a, _)| *a == client);
    let what = match (direction, first) {
        (Direction::Both, _) => "was cut off from",
        (Direction::Forward, true) | (Direction::Backward, false) => "could not reach",
        (Direction::Backward, true) | (Direction::Forward, false) => "could not hear",
    };
    format!("{what} {}", others.join(", "))
}

fn undone(fault: &Fault) -> &'static str {
    match fault {
        Fault::Pause { .. } => "ran on",
        Fault::Crash { .. } => "was started again",
        Fault::Cut { .. } => "was connected again",
    }
}

/// Who is hit by a fault among servers, what happens to him, and what its heal is called.
fn on_servers(fault: &Fault) -> (String, &'static str, &'static str) {
    match fault {
        Fault::Pause { node } => (node.to_string(), "was paused", undone(fault)),
        Fault::Crash { node, data: Data::Lost } => {
            (node.to_string(), "crashed and lost its data", undone(fault))
        }
        Fault::Crash { node, .. } => (node.to_string(), "crashed", undone(fault)),
        Fault::Cut { .. } => (format!("{fault},"), "began", "ended"),
    }
}
