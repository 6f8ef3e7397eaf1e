//! A witness in words: the few events that show an anomaly, in their order.

use crate::evidence::Evidence;
use crate::faults::FaultSpan;
use crate::words::{moment, process};
use base::{
    Action, Anomaly, Belief, Cause, Causes, Event, F, Family, Fault, FaultId, Kind, LeaseEnd,
    Leases, Mode, Node, Removed, Run, phrases,
};
use histories::holds::{Claim, Ending, HoldEnd};
use std::ops::Range;

/// The families of the faults that tell a cause best; none where a fault is not needed.
const fn families(cause: Cause) -> &'static [Family] {
    match cause {
        Cause::HolderPaused => &[Family::Pause],
        Cause::HolderCutOff | Cause::LateGrant | Cause::WriteDelayed => {
            &[Family::Cut, Family::Link]
        }
        Cause::LateRequest | Cause::ReplyLost | Cause::ReleaseLost => {
            &[Family::Cut, Family::Link, Family::Crash, Family::Pause]
        }
        Cause::ServerClock | Cause::ClientClock => &[Family::Clock],
        Cause::ServersApart | Cause::ShortSession | Cause::ServerSilent => {
            &[Family::Crash, Family::Cut, Family::Pause]
        }
        Cause::OnlyServerDown => &[Family::Crash, Family::Pause],
        Cause::ServerForgets | Cause::ClientDied => &[Family::Crash],
        Cause::Evicted => &[Family::Memory],
        Cause::LongHold
        | Cause::CallCancelled
        | Cause::ForeignRelease
        | Cause::Recovery
        | Cause::RanOutWhileReleasing
        | Cause::NothingTaken
        | Cause::SharedIdentity
        | Cause::Recipe => &[],
    }
}

struct Clause {
    at: u64,
    subject: String,
    predicate: String,
}

/// Collects events with a clause about each, as long as its steps last. A step is a thing looked
/// at: a clause, a fault, a claim. Past them the story adds no more, and ends with a note on that.
pub struct Story<'a> {
    run: &'a Run,
    /// The cause of what it tells, as far as it is known.
    cause: Causes,
    fault_spans: &'a [FaultSpan],
    claims: &'a [Claim],
    leases: &'a Leases,
    outlived: Vec<(u64, LeaseEnd)>,
    clauses: Vec<Clause>,
    faults: Vec<FaultId>,
    remark: String,
    steps: u64,
    cut_short: bool,
}

impl<'a> Story<'a> {
    pub(crate) fn new(evidence: &'a Evidence<'_>, cause: Causes, steps: u64) -> Self {
        Self {
            run: evidence.run,
            cause,
            fault_spans: &evidence.fault_spans,
            claims: &evidence.claims.claims,
            leases: evidence.leases(),
            outlived: Vec::new(),
            clauses: Vec::new(),
            faults: Vec::new(),
            remark: String::new(),
            steps,
            cut_short: false,
        }
    }

    /// Returns true if its cause lies with the servers, whatever befell clients besides.
    pub(crate) fn is_of_servers(&self) -> bool {
        self.cause.iter().any(Cause::is_of_servers)
    }

    /// Returns true if the faults of servers belong to the story of an overlap: its cause lies with
    /// them, or it needs some fault, and no client had one.
    pub(crate) fn concerns_servers(&self, hit: bool) -> bool {
        let needs_none = self.cause.only().is_some_and(|cause| families(cause).is_empty());
        self.is_of_servers() || (!hit && !needs_none)
    }

    /// Pays for so many steps; false when they are not left.
    pub(crate) fn pay(&mut self, steps: u64) -> bool {
        self.cut_short |= steps > self.steps;
        self.steps = if self.cut_short { 0 } else { self.steps - steps };
        !self.cut_short
    }

    /// Returns the type of an event: its begin or its answer.
    pub(crate) fn kind(&self, at: u64) -> Option<Kind> {
        self.run.history.get(at).map(|event| event.kind)
    }

    /// The time of an event, in words.
    pub(crate) fn time(&self, at: u64) -> String {
        moment(self.run.history.get(at).map_or(self.run.history.end(), |event| event.time_ns))
    }

    /// Adds an event to the witness: "`subject` `what` at 4.100 s`tail`".
    pub(crate) fn tell(&mut self, at: u64, subject: impl ToString, what: &str, tail: &str) {
        let predicate = format!("{what} at {}{tail}", self.time(at));
        self.say(at, subject, predicate);
    }

