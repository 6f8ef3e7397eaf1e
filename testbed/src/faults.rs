//! Does faults to the testbed, undoes them, and measures what they did in between.

use super::abilities::can;
use super::clients::RunningClient;
use super::link_proxy::{
    CallLoss, Half, HeldBack, HeldDirection, Jittering, LinkProxy, Losing, Refusing, Slowing,
    Throttling,
};
use super::servers::{Servers, StartedServer};
use super::testbed::Testbed;
use super::toxiproxy::{self, ToxicFault, ToxicPair};
use super::wrong_clock::WrongClock;
use base::Lack;
use base::{
    Ability, Action, BackendError, ClockChange, Data, Direction, Effect, Fault, LinkFault, Mono,
    Node, Target,
};
use futures_util::future::try_join_all;
use std::sync::Arc;
use std::time::Duration;

/// A fault in force, with what it takes to undo it.
pub enum Active<S: StartedServer> {
    /// There was no target to hit.
    Missed(&'static str),
    ClientPaused(Arc<RunningClient>, Mono),
    ClientKilled,
    /// The number of the client, and its clock.
    ClientClockWrong(u32, WrongClock),
    ServerPaused(Arc<S>, Mono),
    ServerKilled(Arc<S>, Data, Mono),
    ServerGone(Arc<S>, Vec<HeldDirection>, Mono),
    /// The number of items that were evicted.
    ServerFilled(Arc<S>, u64),
    ServerClockWrong(Arc<S>, WrongClock),
    Cut(Vec<HeldDirection>, Vec<S::Cut>),
    Reset(u64),
    Refusing(Vec<Refusing>),
    Losing(LinkFault, Arc<CallLoss>, Vec<Losing>),
    Slowing(u32, Vec<Slowing>),
    Jittering(u32, Vec<Jittering>),
    Throttling(u32, Vec<Throttling>),
    /// Toxiproxy does it.
    Toxic(ToxicFault),
}

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

/// Applies a fault, and returns once it is in force.
pub async fn inject<S: StartedServer>(
    testbed: &Testbed<S>,
    fault: &Fault,
) -> Result<Active<S>, BackendError> {
    match fault.target() {
        Target::Node(Node::Client(client_number)) => {
            inject_client(testbed, *client_number, fault).await
        }
        Target::Node(Node::Server(number)) => {
            inject_server(testbed, testbed.servers[*number as usize].clone(), fault).await
        }
        Target::Node(Node::Vault) => Err(unable(fault.ability())),
        Target::Links(links) => inject_links(testbed, links, fault).await,
    }
}

async fn inject_client<S: StartedServer>(
    testbed: &Testbed<S>,
    client_number: u32,
    fault: &Fault,
) -> Result<Active<S>, BackendError> {
    match fault.action() {
        Action::Pause => Ok(pause_client(testbed, client_number).await),
        Action::Kill => Ok(kill_client(testbed, client_number).await),
        Action::Clock(change) => Ok(bend_client_clock(testbed, client_number, change).await),
        Action::Crash(_) | Action::Vanish | Action::Evict | Action::Cut(_) | Action::Link(_) => {
            Err(unable(fault.ability()))
        }
    }
}

async fn inject_server<S: StartedServer>(
    testbed: &Testbed<S>,
    server: Arc<S>,
    fault: &Fault,
) -> Result<Active<S>, BackendError> {
    match fault.action() {
        Action::Pause if !server.is_running() => {
            Ok(Active::Missed("the server was down or paused"))
        }
        Action::Pause => {
            server.pause().await?;
            Ok(Active::ServerPaused(server, testbed.now()))
        }
        Action::Crash(_) if !server.is_up() => Ok(Active::Missed("the server was down")),
        Action::Crash(data) => {
            kill_server(testbed, &server, data).await?;
            Ok(Active::ServerKilled(server, data, testbed.now()))
        }
        Action::Vanish => vanish(testbed, server).await,
        Action::Evict if !server.is_running() => {
            Ok(Active::Missed("the server was down or paused"))
        }
        Action::Evict => Ok(match testbed.fill(&server).await? {
            Some(evicted) => Active::ServerFilled(server, evicted),
            None => Active::Missed("the server's memory was full of junk, or it did not answer"),
        }),
        Action::Clock(_) if !server.is_running() => {
            Ok(Active::Missed("the server was down or paused"))
        }
        Action::Clock(change) => {
            let wrong = testbed.bend_clock(&*server, change).await?;
            Ok(Active::ServerClockWrong(server, wrong))
        }
        Action::Kill | Action::Cut(_) | Action::Link(_) => Err(unable(fault.ability())),
    }
}

async fn inject_links<S: StartedServer>(
    testbed: &Testbed<S>,
    links: &[(Node, Node)],
    fault: &Fault,
) -> Result<Active<S>, BackendError> {
    let between = || client_links(testbed, links).chain(peer_links(testbed, links));
    if let (Some(pairs), Action::Link(link_fault)) = (toxic_pairs(testbed, links), fault.action())
        && !pairs.is_empty()
    {
        return Ok(match link_fault {
            LinkFault::Reset => Active::Reset(toxiproxy::reset(pairs).await?),
            _ => Active::Toxic(ToxicFault::inject(pairs, link_fault).await?),
        });
    }
    match fault.action() {
        Action::Cut(direction) => cut(testbed, links, direction).await,
        Action::Link(LinkFault::Reset) => Ok(Active::Reset(between().map(LinkProxy::reset).sum())),
        Action::Link(LinkFault::Refuse) => {
            Ok(Active::Refusing(between().map(LinkProxy::refuse).collect()))
        }
        Action::Link(LinkFault::Throttle(rate)) => {
            Ok(Active::Throttling(rate, between().map(|link| link.throttle(rate)).collect()))
        }
        Action::Link(lost @ LinkFault::LoseRequest) => Ok(lose(lost, Half::Request, between())),
        Action::Link(lost @ LinkFault::LoseReply) => Ok(lose(lost, Half::Reply, between())),
        Action::Link(LinkFault::Slow(times)) => {
            Ok(Active::Slowing(times, between().map(|link| link.slow(times)).collect()))
        }
        Action::Link(LinkFault::Jitter(micros)) => {
            let most = Duration::from_micros(micros.into());
            Ok(Active::Jittering(micros, between().map(|link| link.jitter(most)).collect()))
        }
        Action::Pause
        | Action::Kill
        | Action::Crash(_)
        | Action::Vanish
        | Action::Evict
        | Action::Clock(_) => Err(unable(fault.ability())),
    }
}

/// Has the first call over one of these links lose this half.
fn lose<'a, S: StartedServer>(
    fault: LinkFault,
    half: Half,
    links: impl Iterator<Item = &'a LinkProxy>,
) -> Active<S> {
    let loss = Arc::<CallLoss>::default();
    let losing = links.map(|link| link.lose(half, &loss)).collect();
    Active::Losing(fault, loss, losing)
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

/// The same links as Toxiproxy has them, each with its link proxy; `None` if they do not lead there.
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

/// Undoes a fault, and measures its effect.
pub async fn heal<S: StartedServer>(
    testbed: &Testbed<S>,
    active: Active<S>,
) -> Result<Effect, BackendError> {
    match active {
        Active::Missed(why) => Ok(Effect::new(why, 0)),
        Active::ClientPaused(client, since) => {
            let lasted = testbed.now().since(since);
            Ok(lasting(Action::Pause.spec().counted, lasted, client.resume()))
        }
        Active::ClientKilled => Ok(Effect::of(Action::Kill, 1)),
        Active::ClientClockWrong(client_number, wrong) => {
            let moved = testbed.right_client_clock(client_number, wrong).await;
            Ok(Effect::new(
                "microseconds by which the client's own clock went there, at the least",
                moved,
            ))
        }
        Active::ServerPaused(server, since) => {
            let lasted = testbed.now().since(since);
            Ok(lasting(Action::Pause.spec().counted, lasted, server.unpause().await?))
        }
        Active::ServerKilled(server, data, since) => revive(testbed, &server, data, since).await,
        Active::ServerGone(server, holds, since) => {
            let effect = revive(testbed, &server, Data::Kept, since).await;
            testbed.link_proxies_of(server.number()).for_each(LinkProxy::forget);
            drop(holds);
            effect
        }
        Active::ServerFilled(server, evicted) => {
            testbed.take_out_junk(&server).await?;
            Ok(Effect::of(Action::Evict, evicted))
        }
        Active::ServerClockWrong(server, wrong) => {
            let moved = testbed.right_clock(&*server, wrong).await?;
            Ok(Effect::new(
                "microseconds by which the server's own clock went there, at the least",
                moved,
            ))
        }
        Active::Cut(holds, cuts) => mend::<S>(holds, cuts).await,
        Active::Reset(connections) => Ok(Effect::of(Action::Link(LinkFault::Reset), connections)),
        Active::Refusing(links) => {
            let refused = links.into_iter().map(Refusing::end).sum();
            Ok(Effect::of(Action::Link(LinkFault::Refuse), refused))
        }
        Active::Losing(fault, loss, links) => {
            drop(links);
            Ok(Effect::of(Action::Link(fault), loss.lost()))
        }
        Active::Slowing(times, links) => {
            let delayed = links.into_iter().map(Slowing::end).sum();
            Ok(Effect::of(Action::Link(LinkFault::Slow(times)), delayed))
        }
        Active::Jittering(micros, links) => {
            let delayed = links.into_iter().map(Jittering::end).sum();
            Ok(Effect::of(Action::Link(LinkFault::Jitter(micros)), delayed))
        }
        Active::Throttling(rate, links) => {
            let carried = links.into_iter().map(Throttling::end).sum();
            Ok(Effect::of(Action::Link(LinkFault::Throttle(rate)), carried))
        }
        Active::Toxic(fault) => fault.heal().await,
    }
}

async fn pause_client<S: StartedServer>(testbed: &Testbed<S>, client_number: u32) -> Active<S> {
    let Some(client) = testbed.client(client_number) else {
        return Active::Missed("the client had no process");
    };
    if client.pause().await {
        Active::ClientPaused(client, testbed.now())
    } else {
        Active::Missed("the client had ended before")
    }
}

async fn kill_client<S: StartedServer>(testbed: &Testbed<S>, client_number: u32) -> Active<S> {
    let Some(client) = testbed.client(client_number) else {
        return Active::Missed("the client had no process");
    };
    if client.kill().await {
        Active::ClientKilled
    } else {
        Active::Missed("the client had ended before")
    }
}

async fn bend_client_clock<S: StartedServer>(
    testbed: &Testbed<S>,
    client_number: u32,
    change: ClockChange,
) -> Active<S> {
    match testbed.client(client_number) {
        None => Active::Missed("the client had no process"),
        Some(client) if client.is_paused() => Active::Missed("the client was paused"),
        Some(client) => {
            let wrong = testbed.bend_client_clock(client_number, &client, change).await;
            Active::ClientClockWrong(client_number, wrong)
        }
    }
}

async fn kill_server<S: StartedServer>(
    testbed: &Testbed<S>,
    server: &S,
    data: Data,
) -> Result<(), BackendError> {
    if data == Data::Kept {
        server.keep_data().await?;
    }
    server.kill().await?;
    testbed.loosen_links(server)
}

/// Makes a server vanish. Nobody hears that it dies: neither its peers, for its last words do not
/// leave it, nor clients, whose links hold what is said in its name.
async fn vanish<S: StartedServer>(
    testbed: &Testbed<S>,
    server: Arc<S>,
) -> Result<Active<S>, BackendError> {
    server.keep_data().await?;
    let links = testbed.link_proxies_of(server.number());
    let holds = links.map(|link| link.hold(Direction::Both)).collect();
    server.silence().await?;
    server.kill().await?;
    Ok(Active::ServerGone(server, holds, testbed.now()))
}

/// The effect is measured by what caused it: the server was seen to be dead, and the
/// server's start whether it began with nothing.
async fn revive<S: StartedServer>(
    testbed: &Testbed<S>,
    server: &S,
    data: Data,
    since: Mono,
) -> Result<Effect, BackendError> {
    let dead = server.is_dead().await?;
    server.restart().await?;
    // Until then its links refuse, as its machine would: the engine takes connections before the
    // server does.
    server.until_serving().await?;
    testbed.settle_clock(server).await?;
    testbed.aim_links(server).await?;
    let lasted = testbed.now().since(since);
    if data == Data::Kept {
        return Ok(lasting("ms until it served again", lasted, dead));
    }
    let empty = server.came_back_empty().await?;
    Ok(lasting("ms until it served again, empty", lasted, dead && empty))
}

async fn cut<S: StartedServer>(
    testbed: &Testbed<S>,
    links: &[(Node, Node)],
    direction: Direction,
) -> Result<Active<S>, BackendError> {
    let mut holds = Vec::new();
    let mut cuts = Vec::new();
    for link in links {
        match *link {
            (Node::Client(client_number), Node::Server(number)) => {
                holds
                    .extend(testbed.link_proxy(client_number, number).map(|it| it.hold(direction)));
            }
            (Node::Server(number), Node::Client(client_number)) => {
                holds.extend(
                    testbed
                        .link_proxy(client_number, number)
                        .map(|it| it.hold(direction.reversed())),
                );
            }
            (Node::Server(a), Node::Server(b)) => {
                let (a, b) = (&testbed.servers[a as usize], &testbed.servers[b as usize]);
                cuts.push(a.cut(b, direction));
            }
            (Node::Client(_), Node::Client(_)) | (Node::Vault, _) | (_, Node::Vault) => {}
        }
    }
    Ok(Active::Cut(holds, try_join_all(cuts).await?))
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

/// An effect that lasted this long, if it was seen at all.
fn lasting(what: &str, lasted: Duration, seen: bool) -> Effect {
    Effect::new(what, if seen { lasted.as_millis().max(1) as u64 } else { 0 })
}
