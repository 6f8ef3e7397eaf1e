//! The setup of a run, from what was asked for: one lock, its nemeses, a plan, and the run's
//! header.

use base::{
    Ability, ExtraPromise, Load, Needs, Nemesis, NemesisSpec, Promises, RunInfo, Spread, Task,
};
use std::sync::Arc;
use std::time::Duration;
use stores::zookeeper::Timing;
use stores::{Shape, StoreId, Topology, WorldSpec};
use workloads::LockSpec;

use crate::fault_script::{Crew, FaultScript, Follower};
use crate::links::{self, slowest_link};
use crate::nearest::Unlisted;
use crate::plan::{FaultTiming, Options, Plan, Replay, Replayer, ScriptFile, UNLIMITED};
use crate::swarm;

mod error;
mod given;

pub use error::SetupError;
pub use given::GivenError;

/// A checked run, ready to start.
pub struct Setup {
    /// The lock under test.
    pub lock: &'static LockSpec,
    /// The header of the run. The backend is filled in by `info_for`.
    info: RunInfo,
    /// The options that were asked for.
    asked: Options,
    /// Turns and faults to take instead of drawn ones.
    replay: Option<Replay>,
    /// The faults to inject instead of those of nemeses.
    fault_script: Option<Arc<FaultScript>>,
    /// The options that are run: a swarm varies those that were asked for.
    options: Options,
}

impl Setup {
    /// Checks what was asked for.
    ///
    /// # Errors
    /// One line that names the mistake and its fix.
    pub fn new(options: Options) -> Result<Self, SetupError> {
        let lock = workloads::find(&options.algo).ok_or_else(|| {
            Unlisted::new("lock", &options.algo, workloads::LOCKS.iter().map(|lock| lock.name))
        })?;
        Self::of(lock, options)
    }

    /// The same for a lock that need not be in the catalogue.
    ///
    /// # Errors
    /// One line that names the mistake and its fix.
    pub fn of(lock: &'static LockSpec, options: Options) -> Result<Self, SetupError> {
        check_topology(lock, &options)?;
        check_primary(lock, &options)?;
        check_task(lock, options.task)?;
        check_numbers(lock, &options)?;
        given::check(lock, &options)?;
        let Some(file) = options.script.clone() else {
            check_nemeses(&options.nemesis)?;
            check_servers(lock, &options)?;
            check_eviction(lock, &options.nemesis)?;
            return Ok(Self::sound(lock, options));
        };
        let mut setup = Self::sound(lock, options);
        let script = FaultScript::read(&file, &setup.crew()).map_err(Box::new)?;
        if !setup.options.given.is_empty() {
            script.check_clients_only(&file).map_err(Box::new)?;
        }
        setup.info.script = script.faults();
        setup.fault_script = Some(Arc::new(script));
        Ok(setup)
    }

    /// A run that is made again. Its numbers are as they are: a shrunk run is shorter than any that would
    /// be drawn.
    ///
    /// # Errors
    /// One line that names a lock or a nemesis that does not exist.
    pub fn replaying(options: Options, replay: Replay) -> Result<Self, SetupError> {
        if !ScriptFile::is_name(&options.nemesis) {
            check_nemeses(&options.nemesis)?;
        }
        let lock = workloads::find(&options.algo)
            .ok_or_else(|| SetupError::NoLock(options.algo.clone()))?;
        let nanos = |d: Duration| d.as_nanos() as u64;
        let mut setup = Self::sound(lock, options);
        setup.info.acquire_timeout_ns = nanos(replay.acquire_timeout);
        // A schedule was cut as short as the simulator allows; real servers take their time.
        setup.info.quiet_ns = match replay.aim {
            FaultTiming::Time => nanos(replay.quiet),
            FaultTiming::Trigger => setup.info.quiet_ns.max(nanos(replay.quiet)),
        };
        // So slow were its messages, whatever made them so.
        let slowest = &mut setup.info.slowest_message_ns;
        *slowest = (*slowest).max(nanos(replay.slowest_message));
        setup.replay = Some(replay);
        Ok(setup)
    }

