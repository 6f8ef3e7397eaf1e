//! The stores that locks are built on. One folder per store: protocol, model (a pure state
//! machine), client library, real adapter, and the conformance suite that both worlds must pass.

mod allotment;
#[cfg(feature = "real")]
pub mod common_log;
#[cfg(any(test, feature = "real"))]
pub mod conformance;
mod custom;
pub mod driver;
mod endpoint;
mod enumerable;
pub mod etcd;
mod junk;
mod launch;
mod ledger_builder;
pub mod memcached;
pub mod model;
#[cfg(any(test, feature = "real"))]
#[cfg_attr(not(test), expect(dead_code, reason = "the tests of models use all of it"))]
mod model_network;
mod named_calls;
#[cfg(feature = "real")]
pub mod observation;
pub mod postgres;
#[cfg(feature = "real")]
pub mod real;
pub mod redis;
mod settable_clock;
mod standing;
#[cfg(test)]
mod stopped_world;
mod store;
mod topology;
mod troubles;
pub mod vault;
mod world_spec;
pub mod zookeeper;

#[cfg(feature = "real")]
pub use allotment::Clearing;
pub use allotment::{Allotment, MarkQuestion, ProgramAllotment, Whose};
pub use base::Shape;
pub use endpoint::{Endpoint, Login};
pub use enumerable::Enumerable;
pub use junk::Junk;
pub use launch::{Joining, Launch, Member, Need, PROGRAM_FOLDERS, Place, Ports, Probe, Secrets};
pub use ledger_builder::LedgerBuilder;
pub use named_calls::{CallNames, NamedCalls};
pub use settable_clock::SettableClock;
pub use standing::StandingQuestion;
#[cfg(feature = "real")]
pub use store::Connecting;
pub use store::{
    ClientSettings, Cluster, ConnectError, PacketOf, RealSettings, Store, StoreClient,
};
pub use topology::{Group, PRIMARY, Topology, node_address, node_name, node_number};
pub use troubles::TroubleWords;
pub use world_spec::{LinkDelays, WorldSpec};

use std::time::Duration;
use zookeeper::Timing;

/// Work that is done for a store which is known only at run time.
pub trait Visit {
    /// The result of the work.
    type Out;

    /// Does it, for this store.
    fn visit<S: Store>(self) -> Self::Out;
}