    /// Adds an event to the witness; `predicate` is the whole clause after its subject.
    pub(crate) fn say(&mut self, at: u64, subject: impl ToString, predicate: String) {
        if self.pay(1) {
            self.clauses.push(Clause { at, subject: subject.to_string(), predicate });
        }
    }

    /// Ends the story with a remark about no event.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remark = text.into();
    }

    /// The grant of a claim.
    pub(crate) fn grant(&mut self, claim: &Claim) {
        let how = match (self.run.info.lock.promises.shared, claim.mode) {
            (false, _) => phrases::clause(F::Acquire, Kind::Ok),
            (true, Mode::Exclusive) => "acquired exclusively",
            (true, Mode::Shared) => "acquired shared",
        };
        if let Some(ok) = claim.granted() {
            self.tell(
                ok,
                process(claim),
                &(how.to_owned() + &of_several(claim.permits.into())),
                "",
            );
            let end = claim.outlived(&self.run.history, self.leases);
            self.outlived.extend(end.map(|end| (ok, end)));
        }
    }

    /// Adds the ends of leases to the clauses about their grants, as far as the story goes.
    fn end_leases(&mut self) {
        let last = self.clauses.last().and_then(|clause| self.run.history.get(clause.at));
        let last = last.map_or(0, |event| event.time_ns);
        for (grant, end) in self.outlived.iter().filter(|(_, end)| end.at_ns <= last) {
            let granted = self.run.history.get(*grant).map_or(0, |event| event.time_ns);
            let had = if end.at_ns < granted { "before that, " } else { "" };
            if let Some(clause) = self.clauses.iter_mut().find(|clause| clause.at == *grant) {
                let ended = format!(" ({had}{} at {})", end.words(), moment(end.at_ns));
                clause.predicate.push_str(&ended);
            }
        }
    }

    /// Events in plain words, with the faults of their processes: what there is to say about an
    /// anomaly of which no more is known.
    pub(crate) fn retell(&mut self, evidence: &Evidence<'_>, witness: &[u64]) {
        let (Some(&first), Some(&last)) = (witness.first(), witness.last()) else { return };
        let mut processes: Vec<u32> = Vec::new();
        for event in witness.iter().filter_map(|at| self.run.history.get(*at)) {
            self.retell_one(event);
            processes.extend(event.client().filter(|process| !processes.contains(process)));
        }
        if !self.pay(evidence.claims.claims.len() as u64) {
            return;
        }
        let mut hit = false;
        for process in processes {
            let mut ours =
                evidence.claims.claims.iter().rev().filter(|claim| claim.process == process);
            if let Some(claim) = ours.find(|claim| claim.invoke <= last) {
                hit |= self.client_faults(claim, first..last, last);
            }
        }
        if !hit || self.is_of_servers() {
            self.server_faults(first..last, last);
        }
    }

    fn retell_one(&mut self, event: &Event) {
        if let Some(about) = &event.fault {
            let (subject, what, healed) = on_servers(&about.fault);
            let what = if event.f == F::Heal { healed } else { &what };
            return self.tell(event.index, subject, what, "");
        }
        let mut what = phrases::clause(event.f, event.kind).to_owned();
        if let (F::Acquire, Kind::Ok, Some(permits)) = (event.f, event.kind, event.value) {
            what.push_str(&of_several(permits));
        }
        if let (F::Acquire, Kind::Ok, Some(token)) = (event.f, event.kind, event.token) {
            what.push_str(&format!(" with token {token}"));
        }
        let facts = event.facts.as_deref();
        if let (F::Acquire, Kind::Ok, Some(place)) =
            (event.f, event.kind, facts.and_then(|facts| facts.place))
        {
            what.push_str(&format!(" from place {place} of the queue"));
        }
        let removed = facts.and_then(|facts| facts.removed);
        let tail = removed.map_or("", Removed::words);
        self.tell(event.index, event.process, &what, tail);
    }

    /// Tells what ended a hold.
    pub(crate) fn end(&mut self, claim: &Claim, end: HoldEnd) {
        let how = match end.how {
            Ending::Released => phrases::clause(F::Release, Kind::Ok),
            Ending::Lost => phrases::clause(F::Lost, Kind::Info),
            Ending::Death => self.death(claim, end.at),
        };
        self.tell(end.at, process(claim), how, "");
    }

    /// Returns true if an event is the death of a process.
    pub(crate) fn is_death(&self, at: u64) -> bool {
        self.run.history.get(at).is_some_and(|event| event.f == F::Death)
    }

    /// Tells how a process died: by a fault, or for a reason of its own.
    pub(crate) fn death(&self, claim: &Claim, at: u64) -> &'static str {
        let node = Node::Client(self.client(claim));
        let kills = |fault: &Fault| fault.action() == Action::Kill && fault.node() == Some(node);
        let killed = |fault_span: &&FaultSpan| fault_span.meets(at, at) && kills(&fault_span.fault);
        let killed = self.fault_spans.iter().find(killed);
        let died = phrases::clause(F::Death, Kind::Info);
        killed.map_or(died, |fault_span| fault_span.fault.spec().lasting)
    }

    pub(crate) fn client(&self, claim: &Claim) -> u32 {
        self.run.info.client_of(claim.process)
    }

    /// The faults that hit the client of this claim in an interval of the history, the relevant
    /// two, with their heals up to `until`; returns whether there were any.
    pub(crate) fn client_faults(&mut self, claim: &Claim, during: Range<u64>, until: u64) -> bool {
        if !self.pay((self.fault_spans.len() + self.claims.len()) as u64) {
            return false;
        }
        let client = self.client(claim);
        let hits = |fault_span: &&FaultSpan| fault_span.clients().any(|hit| hit == client);
        let found = self.relevant(during, hits);
        for fault_span in &found {
            self.faults.push(fault_span.id);
            let at = fault_span.shown_at();
            let hit = self.hit(claim, at).unwrap_or(claim);
            let lasting = fault_span.fault.lasting(Node::Client(client));
            self.tell(at, process(hit), &lasting, doing(hit, at));
            self.heal(fault_span, process(hit), fault_span.fault.healed(), until);
        }
        !found.is_empty()
    }

    /// Returns what the worker of a claim had asked for last when a fault hit it at an event: it
    /// may have been another process then.
    fn hit(&self, claim: &Claim, at: u64) -> Option<&'a Claim> {
        let worker = |it: &Claim| self.run.info.worker_of(it.process);
        let ours = self.claims.iter().filter(|it| worker(it) == worker(claim) && it.invoke <= at);
        ours.max_by_key(|it| it.invoke)
    }

    /// The faults that hit only servers, the relevant two, with their heals up to `until`.
    pub(crate) fn server_faults(&mut self, during: Range<u64>, until: u64) {
        if !self.pay(self.fault_spans.len() as u64) {
            return;
        }
        for fault_span in self.relevant(during, |fault_span| fault_span.clients().next().is_none())
        {
            self.faults.push(fault_span.id);
            let (subject, what, healed) = on_servers(&fault_span.fault);
            self.tell(fault_span.shown_at(), &subject, &what, "");
            self.heal(fault_span, subject, healed, until);
        }
    }

    fn heal(&mut self, fault_span: &FaultSpan, subject: String, what: &str, until: u64) {
        if let Some(healed) = fault_span.healed.filter(|healed| *healed <= until) {
            self.tell(healed, subject, what, "");
        }
    }

    /// The latest two of such faults; in the place of the first the longest that can be the cause,
    /// if neither of them can.
    fn relevant(&self, during: Range<u64>, is: impl Fn(&&FaultSpan) -> bool) -> Vec<&'a FaultSpan> {
        let meets = |o: &&FaultSpan| o.meets(during.start, during.end) && !o.had_none();
        let mut found: Vec<_> = self.fault_spans.iter().filter(meets).filter(is).collect();
        let may_be_it = |it: &&&FaultSpan| {
            self.cause.iter().any(|cause| families(cause).contains(&it.fault.family()))
        };
        let longest = found.iter().filter(may_be_it).max_by_key(|it| self.lasted(it)).copied();
        found.drain(..found.len().saturating_sub(2));
        if let Some(longest) = longest.filter(|_| !found.iter().any(|it| may_be_it(&it))) {
            found[0] = longest;
        }
        found
    }

    /// Returns the time for which a fault was in force, in nanoseconds.
    fn lasted(&self, fault_span: &FaultSpan) -> u64 {
        let time =
            |at| self.run.history.get(at).map_or(self.run.history.end(), |event| event.time_ns);
        time(fault_span.healed.unwrap_or(u64::MAX)).saturating_sub(time(fault_span.begin))
    }

    /// Adds the story to an anomaly. In a run with several locks it names its lock.
    pub(crate) fn complete(mut self, evidence: &Evidence<'_>, anomaly: &mut Anomaly) {
        let core = anomaly.witness.iter().filter_map(|at| evidence.run.history.get(*at));
        let lock = core.filter_map(|event| event.key.as_ref()).next();
        let lock = lock.filter(|_| evidence.claims.keys.len() > 1);
        self.clauses.sort_by_key(|clause| clause.at);
        self.clauses.dedup_by_key(|clause| clause.at);
        self.end_leases();
        let by_subject = self.clauses.chunk_by(|a, b| a.subject == b.subject);
        let mut sentences: Vec<String> = by_subject.map(sentence).collect();
        let reason = std::mem::take(&mut anomaly.explanation);
        sentences.extend([self.remark.clone(), reason].into_iter().filter(|text| !text.is_empty()));
        anomaly.witness.extend(self.clauses.iter().map(|clause| clause.at));
        anomaly.witness.sort_unstable();
        anomaly.witness.dedup();
        anomaly.beliefs = self.beliefs(evidence, &anomaly.witness);
        if self.cut_short {
            sentences.push("the explanation was cut short here".into());
        }
        let lock = lock.map_or(String::new(), |key| format!("lock {key}: "));
        anomaly.explanation = lock + &sentences.join("; ");
        self.faults.sort_unstable();
        self.faults.dedup();
        anomaly.faults = self.faults;
        anomaly.cut_short = self.cut_short;
    }

    /// The holds of the processes of a witness that are part of its time.
    fn beliefs(&mut self, evidence: &Evidence<'_>, witness: &[u64]) -> Vec<Belief> {
        let history = &evidence.run.history;
        let (Some(&first), Some(&last)) = (witness.first(), witness.last()) else {
            return Vec::new();
        };
        if !self.pay(evidence.claims.claims.len() as u64) {
            return Vec::new();
        }
        let events = witness.iter().filter_map(|at| history.get(*at));
        let processes: Vec<u32> = events.filter_map(Event::client).collect();
        let shown = |hold: &Range<u64>| hold.start <= last && first <= hold.end;
        let belief = |claim: &Claim| {
            let hold = claim.definite().filter(shown)?;
            Some(Belief {
                process: claim.process,
                mode: claim.mode,
                from_ns: history.get(hold.start)?.time_ns,
                until_ns: history.get(hold.end).map(|event| event.time_ns),
                expires_ns: evidence.facts(hold.start).and_then(|facts| facts.expires_ns),
            })
        };
        let ours = evidence.claims.grants().filter(|claim| processes.contains(&claim.process));
        ours.filter_map(belief).take(BELIEFS).collect()
    }
}

