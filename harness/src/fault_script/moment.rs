//! Moments at which the faults of a script come: a time of the run, or something that happens to
//! the lock.

use std::time::Duration;

use super::error::{Mistake, ScriptMistake};
use super::fields::{Fields, Placed};
use super::time;
use super::{Aim, ScriptedRun, Whom};
use crate::nearest;

/// The time at which a fault comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A time of the run, from when all clients are up.
    At(Duration),
    /// After something has happened to the lock.
    When {
        /// The event that it waits for.
        trigger: LockEvent,
        /// The command that it waits for, of the events that are one's.
        command: Option<&'static str>,
        /// The client to whom it has to happen. `None`: whoever it is.
        client: Option<u32>,
        /// The number of such moments that are passed over, and one.
        nth: u32,
        /// The time from then on.
        after: Duration,
    },
}

/// Something that happens to a client and the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockEvent {
    /// The client has asked for the lock.
    Asked,
    /// A server has answered while nobody is known to hold the lock; the client does not know it.
    Answered,
    /// The same, by a majority of servers that know nothing of each other.
    Majority,
    /// A command of an acquire or a release has left the client.
    CommandSent,
    /// A server has answered such a command; the client does not know it.
    CommandAnswered,
    /// The client was granted the lock.
    Granted,
    /// The client has held the lock for a while.
    Working,
    /// The client is done with its work and about to release the lock.
    BeforeRelease,
    /// The fault before it in the script has come; it is no client's moment.
    Fault,
}

/// All triggers with their names.
pub const MOMENTS: &[(&str, LockEvent, &str)] = &[
    ("asked", LockEvent::Asked, "a client has asked for the lock"),
    ("answered", LockEvent::Answered, "a server has answered, and the client does not know it yet"),
    (
        "majority",
        LockEvent::Majority,
        "the same, by a majority of servers, as three of Redlock's five",
    ),
    (
        "sent",
        LockEvent::CommandSent,
        "a client sends a command, which `command` names, to a server",
    ),
    ("granted", LockEvent::Granted, "a client was granted the lock"),
    ("working", LockEvent::Working, "a client has held the lock for a twentieth of its ttl"),
    ("before-release", LockEvent::BeforeRelease, "a client is about to release the lock"),
    ("fault", LockEvent::Fault, "the fault before it in the script has come"),
];

impl LockEvent {
    /// Returns the time for which it has to last before it counts.
    pub fn lasts(self, ttl: Duration) -> Duration {
        if self == Self::Working { ttl / 20 } else { Duration::ZERO }
    }
}

const AT: &str = "a time of the run: at = \"3s\"";
const WHEN: &str = "the name of a moment: when = \"granted\"";
const WHO: &str = "the name of a client: who = \"client-0\"";
const AFTER: &str = "a time: after = \"200ms\"";
const COMMAND: &str = "the name of a command: command = \"SETNX\"";
const NTH: &str = "a whole number from 1: nth = 3";

impl Moment {
    /// The time of the run, if it is one.
    pub const fn at(&self) -> Option<Duration> {
        match self {
            Self::At(at) => Some(*at),
            Self::When { .. } => None,
        }
    }

    /// Reads the moment of a fault.
    pub(super) fn read(
        fields: &Fields<'_>,
        aim: &Aim,
        is_first: bool,
        run: &ScriptedRun<'_>,
    ) -> Result<Self, ScriptMistake> {
        match (fields.text("at", AT)?, fields.text("when", WHEN)?) {
            (Some(_), Some((_, place))) => {
                let both = "give `at` for a time of the run, or `when` for a moment of the lock";
                Err(Mistake::Contradiction(both).at(place))
            }
            (None, None) => {
                let missing = "a moment: at = \"3s\" or when = \"granted\"";
                Err(Mistake::Missing(missing).at(fields.at.clone()))
            }
            (Some(at), None) => read_at(fields, at, run),
            (None, Some((text, place))) => {
                let trigger = read_trigger(fields, (text, place.clone()), is_first, run)?;
                let (trigger, command) = read_command(fields, (trigger, place), run)?;
                let nth = fields.count("nth", NTH)?.map_or(1, |(nth, _)| nth);
                let after = fields.text("after", AFTER)?;
                let after = after.map(|after| read_time(after, run)).transpose()?;
                let (client, after) = (who(fields, aim, run)?, after.unwrap_or_default());
                Ok(Self::When { trigger, command, client, nth, after })
            }
        }
    }
}

/// Reads a time of the run.
fn read_at(
    fields: &Fields<'_>,
    at: Placed<&str>,
    run: &ScriptedRun<'_>,
) -> Result<Moment, ScriptMistake> {
    absent(fields, "nth", "`nth` counts the moments of `when`")?;
    absent(fields, "command", "`command` goes with when = \"sent\" or \"answered\"")?;
    absent(fields, "who", "`who` says whose moment `when` means")?;
    absent(fields, "after", "`after` goes with `when`; `at` is exact")?;
    let place = at.1.clone();
    match read_time(at, run)? {
        at if at < run.time_limit => Ok(Moment::At(at)),
        _ => Err(late("the fault would come", run).at(place)),
    }
}

