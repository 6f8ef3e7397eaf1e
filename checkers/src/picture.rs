//! Histories drawn as pictures, for tests.
//!
//! A row is a process (`p0`; `p0/k1` for another lock than `k0`, `p0*2` for one that asks for two
//! permits at once), a fault (`pause c0`, `crash s0`,
//! `wipe s0`, `evict s0`, `jump s0`, `drift s0`, `freeze s0`, `cut c0-s1`, `cut s0>s1` one way,
//! `slow c0-s1`) or the run; a column is a tenth of a second, and within a column the rows happen
//! from top to bottom. Column 0 stands a space after the bar.
//!
//! ```text
//! p0       | a-A====rR        asks, holds, releases
//! p1       |    sS=R          the same, shared
//! pause c0 |     [   ]        in force from [ to ], with effect; } heals without effect
//! run      |           Q   E  quiet phase, end
//! ```
//!
//! | sign | event | | sign | event |
//! | --- | --- | --- | --- | --- |
//! | `a` `s` | asks, exclusive or shared | | `L` | lost |
//! | `A` `S` | granted; asks first if it has not; a digit next to it is token and place, `/` that it took an older grant's | | `X` | death |
//! | `r` | begins to release | | `g` `w` | the vault serves a read, a write |
//! | `R` | released; begins first if it has not | | `f` `F` | the vault fences a write, a read off |
//! | `D` | released: whatever stood there | | `n` | woken by the store |
//! | `O` `N` `K` | released: its own; nothing; an inner hold, so nothing | | `k` | sends the request that is granted |
//! | `~` | fails, and the store counts it as the holder | | | |
//! | `U` `V` | upgrades, downgrades; begins first if it has not | | `u` `v` | begins to |
//! | `t` | gives up a write that was sent | | `z` `Z` | it arrives late and is applied, is fenced off |
//! | `!` `?` | the open acquire or release fails, ends unknown | | `G` `W` | sends a read, a write |
//!
//! A row `store` (`store b` for another thing, `store s1` for the same on server 1, `store queue`
//! for one that several share) is the ledger of a thing: a digit, written by that process; `a` to
//! `e`, deleted by process 0 to 4; `o`, removed as overdue by process 4; `x`, its time was over;
//! `z`, its writer's session ended; `l`, lost with the server's data; `v`, evicted; `s`, stands
//! again as before.
//!
//! A row `stall s0` (`stall c0`, `stall harness`) has stalls of the machine: a digit, at the end of
//! one that has lasted for so many columns.
//!
//! In the row of the run `X` is where somebody else interferes.
//!
//! Everything else is time that passes. `g`, `w`, `f` and `F` send the access first if it was not
//! sent. A write stores one more than its process read last. The granted request is sent half a
//! column before its answer, if `k` says nothing else; with a row `ttl` grants say when they run
//! out.

use base::{
    Action, Change, ClockChange, Data, Direction, Effect, Event, F, Facts, Fault, FaultEvent,
    History, Key, Kind, Ledger, LinkFault, LockInfo, Mode, Node, Outcome, Process, Promises,
    Removed, Run, RunInfo, RunSpec, Stall, Verdict,
};
use expect_test::Expect;
use std::collections::BTreeMap;

use crate::judgement::{EXPLANATION_STEPS, explain};
use crate::{Case, Checker};

/// A tenth of a second.
const COLUMN: u64 = 100_000_000;

