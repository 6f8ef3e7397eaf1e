//! ZooKeeper, as the list of stores knows it.

use base::{Link, LocalFuture, ServerStanding, Wakeups, World};
use std::rc::Rc;
use std::time::Duration;

use super::allotment;
use super::model::Server;
use super::protocol::COMMANDS;
use super::standalone::StandaloneServer;
use super::{Client, SessionState, Timing, ZooKeeper, ZooKeeperDriver};
use crate::launch::words;
use crate::{
    Allotment, ClientSettings, Cluster, Group, Junk, Launch, Login, Member, Need, Place, Ports,
    Probe, SettableClock, Shape, StandingQuestion, Store, StoreClient, StoreId, Topology,
};

const fn members(count: u32) -> Group {
    Group { role: "member", count, peers: true }
}

/// The configuration file, in the folder of the data.
const CONFIG: &str = "zoo.cfg";
/// The file that has the password, in the same folder.
const PASSWORD: &str = "jaas.conf";
/// The user whose password it is.
pub(super) const USER: &str = "picklock";
/// Has members ask each other for it before anything else, at both of their ports, and clients
/// before anything else in each of their sessions.
const ASKING: &str = "quorum.auth.enableSasl=true\nquorum.auth.learnerRequireSasl=true\n\
                      quorum.auth.serverRequireSasl=true\nsessionRequireClientSASLAuth=true\n\
                      authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n";
/// The program itself.
const JAR: &str = "/usr/share/java/zookeeper.jar";
/// The library without which it logs nothing.
const LOG_JAR: &str = "/usr/share/java/slf4j-simple.jar";

/// The configuration of a member.
fn configuration(cluster: &Cluster, place: &Place) -> String {
    let Timing { tick, init_limit, sync_limit } = cluster.timing;
    let Place { data, host, port, members, .. } = place;
    let tick = tick.as_millis();
    let settings = format!(
        "dataDir={data}\nclientPort={port}\nclientPortAddress={host}\ntickTime={tick}\n\
         initLimit={init_limit}\nsyncLimit={sync_limit}\nmaxClientCnxns=0\n"
    );
    let line = |(id, Member { host, ports }): (u32, &Member)| {
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        format!("server.{id}={host}:{}\n", ports.join(":"))
    };
    let asking = if place.password().is_some() { ASKING } else { "" };
    settings + asking + &(1..).zip(members).map(line).collect::<String>()
}

/// The password: that which a member asks for, of clients and of the others, and that which it
/// names to these.
fn password_file(password: &str) -> String {
    let module = "org.apache.zookeeper.server.auth.DigestLoginModule required";
    let asks = format!("{{ {module} user_{USER}=\"{password}\"; }};");
    format!(
        "Server {asks}\nQuorumServer {asks}\n\
         QuorumLearner {{ {module} username=\"{USER}\" password=\"{password}\"; }};\n"
    )
}

/// Reads the answer to `srvr`. One that is looking for a leader does not serve, and has no mode.
fn standing(answer: &str) -> Option<ServerStanding> {
    answer.lines().find_map(|line| match line.strip_prefix("Mode: ")? {
        "leader" => Some(ServerStanding::Leader),
        "follower" => Some(ServerStanding::Follower),
        _ => None,
    })
}

