//! The links of a run through a Toxiproxy server: a proxy there for each client and server.

use super::api::Api;
use super::toxic::{Toxic, least_round_trip, toxics};
use crate::{broken, owner, probe};
use base::{BackendError, LinkFault};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stores::{WorldSpec, node_name};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// The longest time for a round trip, beside what faults add.
const LIMIT: Duration = Duration::from_secs(5);

/// The links of a run. They have to be removed with `remove`.
pub struct ToxicLinks {
    api: Api,
    all: BTreeMap<(u32, u32), Arc<ToxicLink>>,
}

/// A link between one client and one server.
pub struct ToxicLink {
    api: Api,
    name: String,
    server: u32,
    /// The delay that the link has without faults.
    delay: Duration,
    /// A question that the server answers.
    question: &'static [u8],
    state: Mutex<ToxicState>,
}

/// The proxy as it was last made.
#[derive(Default)]
struct ToxicState {
    /// The address of the server, and that of the proxy before it.
    way: Option<(SocketAddr, SocketAddr)>,
    in_force: Vec<LinkFault>,
}

impl ToxicLinks {
    /// Finds the server, and removes what killed runs left there. No proxy is made yet.
    pub async fn open(spec: &WorldSpec, address: SocketAddr) -> Result<Self, BackendError> {
        let api = Api::connect(address).await?;
        let names = api.names().await?.into_iter();
        api.delete(names.filter(|name| owner::is_abandoned(name)).collect()).await?;
        let mut all = BTreeMap::new();
        let cluster = spec.cluster();
        for client_number in 0..spec.clients {
            for server in 0..spec.topology.servers() {
                let link = ToxicLink {
                    api: api.clone(),
                    name: owner::own_name(),
                    server,
                    delay: spec.link_delay,
                    question: spec.store.probe(&cluster, server).send,
                    state: Mutex::default(),
                };
                all.insert((client_number, server), Arc::new(link));
            }
        }
        Ok(Self { api, all })
    }

    /// The link between a client and a server.
    pub fn get(&self, client_number: u32, server: u32) -> Option<&Arc<ToxicLink>> {
        self.all.get(&(client_number, server))
    }

    /// Deletes all its proxies.
    pub async fn remove(&self) -> Result<(), BackendError> {
        self.api.delete(self.all.values().map(|link| link.name.clone()).collect()).await
    }
}

impl ToxicLink {
    /// Makes it lead to a server, and returns the address at which it begins.
    pub async fn aim(&self, upstream: SocketAddr) -> Result<SocketAddr, BackendError> {
        let mut state = self.state.lock().await;
        if let Some((to, entrance)) = state.way
            && to == upstream
        {
            return Ok(entrance);
        }
        let entrance = self.api.create(&self.name, upstream).await?;
        state.way = Some((upstream, entrance));
        self.api.set_toxics(&self.name, self.toxics(&state)).await?;
        match self.round_trip(&state).await {
            Some(_) => Ok(entrance),
            None => Err(broken(
                format!(
                    "{} does not answer through Toxiproxy at {entrance}",
                    node_name(self.server)
                ),
                format!(
                    "does it run on this machine, with its network, so that it reaches {upstream}?"
                ),
            )),
        }
    }

    /// Puts a fault in force.
    pub async fn add(&self, fault: LinkFault) -> Result<(), BackendError> {
        let mut state = self.state.lock().await;
        state.in_force.push(fault);
        self.api.set_toxics(&self.name, self.toxics(&state)).await
    }

    /// Ends a fault.
    ///
    /// # Errors
    /// Fails when somebody else has ended it before.
    pub async fn end(&self, fault: LinkFault) -> Result<(), BackendError> {
        let mut state = self.state.lock().await;
        self.api.check_toxics(&self.name, self.toxics(&state)).await?;
        if let Some(place) = state.in_force.iter().position(|it| *it == fault) {
            state.in_force.remove(place);
        }
        self.api.set_toxics(&self.name, self.toxics(&state)).await
    }

    /// Times a round trip under the faults in force; `None` if nobody answers.
    ///
    /// # Errors
    /// Fails when it is faster than they allow: whatever the server lists, it does not do it.
    pub async fn time(&self) -> Result<Option<Duration>, BackendError> {
        let state = self.state.lock().await;
        let least = self.least(&state);
        match self.round_trip(&state).await {
            Some(took) if took < least => Err(broken(
                format!("Toxiproxy does not do what it lists on {}", self.name),
                format!("a round trip took {took:?}, and cannot take less than {least:?}"),
            )),
            took => Ok(took),
        }
    }

    /// Breaks its connections, waits until that is seen, and takes new ones again.
    pub async fn hang_up(&self, seen: impl Future<Output = ()>) -> Result<(), BackendError> {
        let _state = self.state.lock().await;
        self.api.set_enabled(&self.name, false).await?;
        seen.await;
        self.api.set_enabled(&self.name, true).await
    }

    fn toxics(&self, state: &ToxicState) -> Vec<Toxic> {
        toxics(self.delay, &state.in_force)
    }

    fn least(&self, state: &ToxicState) -> Duration {
        least_round_trip(&self.toxics(state), self.question.len())
    }

    async fn round_trip(&self, state: &ToxicState) -> Option<Duration> {
        let (_, entrance) = state.way?;
        let round_trip = probe::round_trip(entrance, self.question);
        timeout(LIMIT + self.least(state), round_trip).await.ok()?.ok()
    }
}
