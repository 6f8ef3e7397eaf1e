//! The faults that a client or the servers had in a span of time.

use crate::Case;
use crate::faults::seat;
use base::{Action, Data, Family, Fault, Node, Target};
use std::ops::Range;

/// A kind of fault, as it bears on one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The client was paused.
    Paused,
    /// A link of the client to a server was cut or faulty.
    CutOff,
    /// The client's clock was wrong.
    ClientClock,
    /// A server's clock was wrong.
    ServerClock,
    /// A server was down or paused.
    ServerDown,
    /// Servers were cut off from each other.
    ServersCut,
    /// Any of these two.
    Servers,
    /// A server came back without all of its data.
    Wiped,
}

/// Returns the time in all for which the client of a process had such trouble in a span of time, in
/// nanoseconds; `None` when it had none.
pub(super) fn lasted(
    case: &Case<'_>,
    trouble: Trouble,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    let client = Node::Client(seat(process, case.run.info.clients));
    let met = case.outages_in(&during).filter(|outage| !outage.had_none());
    let met = met.filter(|outage| bears(&outage.fault, trouble, client));
    let parts = met.filter_map(|outage| {
        let span = case.span(outage);
        let (from, to) = (span.start.max(during.start), span.end.min(during.end));
        (from <= to).then(|| to - from)
    });
    parts.reduce(|a, b| a + b)
}

/// Returns true if a client had such trouble in a span of time.
pub(super) fn had(case: &Case<'_>, trouble: Trouble, process: u32, during: Range<u64>) -> bool {
    lasted(case, trouble, process, during).is_some()
}

fn bears(fault: &Fault, trouble: Trouble, client: Node) -> bool {
    let is_server = |node: &Node| matches!(node, Node::Server(_));
    let ours = |links: &[(Node, Node)]| links.iter().any(|(a, b)| *a == client || *b == client);
    let is_clock = fault.family() == Family::Clock;
    match (trouble, fault.target()) {
        (Trouble::Paused, Target::Node(node)) => fault.family() == Family::Pause && *node == client,
        (Trouble::ClientClock, Target::Node(node)) => is_clock && *node == client,
        (Trouble::ServerClock, Target::Node(node)) => is_clock && is_server(node),
        (Trouble::ServerDown | Trouble::Servers, Target::Node(node)) => {
            fault.spec().takes_server_down && is_server(node)
        }
        (Trouble::Wiped, Target::Node(node)) => is_server(node) && loses_data(fault.action()),
        (Trouble::CutOff, Target::Links(links)) => ours(links) && !fault.is_at_vault(),
        (Trouble::ServersCut | Trouble::Servers, Target::Links(links)) => {
            links.iter().all(|(a, b)| is_server(a) && is_server(b))
        }
        (Trouble::CutOff | Trouble::ServersCut, Target::Node(_))
        | (
            Trouble::Paused
            | Trouble::ClientClock
            | Trouble::ServerClock
            | Trouble::ServerDown
            | Trouble::Wiped,
            Target::Links(_),
        ) => false,
    }
}

const fn loses_data(action: Action) -> bool {
    matches!(action, Action::Crash(Data::Lost | Data::Unsynced))
}
