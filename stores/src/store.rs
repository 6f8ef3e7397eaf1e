//! The interface of a store to the rest of picklock: all that both worlds have to know of it.

use base::{Link, LocalFuture, ProgramCommand, Protocol, Rng, Wakeups, World};
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

use crate::StoreId;
use crate::allotment::Allotment;
use crate::driver::Driver;
use crate::endpoint::Login;
use crate::enumerable::Enumerable;
use crate::junk::Junk;
use crate::launch::{Joining, Launch, Need, Place, Ports, Probe};
use crate::model::ServerModel;
#[cfg(feature = "real")]
use crate::observation::Observer;
use crate::settable_clock::SettableClock;
use crate::standing::StandingQuestion;
use crate::topology::Topology;
use crate::zookeeper::Timing;

/// A packet between a store's clients and its servers.
pub type PacketOf<S> = <<S as Store>::Server as ServerModel>::Packet;

/// A store that locks are built on.
pub trait Store: Protocol + Copy + Debug + Sized {
    /// Its place in the list of stores.
    const ID: StoreId;
    /// The name, as people write it.
    const NAME: &'static str;
    /// The layouts of its servers, the usual one first.
    const TOPOLOGIES: &'static [Topology];
    /// The default time to live, or session time-out, of a lock on it: long enough that a real
    /// server restarts within a hold of 0.6 of it, or within a session.
    const TTL: Duration;
    /// True where a lock is of a session, which its client's library keeps for as long as it can.
    const SESSIONS: bool = false;
    /// The junk that makes a server evict what it stores; or the reason, as a clause, why it never
    /// does.
    const JUNK: Result<Junk, &'static str>;
    /// The wall clock of a real server, to be set while it runs; or the reason, as a clause, why
    /// that cannot be.
    const SETTABLE_CLOCK: Result<SettableClock, &'static str>;
    /// `Ok` where a call on a connection can be distinguished from a client library's own
    /// housekeeping; or the reason, as a clause, why it cannot.
    const CALLS_ARE_KNOWN: Result<(), &'static str> = Ok(());
    /// The question that tells what a real server is to the others; `None` where all are alike.
    const STANDING: Option<StandingQuestion> = None;
    /// The ports of a real server that has an address of its own.
    const PORTS: Ports;
    /// The users, the best first, as one of whom a server has to run where root starts it, because
    /// it refuses to be root; none if it does not care.
    const USERS: &'static [&'static str] = &[];
    /// The way to keep to keys of one's own on servers that others use, too; or the reason, as a
    /// clause, why nobody can.
    const ALLOTMENT: Result<Allotment<Self>, &'static str> =
        Err("nobody can tell its locks from those of others");

    /// The words in which a server turns everybody away, whatever the lock: it is full, locked, or
    /// not the one that it was.
    const OWN_TROUBLES: &'static [&'static str] = &[];
    /// Words beside these in what says nothing of the kind: a client asks for it to see whether the
    /// server has it, and goes on.
    const DISPENSABLE: &'static [&'static str] = &[];
    /// The beginnings of a server's lines before these words, the longest first; none where it sends
    /// no lines.
    const BEFORE_TROUBLES: &'static [&'static str] = &[];

    /// The model of a server, of any role.
    type Server: ServerModel<Packet: Clone + Debug>;
    /// The client library.
    type Driver: Driver<Protocol = Self, Packet = PacketOf<Self>>;
    /// The face of the store that recipes hold: built over the seam, the same in both worlds.
    type Client: StoreClient;
    /// The model of a store of one server, for the enumeration of all schedules.
    type Standalone: Enumerable<Packet = PacketOf<Self>>;

    /// Returns the names of the commands that clients can send, as [`Protocol::command`] gives
    /// them.
    fn commands() -> Vec<&'static str>;

    /// Returns the store's tick: what has run out may live on until the next one.
    fn tick(timing: &Timing) -> Duration;

    /// Returns the longest time from the last fault until the servers of a topology have agreed on
    /// a primary; zero where there is nothing to agree on.
    fn failover(_topology: &Topology, _ttl: Duration) -> Duration {
        Duration::ZERO
    }

    /// Returns true if what a server stores survives its crash.
    fn persists() -> bool {
        true
    }

    /// Makes the model of a server.
    fn server(cluster: &Cluster, number: u32) -> Self::Server;

    /// Makes the model of a store of one server.
    fn standalone() -> Self::Standalone;

    /// Makes the library of a client.
    fn driver(settings: ClientSettings) -> Self::Driver;

    /// Makes the face of a client's link to the servers of a topology.
    fn client(link: Rc<dyn Link<Self>>, topology: &Topology) -> Self::Client;

    /// Returns the things that a machine must have to start the servers of a topology as processes;
    /// or the reason, as a clause, why they cannot be that.
    fn needs(topology: &Topology) -> Result<&'static [Need], &'static str>;

    /// Returns the ports at which servers of a topology call each other where they tell each other
    /// the addresses of third ones, so that all must know each of them by the same.
    fn advertised_ports(_topology: &Topology) -> &'static [u16] {
        &[]
    }

    /// Returns true if servers of a topology tell clients addresses of servers, to be called there.
    fn leads_clients(topology: &Topology) -> bool {
        !Self::advertised_ports(topology).is_empty()
    }

    /// Returns the question that tells whether a server of a topology that has just been started
    /// serves together with the others, where that is more than to serve at all.
    fn settled(_cluster: &Cluster) -> Option<Probe> {
        None
    }

    /// Returns the servers that are started only once another one is ready for them.
    fn joining(_cluster: &Cluster) -> Option<Joining> {
        None
    }

    /// Returns the question that tells whether a server serves.
    fn probe(cluster: &Cluster, number: u32) -> Probe;

    /// Describes how a server is started at a place.
    fn launch(cluster: &Cluster, number: u32, place: &Place) -> Launch;

    /// Returns the variables that tell a program of somebody else where the servers of a topology
    /// are, from the address of each, `host:port`, and their password, if they have one.
    fn variables(
        topology: &Topology,
        servers: &[String],
        password: Option<&str>,
    ) -> Vec<(&'static str, String)>;

    /// Returns true if the servers can listen on Unix sockets instead of ports (`Place::sockets`).
    /// Those whose store has no passwords do, where others of the machine would reach their ports.
    fn can_use_sockets() -> bool {
        false
    }

    /// Returns the exchange with which a connection to a server begins that asks for this password;
    /// `None` where the store has no passwords, or its clients name them.
    fn login(_password: &str) -> Option<Login> {
        None
    }

    /// Returns true if what travels on a connection between a client and a real server carries a
    /// call of the lock, or the answer to one, and is not a client library's own housekeeping.
    fn carries_call(_bytes: &[u8]) -> bool {
        true
    }

    /// Returns the way to observe a real server; `None` of one that stores nothing, or that nobody
    /// can observe.
    #[cfg(feature = "real")]
    fn observer(_cluster: &Cluster, _number: u32) -> Option<Observer> {
        None
    }

    /// Links a client to real servers. Needs a tokio `LocalSet` around it.
    ///
    /// # Errors
    /// Fails, with the fix, when a store that has sessions grants none.
    #[cfg(feature = "real")]
    fn connect(settings: RealSettings) -> Connecting<Self>;
}