/// Reads a picture. The run has five clients, a ttl of one second and a lock that promises to
/// recover within it; its nemesis is `pause` if a fault is drawn, else `none`.
pub(crate) fn picture(text: &str) -> Run {
    let rows: Vec<(&str, &str)> =
        text.lines().filter_map(|l| l.split_once("| ")).map(|(name, p)| (name.trim(), p)).collect();
    let mut painter = PicturePainter {
        ttl: rows.iter().any(|(name, _)| *name == "ttl"),
        ..PicturePainter::default()
    };
    let width = rows.iter().map(|(_, picture)| picture.len()).max().unwrap_or(0);
    for column in 0..width {
        painter.time = column as u64 * COLUMN;
        for (row, (name, picture)) in rows.iter().enumerate() {
            let sign = picture.as_bytes().get(column).map_or(' ', |sign| char::from(*sign));
            let next = picture.as_bytes().get(column + 1).map(|sign| char::from(*sign));
            match name.strip_prefix('p').filter(|name| name.starts_with(|c: char| c.is_numeric())) {
                Some(process) => painter.client(process, sign, next),
                None if name.starts_with("store") => painter.store(name, sign),
                None if name.starts_with("stall ") => painter.stall(&name[6..], sign),
                None => painter.nemesis(row as u32, name, sign),
            }
        }
    }
    let faults = painter.history.events().iter().any(|event| event.fault.is_some());
    Run {
        info: info(if faults { "pause" } else { "none" }),
        history: painter.history,
        ledger: painter.ledger,
    }
}

fn info(nemesis: &str) -> RunInfo {
    let promises = Promises { shared: true, recovers: Some(1), ..Promises::MUTEX };
    let name = "drawn".try_into().expect("a name");
    let ttl = std::time::Duration::from_nanos(10 * COLUMN);
    let run = RunSpec { time_limit_ns: 0, ..RunSpec::new(nemesis, ttl, 0) };
    RunInfo::new(LockInfo::judged(name, promises, Vec::new()), run, "sim")
}

/// A checker and the promises of the lock that its pictures are of.
pub(crate) struct Gallery {
    pub(crate) checker: &'static dyn Checker,
    /// The changes to a lock as [`picture`] draws it.
    pub(crate) info: fn(&mut RunInfo),
}

impl Gallery {
    /// The verdict on a picture, explained.
    pub(crate) fn judge(&self, text: &str) -> Verdict {
        let mut run = picture(text);
        (self.info)(&mut run.info);
        judge(self.checker, &run)
    }

    #[track_caller]
    pub(crate) fn rejects(&self, text: &str, anomaly: &str, seen: u64) {
        let verdict = self.judge(text);
        let found: Vec<_> = verdict.anomalies.iter().map(|a| (a.name.as_str(), a.count)).collect();
        assert_eq!(found, [(anomaly, seen)], "{verdict:?}{text}");
        assert_eq!(verdict.outcome, Outcome::Violated, "{verdict:?}{text}");
        assert!(!verdict.anomalies[0].witness.is_empty(), "{verdict:?}{text}");
    }

    /// Returns the summary, as all of these do that are not given it.
    #[track_caller]
    pub(crate) fn accepts(&self, text: &str) -> String {
        self.says(Outcome::Held, text)
    }

    #[track_caller]
    pub(crate) fn unclear(&self, text: &str, summary: Expect) {
        summary.assert_eq(&self.says(Outcome::Inconclusive, text));
    }

    #[track_caller]
    pub(crate) fn does_not_apply(&self, text: &str) -> String {
        self.says(Outcome::NotApplicable, text)
    }

    #[track_caller]
    pub(crate) fn measures(&self, text: &str) -> String {
        self.says(Outcome::Measured, text)
    }

    #[track_caller]
    fn says(&self, outcome: Outcome, text: &str) -> String {
        let verdict = self.judge(text);
        assert_eq!(verdict.outcome, outcome, "{verdict:?}{text}");
        assert!(verdict.anomalies.is_empty(), "{verdict:?}{text}");
        verdict.summary
    }
}

/// The verdict of one checker, explained.
pub(crate) fn judge(checker: &dyn Checker, run: &Run) -> Verdict {
    let case = Case::of(run);
    let mut verdict = checker.check(&case);
    explain(checker, &case, &mut verdict, EXPLANATION_STEPS);
    verdict
}

#[derive(Default)]
struct PicturePainter {
    history: History,
    time: u64,
    /// Grants say when they run out.
    ttl: bool,
    pens: BTreeMap<String, Pen>,
    ledger: Option<Ledger>,
    /// The process that wrote a thing last.
    writers: BTreeMap<String, u32>,
    vault: BTreeMap<Key, u64>,
}

