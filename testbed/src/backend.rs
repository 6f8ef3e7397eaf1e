//! The backend of real servers, wherever they run, with clients that are processes of their own.
//!
//! Each client reaches each server through a link proxy of its own (`link_proxy`). All waiting is
//! done by tasks on a runtime of this backend, which go on whenever the drive loop waits for their
//! messages (`advance`).

use super::clients::{RunningClient, built_in_client};
use super::clock::RunClock;
use super::faults::{self, Heal};
use super::interference;
use super::notices::{NoticeReceiver, notices};
use super::servers::{Servers, save_logs};
use super::stalls;
use super::standings::ReportedStandings;
use super::testbed::Testbed;
use super::{broken, owner, process, runtime};
use base::{
    Backend, BackendError, ClientRequest, Command, Fault, FaultId, Init, Key, Ledger, Message,
    Mono, Notice, Passing, ProgramCommand, Rng, ServerStanding,
};
use futures_util::future::join_all;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use stores::{ProgramAllotment, WorldSpec};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// `advance` returns at least this often, so that its caller can look for Ctrl-C.
const STEP: Duration = Duration::from_millis(100);

/// A run on real servers. Make and use it on one thread that lives as long as the run: clients die
/// with the thread that started them.
pub struct RealBackend<S: Servers> {
    spec: WorldSpec,
    client_command: ProgramCommand,
    /// The name by which its clients, and whatever they start, are found.
    name_for_clients: String,
    runtime: Runtime,
    servers: Option<S>,
    testbed: Option<Arc<Testbed<S::Server>>>,
    /// The watch over the servers, and the heals. They end before the servers are removed.
    tasks: Vec<JoinHandle<()>>,
    inbox: NoticeReceiver,
    clock: RunClock,
    /// The injection of each fault, which yields its heal.
    faults: BTreeMap<FaultId, JoinHandle<Option<Heal>>>,
    /// The standings of the servers, once somebody wants to know them.
    standings: Option<Arc<ReportedStandings>>,
}

impl<S: Servers> RealBackend<S> {
    /// Starts the servers, with the clients of this binary. Removes first what killed runs left
    /// behind; `progress` gets what goes on, line by line.
    ///
    /// # Errors
    /// Fails when a server does not come up, or there is nothing to start it with.
    pub fn start(spec: &WorldSpec, progress: &dyn Fn(&str)) -> Result<Self, BackendError> {
        Self::start_with(spec, built_in_client()?, progress)
    }

    /// Does the same with another program as picklock's own client.
    ///
    /// # Errors
    /// As for `start`.
    pub fn start_with(
        spec: &WorldSpec,
        client_command: ProgramCommand,
        progress: &dyn Fn(&str),
    ) -> Result<Self, BackendError> {
        if let Some(folder) = &spec.logs {
            // A run goes on without its logs; `stop` says so.
            let _ = std::fs::create_dir_all(folder);
        }
        let runtime = runtime()?;
        let servers = runtime.block_on(S::start(spec.store, spec.cluster(), progress))?;
        let clock = RunClock::start();
        let (outbox, inbox) = notices(clock);
        let testbed = match runtime.block_on(Testbed::new(
            spec,
            (servers.all(), servers.allotment()),
            outbox,
        )) {
            Ok(testbed) => Arc::new(testbed),
            Err(error) => {
                // What stays is removed by the next start.
                let _ = runtime.block_on(servers.remove());
                return Err(error);
            }
        };
        if spec.store.leads_clients(spec.topology) {
            let clients: Weak<Testbed<S::Server>> = Arc::downgrade(&testbed);
            servers.lead(clients);
        }
        let watch = interference::watch(servers.reports(), S::LOOKS, testbed.clone());
        let tasks = vec![runtime.spawn(watch), runtime.spawn(stalls::watch(testbed.clone()))];
        Ok(Self {
            spec: spec.clone(),
            client_command: spec.client.clone().unwrap_or(client_command),
            name_for_clients: owner::own_name(),
            runtime,
            servers: Some(servers),
            testbed: Some(testbed),
            tasks,
            inbox,
            clock,
            faults: BTreeMap::new(),
            standings: None,
        })
    }

