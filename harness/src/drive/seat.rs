//! The clients as the drive loop sees them. Each sits in a seat and goes round: think, acquire,
//! read, work, write, release. A process whose acquire or release ended in doubt is replaced by a
//! new one under a new number, as in Jepsen.

use base::{
    Acquire, Action, Backend, ClientState, ClientView, Command, Event, F, Facts, Fault, Key, Kind,
    Mode, Mono, Node, Process, Reply, Request, Response, Rng,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;
use stores::vault::Fenced;
use workloads::task::{Contend, Turn};

use super::faults::Faults;
use super::vault::{Access, Answer, Arrival, Said, VaultNode};
use super::{DriveError, Recorder};
use crate::plan::{self, Aim, Plan};

/// The time that a seat stays empty after its process was given up.
const RESPAWN: Duration = Duration::from_millis(100);

/// A client waits for the vault for this part of a ttl, twice in a hold: so no hold that is drawn
/// comes to outlive the ttl by that.
const AT_VAULT: u32 = 8;

/// The stage of a client's turn.
#[derive(Clone, Copy)]
enum Stage {
    /// Its process is gone; a new one comes then, if a heal does not have to come first.
    Empty { until: Option<Mono> },
    /// Its process starts.
    Starting,
    /// It does something else until then.
    Thinking { until: Mono },
    /// It has had all its turns.
    Done,
    /// It has asked for the lock.
    Acquiring { since: Mono, last_reply: Option<Mono> },
    /// It holds the lock and is to make its first touch.
    Granted { since: Mono },
    /// Its first touch is on its way.
    Reading { since: Mono },
    /// It works until then.
    Working { since: Mono, until: Mono },
    /// Its last touch is on its way.
    Finishing { since: Mono },
    /// It waits for the vault until then.
    AtVault { since: Mono, until: Mono, touch: Touch },
    /// It is to release the lock.
    Leaving,
    /// It has released the lock and waits for the answer.
    Releasing { last_reply: Option<Mono> },
}

/// An access that has left its client.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Touch {
    f: F,
    /// True for the first access of its hold.
    first: bool,
    /// The vault has served it or fenced it off.
    served: bool,
}

/// A grant that was not released yet.
#[derive(Clone, Copy, Default)]
struct Hold {
    token: Option<u64>,
    /// The value that the first touch read.
    value: u64,
    /// The client has said that it may have lost it.
    lost: bool,
}

struct Seat {
    number: u32,
    process: u32,
    stage: Stage,
    turn: Turn,
    key: Key,
    hold: Hold,
    /// The request that waits for its answer.
    open: u64,
    /// The index of the event with which it was made.
    begun: u64,
    turns: Turns,
}

/// The source of a client's turns.
enum Turns {
    /// Drawn ones, so many more of them, if there is an end.
    Drawn(Rng, Option<u32>),
    Listed(std::vec::IntoIter<plan::Turn>),
}

impl Turns {
    fn next(&mut self, task: &Contend) -> Option<Turn> {
        match self {
            Self::Drawn(_, Some(0)) => None,
            Self::Drawn(rng, left) => {
                *left = left.map(|left| left - 1);
                Some(task.turn(rng))
            }
            Self::Listed(turns) => turns.next().map(|turn| Turn {
                think: Duration::from_nanos(turn.at_ns),
                key: turn.key,
                mode: turn.mode,
                hold: Duration::from_nanos(turn.hold_ns),
            }),
        }
    }
}

impl Seat {
    fn new(number: u32, plan: &Plan, keys: &[Key]) -> Self {
        let mut rng = Rng::fork(plan.seed, 100 + u64::from(number));
        let turn = plan.task.turn(&mut rng);
        let turns = match &plan.script {
            Some(script) => Turns::Listed(script.turns[number as usize].clone().into_iter()),
            None => Turns::Drawn(rng, plan.task.turns),
        };
        Self {
            number,
            process: number,
            stage: Stage::Empty { until: Some(Mono::ZERO) },
            key: keys[turn.key as usize],
            turn,
            hold: Hold::default(),
            open: 0,
            begun: 0,
            turns,
        }
    }

