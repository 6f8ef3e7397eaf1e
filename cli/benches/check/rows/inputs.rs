//! Histories to measure checkers with: clients that contend for one lock without a pause, so that
//! as many operations as possible are open at once; and a register under the same load.

use base::{Event, F, History, Key, Kind, Mode, Process, Rng};
use histories::operation::{Ended, Operation, OperationKind, Token};

/// The load that clients put on the lock.
#[derive(Clone, Copy, Debug)]
pub struct BenchLoad {
    /// Acquires and releases together.
    pub operations: u64,
    pub clients: u32,
    /// A grant is given while another holds the lock, at this part of the history.
    pub violation: Option<f64>,
    /// The fraction of the acquires that end in doubt.
    pub doubt: f64,
    /// Each hold reads and writes the vault.
    pub vault: bool,
    /// The fraction of the acquires that are shared.
    pub shared: f64,
    /// True if it ends in a quiet phase.
    pub phases: bool,
}

impl BenchLoad {
    pub const fn new(operations: u64, clients: u32) -> Self {
        let (violation, doubt, shared) = (None, 0.0, 0.0);
        Self { operations, clients, violation, doubt, shared, vault: false, phases: false }
    }
}

struct Player<Sink> {
    sink: Sink,
    events: u64,
    rng: Rng,
    key: Key,
    /// Clients that wait for their answer: their process and mode.
    waiting: Vec<(u32, Mode)>,
    load: BenchLoad,
    value: u64,
}

/// The history of a load, the same each time.
pub fn contended(load: BenchLoad) -> History {
    let mut history = History::default();
    play(load, |event| {
        history.push(event);
    });
    history
}

/// Plays a load, event by event.
pub fn play(load: BenchLoad, sink: impl FnMut(Event)) {
    let mut player = Player {
        sink,
        events: 0,
        rng: Rng::new(1),
        key: "k0".into(),
        waiting: Vec::new(),
        load,
        value: 0,
    };
    (0..load.clients).for_each(|process| player.ask(process));
    let cycles = load.operations / 2;
    let lapse = load.violation.map(|part| (cycles as f64 * part) as u64);
    for cycle in 0..cycles {
        if load.phases && cycle == cycles / 10 * 9 {
            player.mark(F::Quiet);
        }
        player.cycle(lapse == Some(cycle));
    }
    if load.phases {
        player.mark(F::Stop);
    }
}

impl<Sink: FnMut(Event)> Player<Sink> {
    fn put(&mut self, process: u32, kind: Kind, f: F, mode: Mode) {
        let mut event = Event::new(0, Process::Client(process), kind, f);
        event.key = Some(self.key.clone());
        event.mode = Some(mode);
        event.value = matches!(f, F::Read | F::Write).then_some(self.value);
        self.say(event);
    }

    fn mark(&mut self, f: F) {
        self.say(Event::new(0, Process::Nemesis, Kind::Info, f));
    }

    fn say(&mut self, event: Event) {
        // A microsecond an event.
        let (index, time) = (self.events, self.events * 1_000);
        self.events += 1;
        (self.sink)(Event { index, time_ns: time, ..event });
    }

    fn ask(&mut self, process: u32) {
        let mode = match self.rng.chance(self.load.shared) {
            true => Mode::Shared,
            false => Mode::Exclusive,
        };
        self.put(process, Kind::Invoke, F::Acquire, mode);
        self.waiting.push((process, mode));
    }

    /// The next holders: one, or all readers up to the first writer.
    fn next(&mut self, lapse: bool) -> Vec<(u32, Mode)> {
        let at = self.rng.below(self.waiting.len() as u64) as usize;
        let first = self.waiting.swap_remove(at);
        let mut holders = vec![first];
        if lapse {
            holders.extend(self.waiting.pop());
        } else if first.1 == Mode::Shared {
            let readers = self.waiting.extract_if(.., |(_, mode)| *mode == Mode::Shared);
            holders.extend(readers);
        }
        holders
    }

