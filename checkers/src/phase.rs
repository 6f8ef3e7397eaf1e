//! The quiet phase of a history: from `quiet`, when all faults are healed, to `stop`.

use base::units::span as seconds;
use base::{Event, F, History, Kind};
use std::ops::Range;

/// An event's place and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventTime {
    pub(crate) index: u64,
    pub(crate) time: u64,
}

impl From<&Event> for EventTime {
    fn from(event: &Event) -> Self {
        Self { index: event.index, time: event.time_ns }
    }
}

/// The interval in which progress is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuietPhase {
    /// The last heal before it; `None` when nothing had to be healed.
    pub(crate) healed: Option<EventTime>,
    pub(crate) quiet: EventTime,
    pub(crate) stop: EventTime,
}

impl QuietPhase {
    /// Finds it among some events, or says why there is none.
    pub(crate) fn of<'a>(events: impl Iterator<Item = &'a Event>) -> Result<Self, &'static str> {
        let (mut healed, mut quiet) = (None, None);
        for event in events {
            let moment = EventTime::from(event);
            match (event.f, event.kind, quiet) {
                (F::Heal, Kind::Info, None) => healed = Some(moment),
                (F::Quiet, _, None) => quiet = Some(moment),
                (F::Stop, _, Some(quiet)) => return Ok(Self { healed, quiet, stop: moment }),
                _ => {}
            }
        }
        Err(match quiet {
            None => "the run ended before its faults were healed",
            Some(_) => "the run was cut off in its quiet phase",
        })
    }

    /// Returns its length in nanoseconds.
    pub(crate) fn lasts(&self) -> u64 {
        self.stop.time.saturating_sub(self.quiet.time)
    }

    /// Returns true if an event lies in it.
    pub(crate) fn has(&self, index: u64) -> bool {
        (self.quiet.index..self.stop.index).contains(&index)
    }

    /// Returns true if an interval of the history has a part in it.
    pub(crate) fn meets(&self, interval: &Range<u64>) -> bool {
        interval.start < self.stop.index && self.quiet.index < interval.end
    }

    /// The part of it that comes after an event.
    pub(crate) fn from(&self, event: Option<&Event>) -> Self {
        let later = event.filter(|event| event.index > self.quiet.index);
        Self { quiet: later.map_or(self.quiet, EventTime::from), ..*self }
    }

    /// The first of these grants (by their `ok`) after the last heal, and how long after it.
    pub(crate) fn first_grant(
        &self,
        history: &History,
        grants: impl Iterator<Item = u64>,
    ) -> Option<(u64, String)> {
        let from = self.healed.unwrap_or(self.quiet);
        let first = grants.filter(|ok| *ok > from.index && *ok < self.stop.index).min()?;
        let after = history.get(first)?.time_ns.saturating_sub(from.time);
        let what = self.healed.map_or("the quiet phase began", |_| "the heal");
        Some((after, format!("first grant {} after {what}", seconds(after))))
    }
}
