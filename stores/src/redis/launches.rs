//! The start of real servers: one on its own, one of a topology with Sentinels, or a member of a
//! Redis Cluster.
//!
//! In the last two servers know each other by names, or by addresses that stand for them, which a
//! client reads as the names of its own links. Their configuration is no data: it outlives every
//! restart, with what a Sentinel has written to it.

use super::sentinel_timing::{MASTER, QUORUM};
use super::{ClusterTiming, Layout, PORT, SentinelTiming, Shards};
use crate::launch::words;
use crate::{Cluster, Launch, Place, Probe};

/// Starts a data server with the configuration that was made of what it found in its data, `$1`.
const MEMBER: &str = "set -e
    [ -e \"$1/../redis.conf\" ] || cp \"$1/redis.conf\" \"$1/../redis.conf\"
    exec redis-server \"$1/../redis.conf\"";

/// Starts a Sentinel in the same way.
const SENTINEL: &str = "set -e
    [ -e \"$1/../sentinel.conf\" ] || cp \"$1/sentinel.conf\" \"$1/../sentinel.conf\"
    exec redis-server \"$1/../sentinel.conf\" --sentinel";

/// Starts a member of a cluster, `$2`, in the same way. Members know each other by their addresses
/// only: each name stands between two `@` and is looked up.
const CLUSTERED: &str = "set -e
    if [ ! -e \"$1/../nodes.conf\" ]; then
        for host in $(grep -oE '@[a-z0-9.-]+@' \"$1/nodes.conf\" | tr -d @ | sort -u); do
            address=$(getent ahostsv4 \"$host\" | head -n 1 | cut -d ' ' -f 1)
            sed -i \"s/@$host@/$address/\" \"$1/nodes.conf\" \"$1/redis.conf\"
        done
        cp \"$1/nodes.conf\" \"$1/redis.conf\" \"$1/..\"
    fi
    exec redis-server \"$1/../redis.conf\"";

/// The file with the password of a server on its own.
const SECRETS: &str = "secrets.conf";

/// The file with the certificate of all members of a cluster, and its key.
const IDENTITY: &str = "identity.pem";

/// The ports at which members of a cluster find each other: that for clients, and that of the bus.
pub const CLUSTER_PORTS: &[u16] = &[PORT, PORT + 10_000];

/// The port at which servers find each other that Sentinels watch.
pub const SENTINEL_PORTS: &[u16] = &[PORT];

/// The question to a fresh primary whether both replicas follow it: a Sentinel that comes sooner
/// takes them for down.
pub const REPLICAS_FOLLOW: Probe = Probe { send: b"WAIT 2 1\r\nQUIT\r\n", expect: &[":2\r\n"] };

/// The question whether a member serves all its slots.
pub const CLUSTER_STANDS: Probe =
    Probe { send: b"CLUSTER INFO\r\nQUIT\r\n", expect: &["cluster_state:ok"] };

/// Returns the question that tells whether a server serves. A Sentinel has to know all others; it
/// knows no QUIT, but hangs up on nonsense.
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
    if let Some(shards) = Shards::of(cluster.topology) {
        return clustered(cluster, shards, number, place);
    }
    match Layout::of(cluster.topology) {
        None => alone(place),
        Some(layout) if layout.is_sentinel(number) => sentinel(cluster, layout, number, place),
        Some(_) => member(number, place),
    }
}

/// Every acknowledged write is on disk before the acknowledgement: a crash loses nothing that a
/// client was promised.
fn alone(place: &Place) -> Launch {
    let Place { host, port, data, .. } = place;
    // Everybody on the machine can read the command.
    let mut command = vec!["redis-server".into(), format!("{data}/{SECRETS}")];
    command.extend(words(&format!(
        "--bind {host} --port {port} --protected-mode no --appendonly yes --appendfsync always"
    )));
    command.extend(["--dir", data, "--save", ""].map(String::from));
    Launch { command, files: vec![(SECRETS, text(&secrets(place)))] }
}

fn member(number: u32, place: &Place) -> Launch {
    let (me, primary) = (named(place, number), named(place, 0));
    let mut lines = stored(place);
    lines.push(format!("replica-announce-ip {}", me.0));
    lines.push(format!("replica-announce-port {}", me.1));
    if number != 0 {
        lines.push(format!("replicaof {} {}", primary.0, primary.1));
    }
    Launch {
        command: ["sh", "-c", MEMBER, "redis", &place.data].map(String::from).into(),
        files: vec![("redis.conf", text(&lines))],
    }
}

fn sentinel(cluster: &Cluster, layout: Layout, number: u32, place: &Place) -> Launch {
    let SentinelTiming { down_after, failover_timeout } = SentinelTiming::of(cluster.ttl);
    let id = |number: u32| format!("{number:040}");
    let (me, primary) = (named(place, number), named(place, 0));
    let mut lines = common(place);
    lines.extend([
        "sentinel resolve-hostnames yes".into(),
        "sentinel announce-hostnames yes".into(),
        format!("sentinel announce-ip {}", me.0),
        format!("sentinel announce-port {}", me.1),
        format!("sentinel myid {}", id(number)),
        format!("sentinel monitor {MASTER} {} {} {QUORUM}", primary.0, primary.1),
        format!("sentinel down-after-milliseconds {MASTER} {}", down_after.as_millis()),
        format!("sentinel failover-timeout {MASTER} {}", failover_timeout.as_millis()),
        format!("sentinel parallel-syncs {MASTER} {}", layout.data - 1),
    ]);
    lines.extend(place.password().map(|it| format!("sentinel auth-pass {MASTER} {it}")));
    lines.extend((1..layout.data).map(|replica| {
        let (host, port) = named(place, replica);
        format!("sentinel known-replica {MASTER} {host} {port}")
    }));
    let others = (layout.data..layout.servers).filter(|other| *other != number);
    lines.extend(others.map(|other| {
        let (host, port) = named(place, other);
        format!("sentinel known-sentinel {MASTER} {host} {port} {}", id(other))
    }));
    Launch {
        command: ["sh", "-c", SENTINEL, "sentinel", &place.data].map(String::from).into(),
        files: vec![("sentinel.conf", text(&lines))],
    }
}

/// The host and the port by which all servers know one.
fn named(place: &Place, number: u32) -> (&str, u16) {
    let member = &place.members[number as usize];
    (&member.host, member.ports[0])
}

/// A member of a cluster that finds it made: everybody knows everybody, and whose the slots are. It
/// names itself to clients, whatever its address is for the others.
fn clustered(cluster: &Cluster, shards: Shards, number: u32, place: &Place) -> Launch {
    let ClusterTiming { node_timeout } = ClusterTiming::of(cluster.ttl);
    let me = &place.members[number as usize];
    let mut lines = stored(place);
    lines.extend([
        "cluster-enabled yes".into(),
        "cluster-config-file ../nodes.conf".into(),
        format!("cluster-node-timeout {}", node_timeout.as_millis()),
        format!("cluster-port {}", place.peer_ports[1]),
        format!("cluster-announce-ip @{}@", me.host),
        format!("cluster-announce-bus-port {}", me.ports[1]),
        format!("cluster-announce-hostname {}", me.host),
        "cluster-preferred-endpoint-type hostname".into(),
    ]);
    let announced = if place.secrets.is_some() { "tls-port" } else { "port" };
    lines.push(format!("cluster-announce-{announced} {}", me.ports[0]));
    lines.extend(place.secrets.iter().flat_map(|_| bus_by_tls(place)));
    let mut nodes: Vec<String> =
        (0..shards.servers).map(|other| node_line(shards, number, other, place)).collect();
    nodes.push(format!("vars currentEpoch {} lastVoteEpoch 0", shards.count));
    let mut files = vec![("redis.conf", text(&lines)), ("nodes.conf", text(&nodes))];
    files.extend(place.secrets.iter().map(|it| (IDENTITY, it.identity.clone())));
    Launch {
        command: ["sh", "-c", CLUSTERED, "redis", &place.data].map(String::from).into(),
        files,
    }
}

/// The settings by which the bus, which has no passwords, lets in who has the certificate. All
/// else goes on without TLS: a replica calls its primary at what that announces as its port for
/// TLS, and clients are told of that where none is announced for them, so it is the usual port.
/// (With both, each member would find another one at an address that is new to it, and begin its
/// link to it anew: `nodes.conf` knows one port.)
fn bus_by_tls(place: &Place) -> Vec<String> {
    let file = format!("{}/{IDENTITY}", place.data);
    let files = ["tls-cert-file", "tls-key-file", "tls-ca-cert-file"];
    let files = files.map(|setting| format!("{setting} {file}"));
    ["tls-cluster yes".into()].into_iter().chain(files).collect()
}

/// A member in the file in which each keeps what it knows of the cluster.
fn node_line(shards: Shards, reader: u32, number: u32, place: &Place) -> String {
    let id = |number: u32| format!("{number:040}");
    let member = &place.members[number as usize];
    let (host, port, bus) = (&member.host, member.ports[0], member.ports[1]);
    let shard = shards.of_server(number);
    let myself = if number == reader { "myself," } else { "" };
    let (role, slots) = match number < shards.count {
        true => {
            let slots = shards.slots(shard);
            ("master -".into(), format!(" {}-{}", slots.start(), slots.end()))
        }
        false => (format!("slave {}", id(shard)), String::new()),
    };
    let (id, epoch) = (id(number), shard + 1);
    format!("{id} @{host}@:{port}@{bus},{host} {myself}{role} 0 0 {epoch} connected{slots}")
}

/// The settings of a server with data, of which nothing is lost that was acknowledged.
fn stored(place: &Place) -> Vec<String> {
    let mut lines = common(place);
    lines.extend([
        "appendonly yes".into(),
        "appendfsync always".into(),
        "save \"\"".into(),
        "repl-diskless-sync-delay 0".into(),
    ]);
    lines.extend(place.password().map(|it| format!("masterauth {it}")));
    lines
}

/// The settings that all of them have.
fn common(place: &Place) -> Vec<String> {
    let Place { data, host, port, source, .. } = place;
    let mut lines = secrets(place);
    lines.extend([
        format!("bind {host}"),
        format!("port {port}"),
        "protected-mode no".into(),
        format!("dir {data}"),
    ]);
    lines.extend(source.iter().map(|source| format!("bind-source-addr {source}")));
    lines
}

/// The password that it asks for. Sentinels tell it each other, too.
fn secrets(place: &Place) -> Vec<String> {
    place.password().map(|it| format!("requirepass {it}")).into_iter().collect()
}

fn text(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}