    fn sound(lock: &'static LockSpec, asked: Options) -> Self {
        let varied = if asked.swarm { swarm::vary(&asked) } else { asked.clone() };
        let options = Options { keys: asked.keys.max(asked.task.keys), ..varied };
        let nanos = |d: Duration| d.as_nanos() as u64;
        let on = topology(lock, &options);
        let slowest_message = links::slowest(&world(lock, &options));
        let mut info = RunInfo {
            version: base::RUN_VERSION,
            algo: options.algo.clone(),
            nemesis: options.nemesis.clone(),
            backend: String::new(),
            seed: options.seed,
            task: options.task.name.into(),
            clients: options.clients,
            workers: options.task.workers,
            servers: on.servers(),
            topology: on.name.into(),
            nodes: on.nodes(),
            keys: options.keys,
            ttl_ns: nanos(options.ttl),
            ensemble: options.ensemble(lock.store()),
            failover_ns: nanos(lock.store().failover(on, options.ttl)),
            volatile: !lock.store().persists(),
            time_limit_ns: nanos(options.time_limit),
            quiet_ns: 0,
            link_delay_ns: nanos(options.link_delay),
            slowest_message_ns: nanos(slowest_message),
            tick_ns: nanos(lock.store().tick(&options.timing())),
            acquire_timeout_ns: nanos(acquire_timeout(lock, &options)),
            promises: promises(lock, &options),
            known: lock.known(),
            script: Vec::new(),
            command: String::new(),
        };
        info.quiet_ns = nanos(quiet(lock, &options, &info));
        Self { lock, info, asked, options, replay: None, fault_script: None }
    }

    /// The run's header on a backend, with the command that runs it again.
    pub fn info_for(&self, backend: &str) -> RunInfo {
        RunInfo {
            backend: backend.into(),
            command: command(&self.asked, backend),
            ..self.info.clone()
        }
    }

    /// The run, as far as a fault script has to know it.
    fn crew(&self) -> Crew<'_> {
        Crew {
            clients: self.options.clients,
            servers: &self.info.nodes,
            peers: topology(self.lock, &self.options).has_peers(),
            several: topology(self.lock, &self.options).shape == Shape::Several,
            ttl: self.options.ttl,
            time_limit: self.options.time_limit,
            junk: self.lock.store().junk().map(|_| ()),
            commands: self.lock.store().commands(),
        }
    }

    /// Returns the topology, if it is not the usual one of the lock.
    pub fn unusual_topology(&self) -> Option<&'static Topology> {
        self.options.topology.filter(|topology| *topology != self.lock.topology())
    }

    /// Returns the promises to which the run holds the lock beside its own.
    pub fn extra_promises(&self) -> &[ExtraPromise] {
        &self.options.extra_promises
    }

    /// Returns fresh nemeses for one run.
    pub fn nemeses(&self) -> Vec<Box<dyn Nemesis>> {
        if let Some(replay) = &self.replay {
            return vec![Box::new(Replayer::new(replay.faults.clone(), replay.aim))];
        }
        if let Some(script) = &self.fault_script {
            return vec![Box::new(Follower::new(script.clone()))];
        }
        let find = |name| nemesis::find(name).expect("checked when the setup was made");
        let make = |name| {
            let nemesis = (find(name).make)();
            match self.options.swarm {
                true => Box::new(swarm::Weighted::new(nemesis, self.options.seed)),
                false => nemesis,
            }
        };
        self.options.nemesis.split(',').map(make).collect()
    }

    /// Returns the abilities that a backend needs for the faults of this run.
    pub fn needs(&self) -> Vec<Ability> {
        if let Some(replay) = &self.replay {
            return replay.faults.iter().map(|planned| planned.fault.ability()).collect();
        }
        let peers = topology(self.lock, &self.options).has_peers();
        if let Some(script) = &self.fault_script {
            return script.needs(peers).collect();
        }
        let specs = self.options.nemesis.split(',').filter_map(nemesis::find);
        let need = |ability: &Ability| if peers { *ability } else { ability.without_peers() };
        specs.flat_map(|spec| spec.needs).map(need).collect()
    }

    /// Returns the bandwidths that its faults limit links to, in bytes a second: those of nemeses are
    /// multiples of these.
    pub fn bandwidths(&self) -> Vec<u32> {
        if let Some(script) = &self.fault_script {
            return script.bandwidths().collect();
        }
        let throttles = self.needs().contains(&Ability::Throttle);
        throttles
            .then(|| nemesis::least_bandwidth(self.options.fault_scale()))
            .into_iter()
            .collect()
    }

    /// Returns the mistake of a fault script in asking a backend for what it refuses, if it does.
    pub fn refused(&self, refusal: impl Fn(Ability) -> Option<String>) -> Option<SetupError> {
        let (script, file) = self.fault_script.as_ref().zip(self.asked.script.as_ref())?;
        let peers = topology(self.lock, &self.options).has_peers();
        script.refused(file, peers, refusal).map(|error| Box::new(error).into())
    }

    /// Returns the plan for the drive loop.
    pub fn plan(&self) -> Plan {
        let options = &self.options;
        Plan {
            clients: options.clients,
            servers: self.info.nodes.clone(),
            peers: topology(self.lock, options).has_peers(),
            ttl: options.ttl,
            fault_scale: options.fault_scale(),
            time_limit: options.time_limit,
            quiet: Duration::from_nanos(self.info.quiet_ns),
            acquire_timeout: Duration::from_nanos(self.info.acquire_timeout_ns),
            short_wait: short_wait(self.lock, options),
            load: load(self.lock, options),
            promises: self.info.promises,
            link_delay: links::usual_delay(options.link_delay),
            seed: options.seed,
            replay: self.replay.clone(),
        }
    }

    /// Returns the world that a backend is to set up.
    pub fn world(&self) -> WorldSpec {
        let of_clocks = [Ability::ServerClock, Ability::ServerClockRate];
        let sets_clocks = self.needs().iter().any(|it| of_clocks.contains(it));
        let names_calls = self.fault_script.as_ref().is_some_and(|it| it.looks_at_commands());
        let world = WorldSpec { sets_clocks, names_calls, ..world(self.lock, &self.options) };
        match &self.replay {
            Some(replay) => WorldSpec { call_timeout: replay.call_timeout, ..world },
            None => world,
        }
    }
}

