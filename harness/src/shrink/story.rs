//! The story of a counterexample: the operations and faults that lead to the anomaly, each with its
//! begin and its end, in the order of time. An operation that begins after the last event of the
//! witness is no part of it, nor is a client that has no operation before that event.

use base::units::{counted, span};
use base::{Anomaly, BackendError, Event, F, Kind, Process, Run};
use checkers::Judgement;
use reports::facts::HistoryFacts;
use reports::steps::{StoryStep, steps};
use reports::terminal::{self, Style};
use workloads::TestedLock;

use crate::schedule::{Schedule, Shows};
use crate::simulate;

/// The story of a counterexample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterexampleStory {
    /// The anomaly that it shows.
    pub anomaly: Anomaly,
    /// The number of operations and faults in it.
    pub messages: usize,
    /// The steps, in the order of time.
    pub steps: Vec<StoryStep>,
}

/// The reason why a schedule has no story.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// It does not state its anomaly.
    #[error("the schedule does not say what it shows")]
    NothingToShow,
    /// It cannot be run.
    #[error(transparent)]
    Run(#[from] BackendError),
    /// Its anomaly is not there.
    #[error("the schedule does not show {0} any more")]
    ShownNoMore(String),
}

/// A counterexample that can be taken in at a glance has no more clients, faults and messages.
const SMALL: (usize, usize, usize) = (3, 2, 12);

/// A schedule's anomaly, and its story, as they are in the simulator.
///
/// # Errors
/// Fails when the schedule cannot be run, or does not show the anomaly that it states.
pub fn story_of(lock: &TestedLock, schedule: &Schedule) -> Result<CounterexampleStory, StoryError> {
    let Some(shows) = &schedule.shows else {
        return Err(StoryError::NothingToShow);
    };
    let Shows { property, anomaly, .. } = shows;
    let run = simulate::replay(lock, schedule)?;
    let verdicts = Judgement::of(&run).verdicts;
    let verdict = verdicts.into_iter().find(|verdict| verdict.property == *property);
    let mut anomalies = verdict.into_iter().flat_map(|verdict| verdict.anomalies);
    let found = anomalies.find(|found| shows.fits(found));
    let found = found.ok_or_else(|| StoryError::ShownNoMore(anomaly.clone()))?;
    Ok(story(&run, found))
}

/// Returns true if a counterexample fits on one screen.
pub fn is_small(lock: &TestedLock, schedule: &Schedule) -> bool {
    let (clients, faults, messages) = SMALL;
    let few = schedule.client_count() as usize <= clients && schedule.faults.len() <= faults;
    few && story_of(lock, schedule).is_ok_and(|it| it.messages <= messages)
}

/// The story of an anomaly in its run.
pub fn story(run: &Run, anomaly: Anomaly) -> CounterexampleStory {
    let last = anomaly.witness.iter().copied().max().unwrap_or(0);
    let events = run.history.events().iter().take_while(|event| event.index <= last);
    // The phases of a run are no part of it, and a death is shown by the fault that caused it.
    let events: Vec<&Event> =
        events.filter(|event| !matches!(event.f, F::Quiet | F::Stop | F::Death)).collect();
    let ends = ends(&events);
    let messages = events.len() - ends.iter().flatten().count();
    let shown: Vec<&Event> = (0..events.len())
        .filter(|place| !is_implied_by_its_end(&events, *place, ends[*place]))
        .map(|place| events[place])
        .collect();
    let facts = HistoryFacts::of(run);
    CounterexampleStory { anomaly, messages, steps: steps(&run.info, &facts, &shown) }
}

/// Returns the place where each of these events ends, if it is the begin of something that does.
fn ends(events: &[&Event]) -> Vec<Option<usize>> {
    let mut ends = vec![None; events.len()];
    let mut open: Vec<usize> = Vec::new();
    let whose = |event: &Event| (event.process, event.f, event.fault.as_ref().map(|f| f.id));
    for (place, event) in events.iter().enumerate() {
        if event.kind == Kind::Invoke {
            open.push(place);
            continue;
        }
        if let Some(found) = open.iter().rposition(|begin| whose(events[*begin]) == whose(event)) {
            ends[open.remove(found)] = Some(place);
        }
    }
    ends
}

