//! The observers of a run's servers. Each hears from one server what becomes of its data, and they
//! keep one ledger of the store, as the simulator does.

use super::clock::RunClock;
use super::servers::StartedServer;
use super::wall_clock::true_ns;
use super::{broken, lock};
use base::{BackendError, Data, Ledger, Mono};
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use stores::common_log::CommonLog;
use stores::model::{Name, Noted, What};
use stores::observation::{
    CatchUp, Leads, ObservedServer, Observer, Passage, ReportSink, ServerReport, Shell, Traffic,
};
use stores::real::monotonic_nanos;
use stores::{LedgerBuilder, Topology, WorldSpec};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The longest wait for the last reports of a server.
const LAST_REPORTS: Duration = Duration::from_secs(5);

/// The observers of all servers of a run.
pub struct Observers {
    clock: RunClock,
    allotment: Option<String>,
    /// The way to observe each server, by number; `None` where it stores nothing.
    observers: Vec<Option<Observer>>,
    ledger: Arc<Mutex<ObservedLedger>>,
    following: Mutex<BTreeMap<u32, OngoingObservation>>,
}

/// The observation of one server, going on.
struct OngoingObservation {
    task: JoinHandle<()>,
    catch_up: Arc<CatchUp>,
    /// The server was killed since.
    is_released: bool,
    traffic: UnboundedSender<Traffic>,
}

impl Observers {
    /// The observers of a world, before any server is there; `None` of one that cannot be observed.
    /// Behind a Toxiproxy server a connection is not known to be a client's; servers that somebody
    /// else runs are not to be changed for it unasked. `allotment` is the name that all keys of the
    /// run begin with on servers that others use, too.
    pub fn of(spec: &WorldSpec, clock: RunClock, allotment: &str) -> Option<Self> {
        let cluster = spec.cluster();
        let observers = (0..cluster.servers()).map(|it| spec.store.observer(&cluster, it));
        let observers: Vec<_> = observers.collect();
        let is_asked = spec.toxiproxy.is_none() && (spec.given.is_empty() || spec.observes_given);
        let can = observers.iter().any(Option::is_some) && is_asked;
        can.then(|| Self {
            clock,
            allotment: Some(allotment.to_owned()).filter(|name| !name.is_empty()),
            observers,
            ledger: Arc::new(Mutex::new(ObservedLedger::of(spec.topology))),
            following: Mutex::default(),
        })
    }

    /// Observes a server that has been started, from before any client can reach it. `data` is what
    /// it was to keep, if it had been there before.
    ///
    /// # Errors
    /// Fails when it cannot be observed.
    pub async fn attach<S: StartedServer>(
        &self,
        server: &Arc<S>,
        data: Option<Data>,
    ) -> Result<(), BackendError> {
        let number = server.number();
        let Some(observer) = self.observers[number as usize] else { return Ok(()) };
        let before = self.following().remove(&number);
        if let Some(OngoingObservation { mut task, traffic, .. }) = before {
            // Whoever reads it learns so that there is another server in the place of its own.
            drop(traffic);
            if timeout(LAST_REPORTS, &mut task).await.is_err() {
                task.abort();
            }
        }
        let (ledger, clock) = (self.ledger.clone(), self.clock);
        lock(&ledger).started.insert(number, data);
        let reports: ReportSink = Arc::new(move |report| lock(&ledger).take(clock, number, report));
        let (traffic, passing) = unbounded_channel();
        let observed = ObservedServer {
            endpoint: server.endpoint()?,
            allotment: self.allotment.clone(),
            traffic: passing,
            shell: shell_of(server.clone()),
            leads: leads_of(server.clone()),
            reports,
        };
        let observation = (observer.begin)(observed).await;
        let observation =
            observation.map_err(|e| broken(format!("cannot observe server {number}"), e))?;
        let following = OngoingObservation {
            task: tokio::spawn(observation.following),
            catch_up: Arc::new(observation.catch_up),
            is_released: false,
            traffic,
        };
        self.following().insert(number, following);
        Ok(())
    }

