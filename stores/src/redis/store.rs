//! Redis, as the list of stores knows it.

use base::{Link, ServerStanding};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use super::allotment;
use super::layout::SENTINEL;
use super::model::{TypedValue, command_names};
#[cfg(feature = "real")]
use super::observe;
use super::script::Engine;
use super::sentinel_timing::MASTER;
use super::{
    ClusterTiming, Instance, Layout, Packet, Redis, Routed, SentinelTiming, Server, Shards,
    SlotRouted, launches, settable_clock,
};
use crate::driver::CallDriver;
use crate::model::{Clocks, Out};
#[cfg(feature = "real")]
use crate::observation::Observer;
use crate::zookeeper::Timing;
use crate::{
    Allotment, ClientSettings, Cluster, Enumerable, Group, Joining, Junk, Launch, Login, Need,
    PRIMARY, Place, Ports, Probe, SettableClock, Shape, StandingQuestion, Store, StoreId, Topology,
};
use redis::Value;

const fn servers(count: u32) -> Group {
    Group { role: "server", count, peers: false }
}

const fn peers(role: &'static str, count: u32) -> Group {
    Group { role, count, peers: true }
}

/// Reads the answer to `ROLE`. A Sentinel answers, too.
fn standing(answer: &str) -> Option<ServerStanding> {
    answer.lines().find_map(|line| match line {
        "master" => Some(ServerStanding::Leader),
        "slave" => Some(ServerStanding::Follower),
        _ => None,
    })
}

impl Store for Redis {
    const ID: StoreId = StoreId::Redis;
    const NAME: &'static str = "Redis";
    const TOPOLOGIES: &'static [Topology] = &[
        Topology {
            name: "redis",
            summary: "one Redis server",
            shape: Shape::One,
            groups: &[servers(1)],
        },
        Topology {
            name: "redis-x5",
            summary: "five Redis servers that know nothing of each other",
            shape: Shape::Several,
            groups: &[servers(5)],
        },
        Topology {
            name: "redis-sentinel",
            summary: "a Redis primary with two replicas, watched by three Sentinels",
            shape: Shape::One,
            groups: &[peers(PRIMARY, 1), peers("replica", 2), peers(SENTINEL, 3)],
        },
        Topology {
            name: "redis-cluster",
            summary: "a Redis Cluster of three primaries, each with a replica",
            shape: Shape::One,
            groups: &[peers(PRIMARY, 3), peers("replica", 3)],
        },
    ];
    const TTL: Duration = Duration::from_secs(4);
    const JUNK: Result<Junk, &'static str> = Err("a Redis without maxmemory evicts no key");
    const SETTABLE_CLOCK: Result<SettableClock, &'static str> = Ok(settable_clock::SETTABLE_CLOCK);
    // A Sentinel knows no QUIT, but hangs up on nonsense.
    const STANDING: Option<StandingQuestion> =
        Some(StandingQuestion { question: b"ROLE\r\n*nonsense\r\n", read: standing });
    const PORTS: Ports = Ports { clients: 6379, peers: &[] };
    const ALLOTMENT: Result<Allotment<Self>, &'static str> = Ok(allotment::ALLOTMENT);

    const OWN_TROUBLES: &'static [&'static str] = &[
        "BUSY Redis",
        "CLUSTERDOWN ",
        "LOADING ",
        "MASTERDOWN ",
        "MISCONF ",
        "NOAUTH ",
        "NOPERM ",
        "NOREPLICAS ",
        "OOM command not allowed",
        "READONLY ",
        "WRONGPASS ",
        "max number of clients reached",
        "unknown command ",
    ];
    const DISPENSABLE: &'static [&'static str] =
        &["'client", "'command", "'config", "'hello", "'info", "'HELLO", "`HELLO"];
    const BEFORE_TROUBLES: &'static [&'static str] = &["-ERR ", "-"];

    type Server = Instance;
    type Driver = CallDriver<Self>;
    type Client = Rc<dyn Link<Self>>;
    type Standalone = Server;

    fn commands() -> Vec<&'static str> {
        command_names().filter(|name| !name.contains('|')).collect()
    }

    /// Redis expires keys ten times a second.
    fn tick(_: &Timing) -> Duration {
        Duration::from_millis(100)
    }

    fn failover(topology: &Topology, ttl: Duration) -> Duration {
        if Shards::of(topology).is_some() {
            return ClusterTiming::of(ttl).settled();
        }
        Layout::of(topology).map_or(Duration::ZERO, |_| SentinelTiming::of(ttl).settled())
    }

    fn server(cluster: &Cluster, number: u32) -> Instance {
        Instance::of(cluster, number)
    }

    fn standalone() -> Server {
        // All servers of a thread share its script engine.
        Server::new(Engine::of_this_thread())
    }

    fn driver(settings: ClientSettings) -> CallDriver<Self> {
        CallDriver::to(settings.servers)
    }

    fn client(link: Rc<dyn Link<Self>>, topology: &Topology) -> Self::Client {
        if let Some(shards) = Shards::of(topology) {
            return Rc::new(SlotRouted::new(link, shards));
        }
        match Layout::of(topology) {
            Some(layout) => Rc::new(Routed::new(link, &layout)),
            None => link,
        }
    }

    fn needs(_: &Topology) -> Result<&'static [Need], &'static str> {
        Ok(&[Need { what: "redis-server", package: "redis-server" }])
    }

    fn advertised_ports(topology: &Topology) -> &'static [u16] {
        match (Shards::of(topology), Layout::of(topology)) {
            (Some(_), _) => launches::CLUSTER_PORTS,
            (None, Some(_)) => launches::SENTINEL_PORTS,
            (None, None) => &[],
        }
    }

    fn settled(cluster: &Cluster) -> Option<Probe> {
        Shards::of(cluster.topology).map(|_| launches::CLUSTER_STANDS)
    }

    fn joining(cluster: &Cluster) -> Option<Joining> {
        let layout = Layout::of(cluster.topology)?;
        Some(Joining { first: layout.data, when: launches::REPLICAS_FOLLOW })
    }

    fn probe(cluster: &Cluster, number: u32) -> Probe {
        launches::probe(cluster, number)
    }

    fn variables(
        topology: &Topology,
        servers: &[String],
        _: Option<&str>,
    ) -> Vec<(&'static str, String)> {
        let urls: Vec<String> = servers.iter().map(|it| format!("redis://{it}")).collect();
        let mut all = vec![("REDIS_URL", urls[0].clone()), ("REDIS_URLS", urls.join(","))];
        if let Some(layout) = Layout::of(topology) {
            let sentinels = &servers[layout.data as usize..];
            all.push(("REDIS_SENTINELS", sentinels.join(",")));
            all.push(("REDIS_SENTINEL_MASTER", MASTER.into()));
        }
        all
    }

    fn login(password: &str) -> Option<Login> {
        Some(Login::Ahead { request: format!("AUTH {password}\r\n").into(), accepted: b"+OK\r\n" })
    }

    fn launch(cluster: &Cluster, number: u32, place: &Place) -> Launch {
        launches::launch(cluster, number, place)
    }

    #[cfg(feature = "real")]
    fn observer(cluster: &Cluster, number: u32) -> Option<Observer> {
        match Layout::of(cluster.topology) {
            Some(layout) if layout.is_sentinel(number) => None,
            None if Shards::of(cluster.topology).is_none() => Some(match cluster.permits {
                1 => observe::ALONE,
                _ => observe::BY_MEMBERS,
            }),
            _ => Some(observe::REPLICATED),
        }
    }

    #[cfg(feature = "real")]
    fn connect(settings: crate::RealSettings) -> crate::Connecting<Self> {
        let crate::RealSettings { servers, call_timeout, seed, .. } = settings;
        let link = super::RealLink::new(servers, call_timeout, seed);
        Box::pin(std::future::ready(Ok(Rc::new(link) as _)))
    }
}