    /// Records an event of this client, about the key of its turn.
    fn record(
        &self,
        recorder: &mut Recorder,
        (at, kind, f): (Mono, Kind, F),
        fill: impl FnOnce(&mut Event),
    ) {
        recorder.push((at, Process::Client(self.process), kind, f), |event| {
            event.key = Some(self.key);
            event.mode = Some(self.turn.mode);
            event.token = self.hold.token;
            fill(event);
        });
    }

    /// Takes the next turn. A drawn one begins after its time to think; a listed one at its time
    /// after the origin, which may not have come yet.
    fn think(&mut self, now: Mono, round: &Round, recorder: &mut Recorder) {
        self.hold = Hold::default();
        let Some(turn) = self.turns.next(&round.task) else {
            self.stage = Stage::Done;
            return;
        };
        self.turn = turn;
        self.key = round.keys[self.turn.key as usize];
        let until = match (&self.turns, round.origin) {
            (Turns::Drawn(..), _) => now + self.turn.think,
            (Turns::Listed(_), Some(origin)) => now.max(origin + self.turn.think),
            (Turns::Listed(_), None) => Mono::from_nanos(u64::MAX),
        };
        self.stage = Stage::Thinking { until };
        recorder.played.turn(self.number, until, &self.turn);
    }

    /// An access of the vault as it leaves.
    fn access(&self, f: F) -> Access {
        Access {
            seat: self.number,
            process: self.process,
            request: self.open,
            f,
            key: self.key,
            mode: self.turn.mode,
            token: self.hold.token,
            value: (f == F::Write).then_some(self.hold.value + 1),
            begun: self.begun,
        }
    }

    /// Records that an access ends without the vault having had it.
    fn in_vain(&self, f: F, at: Mono, kind: Kind, error: &str, recorder: &mut Recorder) {
        let value = (f == F::Write).then_some(self.hold.value + 1);
        self.record(recorder, (at, kind, f), |event| {
            (event.value, event.error) = (value, Some(error.into()));
        });
    }

    /// The touch that ends the work: a reader reads again.
    fn last_touch(&self) -> F {
        match self.turn.mode {
            Mode::Exclusive => F::Write,
            Mode::Shared => F::Read,
        }
    }

    /// Returns the time at which the seat has something to do; `None`: it waits for an answer, or
    /// is done.
    fn due(&self) -> Option<Mono> {
        match self.stage {
            Stage::Thinking { until }
            | Stage::Working { until, .. }
            | Stage::AtVault { until, .. } => Some(until),
            Stage::Empty { until } => until,
            Stage::Granted { .. } | Stage::Leaving => Some(Mono::ZERO),
            _ => None,
        }
    }

    fn state(&self) -> ClientState {
        match self.stage {
            Stage::Thinking { .. } | Stage::Done => ClientState::Idle,
            Stage::Acquiring { since, last_reply } => ClientState::Acquiring { since, last_reply },
            Stage::Granted { since }
            | Stage::Reading { since }
            | Stage::Working { since, .. }
            | Stage::Finishing { since }
            | Stage::AtVault { since, .. } => ClientState::Holding { since },
            Stage::Leaving => ClientState::Releasing { last_reply: None },
            Stage::Releasing { last_reply } => ClientState::Releasing { last_reply },
            Stage::Starting | Stage::Empty { .. } => ClientState::Down,
        }
    }
}

/// The settings that the turns of all clients share.
struct Round {
    task: Contend,
    keys: Vec<Key>,
    /// The longest time that a client waits for the vault.
    at_vault: Duration,
    /// The time from which the times of listed turns count; `None` until it is known.
    origin: Option<Mono>,
}

/// All clients of a run.
pub struct Seats {
    seats: Vec<Seat>,
    /// The times at which seats have something to do. Entries that no longer apply are passed over.
    agenda: BinaryHeap<Reverse<(Mono, u32)>>,
    /// The seats that have something to do at once, which would only pass through the agenda.
    ready: Vec<u32>,
    round: Round,
    next_request: u64,
}

