//! The faults of clients and servers.

use super::{Heal, lasting, missed, over, unable};
use crate::clients::RunningClient;
use crate::link_proxy::LinkProxy;
use crate::servers::StartedServer;
use crate::testbed::Testbed;
use base::{Action, BackendError, ClockChange, Data, Direction, Effect, Mono};
use std::sync::Arc;

const NOT_RUNNING: &str = "the server was down or paused";

/// Does something to a client.
pub async fn hit_client<S: StartedServer>(
    testbed: &Arc<Testbed<S>>,
    number: u32,
    action: Action,
) -> Result<Heal, BackendError> {
    let Some(client) = testbed.client(number) else {
        return Ok(missed("the client had no process"));
    };
    Ok(match action {
        Action::Pause => pause_client(testbed, client).await,
        Action::Kill => match client.kill().await {
            true => over(Effect::of(Action::Kill, 1)),
            false => missed("the client had ended before"),
        },
        Action::Clock(_) if client.is_paused() => missed("the client was paused"),
        Action::Clock(change) => bend_client_clock(testbed, number, &client, change).await,
        _ => return Err(unable(action.spec().ability.at_client())),
    })
}

/// Does something to a server.
pub async fn hit_server<S: StartedServer>(
    testbed: &Arc<Testbed<S>>,
    server: &Arc<S>,
    action: Action,
) -> Result<Heal, BackendError> {
    let (testbed, server) = (testbed.clone(), server.clone());
    match action {
        Action::Crash(_) if !server.is_up() => Ok(missed("the server was down")),
        Action::Crash(data) => crash(testbed, server, data).await,
        Action::Vanish => vanish(testbed, server).await,
        Action::Pause | Action::Evict | Action::Clock(_) if !server.is_running() => {
            Ok(missed(NOT_RUNNING))
        }
        Action::Pause => pause_server(testbed, server).await,
        Action::Evict => evict(testbed, server).await,
        Action::Clock(change) => bend_server_clock(testbed, server, change).await,
        // These are not done to servers.
        Action::Kill | Action::Cut(_) | Action::Link(_) => Err(unable(action.spec().ability)),
    }
}

async fn pause_client<S: StartedServer>(
    testbed: &Arc<Testbed<S>>,
    client: Arc<RunningClient>,
) -> Heal {
    if !client.pause().await {
        return missed("the client had ended before");
    }
    let (testbed, since) = (testbed.clone(), testbed.now());
    Box::pin(async move {
        let lasted = testbed.now().since(since);
        Ok(lasting(Action::Pause.spec().counted, lasted, client.resume()))
    })
}

async fn pause_server<S: StartedServer>(
    testbed: Arc<Testbed<S>>,
    server: Arc<S>,
) -> Result<Heal, BackendError> {
    server.pause().await?;
    let since = testbed.now();
    Ok(Box::pin(async move {
        let lasted = testbed.now().since(since);
        Ok(lasting(Action::Pause.spec().counted, lasted, server.unpause().await?))
    }))
}

async fn bend_client_clock<S: StartedServer>(
    testbed: &Arc<Testbed<S>>,
    number: u32,
    client: &RunningClient,
    change: ClockChange,
) -> Heal {
    let wrong = testbed.bend_client_clock(number, client, change).await;
    let testbed = testbed.clone();
    Box::pin(async move {
        let moved = testbed.right_client_clock(number, wrong).await;
        Ok(clock_effect("client", moved))
    })
}

async fn bend_server_clock<S: StartedServer>(
    testbed: Arc<Testbed<S>>,
    server: Arc<S>,
    change: ClockChange,
) -> Result<Heal, BackendError> {
    let wrong = testbed.bend_clock(&*server, change).await?;
    Ok(Box::pin(async move {
        let moved = testbed.right_clock(&*server, wrong).await?;
        Ok(clock_effect("server", moved))
    }))
}

fn clock_effect(whose: &str, moved: u64) -> Effect {
    let what = format!("microseconds by which the {whose}'s own clock went there, at the least");
    Effect::new(what, moved)
}

async fn evict<S: StartedServer>(
    testbed: Arc<Testbed<S>>,
    server: Arc<S>,
) -> Result<Heal, BackendError> {
    let Some(evicted) = testbed.fill(&*server).await? else {
        return Ok(missed("the server's memory was full of junk, or it did not answer"));
    };
    Ok(Box::pin(async move {
        testbed.take_out_junk(&*server).await?;
        Ok(Effect::of(Action::Evict, evicted))
    }))
}

async fn crash<S: StartedServer>(
    testbed: Arc<Testbed<S>>,
    server: Arc<S>,
    data: Data,
) -> Result<Heal, BackendError> {
    if data == Data::Kept {
        server.keep_data().await?;
    }
    testbed.take_last_reports(&*server).await;
    server.kill().await?;
    testbed.loosen_links(&server)?;
    let since = testbed.now();
    Ok(Box::pin(async move { revive(&testbed, &server, data, since).await }))
}

/// Makes a server vanish. Nobody notices its death: its last packets do not reach its peers, and
/// the links of clients hold what is sent in its name.
async fn vanish<S: StartedServer>(
    testbed: Arc<Testbed<S>>,
    server: Arc<S>,
) -> Result<Heal, BackendError> {
    server.keep_data().await?;
    let links = testbed.link_proxies_of(server.number());
    let holds: Vec<_> = links.map(|link| link.hold(Direction::Both)).collect();
    testbed.take_last_reports(&*server).await;
    server.silence().await?;
    server.kill().await?;
    let since = testbed.now();
    Ok(Box::pin(async move {
        let effect = revive(&testbed, &server, Data::Kept, since).await;
        testbed.link_proxies_of(server.number()).for_each(LinkProxy::forget);
        drop(holds);
        effect
    }))
}

/// Starts a dead server again. The effect is measured by its cause: the server was seen to be dead,
/// and, if it was to lose its data, to start with nothing.
async fn revive<S: StartedServer>(
    testbed: &Testbed<S>,
    server: &Arc<S>,
    data: Data,
    since: Mono,
) -> Result<Effect, BackendError> {
    let dead = server.is_dead().await?;
    server.restart().await?;
    // Until then its links refuse, as its machine would: the engine takes connections before the
    // server does.
    server.until_serving().await?;
    testbed.settle_clock(&**server).await?;
    testbed.aim_links(server, Some(data)).await?;
    let lasted = testbed.now().since(since);
    if data == Data::Kept {
        return Ok(lasting("ms until it served again", lasted, dead));
    }
    let empty = server.came_back_empty().await?;
    Ok(lasting("ms until it served again, empty", lasted, dead && empty))
}
