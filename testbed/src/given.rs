//! Servers that somebody else runs: clients reach them through link proxies as they reach any
//! others, and faults hit clients and their links alone. A run keeps to keys of its own there, and
//! removes them.

use super::probe::ask;
use super::servers::{ClockAct, Servers, StartedServer};
use super::wall_clock::ServerWallClock;
use super::{Lack, broken, owner};
use async_trait::async_trait;
use base::{Ability, BackendError, Direction};
use futures_util::Stream;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stores::{Cluster, Endpoint, MarkQuestion, Probe, StoreId, Whose, node_name};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::LocalSet;
use tokio::time::timeout;

/// The longest time for a connection to a server.
const LIMIT: Duration = Duration::from_secs(5);

/// The longest time for a look at a server. One that has much to do is not taken for one that
/// answers nobody.
const LOOK_LIMIT: Duration = Duration::from_secs(2);

/// The servers of a run that others use, too.
pub struct GivenServers {
    store: StoreId,
    /// The name that all keys of the run begin with.
    allotment: String,
    all: Vec<Arc<GivenServer>>,
}

/// A server that somebody else runs.
pub struct GivenServer {
    number: u32,
    address: SocketAddr,
    /// The question whether it still has what the run left there before its first client.
    mark: Option<MarkQuestion>,
    /// The question for one that has nothing to lose: any answer will do.
    probe: Probe,
}

impl GivenServers {
    /// The words of a server that takes a connection only to turn it away, which a client may not
    /// have read before it went on to write.
    async fn refusal(&self) -> Option<String> {
        for server in &self.all {
            let endpoint = Endpoint::without_login(server.address);
            if let Ok(Ok(said)) = timeout(LOOK_LIMIT, ask(&endpoint, b"")).await
                && let Some(line) = self.store.troubles().line_of(said.as_bytes())
            {
                return Some(format!("{}: {line}", node_name(server.number)));
            }
        }
        None
    }

    async fn remove_keys(&self, whose: Whose) -> Result<u64, BackendError> {
        let servers = self.all.iter().map(|server| server.address.to_string()).collect();
        let removed = self.store.remove_allotments(servers, whose);
        let removed = LocalSet::new().run_until(removed).await;
        removed.map_err(|why| broken("cannot remove what a run has left on its servers", why))
    }
}

#[async_trait(?Send)]
impl Servers for GivenServers {
    const BACKEND: &'static str = "servers";
    const OURS: bool = false;
    const LOOKS: Duration = Duration::from_secs(1);
    type Server = GivenServer;

    fn can_set_clocks(_: StoreId, ability: Ability) -> Result<(), Lack> {
        let lack = Lack::of(ability).because("the servers belong to somebody else");
        Err(lack.unless("--backend local"))
    }

    fn can_delay_peers(ability: Ability) -> Result<(), Lack> {
        let lack = Lack::of(ability).because("the servers belong to somebody else");
        Err(lack.unless("--backend local"))
    }

    fn can_lead_programs(ability: Ability) -> Result<(), Lack> {
        let lack = Lack::of(ability).because("the servers belong to somebody else");
        Err(lack.unless("--backend local"))
    }

    fn can_run_servers(ability: Ability) -> Result<(), Lack> {
        let lack = Lack::of(ability).because("the servers belong to somebody else");
        Err(lack.unless("--backend local"))
    }

    /// Takes them as they are, and leaves a mark on each.
    async fn start(
        store: StoreId,
        cluster: Cluster,
        progress: &dyn for<'a> Fn(&'a str),
    ) -> Result<Self, BackendError> {
        store.can_be_given(cluster.topology).map_err(|why| BackendError(why.into()))?;
        progress("looking at the servers");
        let (mut all, allotment) = (Vec::new(), owner::own_name());
        for (number, given) in (0..).zip(&cluster.given) {
            let address = reached(number, given).await?;
            let mark = store.ask_for_mark(&allotment);
            let probe = store.probe(&cluster, number);
            all.push(Arc::new(GivenServer { number, address, mark, probe }));
        }
        let servers = Self { store, allotment, all };
        let addresses = servers.all.iter().map(|server| server.address.to_string()).collect();
        let mark = store.mark(addresses, servers.allotment.clone());
        let marked = LocalSet::new().run_until(mark).await;
        let what = format!("these servers are of no use to a lock on {}", store.name());
        match marked {
            Ok(()) => {
                let chosen = owner::is_abandoned_here;
                servers.remove_keys(Whose::Others { prefix: owner::PREFIX, chosen }).await?;
                Ok(servers)
            }
            Err(why) => {
                let why = servers.refusal().await.unwrap_or(why);
                // Why it failed matters more than that a mark may be left.
                let _ = servers.remove().await;
                Err(broken(what, why))
            }
        }
    }

    fn all(&self) -> &[Arc<GivenServer>] {
        &self.all
    }

    fn allotment(&self) -> &str {
        &self.allotment
    }

    fn reports(&self) -> impl Stream<Item = String> + Send + 'static {
        futures_util::stream::empty()
    }

    async fn remove(self) -> Result<(), BackendError> {
        // What clients had sent before their end may only arrive now.
        while self.remove_keys(Whose::Own(self.allotment.clone())).await? > 0 {}
        Ok(())
    }
}