    /// Ends the clients and all that goes on between them and the servers, and saves the logs.
    fn end_run(&mut self) -> Result<(), BackendError> {
        let testbed = self.testbed.take();
        let clients = testbed.as_ref().map_or(Vec::new(), |testbed| testbed.clients());
        let tasks = std::mem::take(&mut self.tasks);
        let faults = std::mem::take(&mut self.faults);
        self.runtime.block_on(async {
            let kills = join_all(clients.iter().map(|client| client.kill()));
            // One that handed its stdout on to a stranger would never be seen to end.
            let _ = timeout(Duration::from_secs(5), kills).await;
            let strays = end_strays(&self.name_for_clients);
            let _ = timeout(Duration::from_secs(5), strays).await;
            end_all(tasks).await;
            end_all(faults.into_values()).await;
            let removed = match testbed {
                Some(testbed) => testbed.remove_toxic_links().await,
                None => Ok(()),
            };
            let saved = match (&self.spec.logs, &self.servers) {
                (Some(folder), Some(servers)) => save_logs(servers.all(), folder).await,
                _ => Ok(()),
            };
            removed.and(saved)
        })
    }

    /// The servers, by number; none once the run has been stopped.
    pub fn servers(&self) -> &[Arc<S::Server>] {
        self.servers.as_ref().map_or(&[], S::all)
    }

    /// Waits for something that is to be known of them, beside the run.
    pub fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    fn testbed(&self) -> Result<Arc<Testbed<S::Server>>, BackendError> {
        self.testbed.clone().ok_or_else(|| BackendError("the run has been stopped".into()))
    }

    /// The name that all keys of the run begin with; empty for none.
    fn allotment(&self) -> &str {
        self.servers.as_ref().map_or("", S::allotment)
    }

    /// The way in which a program keeps to it, if the clients are one.
    fn program_allotment(&self) -> Option<ProgramAllotment> {
        let is_needed = self.spec.client.is_some() && !self.allotment().is_empty();
        is_needed.then(|| self.spec.store.program_allotment()).flatten()
    }

    fn init(
        &self,
        testbed: &Testbed<S::Server>,
        (client_number, process): (u32, u32),
        variables: BTreeMap<String, String>,
    ) -> ClientRequest {
        let nanos = |it: Duration| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX);
        let (clock, drifted_ns) =
            testbed.client_clocks.setting_and_drift(client_number, testbed.now());
        let key = |key: Key| match self.program_allotment() {
            Some(allotted) => allotted.key(self.allotment(), &key).into(),
            None => key,
        };
        let init = Init {
            algo: self.spec.algo.clone(),
            process,
            servers: testbed.addresses(client_number),
            variables,
            keys: (0..self.spec.keys).map(|number| key(Key::numbered(number))).collect(),
            allotment: self.allotment().into(),
            topology: self.spec.topology.name.into(),
            ttl_ns: nanos(self.spec.ttl),
            call_timeout_ns: nanos(self.spec.call_timeout),
            seed: Rng::fork(self.spec.seed, u64::from(process)).next(),
            clock,
            drifted_ns,
            names_calls: self.spec.names_calls,
            workers: self.spec.workers,
            ..Init::default()
        };
        ClientRequest { id: 0, worker: 0, command: Command::Init(Box::new(init)) }
    }
}

