//! A lock, enumerated: every interleaving of a few clients in a world without time.
//!
//! The enumeration knows bad states by a sign. What they show, and by which cause, the checkers
//! say, of the story of the shortest schedule to each sort of them, as of any other run with a
//! ledger.

use base::{
    Anomaly, Cause, Causes, Event, F, History, Kind, Outcome, Process, Run, RunInfo, RunSpec, Task,
};
use checkers::Judgement;
use reports::interpretation::{Breach, breaches};
use serde::{Deserialize, Serialize};
use sim::exhaustive::{
    EnumerationCase, Explorer, Extent, FaultKind, Move, ScheduleStory, SearchProgress, Sign,
};
use std::time::Duration;
use stores::{Store, Visit};
use workloads::TestedLock;

use crate::setup::Setup;
use crate::shrink;
use crate::worlds::sim::opens;

/// A lock and what is enumerated of it.
#[derive(Clone)]
pub struct Enumeration {
    lock: TestedLock,
    task: &'static Task,
    case: EnumerationCase,
    reduce: bool,
}

impl Enumeration {
    /// Enumerates two clients that ask once for one key, without faults.
    pub fn new(lock: TestedLock) -> Self {
        let case = EnumerationCase {
            algo: lock.name().into(),
            task: Task::CONTEND.name.into(),
            clients: 2,
            cycles: 1,
            keys: 1,
            shared: lock.info.promises.shared,
            fenced: lock.info.promises.fenced,
            unlimited: false,
            faults: 0,
            kinds: vec![FaultKind::Crash, FaultKind::Expire, FaultKind::Reset],
        };
        Self { lock, task: &Task::CONTEND, case, reduce: true }
    }

    /// Enumerates another task, on as many keys as it needs, up to one for each client.
    pub fn of(self, task: &'static Task) -> Self {
        let with = |case: &mut EnumerationCase| {
            case.task = task.name.into();
            case.keys = case.keys.max(task.keys.min(case.clients));
        };
        Self { task, ..self.with(with) }
    }

    /// Changes what is enumerated.
    pub fn with(mut self, change: impl FnOnce(&mut EnumerationCase)) -> Self {
        change(&mut self.case);
        self
    }

    /// Takes every step by itself, equivalent orders included.
    pub fn unreduced(self) -> Self {
        Self { reduce: false, ..self }
    }

    /// Returns the enumerated case.
    pub fn case(&self) -> &EnumerationCase {
        &self.case
    }

    /// Searches until there is nothing more, there are `most` states, or `go_on` says no.
    pub fn search(&self, most: u64, go_on: &mut dyn FnMut(SearchProgress) -> bool) -> Found {
        let (extent, sorts) = self.lock.store().visit(ExhaustiveSearch(self, most, go_on));
        let mut findings: Vec<Finding> = Vec::new();
        for sort in sorts {
            for shown in self.judge(sort.sign, &sort.story) {
                let schedule = sort.story.actions.clone();
                let fresh = Finding { states: sort.states, steps: sort.steps, schedule, ..shown };
                match findings.iter_mut().find(|known| known.is_like(&fresh)) {
                    Some(known) => known.add(fresh),
                    None => findings.push(fresh),
                }
            }
        }
        Found { extent, findings }
    }

    /// The anomalies that the checkers see in a story that shows a sign, without their schedules.
    pub fn judge(&self, sign: Sign, story: &ScheduleStory) -> Vec<Finding> {
        // Who still holds the lock would seem to hold on for as long as nothing happens.
        let silence = if sign == Sign::Stuck { HOUR } else { Duration::ZERO };
        let run = self.run(story, silence);
        let verdicts = Judgement::of(&run).verdicts;
        let seen = breaches(&run.info, &verdicts).into_iter();
        let shown: Vec<Finding> = seen
            .filter(|breach| is_of(sign, breach.property, breach.anomaly))
            .map(|breach| Finding::of(&run, &breach))
            .collect();
        if shown.is_empty() { vec![unjudged(sign, story, &run.info)] } else { shown }
    }

    /// A story as a run of the simulator, after which nothing happens for some time.
    pub fn run(&self, story: &ScheduleStory, silence: Duration) -> Run {
        let mut history = History::default();
        for event in &story.events {
            history.push(event.clone());
        }
        for (f, later) in [(F::Quiet, Duration::ZERO), (F::Stop, silence)] {
            let time = history.end() + later.as_nanos() as u64;
            history.push(Event::new(time, Process::Nemesis, Kind::Info, f));
        }
        let spec = RunSpec {
            clients: self.case.clients,
            keys: self.case.keys,
            task: self.task.name.into(),
            ..self.lock.info.run("none", 0)
        };
        let setup = Setup::new(&self.lock, spec).expect("a lock that can be run");
        let info = setup.info_for("sim");
        Run { info, history, ledger: Some(story.ledger().clone()) }
    }

    /// Takes exactly these steps; tells what happens and why it is bad.
    ///
    /// # Errors
    /// With the number of the first step, from 0, that cannot be taken.
    pub fn replay(&self, schedule: &[Move]) -> Result<(ScheduleStory, Vec<Sign>), usize> {
        self.lock.store().visit(ScheduleReplay(self, schedule))
    }

