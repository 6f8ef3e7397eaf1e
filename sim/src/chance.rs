//! The random decisions of the simulator, as data: recorded while they are drawn from the seed, or
//! given and replayed. A replay draws nothing, so that it does not change when somebody draws one
//! number more or less.

use base::Node;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// The random decisions in a simulated world. What is not listed has
/// the plain value, so that a simple world is a short list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chances {
    /// The delay of a message between a client and a server.
    pub link_ns: u64,
    /// The delay of a message between two servers.
    pub peer_ns: u64,
    /// The delay of a line between the harness and a client.
    pub pipe_ns: u64,
    /// Messages with another delay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<Delays>,
    /// The lead of each server's wall clock over a correct one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_skews_ns: Vec<u64>,
    /// The lead of each client process's wall clock over a correct one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub client_skews_ns: BTreeMap<u32, u64>,
    /// The random numbers that a process drew; after them, and without them, it counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub random: BTreeMap<u32, Vec<u64>>,
    /// The seed of each process's client library; its own number when not listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub libraries: BTreeMap<u32, u64>,
}

/// The delays of one directed link that are not the plain ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    /// The sender of the messages. The same client at both ends: the line between the harness and
    /// that client.
    pub from: Node,
    /// The receiver of the messages.
    pub to: Node,
    /// The delays, by the number of the message on this link, from 0.
    #[serde(with = "by_number")]
    pub delays_ns: BTreeMap<u64, u64>,
}

