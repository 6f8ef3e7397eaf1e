//! The testbed, all that faults can hit: the servers, link proxies and clients of a run on real
//! servers.

use super::client_clock::ClientClocks;
use super::clients::RunningClient;
use super::interference::turned_away;
use super::link_proxy::{Delay, LinkEvents, LinkProxy};
use super::notices::NoticeSender;
use super::observers::Observers;
use super::servers::StartedServer;
use super::toxiproxy::ToxicLinks;
use crate::lock;
use base::{BackendError, Data, Mono, Node, Notice, Rng};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stores::observation::Passage;
use stores::{Endpoint, StoreId, TroubleWords, WorldSpec, node_name};

/// Keeps the randomness of the links apart from that of the clients.
const LINKS: u64 = 1 << 40;

/// The testbed of one run, shared by the tasks that change it.
pub struct Testbed<S> {
    /// The store that the servers belong to.
    pub store: StoreId,
    /// The servers, by number.
    pub servers: Vec<Arc<S>>,
    /// The servers whose memory is filled with junk.
    pub filled: Mutex<BTreeSet<u32>>,
    /// The queue for messages to the drive loop.
    pub outbox: Arc<NoticeSender>,
    /// The observers of the servers, if there are any.
    pub observers: Option<Arc<Observers>>,
    /// True while replies that pass a link are reported.
    reports_passing: Arc<AtomicBool>,
    link_proxies: BTreeMap<(u32, u32), LinkProxy>,
    /// The ways of these links through Toxiproxy, if they lead there.
    pub toxic_links: Option<ToxicLinks>,
    clients: Mutex<BTreeMap<u32, Arc<RunningClient>>>,
    /// The clocks of the clients' machines.
    pub client_clocks: ClientClocks,
}

impl<S: StartedServer> Testbed<S> {
    /// Opens the link proxies between all clients and all servers.
    pub async fn new(
        spec: &WorldSpec,
        (servers, allotment): (&[Arc<S>], &str),
        outbox: NoticeSender,
    ) -> Result<Self, BackendError> {
        let outbox = Arc::new(outbox);
        let reports_passing = Arc::<AtomicBool>::default();
        let observers = Observers::of(spec, outbox.clock(), allotment).map(Arc::new);
        let mut link_proxies = BTreeMap::new();
        for client_number in 0..spec.clients {
            for server in 0..spec.topology.servers() {
                let events = ClientLink {
                    server,
                    outbox: outbox.clone(),
                    reports_passing: reports_passing.clone(),
                    observers: observers.clone(),
                    // Who else uses the servers leaves the run an allotment.
                    troubles: (!allotment.is_empty()).then(|| spec.store.troubles()),
                };
                let link_proxy = open_link_proxy(spec, client_number, server, Box::new(events))?;
                link_proxies.insert((client_number, server), link_proxy);
            }
        }
        let (store, servers) = (spec.store, servers.to_vec());
        let toxic_links = match spec.toxiproxy {
            Some(address) => Some(ToxicLinks::open(spec, address).await?),
            None => None,
        };
        let testbed = Self {
            store,
            servers,
            filled: Mutex::default(),
            outbox,
            observers,
            reports_passing,
            link_proxies,
            toxic_links,
            clients: Mutex::default(),
            client_clocks: ClientClocks::default(),
        };
        if let Err(error) = testbed.aim_all().await {
            // Why it failed matters more than what may be left.
            let _ = testbed.remove_toxic_links().await;
            return Err(error);
        }
        Ok(testbed)
    }

    async fn aim_all(&self) -> Result<(), BackendError> {
        for server in &self.servers {
            self.aim_links(server, None).await?;
        }
        Ok(())
    }

    /// Removes what was made for the links on a Toxiproxy server.
    pub async fn remove_toxic_links(&self) -> Result<(), BackendError> {
        match &self.toxic_links {
            Some(toxic_links) => toxic_links.remove().await,
            None => Ok(()),
        }
    }

    /// Reports replies that pass a link from now on, or no longer.
    pub fn report_passing(&self, reported: bool) {
        self.reports_passing.store(reported, Relaxed);
    }

    /// Makes the links of a server lead to its present address. `data` is what it was to keep, if
    /// it had been there before.
    pub async fn aim_links(&self, server: &Arc<S>, data: Option<Data>) -> Result<(), BackendError> {
        let (endpoint, number) = (server.endpoint()?, server.number());
        if let Some(observers) = &self.observers {
            observers.attach(server, data).await?;
        }
        for client_number in 0..self.client_count() {
            let Some(link_proxy) = self.link_proxy(client_number, number) else { continue };
            let toxic = self.toxic_links.as_ref().and_then(|it| it.get(client_number, number));
            let target = match toxic {
                Some(toxic) => toxic.aim(endpoint.address).await?,
                None => endpoint.address,
            };
            let target = Endpoint { address: target, ..endpoint.clone() };
            link_proxy.set_target(Some(target)).map_err(no_link)?;
        }
        Ok(())
    }

    /// Takes the last reports of a server that is about to be killed.
    pub async fn take_last_reports(&self, server: &S) {
        if let Some(observers) = &self.observers {
            observers.release(server.number()).await;
        }
    }

