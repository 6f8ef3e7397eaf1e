//! The setup of a run, from its description: the lock, the header, the plan of the drive loop and
//! the world of the backend.

use base::{
    Ability, EnsembleSpec, ExtraPromise, Load, LockInfo, Needs, Nemesis, Promises, RunInfo,
    RunSpec, ScriptFile, Spread, Task, nanos,
};
use std::sync::Arc;
use std::time::Duration;
use stores::zookeeper::Timing;
use stores::{LinkDelays, Shape, StoreId, Topology, WorldSpec};
use workloads::TestedLock;

use crate::fault_script::{FaultScript, Follower, ScriptedRun};
use crate::links;
use crate::nearest::Unlisted;
use crate::swarm;
use drive::plan::{FaultTiming, Plan, Replay, Replayer};

mod checks;
mod command;
mod error;
mod given;
mod program;

pub use checks::{
    check_ensemble, check_eviction, check_holds, check_primary, check_servers, check_task,
    check_topology,
};
use checks::{check_nemeses, check_numbers};
use command::command;
pub use command::{place, replay_command};
pub use error::SetupError;
pub use given::GivenError;
pub use program::ProgramError;

/// A checked run, ready to start.
pub struct Setup {
    /// The lock under test.
    pub lock: TestedLock,
    /// The parameters of the drive loop.
    pub plan: Plan,
    /// The world that a backend is to set up.
    pub world: WorldSpec,
    /// The header of the run. The backend is filled in by `info_for`.
    info: RunInfo,
    /// The run that was asked for: a swarm varies it.
    asked: RunSpec,
    faults: RunFaults,
}

/// The source of the faults of a run.
enum RunFaults {
    /// The nemeses of the run.
    Nemeses,
    /// A fault script in their place.
    Script(Arc<FaultScript>),
    /// A schedule, which has the turns of the clients, too.
    Replay(Replay),
}

impl Setup {
    /// Checks a run of a lock.
    ///
    /// # Errors
    /// One line that names the mistake and its fix.
    pub fn new(lock: &TestedLock, asked: RunSpec) -> Result<Self, SetupError> {
        check_topology(lock, &asked)?;
        check_primary(lock, &asked)?;
        check_task(lock, task(&asked)?)?;
        check_numbers(lock, &asked)?;
        given::check(lock, &asked)?;
        let Some(file) = asked.script.clone() else {
            check_nemeses(&asked.nemesis)?;
            check_servers(lock, &asked)?;
            check_eviction(lock, &asked.nemesis)?;
            check_holds(task(&asked)?, &asked.nemesis)?;
            let setup = Self::of(lock, asked, RunFaults::Nemeses)?;
            program::check(&setup)?;
            return Ok(setup);
        };
        let mut setup = Self::of(lock, asked, RunFaults::Nemeses)?;
        let script = FaultScript::read(&file, &setup.scripted()).map_err(Box::new)?;
        if !setup.run().servers.is_empty() {
            script.check_clients_only(&file).map_err(Box::new)?;
        }
        setup.info.script = script.faults();
        setup.world.names_calls = script.looks_at_commands();
        setup.faults = RunFaults::Script(Arc::new(script));
        setup.world.sets_clocks = setup.sets_clocks();
        program::check(&setup)?;
        Ok(setup)
    }

    /// Prepares a run that is made again. Its numbers are as they are: a shrunk run is shorter than
    /// any that would be drawn.
    ///
    /// # Errors
    /// One line that names a task or a nemesis that does not exist.
    pub fn replaying(lock: &TestedLock, run: RunSpec, replay: Replay) -> Result<Self, SetupError> {
        if !ScriptFile::is_name(&run.nemesis) {
            check_nemeses(&run.nemesis)?;
        }
        Self::of(lock, run, RunFaults::Replay(replay))
    }