/// Returns the name of the topology of a run; an empty one for a lock that does not exist.
pub fn topology_name(options: &Options) -> String {
    let lock = workloads::find(&options.algo);
    lock.map(|lock| topology(lock, options).name.to_owned()).unwrap_or_default()
}

/// Returns the topology of a run.
fn topology(lock: &LockSpec, options: &Options) -> &'static Topology {
    options.topology.unwrap_or_else(|| lock.topology())
}

/// Returns the promises to which a run holds a lock: its own, and what is demanded beyond them.
fn promises(lock: &LockSpec, options: &Options) -> Promises {
    let add = |promises: Promises, it: &ExtraPromise| it.add_to(promises).unwrap_or(promises);
    options.extra_promises.iter().fold(lock.promises, add)
}

/// Returns the load that clients put on the lock.
fn load(lock: &LockSpec, options: &Options) -> Load {
    let Options { task, keys, .. } = *options;
    let most = options.ttl.mul_f64(lock.longest_hold);
    let hold = options.hold.spread(|mean| Spread::Tailed { mean, most });
    let thinks = |mean| Spread::Exponential { least: Duration::ZERO, mean };
    let think = options.think().spread(thinks);
    let at_once = Spread::Exactly(Duration::ZERO);
    let (hold, think) = if task.rests { (hold, think) } else { (at_once, at_once) };
    Load { task, keys, shared: lock.promises.shared, hold, think, turns: None }
}

fn world(lock: &LockSpec, options: &Options) -> WorldSpec {
    WorldSpec {
        store: lock.store(),
        topology: topology(lock, options),
        clients: options.clients,
        workers: options.task.workers,
        algo: options.algo.clone(),
        ttl: options.ttl,
        timing: options.timing(),
        call_timeout: call_timeout(options),
        link_delay: options.link_delay,
        links: options.links,
        sets_clocks: false,
        names_calls: false,
        given: given::addresses(lock, options),
        toxiproxy: options.toxiproxy.map(|it| it.0),
        seed: options.seed,
        logs: None,
    }
}