/// Returns true if the begin at a place needs no row of its own: its end follows at once. Asking
/// for the lock and getting it are always two.
fn is_implied_by_its_end(events: &[&Event], place: usize, end: Option<usize>) -> bool {
    let Some(end) = end else { return false };
    let millis = |place: usize| events[place].time_ns / 1_000_000;
    match (events[place].process, events[place].f) {
        (Process::Nemesis, _) => true,
        (_, F::Acquire) => false,
        _ => end == place + 1 && millis(end) == millis(place),
    }
}

/// Renders the story of a counterexample, as it is in the simulator; explained where nothing else
/// explains it.
pub fn render_story(
    lock: &TestedLock,
    schedule: &Schedule,
    explained: bool,
    style: Style,
) -> Result<String, StoryError> {
    let Some(Shows { anomaly, .. }) = &schedule.shows else { return Ok(String::new()) };
    let CounterexampleStory { anomaly: found, messages, steps } = story_of(lock, schedule)?;
    let title = format!(
        "{anomaly} of {} (ttl {}) with {}, {}, {}",
        schedule.algo,
        span(schedule.run.ttl_ns),
        counted(schedule.client_count().into(), "client", "clients"),
        counted(schedule.faults.len() as u64, "fault", "faults"),
        counted(messages as u64, "message", "messages"),
    );
    let explanation = explained.then_some(found.explanation.as_str());
    Ok(terminal::story(&title, &steps, explanation, style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;
    use base::{Fault, FaultEvent, History, Node};

    /// The rows of a story over these events, in milliseconds; the last is the witness.
    fn rows(events: &[(u64, u32, Kind, F)]) -> (usize, Vec<String>) {
        let mut history = History::default();
        for (ms, process, kind, f) in events {
            let mut event = Event::new(ms * 1_000_000, Process::Client(*process), *kind, *f);
            if matches!(f, F::Fault | F::Heal) {
                event.process = Process::Nemesis;
                let fault = Fault::at(Node::Client(0), base::Action::Pause);
                event.fault = Some(Box::new(FaultEvent {
                    id: 0,
                    fault,
                    effect: None,
                    line: None,
                    leaders: Vec::new(),
                }));
            }
            if (*process, *kind, *f) == (0, Kind::Ok, F::Acquire) {
                let expires = Some(4_000_000_000);
                event.facts =
                    Some(Box::new(base::Facts { expires_ns: expires, ..base::Facts::default() }));
            }
            history.push(event);
        }
        let lock = workloads::lock("redis-set-nx-px").expect("a lock of the list");
        let info = Setup::new(&lock, lock.info.run("pause", 0))
            .unwrap_or_else(|e| panic!("{e}"))
            .info_for("sim");
        let witness = vec![history.events().len() as u64 - 1];
        let found =
            story(&Run { info, history, ledger: None }, Anomaly { witness, ..Anomaly::default() });
        let row =
            |step: &StoryStep| format!("{} {}: {}", step.time / 1_000_000, step.who, step.what);
        (found.messages, found.steps.iter().map(row).collect())
    }

    #[test]
    fn asking_and_getting_are_two_rows_in_the_order_of_time() {
        use Kind::{Info, Invoke, Ok};
        let (messages, rows) = rows(&[
            (0, 0, Invoke, F::Acquire),
            (3, 1, Invoke, F::Acquire),
            (184, 0, Ok, F::Acquire),
            (184, 0, Invoke, F::Read),
            (184, 0, Ok, F::Read),
            (379, 0, Invoke, F::Fault),
            (380, 0, Info, F::Fault),
            (384, 0, Invoke, F::Write),
            (6_304, 1, Ok, F::Acquire),
            (6_305, 0, Ok, F::Write),
        ]);
        let expected = [
            "0 process 0: asks for the lock",
            "3 process 1: asks for the lock",
            "184 process 0: acquired the lock",
            "184 process 0: read the vault",
            "380 nemesis: client 0 paused",
            "384 process 0: writes to the vault",
            "4000 process 0: its lease expired",
            "6304 process 1: acquired the lock",
            "6305 process 0: wrote to the vault",
        ];
        assert_eq!((messages, rows), (5, expected.map(String::from).to_vec()));
    }
}
