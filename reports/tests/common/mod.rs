//! Runs made by hand, for tests and for the gallery: events, one by one, timed in milliseconds.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use base::{
    Action, Anomaly, Cause, Data, Effect, Event, F, Facts, Fault, FaultEvent, FaultId, History,
    Kind, Known, LockInfo, Mode, Node, Outcome, Process, Promises, Rng, Run, RunInfo, RunSpec,
    Verdict,
};
use picklock_reports::Context;
use std::time::Duration;

pub struct Story {
    pub history: History,
}

impl Story {
    pub fn new() -> Self {
        Self { history: History::default() }
    }

    /// A client's event; returns its index.
    pub fn event(&mut self, ms: u64, process: u32, kind: Kind, f: F) -> u64 {
        self.with(ms, process, kind, f, |_| {})
    }

    pub fn with(
        &mut self,
        ms: u64,
        process: u32,
        kind: Kind,
        f: F,
        change: impl FnOnce(&mut Event),
    ) -> u64 {
        let mut event = Event::new(ms * 1_000_000, Process::Client(process), kind, f);
        event.key = Some("k0".into());
        if f == F::Acquire {
            event.mode = Some(Mode::Exclusive);
        }
        change(&mut event);
        self.history.push(event).index
    }

    pub fn nemesis(&mut self, ms: u64, kind: Kind, f: F) -> u64 {
        self.history.push(Event::new(ms * 1_000_000, Process::Nemesis, kind, f)).index
    }

    pub fn fault(&mut self, ms: u64, kind: Kind, f: F, id: FaultId, fault: Fault) -> u64 {
        let effect =
            (f == F::Heal && kind == Kind::Info).then(|| Effect::new("ms not running", 2_000));
        let mut event = Event::new(ms * 1_000_000, Process::Nemesis, kind, f);
        event.fault =
            Some(Box::new(FaultEvent { id, fault, effect, line: None, leaders: Vec::new() }));
        self.history.push(event).index
    }
}

pub fn pause(client: u32) -> Fault {
    Fault::at(Node::Client(client), Action::Pause)
}

pub fn info(algo: &str, nemesis: &str) -> RunInfo {
    let promises = Promises { recovers: Some(2), ..Promises::MUTEX };
    let lock = LockInfo::judged(algo.try_into().expect("a name"), promises, Vec::new());
    let run = RunSpec::new(nemesis, Duration::from_secs(1), 42);
    RunInfo {
        quiet_ns: 6_000_000_000,
        acquire_timeout_ns: 5_000_000_000,
        command: format!("picklock test --algo {algo} --nemesis {nemesis} --backend sim --seed 42"),
        ..RunInfo::new(lock, RunSpec { topology: Some("redis".into()), ..run }, "sim")
    }
}

pub fn context() -> Context {
    Context {
        folder: "store/redis-set-nx-px+pause/20261121T101500".into(),
        version: "0.1.0".into(),
        elapsed: Some(Duration::from_millis(850)),
    }
}

pub struct Sample {
    pub run: Run,
    pub verdicts: Vec<Verdict>,
    pub outcome: Outcome,
}

fn anomaly(name: &str, count: u64, witness: Vec<u64>, explanation: &str) -> Anomaly {
    Anomaly {
        name: name.into(),
        count,
        witness,
        explanation: explanation.into(),
        cause: Cause::HolderPaused.into(),
        ..Anomaly::default()
    }
}

fn violated(property: &str, summary: &str, anomalies: Vec<Anomaly>) -> Verdict {
    Verdict { anomalies, ..Verdict::new(property, Outcome::Violated, summary) }
}