/// Returns the longest time that a call may take. A round trip over a slow link takes two delays,
/// and a recipe must not time out on it. A grant that comes as late as that must leave time for the
/// longest hold of a lock that runs out: with holds of 0.6 ttls, its reply may take 0.4 ttls from
/// the server.
fn call_timeout(options: &Options) -> Duration {
    let usual = (options.ttl / 8).min(Duration::from_millis(500)) + options.link_delay * 4;
    usual.min(options.ttl * 3 / 8 + options.link_delay)
}

/// A worker waits long enough for every other to have a long hold before it.
fn acquire_timeout(lock: &LockSpec, options: &Options) -> Duration {
    longest_hold(lock, options).max(options.ttl) * (options.clients * options.task.workers).max(5)
}

/// Returns the longest time of an acquire with a short wait, which leaves time for the round trips of one
/// try: a message takes half as long again as the delay of its link, at most.
fn short_wait(lock: &LockSpec, options: &Options) -> Duration {
    options.ttl / 4 + options.link_delay * 3 * lock.promises.pace.round_trips
}

/// Returns the longest time for which a worker holds the lock.
fn longest_hold(lock: &LockSpec, options: &Options) -> Duration {
    let exact = Some(options.hold).filter(|hold| hold.exact).map(|hold| hold.time);
    exact.unwrap_or_else(|| options.ttl.mul_f64(lock.longest_hold))
}

/// Returns a time long enough for the lock to be granted again as it promises, after two long
/// holds.
fn quiet(lock: &LockSpec, options: &Options, info: &RunInfo) -> Duration {
    let holds = longest_hold(lock, options) * 2;
    Duration::from_nanos(info.settled_ns()) + holds + options.link_delay * 20
}

fn check_nemeses(names: &str) -> Result<(), SetupError> {
    for name in names.split(',') {
        if nemesis::find(name).is_none() {
            let known = nemesis::NEMESES.iter().map(|nemesis| nemesis.name);
            return Err(Unlisted::new("nemesis", name, known).into());
        }
    }
    Ok(())
}

/// Checks that the servers of a lock evict something, where a nemesis makes them.
pub fn check_eviction(lock: &LockSpec, nemeses: &str) -> Result<(), SetupError> {
    let specs = nemeses.split(',').filter_map(nemesis::find);
    let evicts = specs.into_iter().find(|spec| spec.needs.contains(&Ability::Evict));
    let (Some(nemesis), Err(why)) = (evicts, lock.store().junk()) else { return Ok(()) };
    let able = workloads::LOCKS.iter().filter(|lock| lock.store().junk().is_ok());
    let able = able.map(|lock| lock.name).collect();
    Err(SetupError::Eviction { nemesis: nemesis.name, lock: lock.name, why, able })
}

/// Checks that the servers of a run have a primary, where a nemesis has another take its place.
pub fn check_primary(lock: &LockSpec, options: &Options) -> Result<(), SetupError> {
    let nemesis = nemesis::failover::FAILOVER.name;
    let asked = options.nemesis.split(',').any(|name| name == nemesis);
    if !asked || !topology(lock, options).primaries().is_empty() {
        return Ok(());
    }
    let able = lock.topologies().filter(|topology| !topology.primaries().is_empty());
    let able: Vec<_> = able.map(|topology| topology.name).collect();
    let topology = topology(lock, options).name;
    Err(SetupError::Primary { nemesis, lock: lock.name, topology, able })
}

/// Checks that a run has the servers that its nemeses need.
pub fn check_servers(lock: &LockSpec, options: &Options) -> Result<(), SetupError> {
    let are_there = |nemesis: &NemesisSpec, on: &Topology| {
        nemesis.servers.are_there(on.servers(), on.has_peers())
    };
    let on = topology(lock, options);
    let mut nemeses = options.nemesis.split(',').filter_map(nemesis::find);
    let Some(nemesis) = nemeses.find(|nemesis| !are_there(nemesis, on)) else { return Ok(()) };
    let able = lock.topologies().filter(|on| are_there(nemesis, on)).map(|on| on.name).collect();
    let needed = nemesis.servers;
    Err(SetupError::Servers { nemesis: nemesis.name, needed, lock: lock.name, on: on.name, able })
}

