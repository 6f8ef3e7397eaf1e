//! The checks of a run that was asked for: whether there can be such a run, and what to ask for
//! instead.

use base::{
    Ability, EnsembleSpec, ExtraPromise, Needs, NemesisSpec, Promises, RunSpec, Task, UNLIMITED_NS,
};
use std::time::Duration;
use stores::{StoreId, Topology};
use workloads::TestedLock;

use super::{SetupError, task, timing, topology};
use crate::links::slowest_link;
use crate::nearest::Unlisted;

pub(super) fn check_nemeses(names: &str) -> Result<(), SetupError> {
    for name in names.split(',') {
        if nemesis::find(name).is_none() {
            let known = nemesis::NEMESES.iter().map(|nemesis| nemesis.name);
            return Err(Unlisted::new("nemesis", name, known).into());
        }
    }
    Ok(())
}

/// Checks that the servers of a lock evict something, where a nemesis makes them.
pub fn check_eviction(lock: &TestedLock, nemeses: &str) -> Result<(), SetupError> {
    let specs = nemeses.split(',').filter_map(nemesis::find);
    let evicts = specs.into_iter().find(|spec| spec.needs.contains(&Ability::Evict));
    let (Some(nemesis), Err(why)) = (evicts, lock.store().junk()) else { return Ok(()) };
    let able = workloads::LOCKS.iter().filter(|lock| lock.open.store().junk().is_ok());
    let able = able.map(|lock| lock.name).collect();
    Err(SetupError::Eviction { nemesis: nemesis.name, lock: lock.name().into(), why, able })
}

/// Checks that clients hold the lock for some time, where a nemesis waits for one that does.
pub fn check_holds(task: &Task, nemeses: &str) -> Result<(), SetupError> {
    let specs = nemeses.split(',').filter_map(nemesis::find);
    match specs.into_iter().find(|spec| !task.rests && nemesis::waits_for_holders(spec)) {
        None => Ok(()),
        Some(nemesis) => Err(SetupError::NoHolds { nemesis: nemesis.name, task: task.name }),
    }
}

/// Checks that the servers of a run have a primary, where a nemesis has another take its place.
pub fn check_primary(lock: &TestedLock, run: &RunSpec) -> Result<(), SetupError> {
    let nemesis = nemesis::failover::FAILOVER.name;
    let asked = run.nemesis.split(',').any(|name| name == nemesis);
    if !asked || !topology(lock, run).primaries().is_empty() {
        return Ok(());
    }
    let able = lock.topologies().filter(|topology| !topology.primaries().is_empty());
    let able: Vec<_> = able.map(|topology| topology.name).collect();
    let topology = topology(lock, run).name;
    Err(SetupError::Primary { nemesis, lock: lock.name().into(), topology, able })
}

/// Checks that a run has the servers that its nemeses need.
pub fn check_servers(lock: &TestedLock, run: &RunSpec) -> Result<(), SetupError> {
    let are_there = |nemesis: &NemesisSpec, on: &Topology| {
        nemesis.servers.are_there(on.servers(), on.has_peers())
    };
    let on = topology(lock, run);
    let mut nemeses = run.nemesis.split(',').filter_map(nemesis::find);
    let Some(nemesis) = nemeses.find(|nemesis| !are_there(nemesis, on)) else { return Ok(()) };
    let able = lock.topologies().filter(|on| are_there(nemesis, on)).map(|on| on.name).collect();
    let needed = nemesis.servers;
    Err(SetupError::Servers {
        nemesis: nemesis.name,
        needed,
        lock: lock.name().into(),
        on: on.name,
        able,
    })
}

/// Checks that a lock runs on the topology that was asked for.
pub fn check_topology(lock: &TestedLock, run: &RunSpec) -> Result<(), SetupError> {
    let Some(asked) = run.topology.clone() else { return Ok(()) };
    if lock.topologies().any(|topology| topology.name == asked) {
        return Ok(());
    }
    let known = lock.topologies().map(|topology| topology.name).collect();
    Err(SetupError::Topology { lock: lock.name().into(), asked, known })
}

