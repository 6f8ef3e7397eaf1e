//! The faults that a client or the servers had in a span of time.

use crate::Case;
use crate::faults::{Outage, seat};
use base::{ClockChange, Fault, Node};
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
    let parts = met(case, trouble, process, &during).filter_map(|outage| {
        let span = case.span(outage);
        let (from, to) = (span.start.max(during.start), span.end.min(during.end));
        (from <= to).then(|| to - from)
    });
    parts.reduce(|a, b| a + b)
}

/// Returns the time by which the clocks that such trouble is about were wrong at most in a span of
/// time, in nanoseconds; `None` when they were right.
pub(super) fn clock_off(
    case: &Case<'_>,
    trouble: Trouble,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    let off = |outage: &Outage| {
        let lasted = during.end.saturating_sub(case.span(outage).start);
        match outage.fault {
            Fault::Clock { change: ClockChange::Jump(by), .. } => by.unsigned_abs(),
            Fault::Clock { change: ClockChange::Drift(ppm), .. } => {
                (lasted / 1_000_000).saturating_mul(u64::from(ppm.unsigned_abs()))
            }
            _ => lasted,
        }
    };
    met(case, trouble, process, &during).map(off).reduce(u64::saturating_add)
}

/// The faults that had an effect and may have been in force somewhere in a span of time.
fn met<'a>(
    case: &'a Case<'_>,
    trouble: Trouble,
    process: u32,
    during: &Range<u64>,
) -> impl Iterator<Item = &'a Outage> {
    let client = Node::Client(seat(process, case.run.info.clients));
    let met = case.outages_in(during).filter(|outage| !outage.had_none());
    met.filter(move |outage| bears(&outage.fault, trouble, client))
}

/// Returns true if a client had such trouble in a span of time.
pub(super) fn had(case: &Case<'_>, trouble: Trouble, process: u32, during: Range<u64>) -> bool {
    lasted(case, trouble, process, during).is_some()
}

fn bears(fault: &Fault, trouble: Trouble, client: Node) -> bool {
    let is_server = |node: &Node| matches!(node, Node::Server(_));
    let ours = |links: &[(Node, Node)]| links.iter().any(|(a, b)| *a == client || *b == client);
    match (trouble, fault) {
        (Trouble::Paused, Fault::Pause { node }) => *node == client,
        (Trouble::CutOff, Fault::Cut { links, .. } | Fault::Link { links, .. }) => {
            ours(links) && !fault.is_at_vault()
        }
        (Trouble::ClientClock, Fault::Clock { node, .. }) => *node == client,
        (Trouble::ServerClock, Fault::Clock { node, .. }) => is_server(node),
        (Trouble::Servers, fault) => {
            bears(fault, Trouble::ServerDown, client) || bears(fault, Trouble::ServersCut, client)
        }
        (Trouble::ServerDown, Fault::Pause { node } | Fault::Crash { node, .. }) => is_server(node),
        (Trouble::ServerDown, Fault::Vanish { .. }) => true,
        (Trouble::ServersCut, Fault::Cut { links, .. } | Fault::Link { links, .. }) => {
            links.iter().all(|(a, b)| is_server(a) && is_server(b))
        }
        (Trouble::Wiped, Fault::Crash { node, data }) => {
            is_server(node) && *data != base::Data::Kept
        }
        _ => false,
    }
}