impl Seats {
    pub fn new(plan: &Plan) -> Self {
        let keys: Vec<Key> = (0..plan.task.keys).map(|key| format!("k{key}").into()).collect();
        let seats: Vec<Seat> =
            (0..plan.clients).map(|number| Seat::new(number, plan, &keys)).collect();
        let agenda = seats.iter().filter_map(|seat| Some(Reverse((seat.due()?, seat.number))));
        // By the clock, a script counts from the start of the run; by the state of the lock, from
        // when all clients are up, which takes its time on real servers.
        let by_moment = plan.script.as_ref().is_some_and(|script| script.aim == Aim::Moment);
        let origin = (!by_moment).then_some(Mono::ZERO);
        let at_vault = plan.ttl / AT_VAULT;
        let round = Round { task: plan.task.clone(), keys, at_vault, origin };
        Self { agenda: agenda.collect(), ready: Vec::new(), seats, round, next_request: 0 }
    }

    /// All clients are up.
    pub fn begin(&mut self, now: Mono) {
        if self.round.origin.is_some() {
            return;
        }
        self.round.origin = Some(now);
        for number in 0..self.seats.len() {
            let seat = &mut self.seats[number];
            if let Stage::Thinking { until } = &mut seat.stage {
                *until = now + seat.turn.think;
            }
            self.note(number as u32);
        }
    }

    /// The seat of a process, if that process still sits there.
    fn seat(&mut self, process: u32) -> Option<&mut Seat> {
        let number = self.number(process);
        Some(&mut self.seats[number]).filter(|seat| seat.process == process)
    }

    /// Returns the seat of a process: a new one has the number of the one before it plus the number
    /// of seats.
    fn number(&self, process: u32) -> usize {
        // Most seats still have their first process, and a division takes its time.
        let process = process as usize;
        if process < self.seats.len() { process } else { process % self.seats.len() }
    }

    /// A seat has come to another stage: remembers when it has something to do.
    fn note(&mut self, number: u32) {
        match self.seats[number as usize].due() {
            Some(Mono::ZERO) => self.ready.push(number),
            Some(due) => self.agenda.push(Reverse((due, number))),
            None => {}
        }
    }

    /// Returns true once every client has come up.
    pub fn all_up(&self) -> bool {
        !self.seats.iter().any(|seat| seat.state() == ClientState::Down)
    }

    /// Returns true once every client has had all its turns.
    pub fn all_done(&self) -> bool {
        self.seats.iter().all(|seat| matches!(seat.stage, Stage::Done))
    }

    /// Returns the nemeses' view of the clients.
    pub fn view(&self, faults: &Faults) -> Vec<ClientView> {
        let view = |seat: &Seat| ClientView {
            state: seat.state(),
            faulted: faults.hits(Node::Client(seat.number)),
        };
        self.seats.iter().map(view).collect()
    }

    /// Does what clients have to do now; says when the next of them has something to do.
    pub fn act(
        &mut self,
        now: Mono,
        plan: &Plan,
        backend: &mut dyn Backend,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) -> Result<Option<Mono>, DriveError> {
        // In the order of the seats, the first one last.
        self.ready.sort_unstable_by_key(|number| Reverse(*number));
        while let Some(number) = self.ready.pop() {
            if self.seats[number as usize].due() == Some(Mono::ZERO) {
                self.act_one(number as usize, now, plan, backend, recorder)?;
                self.note(number);
            }
        }
        while let Some(&Reverse((due, number))) = self.agenda.peek() {
            let meant = self.seats[number as usize].due() == Some(due);
            if meant && due > now {
                return Ok(Some(due));
            }
            self.agenda.pop();
            if meant {
                self.give_up_on_vault(number as usize, now, vault, recorder);
                self.act_one(number as usize, now, plan, backend, recorder)?;
                self.note(number);
            }
        }
        Ok(None)
    }

