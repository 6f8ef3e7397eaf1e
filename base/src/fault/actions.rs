//! The list of actions: what an action is called, what it takes, and how it is told.

use super::{Ability, Action, ClockChange, Data, Direction, Family, LinkFault};

/// One line of the list.
///
/// In its words `{node}` stands for the node that is hit, `{others}` for the nodes that a client is
/// linked to by the links that are hit, `{amount}` for the action's extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// The name: "lose-reply".
    pub name: &'static str,
    /// The family, by which reports call and colour it.
    pub family: Family,
    /// The ability that a backend needs for it; `Ability::at_client` for a client.
    pub ability: Ability,
    /// The number of a line within its family, by which swarms draw its weight.
    pub number: u64,
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
}

/// One action of each line of the list, with some extent.
pub const ACTIONS: &[Action] = &[
    Action::Pause,
    Action::Kill,
    Action::Crash(Data::Kept),
    Action::Crash(Data::Lost),
    Action::Crash(Data::Unsynced),
    Action::Vanish,
    Action::Evict,
    Action::Cut(Direction::Both),
    Action::Cut(Direction::Forward),
    Action::Cut(Direction::Backward),
    Action::Clock(ClockChange::Jump(5)),
    Action::Clock(ClockChange::Jump(-5)),
    Action::Clock(ClockChange::Drift(5)),
    Action::Clock(ClockChange::Freeze),
    Action::Link(LinkFault::Reset),
    Action::Link(LinkFault::Refuse),
    Action::Link(LinkFault::LoseRequest),
    Action::Link(LinkFault::LoseReply),
    Action::Link(LinkFault::Slow(3)),
    Action::Link(LinkFault::Jitter(5_000)),
    Action::Link(LinkFault::Throttle(200)),
];

const PAUSE: ActionSpec = ActionSpec {
    name: "pause",
    family: Family::Pause,
    ability: Ability::Pause,
    number: 0,
    title: "{node} paused",
    lasting: "was paused",
    healed: "ran on",
    counted: "milliseconds not running",
    takes_server_down: true,
};

const KILL: ActionSpec = ActionSpec {
    name: "kill",
    family: Family::Crash,
    ability: Ability::Crash,
    // As a server that loses its data: who is hit tells the two apart.
    number: 1,
    title: "{node} killed",
    lasting: "was killed",
    healed: "was started again",
    counted: "process gone",
    takes_server_down: false,
};

const CRASH: ActionSpec = ActionSpec {
    name: "crash",
    family: Family::Crash,
    ability: Ability::Crash,
    number: 0,
    title: "{node} crashed",
    lasting: "crashed",
    healed: "was started again",
    counted: "server gone",
    takes_server_down: true,
};

const VANISH: ActionSpec = ActionSpec {
    name: "vanish",
    family: Family::Crash,
    ability: Ability::Vanish,
    number: 3,
    title: "machine of {node} gone",
    lasting: "was gone with its machine",
    healed: "was started again",
    counted: "machine gone",
    takes_server_down: true,
};

const EVICT: ActionSpec = ActionSpec {
    name: "evict",
    family: Family::Memory,
    ability: Ability::Evict,
    number: 0,
    title: "memory of {node} filled",
    lasting: "had its memory filled",
    healed: "had room in its memory again",
    counted: "items evicted",
    takes_server_down: false,
};

const CUT: ActionSpec = ActionSpec {
    name: "cut",
    family: Family::Cut,
    ability: Ability::Cut,
    number: 0,
    title: "link cut",
    lasting: "was cut off from {others}",
    healed: "was connected again",
    counted: "packets held",
    takes_server_down: true,
};

const CLOCK: ActionSpec = ActionSpec {
    name: "clock-freeze",
    family: Family::Clock,
    ability: Ability::ServerClockRate,
    number: 3,
    title: "clock of {node} stood still",
    lasting: "had a clock that stood still",
    healed: "had its clock set right",
    counted: "microseconds by which the clock was off",
    takes_server_down: false,
};

const JUMP: ActionSpec = ActionSpec {
    name: "clock-jump",
    ability: Ability::ServerClock,
    number: 0,
    title: "clock of {node} jumped {amount}",
    lasting: "had a clock that jumped {amount}",
    ..CLOCK
};

