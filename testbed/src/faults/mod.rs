//! The faults of the testbed. Each returns its heal, which undoes it and measures its effect.

mod links;
mod nodes;

use super::abilities::can;
use super::servers::{Servers, StartedServer};
use super::testbed::Testbed;
use super::toxiproxy;
use base::{Ability, Action, BackendError, Effect, Fault, Lack, Node};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// The heal of a fault in force: undoes the fault, and returns its measured effect. A fault whose
/// heal is dropped instead ends without a measure, as far as its links are concerned.
pub type Heal = BoxFuture<'static, Result<Effect, BackendError>>;

fn unable(ability: Ability) -> BackendError {
    BackendError(Lack::of(ability).reason)
}

/// Refuses a fault that this backend cannot do, with the reason.
pub fn check<S: Servers>(testbed: &Testbed<S::Server>, fault: &Fault) -> Result<(), BackendError> {
    can::<S>(testbed.store, fault.ability()).map_err(|lack| BackendError(lack.reason))?;
    if testbed.toxic_links.is_some() {
        toxiproxy::check(fault)?;
    }
    if !S::OURS && !fault.is_of_clients() {
        return Err(BackendError(format!("\"{fault}\" would hit servers of somebody else")));
    }
    let (clients, servers) = (testbed.client_count(), testbed.servers.len() as u32);
    let unknown = fault.nodes().into_iter().find(|node| match node {
        Node::Client(client_number) => *client_number >= clients,
        Node::Server(number) => *number >= servers,
        Node::Vault => true,
    });
    if let Some(node) = unknown {
        return Err(BackendError(format!("there is no {node} in this run")));
    }
    let is_none = |(a, b): &&(Node, Node)| match (a, b) {
        (Node::Client(_), Node::Client(_)) => true,
        (Node::Server(_), Node::Server(_)) => {
            matches!(fault.action(), Action::Link(link_fault) if !link_fault.is_delay())
        }
        _ => false,
    };
    if fault.action() == Action::Evict
        && let Err(why) = testbed.store.junk()
    {
        return Err(BackendError(format!("{}: {why}", unable(Ability::Evict))));
    }
    match fault.links().iter().find(is_none) {
        Some((a, b)) => Err(BackendError(format!("there is no such link between {a} and {b}"))),
        None => Ok(()),
    }
}

/// Applies a fault, and returns its heal once it is in force.
pub async fn inject<S: StartedServer>(
    testbed: &Arc<Testbed<S>>,
    fault: &Fault,
) -> Result<Heal, BackendError> {
    let (action, links) = (fault.action(), fault.links());
    match (action, fault.node()) {
        (Action::Cut(direction), _) => links::cut(testbed, links, direction).await,
        (Action::Link(link_fault), _) => links::disturb(testbed, links, link_fault).await,
        (_, Some(Node::Client(number))) => nodes::hit_client(testbed, number, action).await,
        (_, Some(Node::Server(number))) => {
            nodes::hit_server(testbed, &testbed.servers[number as usize], action).await
        }
        (_, Some(Node::Vault) | None) => Err(unable(fault.ability())),
    }
}

/// The heal of a fault that is over already.
fn over(effect: Effect) -> Heal {
    Box::pin(std::future::ready(Ok(effect)))
}

/// The heal of a fault that had no target to hit.
fn missed(why: &str) -> Heal {
    over(Effect::new(why, 0))
}

/// An effect that lasted this long, if it was seen at all.
fn lasting(what: &str, lasted: Duration, seen: bool) -> Effect {
    Effect::new(what, if seen { lasted.as_millis().max(1) as u64 } else { 0 })
}