    fn of(lock: &TestedLock, asked: RunSpec, faults: RunFaults) -> Result<Self, SetupError> {
        let (varied, links) = match asked.swarm {
            true => swarm::vary(&lock.info, &asked),
            false => (asked.clone(), LinkDelays::default()),
        };
        let task = task(&asked)?;
        let run = RunSpec { keys: asked.keys.max(task.keys), ..varied };
        let mut world = world(lock, &run, task, links);
        let mut info = info(lock, &run, &world);
        if let RunFaults::Replay(replay) = &faults {
            world.call_timeout = replay.call_timeout;
            replay_info(&mut info, replay);
        }
        let plan = plan(lock, run, task, &info, &faults);
        let mut setup = Self { lock: lock.clone(), plan, world, info, asked, faults };
        setup.world.sets_clocks = setup.sets_clocks();
        Ok(setup)
    }

    /// Returns true if its faults set the wall clocks of servers.
    fn sets_clocks(&self) -> bool {
        let of_clocks = [Ability::ServerClock, Ability::ServerClockRate];
        self.needs().iter().any(|it| of_clocks.contains(it))
    }

    /// Returns the same under another command, and with another seed if there is one.
    #[must_use]
    pub fn known_as(mut self, command: String, seed: Option<u64>) -> Self {
        self.info.command = command;
        self.info.run.seed = seed.unwrap_or(self.info.run.seed);
        self
    }

    /// Returns the run's header on a backend, with the command that runs it again.
    pub fn info_for(&self, backend: &str) -> RunInfo {
        RunInfo {
            backend: backend.into(),
            command: match self.info.command.as_str() {
                "" => command(&self.lock.info, &self.asked, backend),
                known => known.to_owned(),
            },
            ..self.info.clone()
        }
    }

    /// Returns the run as far as a fault script has to know it.
    fn scripted(&self) -> ScriptedRun<'_> {
        let topology = self.world.topology;
        ScriptedRun {
            clients: self.run().clients,
            servers: &self.info.nodes,
            peers: topology.has_peers(),
            several: topology.shape == Shape::Several,
            ttl: self.run().ttl(),
            time_limit: self.run().time_limit(),
            junk: self.lock.store().junk().map(|_| ()),
            commands: self.lock.store().commands(),
        }
    }

    /// Returns the run that was asked for.
    pub fn asked(&self) -> &RunSpec {
        &self.asked
    }

    /// Returns the settings of the servers, where they have some that matter to sessions.
    pub fn ensemble(&self) -> EnsembleSpec {
        self.info.run.ensemble
    }

    /// Returns the run as it is made.
    pub fn run(&self) -> &RunSpec {
        &self.plan.run
    }

    /// Returns fresh nemeses for one run.
    pub fn nemeses(&self) -> Vec<Box<dyn Nemesis>> {
        match &self.faults {
            RunFaults::Replay(replay) => {
                vec![Box::new(Replayer::new(replay.faults.clone(), replay.aim))]
            }
            RunFaults::Script(script) => vec![Box::new(Follower::new(script.clone()))],
            RunFaults::Nemeses => {
                let find = |name| nemesis::find(name).expect("checked when the setup was made");
                let make = |name| {
                    let nemesis = (find(name).make)();
                    match self.run().swarm {
                        true => Box::new(swarm::Weighted::new(nemesis, self.run().seed)),
                        false => nemesis,
                    }
                };
                self.run().nemesis.split(',').map(make).collect()
            }
        }
    }

    /// Returns the abilities that a backend needs for the faults and the clients of this run.
    pub fn needs(&self) -> Vec<Ability> {
        let mut needs = self.fault_needs();
        let world = &self.world;
        if world.client.is_some() && world.store.leads_clients(world.topology) {
            needs.push(Ability::LeadPrograms);
        }
        if world.server.is_some() && world.given.is_empty() {
            needs.push(Ability::RunServer);
        }
        needs
    }

    fn fault_needs(&self) -> Vec<Ability> {
        let peers = self.world.topology.has_peers();
        match &self.faults {
            RunFaults::Replay(replay) => {
                replay.faults.iter().map(|planned| planned.fault.ability()).collect()
            }
            RunFaults::Script(script) => script.needs(peers).collect(),
            RunFaults::Nemeses => {
                let specs = self.run().nemesis.split(',').filter_map(nemesis::find);
                let need =
                    |ability: &Ability| if peers { *ability } else { ability.without_peers() };
                specs.flat_map(|spec| spec.needs).map(need).collect()
            }
        }
    }

    /// Returns the bandwidths that its faults limit links to, in bytes a second: those of nemeses
    /// are multiples of these.
    pub fn bandwidths(&self) -> Vec<u32> {
        if let RunFaults::Script(script) = &self.faults {
            return script.bandwidths().collect();
        }
        let throttles = self.needs().contains(&Ability::Throttle);
        throttles.then(|| nemesis::least_bandwidth(self.run().fault_scale())).into_iter().collect()
    }

    /// Returns the mistake of a fault script in asking a backend for what it refuses, if it does.
    pub fn refused(&self, refusal: impl Fn(Ability) -> Option<String>) -> Option<SetupError> {
        let RunFaults::Script(script) = &self.faults else { return None };
        let file = self.asked.script.as_ref()?;
        let peers = self.world.topology.has_peers();
        script.refused(file, peers, refusal).map(|error| Box::new(error).into())
    }
}