/// A holder is paused, its lock runs out, another gets it, the first writes when it wakes.
pub fn double_hold() -> Sample {
    let mut s = Story::new();
    s.event(3_900, 3, Kind::Invoke, F::Acquire);
    let (asked, expires) = (Some(3_950_000_000), Some(4_950_000_000));
    let a = s.with(4_100, 3, Kind::Ok, F::Acquire, |e| {
        e.facts =
            Some(Box::new(Facts { asked_ns: asked, expires_ns: expires, ..Facts::default() }));
    });
    s.event(4_150, 1, Kind::Invoke, F::Acquire);
    s.fault(4_205, Kind::Invoke, F::Fault, 0, pause(3));
    let p = s.fault(4_210, Kind::Info, F::Fault, 0, pause(3));
    let b = s.event(5_233, 1, Kind::Ok, F::Acquire);
    s.event(5_300, 1, Kind::Invoke, F::Write);
    let w = s.with(5_310, 1, Kind::Ok, F::Write, |e| e.value = Some(17));
    s.fault(6_200, Kind::Invoke, F::Heal, 0, pause(3));
    let h = s.fault(6_210, Kind::Info, F::Heal, 0, pause(3));
    s.event(6_215, 3, Kind::Invoke, F::Write);
    let stale = s.with(6_220, 3, Kind::Ok, F::Write, |e| e.value = Some(18));
    s.event(6_260, 3, Kind::Invoke, F::Release);
    s.with(6_270, 3, Kind::Fail, F::Release, |e| e.error = Some("the key is not mine".into()));
    s.event(6_400, 1, Kind::Invoke, F::Release);
    s.event(6_410, 1, Kind::Ok, F::Release);
    s.event(6_420, 0, Kind::Invoke, F::Acquire);
    s.with(11_420, 0, Kind::Fail, F::Acquire, |e| {
        e.error = Some("the acquire timeout ran out".into())
    });
    s.nemesis(30_000, Kind::Info, F::Quiet);
    s.nemesis(36_000, Kind::Info, F::Stop);
    let why = "a ttl lock cannot tell a paused holder from a dead one (H7)";
    let known =
        |name: &str| Known { cause: Cause::HolderPaused, anomaly: name.into(), why: why.into() };
    let mut info = info("redis-set-nx-px", "pause:client");
    info.lock.known = vec![known("double hold"), known("stale write accepted")];
    Sample {
        run: Run { info, history: s.history, ledger: None },
        verdicts: vec![
            violated(
                "exclusion",
                "two clients held the lock at the same moment, 3 times",
                vec![anomaly(
                    "double hold",
                    3,
                    vec![a, p, b],
                    "Process 3 acquired the lock at 4.100 s and had not released it when \
                     process 1 acquired it too, at 5.233 s. Both held it for 1.027 s.",
                )],
            ),
            violated(
                "vault",
                "1 write came after a later grant had been served",
                vec![anomaly(
                    "stale write accepted",
                    1,
                    vec![a, p, b, w, h, stale],
                    "Process 3 wrote under a hold that was over: the vault had served process 1.",
                )],
            ),
            Verdict::new("progress", Outcome::Held, "12 grants after the heal, the first at once"),
            Verdict::new("fencing", Outcome::NotApplicable, "the lock has no tokens"),
            Verdict::new(
                "coverage",
                Outcome::Held,
                "contended; 1 of 1 faults had an effect; granted after the heal",
            ),
        ],
        outcome: Outcome::Violated,
    }
}

/// A read/write lock that lets a reader in beside a writer, on two servers' worth of keys.
pub fn reader_beside_writer() -> Sample {
    let mut s = Story::new();
    let shared = |e: &mut Event| e.mode = Some(Mode::Shared);
    s.with(100, 7, Kind::Invoke, F::Acquire, shared);
    s.with(110, 7, Kind::Ok, F::Acquire, shared);
    s.with(105, 0, Kind::Invoke, F::Acquire, shared);
    s.with(120, 0, Kind::Ok, F::Acquire, shared);
    s.event(130, 7, Kind::Invoke, F::Release);
    s.event(131, 7, Kind::Ok, F::Release);
    s.event(140, 0, Kind::Invoke, F::Release);
    s.event(141, 0, Kind::Ok, F::Release);
    s.event(150, 1, Kind::Invoke, F::Acquire);
    let a = s.event(152, 1, Kind::Ok, F::Acquire);
    s.with(153, 7, Kind::Invoke, F::Acquire, shared);
    let b = s.with(153, 7, Kind::Ok, F::Acquire, shared);
    s.event(160, 1, Kind::Invoke, F::Release);
    s.event(161, 1, Kind::Ok, F::Release);
    s.event(190, 7, Kind::Invoke, F::Release);
    s.event(191, 7, Kind::Ok, F::Release);
    s.nemesis(200, Kind::Info, F::Quiet);
    s.nemesis(260, Kind::Info, F::Stop);
    let mut info = info("zk-rw", "none");
    info.lock.promises.shared = true;
    info.servers = 3;
    Sample {
        run: Run { info, history: s.history, ledger: None },
        verdicts: vec![violated(
            "exclusion",
            "a reader held the lock beside a writer",
            vec![anomaly(
                "reader-writer overlap",
                1,
                vec![a, b],
                "Process 1 held the lock exclusively when process 7 came in to read.",
            )],
        )],
        outcome: Outcome::Violated,
    }
}