/// Makes the list of stores: this is the only place that names them all.
macro_rules! stores {
    ($($name:ident: $store:ty,)*) => {
        /// A store of the list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each says in its own folder what it is")]
        pub enum StoreId {
            $($name,)*
        }

        impl StoreId {
            /// All stores, in the order in which they are listed.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Does some work for this store.
            pub fn visit<V: Visit>(self, work: V) -> V::Out {
                match self {
                    $(Self::$name => work.visit::<$store>(),)*
                }
            }

            /// The layouts of its servers, the usual one first.
            pub const fn topologies(self) -> &'static [Topology] {
                match self {
                    $(Self::$name => <$store>::TOPOLOGIES,)*
                }
            }

            /// The name, as people write it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => <$store>::NAME,)*
                }
            }

            /// The default time to live, or session time-out, of a lock on it.
            pub const fn ttl(self) -> Duration {
                match self {
                    $(Self::$name => <$store>::TTL,)*
                }
            }

            /// Returns true where a lock is of a session, which its client's library keeps.
            pub const fn has_sessions(self) -> bool {
                match self {
                    $(Self::$name => <$store>::SESSIONS,)*
                }
            }

            /// The junk that makes a server evict what it stores; the reason why it never does.
            pub const fn junk(self) -> Result<Junk, &'static str> {
                match self {
                    $(Self::$name => <$store>::JUNK,)*
                }
            }

            /// The wall clock of a real server, to be set; the reason why that cannot be.
            pub const fn settable_clock(self) -> Result<SettableClock, &'static str> {
                match self {
                    $(Self::$name => <$store>::SETTABLE_CLOCK,)*
                }
            }

            /// Returns `Ok` where a call can be distinguished from a client library's own
            /// housekeeping; or else the reason why it cannot.
            pub const fn calls_are_known(self) -> Result<(), &'static str> {
                match self {
                    $(Self::$name => <$store>::CALLS_ARE_KNOWN,)*
                }
            }

            /// The question that tells what a real server is to the others; `None` where all are
            /// alike.
            pub const fn standing(self) -> Option<StandingQuestion> {
                match self {
                    $(Self::$name => <$store>::STANDING,)*
                }
            }

            /// Returns the names of the commands that clients can send.
            pub fn commands(self) -> Vec<&'static str> {
                match self {
                    $(Self::$name => <$store>::commands(),)*
                }
            }

            /// Returns the longest time until servers of a topology have agreed on a new primary.
            pub fn failover(self, topology: &Topology, ttl: Duration) -> Duration {
                match self {
                    $(Self::$name => <$store>::failover(topology, ttl),)*
                }
            }

            /// Returns true if what the servers store survives a crash.
            pub fn persists(self) -> bool {
                match self {
                    $(Self::$name => <$store>::persists(),)*
                }
            }

            /// Returns the function that tells calls on a connection to a real server from a client
            /// library's own housekeeping.
            pub fn carries_call(self) -> fn(&[u8]) -> bool {
                match self {
                    $(Self::$name => <$store>::carries_call,)*
                }
            }

            /// The ports of a server that has an address of its own.
            pub const fn ports(self) -> Ports {
                match self {
                    $(Self::$name => <$store>::PORTS,)*
                }
            }

            /// The users as one of whom a server has to run where root starts it, if it refuses to
            /// be root.
            pub const fn users(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => <$store>::USERS,)*
                }
            }

            /// The things that a machine must have to start a server as a process; the reason why
            /// it cannot be one.
            pub fn needs(self, topology: &Topology) -> Result<&'static [Need], &'static str> {
                match self {
                    $(Self::$name => <$store>::needs(topology),)*
                }
            }

            /// The ports at which servers that tell each other addresses call each other.
            pub fn advertised_ports(self, topology: &Topology) -> &'static [u16] {
                match self {
                    $(Self::$name => <$store>::advertised_ports(topology),)*
                }
            }

            /// Returns true if the servers tell clients addresses of servers, to be called there.
            pub fn leads_clients(self, topology: &Topology) -> bool {
                match self {
                    $(Self::$name => <$store>::leads_clients(topology),)*
                }
            }

            /// The question that tells whether a fresh server serves together with the others.
            pub fn settled(self, cluster: &Cluster) -> Option<Probe> {
                match self {
                    $(Self::$name => <$store>::settled(cluster),)*
                }
            }

            /// The servers that are started only once another one is ready for them.
            pub fn joining(self, cluster: &Cluster) -> Option<Joining> {
                match self {
                    $(Self::$name => <$store>::joining(cluster),)*
                }
            }

            /// The question that tells whether a server serves.
            pub fn probe(self, cluster: &Cluster, number: u32) -> Probe {
                match self {
                    $(Self::$name => <$store>::probe(cluster, number),)*
                }
            }

            /// Returns the way to observe a real server, if there is one.
            #[cfg(feature = "real")]
            pub fn observer(
                self,
                cluster: &Cluster,
                number: u32,
            ) -> Option<observation::Observer> {
                match self {
                    $(Self::$name => <$store>::observer(cluster, number),)*
                }
            }

            /// Returns the variables that tell a program of somebody else where the servers are.
            pub fn variables(
                self,
                topology: &Topology,
                servers: &[String],
                password: Option<&str>,
            ) -> Vec<(&'static str, String)> {
                match self {
                    $(Self::$name => <$store>::variables(topology, servers, password),)*
                }
            }

            /// Returns true if the servers can listen on Unix sockets instead of ports.
            pub fn can_use_sockets(self) -> bool {
                match self {
                    $(Self::$name => <$store>::can_use_sockets(),)*
                }
            }

            /// Returns the exchange with which a connection to a server begins that asks for this
            /// password.
            pub fn login(self, password: &str) -> Option<Login> {
                match self {
                    $(Self::$name => <$store>::login(password),)*
                }
            }

            /// Describes how a server is started.
            pub fn launch(self, cluster: &Cluster, number: u32, place: &Place) -> Launch {
                match self {
                    $(Self::$name => <$store>::launch(cluster, number, place),)*
                }
            }

            /// Returns its tick: what has run out may live on until the next one.
            pub fn tick(self, timing: &Timing) -> Duration {
                match self {
                    $(Self::$name => <$store>::tick(timing),)*
                }
            }
        }
    };
}

impl StoreId {
    /// Returns the topology of this name, of any store.
    pub fn topology(name: &str) -> Option<&'static Topology> {
        Self::all_topologies().find(|topology| topology.name == name)
    }

    /// The topologies of all stores.
    pub fn all_topologies() -> impl Iterator<Item = &'static Topology> {
        Self::ALL.iter().flat_map(|store| store.topologies())
    }
}

stores! {
    Redis: redis::Redis,
    ZooKeeper: zookeeper::ZooKeeper,
    Memcached: memcached::Memcached,
    Postgres: postgres::Postgres,
    Etcd: etcd::Etcd,
    Custom: custom::Custom,
}
