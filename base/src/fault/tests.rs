//! Tests of the list of actions and of the words for faults.

use super::*;

const CLIENT: Node = Node::Client(2);
const SERVER: Node = Node::Server(1);

/// The action at a target that it fits.
fn fault(action: Action) -> Fault {
    match action.spec().hits {
        Hits::Clients => Fault::at(CLIENT, action),
        Hits::Nodes | Hits::Servers => Fault::at(SERVER, action),
        Hits::Links => Fault::over(vec![(CLIENT, SERVER)], action),
    }
}

#[test]
fn every_action_is_stored_and_has_its_extent() {
    for action in ACTIONS {
        let stored = serde_json::to_string(&fault(*action)).expect("plain data");
        let read: Fault = serde_json::from_str(&stored).expect("what was written");
        assert_eq!(read, fault(*action), "{stored}");
        let made = action.spec().extent.map(|extent| (extent.make)(action.extent()));
        assert!(made.is_none_or(|made| made == Some(*action)), "{action:?}: {made:?}");
    }
}

#[test]
fn no_two_actions_have_a_name_or_a_weight_in_common() {
    let mut names: Vec<&str> = ACTIONS.iter().map(|action| action.spec().name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ACTIONS.len());
    let number = |action: &Action| {
        let spec = action.spec();
        (spec.family, spec.number, *action == Action::Kill)
    };
    let mut numbers: Vec<_> = ACTIONS.iter().map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), ACTIONS.len());
    // A swarm has four bits for it.
    assert!(numbers.iter().all(|(_, number, _)| *number < 16));
}

#[test]
fn a_line_leaves_no_gap_in_its_words() {
    for action in ACTIONS {
        let fault = fault(*action);
        for words in [fault.to_string(), fault.lasting(CLIENT), fault.healed().to_owned()] {
            assert!(!words.is_empty() && !words.contains(['{', '}']), "{words}");
            assert!(!words.ends_with(' '), "{words}");
        }
        assert!(!action.spec().counted.is_empty());
    }
}

#[test]
fn faults_are_described_in_their_own_words() {
    let jump = |nanos| Action::Clock(ClockChange::Jump(nanos));
    for (action, title, lasting) in [
        (Action::Pause, "server 1 paused", "was paused"),
        (Action::Kill, "client 2 killed", "was killed"),
        (Action::Crash(Data::Kept), "server 1 crashed", "crashed"),
        (Action::Vanish, "machine of server 1 gone", "was gone with its machine"),
        (Action::Evict, "memory of server 1 filled", "had its memory filled"),
        (jump(5_000_000_000), "clock of server 1 jumped 5.000 s ahead", {
            "had a clock that jumped 5.000 s ahead"
        }),
        (jump(-500_000_000), "clock of server 1 jumped 0.500 s back", {
            "had a clock that jumped 0.500 s back"
        }),
        (Action::Clock(ClockChange::Drift(-15_000)), "clock of server 1 ran 1.50 % slow", {
            "had a clock that ran 1.50 % slow"
        }),
        (Action::Link(LinkFault::Slow(3)), "link 3 times as slow: client 2 and server 1", {
            "had links 3 times as slow"
        }),
        (
            Action::Link(LinkFault::Jitter(2_500)),
            { "link with a jitter of 2.5 ms: client 2 and server 1" },
            "had links with a jitter of 2.5 ms",
        ),
    ] {
        let fault = fault(action);
        assert_eq!((fault.to_string().as_str(), fault.lasting(CLIENT).as_str()), (title, lasting));
    }
}

#[test]
fn a_cut_is_described_from_the_side_of_the_node() {
    let links = vec![(CLIENT, SERVER), (Node::Client(1), SERVER), (CLIENT, Node::Server(4))];
    let lasting = |direction| Fault::over(links.clone(), Action::Cut(direction)).lasting(CLIENT);
    assert_eq!(lasting(Direction::Both), "was cut off from server 1, server 4");
    assert_eq!(lasting(Direction::Forward), "could not reach server 1, server 4");
    assert_eq!(lasting(Direction::Backward), "could not hear server 1, server 4");
    let other_way = Fault::over(vec![(SERVER, CLIENT)], Action::Cut(Direction::Backward));
    assert_eq!(other_way.lasting(CLIENT), "could not reach server 1");
    assert_eq!(other_way.to_string(), "link cut: server 1 from client 2");
}

#[test]
fn only_links_of_clients_reach_the_vault() {
    let cut = |links| Fault::over(links, Action::Cut(Direction::Both));
    assert!(cut(vec![(CLIENT, Node::Vault), (Node::Vault, Node::Client(0))]).is_sound());
    assert!(cut(vec![(CLIENT, SERVER)]).is_sound());
    assert!(!cut(vec![(CLIENT, SERVER), (CLIENT, Node::Vault)]).is_sound());
    assert!(!cut(vec![(SERVER, Node::Vault)]).is_sound());
    assert!(!Fault::at(Node::Vault, Action::Pause).is_sound());
}

#[test]
#[should_panic(expected = "links cannot be hit by `pause`")]
fn links_are_not_paused() {
    Fault::over(vec![(CLIENT, SERVER)], Action::Pause);
}

#[test]
#[should_panic(expected = "client 2 cannot be hit by `crash`")]
fn a_client_is_killed() {
    Fault::at(CLIENT, Action::Crash(Data::Kept));
}
