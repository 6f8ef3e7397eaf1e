//! The steps of a story in the order of time: events, and the ends of leases, which are not events,
//! because nobody is notified of them.

use crate::facts::{HistoryFacts, HoldSpan};
use crate::names::Speaker;
use base::{Event, RunInfo};

/// A step of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryStep {
    /// The time of the step, in nanoseconds.
    pub time: u64,
    /// Its place among the events, from 1; none for the end of a lease.
    pub number: Option<usize>,
    /// The name of the process or nemesis.
    pub who: String,
    /// The act, in words.
    pub what: String,
}

/// Returns these events of a run, in its order, with the ends of the leases that their processes
/// believed in beyond them.
pub fn steps(info: &RunInfo, facts: &HistoryFacts<'_>, events: &[&Event]) -> Vec<StoryStep> {
    let speaker = Speaker::new(info);
    let event = |(place, event): (usize, &&Event)| StoryStep {
        time: event.time_ns,
        number: Some(place + 1),
        who: speaker.who(event),
        what: speaker.what(event),
    };
    let mut steps: Vec<StoryStep> = events.iter().enumerate().map(event).collect();
    for hold in expired(facts, events) {
        let Some(end) = hold.ran_out else { continue };
        let time = end.at_ns;
        let place = steps.iter().position(|step| step.time > time).unwrap_or(steps.len());
        let (who, what) = (speaker.process(hold.process), end.words().to_owned());
        let step = StoryStep { time, number: None, who, what };
        // Several holds may end with one session.
        if !steps.contains(&step) {
            steps.insert(place, step);
        }
    }
    steps
}

/// The holds of these events whose leases end between the first event and the last.
fn expired<'a>(
    facts: &'a HistoryFacts<'a>,
    events: &'a [&Event],
) -> impl Iterator<Item = &'a HoldSpan> + use<'a> {
    let first = events.first().map_or(0, |event| event.time_ns);
    let last = events.last().map_or(0, |event| event.time_ns);
    facts.holds.iter().filter(move |hold| {
        hold.ran_out.is_some_and(|end| (first..=last).contains(&end.at_ns))
            && events.iter().any(|event| hold.covers(event))
    })
}