    fn cycle(&mut self, lapse: bool) {
        if self.rng.chance(self.load.doubt) {
            let (process, mode) = self.waiting.remove(0);
            self.put(process, Kind::Info, F::Acquire, mode);
            self.ask(process + self.load.clients);
        }
        let holders = self.next(lapse);
        for (process, mode) in &holders {
            self.put(*process, Kind::Ok, F::Acquire, *mode);
        }
        for (process, mode) in holders {
            if self.load.vault {
                self.touch(process, F::Read, mode);
                self.value += 1;
                self.touch(process, F::Write, mode);
            }
            self.put(process, Kind::Invoke, F::Release, mode);
            self.put(process, Kind::Ok, F::Release, mode);
            self.ask(process);
        }
    }

    fn touch(&mut self, process: u32, f: F, mode: Mode) {
        self.put(process, Kind::Invoke, f, mode);
        self.put(process, Kind::Ok, f, mode);
    }
}

/// The acquires and releases of a history that [`contended`] made.
pub fn operations(history: &History) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    for event in history.events() {
        let Some(process) = event.client() else { continue };
        let at = process as usize;
        open.resize(open.len().max(at + 1), None);
        let action = match event.f {
            F::Acquire => OperationKind::Acquire {
                mode: event.mode.unwrap_or_default(),
                token: event.token.map(Token::from),
                permits: 1,
            },
            F::Release => OperationKind::RELEASE,
            _ => continue,
        };
        if event.kind == Kind::Invoke {
            open[at] = Some(operations.len());
            let (invoke, answer, ended) = (event.index, None, Ended::Info);
            operations.push(Operation { process, key: 0, invoke, answer, ended, action });
        } else if let Some(id) = open[at].take() {
            operations[id].answer = Some(event.index);
            operations[id].ended = if event.kind == Kind::Ok { Ended::Ok } else { Ended::Info };
        }
    }
    operations
}

/// Adds so many pairs of an acquire and a release, each of unknown outcome and of a process of its
/// own, spread over the history.
pub fn add_doubtful_pairs(operations: &mut Vec<Operation>, pairs: u32) {
    let end = operations.iter().map(|operation| operation.invoke).max().unwrap_or(0);
    for pair in 0..pairs {
        let invoke = end / u64::from(pairs) * u64::from(pair);
        for action in [OperationKind::acquire(Mode::Exclusive), OperationKind::RELEASE] {
            let process = 1_000_000 + operations.len() as u32;
            let (answer, ended) = (None, Ended::Info);
            operations.push(Operation { process, key: 0, invoke, answer, ended, action });
        }
    }
}

/// Clients that read and write one register, half of each, all the time; the last read is of what
/// nobody wrote if the history is to be wrong.
pub fn register(count: u64, clients: u32, wrong: bool) -> Vec<Operation> {
    let mut rng = Rng::new(2);
    let mut operations: Vec<Operation> = Vec::new();
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut cell = None;
    let mut place = 0;
    let mut idle: Vec<u32> = (0..clients).collect();
    while (operations.len() as u64) < count || !open.is_empty() {
        place += 1;
        if let Some(process) = idle.pop().filter(|_| (operations.len() as u64) < count) {
            let action = match rng.chance(0.5) {
                true => OperationKind::Read { value: None },
                false => OperationKind::Write { value: Some(rng.below(5) as i64) },
            };
            open.push((operations.len(), false));
            let (invoke, answer, ended) = (place, None, Ended::Ok);
            operations.push(Operation { process, key: 0, invoke, answer, ended, action });
            continue;
        }
        // Any of the open ones takes place next, and any that did is answered.
        let at = rng.below(open.len() as u64) as usize;
        let (id, done) = open[at];
        if done {
            operations[id].answer = Some(place);
            idle.push(operations[id].process);
            open.swap_remove(at);
        } else {
            open[at].1 = true;
            match &mut operations[id].action {
                OperationKind::Write { value } => cell = *value,
                OperationKind::Read { value } => *value = Some(cell),
                _ => {}
            }
        }
    }
    if wrong {
        let action = OperationKind::Read { value: Some(Some(99)) };
        let (invoke, answer, ended) = (place + 1, Some(place + 2), Ended::Ok);
        operations.push(Operation { process: clients, key: 0, invoke, answer, ended, action });
    }
    operations
}