impl Store for ZooKeeper {
    const ID: StoreId = StoreId::ZooKeeper;
    const NAME: &'static str = "ZooKeeper";
    const TOPOLOGIES: &'static [Topology] = &[
        Topology {
            name: "zookeeper-x3",
            summary: "a ZooKeeper ensemble of three members",
            shape: Shape::One,
            groups: &[members(3)],
        },
        Topology {
            name: "zookeeper-x5",
            summary: "a ZooKeeper ensemble of five members",
            shape: Shape::One,
            groups: &[members(5)],
        },
    ];
    const TTL: Duration = Duration::from_secs(2);
    const SESSIONS: bool = true;
    const JUNK: Result<Junk, &'static str> = Err("a ZooKeeper evicts no node");
    const SETTABLE_CLOCK: Result<SettableClock, &'static str> =
        Err("ZooKeeper counts by its monotonic clock, which nobody can set");
    const STANDING: Option<StandingQuestion> =
        Some(StandingQuestion { question: b"srvr", read: standing });
    const PORTS: Ports = Ports { clients: 2181, peers: &[2888, 3888] };
    const OWN_TROUBLES: &'static [&'static str] = &["NoAuth", "NotReadOnly", "QuotaExceeded"];

    const ALLOTMENT: Result<Allotment<Self>, &'static str> = Ok(allotment::ALLOTMENT);

    type Server = Server;
    type Driver = ZooKeeperDriver;
    type Client = Client;
    type Standalone = StandaloneServer;

    fn commands() -> Vec<&'static str> {
        COMMANDS.to_vec()
    }

    /// An ensemble ends sessions on a tick.
    fn tick(timing: &Timing) -> Duration {
        timing.tick
    }

    fn server(cluster: &Cluster, number: u32) -> Server {
        Server::new(number, cluster.servers(), cluster.timing)
    }

    fn standalone() -> StandaloneServer {
        StandaloneServer::default()
    }

    fn driver(settings: ClientSettings) -> ZooKeeperDriver {
        ZooKeeperDriver::new(settings.servers, settings.ttl, settings.rng)
    }

    fn client(link: Rc<dyn Link<Self>>, _: &Topology) -> Client {
        Client::new(link)
    }

    fn needs(_: &Topology) -> Result<&'static [Need], &'static str> {
        Ok(&[
            Need { what: "java", package: "default-jre-headless" },
            Need { what: JAR, package: "libzookeeper-java" },
            Need { what: LOG_JAR, package: "libslf4j-java" },
        ])
    }

    fn probe(_: &Cluster, _number: u32) -> Probe {
        Probe { send: b"srvr", expect: &["Mode: leader", "Mode: follower", "Mode: standalone"] }
    }

    fn variables(_: &Topology, servers: &[String], _: Option<&str>) -> Vec<(&'static str, String)> {
        vec![("ZK_CONNECT", servers.join(","))]
    }

    fn login(password: &str) -> Option<Login> {
        Some(Login::InSession(password.into()))
    }

    fn launch(cluster: &Cluster, number: u32, place: &Place) -> Launch {
        let config = format!("{}/{CONFIG}", place.data);
        let mut command = words(
            "java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.net.preferIPv4Stack=true \
             -Dzookeeper.admin.enableServer=false -Dorg.slf4j.simpleLogger.showDateTime=true \
             -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
        );
        if let Some(port) = place.proxy {
            // Without an exception for calls on this machine, which there is unless it is empty.
            let proxy = format!("-DsocksProxyHost=127.0.0.1 -DsocksProxyPort={port}");
            command.extend(words(&proxy).into_iter().chain(["-DsocksNonProxyHosts=".into()]));
        }
        let mut files =
            vec![("myid", (number + 1).to_string()), (CONFIG, configuration(cluster, place))];
        if let Some(password) = place.password() {
            let file = format!("{}/{PASSWORD}", place.data);
            command.push(format!("-Djava.security.auth.login.config={file}"));
            files.push((PASSWORD, password_file(password)));
        }
        let class = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
        command.extend(["-cp", &[JAR, LOG_JAR].join(":"), class, &config].map(String::from));
        Launch { command, files }
    }

    fn carries_call(bytes: &[u8]) -> bool {
        super::wire::carries_call(bytes)
    }

    #[cfg(feature = "real")]
    fn observer(cluster: &Cluster, number: u32) -> Option<crate::observation::Observer> {
        use super::observe::{FIRST, MEMBER, OTHER};

        Some(match number {
            _ if cluster.given.is_empty() => MEMBER,
            0 => FIRST,
            _ => OTHER,
        })
    }

    #[cfg(feature = "real")]
    fn connect(settings: crate::RealSettings) -> crate::Connecting<Self> {
        Box::pin(async move {
            let crate::RealSettings { servers, ttl, seed, .. } = settings;
            match super::RealSession::connect(servers, ttl, seed).await {
                Ok(session) => Ok(Rc::new(session) as _),
                Err(error) => Err(crate::ConnectError(error.to_string())),
            }
        })
    }
}

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

    fn ready(&self) -> LocalFuture<'_, ()> {
        Box::pin(async {
            while self.state() != SessionState::Connected {
                self.changed().await;
            }
        })
    }
}