    fn act_one(
        &mut self,
        number: usize,
        now: Mono,
        plan: &Plan,
        backend: &mut dyn Backend,
        recorder: &mut Recorder,
    ) -> Result<(), DriveError> {
        let seat = &mut self.seats[number];
        let key = seat.key;
        let (f, command) = match seat.stage {
            Stage::Empty { until: Some(until) } if until <= now => {
                seat.stage = Stage::Starting;
                seat.open = 0;
                return Ok(backend.spawn(seat.number, seat.process)?);
            }
            Stage::Thinking { until } if until <= now => {
                seat.stage = Stage::Acquiring { since: now, last_reply: None };
                let patience = plan.patience.as_nanos() as u64;
                let wanted = Acquire { key, mode: seat.turn.mode, patience_ns: patience };
                (F::Acquire, Command::Acquire(Box::new(wanted)))
            }
            Stage::Granted { since } => {
                seat.stage = Stage::Reading { since };
                (F::Read, Command::Touch { key })
            }
            Stage::Working { since, until } if until <= now => {
                seat.stage = Stage::Finishing { since };
                (seat.last_touch(), Command::Touch { key })
            }
            Stage::Leaving => {
                seat.stage = Stage::Releasing { last_reply: None };
                (F::Release, Command::Release { key })
            }
            _ => return Ok(()),
        };
        self.next_request += 1;
        seat.open = self.next_request;
        seat.begun = recorder.history().events().len() as u64;
        let value = (f == F::Write).then_some(seat.hold.value + 1);
        seat.record(recorder, (now, Kind::Invoke, f), |event| event.value = value);
        backend.send(seat.process, Request { id: self.next_request, command });
        Ok(())
    }

    /// A client has said something.
    pub fn hear(
        &mut self,
        process: u32,
        response: Response,
        at: Mono,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        // A process that is gone may still be heard: its last words come late.
        let Some(seat) = self.seat(process) else { return };
        let number = seat.number;
        self.hear_in_seat(number, response, at, vault, recorder);
        // Without a fault in its way, an access is served and answered at once.
        self.deliver(at, Some(number), vault, recorder);
        self.note(number);
    }

    /// Takes what has arrived at the vault, and what has come back from it. What the client that is
    /// being heard has to do next is noted once, when it has been heard.
    pub fn deliver(
        &mut self,
        now: Mono,
        heard: Option<u32>,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        while let Some(arrival) = vault.arrival(now) {
            match arrival {
                Arrival::Access { access, served, late } => {
                    self.served(&access, now, served, late, recorder);
                }
                Arrival::Answer(answer) => {
                    let seat = answer.seat;
                    self.answered(answer, now, recorder);
                    if heard != Some(seat) {
                        self.note(seat);
                    }
                }
            }
        }
    }

    /// The vault has served an access or fenced it off.
    fn served(
        &mut self,
        access: &Access,
        at: Mono,
        served: Result<u64, Fenced>,
        late: bool,
        recorder: &mut Recorder,
    ) {
        let seat = &mut self.seats[access.seat as usize];
        if let Stage::AtVault { touch, .. } = &mut seat.stage
            && seat.open == access.request
        {
            touch.served = true;
        }
        let kind = if served.is_ok() { Kind::Ok } else { Kind::Fail };
        let f = if late { F::Arrive } else { access.f };
        recorder.push((at, Process::Client(access.process), kind, f), |event| {
            event.key = Some(access.key);
            event.mode = Some(access.mode);
            event.token = access.token;
            event.value = served.ok().or(access.value);
            event.error = served.err().map(|fenced| fenced.to_string());
            let begun = late.then_some(access.begun);
            event.facts = begun.map(|_| Box::new(Facts { begun, ..Facts::default() }));
        });
    }

