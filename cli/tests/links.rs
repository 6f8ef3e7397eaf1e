//! Effects of links on what is sent over them, seen from the lock.

use checkers::Judgement;
use picklock::schedule::Schedule;
use picklock::simulate;

/// A client that asks for the lock while its link is cut, and dies: it has never had a connection,
/// so nothing of it may ever reach the server. (A key that is set without a ttl would stand for
/// good.)
const DEAD_BEFORE_IT_WAS_CONNECTED: &str = r#"{
    "picklock_schedule": 3,
    "algo": "redis-setnx-expire",
    "nemesis": "partition-client,crash-client",
    "ttl_ns": 4000000000,
    "call_timeout_ns": 500000000,
    "acquire_timeout_ns": 20000000000,
    "time_limit_ns": 3000000000,
    "quiet_ns": 20000000000,
    "link_delay_ns": 0,
    "clients": [
        [{"at_ns": 100000000, "mode": "exclusive", "hold_ns": 1000000000}],
        [{"at_ns": 4000000000, "mode": "exclusive", "hold_ns": 10000000}]
    ],
    "faults": [
        {
            "fault": {"kind": "cut", "links": [[{"client": 0}, {"server": 0}]], "direction": "both"},
            "at_ns": 1000000,
            "lasts_ns": 2000000000,
            "moment": {"grants": 0, "victim": "any", "later_ns": 0}
        },
        {
            "fault": {"kind": "crash", "node": {"client": 0}, "data": "lost"},
            "at_ns": 200000000,
            "lasts_ns": 4000000000,
            "moment": {"grants": 0, "victim": "any", "later_ns": 0}
        }
    ],
    "chance": {"link_ns": 300000, "peer_ns": 200000, "pipe_ns": 20000}
}"#;

#[test]
fn a_client_that_died_before_it_was_connected_leaves_nothing_behind() {
    for direction in ["both", "forward", "backward"] {
        let text = DEAD_BEFORE_IT_WAS_CONNECTED.replace("both", direction);
        let read = Schedule::from_json(&text, &workloads::lock);
        let (schedule, lock) = read.unwrap_or_else(|error| panic!("{error}"));
        let run = simulate::replay(&lock, &schedule).expect("the simulator runs");
        let verdicts = Judgement::of(&run).verdicts;
        assert!(!verdicts.iter().any(|verdict| verdict.shows("deadlock")), "cut {direction}");
    }
}