const RESET: ActionSpec = ActionSpec {
    name: "reset",
    family: Family::Link,
    ability: Ability::Reset,
    number: 0,
    title: "connections reset",
    lasting: "had its connections reset",
    healed: "had sound links again",
    counted: "connections reset",
    takes_server_down: false,
};

impl Action {
    /// Its line in the list. Each variant has one; an extent that is another matter to those who
    /// are hit (a clock that goes back, a cut one way) has a line of its own.
    pub const fn spec(self) -> &'static ActionSpec {
        match self {
            Self::Pause => &PAUSE,
            Self::Kill => &KILL,
            Self::Crash(Data::Kept) => &CRASH,
            Self::Crash(Data::Lost) => &ActionSpec {
                name: "crash-lose-data",
                number: 1,
                title: "{node} crashed, data lost",
                lasting: "crashed and lost its data",
                ..CRASH
            },
            Self::Crash(Data::Unsynced) => &ActionSpec {
                name: "crash-lose-second",
                ability: Ability::CutPower,
                number: 2,
                title: "{node} crashed, its last second lost",
                lasting: "crashed and lost its last second",
                ..CRASH
            },
            Self::Vanish => &VANISH,
            Self::Evict => &EVICT,
            Self::Cut(Direction::Both) => &CUT,
            Self::Cut(Direction::Forward) => &ActionSpec {
                name: "cut-forward",
                number: 1,
                lasting: "could not reach {others}",
                takes_server_down: false,
                ..CUT
            },
            Self::Cut(Direction::Backward) => &ActionSpec {
                name: "cut-backward",
                number: 2,
                lasting: "could not hear {others}",
                takes_server_down: false,
                ..CUT
            },
            Self::Clock(ClockChange::Jump(0..)) => &JUMP,
            Self::Clock(ClockChange::Jump(_)) => {
                &ActionSpec { name: "clock-jump-back", number: 1, ..JUMP }
            }
            Self::Clock(ClockChange::Drift(_)) => &ActionSpec {
                name: "clock-drift",
                number: 2,
                title: "clock of {node} ran {amount}",
                lasting: "had a clock that ran {amount}",
                ..CLOCK
            },
            Self::Clock(ClockChange::Freeze) => &CLOCK,
            Self::Link(LinkFault::Reset) => &RESET,
            Self::Link(LinkFault::Refuse) => &ActionSpec {
                name: "refuse",
                ability: Ability::Refuse,
                number: 1,
                title: "connections refused",
                lasting: "was refused new connections",
                counted: "connections refused",
                ..RESET
            },
            Self::Link(LinkFault::LoseRequest) => &ActionSpec {
                name: "lose-request",
                ability: Ability::LoseRequest,
                number: 2,
                title: "a request lost",
                lasting: "was to lose a request",
                counted: "requests lost",
                ..RESET
            },
            Self::Link(LinkFault::LoseReply) => &ActionSpec {
                name: "lose-reply",
                ability: Ability::LoseReply,
                number: 3,
                title: "a reply lost",
                lasting: "was to lose a reply",
                counted: "replies lost",
                ..RESET
            },
            Self::Link(LinkFault::Slow(_)) => &ActionSpec {
                name: "slow",
                ability: Ability::Slow,
                number: 4,
                title: "link {amount} times as slow",
                lasting: "had links {amount} times as slow",
                counted: "packets slowed",
                ..RESET
            },
            Self::Link(LinkFault::Jitter(_)) => &ActionSpec {
                name: "jitter",
                ability: Ability::Jitter,
                number: 6,
                title: "link with a jitter of {amount}",
                lasting: "had links with a jitter of {amount}",
                counted: "packets delayed by chance",
                ..RESET
            },
            Self::Link(LinkFault::Throttle(_)) => &ActionSpec {
                name: "throttle",
                ability: Ability::Throttle,
                number: 5,
                title: "link of {amount} bytes a second",
                lasting: "had links of {amount} bytes a second",
                counted: "bytes throttled",
                ..RESET
            },
        }
    }
}