pub fn empty() -> Sample {
    Sample {
        run: Run { info: info("zk-rw", "none"), history: History::default(), ledger: None },
        verdicts: vec![Verdict::new(
            "coverage",
            Outcome::Inconclusive,
            "nobody asked for the lock",
        )],
        outcome: Outcome::Inconclusive,
    }
}

/// A run that was killed while one client held the lock and one waited, and a fault was in force.
pub fn cut_off() -> Sample {
    let mut s = Story::new();
    s.event(100, 0, Kind::Invoke, F::Acquire);
    s.event(120, 0, Kind::Ok, F::Acquire);
    s.event(130, 1, Kind::Invoke, F::Acquire);
    let crash = Fault::at(Node::Server(0), Action::Crash(Data::Lost));
    s.fault(500, Kind::Info, F::Fault, 0, crash);
    s.event(900, 2, Kind::Invoke, F::Acquire);
    Sample {
        run: Run {
            info: info("redis-set-nx-px", "crash:server"),
            history: s.history,
            ledger: None,
        },
        verdicts: vec![
            Verdict::new("exclusion", Outcome::Held, "never two holders at once"),
            Verdict::new("progress", Outcome::Inconclusive, "the history ends before the heal"),
        ],
        outcome: Outcome::Inconclusive,
    }
}

/// Strings that would do harm if a report trusted them.
pub fn hostile() -> Sample {
    let evil = "</script><script>alert(1)</script>\x1b[31m\r\n\u{202e}\u{2066}\u{9b}<img src=x onerror=alert(2)>\"'&";
    let mut sample = double_hold();
    sample.run.info.run.nemesis = evil.into();
    sample.run.info.command = evil.into();
    let events = sample.run.history.events().to_vec();
    let mut history = History::default();
    for mut event in events {
        if matches!(event.kind, Kind::Fail) {
            event.error = Some(evil.into());
        }
        event.key = event.key.map(|_| evil.into());
        history.push(event);
    }
    sample.run.history = history;
    for verdict in &mut sample.verdicts {
        verdict.summary = evil.into();
        verdict.property = evil.into();
        for anomaly in &mut verdict.anomalies {
            anomaly.name = evil.into();
            anomaly.explanation = evil.into();
        }
    }
    sample
}

/// A made-up run of many events under faults of every kind: for looks and for size. It is no
/// simulation of a lock; holds follow each other, a few acquires fail or stay unknown, and one
/// client in a while is killed and comes back.
pub fn busy(target: usize) -> Sample {
    let mut busy = Busy::new(target);
    while busy.story.history.events().len() < target {
        busy.cycle();
    }
    busy.finish()
}

struct Busy {
    story: Story,
    rng: Rng,
    now: u64,
    processes: Vec<u32>,
    fault: Option<(FaultId, Fault, u64)>,
    next_fault: u64,
    faults: FaultId,
    value: u64,
    step: u64,
}

impl Busy {
    fn new(target: usize) -> Self {
        // About 8 events a cycle; the run lasts about 30 s whatever its size.
        let step = (30_000_000_000 / (target as u64 / 8).max(1)).max(1_000);
        Self {
            story: Story::new(),
            rng: Rng::new(7),
            now: 0,
            processes: (0..5).collect(),
            fault: None,
            next_fault: 2_000_000_000,
            faults: 0,
            value: 0,
            step,
        }
    }

    fn push(&mut self, process: u32, kind: Kind, f: F, change: impl FnOnce(&mut Event)) {
        let time = self.now;
        let place = self.story.with(0, process, kind, f, |e| {
            e.time_ns = time;
            change(e);
        });
        assert_eq!(place + 1, self.story.history.events().len() as u64);
    }

    fn wait(&mut self, share: u64) {
        self.now += 1 + self.rng.below(self.step * share / 50);
    }

