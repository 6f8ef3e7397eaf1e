//! `picklock sweep`: what a ttl costs. A short one runs out under holders that live, a long one is
//! waited for when its holder has died. Faults and holds are as long for every ttl, and virtual
//! time makes the figures those of the lock.

use anyhow::Context;
use base::units::counted;
use base::{LockInfo, RunSpec, Verdict, nanos};
use checkers::Judgement;
use reports::sweep::{SweepPoint, TtlSweep};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use workloads::TestedLock;

use super::judge::json;
use super::{Failure, catalogued, ended, interruptible, writable};
use crate::Exit;
use crate::cli::{Format, SweepArgs};
use crate::options::{flags, time};
use crate::output::{OutputLosses, say};
use crate::setup::Setup;
use crate::simulate;
use crate::threads::{cores, side_by_side};

pub fn run(args: &SweepArgs) -> Result<Exit, Failure> {
    writable([(&args.svg, "--svg"), (&args.html, "--html")])?;
    let lock = catalogued(&args.algo)?;
    let ttls = args.ttl.points(args.points);
    for ttl in &ttls {
        Setup::new(&lock, spec(args, &lock.info, *ttl, 0))?;
    }
    let stop = interruptible()?;
    let runs = measure(args, &lock, &ttls, &stop)?;
    let of = |ttl: &Duration| point(*ttl, runs.iter().filter(|run| run.ttl == *ttl));
    let sweep = TtlSweep {
        algo: args.algo.clone(),
        nemesis: args.nemesis.clone(),
        command: command(args, &lock.info),
        left_out: ttls.len() as u64 * args.seeds - runs.len() as u64,
        points: ttls.iter().map(of).filter(|point| point.runs > 0).collect(),
    };
    Ok(ended(tell(args, &sweep), &stop))
}

/// Tells what was measured and writes it. Nothing that is lost takes the table with it.
fn tell(args: &SweepArgs, sweep: &TtlSweep) -> Exit {
    let mut losses = OutputLosses::default();
    let svg = reports::sweep::svg(sweep).context("the curves cannot be drawn");
    losses.write([(&args.svg, svg), (&args.html, Ok(reports::sweep::page(sweep)))]);
    losses.note(match args.format {
        Format::Human => say(&human(args, sweep)),
        Format::Json => json(sweep).and_then(|text| say(&text)),
    });
    losses.tell();
    if losses.is_empty() { Exit::Held } else { Exit::CouldNotRun }
}

/// Returns a run of a ttl: its faults and holds are as long as those of any other.
fn spec(args: &SweepArgs, lock: &LockInfo, ttl: Duration, seed: u64) -> RunSpec {
    let usual = args.load.0.run(lock, &args.nemesis, seed);
    let fault_scale_ns = Some(nanos(usual.fault_scale()));
    RunSpec { ttl_ns: nanos(ttl), fault_scale_ns, ..usual }
}

/// The figures of one run.
struct SweepRun {
    ttl: Duration,
    overlaps: u64,
    stale_writes: u64,
    grants: u64,
    /// The time from the first request to the end, and the grants in it.
    grants_mhz: u64,
    lost_ns: Option<u64>,
}

/// Makes all runs, on all cores.
fn measure(
    args: &SweepArgs,
    lock: &TestedLock,
    ttls: &[Duration],
    stop: &AtomicBool,
) -> Result<Vec<SweepRun>, Failure> {
    let next = AtomicU64::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            // Every ttl once, then all of them again: what was seen by an early end is of all.
            let (seed, place) = (number / ttls.len() as u64, number % ttls.len() as u64);
            if seed >= args.seeds {
                return;
            }
            let run = one(args, lock, ttls[place as usize], seed);
            done.lock().unwrap_or_else(|error| error.into_inner()).push(run);
        }
    };
    side_by_side(cores(), work);
    done.into_inner().unwrap_or_else(|error| error.into_inner()).into_iter().collect()
}

fn one(args: &SweepArgs, lock: &TestedLock, ttl: Duration, seed: u64) -> Result<SweepRun, Failure> {
    let setup = Setup::new(lock, spec(args, &lock.info, ttl, seed))?;
    let run = simulate::run(&setup).map_err(Failure::could_not)?;
    let verdicts = Judgement::of(&run).verdicts;
    let measure = |name: &str| {
        let measures = verdicts.iter().flat_map(|verdict: &Verdict| &verdict.measures);
        measures.into_iter().find(|measure| measure.name == name).map(|measure| measure.value)
    };
    let seen = |property: &str| {
        let of = verdicts.iter().filter(|verdict| verdict.property == property);
        of.flat_map(|verdict| &verdict.anomalies).map(|anomaly| anomaly.count).sum()
    };
    Ok(SweepRun {
        ttl,
        overlaps: seen("exclusion"),
        stale_writes: seen("vault"),
        grants: measure("grants").unwrap_or(0),
        grants_mhz: measure("grant rate").unwrap_or(0),
        lost_ns: measure("slowest grant after a holder's death"),
    })
}

/// Adds up the runs of a ttl.
fn point<'a>(ttl: Duration, runs: impl Iterator<Item = &'a SweepRun>) -> SweepPoint {
    let mut point = SweepPoint { ttl_ns: ttl.as_nanos() as u64, ..SweepPoint::default() };
    let mut lost = Vec::new();
    let mut rates = Vec::new();
    for run in runs {
        point.runs += 1;
        point.violated += u64::from(run.overlaps > 0);
        point.overlaps += run.overlaps;
        point.stale_writes += run.stale_writes;
        point.grants += run.grants;
        rates.push(run.grants_mhz);
        lost.extend(run.lost_ns);
    }
    point.grants_mhz = median(rates).unwrap_or(0);
    point.lost_ns = median(lost);
    point
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Returns the command that measures the same again.
fn command(args: &SweepArgs, lock: &LockInfo) -> String {
    let SweepArgs { algo, nemesis, points, seeds, .. } = args;
    let ttl = format!("{}..{}", time(args.ttl.least), time(args.ttl.greatest));
    let load = flags(&args.load.0.run(lock, nemesis, 0), lock);
    format!(
        "picklock sweep --algo {algo} --nemesis {nemesis} --ttl {ttl} --points {points} --seeds \
         {seeds}{load}"
    )
}

fn human(args: &SweepArgs, sweep: &TtlSweep) -> String {
    let schedules = counted(args.seeds, "schedule", "schedules");
    let mut text = format!("{} under {}, {schedules} a ttl\n\n", sweep.algo, sweep.nemesis);
    let rows: Vec<[String; 6]> = sweep.rows();
    let heads = reports::sweep::HEADS.map(String::from);
    let all = || std::iter::once(&heads).chain(&rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    for row in all() {
        let cells: Vec<String> =
            row.iter().enumerate().map(|(n, cell)| format!("{cell:>0$}", width(n))).collect();
        text += &format!("{}\n", cells.join("  "));
    }
    if let Some(incomplete) = sweep.incomplete() {
        text += &format!("\nINCOMPLETE: {incomplete}\n");
    }
    text
}
