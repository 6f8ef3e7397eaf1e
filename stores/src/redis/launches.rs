//! The start of real servers: one on its own, or one of a topology with Sentinels.
//!
//! There servers know each other by their names, which a client reads as the names of its own links.
//! Their configuration is no data: it outlives every restart, with what a Sentinel has written to it.

use super::sentinel_timing::{MASTER, QUORUM};
use super::{Layout, SentinelTiming};
use crate::launch::words;
use crate::{Cluster, Launch, Place, Probe, node_name};

/// Starts a data server with the configuration that was made of what it found in its data, `$1`.
const MEMBER: &str = "set -e
    [ -e \"$1/../redis.conf\" ] || cp \"$1/redis.conf\" \"$1/../redis.conf\"
    exec redis-server \"$1/../redis.conf\"";

/// Starts a Sentinel in the same way, the first time once all `$3` replicas follow the primary `$2`.
const SENTINEL: &str = "set -e
    if [ ! -e \"$1/../sentinel.conf\" ]; then
        until redis-cli -h \"$2\" info replication 2>&1 | grep -c state=online | grep -qx \"$3\"; do
            sleep 0.05
        done
        cp \"$1/sentinel.conf\" \"$1/../sentinel.conf\"
    fi
    exec redis-server \"$1/../sentinel.conf\" --sentinel";

/// Returns the question that tells whether a server serves. A Sentinel has to know all others; it knows
/// no QUIT, but hangs up on nonsense.
pub fn probe(cluster: &Cluster, number: u32) -> Probe {
    match Layout::of(cluster.topology) {
        Some(layout) if layout.is_sentinel(number) => {
            Probe { send: b"INFO sentinel\r\n*nonsense\r\n", expect: &["slaves=2,sentinels=3"] }
        }
        _ => Probe { send: b"PING\r\nQUIT\r\n", expect: &["+PONG"] },
    }
}

/// Describes how a server is started.
pub fn launch(cluster: &Cluster, number: u32, place: &Place) -> Launch {
    match Layout::of(cluster.topology) {
        None => alone(place),
        Some(layout) if layout.is_sentinel(number) => sentinel(cluster, layout, number, place),
        Some(_) => member(number, place),
    }
}

/// Every acknowledged write is on disk before the acknowledgement: a crash loses nothing that a client
/// was promised.
fn alone(place: &Place) -> Launch {
    let Place { host, port, data, .. } = place;
    let mut command = words(&format!(
        "redis-server --bind {host} --port {port} --protected-mode no --appendonly yes \
         --appendfsync always"
    ));
    command.extend(["--dir", data, "--save", ""].map(String::from));
    Launch { command, files: Vec::new() }
}

fn member(number: u32, place: &Place) -> Launch {
    let mut lines = common(place);
    lines.extend([
        "appendonly yes".into(),
        "appendfsync always".into(),
        "save \"\"".into(),
        "repl-diskless-sync-delay 0".into(),
        format!("replica-announce-ip {}", node_name(number)),
    ]);
    if number != 0 {
        lines.push(format!("replicaof {} {}", node_name(0), place.port));
    }
    Launch {
        command: ["sh", "-c", MEMBER, "redis", &place.data].map(String::from).into(),
        files: vec![("redis.conf", text(&lines))],
    }
}

fn sentinel(cluster: &Cluster, layout: Layout, number: u32, place: &Place) -> Launch {
    let SentinelTiming { down_after, failover_timeout } = SentinelTiming::of(cluster.ttl);
    let (primary, port, replicas) = (node_name(0), place.port, layout.data - 1);
    let id = |number: u32| format!("{number:040}");
    let mut lines = common(place);
    lines.extend([
        "sentinel resolve-hostnames yes".into(),
        "sentinel announce-hostnames yes".into(),
        format!("sentinel announce-ip {}", node_name(number)),
        format!("sentinel announce-port {port}"),
        format!("sentinel myid {}", id(number)),
        format!("sentinel monitor {MASTER} {primary} {port} {QUORUM}"),
        format!("sentinel down-after-milliseconds {MASTER} {}", down_after.as_millis()),
        format!("sentinel failover-timeout {MASTER} {}", failover_timeout.as_millis()),
        format!("sentinel parallel-syncs {MASTER} {replicas}"),
    ]);
    lines.extend(
        (1..layout.data)
            .map(|it| format!("sentinel known-replica {MASTER} {} {port}", node_name(it))),
    );
    let others = (layout.data..layout.servers).filter(|other| *other != number);
    lines.extend(
        others.map(|it| {
            format!("sentinel known-sentinel {MASTER} {} {port} {}", node_name(it), id(it))
        }),
    );
    let command = ["sh", "-c", SENTINEL, "sentinel", &place.data, &primary, &replicas.to_string()];
    Launch {
        command: command.map(String::from).into(),
        files: vec![("sentinel.conf", text(&lines))],
    }
}

/// The settings that all of them have.
fn common(place: &Place) -> Vec<String> {
    let Place { data, host, port, .. } = place;
    vec![
        format!("bind {host}"),
        format!("port {port}"),
        "protected-mode no".into(),
        format!("dir {data}"),
    ]
}

fn text(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}