    fn cycle(&mut self) {
        self.nemesis();
        let client = self.rng.below(5) as usize;
        let process = self.processes[client];
        let mode = if self.rng.chance(0.3) { Mode::Shared } else { Mode::Exclusive };
        self.push(process, Kind::Invoke, F::Acquire, |e| e.mode = Some(mode));
        self.wait(20);
        match self.rng.below(40) {
            0 => return self.end(client, Kind::Info, "no reply within 500 ms"),
            1 | 2 => {
                return self.push(process, Kind::Fail, F::Acquire, |e| {
                    e.error = Some("the acquire timeout ran out".into());
                });
            }
            _ => self.push(process, Kind::Ok, F::Acquire, |e| e.mode = Some(mode)),
        }
        self.work(client, process, mode);
    }

    fn work(&mut self, client: usize, process: u32, mode: Mode) {
        self.wait(20);
        self.push(process, Kind::Invoke, F::Read, |_| {});
        let value = self.value;
        self.push(process, Kind::Ok, F::Read, |e| e.value = Some(value));
        self.wait(20);
        if self.rng.chance(0.004) {
            self.push(process, Kind::Info, F::Death, |e| e.error = Some("killed".into()));
            self.processes[client] += 5;
            return;
        }
        if mode == Mode::Exclusive {
            self.value += 1;
            let (value, fenced) = (self.value, self.rng.chance(0.02));
            let kind = if fenced { Kind::Fail } else { Kind::Ok };
            self.push(process, Kind::Invoke, F::Write, |e| e.value = Some(value));
            self.push(process, kind, F::Write, |e| e.value = Some(value));
        }
        self.wait(20);
        self.push(process, Kind::Invoke, F::Release, |_| {});
        self.wait(20);
        self.push(process, Kind::Ok, F::Release, |_| {});
    }

    fn end(&mut self, client: usize, kind: Kind, error: &str) {
        let process = self.processes[client];
        self.push(process, kind, F::Acquire, |e| e.error = Some(error.into()));
        self.processes[client] += 5;
    }

    fn nemesis(&mut self) {
        match self.fault.clone() {
            Some((id, fault, until)) if self.now >= until => {
                self.nemesis_event(F::Heal, id, fault);
                self.fault = None;
                self.next_fault = self.now + 1_000_000_000 + self.rng.below(1_000_000_000);
            }
            None if self.now >= self.next_fault && self.now < 28_000_000_000 => {
                let fault = self.new_fault();
                let until = self.now + 800_000_000 + self.rng.below(1_500_000_000);
                self.nemesis_event(F::Fault, self.faults, fault.clone());
                self.fault = Some((self.faults, fault, until));
                self.faults += 1;
            }
            _ => {}
        }
    }

    fn new_fault(&mut self) -> Fault {
        let client = Node::Client(self.rng.below(5) as u32);
        let server = Node::Server(self.rng.below(3) as u32);
        match self.faults % 4 {
            0 => Fault::at(client, Action::Pause),
            1 => {
                let links = (0..3).map(|n| (client, Node::Server(n))).collect();
                Fault::over(links, Action::Cut(base::Direction::Both))
            }
            2 => Fault::at(server, Action::Crash(Data::Kept)),
            _ => Fault::at(client, Action::Kill),
        }
    }

    fn nemesis_event(&mut self, f: F, id: FaultId, fault: Fault) {
        let at = self.now;
        let effect = (f == F::Heal).then(|| Effect::new("bytes held", 512 * u64::from(id % 3)));
        let mut event = Event::new(at, Process::Nemesis, Kind::Info, f);
        event.fault =
            Some(Box::new(FaultEvent { id, fault, effect, line: None, leaders: Vec::new() }));
        self.story.history.push(event);
    }

    fn finish(mut self) -> Sample {
        if let Some((id, fault, _)) = self.fault.take() {
            self.nemesis_event(F::Heal, id, fault);
        }
        let quiet = self.now / 1_000_000;
        self.story.nemesis(quiet, Kind::Info, F::Quiet);
        self.story.nemesis(quiet + 3_000, Kind::Info, F::Stop);
        let mut info = info("zk-rw", "partition,crash");
        info.lock.promises.shared = true;
        info.servers = 3;
        let summary = "never two conflicting holders at once";
        let verdicts = ["exclusion", "vault", "progress", "coverage"];
        let verdict = |name: &&str| Verdict::new(name, Outcome::Held, summary);
        Sample {
            run: Run { info, history: self.story.history, ledger: None },
            verdicts: verdicts.iter().map(verdict).collect(),
            outcome: Outcome::Held,
        }
    }
}