    /// A client hears from the vault, or from its own machine that the connection there is no more.
    fn answered(&mut self, answer: Answer, at: Mono, recorder: &mut Recorder) {
        let seat = &mut self.seats[answer.seat as usize];
        let Stage::AtVault { since, touch, .. } = seat.stage else { return };
        if seat.open != answer.request {
            return;
        }
        seat.stage = match answer.said {
            Said::Served(value) if touch.first && !seat.hold.lost => {
                seat.hold.value = value;
                Stage::Working { since, until: at + seat.turn.hold }
            }
            Said::Served(_) | Said::Fenced => Stage::Leaving,
            Said::Unsent(error) => {
                seat.in_vain(touch.f, at, Kind::Fail, error, recorder);
                Stage::Leaving
            }
            Said::Broken => {
                if !touch.served {
                    seat.in_vain(touch.f, at, Kind::Info, "connection reset", recorder);
                }
                Stage::Leaving
            }
        };
    }

    /// A client has waited long enough for the vault. It goes on, whatever becomes of its access.
    fn give_up_on_vault(
        &mut self,
        number: usize,
        now: Mono,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        let seat = &mut self.seats[number];
        let Stage::AtVault { touch, .. } = seat.stage else { return };
        seat.stage = Stage::Leaving;
        if touch.served {
            return;
        }
        let (kind, error) = match vault.give_up(seat.open) {
            true => (Kind::Info, "no reply in time"),
            false => (Kind::Fail, "no connection in time"),
        };
        seat.in_vain(touch.f, now, kind, error, recorder);
    }

    fn hear_in_seat(
        &mut self,
        number: u32,
        response: Response,
        at: Mono,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        let seat = &mut self.seats[number as usize];
        let process = seat.process;
        match response.reply {
            Reply::Lost { error, .. } => return hear_lost(seat, at, error, recorder),
            Reply::Notified { .. } => return hear_notified(seat, at, recorder),
            _ => {}
        }
        if response.id != Some(seat.open) {
            return;
        }
        match seat.stage {
            Stage::Starting => match response.reply {
                Reply::Ok { .. } => seat.think(at, &self.round, recorder),
                _ => self.give_up(process, at),
            },
            Stage::Acquiring { .. } => {
                self.hear_acquire(number, response.reply, at, recorder);
            }
            Stage::Reading { since } | Stage::Finishing { since } => {
                let first = matches!(seat.stage, Stage::Reading { .. });
                let f = if first { F::Read } else { seat.last_touch() };
                let Outcome { kind, error, .. } = response.reply.into();
                if kind == Kind::Ok {
                    let touch = Touch { f, first, served: false };
                    vault.send(at, seat.access(f));
                    seat.stage = Stage::AtVault { since, until: at + self.round.at_vault, touch };
                } else {
                    seat.in_vain(f, at, kind, error.as_deref().unwrap_or_default(), recorder);
                    seat.stage = Stage::Leaving;
                }
            }
            Stage::Releasing { .. } => {
                self.hear_release(number, response.reply, at, recorder);
            }
            _ => {}
        }
    }

    fn hear_acquire(&mut self, number: u32, reply: Reply, at: Mono, recorder: &mut Recorder) {
        let seat = &mut self.seats[number as usize];
        let process = seat.process;
        if let Reply::Ok { token, .. } = reply {
            seat.hold = Hold { token, ..Hold::default() };
            seat.stage = Stage::Granted { since: at };
        }
        let Outcome { kind, facts, error } = reply.into();
        if kind == Kind::Ok {
            recorder.played.granted(at);
        }
        seat.record(recorder, (at, kind, F::Acquire), |event| {
            (event.facts, event.error) = (facts, error);
        });
        match kind {
            Kind::Fail => seat.think(at, &self.round, recorder),
            Kind::Info => self.give_up(process, at),
            _ => {}
        }
    }

    fn hear_release(&mut self, number: u32, reply: Reply, at: Mono, recorder: &mut Recorder) {
        let seat = &mut self.seats[number as usize];
        let process = seat.process;
        let Outcome { kind, facts, error } = reply.into();
        seat.record(recorder, (at, kind, F::Release), |event| {
            (event.facts, event.error) = (facts, error);
        });
        match kind {
            Kind::Info => self.give_up(process, at),
            _ => seat.think(at, &self.round, recorder),
        }
    }

