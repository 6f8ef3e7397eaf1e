//! The stored form of a fault, in histories and schedules. It is older than [`Action`], and has the
//! same content in another structure: the fields of each kind stand beside each other.

use super::{Action, ClockChange, Data, Direction, Fault, LinkFault, Node, Target};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum StoredFault {
    Pause {
        node: Node,
    },
    /// At a client it is a kill, whatever its `data`.
    Crash {
        node: Node,
        data: Data,
    },
    Vanish {
        server: u32,
    },
    Evict {
        server: u32,
    },
    Cut {
        links: Vec<(Node, Node)>,
        direction: Direction,
    },
    Clock {
        node: Node,
        change: ClockChange,
    },
    Link {
        links: Vec<(Node, Node)>,
        trouble: LinkFault,
    },
}

impl From<StoredFault> for Fault {
    fn from(stored: StoredFault) -> Self {
        match stored {
            StoredFault::Pause { node } => Self::at(node, Action::Pause),
            StoredFault::Crash { node: node @ Node::Client(_), .. } => Self::at(node, Action::Kill),
            StoredFault::Crash { node, data } => Self::at(node, Action::Crash(data)),
            StoredFault::Vanish { server } => Self::at(Node::Server(server), Action::Vanish),
            StoredFault::Evict { server } => Self::at(Node::Server(server), Action::Evict),
            StoredFault::Cut { links, direction } => Self::over(links, Action::Cut(direction)),
            StoredFault::Clock { node, change } => Self::at(node, Action::Clock(change)),
            StoredFault::Link { links, trouble } => Self::over(links, Action::Link(trouble)),
        }
    }
}

impl From<Fault> for StoredFault {
    fn from(fault: Fault) -> Self {
        match (fault.action, fault.target) {
            (Action::Pause, Target::Node(node)) => Self::Pause { node },
            (Action::Kill, Target::Node(node)) => Self::Crash { node, data: Data::Lost },
            (Action::Crash(data), Target::Node(node)) => Self::Crash { node, data },
            (Action::Vanish, Target::Node(Node::Server(server))) => Self::Vanish { server },
            (Action::Evict, Target::Node(Node::Server(server))) => Self::Evict { server },
            (Action::Cut(direction), Target::Links(links)) => Self::Cut { links, direction },
            (Action::Clock(change), Target::Node(node)) => Self::Clock { node, change },
            (Action::Link(trouble), Target::Links(links)) => Self::Link { links, trouble },
            (action, target) => unreachable!("no fault has {action:?} at {target:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Node = Node::Client(2);
    const SERVER: Node = Node::Server(1);

    #[test]
    fn a_fault_keeps_its_stored_form() {
        let links = || vec![(CLIENT, SERVER)];
        for (fault, text) in [
            (Fault::at(CLIENT, Action::Pause), r#"{"kind":"pause","node":{"client":2}}"#),
            (Fault::at(CLIENT, Action::Kill), {
                r#"{"kind":"crash","node":{"client":2},"data":"lost"}"#
            }),
            (Fault::at(SERVER, Action::Crash(Data::Unsynced)), {
                r#"{"kind":"crash","node":{"server":1},"data":"unsynced"}"#
            }),
            (Fault::at(SERVER, Action::Vanish), r#"{"kind":"vanish","server":1}"#),
            (Fault::at(SERVER, Action::Evict), r#"{"kind":"evict","server":1}"#),
            (Fault::over(links(), Action::Cut(Direction::Forward)), {
                r#"{"kind":"cut","links":[[{"client":2},{"server":1}]],"direction":"forward"}"#
            }),
            (Fault::at(SERVER, Action::Clock(ClockChange::Jump(-5))), {
                r#"{"kind":"clock","node":{"server":1},"change":{"jump_ns":-5}}"#
            }),
            (Fault::at(SERVER, Action::Clock(ClockChange::Freeze)), {
                r#"{"kind":"clock","node":{"server":1},"change":"freeze"}"#
            }),
            (Fault::over(links(), Action::Link(LinkFault::LoseReply)), {
                r#"{"kind":"link","links":[[{"client":2},{"server":1}]],"trouble":"lose-reply"}"#
            }),
            (Fault::over(links(), Action::Link(LinkFault::Slow(3))), {
                r#"{"kind":"link","links":[[{"client":2},{"server":1}]],"trouble":{"slow":3}}"#
            }),
            (Fault::over(links(), Action::Link(LinkFault::Jitter(3))), {
                r#"{"kind":"link","links":[[{"client":2},{"server":1}]],"trouble":{"jitter_us":3}}"#
            }),
        ] {
            assert_eq!(serde_json::to_string(&fault).expect("plain data"), text);
            assert_eq!(serde_json::from_str::<Fault>(text).expect("what was written"), fault);
        }
    }

    #[test]
    fn a_client_that_crashed_was_killed_whatever_its_data() {
        let text = r#"{"kind":"crash","node":{"client":2},"data":"kept"}"#;
        let read: Fault = serde_json::from_str(text).expect("it is a fault");
        assert_eq!(read, Fault::at(CLIENT, Action::Kill));
    }

    #[test]
    fn what_is_no_fault_is_refused() {
        for text in [
            r#"{"kind":"clock","node":{"server":1},"change":"reset"}"#,
            r#"{"kind":"link","node":{"server":1},"trouble":"reset"}"#,
        ] {
            assert!(serde_json::from_str::<Fault>(text).is_err(), "{text}");
        }
    }
}
