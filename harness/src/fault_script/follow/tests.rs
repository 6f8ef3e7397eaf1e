//! Tests of the aims and moments of a fault script.

use super::super::ScriptedRun;
use super::*;
use base::{Action, CallView, ClientState, ClientView, ScriptFile, ServerInfo};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(4);

fn ms(millis: u64) -> Mono {
    Mono::from_nanos(millis * 1_000_000)
}

fn servers(count: u32) -> Vec<ServerInfo> {
    let member = |n| ServerInfo { name: stores::node_name(n), role: "member".into(), group: 0 };
    (0..count).map(member).collect()
}

/// A script for five clients and three servers, begun at time 0.
fn follower(text: &str) -> Follower {
    let run = ScriptedRun {
        clients: 5,
        servers: &servers(3),
        peers: true,
        several: true,
        ttl: TTL,
        time_limit: Duration::from_secs(30),
        junk: Ok(()),
        commands: vec!["SETNX", "EXPIRE"],
    };
    let file = ScriptFile { path: "it.toml".into(), text: text.into() };
    let script = FaultScript::read(&file, &run).unwrap_or_else(|error| panic!("{error}"));
    let mut follower = Follower::new(Arc::new(script));
    // Its times count from the first look.
    ask(&mut follower, ms(0), [IDLE; 5]);
    follower
}

/// A fault of a script, with what differs from one to the other.
fn fault(about: &str) -> String {
    format!("[[fault]]\nlasts = \"1s\"\n{about}\n")
}

/// Asks what comes next at a time, with the clients in these states.
fn ask(follower: &mut Follower, at: Mono, states: [ClientState; 5]) -> Next {
    let clients = states.map(|state| ClientView { state, ..ClientView::default() });
    let servers = &servers(3);
    let view = View {
        now: at,
        ttl: TTL,
        clients: &clients,
        servers,
        peers: true,
        answering: None,
        standings: &[],
        active: 0,
    };
    follower.next(&view, &mut Rng::new(7))
}

const IDLE: ClientState = ClientState::Idle;

fn holding(since: u64) -> ClientState {
    ClientState::Holding { since: ms(since) }
}

fn asking(since: u64) -> ClientState {
    ClientState::Acquiring { since: ms(since), last_reply: None, answers: 0 }
}

fn answered(since: u64, at: u64) -> ClientState {
    ClientState::Acquiring { since: ms(since), last_reply: Some(ms(at)), answers: 1 }
}

