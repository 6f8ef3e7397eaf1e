//! The tests of setups.

use super::*;
use crate::links::slowest_link;
use crate::options::flags;
use base::{EnsembleSpec, Length};
use expect_test::expect;

fn refusal(algo: &str, change: impl FnOnce(&mut RunSpec)) -> String {
    let lock = workloads::lock(algo).expect("a lock of the list");
    let mut run = lock.info.run("none", 1);
    change(&mut run);
    Setup::new(&lock, run).err().expect("refused").to_string()
}

#[test]
fn nonsense_is_refused_in_one_line_that_names_the_fix() {
    let refused = [
        refusal("zk-rw", |o| o.clients = 0),
        refusal("zk-rw", |o| o.ttl_ns = 0),
        refusal("zk-rw", |o| o.hold = Length::about(Duration::from_secs(9))),
        refusal("zk-rw", |o| o.nemesis = "pause,partitoin".into()),
        refusal("zk-rw", |o| o.ttl_ns = 400_000_000),
        refusal("zk-rw", |o| o.ensemble.tick_ns = Some(o.ttl_ns)),
        refusal("zk-rw", |o| o.ensemble.sync_limit = Some(0)),
        refusal("redlock", |o| o.ensemble.sync_limit = Some(5)),
        refusal("redlock", |o| o.nemesis = "pause,evict".into()),
        refusal("zk-rw", |o| o.nemesis = "pause,evict".into()),
        refusal("redlock", |o| {
            o.nemesis = "crash-server,pause".into();
            o.task = "hammer".into();
        }),
        refusal("zk-rw", |o| o.nemesis = "partition-ring".into()),
        refusal("redlock", |o| o.nemesis = "partition-ring".into()),
    ];
    expect![[r#"
        --clients 0 is out of range: give 1 to 200
        --ttl 0s is out of range: give 100ms to 10m
        --hold 9s is out of range: give 1ms to 1s 200ms
        there is no nemesis `partitoin`; did you mean partition, partition-ring, partition-vault? (`picklock list` shows all)
        --ttl 400ms is too short for a session of ZooKeeper's: give 500ms or more
        --ttl 2s is out of range for --tick 2s: a server grants sessions of 2 to 20 ticks, 4s to 40s
        --sync-limit 0 is out of range: give 1 to 1000
        --tick and --sync-limit are settings of ZooKeeper, and redlock is on Redis: leave them out
        the nemesis evict does nothing to redlock: a Redis without maxmemory evicts no key; give --algo memcached-add or memcached-add-as-printed
        the nemesis evict does nothing to zk-rw: a ZooKeeper evicts no node; give --algo memcached-add or memcached-add-as-printed
        the nemesis pause waits for a client that holds the lock, and those of the task hammer release it at once: give --task contend, or a nemesis such as crash-server
        the nemesis partition-ring needs 5 servers that talk to each other, and zk-rw on zookeeper-x3 has fewer: give --on zookeeper-x5
        the nemesis partition-ring needs 5 servers that talk to each other, and redlock on redis-x5 has fewer: give --nemesis partition"#]].assert_eq(&refused.join("\n"));
}

#[test]
fn a_link_is_no_slower_than_the_calls_of_its_lock_can_bear() {
    // Five servers with a tenth of the ttl each; one or two round trips of one server.
    let largest = ["redlock", "redis-set-nx-px", "redis-setnx-expire", "zk-rw"]
        .map(|algo| refusal(algo, |run| run.link_delay_ns = 1_000_000_000));
    expect![[r#"
        --link-delay 1s is out of range: give 0s to 131ms
        --link-delay 1s is out of range: give 0s to 531ms
        --link-delay 1s is out of range: give 0s to 265ms
        --link-delay 1s is out of range: give 0s to 265ms"#]]
    .assert_eq(&largest.join("\n"));
}

#[test]
fn a_late_grant_leaves_time_for_the_longest_hold() {
    for lock in workloads::LOCKS.iter().filter(|lock| lock.longest_hold < 1_000) {
        let lock = lock.lock();
        for ttl in [100, 500, 1_000, 4_000, 60_000].map(Duration::from_millis) {
            let slowest = slowest_link(&lock.info, ttl);
            for link_delay in [Duration::ZERO, slowest / 2, slowest] {
                let link_delay_ns = nanos(link_delay);
                let run = RunSpec::new("none", ttl, 1);
                let call_timeout = RunSpec { link_delay_ns, ..run }.call_timeout();
                let hold = lock.info.longest_hold(ttl);
                assert!(call_timeout - link_delay + hold < ttl, "{} {ttl:?}", lock.name());
                assert!(call_timeout >= link_delay * 2 + LEAST_SPARE, "{}", lock.name());
            }
        }
    }
}

/// The least time left to a call beside the delays of its link.
const LEAST_SPARE: Duration = Duration::from_millis(10);

#[test]
fn the_command_names_what_is_not_the_default() {
    let lock = workloads::lock("zk-rw").expect("a lock of the list");
    let mut run = lock.info.run("pause", 7);
    run.ttl_ns = 1_500_000_000;
    let info = Setup::new(&lock, run).unwrap_or_else(|e| panic!("{e}")).info_for("sim");
    let expected = "picklock test --algo zk-rw --nemesis pause --backend sim --seed 7 \
                    --ttl 1s500ms";
    assert_eq!(info.command, expected);
    let mut run = lock.info.run("pause", 7);
    run.ensemble = EnsembleSpec { tick_ns: Some(1_000_000_000), sync_limit: Some(5) };
    assert_eq!(flags(&run, &lock.info), " --tick 1s --sync-limit 5");
    run.ensemble = Timing::of(run.ttl()).ensemble().into();
    assert_eq!(flags(&run, &lock.info), "", "that is the default");
    let on = |name: &str| Some(name.to_owned());
    run.topology = on("zookeeper-x5");
    assert_eq!(flags(&run, &lock.info), " --on zookeeper-x5");
    run.topology = on("zookeeper-x3");
    assert_eq!(flags(&run, &lock.info), "", "that is the default");
}