    /// Replaces a process that ended in doubt.
    fn give_up(&mut self, process: u32, now: Mono) {
        self.empty(process, Some(now + RESPAWN));
    }

    fn empty(&mut self, process: u32, until: Option<Mono>) {
        let clients = self.seats.len() as u32;
        if let Some(seat) = self.seat(process) {
            seat.process += clients;
            seat.stage = Stage::Empty { until };
            seat.hold = Hold::default();
            let number = seat.number;
            self.note(number);
        }
    }

    /// A reply of a server has passed the link to a client.
    pub fn passed(&mut self, process: u32, at: Mono) {
        if let Some(Seat {
            stage: Stage::Acquiring { last_reply, .. } | Stage::Releasing { last_reply },
            ..
        }) = self.seat(process)
        {
            *last_reply = Some(at);
        }
    }

    /// A client process ended though no fault asked for it. False when it was given up before.
    pub fn died(
        &mut self,
        process: u32,
        at: Mono,
        error: &str,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) -> bool {
        vault.hang_up(process);
        let Some(seat) = self.seat(process) else { return false };
        seat.record(recorder, (at, Kind::Info, F::Death), |event| {
            event.error = Some(error.into());
        });
        self.give_up(process, at);
        true
    }

    /// A fault is about to be injected: what it kills is dead from this moment on.
    pub fn before_fault(
        &mut self,
        fault: &Fault,
        now: Mono,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        let Some(number) = killed(fault) else { return };
        let seat = &self.seats[number as usize];
        vault.hang_up(seat.process);
        if !matches!(seat.stage, Stage::Empty { .. }) {
            seat.record(recorder, (now, Kind::Info, F::Death), |_| {});
        }
        self.empty(seat.process, None);
    }

    /// A fault is undone: what it killed starts again.
    pub fn after_heal(&mut self, fault: &Fault, now: Mono) {
        if let Some(number) = killed(fault) {
            self.seats[number as usize].stage = Stage::Empty { until: Some(now) };
            self.note(number);
        }
    }
}

/// The seat of the client that a fault kills; `None` if it kills none.
fn killed(fault: &Fault) -> Option<u32> {
    match (fault.action(), fault.node()) {
        (Action::Kill, Some(Node::Client(seat))) => Some(seat),
        _ => None,
    }
}

/// The end of an operation that a reply brings, with its facts and its error.
struct Outcome {
    kind: Kind,
    /// The facts from the store, as the reply passes them on.
    facts: Option<Box<Facts>>,
    error: Option<String>,
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        let (kind, facts, error) = match reply {
            Reply::Ok { facts, .. } => (Kind::Ok, facts, None),
            Reply::Fail { error, facts } => (Kind::Fail, facts, Some(error)),
            Reply::Info { error } | Reply::Lost { error, .. } => (Kind::Info, None, Some(error)),
            Reply::Notified { .. } => (Kind::Info, None, None),
        };
        Self { kind, facts, error }
    }
}

/// The store has woken a client. One that has its answer already does not wait any more.
fn hear_notified(seat: &Seat, at: Mono, recorder: &mut Recorder) {
    if let Stage::Acquiring { .. } = seat.stage {
        seat.record(recorder, (at, Kind::Info, F::Notified), |_| {});
    }
}

/// The client has learnt that its grant may be gone.
fn hear_lost(seat: &mut Seat, at: Mono, error: String, recorder: &mut Recorder) {
    if !matches!(seat.state(), ClientState::Holding { .. }) || seat.hold.lost {
        return;
    }
    seat.record(recorder, (at, Kind::Info, F::Lost), |event| event.error = Some(error));
    seat.hold.lost = true;
    // A touch that is on its way is answered first, and then the lock is released.
    if matches!(seat.stage, Stage::Granted { .. } | Stage::Working { .. }) {
        seat.stage = Stage::Leaving;
    }
}
