//! PostgreSQL, as the list of stores knows it.

use base::{Link, Wakeups, World};
use std::rc::Rc;
use std::time::Duration;

#[cfg(feature = "real")]
use super::observe;
use super::protocol::COMMANDS;
use super::{Client, Postgres, PostgresDriver, Server};
#[cfg(feature = "real")]
use crate::observation::Observer;
use crate::zookeeper::Timing;
use crate::{
    ClientSettings, Cluster, Group, Junk, Launch, Need, Place, Ports, Probe, SettableClock, Shape,
    Store, StoreClient, StoreId, Topology,
};

impl Store for Postgres {
    const ID: StoreId = StoreId::Postgres;
    const NAME: &'static str = "PostgreSQL";
    const TOPOLOGIES: &'static [Topology] = &[Topology {
        name: "postgres",
        summary: "one PostgreSQL server",
        shape: Shape::One,
        groups: &[Group { role: "server", count: 1, peers: false }],
    }];
    const TTL: Duration = Duration::from_secs(2);
    const JUNK: Result<Junk, &'static str> = Err("a PostgreSQL evicts nothing");
    const SETTABLE_CLOCK: Result<SettableClock, &'static str> =
        Err("a PostgreSQL counts its time-outs by intervals, and no lock of it runs out");
    const PORTS: Ports = Ports { clients: 5432, peers: &[] };
    const USERS: &'static [&'static str] = &["postgres", "nobody"];

    type Server = Server;
    type Driver = PostgresDriver;
    type Client = Client;
    type Standalone = Server;

    fn commands() -> Vec<&'static str> {
        [&["connect", "close"], COMMANDS].concat()
    }

    fn tick(_: &Timing) -> Duration {
        Duration::ZERO
    }

    fn server(_: &Cluster, _number: u32) -> Server {
        Server::default()
    }

    fn standalone() -> Server {
        Server::default()
    }

    fn driver(settings: ClientSettings) -> PostgresDriver {
        PostgresDriver::new(settings.ttl)
    }

    fn client(link: Rc<dyn Link<Self>>, _: &Topology) -> Client {
        Client::new(link)
    }

    fn needs(_: &Topology) -> Result<&'static [Need], &'static str> {
        Ok(&[
            Need { what: "postgres", package: "postgresql" },
            Need { what: "initdb", package: "postgresql" },
        ])
    }

    fn probe(_: &Cluster, _number: u32) -> Probe {
        Probe { send: NO_SUCH_DATABASE, expect: &["3D000", "SCRAM-SHA-256"] }
    }

    fn variables(
        _: &Topology,
        servers: &[String],
        password: Option<&str>,
    ) -> Vec<(&'static str, String)> {
        let user = password.map_or("postgres".into(), |it| format!("postgres:{it}"));
        let url = ("DATABASE_URL", format!("postgresql://{user}@{}/postgres", servers[0]));
        [url].into_iter().chain(password.map(|it| (PASSWORD, it.into()))).collect()
    }

    fn launch(_: &Cluster, _number: u32, place: &Place) -> Launch {
        let Place { data, host, port, .. } = place;
        let command = ["sh", "-c", START, "postgres", data, host, &port.to_string()];
        let files = place.password().map(|it| ("password", it.into())).into_iter().collect();
        Launch { command: command.map(String::from).into(), files }
    }

    #[cfg(feature = "real")]
    fn observer(_: &Cluster, _number: u32) -> Option<Observer> {
        Some(observe::OBSERVER)
    }

    #[cfg(feature = "real")]
    fn connect(settings: crate::RealSettings) -> crate::Connecting<Self> {
        let crate::RealSettings { servers, ttl, seed, .. } = settings;
        let password = std::env::var(PASSWORD).ok();
        let link = super::RealLink::new(servers, password, ttl, seed);
        Box::pin(std::future::ready(Ok(Rc::new(link) as _)))
    }
}

/// The variable with the password of a client, as PostgreSQL's own library reads it.
const PASSWORD: &str = "PGPASSWORD";

/// Starts a server in the folder `$1`, for clients of the address `$2` and the port `$3`. New data is
/// a copy of what stands beside it, which the first start makes, with the password that it finds in
/// its data, if any: who may speak to a server may run programs as its user. By itself a server waits with an acknowledgement until the write
/// is on disk. What is kept in memory is little, so that many of them fit on a machine, and is
/// shared by a file in its data, which nobody has to remove by itself.
const START: &str = "set -e
    for bin in /usr/lib/postgresql/*/bin; do PATH=$PATH:$bin; done
    new=$1/../new
    if [ ! -e \"$new\" ]; then
        auth=trust pwfile=
        if [ -e \"$1/password\" ]; then auth=scram-sha-256 pwfile=$1/password; fi
        initdb -D \"$new.part\" --auth=$auth ${pwfile:+\"--pwfile=$pwfile\"} --username=postgres --no-locale --encoding=UTF8 --no-sync
        echo 'CREATE TABLE locks (name text PRIMARY KEY)' |
            postgres --single -D \"$new.part\" -c dynamic_shared_memory_type=mmap postgres
        echo \"host all all all $auth\" >>\"$new.part/pg_hba.conf\"
        mv \"$new.part\" \"$new\"
    fi
    [ -e \"$1/PG_VERSION\" ] || cp -a \"$new/.\" \"$1\"
    chmod 700 \"$1\"
    exec postgres -D \"$1\" -c listen_addresses=\"$2\" -c port=\"$3\" \
        -c unix_socket_directories= -c max_connections=300 -c shared_buffers=16MB \
        -c wal_level=minimal -c max_wal_senders=0 -c dynamic_shared_memory_type=mmap";

/// Opens a session with a database that is not there, by version 3.0 of the protocol, and hangs up
/// when asked for a password. A server that serves says that there is none, or asks; the answer to
/// any other session has a random key in it.
const NO_SUCH_DATABASE: &[u8] =
    b"\0\0\0\x25\0\x03\0\0user\0postgres\0database\0none\0\0X\0\0\0\x04";

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