/// Checks that a lock runs on the topology that was asked for.
pub fn check_topology(lock: &LockSpec, options: &Options) -> Result<(), SetupError> {
    let Some(asked) = options.topology else { return Ok(()) };
    if lock.topologies().any(|topology| topology == asked) {
        return Ok(());
    }
    let known = lock.topologies().map(|topology| topology.name).collect();
    Err(SetupError::Topology { lock: lock.name, asked: asked.name, known })
}

/// Checks that a lock promises what a task needs.
pub fn check_task(lock: &LockSpec, task: &Task) -> Result<(), SetupError> {
    let promised = |needs: Needs, lock: &LockSpec| match needs {
        Needs::Shared => lock.promises.shared,
        Needs::Downgrade => lock.promises.downgrades,
    };
    let Some(needs) = task.needs.filter(|needs| !promised(*needs, lock)) else { return Ok(()) };
    let able = workloads::LOCKS.iter().filter(|lock| promised(needs, lock));
    let able = able.map(|lock| lock.name).collect();
    let needs = match needs {
        Needs::Shared => "a lock that readers can hold together",
        Needs::Downgrade => "a lock whose writer can become a reader",
    };
    Err(SetupError::Task { task: task.name, needs, lock: lock.name, able })
}

fn check_numbers(lock: &LockSpec, options: &Options) -> Result<(), SetupError> {
    let between = |flag, given: Duration, low: Duration, high: Duration| {
        if (low..=high).contains(&given) {
            return Ok(());
        }
        let [given, low, high] = [given, low, high].map(humantime::format_duration);
        Err(SetupError::out_of_range(flag, given, low, high))
    };
    let (ms, s) = (Duration::from_millis, Duration::from_secs);
    between("--time-limit", options.time_limit, s(1), s(24 * 3_600))?;
    if options.ttl == UNLIMITED {
        return Err(SetupError::Unlimited);
    }
    between("--ttl", options.ttl, ms(100), s(600))?;
    between("--fault-scale", options.fault_scale(), ms(100), s(600))?;
    check_ensemble(lock, options)?;
    check_demands(lock, options)?;
    // A hold beyond the ttl shows what no fault is needed for (H8), and only if it is asked for.
    match options.hold.exact {
        true => between("--hold", options.hold.time, Duration::ZERO, options.ttl * 10)?,
        false => between("--hold", options.hold.time, ms(1), options.ttl.mul_f64(0.6))?,
    }
    between("--think", options.think().time, Duration::ZERO, options.ttl * 100)?;
    between("--link-delay", options.link_delay, Duration::ZERO, slowest_link(lock, options.ttl))?;
    let most = 200 / options.task.workers;
    if !(1..=most).contains(&options.clients) {
        return Err(SetupError::out_of_range("--clients", options.clients, 1, most));
    }
    if !(1..=1_000).contains(&options.keys) {
        return Err(SetupError::out_of_range("--keys", options.keys, 1, 1_000));
    }
    Ok(())
}

/// Checks that there is something to judge of what is demanded of a lock beyond its promises.
fn check_demands(lock: &LockSpec, options: &Options) -> Result<(), SetupError> {
    let check = |it: &ExtraPromise| match it.add_to(lock.promises) {
        Ok(_) => Ok(()),
        Err(why) => Err(SetupError::Demand { property: it.property(), lock: lock.name, why }),
    };
    options.extra_promises.iter().try_for_each(check)
}

/// Checks the settings of servers: only ZooKeeper's have any, and they must fit the session.
pub fn check_ensemble(lock: &LockSpec, options: &Options) -> Result<(), SetupError> {
    match (lock.store(), options.tick, options.sync_limit) {
        (StoreId::ZooKeeper, _, _) => Ok(options.timing().check(options.ttl)?),
        (_, None, None) => Ok(()),
        (store, ..) => Err(SetupError::Untimed { lock: lock.name, store: store.name() }),
    }
}

