//! Writes the faults of a run as a script. In the simulator the same faults come at the same times
//! again.
//!
//! A fault of a client that holds the lock is written by its grant, as far as the history tells
//! which one it was; every other by its time.

use base::{
    Action, ClientView, Event, F, Fault, FaultId, History, Kind, Node, Rng, RunInfo, Task, View,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::action::write_extent;
use super::follow::Hit;
use super::{Aim, Whom, time};
use drive::plan::{Plan, Planned, Played, Victim};

/// The script of a run that was made.
pub fn print(plan: &Plan, played: &Played, info: &RunInfo, history: &History) -> String {
    let mut text = format!("# The faults of a run, as they came:\n#   {}\n", info.command);
    if played.faults.is_empty() {
        return text + "# There was none.\n";
    }
    let mut last = first_seen(history, played.begin.nanos());
    for (planned, (came, id)) in played.faults.iter().zip(begun(history)) {
        let grant = grant(planned, info, history, last..came);
        text.push_str(&fault(planned, grant, plan, played));
        if !had_effect(id, history) {
            text.push_str("optional = true\n");
        }
        last = came;
    }
    text
}

/// The place of the first event of a history that counts for whoever looks from a time on: the
/// grant of a hold that goes on then, or the first event since. Clients that are ready early take
/// the lock before the faults begin.
fn first_seen(history: &History, since_ns: u64) -> u64 {
    let before = history.events().partition_point(|event| event.time_ns < since_ns);
    let mut held = BTreeMap::new();
    for event in &history.events()[..before] {
        match (event.f, event.kind) {
            (F::Acquire, Kind::Ok) => drop(held.insert(event.process, event.index)),
            (F::Release, Kind::Invoke) => drop(held.remove(&event.process)),
            _ => {}
        }
    }
    held.into_values().min().unwrap_or(before as u64)
}

/// The faults of a history in their order, each with its place and its number.
fn begun(history: &History) -> impl Iterator<Item = (u64, FaultId)> {
    let begins = |event: &&Event| event.f == F::Fault && event.kind == Kind::Invoke;
    let begun = history.events().iter().filter(begins);
    begun.filter_map(|event| Some((event.index, event.fault.as_ref()?.id)))
}

/// Returns true if a fault was measured to have done something.
fn had_effect(id: FaultId, history: &History) -> bool {
    let about = history.events().iter().filter_map(|event| event.fault.as_deref());
    let mut effects = about.filter(|about| about.id == id).filter_map(|it| it.effect.as_ref());
    effects.any(|effect| effect.amount > 0)
}

/// A grant of the client that is hit.
#[derive(Clone, Copy)]
struct HitGrant {
    client: u32,
    /// Its number among the grants since the fault before.
    nth: u32,
    /// The time from the grant to the fault.
    after: Duration,
}

/// Finds the grant by which a fault came, in the interval since the one before it.
fn grant(
    planned: &Planned,
    info: &RunInfo,
    history: &History,
    during: std::ops::Range<u64>,
) -> Option<HitGrant> {
    let client = planned.client()?;
    let later = planned.moment.later_ns;
    // Where a turn has several grants, or a client several workers, its view does not show each.
    let is_plain = info.run.task == Task::CONTEND.name && info.workers == 1;
    if planned.moment.victim != Victim::Holding || !is_plain {
        return None;
    }
    let events = history.events().iter().filter(|event| during.contains(&event.index));
    let mut grants = events.filter(|event| event.f == F::Acquire && event.kind == Kind::Ok);
    let ours = |event: &Event| {
        event.client().is_some_and(|process| info.client_of(process) == client)
            && event.time_ns + later == planned.at_ns
    };
    let before = grants.position(ours)?;
    Some(HitGrant { client, nth: before as u32 + 1, after: Duration::from_nanos(later) })
}

/// The table of one fault.
fn fault(planned: &Planned, grant: Option<HitGrant>, plan: &Plan, played: &Played) -> String {
    let fault = &planned.fault;
    let mut text = format!("\n[[fault]]\naction = \"{}\"\n", fault.spec().name);
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(text, "{name} = {value}");
    };
    if let Some((name, value)) = write_extent(fault.action()) {
        field(name, &value);
    }
    let name = |node: Node| match (node, grant) {
        (Node::Client(client), Some(grant)) if client == grant.client => "\"holder\"".into(),
        (node, _) => format!("\"{}\"", name(node)),
    };
    match target(fault, plan) {
        Some(node) => field("target", &name(node)),
        None => {
            let links = fault.links().iter().map(|(a, b)| format!("[{}, {}]", name(*a), name(*b)));
            field("links", &format!("[{}]", links.collect::<Vec<_>>().join(", ")));
        }
    }
    let quoted = |time| format!("\"{}\"", time::write(time));
    let at = Duration::from_nanos(planned.at_ns.saturating_sub(played.begin.nanos()));
    match grant {
        Some(HitGrant { nth, after, .. }) => {
            field("when", "\"granted\"");
            if nth > 1 {
                field("nth", &nth.to_string());
            }
            if !after.is_zero() {
                field("after", &quoted(after));
            }
        }
        None => field("at", &quoted(at)),
    }
    // What is in force at the end of the time limit is healed then.
    let left = plan.run.time_limit().saturating_sub(at);
    field("lasts", &quoted(Duration::from_nanos(planned.lasts_ns).min(left)));
    text
}

/// The node that is hit, or whose links are, as a target means it; `None` for some of its links.
fn target(fault: &Fault, plan: &Plan) -> Option<Node> {
    if let Some(node) = fault.node() {
        return Some(node);
    }
    let (a, b) = fault.links().first().copied()?;
    [a, b].into_iter().find(|node| {
        let whom = match *node {
            Node::Client(client) => Whom::Client(client),
            Node::Server(server) => Whom::Servers(vec![server]),
            Node::Vault => Whom::Vault,
        };
        all_links(&Aim::LinksOf(whom), fault.action(), plan) == [fault.clone()]
    })
}

/// The fault that such a target means in a run.
fn all_links(aim: &Aim, action: Action, plan: &Plan) -> Vec<Fault> {
    let clients = vec![ClientView::default(); plan.run.clients as usize];
    let view = View {
        now: base::Mono::ZERO,
        ttl: plan.run.ttl(),
        clients: &clients,
        servers: &plan.servers,
        peers: plan.peers,
        answering: None,
        standings: &[],
        active: 0,
    };
    // Nothing that is named is drawn.
    Hit::named(&view, &mut Rng::new(0)).faults(action, aim)
}

/// The name of a node in a script.
fn name(node: Node) -> String {
    match node {
        Node::Client(number) => format!("client-{number}"),
        Node::Server(number) => stores::node_name(number),
        Node::Vault => "vault".into(),
    }
}