impl<S: Servers> Backend for RealBackend<S> {
    fn name(&self) -> &'static str {
        S::BACKEND
    }

    fn now(&self) -> Mono {
        self.clock.now()
    }

    fn spawn(&mut self, client_number: u32, process: u32) -> Result<(), BackendError> {
        let testbed = self.testbed()?;
        if client_number >= testbed.client_count() {
            return Err(BackendError(format!("there is no client {client_number} in this run")));
        }
        // Whoever had this number before is given up.
        testbed.remove_client(client_number);
        let _within = self.runtime.enter();
        let logs = self.spec.logs.as_deref();
        let outbox = testbed.outbox.clone();
        let password = self.servers.as_ref().and_then(S::password);
        let mut addresses = testbed.addresses(client_number);
        if let Some(allotted) = self.program_allotment() {
            addresses = allotted.addresses(self.allotment(), addresses);
        }
        let servers = self.spec.store.variables(self.spec.topology, &addresses, password);
        let mark = (owner::CLIENTS_VARIABLE, self.name_for_clients.clone());
        let command = self.client_command.reaching(&servers).with_variable(mark);
        let client = RunningClient::start(&command, process, logs, outbox)?;
        let variables = servers.into_iter().map(|(name, value)| (name.into(), value)).collect();
        client.send(self.init(&testbed, (client_number, process), variables));
        testbed.put_client(client_number, client);
        Ok(())
    }

    fn send(&mut self, process: u32, mut request: ClientRequest) {
        if let (Some(allotted), Command::Acquire(acquire)) =
            (self.program_allotment(), &mut request.command)
        {
            acquire.key = allotted.key(self.allotment(), &acquire.key).into();
        }
        if let Some(client) = self.testbed.as_ref().and_then(|testbed| testbed.process(process)) {
            client.send(request);
        }
    }

    fn inject(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError> {
        let testbed = self.testbed()?;
        faults::check::<S>(&testbed, fault)?;
        let fault = fault.clone();
        let injection = self.runtime.spawn(async move {
            match faults::inject(&testbed, &fault).await {
                Ok(heal) => {
                    testbed.outbox.tell(Notice::Injected { id });
                    Some(heal)
                }
                Err(error) => {
                    testbed.give_up(id, broken(format!("cannot inject \"{fault}\""), error)).await;
                    None
                }
            }
        });
        self.faults.insert(id, injection);
        Ok(())
    }

    fn heal(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError> {
        let testbed = self.testbed()?;
        let injection = self.faults.remove(&id);
        let injection = injection
            .ok_or_else(|| BackendError(format!("fault {id} (\"{fault}\") is not in force")))?;
        let fault = fault.clone();
        let heal = self.runtime.spawn(async move {
            // One that failed has been reported, and is nothing to undo.
            let Ok(Some(heal)) = injection.await else { return };
            match heal.await {
                Ok(effect) => drop(testbed.outbox.tell(Notice::Healed { id, effect })),
                Err(error) => {
                    testbed.give_up(id, broken(format!("cannot heal \"{fault}\""), error)).await;
                }
            }
        });
        self.tasks.push(heal);
        Ok(())
    }

    fn advance(
        &mut self,
        until: Mono,
        passing: Passing,
        inbox: &mut Vec<Message>,
    ) -> Result<(), BackendError> {
        if let Some(testbed) = &self.testbed {
            testbed.report_passing(passing != Passing::Ignored);
        }
        let longest = until.since(self.now()).min(STEP);
        let before = inbox.len();
        self.runtime.block_on(self.inbox.take(longest, inbox))?;
        if let Some(testbed) = self.testbed.as_ref().filter(|_| !S::OURS) {
            let trouble = |it: &Message| interference::own_trouble(self.spec.store, &it.notice);
            if let Some(what) = inbox[before..].iter().find_map(trouble) {
                testbed.outbox.tell(Notice::Interference { what });
            }
        }
        Ok(())
    }

    fn standings(&mut self) -> Vec<Option<ServerStanding>> {
        if let (None, Some(testbed)) = (&self.standings, &self.testbed) {
            let standings = Arc::<ReportedStandings>::default();
            self.tasks.push(self.runtime.spawn(standings.clone().follow(testbed.clone())));
            self.standings = Some(standings);
        }
        self.standings.as_ref().map_or(Vec::new(), |it| it.latest())
    }

    fn ledger(&mut self) -> Option<Ledger> {
        let observers = self.testbed.as_ref()?.observers.clone()?;
        self.runtime.block_on(observers.ledger())
    }

    fn interference(&mut self) -> Option<String> {
        let testbed = self.testbed.clone()?;
        self.runtime.block_on(async { testbed.interference().await })
    }

    fn stop(&mut self) -> Result<(), BackendError> {
        let saved = self.end_run();
        let removed = self.servers.take().map(|servers| self.runtime.block_on(servers.remove()));
        removed.unwrap_or(Ok(())).and(saved)
    }
}

/// Ends what clients of a run have started and left behind: it may be in a session of its own.
async fn end_strays(run: &str) {
    loop {
        let strays: Vec<u32> = owner::clients_of(run).collect();
        if strays.is_empty() {
            return;
        }
        process::signal_all(&strays, Signal::SIGKILL);
        sleep(Duration::from_millis(1)).await;
    }
}

/// Ends tasks and waits until they have let go of what they hold.
async fn end_all<T>(tasks: impl IntoIterator<Item = JoinHandle<T>>) {
    for task in tasks {
        task.abort();
        let _ = task.await;
    }
}

impl<S: Servers> Drop for RealBackend<S> {
    fn drop(&mut self) {
        // Whoever wants to know about the logs has stopped it before.
        let _ = self.stop();
    }
}