/// Checks that a lock promises what a task needs.
pub fn check_task(lock: &TestedLock, task: &Task) -> Result<(), SetupError> {
    let promised = |needs: Needs, promises: &Promises| match needs {
        Needs::Shared => promises.shared,
        Needs::Downgrade => promises.downgrades,
        Needs::Extend => promises.extends,
        Needs::Tell => promises.tells,
        Needs::Permits => promises.permits > 1,
    };
    let lacks = |needs: &Needs| !promised(*needs, &lock.info.promises);
    let Some(needs) = task.needs.filter(lacks) else { return Ok(()) };
    let able = workloads::LOCKS.iter().filter(|lock| promised(needs, &lock.promises));
    let able: Vec<&str> = able.map(|lock| lock.name).collect();
    let (what, word) = match needs {
        Needs::Shared => ("a lock that readers can hold together", "shared"),
        Needs::Downgrade => ("a lock whose writer can become a reader", "downgrades"),
        Needs::Extend => ("a lock whose holder can ask for more time", "extends"),
        Needs::Tell => ("a lock that says whether it is still held", "tells"),
        Needs::Permits => ("a lock of several permits", "permits"),
    };
    let is_defined = lock.info.arguments.starts_with("--lock ");
    let remedy = match (lock.opener.program(), needs, is_defined) {
        (None, ..) => format!("--algo {}", able.join(" or ")),
        (_, Needs::Permits, false) => "--permits 2 or more, if it has them after all".into(),
        (_, Needs::Permits, true) => {
            "`permits` of 2 or more in its definition file, if it has them after all".into()
        }
        (_, _, false) => format!("--promises {word}, if it is one after all"),
        (_, _, true) => {
            format!("`{word}` among the promises of its definition file, if it is one after all")
        }
    };
    Err(SetupError::Task { task: task.name, needs: what, lock: lock.name().into(), remedy })
}

pub(super) fn check_numbers(lock: &TestedLock, run: &RunSpec) -> Result<(), SetupError> {
    let between = |flag, given: Duration, low: Duration, high: Duration| {
        if (low..=high).contains(&given) {
            return Ok(());
        }
        let [given, low, high] = [given, low, high].map(humantime::format_duration);
        Err(SetupError::out_of_range(flag, given, low, high))
    };
    let (ms, s) = (Duration::from_millis, Duration::from_secs);
    between("--time-limit", run.time_limit(), s(1), s(24 * 3_600))?;
    if run.ttl_ns == UNLIMITED_NS {
        return Err(SetupError::Unlimited);
    }
    between("--ttl", run.ttl(), ms(100), s(600))?;
    between("--fault-scale", run.fault_scale(), ms(100), s(600))?;
    check_ensemble(lock, run)?;
    check_demands(lock, run)?;
    // A hold beyond the ttl shows what no fault is needed for (H8), and only if it is asked for.
    match run.hold.exact {
        true => between("--hold", run.hold.time, Duration::ZERO, run.ttl() * 10)?,
        false => between("--hold", run.hold.time, ms(1), run.ttl().mul_f64(0.6))?,
    }
    between("--think", run.think().time, Duration::ZERO, run.ttl() * 100)?;
    between("--link-delay", run.link_delay(), Duration::ZERO, slowest_link(&lock.info, run.ttl()))?;
    let most = 200 / task(run)?.workers;
    if !(1..=most).contains(&run.clients) {
        return Err(SetupError::out_of_range("--clients", run.clients, 1, most));
    }
    if !(1..=1_000).contains(&run.keys) {
        return Err(SetupError::out_of_range("--keys", run.keys, 1, 1_000));
    }
    Ok(())
}

/// Checks that there is something to judge of what is demanded of a lock beyond its promises.
fn check_demands(lock: &TestedLock, run: &RunSpec) -> Result<(), SetupError> {
    let check = |it: &ExtraPromise| match it.add_to(lock.info.promises) {
        Ok(_) => Ok(()),
        Err(why) => {
            Err(SetupError::Demand { property: it.property(), lock: lock.name().into(), why })
        }
    };
    run.demand.iter().try_for_each(check)
}

/// Checks the settings of servers: only ZooKeeper's have any, and they must fit the session.
pub fn check_ensemble(lock: &TestedLock, run: &RunSpec) -> Result<(), SetupError> {
    match lock.store() {
        StoreId::ZooKeeper => Ok(timing(run).check(run.ttl())?),
        _ if run.ensemble == EnsembleSpec::default() => Ok(()),
        store => Err(SetupError::Untimed { lock: lock.name().into(), store: store.name() }),
    }
}
