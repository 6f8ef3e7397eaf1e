//! Stalls: times for which the machine does not run what is ready to run. A server that is not run
//! looks to its peers and clients like one that is down, and a client like one that is paused;
//! neither says anything about the lock.
//!
//! The kernel counts for each thread how long it was ready and waited for a processor
//! (`/proc/PID/task/TID/schedstat`), and how long all of the machine waited for its disks or memory
//! (`/proc/pressure`). A virtual machine that is not run at all is seen by a clock that jumps: this
//! watch, too, wakes up late.

use super::servers::StartedServer;
use super::testbed::Testbed;
use base::{Node, Notice, Stall};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The interval between two looks.
const LOOKS: Duration = Duration::from_nanos(Stall::LOOK_NS);

/// The number of looks after which the processes of servers are looked up, and the pressure is
/// read.
const ROUND: u32 = 5;

/// The shortest stall that is reported.
const LEAST: Duration = Duration::from_nanos(Stall::LEAST_NS);

/// The least share of a round in which all of the machine waits, in a stall.
const WHOLE: f64 = 0.9;

/// Tells of each stall, as soon as it is over.
pub async fn watch<S: StartedServer>(testbed: Arc<Testbed<S>>) {
    let mut looks = interval(LOOKS);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut waits, mut pressure, mut servers) = (Waits::default(), Pressure::read(), Vec::new());
    let tell = |node, lasted: Duration| {
        let lasted_ns = lasted.as_nanos() as u64;
        testbed.outbox.tell(Notice::Stalled { stall: Stall { node, lasted_ns } });
    };
    for number in 0.. {
        let begun = Instant::now();
        looks.tick().await;
        // The first tick is at once.
        let late = begun.elapsed().saturating_sub(LOOKS);
        if number % ROUND == 0 {
            servers = processes(&testbed).await;
            if let Some(lasted) = pressure.since_last(LOOKS * ROUND) {
                tell(None, lasted);
            }
        }
        let nodes = servers.iter().copied().chain(testbed.client_processes());
        let nodes = nodes.flat_map(|(node, leader)| {
            family(leader).into_iter().map(move |thread| (Some(node), thread))
        });
        let harness = threads(std::process::id()).into_iter().map(|thread| (None, thread));
        let waited = |(node, thread)| Some((node, thread, waited(thread)?));
        let mut waited = waits.look(harness.chain(nodes).filter_map(waited));
        let own = waited.entry(None).or_default();
        *own = late.max(*own);
        waited.into_iter().filter(|(_, lasted)| *lasted >= LEAST).for_each(|(n, it)| tell(n, it));
    }
}

/// The processes of the servers.
async fn processes<S: StartedServer>(testbed: &Testbed<S>) -> Vec<(Node, u32)> {
    let mut processes = Vec::new();
    for server in &testbed.servers {
        let process = server.process_id().await;
        processes.extend(process.map(|process| (Node::Server(server.number()), process)));
    }
    processes
}

/// A thread: its process and itself, by the numbers that the kernel gives them.
type Thread = (u32, u32);

/// The times for which threads have waited for a processor so far.
#[derive(Default)]
struct Waits(BTreeMap<Thread, Duration>);

impl Waits {
    /// Takes the waits of all threads, and returns the longest of each node since the last look. A
    /// thread that was not there then says nothing yet.
    fn look(
        &mut self,
        threads: impl Iterator<Item = (Option<Node>, Thread, Duration)>,
    ) -> BTreeMap<Option<Node>, Duration> {
        let (mut seen, mut longest) = (BTreeMap::new(), BTreeMap::new());
        for (node, thread, waited) in threads {
            let before = self.0.get(&thread).copied().unwrap_or(waited);
            let most: &mut Duration = longest.entry(node).or_default();
            *most = waited.saturating_sub(before).max(*most);
            seen.insert(thread, waited);
        }
        self.0 = seen;
        longest
    }
}

/// The threads of a process and of those that it started.
fn family(leader: u32) -> Vec<Thread> {
    let (mut family, mut processes) = (Vec::new(), vec![leader]);
    while let Some(process) = processes.pop() {
        for (_, thread) in threads(process) {
            let children = fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
            let children = children.unwrap_or_default();
            processes.extend(children.split_whitespace().filter_map(|it| it.parse::<u32>().ok()));
            family.push((process, thread));
        }
    }
    family
}

/// The threads of a process.
fn threads(process: u32) -> Vec<Thread> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.map(|thread| (process, thread)).collect()
}

/// The time for which a thread has waited for a processor so far.
fn waited((process, thread): Thread) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// The time for which all of the machine has waited so far, for its disks and for memory.
struct Pressure(Duration);

impl Pressure {
    fn read() -> Self {
        let full = |of: &str| {
            let text = fs::read_to_string(format!("/proc/pressure/{of}")).ok()?;
            full_micros(&text).map(Duration::from_micros)
        };
        Self(["io", "memory"].into_iter().filter_map(full).sum())
    }

    /// Returns for how long all of the machine waited in the last round, if that was most of it.
    fn since_last(&mut self, round: Duration) -> Option<Duration> {
        let before = std::mem::replace(self, Self::read()).0;
        Some(self.0.saturating_sub(before)).filter(|waited| *waited >= round.mul_f64(WHOLE))
    }
}

/// The total of the line "full" of a pressure file, in microseconds.
fn full_micros(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("full "))?;
    line.split_whitespace().find_map(|it| it.strip_prefix("total=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_that_of_the_whole_machine() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=136777877\n\
                    full avg10=0.00 avg60=0.10 avg300=1.46 total=69841042\n";
        assert_eq!(full_micros(text), Some(69_841_042));
        assert_eq!(full_micros(""), None);
    }

    #[test]
    fn a_family_has_the_threads_of_a_process_and_of_its_children() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().expect("it starts");
        let own = std::process::id();
        let seen = family(own);
        assert!(seen.contains(&(own, own)) && seen.contains(&(child.id(), child.id())), "{seen:?}");
        assert!(
            threads(own).iter().all(|(process, _)| *process == own),
            "its children are not its own"
        );
        assert!(waited((own, own)).is_some());
        child.kill().and_then(|()| child.wait()).expect("it ends");
    }

    #[test]
    fn a_wait_counts_from_the_last_look_and_the_longest_of_a_node_counts() {
        let (server, client) = (Some(Node::Server(0)), Some(Node::Client(1)));
        let mut waits = Waits::default();
        let mut look = |threads: &[(Option<Node>, Thread, u64)]| {
            let threads = threads.iter();
            let longest =
                waits.look(threads.map(|(node, id, ms)| (*node, *id, Duration::from_millis(*ms))));
            [server, client].map(|node| longest.get(&node).map(Duration::as_millis))
        };
        let first = [(server, (7, 7), 900), (server, (7, 8), 10), (client, (9, 9), 5)];
        assert_eq!(look(&first), [Some(0), Some(0)]);
        // A thread more, which may have waited before it was seen.
        let second = [(server, (7, 7), 910), (server, (7, 8), 310), (server, (7, 10), 5_000)];
        assert_eq!(look(&second), [Some(300), None], "the client is gone");
        let third = [(server, (7, 10), 5_200), (client, (9, 9), 805)];
        assert_eq!(look(&third), [Some(200), Some(0)], "it was gone meanwhile");
    }
}