/// Returns the header of a run, but for what only its backend knows.
fn info(lock: &TestedLock, run: &RunSpec, world: &WorldSpec) -> RunInfo {
    let (store, topology) = (lock.store(), world.topology);
    let ensemble = (store == StoreId::ZooKeeper).then(|| world.timing.ensemble().into());
    let made = RunSpec {
        topology: Some(topology.name.into()),
        ensemble: ensemble.unwrap_or_default(),
        script: None,
        ..run.clone()
    };
    let judged = LockInfo { promises: promises(&lock.info, run), ..(*lock.info).clone() };
    let mut info = RunInfo {
        workers: world.workers,
        servers: topology.servers(),
        nodes: topology.nodes(),
        failover_ns: nanos(store.failover(topology, run.ttl())),
        volatile: !store.persists(),
        slowest_message_ns: nanos(links::slowest(world)),
        tick_ns: nanos(store.tick(&world.timing)),
        acquire_timeout_ns: nanos(acquire_timeout(lock, run, world.workers)),
        ..RunInfo::new(judged, made, "")
    };
    workloads::locks::on_servers(&mut info.lock.known, info.failover_ns > 0);
    info.quiet_ns = nanos(quiet(lock, run, &info));
    info
}

/// Takes into the header of a run what its schedule has of its own.
fn replay_info(info: &mut RunInfo, replay: &Replay) {
    info.acquire_timeout_ns = nanos(replay.acquire_timeout);
    // A schedule was cut as short as the simulator allows; real servers take their time.
    info.quiet_ns = match replay.aim {
        FaultTiming::Time => nanos(replay.quiet),
        FaultTiming::Trigger => info.quiet_ns.max(nanos(replay.quiet)),
    };
    // So slow were its messages, whatever made them so.
    info.slowest_message_ns = info.slowest_message_ns.max(nanos(replay.slowest_message));
}

fn plan(
    lock: &TestedLock,
    run: RunSpec,
    task: &'static Task,
    info: &RunInfo,
    faults: &RunFaults,
) -> Plan {
    let replay = match faults {
        RunFaults::Replay(replay) => Some(replay.clone()),
        RunFaults::Nemeses | RunFaults::Script(_) => None,
    };
    Plan {
        servers: info.nodes.clone(),
        peers: topology(lock, &run).has_peers(),
        start_up: lock.opener.start_up(),
        quiet: Duration::from_nanos(info.quiet_ns),
        acquire_timeout: Duration::from_nanos(info.acquire_timeout_ns),
        short_wait: short_wait(lock, &run),
        load: load(lock, &run, task),
        promises: info.lock.promises,
        link_delay: links::usual_delay(run.link_delay()),
        needed: program::needed(lock, task),
        draws_faults: matches!(faults, RunFaults::Nemeses),
        replay,
        run,
    }
}

/// Returns the topology of a run.
fn topology(lock: &TestedLock, run: &RunSpec) -> &'static Topology {
    let named = run.topology.as_deref().and_then(StoreId::topology);
    named.unwrap_or_else(|| lock.topology())
}