/// Reads the name of a moment of the lock.
fn read_trigger(
    fields: &Fields<'_>,
    (text, place): Placed<&str>,
    is_first: bool,
    run: &ScriptedRun<'_>,
) -> Result<LockEvent, ScriptMistake> {
    let named = MOMENTS.iter().find(|(name, ..)| *name == text).map(|(_, trigger, _)| *trigger);
    match named {
        None => {
            let names: Vec<&str> = MOMENTS.iter().map(|(name, ..)| *name).collect();
            Err(Mistake::Unknown(nearest::unknown("moment", text, &names)).at(place))
        }
        Some(LockEvent::Fault) if is_first => {
            Err(Mistake::Contradiction("there is no fault before the first one").at(place))
        }
        Some(LockEvent::Fault) => {
            absent(fields, "nth", "the fault before comes once")?;
            absent(fields, "who", "`fault` is no client's moment")?;
            Ok(LockEvent::Fault)
        }
        Some(LockEvent::Majority) if !run.several => {
            let why = "`majority` is for locks on servers that know nothing of each other, such as \
                       redlock: give `answered`";
            Err(Mistake::Misfit(why.into()).at(place))
        }
        Some(trigger) => Ok(trigger),
    }
}

/// Reads the command whose moment it is, if it is that of a command.
fn read_command(
    fields: &Fields<'_>,
    (trigger, place): Placed<LockEvent>,
    run: &ScriptedRun<'_>,
) -> Result<(LockEvent, Option<&'static str>), ScriptMistake> {
    let Some((text, at)) = fields.text("command", COMMAND)? else {
        return match trigger {
            LockEvent::CommandSent => Err(Mistake::Missing(COMMAND).at(place)),
            trigger => Ok((trigger, None)),
        };
    };
    let trigger = match trigger {
        LockEvent::Answered => LockEvent::CommandAnswered,
        LockEvent::CommandSent => LockEvent::CommandSent,
        _ => {
            let misplaced = "`command` goes with when = \"sent\" or \"answered\"";
            return Err(Mistake::Contradiction(misplaced).at(at));
        }
    };
    match run.commands.iter().find(|known| known.eq_ignore_ascii_case(text)) {
        Some(command) => Ok((trigger, Some(*command))),
        None => Err(Mistake::Unknown(nearest::unknown("command", text, &run.commands)).at(at)),
    }
}

/// Refuses a field that says nothing beside another.
fn absent(fields: &Fields<'_>, field: &str, why: &'static str) -> Result<(), ScriptMistake> {
    fields.place(field).map_or(Ok(()), |place| Err(Mistake::Contradiction(why).at(place)))
}

/// Reads whose moment it is: that of a named client, or of the client by its number that is hit.
fn who(
    fields: &Fields<'_>,
    aim: &Aim,
    run: &ScriptedRun<'_>,
) -> Result<Option<u32>, ScriptMistake> {
    let Some((text, place)) = fields.text("who", WHO)? else { return Ok(aim.client()) };
    match Whom::read(text, run).map_err(|mistake| mistake.at(place.clone()))? {
        Whom::Client(client) => Ok(Some(client)),
        _ => Err(Mistake::Type { field: "who", wanted: WHO }.at(place)),
    }
}

/// Reads for how long a fault lasts.
pub(super) fn read_lasts(
    fields: &Fields<'_>,
    moment: Moment,
    run: &ScriptedRun<'_>,
) -> Result<Duration, ScriptMistake> {
    let missing = || Mistake::Missing("a length: lasts = \"1.5 ttl\"").at(fields.at.clone());
    let lasts = fields.text("lasts", "a time: lasts = \"2.5s\"")?.ok_or_else(missing)?;
    let place = lasts.1.clone();
    let lasts = read_time(lasts, run)?;
    if lasts.is_zero() {
        let none = "a fault that lasts no time does nothing".into();
        return Err(Mistake::Number(none).at(place));
    }
    let healed = match moment {
        Moment::At(at) => at + lasts,
        Moment::When { after, .. } => after + lasts,
    };
    match healed <= run.time_limit {
        true => Ok(lasts),
        false => Err(late("the fault would be healed", run).at(place)),
    }
}

fn read_time(
    (text, place): Placed<&str>,
    run: &ScriptedRun<'_>,
) -> Result<Duration, ScriptMistake> {
    time::read(text, run.ttl).map_err(|why| Mistake::Number(why).at(place))
}

fn late(what: &str, run: &ScriptedRun<'_>) -> Mistake {
    let limit = humantime::format_duration(run.time_limit);
    Mistake::Number(format!(
        "{what} after the run's time limit of {limit}: give a longer --time-limit"
    ))
}
