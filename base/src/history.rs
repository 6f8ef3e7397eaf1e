//! The history: an append-only list of what clients believed, what the vault saw and what the
//! nemesis did, in Jepsen's vocabulary, stored as JSON Lines behind a versioned header.

use crate::{Effect, Facts, Fault, FaultId, Key, Mode, Stall, emplace};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The version of the header that this build writes and reads.
pub const HEADER_VERSION: u32 = 2;

/// The first line of a stored history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub picklock_history: u32,
}

impl Default for Header {
    fn default() -> Self {
        Self { picklock_history: HEADER_VERSION }
    }
}

/// The originator of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Process {
    /// The fault injector, and the phases of the run.
    Nemesis,
    /// A client process. Numbers are never used twice: a crashed client comes back under a new one.
    #[serde(untagged)]
    Client(u32),
}

/// Written by hand: the derived form would copy each value before it looks at it, on every line.
impl<'de> Deserialize<'de> for Process {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Who;

        impl Visitor<'_> for Who {
            type Value = Process;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a process number below 2^32, or \"nemesis\"")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Process, E> {
                let wrong = || E::invalid_value(Unexpected::Unsigned(number), &self);
                u32::try_from(number).map(Process::Client).map_err(|_| wrong())
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Process, E> {
                match name {
                    "nemesis" => Ok(Process::Nemesis),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }
        }

        deserializer.deserialize_any(Who)
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nemesis => f.write_str("nemesis"),
            Self::Client(n) => write!(f, "process {n}"),
        }
    }
}

/// The stage of an operation that an event marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The operation begins.
    Invoke,
    /// The operation ended and happened.
    Ok,
    /// The operation ended and certainly did not happen.
    Fail,
    /// The outcome is unknown, now or for good; or the event is a fact and not an operation.
    Info,
}

/// The operation or fact that an event records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum F {
    /// A client asks for the lock.
    Acquire,
    /// A client changes how it holds the lock, to `mode`, without letting go of it: an upgrade to
    /// exclusive, a downgrade to shared.
    Convert,
    /// A client asks for more time for its hold. `fail`: the hold is over.
    Extend,
    /// A client is asked whether it still holds the lock. `ok`: it believes so.
    Valid,
    /// A client frees the lock.
    Release,
    /// A client says that it may have lost the lock and stops touching the vault (`info`).
    Lost,
    /// A client says that it doubts its hold and goes on all the same (`info`).
    Doubt,
    /// The store has woken a client that waits for the lock (`info`).
    Notified,
    /// A client process is gone (`info`), stamped before the signal is sent.
    Death,
    /// A read of the vault. `ok` stands where the vault served it, with the value read.
    Read,
    /// A write to the vault. `ok` stands where the vault applied it; `fail` where it fenced it off.
    Write,
    /// A write arrives at the vault that ended in doubt long ago, because its client had waited for
    /// the answer in vain: `ok` where the vault applied it, `fail` where it fenced it off. It is no
    /// operation of its own: its store facts name the `invoke` of the write.
    Arrive,
    /// The nemesis injects a fault: `invoke` when it begins to, `info` when it is in force.
    Fault,
    /// The nemesis heals a fault: `invoke` when it begins to, `info` when it is undone, with the
    /// measured effect.
    Heal,
    /// Someone other than the harness did something to a server or a client (`info`, with the
    /// action): what comes from here on, or from shortly before it was seen, proves nothing.
    Interference,
    /// The machine did not run a server, a client or the harness, though it was ready to run
    /// (`info`, with the stall, at its end).
    Stall,
    /// All faults are healed and stay so (`info`): from here on the lock must make progress.
    Quiet,
    /// The run is over (`info`): clients are asked for nothing more.
    Stop,
}

impl fmt::Display for F {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Acquire => "acquire",
            Self::Convert => "convert",
            Self::Extend => "extend",
            Self::Valid => "valid",
            Self::Release => "release",
            Self::Lost => "lost",
            Self::Doubt => "doubt",
            Self::Notified => "notified",
            Self::Death => "death",
            Self::Read => "read",
            Self::Write => "write",
            Self::Arrive => "arrive",
            Self::Fault => "fault",
            Self::Heal => "heal",
            Self::Interference => "interference",
            Self::Stall => "stall",
            Self::Quiet => "quiet",
            Self::Stop => "stop",
        };
        f.write_str(name)
    }
}

/// The fault of a `fault` or `heal` event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultEvent {
    /// The number of the fault in the run; a heal has the number of its fault.
    pub id: FaultId,
    /// The fault itself.
    pub fault: Fault,
    /// The measured effect, on the `info` of its heal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effect: Option<Effect>,
    /// The line of the fault script that asked for it, on the `invoke` of its injection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// The servers that lead others, if the run looks at that: before the fault, on the `invoke` of
    /// its injection, and after it, on the `info` of its heal.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub leaders: Vec<u32>,
}