/// The row of a process, and what it is in the middle of.
struct Pen {
    process: Process,
    key: Key,
    /// The number of permits that it asks for, if it is not one.
    permits: Option<u64>,
    /// The lock operation that waits for its answer.
    open: Option<F>,
    /// The access to the vault that is on its way.
    sent: Option<F>,
    mode: Mode,
    token: Option<u64>,
    /// The time at which the request that is granted was sent.
    asked: Option<u64>,
    read: u64,
    /// The index of the last `invoke` of a write.
    begun: u64,
    /// The write that was given up, as it would be answered.
    late: Option<Event>,
}

impl Pen {
    fn new(name: &str) -> Self {
        let (name, permits) = name.split_once('*').unwrap_or((name, "1"));
        let (number, key) = name.split_once('/').unwrap_or((name, "k0"));
        let permits = permits.parse().expect("a number of permits");
        Self {
            process: Process::Client(number.parse().expect("a process has a number")),
            key: key.into(),
            permits: Some(permits).filter(|permits| *permits != 1),
            open: None,
            sent: None,
            mode: Mode::Exclusive,
            token: None,
            asked: None,
            read: 0,
            begun: 0,
            late: None,
        }
    }
}

impl PicturePainter {
    fn store(&mut self, name: &str, sign: char) {
        let ledger = self.ledger.get_or_insert_default();
        if name.ends_with(" queue") {
            ledger.share(name);
        }
        let server = name.split_once(" s").and_then(|(_, number)| number.parse().ok());
        let writer = self.writers.get(name).copied().unwrap_or(0);
        let change = match sign {
            '0'..='9' => {
                let process = u32::from(sign) - u32::from('0');
                self.writers.insert(name.to_owned(), process);
                Change::Written(process)
            }
            'a'..='e' => Change::Deleted(u32::from(sign) - u32::from('a')),
            'o' => Change::Overdue(4),
            'x' => Change::Expired,
            'z' => Change::SessionEnded(writer),
            'l' => Change::Wiped,
            'v' => Change::Evicted,
            's' => Change::Restored,
            _ => return,
        };
        let thing = if server.is_some() { "store" } else { name };
        ledger.note(self.time, server.unwrap_or(0), thing, change);
    }

    fn client(&mut self, name: &str, sign: char, next: Option<char>) {
        let mut pen = self.pens.remove(name).unwrap_or_else(|| Pen::new(name));
        self.begin(&mut pen, sign);
        self.happen(&mut pen, sign, next);
        if "ASRUVDONK!?~X".contains(sign) {
            pen.open = None;
        }
        if "gwfFt".contains(sign) {
            pen.sent = None;
        }
        self.pens.insert(name.into(), pen);
    }

    /// Invokes what a sign begins, unless it has begun already.
    fn begin(&mut self, pen: &mut Pen, sign: char) {
        let f = match sign {
            'a' | 'A' | 's' | 'S' => F::Acquire,
            'r' | 'R' | 'D' | 'O' | 'N' | 'K' => F::Release,
            'u' | 'U' | 'v' | 'V' => F::Convert,
            'g' | 'G' | 'F' => F::Read,
            'w' | 'W' | 'f' => F::Write,
            _ => return,
        };
        let open = if matches!(f, F::Read | F::Write) { &mut pen.sent } else { &mut pen.open };
        if open.is_some() {
            return;
        }
        *open = Some(f);
        if f == F::Acquire {
            pen.mode = if matches!(sign, 'a' | 'A') { Mode::Exclusive } else { Mode::Shared };
            pen.token = None;
            pen.asked = None;
        }
        if f == F::Convert {
            pen.mode = if matches!(sign, 'u' | 'U') { Mode::Exclusive } else { Mode::Shared };
        }
        pen.begun = self.history.events().len() as u64;
        self.put(pen, Kind::Invoke, f, (f == F::Write).then_some(pen.read + 1));
    }

