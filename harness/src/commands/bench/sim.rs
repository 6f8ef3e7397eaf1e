//! `picklock bench sim`: how fast the simulator is, in whole runs: driven, recorded, checked.
//!
//! An event is a thing that was taken from the simulator's event queue and happened (see
//! `sim::Simulated::happened`); what a client does between two of them, and what the drive loop
//! does on its own, costs time and counts nothing. Each scenario is measured in several rounds, and
//! the best one is reported, since whatever else the machine does can only slow a round down.

use clap::Args;
use serde_json::{Value, json};
use std::io;
use std::thread;
use std::time::Duration;

use super::clock::Stopwatch;
use crate::Exit;
use crate::cli::Format;
use crate::commands::Failure;
use crate::nearest;
use crate::options::parse_duration as duration;
use crate::output::say;
use crate::scenario::{RunCounts, SCENARIOS, Scenario, find};

const EXAMPLES: &str = "Examples:
  picklock bench sim
  picklock bench sim --scenario redis-set-nx-px --jobs 2
  picklock bench sim --scenario zk-rw --clients 50 --format json

An event is a thing that was taken from the simulator's event queue and happened: a packet that
arrived, a line between the harness and a client, a timer that went off, a tick of a server or a
client library.";

/// The arguments of `bench sim`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SimArgs {
    /// The scenario; all of them when not given.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// The number of threads, each with its own runs.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    /// The number of clients, instead of the scenario's own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    clients: Option<u32>,
    /// The length of each round.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "300ms")]
    time: Duration,
    /// The number of rounds, of which the best is reported.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The output format; JSON is one object per line.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

pub fn run(args: &SimArgs) -> Result<Exit, Failure> {
    let chosen: Vec<&Scenario> = match &args.scenario {
        None => SCENARIOS.iter().collect(),
        Some(name) => vec![find(name).ok_or_else(|| unknown(name))?],
    };
    if args.format == Format::Human {
        say(&format!(
            "{:<16} {:>9} {:>13} {:>9} {:>9} {:>11} {:>8}\n",
            "scenario", "runs/s", "events/s", "ns/event", "(of CPU)", "events/run", "ops/run"
        ))?;
    }
    for scenario in chosen {
        let best = measure(scenario, args).map_err(no_thread)?;
        match args.format {
            Format::Human => say(&best.line(scenario))?,
            Format::Json => say(&format!("{}\n", best.json(scenario, args)))?,
        }
    }
    Ok(Exit::Held)
}

fn no_thread(why: io::Error) -> Failure {
    Failure::could_not(format!("cannot make a thread: {why}; give fewer --jobs"))
}

fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    Failure::arguments(nearest::unknown("scenario", name, &known))
}

/// The counts of one round, on all its threads.
#[derive(Clone, Copy, Default)]
struct RoundCounts {
    runs: u64,
    tally: RunCounts,
    /// Runs and events a second, added up over the threads.
    runs_rate: f64,
    events_rate: f64,
    /// Processor time, added up over the threads.
    cpu: Duration,
}

impl RoundCounts {
    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.tally.events += other.tally.events;
        self.tally.recorded += other.tally.recorded;
        self.tally.operations += other.tally.operations;
        self.runs_rate += other.runs_rate;
        self.events_rate += other.events_rate;
        self.cpu += other.cpu;
    }

    fn per_run(&self, what: u64) -> f64 {
        what as f64 / self.runs.max(1) as f64
    }

    fn nanos_per_event(&self, jobs: u32) -> f64 {
        f64::from(jobs) * 1e9 / self.events_rate
    }

    fn cpu_per_event(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.tally.events.max(1) as f64
    }
}

/// The best round, and on how many threads.
struct Best {
    round: RoundCounts,
    jobs: u32,
    /// The least processor time an event, of any round.
    cpu_per_event: f64,
}

fn measure(scenario: &Scenario, args: &SimArgs) -> io::Result<Best> {
    let mut best = Best { round: RoundCounts::default(), jobs: args.jobs, cpu_per_event: f64::MAX };
    for number in 0..args.rounds {
        let round = on_all_threads(scenario, args, number)?;
        best.cpu_per_event = best.cpu_per_event.min(round.cpu_per_event());
        if round.events_rate > best.round.events_rate {
            best.round = round;
        }
    }
    Ok(best)
}

fn on_all_threads(scenario: &Scenario, args: &SimArgs, number: u32) -> io::Result<RoundCounts> {
    let mut round = RoundCounts::default();
    thread::scope(|scope| {
        let begin = |job| {
            let work = move || on_this_thread(scenario, args, number, job);
            thread::Builder::new().spawn_scoped(scope, work)
        };
        let threads: Vec<_> = (0..args.jobs).map(begin).collect::<io::Result<_>>()?;
        for thread in threads {
            round.add(&thread.join().expect("a scenario runs"));
        }
        Ok(round)
    })
}

fn on_this_thread(scenario: &Scenario, args: &SimArgs, number: u32, job: u32) -> RoundCounts {
    let mut prepared = scenario.prepare(args.clients);
    let mut round = RoundCounts::default();
    let mut seed = u64::from(number) << 40 | u64::from(job) << 32;
    // The first run fills caches that all later ones find filled.
    prepared.run(seed);
    let watch = Stopwatch::start();
    loop {
        seed += 1;
        let tally = prepared.run(seed);
        round.runs += 1;
        round.tally.events += tally.events;
        round.tally.recorded += tally.recorded;
        round.tally.operations += tally.operations;
        if watch.elapsed() >= args.time {
            break;
        }
    }
    let seconds = watch.elapsed().as_secs_f64();
    round.cpu = watch.cpu();
    round.runs_rate = round.runs as f64 / seconds;
    round.events_rate = round.tally.events as f64 / seconds;
    round
}

impl Best {
    fn line(&self, scenario: &Scenario) -> String {
        let round = &self.round;
        format!(
            "{:<16} {:>9.0} {:>13.0} {:>9.1} {:>9.1} {:>11.0} {:>8.0}\n",
            scenario.name,
            round.runs_rate,
            round.events_rate,
            round.nanos_per_event(self.jobs),
            self.cpu_per_event,
            round.per_run(round.tally.events),
            round.per_run(round.tally.operations),
        )
    }

    fn json(&self, scenario: &Scenario, args: &SimArgs) -> Value {
        let round = &self.round;
        json!({
            "scenario": scenario.name,
            "summary": scenario.summary,
            "clients": args.clients,
            "jobs": self.jobs,
            "rounds": args.rounds,
            "runs_per_second": round.runs_rate,
            "events_per_second": round.events_rate,
            "ns_per_event": round.nanos_per_event(self.jobs),
            "cpu_ns_per_event": self.cpu_per_event,
            "events_per_run": round.per_run(round.tally.events),
            "recorded_per_run": round.per_run(round.tally.recorded),
            "operations_per_run": round.per_run(round.tally.operations),
        })
    }
}
