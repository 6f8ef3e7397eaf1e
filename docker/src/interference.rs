//! Interference: actions of someone else on servers and clients during a run, which removes, kills,
//! stops, pauses or starts one. Such a run says nothing about the lock, and must not seem to.
//!
//! The engine reports what is done to containers, and the kernel what is done to processes; both
//! remember what was too short to be seen. Besides, servers are compared with what was made of them
//! here, now and then and at the end.

use super::owner;
use super::testbed::Testbed;
use base::{BackendError, Notice};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use testcontainers::bollard::Docker;
use testcontainers::bollard::models::EventMessage;
use testcontainers::bollard::query_parameters::EventsOptions;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// The interval between two looks at the clients.
const CLIENTS: Duration = Duration::from_millis(100);
/// The interval between two looks at the servers: each is a request to the engine.
const SERVERS: Duration = Duration::from_secs(1);
/// The time that the engine has to report more of the same.
const MORE: Duration = Duration::from_millis(500);

/// Reports the first interference in a run, as soon as it is known.
pub async fn watch(docker: Docker, run: String, testbed: Arc<Testbed>) {
    let label = format!("{}={run}", owner::RUN);
    let filters = [("label".into(), vec![label]), ("type".into(), vec!["container".into()])];
    let options = EventsOptions { filters: Some(filters.into()), ..Default::default() };
    let mut events = std::pin::pin!(docker.events(Some(options)));
    let (mut clients, mut servers) = (interval(CLIENTS), interval(SERVERS));
    servers.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut what = loop {
        let seen = tokio::select! {
            event = events.next() => match event {
                Some(Ok(event)) => testbed.told(&event),
                Some(Err(error)) => Some(format!("the engine tells no more: {error}")),
                None => Some("the engine tells no more".into()),
            },
            _ = clients.tick() => testbed.client_interference(),
            _ = servers.tick() => testbed.server_interference().await,
        };
        if let Some(what) = seen {
            break what;
        }
    };
    // What is removed is killed first, and its removal says more.
    while let Ok(Some(Ok(event))) = timeout(MORE, events.next()).await {
        if let Some(more) = testbed.told(&event) {
            what = format!("{what}; {more}");
        }
    }
    testbed.outbox.tell(Notice::Interference { what });
}

impl Testbed {
    /// An interference that can be seen now, in words; `None` if there is none.
    pub async fn interference(&self) -> Option<String> {
        match self.client_interference() {
            Some(what) => Some(what),
            None => self.server_interference().await,
        }
    }

    /// Reports a failed action: the testbed broke, unless someone else broke it.
    pub async fn fail(&self, error: BackendError) {
        match self.interference().await {
            Some(what) => drop(self.outbox.tell(Notice::Interference { what })),
            None => self.outbox.fail(error),
        }
    }

    fn client_interference(&self) -> Option<String> {
        self.clients().iter().find_map(|client| client.interference())
    }

    async fn server_interference(&self) -> Option<String> {
        for server in &self.servers {
            if let Some(what) = server.interference().await {
                return Some(what);
            }
        }
        None
    }

    /// The engine's event in words; `None` if it was caused here.
    fn told(&self, event: &EventMessage) -> Option<String> {
        let actor = event.actor.as_ref()?;
        let server = self.servers.iter().find(|it| Some(it.id()) == actor.id.as_deref())?;
        let told = server.told(event.action.as_deref()?)?;
        let attribute = |name| actor.attributes.as_ref()?.get(name);
        let more = attribute("signal").map(|signal| format!(" (signal {signal})"));
        let more = more.or_else(|| attribute("exitCode").map(|it| format!(" (exit code {it})")));
        Some(told + &more.unwrap_or_default())
    }
}
