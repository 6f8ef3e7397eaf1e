//! Does faults to the world, undoes them, and measures what they did in between.

use super::clients::Client;
use super::link::{Held, Hold, Link, Refusing, Throttling};
use super::memory;
use super::server::Server;
use super::wall::Wall;
use super::world::World;
use base::{
    Ability, Action, BackendError, Data, Direction, Effect, Fault, LinkTrouble, Mono, Node, Target,
};
use futures_util::future::try_join_all;
use std::sync::Arc;
use std::time::Duration;

/// A fault in force, with what it takes to undo it.
pub enum Active {
    /// There was no target to hit.
    Missed(&'static str),
    ClientPaused(Arc<Client>, Mono),
    ClientKilled,
    ServerPaused(Arc<Server>, Mono),
    ServerKilled(Arc<Server>, Data, Mono),
    ServerGone(Arc<Server>, Vec<Hold>, Mono),
    /// The number of items that were evicted.
    ServerFilled(Arc<Server>, u64),
    Cut(Vec<Hold>, Vec<Wall>),
    Reset(u64),
    Refusing(Vec<Refusing>),
    Throttling(u32, Vec<Throttling>),
}

/// Returns true if this backend has the ability.
pub const fn can(ability: Ability) -> bool {
    match ability {
        Ability::Pause | Ability::Crash | Ability::Vanish | Ability::Evict => true,
        Ability::Cut | Ability::Reset | Ability::Refuse | Ability::Throttle => true,
        // The vault is the drive loop's, and so are its links.
        Ability::Vault => true,
        // What a killed process has written is safe with the kernel.
        Ability::CutPower => false,
        Ability::Clock | Ability::LoseRequest | Ability::LoseReply | Ability::Slow => false,
    }
}

fn unable(ability: Ability) -> BackendError {
    BackendError(format!("real servers cannot {ability}"))
}

/// Refuses a fault that this backend cannot do, with the reason.
pub fn check(world: &World, fault: &Fault) -> Result<(), BackendError> {
    if !can(fault.ability()) {
        return Err(unable(fault.ability()));
    }
    let (clients, servers) = (world.seat_count(), world.servers.len() as u32);
    let unknown = fault.nodes().into_iter().find(|node| match node {
        Node::Client(seat) => *seat >= clients,
        Node::Server(number) => *number >= servers,
        Node::Vault => true,
    });
    if let Some(node) = unknown {
        return Err(BackendError(format!("there is no {node} in this run")));
    }
    let is_none = |(a, b): &&(Node, Node)| match (a, b) {
        (Node::Client(_), Node::Client(_)) => true,
        // Connections between servers go through no proxy of ours.
        (Node::Server(_), Node::Server(_)) => matches!(fault.action(), Action::Link(_)),
        _ => false,
    };
    if fault.action() == Action::Evict
        && let Some(why) = world.servers.iter().find_map(|server| server.junk().err())
    {
        return Err(BackendError(format!("{}: {why}", unable(Ability::Evict))));
    }
    match fault.links().iter().find(is_none) {
        Some((a, b)) => Err(BackendError(format!("there is no link between {a} and {b} to cut"))),
        None => Ok(()),
    }
}

/// Applies a fault, and returns once it is in force.
pub async fn inject(world: &World, fault: &Fault) -> Result<Active, BackendError> {
    match fault.target() {
        Target::Node(Node::Client(seat)) => inject_client(world, *seat, fault).await,
        Target::Node(Node::Server(number)) => {
            inject_server(world, world.servers[*number as usize].clone(), fault).await
        }
        Target::Node(Node::Vault) => Err(unable(fault.ability())),
        Target::Links(links) => inject_links(world, links, fault).await,
    }
}

async fn inject_client(world: &World, seat: u32, fault: &Fault) -> Result<Active, BackendError> {
    match fault.action() {
        Action::Pause => Ok(pause_client(world, seat).await),
        Action::Kill => Ok(kill_client(world, seat).await),
        Action::Crash(_)
        | Action::Vanish
        | Action::Evict
        | Action::Cut(_)
        | Action::Clock(_)
        | Action::Link(_) => Err(unable(fault.ability())),
    }
}

async fn inject_server(
    world: &World,
    server: Arc<Server>,
    fault: &Fault,
) -> Result<Active, BackendError> {
    match fault.action() {
        Action::Pause if !server.is_running() => {
            Ok(Active::Missed("the server was down or paused"))
        }
        Action::Pause => {
            server.pause().await?;
            Ok(Active::ServerPaused(server, world.now()))
        }
        Action::Crash(_) if !server.is_up() => Ok(Active::Missed("the server was down")),
        Action::Crash(data) => {
            kill_server(world, &server, data).await?;
            Ok(Active::ServerKilled(server, data, world.now()))
        }
        Action::Vanish => vanish(world, server).await,
        Action::Evict if !server.is_running() => {
            Ok(Active::Missed("the server was down or paused"))
        }
        Action::Evict => Ok(match memory::fill(&server).await? {
            Some(evicted) => Active::ServerFilled(server, evicted),
            None => Active::Missed("the server's memory was full of junk, or it did not answer"),
        }),
        Action::Kill | Action::Cut(_) | Action::Clock(_) | Action::Link(_) => {
            Err(unable(fault.ability()))
        }
    }
}

async fn inject_links(
    world: &World,
    links: &[(Node, Node)],
    fault: &Fault,
) -> Result<Active, BackendError> {
    let between = || client_links(world, links);
    match fault.action() {
        Action::Cut(direction) => cut(world, links, direction).await,
        Action::Link(LinkTrouble::Reset) => Ok(Active::Reset(between().map(Link::reset).sum())),
        Action::Link(LinkTrouble::Refuse) => {
            Ok(Active::Refusing(between().map(Link::refuse).collect()))
        }
        Action::Link(LinkTrouble::Throttle(rate)) => {
            Ok(Active::Throttling(rate, between().map(|link| link.throttle(rate)).collect()))
        }
        Action::Link(LinkTrouble::LoseRequest | LinkTrouble::LoseReply | LinkTrouble::Slow(_))
        | Action::Pause
        | Action::Kill
        | Action::Crash(_)
        | Action::Vanish
        | Action::Evict
        | Action::Clock(_) => Err(unable(fault.ability())),
    }
}

/// The links of clients to servers among these.
fn client_links<'a>(world: &'a World, links: &'a [(Node, Node)]) -> impl Iterator<Item = &'a Link> {
    links.iter().filter_map(|link| match *link {
        (Node::Client(seat), Node::Server(number)) | (Node::Server(number), Node::Client(seat)) => {
            world.link(seat, number)
        }
        _ => None,
    })
}

/// Undoes a fault, and measures its effect.
pub async fn heal(world: &World, active: Active) -> Result<Effect, BackendError> {
    match active {
        Active::Missed(why) => Ok(Effect::new(why, 0)),
        Active::ClientPaused(client, since) => {
            let lasted = world.now().since(since);
            Ok(lasting(Action::Pause.spec().counted, lasted, client.resume()))
        }
        Active::ClientKilled => Ok(Effect::of(Action::Kill, 1)),
        Active::ServerPaused(server, since) => {
            let lasted = world.now().since(since);
            Ok(lasting(Action::Pause.spec().counted, lasted, server.unpause().await?))
        }
        Active::ServerKilled(server, data, since) => revive(world, &server, data, since).await,
        Active::ServerGone(server, holds, since) => {
            let effect = revive(world, &server, Data::Kept, since).await;
            // The machine that is back knows nothing of the connections that it had.
            world.links_of(server.number()).for_each(|link| _ = link.reset());
            drop(holds);
            effect
        }
        Active::ServerFilled(server, evicted) => {
            memory::take_out_junk(&server).await?;
            Ok(Effect::of(Action::Evict, evicted))
        }
        Active::Cut(holds, walls) => mend(holds, walls).await,
        Active::Reset(connections) => Ok(Effect::of(Action::Link(LinkTrouble::Reset), connections)),
        Active::Refusing(links) => {
            let refused = links.into_iter().map(Refusing::end).sum();
            Ok(Effect::of(Action::Link(LinkTrouble::Refuse), refused))
        }
        Active::Throttling(rate, links) => {
            let carried = links.into_iter().map(Throttling::end).sum();
            Ok(Effect::of(Action::Link(LinkTrouble::Throttle(rate)), carried))
        }
    }
}

async fn pause_client(world: &World, seat: u32) -> Active {
    let Some(client) = world.client(seat) else {
        return Active::Missed("no client in this seat");
    };
    if client.pause().await {
        Active::ClientPaused(client, world.now())
    } else {
        Active::Missed("the client had ended before")
    }
}

async fn kill_client(world: &World, seat: u32) -> Active {
    let Some(client) = world.client(seat) else {
        return Active::Missed("no client in this seat");
    };
    if client.kill().await {
        Active::ClientKilled
    } else {
        Active::Missed("the client had ended before")
    }
}

async fn kill_server(world: &World, server: &Server, data: Data) -> Result<(), BackendError> {
    if data == Data::Kept {
        server.keep_data().await?;
    }
    server.kill().await?;
    world.loosen_links(server)
}

/// Makes a server vanish. Nobody hears that it dies: neither its peers, for its last words do not
/// leave it, nor clients, whose links hold what the engine says in its name.
async fn vanish(world: &World, server: Arc<Server>) -> Result<Active, BackendError> {
    server.keep_data().await?;
    let links = world.links_of(server.number());
    let holds = links.map(|link| link.hold(Direction::Both)).collect();
    server.silence().await?;
    server.kill().await?;
    Ok(Active::ServerGone(server, holds, world.now()))
}

/// The effect is measured by what caused it: the engine reports that the server is dead, and the
/// server's start whether it began with nothing.
async fn revive(
    world: &World,
    server: &Server,
    data: Data,
    since: Mono,
) -> Result<Effect, BackendError> {
    let dead = server.is_dead().await?;
    server.restart().await?;
    // Until then its links refuse, as its machine would: the engine takes connections before the
    // server does.
    server.until_serving().await?;
    world.aim_links(server)?;
    let lasted = world.now().since(since);
    if data == Data::Kept {
        return Ok(lasting("ms until it served again", lasted, dead));
    }
    let empty = server.came_back_empty().await?;
    Ok(lasting("ms until it served again, empty", lasted, dead && empty))
}

async fn cut(
    world: &World,
    links: &[(Node, Node)],
    direction: Direction,
) -> Result<Active, BackendError> {
    let mut holds = Vec::new();
    let mut walls = Vec::new();
    for link in links {
        match *link {
            (Node::Client(seat), Node::Server(number)) => {
                holds.extend(world.link(seat, number).map(|it| it.hold(direction)));
            }
            (Node::Server(number), Node::Client(seat)) => {
                holds.extend(world.link(seat, number).map(|it| it.hold(direction.reversed())));
            }
            (Node::Server(a), Node::Server(b)) => {
                let pair = (&world.servers[a as usize], &world.servers[b as usize]);
                walls.extend(Wall::between(pair, direction));
            }
            (Node::Client(_), Node::Client(_)) | (Node::Vault, _) | (_, Node::Vault) => {}
        }
    }
    try_join_all(walls.iter().map(Wall::raise)).await?;
    Ok(Active::Cut(holds, walls))
}

async fn mend(holds: Vec<Hold>, walls: Vec<Wall>) -> Result<Effect, BackendError> {
    let (linked, walled) = (!holds.is_empty(), !walls.is_empty());
    let packets: u64 = try_join_all(walls.into_iter().map(Wall::fall)).await?.into_iter().sum();
    let held = holds.into_iter().map(Hold::release).fold(Held::default(), Held::plus);
    let what = match (linked, walled) {
        (_, false) => "bytes and connections held",
        (false, true) => "packets dropped between servers",
        (true, true) => "bytes and connections held, and packets dropped between servers",
    };
    Ok(Effect::new(what, held.bytes + held.connections + packets))
}

/// An effect that lasted this long, if it was seen at all.
fn lasting(what: &str, lasted: Duration, seen: bool) -> Effect {
    Effect::new(what, if seen { lasted.as_millis().max(1) as u64 } else { 0 })
}