/// One line of the history. Its index decides what came before what; its time is for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The event's place in the history, from 0, without gaps.
    pub index: u64,
    /// The time since the run began.
    pub time_ns: u64,
    /// The client process or the nemesis.
    pub process: Process,
    /// The stage: begin or end, and with what outcome.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The operation or fact.
    pub f: F,
    /// The lock; `None` where the event concerns no single one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<Key>,
    /// The mode in which the lock is asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode: Option<Mode>,
    /// The value read or written; of an acquire, the number of permits, where it is not 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<u64>,
    /// The fencing token, of a grant and of each read and write under it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<u64>,
    /// The reason for a failure or a doubt, in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The fault that a `fault` or `heal` concerns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault: Option<Box<FaultEvent>>,
    /// The store facts, on the answer to an acquire or a release; the stall of a `stall`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub facts: Option<Box<Facts>>,
}

impl Event {
    /// A bare event; the history gives it its index when it is pushed.
    pub fn new(time_ns: u64, process: Process, kind: Kind, f: F) -> Self {
        Self {
            index: 0,
            time_ns,
            process,
            kind,
            f,
            key: None,
            mode: None,
            value: None,
            token: None,
            error: None,
            fault: None,
            facts: None,
        }
    }

    /// The stall of the machine that the event records.
    pub fn stall(&self) -> Option<Stall> {
        self.facts.as_ref()?.stall
    }

    /// The client's number; `None` for the nemesis.
    pub fn client(&self) -> Option<u32> {
        match self.process {
            Process::Client(n) => Some(n),
            Process::Nemesis => None,
        }
    }

    /// An upper bound on the bytes that the event owns on the heap, if its line has this length:
    /// whatever is there is shorter than its written form.
    pub fn heap(&self, line: usize) -> usize {
        let boxes = match (&self.fault, &self.facts) {
            (None, None) if self.error.is_none() => return self.key.as_deref().map_or(0, str::len),
            (None, None) => 0,
            _ => size_of::<FaultEvent>() + size_of::<Facts>(),
        };
        boxes + line
    }
}

/// A whole history, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    events: Vec<Event>,
}

impl From<Vec<Event>> for History {
    /// Takes events that have their indices already.
    fn from(events: Vec<Event>) -> Self {
        Self { events }
    }
}

impl History {
    /// An empty history with room for this many events.
    pub fn with_room(events: usize) -> Self {
        Self { events: Vec::with_capacity(events) }
    }

    /// Appends an event and gives it its index.
    pub fn push(&mut self, event: Event) -> &Event {
        self.emplace(|| event)
    }

    /// Appends an event that is made where it is to stand, and gives it its index.
    #[inline]
    pub fn emplace(&mut self, make: impl FnOnce() -> Event) -> &mut Event {
        let index = self.events.len() as u64;
        emplace(&mut self.events, make);
        let event = self.events.last_mut().expect("just made");
        event.index = index;
        event
    }

    /// The events, by index.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The event at an index.
    pub fn get(&self, index: u64) -> Option<&Event> {
        self.events.get(usize::try_from(index).ok()?)
    }

    /// The time of the last event, in nanoseconds; 0 for an empty history.
    pub fn end(&self) -> u64 {
        self.events.last().map_or(0, |e| e.time_ns)
    }

    /// The stored form: a header line, then a line an event.
    pub fn to_jsonl(&self) -> String {
        let mut text = header_line();
        for event in &self.events {
            text.push_str(&event_line(event));
        }
        text
    }
}

/// The first line of a stored history.
pub fn header_line() -> String {
    serde_json::to_string(&Header::default()).expect("a header is plain data") + "\n"
}

/// An event as its line of the stored history.
pub fn event_line(event: &Event) -> String {
    serde_json::to_string(event).expect("an event is plain data") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_line_without_store_facts_is_read_as_one_with_none() {
        let line = r#"{"index":0,"time_ns":5,"process":1,"type":"ok","f":"release","key":"k"}"#;
        let event: Event = serde_json::from_str(line).unwrap();
        assert_eq!(event.facts, None);
        let removed = Event {
            facts: Some(Box::new(Facts { removed: Some(crate::Removed::Own), ..Facts::default() })),
            ..event
        };
        expect![[r#"
            {"index":0,"time_ns":5,"process":1,"type":"ok","f":"release","key":"k","facts":{"removed":"own"}}
        "#]].assert_eq(&event_line(&removed));
        assert_eq!(serde_json::from_str::<Event>(&event_line(&removed)).unwrap(), removed);
    }

    #[test]
    fn events_are_small() {
        // Ten million operations are twenty million events, which must fit in 8 GB with the rest.
        assert!(size_of::<Event>() <= 128, "{}", size_of::<Event>());
    }
}