    /// Takes all reports of a server that is about to be killed, and expects no more.
    pub async fn release(&self, server: u32) {
        self.catch_up(server).await;
        if let Some(following) = self.following().get_mut(&server) {
            lock(&self.ledger).is_incomplete |= following.task.is_finished();
            following.is_released = true;
        }
    }

    async fn catch_up(&self, server: u32) {
        let catch_up = self.following().get(&server).map(|following| following.catch_up.clone());
        if let Some(catch_up) = catch_up {
            let is_late = timeout(LAST_REPORTS, catch_up()).await.is_err();
            lock(&self.ledger).is_incomplete |= is_late;
        }
    }

    /// A connection to a server now belongs to this process: the port that it comes from.
    pub fn connected(&self, server: u32, port: u16, process: u32) {
        lock(&self.ledger).callers.insert((server, port), process);
    }

    /// Passes on what goes over a connection to a server.
    pub fn passed(&self, server: u32, caller: u16, passage: impl FnOnce() -> Passage) {
        if self.observers[server as usize].is_some_and(|it| it.reads_traffic)
            && let Some(following) = self.following().get(&server)
        {
            let traffic = Traffic { at_ns: monotonic_nanos(), caller, passage: passage() };
            // One that sees nothing any more needs none.
            let _ = following.traffic.send(traffic);
        }
    }

    /// Hands over the ledger; `None` if it is not complete.
    pub async fn ledger(&self) -> Option<Ledger> {
        let there = self
            .following()
            .iter()
            .filter(|(_, it)| !it.is_released)
            .map(|(it, _)| *it)
            .collect::<Vec<_>>();
        join_all(there.into_iter().map(|server| self.release(server))).await;
        lock(&self.ledger).close(self.clock)
    }

    fn following(&self) -> MutexGuard<'_, BTreeMap<u32, OngoingObservation>> {
        lock(&self.following)
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        self.following().values().for_each(|it| it.task.abort());
    }
}

fn shell_of<S: StartedServer>(server: Arc<S>) -> Shell {
    Arc::new(move |command| {
        let server = server.clone();
        Box::pin(async move { server.shell_in_data(command).await.map_err(io::Error::other) })
    })
}

fn leads_of<S: StartedServer>(server: Arc<S>) -> Leads {
    Arc::new(move || server.clock().map_or([Some(0); 2], |clock| clock.leads_ns(true_ns())))
}

/// The ledger in the making, and what it is made from.
struct ObservedLedger {
    ledger: LedgerBuilder,
    /// The log that the members of an ensemble share.
    log: CommonLog,
    /// The process that each connection belongs to: by server, and the port that it comes from.
    callers: BTreeMap<(u32, u16), u32>,
    /// The things on each server, each with a number that stands for its value.
    stored: Vec<BTreeMap<Name, u64>>,
    /// The servers that were replicas by their last reports.
    replicas: BTreeSet<u32>,
    /// The servers that were started and have not reported since what they have, each with what it
    /// was to keep of what it had before.
    started: BTreeMap<u32, Option<Data>>,
    /// Changes may have been missed.
    is_incomplete: bool,
}

impl ObservedLedger {
    fn of(topology: &Topology) -> Self {
        Self {
            ledger: LedgerBuilder::of(topology),
            log: CommonLog::of(topology.servers()),
            callers: BTreeMap::new(),
            stored: vec![BTreeMap::new(); topology.servers() as usize],
            replicas: BTreeSet::new(),
            started: BTreeMap::new(),
            is_incomplete: false,
        }
    }

