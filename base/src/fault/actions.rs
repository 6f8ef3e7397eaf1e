//! The list of actions: their names, their targets, the abilities they need, their descriptions.

use super::{
    Ability, Action, ActionExtent, ClockChange, Data, Direction, ExtentUnit, Family, LinkFault,
};

/// One line of the list.
///
/// In its words `{node}` stands for the node that is hit, `{others}` for the nodes that a client is
/// linked to by the links that are hit, `{amount}` for the action's extent.
#[derive(Clone, Copy, Debug)]
pub struct ActionSpec {
    /// The name: "lose-reply".
    pub name: &'static str,
    /// The action in one line, for `picklock list`.
    pub about: &'static str,
    /// The targets that it can be done to.
    pub hits: Hits,
    /// The family, by which reports call and colour it.
    pub family: Family,
    /// The ability that a backend needs for it; `Ability::at_client` for a client.
    pub ability: Ability,
    /// The number of a line within its family, by which swarms draw its weight.
    pub number: u64,
    /// The extent, if it has one.
    pub extent: Option<ActionExtent>,
    /// The fault by itself, as in a list of faults. Links are named behind it.
    pub title: &'static str,
    /// The words for a node that it hits, while it lasts: "was paused".
    pub lasting: &'static str,
    /// The words for a node that it has hit, once it is healed: "ran on".
    pub healed: &'static str,
    /// The unit in which its effect is counted.
    pub counted: &'static str,
    /// True if a server that it hits is lost to the other servers while it lasts.
    pub takes_server_down: bool,
    /// The extent from which it can matter to a lock.
    pub matters: Matters,
}

/// The extent from which an action can matter to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matters {
    /// Any effect can.
    Always,
    /// It has to outlast what is left of a grant, at a client, or a call, at a server.
    WhenItOutlasts,
    /// A clock has to be wrong by more than what the longest hold leaves of a grant.
    WhenClocksDiffer,
}

/// The targets that an action can be done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// Clients and servers.
    Nodes,
    /// Clients.
    Clients,
    /// Servers.
    Servers,
    /// Links.
    Links,
}

const PAUSE: ActionSpec = ActionSpec {
    name: "pause",
    about: "a node stops running and notices nothing",
    hits: Hits::Nodes,
    family: Family::Pause,
    ability: Ability::Pause,
    number: 0,
    extent: None,
    title: "{node} paused",
    lasting: "was paused",
    healed: "ran on",
    counted: "milliseconds not running",
    takes_server_down: true,
    matters: Matters::WhenItOutlasts,
};

const CRASH: ActionSpec = ActionSpec {
    name: "crash",
    about: "a server dies, and comes back with its data",
    hits: Hits::Servers,
    family: Family::Crash,
    ability: Ability::Crash,
    title: "{node} crashed",
    lasting: "crashed",
    healed: "was started again",
    counted: "server gone",
    matters: Matters::Always,
    ..PAUSE
};

const CUT: ActionSpec = ActionSpec {
    name: "cut",
    about: "links hold what is sent over them, and deliver it late",
    hits: Hits::Links,
    family: Family::Cut,
    ability: Ability::Cut,
    title: "link cut",
    lasting: "was cut off from {others}",
    healed: "was connected again",
    counted: "packets held",
    ..PAUSE
};

const FREEZE: ActionSpec = ActionSpec {
    name: "clock-freeze",
    about: "clocks stand still; the node runs on",
    family: Family::Clock,
    ability: Ability::ServerClockRate,
    number: 3,
    title: "clock of {node} stood still",
    lasting: "had a clock that stood still",
    healed: "had its clock set right",
    counted: "microseconds by which the clock was off",
    takes_server_down: false,
    matters: Matters::WhenClocksDiffer,
    ..PAUSE
};

const JUMP_BY: ActionExtent = ActionExtent {
    field: "by",
    noun: "a distance: by = \"5s\"",
    wanted: "a time: by = \"5s\"",
    unit: ExtentUnit::Nanos,
    bounds: "a clock jumps by a day at most",
    make: |nanos| Some(Action::Clock(ClockChange::Jump(nanos))),
};

const JUMP: ActionSpec = ActionSpec {
    name: "clock-jump",
    about: "a wall clock is set ahead (by = \"5s\")",
    ability: Ability::ServerClock,
    number: 0,
    extent: Some(JUMP_BY),
    title: "clock of {node} jumped {amount}",
    lasting: "had a clock that jumped {amount}",
    ..FREEZE
};

