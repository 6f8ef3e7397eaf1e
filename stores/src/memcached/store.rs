//! memcached, as the list of stores knows it.

use base::Link;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use super::allotment;
use super::junk::JUNK;
use super::memory::StoredItem;
#[cfg(feature = "real")]
use super::observe;
use super::{COMMANDS, Memcached, Packet, Reply, Request, Server};
use crate::driver::CallDriver;
use crate::launch::words;
#[cfg(feature = "real")]
use crate::observation::Observer;
use crate::zookeeper::Timing;
use crate::{
    Allotment, ClientSettings, Cluster, Enumerable, Group, Junk, Launch, Login, Need, Place, Ports,
    Probe, SettableClock, Shape, Store, StoreId, Topology,
};

/// The file with the user of a server, and its password.
const USERS: &str = "users";

/// The user.
const USER: &str = "picklock";

impl Store for Memcached {
    const ID: StoreId = StoreId::Memcached;
    const NAME: &'static str = "memcached";
    const TOPOLOGIES: &'static [Topology] = &[Topology {
        name: "memcached",
        summary: "one memcached server",
        shape: Shape::One,
        groups: &[Group { role: "server", count: 1, peers: false }],
    }];
    const TTL: Duration = Duration::from_secs(4);
    const JUNK: Result<Junk, &'static str> = Ok(JUNK);
    const SETTABLE_CLOCK: Result<SettableClock, &'static str> =
        Err("memcached counts by its monotonic clock, which nobody can set");
    const PORTS: Ports = Ports { clients: 11211, peers: &[] };
    const OWN_TROUBLES: &'static [&'static str] = &["SERVER_ERROR", "Too many open connections"];
    const BEFORE_TROUBLES: &'static [&'static str] = &["ERROR ", ""];

    const ALLOTMENT: Result<Allotment<Self>, &'static str> = Ok(allotment::ALLOTMENT);

    type Server = Server;
    type Driver = CallDriver<Self>;
    type Client = Rc<dyn Link<Self>>;
    type Standalone = Server;

    fn commands() -> Vec<&'static str> {
        COMMANDS.to_vec()
    }

    fn tick(_: &Timing) -> Duration {
        Duration::from_secs(1)
    }

    /// memcached stores everything in memory alone.
    fn persists() -> bool {
        false
    }

    fn server(_: &Cluster, _number: u32) -> Server {
        Server::default()
    }

    fn standalone() -> Server {
        Server::default()
    }

    fn driver(settings: ClientSettings) -> CallDriver<Self> {
        CallDriver::to(settings.servers)
    }

    fn client(link: Rc<dyn Link<Self>>, _: &Topology) -> Self::Client {
        link
    }

    fn needs(_: &Topology) -> Result<&'static [Need], &'static str> {
        Ok(&[Need { what: "memcached", package: "memcached" }])
    }

    fn probe(_: &Cluster, _number: u32) -> Probe {
        Probe { send: b"version\r\nquit\r\n", expect: &["VERSION"] }
    }

    fn variables(_: &Topology, servers: &[String], _: Option<&str>) -> Vec<(&'static str, String)> {
        vec![("MEMCACHED_SERVERS", servers.join(","))]
    }

    /// Whatever its key is, the first item that a connection sets names a user and the password.
    fn login(password: &str) -> Option<Login> {
        let named = format!("{USER} {password}");
        let request = format!("set login 0 0 {}\r\n{named}\r\n", named.len());
        Some(Login::Ahead { request: request.into(), accepted: b"STORED\r\n" })
    }

    /// Its memory is small, has one size of chunks for all that locks store, and one list by last
    /// use, which nothing sorts in the background: so the order is certain in which it evicts
    /// (`memory.rs`). It stays who it is: with another user it would outlive whoever started it, as
    /// the kernel forgets then that it was to die with that. There is room for all lines of whoever
    /// watches it (`observe.rs`), also while its memory is filled with junk.
    fn launch(_: &Cluster, _number: u32, place: &Place) -> Launch {
        let Place { host, port, data, .. } = place;
        let password = place.password();
        let users = password.iter().map(|it| (USERS, format!("{USER}:{it}\n"))).collect();
        // `slab_sizes` comes last: 1.6.18 takes the `worker_logbuf_size` for the sizes of chunks,
        // too.
        let command = format!(
            "memcached -u root -l {host} -p {port} -m 2 \
             -o no_modern,worker_logbuf_size=4096,watcher_logbuf_size=4096,slab_sizes=1024"
        );
        let mut command = words(&command);
        if password.is_some() {
            command.extend(["-Y".into(), format!("{data}/{USERS}")]);
        }
        Launch { command, files: users }
    }

    #[cfg(feature = "real")]
    fn observer(_: &Cluster, _number: u32) -> Option<Observer> {
        Some(observe::OBSERVER)
    }

    #[cfg(feature = "real")]
    fn connect(settings: crate::RealSettings) -> crate::Connecting<Self> {
        let crate::RealSettings { servers, call_timeout, seed, .. } = settings;
        let link = super::RealLink::new(servers, call_timeout, seed);
        Box::pin(std::future::ready(Ok(Rc::new(link) as _)))
    }
}

/// The part of an item that anybody can see. (An enumeration fills no memory.)
fn contents(item: &StoredItem) -> (&str, Option<i64>) {
    (&item.value, item.gone_at)
}

impl Enumerable for Server {
    const SESSIONS: bool = false;

    fn fingerprint(&self, into: &mut impl Hasher) {
        self.now().hash(into);
        self.items().for_each(|(key, item)| (key, contents(item)).hash(into));
    }

    fn things(&self) -> BTreeMap<String, u64> {
        let stamp = |item| {
            let mut stamp = DefaultHasher::new();
            contents(item).hash(&mut stamp);
            stamp.finish()
        };
        self.items().map(|(key, item)| (key.clone(), stamp(item))).collect()
    }

    fn words(packet: &Packet) -> String {
        match packet {
            Packet::Request { request, .. } => match request {
                Request::Add { key, exptime, .. } => format!("add {key} for {exptime} s"),
                Request::Set { key, exptime, .. } => format!("set {key} for {exptime} s"),
                Request::Get { key } => format!("get {key}"),
                Request::Delete { key } => format!("delete {key}"),
            },
            Packet::Reply { reply, .. } => match reply {
                Reply::Stored => "STORED".into(),
                Reply::NotStored => "NOT_STORED".into(),
                Reply::Value(None) => "nothing".into(),
                Reply::Value(Some(value)) => value.clone(),
                Reply::Deleted => "DELETED".into(),
                Reply::NotFound => "NOT_FOUND".into(),
            },
        }
    }
}