/// Returns the task of a run.
///
/// # Errors
/// Fails when there is none of that name.
pub fn task(run: &RunSpec) -> Result<&'static Task, SetupError> {
    let all = || workloads::TASKS.iter().map(|task| task.name);
    let found = workloads::task(&run.task);
    Ok(found.ok_or_else(|| Unlisted::new("task", &run.task, all()))?)
}

/// Returns the settings of a ZooKeeper ensemble.
pub fn timing(run: &RunSpec) -> Timing {
    Timing::stored(run.ensemble.or(Timing::of(run.ttl()).ensemble()))
}

/// Returns the promises to which a run holds a lock: its own, and what is demanded beyond them.
fn promises(lock: &LockInfo, run: &RunSpec) -> Promises {
    let add = |promises: Promises, it: &ExtraPromise| it.add_to(promises).unwrap_or(promises);
    run.demand.iter().fold(lock.promises, add)
}

/// Returns the load that clients put on the lock.
fn load(lock: &TestedLock, run: &RunSpec, task: &'static Task) -> Load {
    let most = drawn_hold(lock, run);
    let hold = run.hold.spread(|mean| Spread::Tailed { mean, most });
    let thinks = |mean| Spread::Exponential { least: Duration::ZERO, mean };
    let think = run.think().spread(thinks);
    let at_once = Spread::Exactly(Duration::ZERO);
    let (hold, think) = if task.rests { (hold, think) } else { (at_once, at_once) };
    let base::Promises { shared, permits, .. } = lock.info.promises;
    let permits = if task.several { permits } else { 1 };
    Load { task, keys: run.keys, shared, permits, hold, think, turns: None }
}

fn world(lock: &TestedLock, run: &RunSpec, task: &Task, links: LinkDelays) -> WorldSpec {
    WorldSpec {
        clients: run.clients,
        workers: task.workers,
        keys: run.keys,
        permits: lock.info.promises.permits,
        timing: timing(run),
        call_timeout: run.call_timeout(),
        link_delay: run.link_delay(),
        links,
        given: given::addresses(lock, run),
        observes_given: run.observe,
        toxiproxy: run.links.map(|it| it.0),
        server: lock.opener.server().cloned(),
        client: lock.opener.program().cloned(),
        seed: run.seed,
        ..WorldSpec::new(lock.store(), topology(lock, run), lock.name(), run.ttl())
    }
}

/// Returns the longest time that an acquire waits: usually long enough for every other worker to
/// have a long hold before it.
fn acquire_timeout(lock: &TestedLock, run: &RunSpec, workers: u32) -> Duration {
    let usual = longest_hold(lock, run).max(run.ttl()) * (run.clients * workers).max(5);
    run.wait_ns.map_or(usual, Duration::from_nanos)
}

/// Returns the longest time of an acquire with a short wait, which leaves time for the round trips
/// of one try: a message takes half as long again as the delay of its link, at most.
fn short_wait(lock: &TestedLock, run: &RunSpec) -> Duration {
    run.ttl() / 4 + run.link_delay() * 3 * lock.info.promises.pace.round_trips
}

/// Returns the longest time for which a worker holds the lock.
fn longest_hold(lock: &TestedLock, run: &RunSpec) -> Duration {
    let exact = Some(run.hold).filter(|hold| hold.exact).map(|hold| hold.time);
    exact.unwrap_or_else(|| drawn_hold(lock, run))
}

/// Returns the longest hold that is drawn. One that gets more time in its middle outlasts its ttl:
/// nothing else shows whether it did get more.
fn drawn_hold(lock: &TestedLock, run: &RunSpec) -> Duration {
    let longest = lock.info.longest_hold(run.ttl());
    let extends = task(run).is_ok_and(|task| task.needs == Some(Needs::Extend));
    if extends && longest < run.ttl() { longest * 2 } else { longest }
}

/// Returns a time long enough for the lock to be granted again as it promises, after two long
/// holds.
fn quiet(lock: &TestedLock, run: &RunSpec, info: &RunInfo) -> Duration {
    let holds = longest_hold(lock, run) * 2;
    Duration::from_nanos(info.settled_ns()) + holds + run.link_delay() * 20
}

#[cfg(test)]
mod tests;