/// The nodes of the fault that comes.
#[track_caller]
fn hit(next: Next) -> Vec<Node> {
    match next {
        Next::Inject { fault, .. } | Next::Also { fault, .. } => fault.nodes(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn waiters_are_distinguished_by_the_order_in_which_they_asked() {
    let queue = [holding(0), asking(30), asking(10), asking(20), IDLE];
    for (target, client) in [("next-waiter", 2), ("middle-waiter", 3), ("holder", 0)] {
        let text = fault(&format!("action = \"pause\"\ntarget = \"{target}\"\nat = \"1s\""));
        let mut follower = follower(&text);
        assert_eq!(ask(&mut follower, ms(500), queue), Next::At(ms(1_000)));
        assert_eq!(hit(ask(&mut follower, ms(1_000), queue)), [Node::Client(client)], "{target}");
        assert_eq!(ask(&mut follower, ms(1_000), queue), Next::Done);
    }
    // There is no middle of two.
    let mut follower =
        follower(&fault("action = \"pause\"\ntarget = \"middle-waiter\"\nat = \"1s\""));
    let two = [holding(0), asking(30), asking(10), IDLE, IDLE];
    assert_eq!(ask(&mut follower, ms(1_000), two), Next::Watch);
    assert_eq!(hit(ask(&mut follower, ms(1_100), queue)), [Node::Client(3)]);
}

#[test]
fn a_holder_that_has_released_within_the_time_is_passed_over() {
    let when = "action = \"pause\"\ntarget = \"holder\"\nwhen = \"granted\"\nafter = \"300ms\"";
    let mut follower = follower(&fault(when));
    let only = |client: usize, state| {
        let mut states = [IDLE; 5];
        states[client] = state;
        states
    };
    assert_eq!(ask(&mut follower, ms(0), [IDLE; 5]), Next::Watch);
    let until = Next::WatchUntil(ms(310));
    assert_eq!(ask(&mut follower, ms(10), only(1, holding(10))), until);
    assert_eq!(ask(&mut follower, ms(200), [IDLE; 5]), Next::Watch);
    let until = Next::WatchUntil(ms(550));
    assert_eq!(ask(&mut follower, ms(250), only(4, holding(250))), until);
    assert_eq!(hit(ask(&mut follower, ms(550), only(4, holding(250)))), [Node::Client(4)]);
}

#[test]
fn the_first_moments_are_passed_over_and_a_named_client_has_its_own() {
    let of = |target: &str| {
        let when = "action = \"pause\"\nwhen = \"granted\"\nnth = 2";
        follower(&fault(&format!("{when}\ntarget = \"{target}\"")))
    };
    let holders = [(10, 0), (20, 3), (30, 0), (40, 3), (50, 3)];
    for (target, at, client) in [("holder", 20, 3), ("client-3", 40, 3), ("client-0", 30, 0)] {
        let mut follower = of(target);
        let came = holders.iter().find_map(|(at, holder)| {
            let mut states = [IDLE; 5];
            states[*holder] = holding(*at);
            match ask(&mut follower, ms(*at), states) {
                Next::Inject { fault, .. } => Some((*at, fault.nodes())),
                _ => None,
            }
        });
        assert_eq!(came, Some((at, vec![Node::Client(client)])), "{target}");
    }
}

#[test]
fn an_answer_counts_while_nobody_is_known_to_hold() {
    let text = "action = \"kill\"\ntarget = \"asker\"\nwhen = \"answered\"";
    let mut follower = follower(&fault(text));
    let refused = [holding(0), answered(5, 10), IDLE, IDLE, IDLE];
    assert_eq!(ask(&mut follower, ms(10), refused), Next::Watch);
    let freed = [IDLE, asking(5), answered(6, 20), IDLE, IDLE];
    assert_eq!(hit(ask(&mut follower, ms(20), freed)), [Node::Client(2)]);
}

#[test]
fn a_moment_counts_from_the_fault_before_and_intervals_overlap() {
    let granted = fault("action = \"pause\"\ntarget = \"holder\"\nwhen = \"granted\"");
    let at = fault("action = \"crash\"\ntarget = \"servers\"\nat = \"15ms\"");
    let mut follower = follower(&format!("{granted}{at}{granted}"));
    let held = |client: usize, since| {
        let mut states = [IDLE; 5];
        states[client] = holding(since);
        states
    };
    assert_eq!(hit(ask(&mut follower, ms(10), held(0, 10))), [Node::Client(0)]);
    assert_eq!(ask(&mut follower, ms(10), held(0, 10)), Next::At(ms(15)));
    assert_eq!(follower.line(), Some(1));
    for server in 0..3 {
        assert_eq!(hit(ask(&mut follower, ms(15), held(0, 10))), [Node::Server(server)]);
        assert_eq!(follower.line(), Some(6));
    }
    assert_eq!(ask(&mut follower, ms(16), held(0, 10)), Next::Watch, "that grant was before");
    assert_eq!(hit(ask(&mut follower, ms(30), held(1, 30))), [Node::Client(1)]);
}

#[test]
fn links_are_named_by_their_ends() {
    let links = |about: &str| {
        let mut follower = follower(&fault(&format!("{about}\nat = \"1s\"")));
        let queue = [holding(0), asking(30), asking(10), asking(20), IDLE];
        match ask(&mut follower, ms(1_000), queue) {
            Next::Inject { fault, .. } => fault.links().to_vec(),
            other => panic!("{about}: {other:?}"),
        }
    };
    let (client, server) = (Node::Client, Node::Server);
    let to_all = |c| (0..3).map(|n| (client(c), server(n))).collect::<Vec<_>>();
    assert_eq!(links("action = \"cut\"\ntarget = \"holder\""), to_all(0));
    assert_eq!(
        links("action = \"cut\"\ntarget = \"server-1\""),
        [(server(1), server(0)), (server(1), server(2))]
    );
    assert_eq!(links("action = \"reset\"\ntarget = \"server-1\"").len(), 5);
    assert_eq!(links("action = \"cut\"\ntarget = \"vault\"").len(), 5);
    assert_eq!(links("action = \"cut\"\ntarget = \"all\"").len(), 15);
    assert_eq!(links("action = \"cut\"\ntarget = \"member\"").len(), 3);
    assert_eq!(
        links(
            "action = \"cut-forward\"\nlinks = [[\"holder\", \"server-2\"], [\"holder\", \"server-0\"]]"
        ),
        [(client(0), server(2)), (client(0), server(0))]
    );
    let same = links(
        "action = \"cut\"\nlinks = [[\"random-client\", \"server-0\"], [\"random-client\", \"server-1\"]]",
    );
    assert_eq!(same[0].0, same[1].0, "one name means one client");
}

#[test]
fn the_same_client_is_hit_again() {
    let pause = fault("action = \"pause\"\ntarget = \"holder\"\nwhen = \"granted\"");
    let jump =
        fault("action = \"clock-jump\"\nby = \"1 ttl\"\ntarget = \"same-client\"\nat = \"20ms\"");
    let mut follower = follower(&format!("{pause}{jump}"));
    let states = [IDLE, IDLE, IDLE, holding(10), IDLE];
    assert_eq!(hit(ask(&mut follower, ms(10), states)), [Node::Client(3)]);
    let Next::Inject { fault, lasts } = ask(&mut follower, ms(20), states) else { panic!("none") };
    assert_eq!((fault.nodes(), lasts), (vec![Node::Client(3)], Duration::from_secs(1)));
    let by = TTL.as_nanos() as i64;
    assert_eq!(fault.action(), Action::Clock(base::ClockChange::Jump(by)));
}

#[test]
fn a_majority_counts_once_a_round() {
    let by = |answers, at: u64| {
        let client = ClientState::Acquiring { since: ms(5), last_reply: Some(ms(at)), answers };
        [IDLE, client, IDLE, IDLE, IDLE]
    };
    let mut follower =
        follower(&fault("action = \"pause\"\ntarget = \"asker\"\nwhen = \"majority\"\nnth = 2"));
    for (at, answers) in [(10, 1), (11, 2), (12, 3), (20, 1), (21, 1)] {
        assert_eq!(ask(&mut follower, ms(at), by(answers, at)), Next::Watch, "{at}");
    }
    assert_eq!(hit(ask(&mut follower, ms(22), by(2, 22))), [Node::Client(1)]);
}

#[test]
fn a_fault_comes_with_the_one_before() {
    let first = fault("action = \"crash\"\ntarget = \"server-1\"\nat = \"1s\"");
    let with = |after: &str| {
        fault(&format!(
            "action = \"crash\"\ntarget = \"server-2\"\nwhen = \"fault\"\nafter = \"{after}\""
        ))
    };
    let mut at_once = follower(&format!("{first}{}", with("0s")));
    assert_eq!(hit(ask(&mut at_once, ms(1_000), [IDLE; 5])), [Node::Server(1)]);
    assert_eq!(hit(ask(&mut at_once, ms(1_000), [IDLE; 5])), [Node::Server(2)]);
    let mut later = follower(&format!("{first}{}", with("200ms")));
    assert_eq!(hit(ask(&mut later, ms(1_000), [IDLE; 5])), [Node::Server(1)]);
    assert_eq!(ask(&mut later, ms(1_000), [IDLE; 5]), Next::WatchUntil(ms(1_200)));
    assert_eq!(hit(ask(&mut later, ms(1_200), [IDLE; 5])), [Node::Server(2)]);
}

#[test]
fn whoever_is_meant_is_hit_whatever_else_hits_it() {
    let mut follower =
        follower(&fault("action = \"pause\"\ntarget = \"holder\"\nwhen = \"granted\""));
    let clients = vec![ClientView { state: holding(10), faulted: true, call: None }; 1];
    let servers = &servers(3);
    let view = View {
        now: ms(10),
        ttl: TTL,
        clients: &clients,
        servers,
        peers: true,
        answering: None,
        standings: &[],
        active: 0,
    };
    assert_eq!(hit(follower.next(&view, &mut Rng::new(7))), [Node::Client(0)]);
}

#[test]
fn the_client_of_the_moment_need_not_be_the_one_that_is_hit() {
    let mut follower = follower(&fault(
        "action = \"pause\"\ntarget = \"client-0\"\nwhen = \"granted\"\nwho = \"client-1\"\nafter = \"1s\"",
    ));
    let held = [IDLE, holding(10), IDLE, IDLE, IDLE];
    assert_eq!(ask(&mut follower, ms(10), held), Next::WatchUntil(ms(1_010)));
    assert_eq!(hit(ask(&mut follower, ms(1_010), [IDLE; 5])), [Node::Client(0)]);
}

/// The clients in these states, the first of which has sent a command.
fn ask_of_call(
    follower: &mut Follower,
    at: Mono,
    state: ClientState,
    call: Option<CallView>,
) -> Next {
    let mut clients = [IDLE; 5].map(|state| ClientView { state, ..ClientView::default() });
    clients[0] = ClientView { state, faulted: false, call };
    let servers = &servers(3);
    let view = View {
        now: at,
        ttl: TTL,
        clients: &clients,
        servers,
        peers: true,
        answering: None,
        standings: &[],
        active: 0,
    };
    follower.next(&view, &mut Rng::new(7))
}

#[test]
fn a_command_is_sent_and_answered_once() {
    let call = |command: &str, sent, answered: Option<u64>| {
        Some(CallView { command: command.into(), sent: ms(sent), answered: answered.map(ms) })
    };
    for (when, at) in [("sent", 30), ("answered", 50)] {
        let about = format!(
            "action = \"kill\"\ntarget = \"asker\"\nwhen = \"{when}\"\ncommand = \"expire\""
        );
        let mut follower = follower(&fault(&about));
        let steps = [
            (10, call("SETNX", 10, None)),
            (20, call("SETNX", 10, Some(20))),
            (30, call("EXPIRE", 30, None)),
            (40, call("EXPIRE", 30, None)),
            (50, call("EXPIRE", 30, Some(50))),
        ];
        let came = steps.into_iter().find_map(|(at, call)| {
            match ask_of_call(&mut follower, ms(at), asking(10), call) {
                Next::Inject { fault, .. } => Some((at, fault.nodes())),
                _ => None,
            }
        });
        assert_eq!(came, Some((at, vec![Node::Client(0)])), "{when}");
    }
}