    /// Records the meaning of a sign: an answer, or something that has none.
    fn happen(&mut self, pen: &mut Pen, sign: char, next: Option<char>) {
        match (sign, pen.open) {
            ('A' | 'S', _) => {
                pen.token = next.and_then(|digit| digit.to_digit(10)).map(u64::from);
                let recovered = next == Some('/');
                let facts = Facts { recovered, ..self.granted(pen) };
                self.put_fact(pen, Kind::Ok, F::Acquire, None, facts);
            }
            ('U' | 'V', _) => self.put(pen, Kind::Ok, F::Convert, None),
            ('R', _) => self.put(pen, Kind::Ok, F::Release, None),
            ('D' | 'O' | 'N' | 'K', _) => {
                let removed = match sign {
                    'D' => Removed::Any,
                    'O' => Removed::Own,
                    'K' => Removed::Kept,
                    _ => Removed::Nothing,
                };
                let facts = Facts { removed: Some(removed), ..Facts::default() };
                self.put_fact(pen, Kind::Ok, F::Release, None, facts);
            }
            ('~', _) => {
                let facts = Facts { held: Some(true), ..Facts::default() };
                self.put_fact(pen, Kind::Fail, F::Acquire, None, facts);
            }
            ('k', _) => pen.asked = Some(self.time),
            ('n', _) => self.put(pen, Kind::Info, F::Notified, None),
            ('L', _) => self.put(pen, Kind::Info, F::Lost, None),
            ('X', _) => self.put(pen, Kind::Info, F::Death, None),
            ('!', Some(f)) => self.put(pen, Kind::Fail, f, None),
            ('?', Some(f)) => self.put(pen, Kind::Info, f, None),
            ('f', _) => self.put(pen, Kind::Fail, F::Write, Some(pen.read + 1)),
            ('F', _) => self.put(pen, Kind::Fail, F::Read, None),
            ('g', _) => {
                pen.read = *self.vault.entry(pen.key.clone()).or_default();
                self.put(pen, Kind::Ok, F::Read, Some(pen.read));
            }
            ('t', _) => {
                self.put(pen, Kind::Info, F::Write, Some(pen.read + 1));
                let mut late = self.history.events().last().cloned().expect("just put");
                late.f = F::Arrive;
                late.facts = Some(Box::new(Facts { begun: Some(pen.begun), ..Facts::default() }));
                pen.late = Some(late);
            }
            ('z' | 'Z', _) => {
                let mut late = pen.late.take().expect("a write was given up");
                late.time_ns = self.time;
                late.kind = if sign == 'z' { Kind::Ok } else { Kind::Fail };
                late.error = (sign == 'Z').then(|| "fenced: drawn".into());
                if let (Some(value), 'z') = (late.value, sign) {
                    self.vault.insert(pen.key.clone(), value);
                }
                self.history.push(late);
            }
            ('w', _) => {
                pen.read += 1;
                self.vault.insert(pen.key.clone(), pen.read);
                self.put(pen, Kind::Ok, F::Write, Some(pen.read));
            }
            _ => {}
        }
    }

    /// Returns the store's facts about a grant.
    fn granted(&self, pen: &Pen) -> Facts {
        let asked = pen.asked.unwrap_or(self.time.saturating_sub(COLUMN / 2));
        let expires = self.ttl.then_some(asked + 10 * COLUMN);
        Facts { asked_ns: Some(asked), expires_ns: expires, place: pen.token, ..Facts::default() }
    }

    fn put(&mut self, pen: &Pen, kind: Kind, f: F, value: Option<u64>) {
        self.put_fact(pen, kind, f, value, Facts::default());
    }

    fn put_fact(&mut self, pen: &Pen, kind: Kind, f: F, value: Option<u64>, facts: Facts) {
        let mut event = Event::new(self.time, pen.process, kind, f);
        event.key = Some(pen.key.clone());
        event.mode = Some(pen.mode);
        event.token = pen.token;
        event.value = value.or(pen.permits.filter(|_| f == F::Acquire));
        event.facts = (!facts.is_empty()).then(|| Box::new(facts));
        event.error = (kind == Kind::Fail).then(|| "fenced: drawn".into());
        self.history.push(event);
    }

