//! The rows of the benchmark: a history each, and what is measured on it.

use anyhow::Result;
use base::{History, Run, RunInfo};
use checkers::check_all;
use histories::holds::Claims;
use histories::line_sweep::Rule;
use histories::operation::Operation;
use histories::{Budget, Decision, decide, decide_by_search};
use nix::time::{ClockId, clock_gettime};
use picklock::setup::Setup;
use serde_json::{Value, json};
use std::time::Duration;

use self::inputs::{BenchLoad, add_doubtful_pairs, contended, operations, register};
use self::peak::Peak;

mod command;
mod inputs;
mod peak;

/// The extent of a measurement.
pub struct Extent {
    /// The number of acquires and releases in the histories of the line sweep.
    pub operations: u64,
    /// The number of rounds, of which the best is reported.
    pub rounds: u32,
}

/// A row of the benchmark: something to measure.
pub struct BenchRow {
    pub name: &'static str,
    summary: &'static str,
    pub measure: fn(&Extent) -> Result<RowFigures>,
}

pub const ROWS: &[BenchRow] = &[
    // First: a program that is started counts the memory of the one that starts it as its own peak.
    BenchRow {
        name: "command-model",
        summary: "`picklock check FILE --model mutex`: read, paired and decided",
        measure: |args| {
            let load = BenchLoad::new(args.operations, 10);
            command::measured(
                BenchLoad { phases: true, ..load },
                args.rounds,
                &["--model", "mutex"],
            )
        },
    },
    BenchRow {
        name: "command-run",
        summary: "`picklock check RUN`: read, judged by every checker, drawn",
        measure: |args| {
            let load = BenchLoad::new(args.operations / 2, 10);
            command::measured(BenchLoad { vault: true, phases: true, ..load }, args.rounds, &[])
        },
    },
    BenchRow {
        name: "sweep-10-clients",
        summary: "from the events to what clients believed at once",
        measure: |args| belief(args, BenchLoad::new(args.operations, 10)),
    },
    BenchRow {
        name: "sweep-100-clients",
        summary: "the same with 100 clients",
        measure: |args| belief(args, BenchLoad::new(args.operations, 100)),
    },
    BenchRow {
        name: "sweep-violation",
        summary: "two holders in the middle",
        measure: |args| {
            belief(args, BenchLoad { violation: Some(0.5), ..BenchLoad::new(args.operations, 10) })
        },
    },
    BenchRow {
        name: "sweep-doubt",
        summary: "one acquire in a hundred ends in doubt",
        measure: |args| {
            belief(args, BenchLoad { doubt: 0.01, ..BenchLoad::new(args.operations, 10) })
        },
    },
    BenchRow {
        name: "sweep-late",
        summary: "two holders at 95 %",
        measure: |args| {
            belief(args, BenchLoad { violation: Some(0.95), ..BenchLoad::new(args.operations, 10) })
        },
    },
    BenchRow {
        name: "sweep-claims",
        summary: "the line sweep alone, over claims that are read already",
        measure: |args| {
            let claims = Claims::of(&contended(BenchLoad::new(args.operations, 10)));
            best(args, args.operations, || {
                legal(histories::line_sweep::conflicts(&claims, Rule::Others).is_empty())
            })
        },
    },
    BenchRow {
        name: "sweep-model",
        summary: "operations against the model `mutex`, which the line sweep decides",
        measure: |args| {
            let operations = operations(&contended(BenchLoad::new(args.operations, 10)));
            best(args, args.operations, || decided(decide(model("mutex"), &operations, budget())))
        },
    },
    BenchRow {
        name: "all-checkers",
        summary: "every checker, with reads and writes of the vault",
        measure: all_checkers,
    },
    BenchRow {
        name: "search-mutex",
        summary: "a tenth of the operations, of 10 clients, by search",
        measure: |args| searched(args, "mutex", &lock(tenth(args), 10, None, 0.0)),
    },
    BenchRow {
        name: "search-mutex-late",
        summary: "the same with a violation at 95 %",
        measure: |args| searched(args, "mutex", &lock(tenth(args), 10, Some(0.95), 0.0)),
    },
    BenchRow {
        name: "search-mutex-100-clients",
        summary: "a tenth of the operations, of 100 clients, by search",
        measure: |args| searched(args, "mutex", &lock(tenth(args), 100, None, 0.0)),
    },
    BenchRow {
        name: "search-mutex-doubt",
        summary: "1,000 operations, a violation at 95 %, 20 pairs of unknown outcome",
        measure: |args| {
            let mut operations = lock(1_000, 10, Some(0.95), 0.0);
            add_doubtful_pairs(&mut operations, 20);
            searched(args, "owner-mutex", &operations)
        },
    },
    BenchRow {
        name: "search-rw-30-clients",
        summary: "1,000 operations of 30 clients, most of them readers, a violation",
        measure: |args| searched(args, "rw", &lock(1_000, 30, Some(0.95), 0.8)),
    },
    BenchRow {
        name: "search-register",
        summary: "a tenth of the operations, reads and writes of 10 clients",
        measure: |args| searched(args, "register", &register(tenth(args), 10, false)),
    },
    BenchRow {
        name: "search-register-late",
        summary: "the same with a read of what nobody wrote at the end",
        measure: |args| searched(args, "register", &register(tenth(args), 10, true)),
    },
];

