//! etcd, as the list of stores knows it.

use base::{Link, ServerStanding, Wakeups, World};
use std::rc::Rc;
use std::time::Duration;

use super::allotment;
use super::protocol::COMMANDS;
use super::standalone::StandaloneMember;
use super::timing::{EXPIRY_CHECK, ElectionTiming};
use super::{Client, Etcd, EtcdDriver, Server};
use crate::zookeeper::Timing;
use crate::{
    Allotment, ClientSettings, Cluster, Group, Junk, Launch, Member, Need, Place, Ports, Probe,
    SettableClock, Shape, StandingQuestion, Store, StoreClient, StoreId, Topology, node_name,
};

/// Asks a member for its status, which has its own number and that of its leader.
const STATUS: &[u8] = b"POST /v3/maintenance/status HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}";

/// Reads the answer to `STATUS`. One that knows of no leader names none.
fn standing(answer: &str) -> Option<ServerStanding> {
    let number = |field: &str| {
        let (_, rest) = answer.split_once(&format!("\"{field}\":\""))?;
        rest.split_once('"').map(|(number, _)| number)
    };
    match number("leader")? {
        "0" => None,
        leader if number("member_id") == Some(leader) => Some(ServerStanding::Leader),
        _ => Some(ServerStanding::Follower),
    }
}

impl Store for Etcd {
    const ID: StoreId = StoreId::Etcd;
    const NAME: &'static str = "etcd";
    const TOPOLOGIES: &'static [Topology] = &[Topology {
        name: "etcd-x3",
        summary: "an etcd cluster of three members",
        shape: Shape::One,
        groups: &[Group { role: "member", count: 3, peers: true }],
    }];
    const TTL: Duration = Duration::from_secs(2);
    const JUNK: Result<Junk, &'static str> = Err("an etcd evicts no key");
    const SETTABLE_CLOCK: Result<SettableClock, &'static str> =
        Err("etcd counts by its monotonic clock, and asks the kernel for it past every library");
    const STANDING: Option<StandingQuestion> =
        Some(StandingQuestion { question: STATUS, read: standing });
    const PORTS: Ports = Ports { clients: 2379, peers: &[2380] };

    const OWN_TROUBLES: &'static [&'static str] = &[
        "etcdserver: mvcc: database space exceeded",
        "etcdserver: corrupt cluster",
        "etcdserver: invalid auth token",
        "etcdserver: no leader",
        "etcdserver: permission denied",
        "etcdserver: server stopped",
        "etcdserver: too many requests",
        "etcdserver: user name is empty",
    ];
    const BEFORE_TROUBLES: &'static [&'static str] = &["{\"error\":\""];

    const ALLOTMENT: Result<Allotment<Self>, &'static str> = Ok(allotment::ALLOTMENT);

    type Server = Server;
    type Driver = EtcdDriver;
    type Client = Client;
    type Standalone = StandaloneMember;

    fn commands() -> Vec<&'static str> {
        COMMANDS.to_vec()
    }

    /// A leader looks for leases that have run out now and then.
    fn tick(_: &Timing) -> Duration {
        EXPIRY_CHECK
    }

    fn server(cluster: &Cluster, number: u32) -> Server {
        Server::new(number, cluster.servers(), ElectionTiming::of(cluster.ttl))
    }

    fn standalone() -> StandaloneMember {
        StandaloneMember::default()
    }

    fn driver(settings: ClientSettings) -> EtcdDriver {
        EtcdDriver::new(settings.servers, settings.rng)
    }

    fn client(link: Rc<dyn Link<Self>>, _: &Topology) -> Client {
        Client::new(link)
    }

    fn needs(_: &Topology) -> Result<&'static [Need], &'static str> {
        Ok(&[
            Need { what: "etcd", package: "etcd-server" },
            Need { what: "etcdctl", package: "etcd-client" },
        ])
    }

    fn probe(_: &Cluster, _number: u32) -> Probe {
        Probe { send: b"GET /health HTTP/1.0\r\n\r\n", expect: &["\"health\":\"true\""] }
    }

    fn variables(_: &Topology, servers: &[String], _: Option<&str>) -> Vec<(&'static str, String)> {
        let urls: Vec<String> = servers.iter().map(|it| format!("http://{it}")).collect();
        vec![("ETCD_ENDPOINTS", urls.join(","))]
    }

    fn launch(cluster: &Cluster, number: u32, place: &Place) -> Launch {
        let Place { data, host, port, peer_ports, members, sockets, .. } = place;
        let scheme = if *sockets { "unix" } else { "http" };
        let ElectionTiming { heartbeat, election } = ElectionTiming::of(cluster.ttl);
        let others = members.iter().enumerate().filter(|(other, _)| *other != number as usize);
        let others: Vec<String> = others.map(|(_, other)| url(other, CLIENTS)).collect();
        let me = &members[number as usize];
        let all =
            (0..).zip(members).map(|(id, it)| format!("{}={}", node_name(id), url(it, PEERS)));
        let (name, peer) = (node_name(number), url(me, PEERS));
        let options = [
            ("name", name.clone()),
            ("data-dir", data.clone()),
            ("listen-client-urls", format!("{scheme}://{host}:{port}")),
            ("advertise-client-urls", url(me, CLIENTS)),
            ("listen-peer-urls", format!("{scheme}://{host}:{}", peer_ports[PEERS])),
            ("initial-advertise-peer-urls", peer.clone()),
            ("initial-cluster", all.collect::<Vec<_>>().join(",")),
            ("heartbeat-interval", heartbeat.as_millis().to_string()),
            ("election-timeout", election.as_millis().to_string()),
            ("log-level", "warn".into()),
            // Otherwise a member can be replaced only five seconds after the last trouble.
            ("strict-reconfig-check", "false".into()),
        ];
        let start = ["sh", "-c", START, "etcd", data, &name, &peer, &others.join(",")];
        let options = options.into_iter().map(|(name, value)| format!("--{name}={value}"));
        let command = start.map(String::from).into_iter().chain(options).collect();
        Launch { command, files: Vec::new() }
    }

    /// All must name each member alike: its number in the cluster is made of its addresses.
    fn advertised_ports(_: &Topology) -> &'static [u16] {
        &[2379, 2380]
    }

    fn leads_clients(_: &Topology) -> bool {
        false
    }

    fn can_use_sockets() -> bool {
        true
    }

    fn carries_call(bytes: &[u8]) -> bool {
        super::wire::carries_call(bytes)
    }

    #[cfg(feature = "real")]
    fn observer(_: &Cluster, _number: u32) -> Option<crate::observation::Observer> {
        Some(super::observe::MEMBER)
    }

    #[cfg(feature = "real")]
    fn connect(settings: crate::RealSettings) -> crate::Connecting<Self> {
        let crate::RealSettings { servers, call_timeout, seed, .. } = settings;
        let link = super::RealLink::new(servers, call_timeout, seed);
        Box::pin(std::future::ready(Ok(Rc::new(link) as _)))
    }
}