/// The command that runs this again: what differs from the defaults, and the seed.
fn command(options: &Options, backend: &str) -> String {
    let Options { algo, seed, .. } = options;
    let faults = faults(options);
    let command = match options.swarm {
        true => format!("picklock explore --algo {algo} {faults} --first-seed {seed} --seeds 1"),
        false => {
            let backend = match options.given.as_slice() {
                [] => format!("--backend {backend}"),
                given => {
                    let given: Vec<String> = given.iter().map(ToString::to_string).collect();
                    format!("--servers {}", given.join(","))
                }
            };
            let links = options.toxiproxy.map(|it| format!(" --links {it}")).unwrap_or_default();
            format!("picklock test --algo {algo} {faults} {backend}{links} --seed {seed}")
        }
    };
    command + &flags(options)
}

/// The command that replays the schedule of a seed of `explore`.
pub fn replay_command(options: &Options) -> String {
    let Options { algo, seed, .. } = options;
    let fixed = if options.swarm { "" } else { " --fixed" };
    let (faults, flags) = (faults(options), flags(options));
    format!("picklock replay {seed} --algo {algo} {faults}{fixed}{flags}")
}

/// The flag for the faults: the nemeses or the fault script.
fn faults(options: &Options) -> String {
    let Some(script) = &options.script else { return format!("--nemesis {}", options.nemesis) };
    let path = script.path.display().to_string();
    let path = shlex::try_quote(&path).unwrap_or_else(|_| path.as_str().into());
    format!("--script {path}")
}

