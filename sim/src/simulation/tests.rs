//! What a client finds when it goes on after a pause.

use super::*;
use base::{Command, Init, Reply, Response, Spread};
use std::future::poll_fn;

const MS: Duration = Duration::from_millis(1);

/// A world with one server, 50 ms away, and one client, which makes a call whenever it is spoken to
/// and says how that ended.
fn world() -> Box<dyn Simulated> {
    let init = Command::Init(Box::new(Init {
        algo: "none".into(),
        process: 0,
        servers: Vec::new(),
        ttl: 0,
        call_timeout: 0,
        seed: 1,
    }));
    let config = SimConfig {
        clients: 1,
        servers: 1,
        ttl: 1000 * MS,
        call_timeout: 500 * MS,
        latency: Spread::Uniform { least: 50 * MS, most: 51 * MS },
        links: BTreeMap::new(),
        scripts: stores::redis::script::Runner::default(),
        seed: 1,
        init,
    };
    let open = |mut handle: Handle<dyn Link<Redis>>| -> LocalFuture<'static, ()> {
        Box::pin(async move {
            while let Some(request) = poll_fn(|cx| handle.mailbox.poll_next(cx)).await {
                let reply = match handle.link.call(0, ::redis::cmd("PING").into()).await {
                    Ok(_) => Reply::ok(),
                    Err(error) => Reply::fail(error.to_string()),
                };
                handle.mailbox.say(Response { id: Some(request.id), reply });
            }
        })
    };
    redis(RedisWorld::default(), config, None, Box::new(open))
}

/// What the client says after its call was under way for 10 ms and it was paused for so long.
fn said_after(pause: Duration) -> Reply {
    let (mut world, mut inbox) = (world(), Vec::new());
    let mut run = |world: &mut dyn Simulated, until| {
        inbox.clear();
        while world.now() < until {
            world.advance(until, Passing::Awaited, &mut inbox).expect("the world goes on");
        }
        inbox.iter().find_map(|message| match &message.notice {
            Notice::Client { response, .. } => Some(response.reply.clone()),
            _ => None,
        })
    };
    let (started, fault) = (Mono::ZERO + 10 * MS, Fault::Pause { node: Node::Client(0) });
    world.spawn(0, 0).expect("a client starts");
    assert_eq!(run(world.as_mut(), started), None);
    world.inject(0, &fault).expect("it can be paused");
    assert_eq!(run(world.as_mut(), started + pause), None);
    world.heal(0, &fault).expect("it can go on");
    run(world.as_mut(), started + pause + 20 * MS).expect("it has learnt how its call ended")
}

#[test]
fn a_reply_that_came_during_a_pause_is_read() {
    assert_eq!(said_after(400 * MS), Reply::ok());
}

#[test]
fn a_call_that_timed_out_during_a_pause_has_timed_out_though_its_reply_has_come() {
    let Reply::Fail { error, .. } = said_after(600 * MS) else { panic!("it read the reply") };
    assert!(error.contains("no reply in time"), "{error}");
}