/// The address of a server at which somebody takes connections.
async fn reached(number: u32, given: &str) -> Result<SocketAddr, BackendError> {
    let connect = async {
        let mut last = None;
        for address in lookup_host(given).await? {
            match TcpStream::connect(address).await {
                Ok(_) => return Ok(address),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| std::io::Error::other("the name has no address")))
    };
    let what = format!("cannot reach {} at {given}", node_name(number));
    match timeout(LIMIT, connect).await {
        Ok(connected) => connected.map_err(|error| broken(what, error)),
        Err(_) => Err(broken(what, format!("no answer within {LIMIT:?}"))),
    }
}

impl GivenServer {
    fn not_ours(&self) -> BackendError {
        BackendError(format!("{} belongs to somebody else", node_name(self.number)))
    }
}

/// Refuses all that would be done to it. No run gets that far: such faults are refused before it.
#[async_trait]
impl StartedServer for GivenServer {
    type Cut = ();
    const CUT: &'static str = "nothing";

    fn number(&self) -> u32 {
        self.number
    }

    fn address(&self) -> Result<SocketAddr, BackendError> {
        Ok(self.address)
    }

    fn is_running(&self) -> bool {
        true
    }

    fn is_up(&self) -> bool {
        true
    }

    async fn pause(&self) -> Result<(), BackendError> {
        Err(self.not_ours())
    }

    async fn unpause(&self) -> Result<bool, BackendError> {
        Err(self.not_ours())
    }

    async fn keep_data(&self) -> Result<(), BackendError> {
        Err(self.not_ours())
    }

    async fn kill(&self) -> Result<(), BackendError> {
        Err(self.not_ours())
    }

    async fn is_dead(&self) -> Result<bool, BackendError> {
        Err(self.not_ours())
    }

    async fn restart(&self) -> Result<(), BackendError> {
        Err(self.not_ours())
    }

    async fn until_serving(&self) -> Result<SocketAddr, BackendError> {
        Ok(self.address)
    }

    async fn came_back_empty(&self) -> Result<bool, BackendError> {
        Err(self.not_ours())
    }

    async fn silence(&self) -> Result<(), BackendError> {
        Err(self.not_ours())
    }

    async fn cut(self: &Arc<Self>, _: &Arc<Self>, _: Direction) -> Result<(), BackendError> {
        Err(self.not_ours())
    }

    async fn mend((): ()) -> Result<u64, BackendError> {
        Ok(0)
    }

    fn clock(&self) -> Option<ServerWallClock> {
        None
    }

    async fn with_clock(&self, _: ClockAct) -> Result<(), BackendError> {
        Err(self.not_ours())
    }

    async fn interference(&self) -> Option<String> {
        let question = match &self.mark {
            Some(mark) => mark.send.as_bytes(),
            None => self.probe.send,
        };
        if question.is_empty() {
            return None;
        }
        let endpoint = Endpoint::without_login(self.address);
        let name = node_name(self.number);
        let Ok(asked) = timeout(LOOK_LIMIT, ask(&endpoint, question)).await else {
            return Some(format!("{name} does not answer"));
        };
        // Of one that takes no connection, the links of clients tell.
        let answer = asked.ok()?;
        answer.starts_with(self.mark.as_ref()?.gone).then(|| {
            format!("{name} has lost its data: somebody emptied it, or it came back without them")
        })
    }

    async fn shell_in_data(&self, _command: String) -> Result<String, BackendError> {
        Err(self.not_ours())
    }

    async fn log(&self) -> String {
        "the log of this server is with whoever runs it\n".into()
    }
}
