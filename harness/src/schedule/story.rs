//! The story of a counterexample: the operations and faults that lead to the anomaly, a line each.
//! What begins after the last event of the witness is no part of it, nor is a client that has no
//! operation before it.

use base::{Anomaly, Event, F, Kind, Process, Run};
use reports::names::Speaker;

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

/// The story of an anomaly in its run.
pub fn story(run: &Run, anomaly: &Anomaly) -> Vec<Line> {
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
