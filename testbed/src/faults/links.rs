//! The faults of links.

use super::{Heal, over};
use crate::link_proxy::{
    CallLoss, Half, HeldBack, HeldDirection, Jittering, LinkProxy, Refusing, Slowing, Throttling,
};
use crate::servers::StartedServer;
use crate::testbed::Testbed;
use crate::toxiproxy::{self, ToxicFault, ToxicPair};
use base::{Action, BackendError, Direction, Effect, LinkFault, Node};
use futures_util::future::try_join_all;
use std::sync::Arc;
use std::time::Duration;

/// Disturbs links.
pub async fn disturb<S: StartedServer>(
    testbed: &Testbed<S>,
    links: &[(Node, Node)],
    link_fault: LinkFault,
) -> Result<Heal, BackendError> {
    let action = Action::Link(link_fault);
    if let Some(pairs) = toxic_pairs(testbed, links).filter(|pairs| !pairs.is_empty()) {
        return Ok(match link_fault {
            LinkFault::Reset => over(Effect::of(action, toxiproxy::reset(pairs).await?)),
            _ => Box::pin(ToxicFault::inject(pairs, link_fault).await?.heal()),
        });
    }
    let between = client_links(testbed, links).chain(peer_links(testbed, links));
    Ok(match link_fault {
        LinkFault::Reset => over(Effect::of(action, between.map(LinkProxy::reset).sum())),
        LinkFault::Refuse => counted(action, between.map(LinkProxy::refuse), Refusing::end),
        LinkFault::LoseRequest => lose(action, Half::Request, between),
        LinkFault::LoseReply => lose(action, Half::Reply, between),
        LinkFault::Slow(times) => {
            counted(action, between.map(|link| link.slow(times)), Slowing::end)
        }
        LinkFault::Jitter(micros) => {
            let most = Duration::from_micros(micros.into());
            counted(action, between.map(|link| link.jitter(most)), Jittering::end)
        }
        LinkFault::Throttle(rate) => {
            counted(action, between.map(|link| link.throttle(rate)), Throttling::end)
        }
    })
}

/// The heal of a fault for which each link has a guard: `end` returns the number of things that met
/// it there.
fn counted<G: Send + 'static>(
    action: Action,
    guards: impl Iterator<Item = G>,
    end: fn(G) -> u64,
) -> Heal {
    let guards: Vec<G> = guards.collect();
    Box::pin(async move { Ok(Effect::of(action, guards.into_iter().map(end).sum())) })
}

/// Has the first call over one of these links lose this half.
fn lose<'a>(action: Action, half: Half, links: impl Iterator<Item = &'a LinkProxy>) -> Heal {
    let loss = Arc::<CallLoss>::default();
    let losing: Vec<_> = links.map(|link| link.lose(half, &loss)).collect();
    Box::pin(async move {
        drop(losing);
        Ok(Effect::of(action, loss.lost()))
    })
}

/// Cuts links. Those of clients are held by their proxies, those between servers cut by what the
/// servers run in.
pub async fn cut<S: StartedServer>(
    testbed: &Testbed<S>,
    links: &[(Node, Node)],
    direction: Direction,
) -> Result<Heal, BackendError> {
    let mut holds = Vec::new();
    let mut cuts = Vec::new();
    for link in links {
        let (client_number, number, direction) = match *link {
            (Node::Client(client_number), Node::Server(number)) => {
                (client_number, number, direction)
            }
            (Node::Server(number), Node::Client(client_number)) => {
                (client_number, number, direction.reversed())
            }
            (Node::Server(a), Node::Server(b)) => {
                let (a, b) = (&testbed.servers[a as usize], &testbed.servers[b as usize]);
                cuts.push(a.cut(b, direction));
                continue;
            }
            (Node::Client(_), Node::Client(_)) | (Node::Vault, _) | (_, Node::Vault) => continue,
        };
        holds.extend(testbed.link_proxy(client_number, number).map(|it| it.hold(direction)));
    }
    Ok(Box::pin(mend::<S>(holds, try_join_all(cuts).await?)))
}

async fn mend<S: StartedServer>(
    holds: Vec<HeldDirection>,
    cuts: Vec<S::Cut>,
) -> Result<Effect, BackendError> {
    const LINKS: &str = "bytes and connections held";
    let (linked, between) = (!holds.is_empty(), !cuts.is_empty());
    let cut_off: u64 = try_join_all(cuts.into_iter().map(S::mend)).await?.into_iter().sum();
    let held =
        holds.into_iter().map(HeldDirection::release).fold(HeldBack::default(), HeldBack::plus);
    let amount = held.bytes + held.connections + cut_off;
    Ok(match (linked, between) {
        (_, false) => Effect::new(LINKS, amount),
        (false, true) => Effect::new(S::CUT, amount),
        (true, true) => Effect::new(format!("{LINKS}, and {}", S::CUT), amount),
    })
}

/// The links of clients to servers among these.
fn client_links<'a, S: StartedServer>(
    testbed: &'a Testbed<S>,
    links: &'a [(Node, Node)],
) -> impl Iterator<Item = &'a LinkProxy> {
    of_clients(links).filter_map(|(client, server)| testbed.link_proxy(client, server))
}

/// The links between servers among these, where they lead through link proxies.
fn peer_links<'a, S: StartedServer>(
    testbed: &'a Testbed<S>,
    links: &'a [(Node, Node)],
) -> impl Iterator<Item = &'a LinkProxy> {
    links.iter().flat_map(|link| match *link {
        (Node::Server(a), Node::Server(b)) => testbed.servers[a as usize].peer_links(b),
        _ => Vec::new(),
    })
}

/// The same links as Toxiproxy has them, each with its link proxy; `None` if they do not lead
/// there.
fn toxic_pairs<'a, S: StartedServer>(
    testbed: &'a Testbed<S>,
    links: &'a [(Node, Node)],
) -> Option<Vec<ToxicPair<'a>>> {
    let toxic_links = testbed.toxic_links.as_ref()?;
    let pair = |(client, server)| {
        Some((toxic_links.get(client, server)?.clone(), testbed.link_proxy(client, server)?))
    };
    Some(of_clients(links).filter_map(pair).collect())
}

/// The numbers of the clients and servers that these links are between.
fn of_clients(links: &[(Node, Node)]) -> impl Iterator<Item = (u32, u32)> {
    links.iter().filter_map(|link| match *link {
        (Node::Client(client_number), Node::Server(number))
        | (Node::Server(number), Node::Client(client_number)) => Some((client_number, number)),
        _ => None,
    })
}