/// The measurements of one row.
pub struct RowFigures {
    operations: u64,
    /// The least processor time of all rounds.
    time: Duration,
    /// Bytes at the peak of the first round, beyond the history.
    bytes: Option<u64>,
    verdict: &'static str,
    /// The ratio to the line sweep over the same history, in the same rounds.
    ratio: Option<f64>,
}

impl RowFigures {
    fn per_operation(&self, what: f64) -> f64 {
        what / self.operations as f64
    }

    pub fn line(&self, row: &BenchRow) -> String {
        let bytes = self.bytes.map(|bytes| format!("{:.0}", self.per_operation(bytes as f64)));
        let ratio = self.ratio.map(|ratio| format!(", {ratio:.1} times the line sweep"));
        format!(
            "{:<26} {:>10} {:>10.2} {:>8.1} {:>9}  {}{}",
            row.name,
            self.operations,
            self.time.as_secs_f64() * 1e3,
            self.per_operation(self.time.as_nanos() as f64),
            bytes.as_deref().unwrap_or("-"),
            self.verdict,
            ratio.unwrap_or_default(),
        )
    }

    pub fn json(&self, row: &BenchRow, args: &Extent) -> Value {
        json!({
            "row": row.name,
            "summary": row.summary,
            "operations": self.operations,
            "rounds": args.rounds,
            "cpu_seconds": self.time.as_secs_f64(),
            "ns_per_operation": self.per_operation(self.time.as_nanos() as f64),
            "bytes_per_operation": self.bytes.map(|bytes| self.per_operation(bytes as f64)),
            "verdict": self.verdict,
            "ratio_to_sweep": self.ratio,
        })
    }
}

/// Measures a judgement in all rounds.
fn best(args: &Extent, operations: u64, judge: impl Fn() -> &'static str) -> Result<RowFigures> {
    let peak = Peak::start();
    let verdict = judge();
    let bytes = peak.and_then(|peak| peak.grown());
    let time = (0..args.rounds).map(|_| timed(&judge)).min().unwrap_or_default();
    Ok(RowFigures { operations, time, bytes, verdict, ratio: None })
}

fn timed<T>(what: impl Fn() -> T) -> Duration {
    let begun = cpu();
    std::hint::black_box(what());
    cpu().saturating_sub(begun)
}

/// Returns the processor time that this thread has used, which other programs do not lengthen.
fn cpu() -> Duration {
    // Linux always has this clock.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn legal(legal: bool) -> &'static str {
    if legal { "legal" } else { "illegal" }
}

fn decided(decision: Result<Decision, histories::Misfit>) -> &'static str {
    match decision {
        Ok(Decision::Legal) => "legal",
        Ok(Decision::Illegal(_)) => "illegal",
        Ok(Decision::Inconclusive(_)) | Err(_) => "inconclusive",
    }
}

fn model(name: &str) -> histories::NamedModel {
    name.parse().expect("a model of the list")
}

fn budget() -> Budget<'static> {
    // A closure without captures is static, and so is a leak of nothing.
    Budget { memory: 8 << 30, expired: Box::leak(Box::new(|| false)) }
}

fn believed(history: &History) -> &'static str {
    legal(histories::line_sweep::conflicts(&Claims::of(history), Rule::Others).is_empty())
}

fn belief(args: &Extent, load: BenchLoad) -> Result<RowFigures> {
    let history = contended(load);
    best(args, load.operations, || believed(&history))
}

/// The search is measured on a tenth of what the line sweep is: 100 k operations of 1 M.
fn tenth(args: &Extent) -> u64 {
    (args.operations / 10).max(1_000)
}

fn lock(count: u64, clients: u32, violation: Option<f64>, shared: f64) -> Vec<Operation> {
    let load = BenchLoad { violation, shared, ..BenchLoad::new(count, clients) };
    operations(&contended(load))
}

fn searched(args: &Extent, name: &str, operations: &[Operation]) -> Result<RowFigures> {
    let search = || decided(decide_by_search(model(name), operations, budget()));
    best(args, operations.len() as u64, search)
}

/// Returns the header of a run of so many clients.
fn info(clients: u32) -> RunInfo {
    let lock = workloads::lock("redis-set-nx-px").expect("a lock of the list");
    let run = base::RunSpec { clients, ..lock.info.run("none", 0) };
    Setup::new(&lock, run).expect("a lock of the list").info_for("sim")
}

fn all_checkers(args: &Extent) -> Result<RowFigures> {
    let history = contended(BenchLoad { vault: true, ..BenchLoad::new(args.operations, 10) });
    let run = Run { info: info(10), history, ledger: None };
    let sweep = (0..args.rounds).map(|_| timed(|| believed(&run.history))).min();
    let judge = || legal(check_all(&run).iter().all(|verdict| verdict.anomalies.is_empty()));
    let measured = best(args, args.operations, judge)?;
    let sweep = sweep.unwrap_or_default().as_secs_f64();
    let ratio = (sweep > 0.0).then(|| measured.time.as_secs_f64() / sweep);
    Ok(RowFigures { ratio, ..measured })
}
