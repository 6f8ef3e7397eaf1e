//! `picklock bench real`: how many cycles of a lock real clients do on a real server, beside what
//! the server can do at all.
//!
//! Clients are processes, and each cycle passes the harness, which records it, and the link proxy.
//! `redis-benchmark` with as many connections, right at the server, is the measure of that: both
//! run against the same server, one after the other. Other work on the machine slows
//! redis-benchmark more than the clients, which wait most of the time, and so flatters their ratio:
//! measure it alone.

use anyhow::{Context, Result};
use base::{Backend, F, Kind, Mono, RunSpec, nanos};
use clap::Args;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::Exit;
use crate::cli::Format;
use crate::commands::{Failure, catalogued, interruptible};
use crate::options::parse_duration as duration;
use crate::output::say;
use crate::output_style::hint;
use crate::setup::Setup;
use docker::DockerBackend;
use drive::{Recorder, Watcher, drive};

const EXAMPLES: &str = "Examples:
  picklock bench real
  picklock bench real --clients 20 --keys 20 --time 5s --format json

A cycle is one grant and its release, by the task `hammer`. A client is a process with one
connection and eight workers.";

/// The arguments of `bench real`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RealArgs {
    /// The lock, on one Redis server.
    #[arg(long, value_name = "LOCK", default_value = "redis-set-nx-px")]
    algo: String,
    /// The number of clients, and of connections of redis-benchmark.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=200))]
    clients: u32,
    /// The number of keys.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    keys: u32,
    /// The time for which the clients are measured.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s")]
    time: Duration,
    /// The output format.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// The requests of one redis-benchmark.
const SETS: u32 = 50_000;

pub fn run(args: &RealArgs) -> Result<Exit, Failure> {
    let setup = setup(args)?;
    hint("measuring on real servers, for some seconds each");
    let stop = interruptible()?;
    let measured = measure(&setup, args, &mut UntilInterrupted(stop.clone()));
    let measured = measured.map_err(|error| match stop.load(Ordering::Relaxed) {
        true => Failure::interrupted("interrupted; everything is removed"),
        false => Failure::could_not(format!("{error:#}")),
    })?;
    let ratio = measured.cycles / measured.sets;
    match args.format {
        Format::Human => say(&format!(
            "{} clients, {} keys: {:.0} cycles/s; redis-benchmark -c {}: {:.0} SETs/s; ratio {ratio:.2}\n",
            args.clients, args.keys, measured.cycles, args.clients, measured.sets,
        ))?,
        Format::Json => {
            let Rates { cycles, sets } = measured;
            say(&format!(
                "{}\n",
                json!({ "cycles_per_s": cycles, "sets_per_s": sets, "ratio": ratio })
            ))?;
        }
    }
    Ok(Exit::Held)
}

fn setup(args: &RealArgs) -> Result<Setup, Failure> {
    let lock = catalogued(&args.algo)?;
    let mut setup = Setup::new(
        &lock,
        RunSpec {
            task: "hammer".into(),
            clients: args.clients,
            keys: args.keys,
            time_limit_ns: nanos(args.time.max(Duration::from_secs(1))),
            ..lock.info.run("none", 0)
        },
    )?;
    setup.plan.quiet = Duration::ZERO;
    match setup.world.topology.name {
        "redis" => Ok(setup),
        on => Err(Failure::arguments(format!(
            "redis-benchmark needs one Redis, and {} is on {on}",
            lock.name()
        ))),
    }
}

/// Ends the measurement at Ctrl-C, so that its containers are removed.
struct UntilInterrupted(Arc<AtomicBool>);

impl Watcher for UntilInterrupted {
    fn goes_on(&mut self, _now: Mono, _events: usize) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Rates, each a second.
struct Rates {
    /// Grants that were released.
    cycles: f64,
    /// SETs of redis-benchmark: the better of one before and one after.
    sets: f64,
}

fn measure(setup: &Setup, args: &RealArgs, watcher: &mut UntilInterrupted) -> Result<Rates> {
    docker::ensure_image(&|_| {})?;
    let mut backend = DockerBackend::start(&setup.world, &|_| {})?;
    let measured = measured(&mut backend, setup, args, watcher);
    backend.stop()?;
    measured
}

fn measured(
    backend: &mut DockerBackend,
    setup: &Setup,
    args: &RealArgs,
    watcher: &mut UntilInterrupted,
) -> Result<Rates> {
    let before = sets(backend, args)?;
    let mut recorder = Recorder::in_memory();
    drive(backend, &setup.plan, Vec::new(), &mut recorder, watcher)?;
    let history = recorder.into_history();
    let ended = |f, kind| history.events().iter().filter(move |e| e.f == f && e.kind == kind);
    let released = ended(F::Release, Kind::Ok).count();
    let begun = ended(F::Acquire, Kind::Invoke).next().context("no client came up")?;
    let length = Duration::from_nanos(history.end() - begun.time_ns);
    let cycles = released as f64 / length.as_secs_f64();
    Ok(Rates { cycles, sets: before.max(sets(backend, args)?) })
}

/// Returns the SETs a second that redis-benchmark does inside of the server's container.
fn sets(backend: &DockerBackend, args: &RealArgs) -> Result<f64> {
    let command = format!("redis-benchmark -c {} -n {SETS} -t set --csv", args.clients);
    let output = docker::run_in(backend, 0, &command)?;
    rate(&output).with_context(|| format!("redis-benchmark said: {output}"))
}

/// Returns the rate in its table: `"SET","12247.14",…` behind a line of titles.
fn rate(output: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.starts_with("\"SET\""))?;
    line.split(',').nth(1)?.trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_stands_in_the_second_column() {
        let output = "\"test\",\"rps\",\"avg_latency_ms\"\n\"SET\",\"12247.14\",\"0.402\"\n";
        assert_eq!(rate(output), Some(12_247.14));
        assert_eq!(rate("sh: redis-benchmark: not found"), None);
    }
}