/// The flags for what differs from the defaults, each behind a blank.
pub fn flags(options: &Options) -> String {
    let defaults = Options::new(&options.algo, &options.nemesis, options.seed);
    let mut flags = String::new();
    let mut add = |flag: &str, value: String, default: String| {
        if value != default {
            flags.push_str(&format!(" {flag} {value}"));
        }
    };
    let duration = |d: Duration| humantime::format_duration(d).to_string().replace(' ', "");
    add("--on", topology_name(options), topology_name(&defaults));
    add("--task", options.task.name.into(), defaults.task.name.into());
    add("--clients", options.clients.to_string(), defaults.clients.to_string());
    add("--time-limit", duration(options.time_limit), duration(defaults.time_limit));
    add("--ttl", duration(options.ttl), duration(defaults.ttl));
    add("--fault-scale", duration(options.fault_scale()), duration(options.ttl));
    let (timing, safe) = (options.timing(), Timing::of(options.ttl));
    add("--tick", duration(timing.tick), duration(safe.tick));
    add("--sync-limit", timing.sync_limit.to_string(), safe.sync_limit.to_string());
    add("--hold", options.hold.to_string(), defaults.hold.to_string());
    add(
        "--think",
        options.think().to_string(),
        Options { think: None, ..options.clone() }.think().to_string(),
    );
    add("--link-delay", duration(options.link_delay), duration(defaults.link_delay));
    add("--keys", options.keys.to_string(), defaults.keys.to_string());
    let demand: Vec<&str> = options.extra_promises.iter().map(|it| it.property()).collect();
    add("--demand", demand.join(","), String::new());
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Length;

    fn refusal(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::new("zk-rw", "none", 1);
        change(&mut options);
        Setup::new(options).err().expect("refused").to_string()
    }

    #[test]
    fn nonsense_is_refused_in_one_line_that_names_the_fix() {
        assert!(refusal(|o| o.clients = 0).contains("give 1 to 200"));
        assert!(
            refusal(|o| o.ttl = Duration::ZERO).contains("--ttl 0s is out of range: give 100ms")
        );
        assert!(refusal(|o| o.hold = Length::about(Duration::from_secs(9))).contains("--hold"));
        assert!(refusal(|o| o.link_delay = o.ttl / 5).contains("give 0s to 265ms"));
        assert!(refusal(|o| o.algo = "zk-wr".into()).contains("did you mean zk-rw"));
        assert!(refusal(|o| o.nemesis = "pause,partitoin".into()).contains("partition"));
        assert!(refusal(|o| o.ttl = Duration::from_millis(400)).contains("give 500ms or more"));
        assert!(refusal(|o| o.tick = Some(o.ttl)).contains("2 to 20 ticks"));
        assert!(refusal(|o| o.sync_limit = Some(0)).contains("--sync-limit 0"));
        for (algo, why) in [
            ("redlock", "a Redis without maxmemory evicts no key"),
            ("zk-rw", "a ZooKeeper evicts no node"),
        ] {
            let refused = refusal(|o| (o.algo, o.nemesis) = (algo.into(), "pause,evict".into()));
            assert!(refused.contains(&format!("evict does nothing to {algo}: {why}")), "{refused}");
        }
        let on_three = refusal(|o| o.nemesis = "partition-ring".into());
        assert!(on_three.contains("5 servers that talk to each other"), "{on_three}");
        assert!(on_three.ends_with("give --on zookeeper-x5"), "{on_three}");
        let apart = refusal(|o| (o.algo, o.nemesis) = ("redlock".into(), "partition-ring".into()));
        assert!(apart.ends_with("give --nemesis partition"), "{apart}");
        let on_redis = refusal(|o| (o.algo, o.sync_limit) = ("redlock".into(), Some(5)));
        assert!(on_redis.contains("redlock is on Redis"), "{on_redis}");
    }

    #[test]
    fn a_link_is_no_slower_than_the_calls_of_its_lock_can_bear() {
        let largest = |algo: &str| {
            let link_delay = Duration::from_secs(1);
            let options = Options { link_delay, ..Options::new(algo, "none", 1) };
            Setup::new(options).err().expect("refused").to_string()
        };
        // Five servers with a tenth of the ttl each; one or two round trips of one server.
        assert!(largest("redlock").ends_with("give 0s to 131ms"), "{}", largest("redlock"));
        let one = largest("redis-set-nx-px");
        assert!(one.ends_with("give 0s to 531ms"), "{one}");
        let two = largest("redis-setnx-expire");
        assert!(two.ends_with("give 0s to 265ms"), "{two}");
    }

    #[test]
    fn a_late_grant_leaves_time_for_the_longest_hold() {
        for lock in workloads::LOCKS.iter().filter(|lock| lock.longest_hold < 1.0) {
            for ttl in [100, 500, 1_000, 4_000, 60_000].map(Duration::from_millis) {
                let slowest = slowest_link(lock, ttl);
                for link_delay in [Duration::ZERO, slowest / 2, slowest] {
                    let options = Options { ttl, link_delay, ..Options::new(lock.name, "none", 1) };
                    let world = world(lock, &options);
                    let hold = ttl.mul_f64(lock.longest_hold);
                    assert!(world.call_timeout - link_delay + hold < ttl, "{} {ttl:?}", lock.name);
                    assert!(world.call_timeout >= link_delay * 2 + LEAST_SPARE, "{}", lock.name);
                }
            }
        }
    }

    /// The least time left to a call beside the delays of its link.
    const LEAST_SPARE: Duration = Duration::from_millis(10);

    #[test]
    fn the_command_names_what_is_not_the_default() {
        let mut options = Options::new("zk-rw", "pause", 7);
        options.ttl = Duration::from_millis(1_500);
        let info = Setup::new(options).unwrap_or_else(|e| panic!("{e}")).info_for("sim");
        let expected = "picklock test --algo zk-rw --nemesis pause --backend sim --seed 7 \
                        --ttl 1s500ms";
        assert_eq!(info.command, expected);
        let mut options = Options::new("zk-rw", "pause", 7);
        (options.tick, options.sync_limit) = (Some(Duration::from_secs(1)), Some(5));
        let flags = flags(&options);
        assert_eq!(flags, " --tick 1s --sync-limit 5");
        (options.tick, options.sync_limit) = (Some(Timing::of(options.ttl).tick), Some(2));
        assert_eq!(super::flags(&options), "", "that is the default");
        options.topology = StoreId::topology("zookeeper-x5");
        assert_eq!(super::flags(&options), " --on zookeeper-x5");
        options.topology = StoreId::topology("zookeeper-x3");
        assert_eq!(super::flags(&options), "", "that is the default");
    }
}