impl Enumerable for Server {
    const SESSIONS: bool = false;

    fn fingerprint(&self, into: &mut impl Hasher) {
        for entry in self.entries() {
            entry.hash(into);
        }
        self.sessions().hash(into);
    }

    fn things(&self) -> BTreeMap<String, u64> {
        let thing = |(name, value, expires): (&[u8], &TypedValue, Option<i64>)| {
            let mut stamp = DefaultHasher::new();
            (value, expires).hash(&mut stamp);
            (String::from_utf8_lossy(name).into_owned(), stamp.finish())
        };
        self.entries().map(thing).collect()
    }

    fn end_timed_waits(&mut self, at: Clocks, out: &mut Vec<Out<Packet>>) {
        self.time_out_waits(at, out);
    }

    fn words(packet: &Packet) -> String {
        match packet {
            Packet::Request { command, .. } => {
                let word = |arg| match arg {
                    redis::Arg::Simple(bytes) => short(&String::from_utf8_lossy(bytes)),
                    _ => "0".into(),
                };
                command.args_iter().map(word).collect::<Vec<_>>().join(" ")
            }
            Packet::Follow => "follow".into(),
            Packet::Copied(_) => "copied".into(),
            Packet::AskOffset => "ask for offset".into(),
            Packet::Offset(offset) => format!("offset {offset}"),
            Packet::Bus(message) => format!("{message:?}"),
            Packet::Sentinel(message) => format!("{message:?}"),
            Packet::Reply { value, .. } | Packet::Push(value) => match &**value {
                Value::Nil => "nil".into(),
                Value::Okay => "OK".into(),
                Value::Int(number) => number.to_string(),
                Value::BulkString(bytes) => short(&String::from_utf8_lossy(bytes)),
                Value::SimpleString(text) => text.clone(),
                Value::ServerError(error) => format!("{error:?}"),
                other => short(&format!("{other:?}")),
            },
        }
    }
}

/// Cuts a long value or script, which its first letters distinguish from others.
fn short(text: &str) -> String {
    match text.char_indices().nth(24) {
        Some(_) if text.contains(' ') => {
            format!("'{}…'", text.chars().take(24).collect::<String>())
        }
        Some(_) => format!("{}…", text.chars().take(8).collect::<String>()),
        None => text.into(),
    }
}
