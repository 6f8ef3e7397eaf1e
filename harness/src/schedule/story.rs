//! The story of a counterexample: the operations and faults that lead to the anomaly, a line each.
//! What begins after the last event of the witness is no part of it, nor is a client that has no
//! operation before it.

use base::{Anomaly, Event, F, Kind, Process, Run};
use checkers::Judgement;
use reports::names::Speaker;

use super::{Schedule, Shows};
use crate::simulate;

/// An operation of a client, or a fault or its heal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it began, in nanoseconds.
    pub from: u64,
    /// When it ended; `None`: not within the story.
    pub until: Option<u64>,
    /// Who.
    pub who: String,
    /// What, and how it ended.
    pub what: String,
}

/// A counterexample that can be taken in at a glance has no more clients, faults and lines.
const SMALL: (usize, usize, usize) = (3, 2, 12);

/// A schedule's anomaly, and its story, as they are in the simulator.
///
/// # Errors
/// When the schedule cannot be run, or does not show the anomaly that it is said to show.
pub fn story_of(schedule: &Schedule) -> Result<(Anomaly, Vec<Line>), String> {
    let Some(Shows { property, anomaly }) = &schedule.shows else {
        return Err("the schedule does not say what it shows".into());
    };
    let run = simulate::replay(schedule).map_err(|error| error.to_string())?;
    let verdicts = Judgement::of(&run).verdicts;
    let verdict = verdicts.into_iter().find(|verdict| verdict.property == *property);
    let mut anomalies = verdict.into_iter().flat_map(|verdict| verdict.anomalies);
    let found = anomalies.find(|found| found.name == *anomaly);
    let found = found.ok_or_else(|| format!("the schedule does not show {anomaly} any more"))?;
    let lines = story(&run, &found);
    Ok((found, lines))
}

/// Whether a counterexample fits on one screen.
pub fn is_small(schedule: &Schedule) -> bool {
    let (clients, faults, lines) = SMALL;
    let few = schedule.clients.len() <= clients && schedule.faults.len() <= faults;
    few && story_of(schedule).is_ok_and(|(_, story)| story.len() <= lines)
}

/// The story of an anomaly in its run.
fn story(run: &Run, anomaly: &Anomaly) -> Vec<Line> {
    let last = anomaly.witness.iter().copied().max().unwrap_or(0);
    let events = run.history.events().iter().take_while(|event| event.index <= last);
    // The phases of a run are no part of it, and a death is told by the fault that brought it.
    let events = events.filter(|event| !matches!(event.f, F::Quiet | F::Stop | F::Death));
    let speaker = Speaker::new(&run.info);
    let mut lines: Vec<(Line, Process, F, Option<u32>)> = Vec::new();
    for event in events {
        let fault = event.fault.as_ref().map(|fault| fault.id);
        let ends = |(line, process, f, id): &&mut (Line, Process, F, Option<u32>)| {
            line.until.is_none() && (*process, *f, *id) == (event.process, event.f, fault)
        };
        let open = match event.kind {
            Kind::Invoke => None,
            _ => lines.iter_mut().rev().find(ends),
        };
        match open {
            Some((line, ..)) => {
                line.until = Some(event.time);
                line.what = speaker.what(event);
            }
            None => lines.push((line(speaker, event), event.process, event.f, fault)),
        }
    }
    lines.into_iter().map(|(line, ..)| line).collect()
}

fn line(speaker: Speaker, event: &Event) -> Line {
    Line {
        from: event.time,
        until: (event.kind != Kind::Invoke).then_some(event.time),
        who: speaker.who(event),
        what: speaker.what(event),
    }
}