    /// Takes a report of a server.
    fn take(&mut self, clock: RunClock, server: u32, report: ServerReport) {
        let now = clock.now();
        match report {
            ServerReport::Change { caller, noted, at_ns, value } => {
                let at = at_ns.map_or(now, |at_ns| clock.at(at_ns));
                let process = caller.and_then(|port| self.callers.get(&(server, port)).copied());
                if process.is_some() {
                    // A replica takes no client's command, so it is one no longer.
                    self.turn(at, server, true);
                }
                let stored = &mut self.stored[server as usize];
                match noted.what {
                    What::Written(_) | What::Shared(_) => {
                        stored.insert(noted.object.clone(), value)
                    }
                    _ => stored.remove(&noted.object),
                };
                self.ledger.enter(at, server, process, &mut vec![noted]);
            }
            ServerReport::Contents(names) => self.compare(now, server, names),
            ServerReport::Primary(is_primary) => self.turn(now, server, is_primary),
            ServerReport::Logged(transaction) => self.log.add(server, transaction),
            ServerReport::Asked { request, caller, at_ns } => {
                let process = self.callers.get(&(server, caller)).copied();
                self.log.asked(request, process, at_ns);
            }
            ServerReport::Answered { request, asked_ns, at_ns: Some(at_ns) } => {
                self.log.answered(request, asked_ns, at_ns);
            }
            ServerReport::Answered { request, asked_ns, at_ns: None } => {
                self.log.refused(request, asked_ns);
            }
            ServerReport::Incomplete => self.is_incomplete = true,
        }
    }

    /// Hands over the ledger; `None` if it is not complete.
    fn close(&mut self, clock: RunClock) -> Option<Ledger> {
        if self.is_incomplete {
            return None;
        }
        for mut applied in std::mem::take(&mut self.log).applied()? {
            let at = clock.at(applied.at_ns);
            self.ledger.enter(at, 0, applied.process, &mut applied.noted);
        }
        let mut ledger = self.ledger.take();
        // Several servers report side by side.
        ledger.sort();
        // Where no change is known to be a client's, the engine may hide the ports that they come
        // from.
        (!ledger.entries().is_empty()).then_some(ledger)
    }

    /// Compares what is on a server with what should be.
    fn compare(&mut self, at: Mono, server: u32, names: Vec<Name>) {
        let from = self.ledger.before(server).unwrap_or(server);
        // What came from another server has the value that it has there.
        let value = |name: &Name| {
            let known = [server, from].iter().find_map(|it| self.stored[*it as usize].get(name));
            known.copied().unwrap_or(0)
        };
        let valued = names.into_iter().map(|name| {
            let value = value(&name);
            (name, value)
        });
        let now: BTreeMap<Name, u64> = valued.collect();
        let before = std::mem::replace(&mut self.stored[server as usize], now);
        let started = self.started.remove(&server);
        if from != server {
            return;
        }
        let stored = &self.stored[server as usize];
        let Some(data) = started else {
            // Nobody has reported the difference.
            self.is_incomplete |= !before.keys().eq(stored.keys());
            return;
        };
        let what = match data {
            // It had nothing before, or time went on while it was down.
            None | Some(Data::Kept) => What::Expired,
            Some(Data::Lost | Data::Unsynced) => What::Wiped,
        };
        let gone = before.into_keys().filter(|name| !stored.contains_key(name));
        let mut noted: Vec<_> = gone.map(|name| noted(name, what)).collect();
        self.ledger.enter(at, server, None, &mut noted);
    }

    /// Enters that a server is a primary or a replica from now on.
    fn turn(&mut self, at: Mono, server: u32, is_primary: bool) {
        if !is_primary {
            self.replicas.insert(server);
        } else if self.replicas.remove(&server)
            && let Some(before) = self.ledger.before(server)
        {
            let mut differences = differences(&self.stored, before, server);
            self.ledger.go_over_to(at, server, &mut differences);
        }
    }
}

/// The things that are lost, and those that come back, because one server stands for the store in
/// place of another.
fn differences(stored: &[BTreeMap<Name, u64>], before: u32, after: u32) -> Vec<Noted> {
    let (before, after) = (&stored[before as usize], &stored[after as usize]);
    let only_in = |these: &BTreeMap<Name, u64>, those: &BTreeMap<Name, u64>, what| {
        let differs = |(name, value): &(&Name, &u64)| those.get(*name) != Some(*value);
        let names = these.iter().filter(differs).map(|(name, _)| noted(name.clone(), what));
        names.collect::<Vec<_>>()
    };
    let mut differences = only_in(before, after, What::Wiped);
    differences.extend(only_in(after, before, What::Restored));
    differences
}

const fn noted(object: Name, what: What) -> Noted {
    Noted { object, what, zxid: None }
}
