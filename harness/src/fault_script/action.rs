//! Actions as a script names them, with their extents.

use base::{ACTIONS, Action, ClockChange, Data, Direction, LinkFault};
use std::time::Duration;

use super::error::{Mistake, ScriptMistake};
use super::fields::Fields;
use super::time;
use crate::nearest;

/// The fields that give an action its extent.
pub const EXTENTS: &[&str] = &["by", "percent", "times", "bytes-per-second"];

/// Reads the action of a fault.
pub fn read(fields: &Fields<'_>, ttl: Duration) -> Result<Action, ScriptMistake> {
    let action = fields.text("action", "the name of an action: action = \"pause\"")?;
    let missing = Mistake::Missing("an action: action = \"pause\" (`picklock list actions`)");
    let (name, at) = action.ok_or_else(|| missing.at(fields.at.clone()))?;
    let named = ACTIONS.iter().find(|action| action.spec().name == name);
    let action = named.copied().ok_or_else(|| {
        let names: Vec<&str> = ACTIONS.iter().map(|action| action.spec().name).collect();
        Mistake::Unknown(nearest::unknown("action", name, &names)).at(at.clone())
    })?;
    let wanted = extent(action);
    for field in EXTENTS.iter().filter(|field| wanted != Some(**field)) {
        if let Some(at) = fields.place(field) {
            let misfit = format!("`{name}` takes no `{field}`");
            return Err(Mistake::Misfit(misfit).at(at));
        }
    }
    match action {
        Action::Clock(ClockChange::Jump(sample)) => {
            let (text, place) = fields
                .text("by", "a time: by = \"5s\"")?
                .ok_or_else(|| Mistake::Missing("a distance: by = \"5s\"").at(at))?;
            let by = time::read(text, ttl).map_err(|why| Mistake::Number(why).at(place))?;
            let by = by.as_nanos() as i64;
            Ok(Action::Clock(ClockChange::Jump(if sample < 0 { -by } else { by })))
        }
        Action::Clock(ClockChange::Drift(_)) => {
            let (percent, place) = fields
                .number("percent", "a number: percent = -1.5")?
                .ok_or_else(|| Mistake::Missing("a rate: percent = 1.5").at(at))?;
            let why = "a clock drifts by -90 to 1000 percent, and not by nothing";
            let ppm = (percent * 10_000.0).round();
            match (-900_000.0..=10_000_000.0).contains(&ppm) && ppm != 0.0 {
                true => Ok(Action::Clock(ClockChange::Drift(ppm as i32))),
                false => Err(Mistake::Number(why.into()).at(place)),
            }
        }
        Action::Link(LinkFault::Slow(_)) => {
            let times = fields.count("times", "a whole number: times = 16")?;
            let times = times.ok_or_else(|| Mistake::Missing("a factor: times = 16").at(at))?;
            Ok(Action::Link(LinkFault::Slow(times.0)))
        }
        Action::Link(LinkFault::Jitter(_)) => {
            let (text, place) = fields
                .text("by", "a time: by = \"50ms\"")?
                .ok_or_else(|| Mistake::Missing("the longest delay: by = \"50ms\"").at(at))?;
            let by = time::read(text, ttl).map_err(|why| Mistake::Number(why).at(place.clone()))?;
            let why = "a jitter is a microsecond or more, and an hour at most";
            match u32::try_from(by.as_micros()) {
                Ok(micros @ 1..=3_600_000_000) => Ok(Action::Link(LinkFault::Jitter(micros))),
                _ => Err(Mistake::Number(why.into()).at(place)),
            }
        }
        Action::Link(LinkFault::Throttle(_)) => {
            let rate =
                fields.count("bytes-per-second", "a whole number: bytes-per-second = 300")?;
            let missing = Mistake::Missing("a bandwidth: bytes-per-second = 300");
            Ok(Action::Link(LinkFault::Throttle(rate.ok_or_else(|| missing.at(at))?.0)))
        }
        action => Ok(action),
    }
}

/// The field that gives an action its extent, if it has one.
pub const fn extent(action: Action) -> Option<&'static str> {
    match action {
        Action::Clock(ClockChange::Jump(_)) | Action::Link(LinkFault::Jitter(_)) => Some("by"),
        Action::Clock(ClockChange::Drift(_)) => Some("percent"),
        Action::Link(LinkFault::Slow(_)) => Some("times"),
        Action::Link(LinkFault::Throttle(_)) => Some("bytes-per-second"),
        _ => None,
    }
}

/// The action in one line, for `picklock list`.
pub const fn about(action: Action) -> &'static str {
    match action {
        Action::Pause => "a node stops running and notices nothing",
        Action::Kill => "the process of a client dies; a new one takes its place",
        Action::Crash(Data::Kept) => "a server dies, and comes back with its data",
        Action::Crash(Data::Lost) => "a server dies, and comes back empty",
        Action::Crash(Data::Unsynced) => "a server loses its power, and its last second",
        Action::Vanish => "the machine of a server is gone without a word, and comes back",
        Action::Evict => "the memory of a server is filled, so that it evicts",
        Action::Cut(Direction::Both) => "links hold what is sent over them, and deliver it late",
        Action::Cut(Direction::Forward) => "the same, from the first end of each link only",
        Action::Cut(Direction::Backward) => "the same, from the second end of each link only",
        Action::Clock(ClockChange::Jump(0..)) => "a wall clock is set ahead (by = \"5s\")",
        Action::Clock(ClockChange::Jump(_)) => "a wall clock is set back (by = \"5s\")",
        Action::Clock(ClockChange::Drift(_)) => "clocks run fast or slow (percent = -1.5)",
        Action::Clock(ClockChange::Freeze) => "clocks stand still; the node runs on",
        Action::Link(LinkFault::Reset) => "connections break, and both ends are told",
        Action::Link(LinkFault::Refuse) => "new connections are refused",
        Action::Link(LinkFault::LoseRequest) => "the next request is lost with its connection",
        Action::Link(LinkFault::LoseReply) => "the next reply is lost with its connection",
        Action::Link(LinkFault::Slow(_)) => "messages take so many times as long (times = 16)",
        Action::Link(LinkFault::Jitter(_)) => {
            "messages take up to so much longer, each by chance (by = \"50ms\")"
        }
        Action::Link(LinkFault::Throttle(_)) => {
            "links carry so much and no more (bytes-per-second = 300)"
        }
    }
}
