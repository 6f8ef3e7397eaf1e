//! Everything that faults can hit: servers, links and the clients in their seats.

use super::clients::Client;
use super::link::{Delay, Link, OnPassed};
use super::news::Outbox;
use super::server::Server;
use base::{BackendError, Mono, Notice, Rng};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use stores::WorldSpec;

/// Keeps the randomness of the links apart from that of the clients.
const LINKS: u64 = 1 << 40;

/// The world of one run, shared by the tasks that change it.
pub struct World {
    /// The servers, by number.
    pub servers: Vec<Arc<Server>>,
    /// The queue for messages to the drive loop.
    pub outbox: Arc<Outbox>,
    /// True while replies that pass a link are reported.
    reports_passing: Arc<AtomicBool>,
    links: BTreeMap<(u32, u32), Link>,
    seats: Mutex<BTreeMap<u32, Arc<Client>>>,
}

impl World {
    /// Lays the links between all clients and all servers.
    pub fn new(
        spec: &WorldSpec,
        servers: &[Arc<Server>],
        outbox: Outbox,
    ) -> Result<Self, BackendError> {
        let outbox = Arc::new(outbox);
        let reports_passing = Arc::<AtomicBool>::default();
        let mut links = BTreeMap::new();
        for seat in 0..spec.clients {
            for server in 0..spec.topology.servers() {
                let (outbox, reported) = (outbox.clone(), reports_passing.clone());
                let on_passed = move |process| {
                    if reported.load(Relaxed) {
                        outbox.tell(Notice::Passed { process });
                    }
                };
                let link = open_link(spec, seat, server, Box::new(on_passed))?;
                links.insert((seat, server), link);
            }
        }
        let (servers, seats) = (servers.to_vec(), Mutex::default());
        let world = Self { servers, outbox, reports_passing, links, seats };
        for server in &world.servers {
            world.aim_links(server)?;
        }
        Ok(world)
    }

    /// Reports replies that pass a link from now on, or no longer.
    pub fn report_passing(&self, reported: bool) {
        self.reports_passing.store(reported, Relaxed);
    }

    /// Makes the links of a server lead to its present address.
    pub fn aim_links(&self, server: &Server) -> Result<(), BackendError> {
        let address = server.address()?;
        let aim = |link: &Link| link.set_target(Some(address));
        self.links_of(server.number()).try_for_each(aim).map_err(no_link)
    }

    /// Makes the links of a server refuse connections: its port may soon be another's.
    pub fn loosen_links(&self, server: &Server) -> Result<(), BackendError> {
        self.links_of(server.number()).try_for_each(|link| link.set_target(None)).map_err(no_link)
    }

    /// The addresses that the client in a seat connects to, by server.
    pub fn addresses(&self, seat: u32) -> Vec<String> {
        let links = self.links.range((seat, 0)..=(seat, u32::MAX));
        links.map(|(_, link)| link.address().to_string()).collect()
    }

    /// The link between a seat and a server.
    pub fn link(&self, seat: u32, server: u32) -> Option<&Link> {
        self.links.get(&(seat, server))
    }

    /// Ends the client in a seat and leaves it empty. What it has sent may still arrive, as over
    /// any network.
    pub fn vacate(&self, seat: u32) {
        if let Some(client) = self.seats().remove(&seat) {
            client.end();
        }
    }

    /// Puts a client in an empty seat, whose links are its own from now on.
    pub fn seat(&self, seat: u32, client: Arc<Client>) {
        let links = self.links.range((seat, 0)..=(seat, u32::MAX));
        links.for_each(|(_, link)| link.serve(client.process()));
        self.seats().insert(seat, client);
    }

    /// The client in a seat, which may have ended.
    pub fn client(&self, seat: u32) -> Option<Arc<Client>> {
        self.seats().get(&seat).cloned()
    }

    /// The client with this process number, unless another has taken its seat.
    pub fn process(&self, process: u32) -> Option<Arc<Client>> {
        self.seats().values().find(|client| client.process() == process).cloned()
    }

    /// The clients in all seats, of which some may have ended.
    pub fn clients(&self) -> Vec<Arc<Client>> {
        self.seats().values().cloned().collect()
    }

    /// The number of seats.
    pub fn seat_count(&self) -> u32 {
        self.links.last_key_value().map_or(0, |((seat, _), _)| seat + 1)
    }

    /// The time since the run began.
    pub fn now(&self) -> Mono {
        self.outbox.clock().now()
    }

    /// The links of all clients to a server.
    pub fn links_of(&self, server: u32) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |((_, to), _)| *to == server).map(|(_, link)| link)
    }

    fn seats(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Arc<Client>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open_link(
    spec: &WorldSpec,
    seat: u32,
    server: u32,
    on_passed: OnPassed,
) -> Result<Link, BackendError> {
    let rng = Rng::fork(spec.seed, LINKS + (u64::from(seat) << 16) + u64::from(server));
    let delay = Delay { base: spec.link_delay, jitter: Duration::ZERO };
    Link::open(delay, rng, on_passed).map_err(no_link)
}

fn no_link(error: std::io::Error) -> BackendError {
    super::daemon::broken("cannot open a link on the loopback", error)
}