    /// Shows every schedule, one by one: for spaces that are small.
    pub fn walk(&self, each: &mut dyn FnMut(&ScheduleStory, &[Sign])) {
        self.lock.store().visit(ScheduleWalk(self, each));
    }

    fn explorer<S: Store>(&self) -> Explorer<S> {
        let explorer = Explorer::new(self.case.clone(), self.task, opens(&self.lock));
        if self.reduce { explorer } else { explorer.unreduced() }
    }
}

struct ExhaustiveSearch<'a>(&'a Enumeration, u64, &'a mut dyn FnMut(SearchProgress) -> bool);

impl Visit for ExhaustiveSearch<'_> {
    type Out = (Extent, Vec<sim::exhaustive::ShortestWay>);

    fn visit<S: Store>(self) -> Self::Out {
        self.0.explorer::<S>().search(self.1, self.2)
    }
}

struct ScheduleReplay<'a>(&'a Enumeration, &'a [Move]);

impl Visit for ScheduleReplay<'_> {
    type Out = Result<(ScheduleStory, Vec<Sign>), usize>;

    fn visit<S: Store>(self) -> Self::Out {
        self.0.explorer::<S>().replay(self.1)
    }
}

struct ScheduleWalk<'a>(&'a Enumeration, &'a mut dyn FnMut(&ScheduleStory, &[Sign]));

impl Visit for ScheduleWalk<'_> {
    type Out = ();

    fn visit<S: Store>(self) {
        self.0.explorer::<S>().walk(self.1);
    }
}

/// A time longer than any lock takes to be granted again.
const HOUR: Duration = Duration::from_secs(3_600);

/// Tells if an anomaly of a property is the one that a sign is the sign of.
fn is_of(sign: Sign, property: &str, anomaly: &Anomaly) -> bool {
    match sign {
        Sign::Overlap => property == "exclusion",
        Sign::StaleWrite => anomaly.name == "stale write accepted",
        Sign::LostUpdate => anomaly.name == "lost update",
        Sign::ForeignRelease => property == "foreign-release",
        Sign::Stuck => property == "progress",
        Sign::WaitsForAnotherKey => property == "independence",
    }
}

/// A sign of which the checkers say nothing. To them one wait for another key is too little; here,
/// where nothing is slow, it is one too many.
fn unjudged(sign: Sign, story: &ScheduleStory, info: &RunInfo) -> Finding {
    let alone = sign == Sign::WaitsForAnotherKey && story.is_faultless();
    let cause = alone.then_some(Cause::Recipe);
    let anomaly = sign.to_string();
    let known = info.lock.known.iter().find(|k| Some(k.cause) == cause && k.anomaly == anomaly);
    let known = known.map(|known| known.why.clone());
    Finding { anomaly, cause: cause.into(), known, ..Finding::default() }
}

/// The result of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The extent of what was seen.
    #[serde(flatten)]
    pub extent: Extent,
    /// The anomalies, each by each of its causes.
    pub findings: Vec<Finding>,
}

/// A way to break something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The property that it breaks; of a sign that the checkers pass over, none.
    pub property: String,
    /// The name of the anomaly.
    pub anomaly: String,
    /// Its cause, as far as the checkers find it.
    pub cause: Causes,
    /// The reason for which it was to be expected of this lock, if it was.
    pub known: Option<String>,
    /// The number of states that show it first.
    pub states: u64,
    /// The least number of steps, of those that others can see.
    pub steps: u64,
    /// The number of its operations and faults, as they are counted of a stored counterexample.
    pub messages: u64,
    /// All steps of the shortest schedule, those that nobody else can see included.
    pub schedule: Vec<Move>,
}

impl Finding {
    /// Makes the finding of a breach, without its schedule.
    fn of(run: &Run, breach: &Breach<'_>) -> Self {
        Self {
            property: breach.property.into(),
            anomaly: breach.anomaly.name.clone(),
            cause: breach.anomaly.cause,
            known: breach.known.map(|known| known.why.clone()),
            messages: shrink::story(run, breach.anomaly.clone()).messages as u64,
            ..Self::default()
        }
    }

    /// The same anomaly by the same cause.
    fn is_like(&self, other: &Self) -> bool {
        (&self.property, &self.anomaly, self.cause)
            == (&other.property, &other.anomaly, other.cause)
    }

    /// Adds more states that show it.
    fn add(&mut self, other: Self) {
        let states = self.states + other.states;
        if other.steps < self.steps {
            *self = other;
        }
        self.states = states;
    }
}

/// The version of the stored form that this build writes.
pub const ENUMERATION_VERSION: u32 = 3;

/// An enumeration and what it came to, as it is stored. Each finding can be replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enumerated {
    /// The version of this format.
    pub picklock_enumeration: u32,
    /// The case that was enumerated.
    pub case: EnumerationCase,
    /// The result of the search.
    pub found: Found,
}

impl Enumerated {
    /// Makes a result in the form of this version.
    pub fn new(case: EnumerationCase, found: Found) -> Self {
        Self { picklock_enumeration: ENUMERATION_VERSION, case, found }
    }

    /// Returns the outcome that it amounts to.
    pub fn outcome(&self) -> Outcome {
        match (self.found.findings.is_empty(), self.found.extent.exhausted) {
            (false, _) => Outcome::Violated,
            (true, true) => Outcome::Held,
            (true, false) => Outcome::Inconclusive,
        }
    }
}