/// A witness that spans a whole run would else list every hold of its processes.
const BELIEFS: usize = 16;

/// The words for the permits of a grant, where it has several: " 2 permits".
fn of_several(permits: u64) -> String {
    if permits == 1 { String::new() } else { format!(" {}", phrases::several(permits)) }
}

/// Joins clauses: "process 3 acquired at 4.100 s and was paused at 4.210 s".
fn sentence(clauses: &[Clause]) -> String {
    let predicates: Vec<&str> = clauses.iter().map(|clause| clause.predicate.as_str()).collect();
    let joined = match predicates.as_slice() {
        [] => String::new(),
        [only] => (*only).into(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    };
    clauses.first().map_or(String::new(), |first| format!("{} {joined}", first.subject))
}

/// Tells what a process was doing with its claim at an event.
fn doing(claim: &Claim, at: u64) -> &'static str {
    let asking = claim.asking();
    let held = claim.granted().is_some_and(|ok| ok <= at);
    match claim.end {
        _ if at < asking.start => "",
        Some(end) if held && end.at < at => "",
        _ if held => " while it held",
        _ if at <= asking.end => " while it asked",
        _ => "",
    }
}

/// Tells what is hit by a fault among servers, what happens to it, and what its heal is called.
fn on_servers(fault: &Fault) -> (String, String, &'static str) {
    match fault.node() {
        Some(node) => (node.to_string(), fault.lasting(node), fault.healed()),
        None => (format!("{fault},"), "began".into(), "ended"),
    }
}

#[cfg(test)]
mod tests;