const RESET: ActionSpec = ActionSpec {
    name: "reset",
    about: "connections break, and both ends are told",
    family: Family::Link,
    ability: Ability::Reset,
    title: "connections reset",
    lasting: "had its connections reset",
    healed: "had sound links again",
    counted: "connections reset",
    takes_server_down: false,
    matters: Matters::Always,
    ..CUT
};

/// Makes the list. A line is an action with some extent, the pattern of all actions that it stands
/// for, and their specification. An extent of another kind (a clock that goes back, a cut one way)
/// has a line of its own.
macro_rules! actions {
    ($($sample:expr, $all:pat => $spec:expr;)*) => {
        /// One action of each line of the list, with some extent.
        pub const ACTIONS: &[Action] = &[$($sample),*];

        impl Action {
            /// Its line in the list.
            pub const fn spec(self) -> &'static ActionSpec {
                match self {
                    $($all => const { &$spec },)*
                }
            }
        }
    };
}

actions! {
    Action::Pause, Self::Pause => PAUSE;
    Action::Kill, Self::Kill => ActionSpec {
        name: "kill",
        about: "the process of a client dies; a new one takes its place",
        hits: Hits::Clients,
        // The number of a server that loses its data: the two differ by their target.
        number: 1,
        title: "{node} killed",
        lasting: "was killed",
        counted: "process gone",
        takes_server_down: false,
        ..CRASH
    };
    Action::Crash(Data::Kept), Self::Crash(Data::Kept) => CRASH;
    Action::Crash(Data::Lost), Self::Crash(Data::Lost) => ActionSpec {
        name: "crash-lose-data",
        about: "a server dies, and comes back empty",
        number: 1,
        title: "{node} crashed, data lost",
        lasting: "crashed and lost its data",
        ..CRASH
    };
    Action::Crash(Data::Unsynced), Self::Crash(Data::Unsynced) => ActionSpec {
        name: "crash-lose-second",
        about: "a server loses its power, and its last second",
        ability: Ability::CutPower,
        number: 2,
        title: "{node} crashed, its last second lost",
        lasting: "crashed and lost its last second",
        ..CRASH
    };
    Action::Vanish, Self::Vanish => ActionSpec {
        name: "vanish",
        about: "the machine of a server is gone without a word, and comes back",
        ability: Ability::Vanish,
        number: 3,
        title: "machine of {node} gone",
        lasting: "was gone with its machine",
        counted: "machine gone",
        ..CRASH
    };
    Action::Evict, Self::Evict => ActionSpec {
        name: "evict",
        about: "the memory of a server is filled, so that it evicts",
        hits: Hits::Servers,
        family: Family::Memory,
        ability: Ability::Evict,
        title: "memory of {node} filled",
        lasting: "had its memory filled",
        healed: "had room in its memory again",
        counted: "items evicted",
        takes_server_down: false,
        matters: Matters::Always,
        ..PAUSE
    };
    Action::Cut(Direction::Both), Self::Cut(Direction::Both) => CUT;
    Action::Cut(Direction::Forward), Self::Cut(Direction::Forward) => ActionSpec {
        name: "cut-forward",
        about: "the same, from the first end of each link only",
        number: 1,
        lasting: "could not reach {others}",
        takes_server_down: false,
        ..CUT
    };
    Action::Cut(Direction::Backward), Self::Cut(Direction::Backward) => ActionSpec {
        name: "cut-backward",
        about: "the same, from the second end of each link only",
        number: 2,
        lasting: "could not hear {others}",
        takes_server_down: false,
        ..CUT
    };
    Action::Clock(ClockChange::Jump(5)), Self::Clock(ClockChange::Jump(0..)) => JUMP;
    Action::Clock(ClockChange::Jump(-5)), Self::Clock(ClockChange::Jump(_)) => ActionSpec {
        name: "clock-jump-back",
        about: "a wall clock is set back (by = \"5s\")",
        number: 1,
        extent: Some(ActionExtent {
            make: |nanos| Some(Action::Clock(ClockChange::Jump(-nanos.abs()))),
            ..JUMP_BY
        }),
        ..JUMP
    };
    Action::Clock(ClockChange::Drift(5)), Self::Clock(ClockChange::Drift(_)) => ActionSpec {
        name: "clock-drift",
        about: "clocks run fast or slow (percent = -1.5)",
        number: 2,
        extent: Some(ActionExtent {
            field: "percent",
            noun: "a rate: percent = 1.5",
            wanted: "a number: percent = -1.5",
            unit: ExtentUnit::Ppm,
            bounds: "a clock drifts by -90 to 1000 percent, and not by nothing",
            make: |ppm| match ppm {
                -900_000..=-1 | 1..=10_000_000 => Some(Action::Clock(ClockChange::Drift(ppm as i32))),
                _ => None,
            },
        }),
        // It is wrong for every grant anew, and by more the longer one is renewed.
        matters: Matters::Always,
        title: "clock of {node} ran {amount}",
        lasting: "had a clock that ran {amount}",
        ..FREEZE
    };
    Action::Clock(ClockChange::Freeze), Self::Clock(ClockChange::Freeze) => FREEZE;
    Action::Link(LinkFault::Reset), Self::Link(LinkFault::Reset) => RESET;
    Action::Link(LinkFault::Refuse), Self::Link(LinkFault::Refuse) => ActionSpec {
        name: "refuse",
        about: "new connections are refused",
        ability: Ability::Refuse,
        number: 1,
        title: "connections refused",
        lasting: "was refused new connections",
        counted: "connections refused",
        ..RESET
    };
    Action::Link(LinkFault::LoseRequest), Self::Link(LinkFault::LoseRequest) => ActionSpec {
        name: "lose-request",
        about: "the next request is lost with its connection",
        ability: Ability::LoseRequest,
        number: 2,
        title: "a request lost",
        lasting: "was to lose a request",
        counted: "requests lost",
        ..RESET
    };
    Action::Link(LinkFault::LoseReply), Self::Link(LinkFault::LoseReply) => ActionSpec {
        name: "lose-reply",
        about: "the next reply is lost with its connection",
        ability: Ability::LoseReply,
        number: 3,
        title: "a reply lost",
        lasting: "was to lose a reply",
        counted: "replies lost",
        ..RESET
    };
    Action::Link(LinkFault::Slow(3)), Self::Link(LinkFault::Slow(_)) => ActionSpec {
        name: "slow",
        about: "messages take so many times as long (times = 16)",
        ability: Ability::Slow,
        number: 4,
        extent: Some(ActionExtent {
            field: "times",
            noun: "a factor: times = 16",
            wanted: "a whole number from 1: times = 16",
            unit: ExtentUnit::Count,
            bounds: "it is a whole number from 1",
            make: |times| Some(Action::Link(LinkFault::Slow(times.try_into().ok()?))),
        }),
        title: "link {amount} times as slow",
        lasting: "had links {amount} times as slow",
        counted: "packets slowed",
        ..RESET
    };
    Action::Link(LinkFault::Jitter(5_000)), Self::Link(LinkFault::Jitter(_)) => ActionSpec {
        name: "jitter",
        about: "messages take up to so much longer, each by chance (by = \"50ms\")",
        ability: Ability::Jitter,
        number: 6,
        extent: Some(ActionExtent {
            field: "by",
            noun: "the longest delay: by = \"50ms\"",
            wanted: "a time: by = \"50ms\"",
            unit: ExtentUnit::Micros,
            bounds: "a jitter is a microsecond or more, and an hour at most",
            make: |micros| match micros {
                1..=3_600_000_000 => Some(Action::Link(LinkFault::Jitter(micros as u32))),
                _ => None,
            },
        }),
        title: "link with a jitter of {amount}",
        lasting: "had links with a jitter of {amount}",
        counted: "packets delayed by chance",
        ..RESET
    };
    Action::Link(LinkFault::Throttle(200)), Self::Link(LinkFault::Throttle(_)) => ActionSpec {
        name: "throttle",
        about: "links carry so much and no more (bytes-per-second = 300)",
        ability: Ability::Throttle,
        number: 5,
        extent: Some(ActionExtent {
            field: "bytes-per-second",
            noun: "a bandwidth: bytes-per-second = 300",
            wanted: "a whole number from 1: bytes-per-second = 300",
            unit: ExtentUnit::Count,
            bounds: "it is a whole number from 1",
            make: |rate| Some(Action::Link(LinkFault::Throttle(rate.try_into().ok()?))),
        }),
        title: "link of {amount} bytes a second",
        lasting: "had links of {amount} bytes a second",
        counted: "bytes throttled",
        ..RESET
    };
}
