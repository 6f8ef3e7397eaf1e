//! Interference: actions of someone else on servers and clients during a run, which removes, kills,
//! stops, pauses or starts one. Such a run says nothing about the lock, and must not seem to.
//!
//! The kernel reports what is done to processes, and an engine what is done to its containers; both
//! remember what was too short to be seen. Besides, servers are compared with what was made of them
//! here, now and then and at the end. Of servers that somebody else runs there is nothing to see but
//! their answers: no fault of a run hits them, so where one turns a client away, takes no
//! connection, or no longer has the mark that the run left there, it has a trouble of its own.

use super::servers::StartedServer;
use super::testbed::Testbed;
use base::{BackendError, ClientReply, FaultId, Notice};
use futures_util::{Stream, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use stores::StoreId;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// The interval between two looks at the clients.
pub const CLIENTS: Duration = Duration::from_millis(100);
/// The time within which more of the same is reported.
const MORE: Duration = Duration::from_millis(500);
/// The most characters of an error that are shown.
const SHOWN: usize = 200;

/// Tells of the first interference in a run, as soon as it is known.
pub async fn watch<S: StartedServer>(
    reports: impl Stream<Item = String> + Send,
    looks: Duration,
    testbed: Arc<Testbed<S>>,
) {
    let mut reports = std::pin::pin!(reports);
    let (mut clients, mut servers) = (interval(CLIENTS), interval(looks));
    servers.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut what = loop {
        let seen = tokio::select! {
            Some(report) = reports.next() => Some(report),
            _ = clients.tick() => testbed.client_interference(),
            _ = servers.tick() => testbed.server_interference().await,
        };
        if let Some(what) = seen {
            break what;
        }
    };
    // What is removed is killed first, and its removal says more.
    while let Ok(Some(more)) = timeout(MORE, reports.next()).await {
        what = format!("{what}; {more}");
    }
    testbed.outbox.tell(Notice::Interference { what });
}

/// Describes the trouble of a server that sent, or had a client report, this error.
pub fn turned_away(by: &str, error: &str) -> String {
    let shown: String = error.chars().take(SHOWN).collect();
    format!("{by} turned a client away (\"{shown}\")")
}

/// Returns the trouble that a server of somebody else has, if a client has reported it.
pub fn own_trouble(store: StoreId, notice: &Notice) -> Option<String> {
    let Notice::Client { response, .. } = notice else { return None };
    let (ClientReply::Fail { error, .. } | ClientReply::Info { error, .. }) = &response.reply
    else {
        return None;
    };
    store.troubles().are_in(error).then(|| turned_away("a server", error))
}

impl<S: StartedServer> Testbed<S> {
    /// An interference that can be seen now, in words; `None` if there is none.
    pub async fn interference(&self) -> Option<String> {
        match self.client_interference() {
            Some(what) => Some(what),
            None => self.server_interference().await,
        }
    }

    /// Reports that a fault could not be injected or undone: the testbed broke, unless someone else
    /// broke it.
    pub async fn give_up(&self, id: FaultId, error: BackendError) {
        self.outbox.tell(Notice::GivenUp { id });
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
}
