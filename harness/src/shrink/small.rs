//! Small schedules, drawn anew from the pieces of a large one.
//!
//! Taking pieces out of a schedule keeps the luck that it needs: clients that met because of all
//! that went before. So where shrinking gets stuck, a few turns of a few clients and at most two of
//! the faults are drawn, over links with random delays, until they show the same anomaly by the
//! same cause.

use base::{Action, Mode, Node, Rng, RunSpec, nanos};
use std::time::Duration;
use workloads::TestedLock;

use super::{is_lasting, is_shown};
use crate::schedule::{Schedule, Shows};
use crate::simulate;
use drive::plan::{FaultTiming, Planned, PlannedTurn, Trigger, Victim};

/// The most clients of a small schedule, and the most faults.
const CLIENTS: u64 = 3;
const FAULTS: u64 = 2;

/// The delays of links that are tried, in milliseconds.
const LINKS: [u64; 4] = [0, 2, 10, 40];

/// Draws small schedules with the pieces of `found` until one shows the same; `go_on` is asked
/// before each. What is found is recorded exactly.
pub fn draw_small(
    lock: &TestedLock,
    found: &Schedule,
    shows: &Shows,
    tries: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Schedule> {
    (0..tries).take_while(|_| go_on()).find_map(|n| {
        let drawn = draw(lock, found, &mut Rng::new(n));
        let setup = drawn.as_it_is(lock, FaultTiming::Trigger, n).ok()?;
        let (run, schedule) = simulate::record(&setup).ok()?;
        // A client that is done waits for ever, which is no turn.
        let (shows_it, clients) = (Some(shows.clone()), drawn.clients);
        let schedule = Schedule { shows: shows_it, clients, ..schedule };
        // A fault by its trigger came between events of one instant, and at its time comes before
        // them.
        let is_shown = is_shown(lock, &schedule, shows) && is_lasting(lock, &schedule, shows);
        (shows.is_in(&run) && is_shown).then_some(schedule)
    })
}

fn draw(lock: &TestedLock, found: &Schedule, rng: &mut Rng) -> Schedule {
    let clients = 2 + rng.below(CLIENTS - 1) as u32;
    let spread = pick(rng, &[0, found.run.ttl_ns / 20, found.run.ttl_ns / 2, 2 * found.run.ttl_ns]);
    let turns = (0..clients * found.workers_each()).map(|_| {
        let turns = 1 + u64::from(rng.chance(0.3));
        (0..turns).map(|_| turn(lock, found, spread, rng)).collect()
    });
    let turns: Vec<Vec<PlannedTurn>> = turns.collect();
    let mut faults: Vec<Planned> = Vec::new();
    if !found.faults.is_empty() {
        for _ in 0..rng.below(FAULTS + 1) {
            faults.extend(fault(found, clients, rng));
        }
    }
    faults.sort_by_key(|planned| planned.moment.grants);
    let lasts: u64 = faults.iter().map(|planned| planned.lasts_ns).sum();
    let millis = Duration::from_millis(pick(rng, &LINKS)).as_nanos() as u64;
    let run = RunSpec {
        link_delay_ns: if rng.chance(0.3) { found.run.link_delay_ns } else { millis },
        // A stuck lock shows while somebody still asks for it.
        time_limit_ns: pick(
            rng,
            &[spread, spread + found.run.ttl_ns, 2 * spread + 4 * found.run.ttl_ns + lasts],
        ),
        ..found.run.clone()
    };
    Schedule { clients: turns, faults, run, ..found.clone() }
}

fn turn(lock: &TestedLock, found: &Schedule, spread: u64, rng: &mut Rng) -> PlannedTurn {
    let longest = nanos(lock.info.longest_hold(found.run.ttl()));
    let like = found.clients.iter().flatten().nth(rng.below(8) as usize);
    let shared = found.clients.iter().flatten().any(|turn| turn.mode == Mode::Shared);
    PlannedTurn {
        at_ns: rng.below(spread + 1),
        key: like.map_or(0, |turn| turn.key),
        mode: if shared && rng.chance(0.5) { Mode::Shared } else { Mode::Exclusive },
        permits: like.map_or(1, |turn| turn.permits),
        hold_ns: if rng.chance(0.5) { rng.below(longest + 1) } else { rng.below(50_000_000) },
        script: like.map_or(0, |turn| turn.script),
    }
}

/// One of the faults, at other clients and another moment. `None`: it hits none of the few clients.
fn fault(found: &Schedule, clients: u32, rng: &mut Rng) -> Option<Planned> {
    let planned = found.faults.get(rng.below(found.faults.len() as u64) as usize)?;
    let turn = rng.below(u64::from(clients)) as u32;
    let mut fault = planned.fault.map(|node| match node {
        Node::Client(client) => Node::Client((client + turn) % clients),
        other => other,
    });
    if let Some(links) = fault.links_mut() {
        links.sort_unstable();
        links.dedup();
    }
    let hits_one = fault.node().is_some() && fault.action() != Action::Vanish;
    let victim = match planned.moment.victim {
        Victim::Any if hits_one && rng.chance(0.5) => Victim::Holding,
        other => other,
    };
    let moment = Trigger {
        grants: rng.below(3),
        victim,
        later_ns: if rng.chance(0.5) {
            planned.moment.later_ns
        } else {
            rng.below(found.run.ttl_ns / 4 + 1)
        },
    };
    let lasts = match rng.chance(0.5) {
        true => planned.lasts_ns,
        false => rng.below(found.run.ttl_ns * 5 / 2 + 1),
    };
    Some(Planned { fault, at_ns: 0, lasts_ns: lasts, moment })
}

fn pick(rng: &mut Rng, of: &[u64]) -> u64 {
    of[rng.below(of.len() as u64) as usize]
}