    /// Returns the effect of a fault that is healed now: the milliseconds of a pause, else 1.
    fn effect(&self, id: u32, name: &str) -> u64 {
        let mut events = self.history.events().iter().rev();
        let begun = events.find(|event| event.fault.as_ref().is_some_and(|fault| fault.id == id));
        match begun {
            Some(begun) if name.starts_with("pause") => (self.time - begun.time_ns) / 1_000_000,
            _ => 1,
        }
    }

    fn stall(&mut self, whom: &str, sign: char) {
        let Some(columns) = sign.to_digit(10) else { return };
        let mut event = Event::new(self.time, Process::Nemesis, Kind::Info, F::Stall);
        let node = (whom != "harness").then(|| node(whom));
        let stall = Some(Stall { node, lasted_ns: u64::from(columns) * COLUMN });
        event.facts = Some(Box::new(Facts { stall, ..Facts::default() }));
        self.history.push(event);
    }

    fn nemesis(&mut self, id: u32, name: &str, sign: char) {
        let about = |effect: Option<u64>| {
            let effect = effect.map(|amount| Effect::new("drawn", amount));
            Some(Box::new(FaultEvent {
                id,
                fault: fault(name),
                effect,
                line: None,
                leaders: Vec::new(),
            }))
        };
        let events = match sign {
            '[' => vec![(F::Fault, Kind::Invoke, about(None)), (F::Fault, Kind::Info, about(None))],
            ']' => {
                let effect = Some(self.effect(id, name));
                vec![(F::Heal, Kind::Invoke, about(None)), (F::Heal, Kind::Info, about(effect))]
            }
            '}' => {
                vec![(F::Heal, Kind::Invoke, about(None)), (F::Heal, Kind::Info, about(Some(0)))]
            }
            'Q' => vec![(F::Quiet, Kind::Info, None)],
            'E' => vec![(F::Stop, Kind::Info, None)],
            'X' => vec![(F::Interference, Kind::Info, None)],
            _ => vec![],
        };
        for (f, kind, fault) in events {
            let mut event = Event::new(self.time, Process::Nemesis, kind, f);
            event.fault = fault;
            self.history.push(event);
        }
    }
}

fn node(name: &str) -> Node {
    let number = name[1..].parse().expect("a node has a number");
    if name.starts_with('c') { Node::Client(number) } else { Node::Server(number) }
}

fn fault(name: &str) -> Fault {
    let (kind, whom) = name.split_once(' ').expect("a fault names whom it hits");
    match kind {
        "pause" => Fault::at(node(whom), Action::Pause),
        "crash" => match node(whom) {
            client @ Node::Client(_) => Fault::at(client, Action::Kill),
            other => Fault::at(other, Action::Crash(Data::Kept)),
        },
        "freeze" => Fault::at(node(whom), Action::Clock(ClockChange::Freeze)),
        "wipe" => Fault::at(node(whom), Action::Crash(Data::Lost)),
        "evict" => Fault::at(node(whom), Action::Evict),
        "jump" => {
            let change = ClockChange::Jump(5 * COLUMN as i64);
            Fault::at(node(whom), Action::Clock(change))
        }
        "drift" => Fault::at(node(whom), Action::Clock(ClockChange::Drift(100_000))),
        "cut" | "slow" => {
            let way = |sign| if sign == '-' { Direction::Both } else { Direction::Forward };
            let sign = whom.chars().find(|c| "->".contains(*c)).expect("a link has two ends");
            let (a, b) = whom.split_once(sign).expect("just found");
            let slow = Action::Link(LinkFault::Slow(4));
            let action = if kind == "cut" { Action::Cut(way(sign)) } else { slow };
            Fault::over(vec![(node(a), node(b))], action)
        }
        other => panic!("no such fault: {other}"),
    }
}