/// A link that is being made.
#[cfg(feature = "real")]
pub type Connecting<S> = LocalFuture<'static, Result<Rc<dyn Link<S>>, ConnectError>>;

/// A failure to link a client to real servers. The text names the fix.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

/// The face of a store that recipes hold. Clones are the same.
pub trait StoreClient: Clone + 'static {
    /// The clocks, the sleep and the randomness of the client's machine.
    fn world(&self) -> &dyn World;

    /// The wake-ups that a recipe notes when the store has woken it; `None` where clients ask again
    /// and again instead.
    fn wakeups(&self) -> Option<&Wakeups> {
        None
    }

    /// Returns what another worker of the same client holds: the same connections, with wake-ups of
    /// its own.
    #[must_use]
    fn for_worker(&self) -> Self {
        self.clone()
    }

    /// Resolves when the servers can be asked for a lock.
    fn ready(&self) -> LocalFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl<S: Protocol> StoreClient for Rc<dyn Link<S>> {
    fn world(&self) -> &dyn World {
        (**self).world()
    }
}

/// The servers of a run.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The layout of the servers.
    pub topology: &'static Topology,
    /// The time to live, or session time-out, of the locks on them.
    pub ttl: Duration,
    /// The settings of a ZooKeeper ensemble; other stores have no use for them.
    pub timing: Timing,
    /// True if faults set the wall clocks of real servers, which have to be started for that.
    pub sets_clocks: bool,
    /// True if the servers ask for a password that other users of the machine do not know, where
    /// they can.
    pub asks_password: bool,
    /// The addresses of servers that somebody else runs, `host:port` by number; none if they are to
    /// be started.
    pub given: Vec<String>,
    /// The command that starts a server of somebody else's.
    pub command: Option<ProgramCommand>,
    /// The number of permits of the lock. The ledger of a semaphore has the members of collections
    /// one by one.
    pub permits: u32,
}

impl Cluster {
    /// Makes the servers of a topology, with these settings.
    pub fn new(topology: &'static Topology, ttl: Duration, timing: Timing) -> Self {
        Self {
            topology,
            ttl,
            timing,
            sets_clocks: false,
            asks_password: true,
            given: Vec::new(),
            command: None,
            permits: 1,
        }
    }

    /// The number of servers.
    pub const fn servers(&self) -> u32 {
        self.topology.servers()
    }
}

/// The settings of a client library.
pub struct ClientSettings {
    /// The number of servers.
    pub servers: usize,
    /// The session time-out, for stores that have sessions.
    pub ttl: Duration,
    /// The library's own randomness.
    pub rng: Rng,
}

/// The settings of a client's links to real servers.
#[derive(Clone, Debug)]
pub struct RealSettings {
    /// The address of each server: "127.0.0.1:6379".
    pub servers: Vec<String>,
    /// The session time-out, for stores that have sessions.
    pub ttl: Duration,
    /// The longest time that a call may take, for stores whose calls time out.
    pub call_timeout: Duration,
    /// Starts the client's randomness.
    pub seed: u64,
}