/// The places of a member's ports among those that all know.
const CLIENTS: usize = 0;
const PEERS: usize = 1;

/// The address of a member's port, as all know it.
fn url(member: &Member, port: usize) -> String {
    format!("http://{}:{}", member.host, member.ports[port])
}

/// Starts the member `$2`, whose folder of data is `$1` and whose address for others is `$3`, with
/// the options that follow. One that has lost its data is removed from the cluster and added anew,
/// as an operator does it, by those of the members `$4` that serve: it would refuse to start
/// otherwise.
const START: &str = "set -e
    data=$1 name=$2 peer=$3 others=$4 state=new
    shift 4
    ctl() { ETCDCTL_API=3 etcdctl --endpoints=\"$others\" --dial-timeout=1s --command-timeout=2s \"$@\"; }
    replace() {
        members=$(ctl member list) || return 1
        old=$(echo \"$members\" | grep -F \", $peer,\" | cut -d, -f1)
        [ -z \"$old\" ] || ctl member remove \"$old\" || return 1
        ctl member add \"$name\" --peer-urls=\"$peer\"
    }
    if [ -e \"$data.known\" ] && [ ! -e \"$data/member\" ]; then
        until replace; do sleep 0.1; done
        state=existing
    fi
    touch \"$data.known\"
    exec etcd --initial-cluster-state=$state \"$@\"";

impl StoreClient for Client {
    fn world(&self) -> &dyn World {
        Client::world(self)
    }

    fn wakeups(&self) -> Option<&Wakeups> {
        Some(Client::wakeups(self))
    }

    fn for_worker(&self) -> Self {
        self.with_own_wakeups()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_leads_if_it_names_itself() {
        let answer = |own: u32, leader: &str| {
            format!("{{\"header\":{{\"member_id\":\"{own}\",\"raft_term\":\"2\"}}{leader}}}")
        };
        assert_eq!(standing(&answer(7, ",\"leader\":\"7\"")), Some(ServerStanding::Leader));
        assert_eq!(standing(&answer(8, ",\"leader\":\"7\"")), Some(ServerStanding::Follower));
        assert_eq!(standing(&answer(8, ",\"leader\":\"0\"")), None);
        assert_eq!(standing(&answer(8, "")), None);
    }
}