/// The stored form of what has numbers: a list where none is missing, which is a third as long.
mod by_number {
    use serde::de::{MapAccess, SeqAccess, Visitor};
    use serde::{Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;
    use std::fmt;

    pub fn serialize<S: Serializer>(all: &BTreeMap<u64, u64>, to: S) -> Result<S::Ok, S::Error> {
        match (0..).zip(all.keys()).all(|(number, key)| number == *key) {
            true => to.collect_seq(all.values()),
            false => all.serialize(to),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u64, u64>, D::Error> {
        from.deserialize_any(ByNumber)
    }

    struct ByNumber;

    impl<'de> Visitor<'de> for ByNumber {
        type Value = BTreeMap<u64, u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of times, or times by their numbers")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut all = BTreeMap::new();
            while let Some(value) = list.next_element()? {
                all.insert(all.len() as u64, value);
            }
            Ok(all)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut all = BTreeMap::new();
            while let Some((number, value)) = map.next_entry()? {
                all.insert(number, value);
            }
            Ok(all)
        }
    }
}

impl Chances {
    /// A plain world over links of this delay: constant delays, right clocks, random numbers that
    /// count.
    pub fn plain(link: Duration) -> Self {
        Self {
            link_ns: link.as_nanos() as u64,
            peer_ns: 200_000,
            pipe_ns: 20_000,
            delays: Vec::new(),
            server_skews_ns: Vec::new(),
            client_skews_ns: BTreeMap::new(),
            random: BTreeMap::new(),
            libraries: BTreeMap::new(),
        }
    }

    /// The longest time that a message takes between a client and a server.
    pub fn slowest(&self) -> u64 {
        let outer = self.delays.iter().filter(|link| {
            matches!(
                (link.from, link.to),
                (Node::Client(_), Node::Server(_)) | (Node::Server(_), Node::Client(_))
            )
        });
        let listed = outer.filter_map(|link| link.delays_ns.values().max().copied()).max();
        self.link_ns.max(listed.unwrap_or(0))
    }

    fn delay(&self, from: Node, to: Node, number: u64) -> u64 {
        let listed = self.delays.iter().find(|link| (link.from, link.to) == (from, to));
        listed.and_then(|link| link.delays_ns.get(&number).copied()).unwrap_or(match (from, to) {
            (Node::Server(_), Node::Server(_)) => self.peer_ns,
            (Node::Client(a), Node::Client(b)) if a == b => self.pipe_ns,
            _ => self.link_ns,
        })
    }
}

/// Records random choices, or replays those of a record.
#[derive(Debug)]
pub struct ChoiceLog {
    given: Option<Chances>,
    taken: RefCell<TakenChoices>,
}

#[derive(Debug, Default)]
struct TakenChoices {
    delays_ns: BTreeMap<(Node, Node), Vec<u64>>,
    server_skews_ns: Vec<u64>,
    client_skews_ns: BTreeMap<u32, u64>,
    random: BTreeMap<u32, Vec<u64>>,
    libraries: BTreeMap<u32, u64>,
}

impl ChoiceLog {
    /// Records what is drawn.
    pub fn record() -> Self {
        Self { given: None, taken: RefCell::default() }
    }

    /// Decides as it was recorded.
    pub fn replay(chances: Chances) -> Self {
        Self { given: Some(chances), taken: RefCell::default() }
    }

    /// Returns everything that was decided so far, each delay and each number; `link` is the plain
    /// delay for messages beyond the recorded ones.
    pub fn taken(&self, link: Duration) -> Chances {
        let taken = self.taken.borrow();
        let delays = taken.delays_ns.iter().map(|(&(from, to), nanos)| Delays {
            from,
            to,
            delays_ns: (0..).zip(nanos.iter().copied()).collect(),
        });
        Chances {
            delays: delays.collect(),
            server_skews_ns: taken.server_skews_ns.clone(),
            client_skews_ns: taken.client_skews_ns.clone(),
            random: taken.random.clone(),
            libraries: taken.libraries.clone(),
            ..Chances::plain(link)
        }
    }

    /// Returns the delay of the next message on this link, in nanoseconds.
    pub fn delay(&self, from: Node, to: Node, draw: impl FnOnce() -> u64) -> u64 {
        let mut taken = self.taken.borrow_mut();
        let delays = taken.delays_ns.entry((from, to)).or_default();
        let nanos = match &self.given {
            Some(given) => given.delay(from, to, delays.len() as u64),
            None => draw(),
        };
        delays.push(nanos);
        nanos
    }

    /// Returns the lead of the next server's wall clock over a correct one.
    pub fn server_skew(&self, draw: impl FnOnce() -> Duration) -> Duration {
        let mut taken = self.taken.borrow_mut();
        let nanos = match &self.given {
            Some(given) => {
                given.server_skews_ns.get(taken.server_skews_ns.len()).copied().unwrap_or(0)
            }
            None => draw().as_nanos() as u64,
        };
        taken.server_skews_ns.push(nanos);
        Duration::from_nanos(nanos)
    }

    /// Returns the lead of a client process's wall clock over a correct one.
    pub fn client_skew(&self, process: u32, draw: impl FnOnce() -> Duration) -> Duration {
        let nanos = match &self.given {
            Some(given) => given.client_skews_ns.get(&process).copied().unwrap_or(0),
            None => draw().as_nanos() as u64,
        };
        self.taken.borrow_mut().client_skews_ns.insert(process, nanos);
        Duration::from_nanos(nanos)
    }

    /// The next random number of a process. Plain ones count, apart from those of other processes:
    /// recipes take them for unique.
    pub fn random(&self, process: u32, draw: impl FnOnce() -> u64) -> u64 {
        let mut taken = self.taken.borrow_mut();
        let numbers = taken.random.entry(process).or_default();
        let place = numbers.len();
        let number = match &self.given {
            Some(given) => {
                let listed = given.random.get(&process).and_then(|numbers| numbers.get(place));
                listed.copied().unwrap_or((u64::from(process) + 1) << 32 | place as u64)
            }
            None => draw(),
        };
        numbers.push(number);
        number
    }

    /// Returns the seed of a process's client library.
    pub fn library(&self, process: u32, draw: impl FnOnce() -> u64) -> u64 {
        let seed = match &self.given {
            Some(given) => given.libraries.get(&process).copied().unwrap_or(u64::from(process)),
            None => draw(),
        };
        self.taken.borrow_mut().libraries.insert(process, seed);
        seed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Node = Node::Client(1);
    const SERVER: Node = Node::Server(0);

    /// Three delays, a random number and a skew.
    fn use_up(choice_log: &ChoiceLog, mut draw: impl FnMut() -> u64) -> Vec<u64> {
        let nanos = |d: Duration| d.as_nanos() as u64;
        let mut seen = Vec::new();
        for (from, to) in [(CLIENT, SERVER), (CLIENT, SERVER), (SERVER, CLIENT)] {
            seen.push(choice_log.delay(from, to, &mut draw));
        }
        seen.push(choice_log.random(7, &mut draw));
        seen.push(nanos(choice_log.server_skew(|| Duration::from_nanos(draw()))));
        seen
    }

    #[test]
    fn what_was_recorded_is_replayed_without_a_draw() {
        let choice_log = ChoiceLog::record();
        let mut next = 100;
        let drawn = use_up(&choice_log, || {
            next += 1;
            next
        });
        let replay = ChoiceLog::replay(choice_log.taken(Duration::from_millis(1)));
        assert_eq!(use_up(&replay, || unreachable!("a replay draws nothing")), drawn);
        // Beyond what was recorded everything is plain.
        let more = use_up(&replay, || unreachable!("a replay draws nothing"));
        assert_eq!(more, [1_000_000, 1_000_000, 1_000_000, 8 << 32 | 1, 0]);
    }
}