    /// Makes the links of a server refuse connections: its port may soon be another's.
    pub fn loosen_links(&self, server: &S) -> Result<(), BackendError> {
        self.link_proxies_of(server.number())
            .try_for_each(|link_proxy| link_proxy.set_target(None))
            .map_err(no_link)
    }

    /// The addresses that a client connects to, by server.
    pub fn addresses(&self, client_number: u32) -> Vec<String> {
        let link_proxies = self.link_proxies.range((client_number, 0)..=(client_number, u32::MAX));
        link_proxies.map(|(_, link_proxy)| link_proxy.address().to_string()).collect()
    }

    /// The link proxy between a client and a server.
    pub fn link_proxy(&self, client_number: u32, server: u32) -> Option<&LinkProxy> {
        self.link_proxies.get(&(client_number, server))
    }

    /// Ends the client with this number and leaves its place empty. What it has sent may still
    /// arrive, as over any network.
    pub fn remove_client(&self, client_number: u32) {
        if let Some(client) = self.lock_clients().remove(&client_number) {
            client.end();
        }
    }

    /// Puts a client in an empty place, whose links are its own from now on.
    pub fn put_client(&self, client_number: u32, client: Arc<RunningClient>) {
        let link_proxies = self.link_proxies.range((client_number, 0)..=(client_number, u32::MAX));
        link_proxies.for_each(|(_, link_proxy)| link_proxy.serve(client.number()));
        self.lock_clients().insert(client_number, client);
    }

    /// The client with this number, which may have ended.
    pub fn client(&self, client_number: u32) -> Option<Arc<RunningClient>> {
        self.lock_clients().get(&client_number).cloned()
    }

    /// The client with this process number, unless another has taken its place.
    pub fn process(&self, process: u32) -> Option<Arc<RunningClient>> {
        self.lock_clients().values().find(|client| client.number() == process).cloned()
    }

    /// The processes of the clients that run.
    pub fn client_processes(&self) -> Vec<(Node, u32)> {
        let clients = lock(&self.clients);
        clients.iter().map(|(number, it)| (Node::Client(*number), it.leader())).collect()
    }

    /// All clients, of which some may have ended.
    pub fn clients(&self) -> Vec<Arc<RunningClient>> {
        self.lock_clients().values().cloned().collect()
    }

    /// The number of clients.
    pub fn client_count(&self) -> u32 {
        self.link_proxies.last_key_value().map_or(0, |((client_number, _), _)| client_number + 1)
    }

    /// The time since the run began.
    pub fn now(&self) -> Mono {
        self.outbox.clock().now()
    }

    /// The link proxies of all clients to a server.
    pub fn link_proxies_of(&self, server: u32) -> impl Iterator<Item = &LinkProxy> {
        self.link_proxies
            .iter()
            .filter(move |((_, to), _)| *to == server)
            .map(|(_, link_proxy)| link_proxy)
    }

    fn lock_clients(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Arc<RunningClient>>> {
        lock(&self.clients)
    }
}

/// A link of the testbed: what happens on it is known to those who want to know.
struct ClientLink {
    server: u32,
    outbox: Arc<NoticeSender>,
    reports_passing: Arc<AtomicBool>,
    observers: Option<Arc<Observers>>,
    /// The words in which a server has a trouble that the run has not made; `None` of one that is the
    /// run's own.
    troubles: Option<TroubleWords>,
}

impl LinkEvents for ClientLink {
    fn unreachable(&self, error: &io::Error) {
        if self.troubles.is_some() {
            let what = format!("{} takes no connections: {error}", node_name(self.server));
            self.outbox.tell(Notice::Interference { what });
        }
    }

    fn connected(&self, process: u32, port: u16) {
        if let Some(observers) = &self.observers {
            observers.connected(self.server, port, process);
        }
    }

    fn asked(&self, port: u16, bytes: &[u8]) {
        if let Some(observers) = &self.observers {
            observers.passed(self.server, port, || Passage::Request(bytes.to_vec()));
        }
    }

    fn answered(&self, port: u16, bytes: &[u8]) {
        if let Some(line) = self.troubles.and_then(|troubles| troubles.line_of(bytes)) {
            let what = turned_away(&node_name(self.server), line);
            self.outbox.tell(Notice::Interference { what });
        }
        if let Some(observers) = &self.observers {
            observers.passed(self.server, port, || Passage::Reply(bytes.to_vec()));
        }
    }

    fn closed(&self, port: u16) {
        if let Some(observers) = &self.observers {
            observers.passed(self.server, port, || Passage::Closed);
        }
    }

    fn passed(&self, process: u32) {
        if self.reports_passing.load(Relaxed) {
            self.outbox.tell(Notice::Passed { process, server: self.server });
        }
    }
}

fn open_link_proxy(
    spec: &WorldSpec,
    client_number: u32,
    server: u32,
    events: Box<dyn LinkEvents>,
) -> Result<LinkProxy, BackendError> {
    let rng = Rng::fork(spec.seed, LINKS + (u64::from(client_number) << 16) + u64::from(server));
    let delay = Delay { base: spec.link_delay, jitter: Duration::ZERO };
    LinkProxy::open(delay, rng, spec.store.carries_call(), events).map_err(no_link)
}

fn no_link(error: io::Error) -> BackendError {
    super::broken("cannot open a link proxy on the loopback", error)
}
