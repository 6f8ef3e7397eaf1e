//! One worker of a client: its turns, their times, and the events that record what it does. What a
//! turn consists of is decided by the worker machine ([`WorkerMachine`]).

use base::{
    CANCELLED, CallView, ClientReply, ClientState, Command, Event, F, HOLDS, Key, Kind, Load, Mono,
    Process, ReplyOutcome, Rng, Step, Turn, Wait, WorkerGrant, WorkerMachine, WorkerRequest,
    WorkerStep,
};
use std::time::Duration;

use super::Recorder;
use super::vault::{AccessOnItsWay, AccessOutcome};
use crate::plan::{self, FaultTiming, Plan};

/// The stage of a worker.
#[derive(Clone, Copy)]
pub enum WorkerStage {
    /// It has no process; it gets one then, if not with its client's next one.
    Down { until: Option<Mono> },
    /// It does something else until then.
    Thinking { until: Mono },
    /// It has had all its turns.
    Done,
    /// It is to take the next step of its script.
    Ready,
    /// It has made the request that is open, and waits for its client; it cancels it then, if at
    /// all.
    Asking { since: Mono, last_reply: Option<Mono>, answers: Answers, cancel: Option<Mono> },
    /// Its access has left its client. It waits for the vault until then; `served`: the vault has
    /// served it or fenced it off.
    AtVault { until: Mono, served: bool },
    /// It works until then.
    Working { until: Mono },
}

/// The servers that have answered an acquire, as far as they have not been asked again since. A
/// server that answers again begins a new round.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Answers(u64);

impl Answers {
    fn add(&mut self, server: u32) {
        let bit = 1 << (server % u64::BITS);
        self.0 = if self.0 & bit == 0 { self.0 | bit } else { bit };
    }

    const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// The source of a worker's turns.
enum TurnSource {
    /// Drawn ones, so many more of them, if there is an end.
    Drawn(Rng, Option<u32>),
    Listed(std::vec::IntoIter<plan::PlannedTurn>),
}

impl TurnSource {
    fn next(&mut self, round: &TurnSettings) -> Option<Turn> {
        match self {
            Self::Drawn(_, Some(0)) => None,
            Self::Drawn(rng, left) => {
                *left = left.map(|left| left - 1);
                Some(round.load.turn(rng))
            }
            Self::Listed(turns) => turns.next().map(|turn| turn.drawn()),
        }
    }
}

/// The settings that the turns of all workers share.
pub struct TurnSettings {
    load: Load,
    keys: Vec<Key>,
    acquire_timeout: Duration,
    short_wait: Duration,
    /// The longest time that a worker waits for the vault.
    at_vault: Duration,
    /// The time from which the times of listed turns count; `None` until it is known.
    pub origin: Option<Mono>,
}

/// A worker waits for the vault for this part of a ttl, twice in a hold: so no hold that is drawn
/// comes to outlive the ttl by that.
const AT_VAULT: u32 = 8;

impl TurnSettings {
    pub fn new(plan: &Plan) -> Self {
        let keys = (0..plan.load.keys).map(Key::numbered).collect();
        // By the clock, a replay counts from the start of the run; by the state of the lock, from
        // when all clients are up, which takes its time on real servers.
        let by_trigger =
            plan.replay.as_ref().is_some_and(|replay| replay.aim == FaultTiming::Trigger);
        Self {
            load: plan.load.clone(),
            keys,
            acquire_timeout: plan.acquire_timeout,
            short_wait: plan.short_wait,
            at_vault: plan.run.ttl() / AT_VAULT,
            origin: (!by_trigger).then_some(Mono::ZERO),
        }
    }

    /// The name of the task.
    pub const fn task(&self) -> &'static str {
        self.load.task.name
    }

    /// The name of the key of a grant.
    fn key(&self, grant: &WorkerGrant) -> &Key {
        &self.keys[grant.key as usize]
    }

    fn wait(&self, wait: Wait) -> Duration {
        match wait {
            Wait::Long => self.acquire_timeout,
            Wait::Short => self.short_wait,
            Wait::Try => Duration::ZERO,
        }
    }
}

pub struct DrivenWorker {
    number: u32,
    pub process: u32,
    pub stage: WorkerStage,
    turn: Turn,
    machine: WorkerMachine,
    /// The times of its grants.
    since: [Mono; HOLDS],
    /// The request that waits for its answer.
    pub open: u64,
    /// The index of the event with which it was made.
    begun: u64,
    turns: TurnSource,
    /// The last command that its operation sent to a server, if its client tells them.
    call: Option<CallView>,
}

/// The end of an operation that a reply brings.
pub enum Heard {
    /// The worker goes on.
    Goes,
    /// Nobody knows what became of the operation: its process is given up.
    Doubt,
}

impl DrivenWorker {
    pub fn new(number: u32, plan: &Plan, round: &TurnSettings) -> Self {
        let mut rng = Rng::fork(plan.run.seed, 100 + u64::from(number));
        let turn = round.load.turn(&mut rng);
        let turns = match &plan.replay {
            Some(replay) => TurnSource::Listed(replay.turns[number as usize].clone().into_iter()),
            None => TurnSource::Drawn(rng, round.load.turns),
        };
        Self {
            number,
            process: number,
            stage: WorkerStage::Down { until: None },
            machine: WorkerMachine::new(round.load.keys, turn.key, turn.mode),
            since: [Mono::ZERO; HOLDS],
            turn,
            open: 0,
            begun: 0,
            call: None,
            turns,
        }
    }

    /// Records an event of this worker, about a grant of its turn.
    fn record(
        &self,
        hold: usize,
        (at, kind, f): (Mono, Kind, F),
        round: &TurnSettings,
        recorder: &mut Recorder,
        fill: impl FnOnce(&mut Event),
    ) {
        let grant = self.machine.grant(hold);
        recorder.push((at, Process::Client(self.process), kind, f), |event| {
            event.key = Some(round.key(grant).clone());
            event.mode = Some(grant.mode);
            event.token = grant.token;
            fill(event);
        });
    }

    /// Takes the next turn. A drawn one begins after its time to think; a listed one at its time
    /// after the origin, which may not have come yet.
    pub fn think(&mut self, now: Mono, round: &TurnSettings, recorder: &mut Recorder) {
        let Some(turn) = self.turns.next(round) else {
            self.stage = WorkerStage::Done;
            return;
        };
        self.turn = turn;
        self.machine.begin(round.load.task.scripts[turn.script as usize], turn.key, turn.mode);
        self.machine.take_permits(turn.permits);
        let until = match (&self.turns, round.origin) {
            (TurnSource::Drawn(..), _) => now + turn.think,
            (TurnSource::Listed(_), Some(origin)) => now.max(origin + turn.think),
            (TurnSource::Listed(_), None) => Mono::from_nanos(u64::MAX),
        };
        self.stage = WorkerStage::Thinking { until };
        recorder.played.turn(self.number, until, &turn);
    }

    /// Does what the worker has to do now. Returns the command for its client, if there is one,
    /// which gets this number.
    pub fn act(
        &mut self,
        now: Mono,
        request: u64,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) -> Option<Command> {
        match self.stage {
            WorkerStage::Down { until: Some(until) } if until <= now => {
                self.think(now, round, recorder);
                None
            }
            WorkerStage::Thinking { until } | WorkerStage::Working { until } if until <= now => {
                self.step(now, request, round, recorder)
            }
            WorkerStage::Ready => self.step(now, request, round, recorder),
            WorkerStage::Asking { since, last_reply, answers, cancel: Some(at) } if at <= now => {
                self.stage = WorkerStage::Asking { since, last_reply, answers, cancel: None };
                Some(Command::Cancel { request: self.open })
            }
            _ => None,
        }
    }

    /// Takes the next step of the script.
    fn step(
        &mut self,
        now: Mono,
        request: u64,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) -> Option<Command> {
        let operation = match self.machine.step() {
            WorkerStep::End => {
                self.think(now, round, recorder);
                return None;
            }
            WorkerStep::Work(part) => {
                self.stage = WorkerStage::Working { until: now + self.turn.hold / part };
                return None;
            }
            WorkerStep::Request(operation) => operation,
        };
        let answers = Answers::default();
        let cancel = operation.cancel.map(|part| now + self.turn.hold / part);
        self.stage = WorkerStage::Asking { since: now, last_reply: None, answers, cancel };
        (self.open, self.call) = (request, None);
        self.begun = recorder.history().events().len() as u64;
        let WorkerRequest { f, hold, mode, wait, .. } = operation;
        let value = self.machine.to_write(operation).or(operation.several());
        self.record(hold, (now, Kind::Invoke, f), round, recorder, |event| {
            (event.value, event.mode) = (value, Some(mode));
        });
        let key = round.key(self.machine.grant(hold)).clone();
        Some(WorkerMachine::command(operation, key, round.wait(wait).as_nanos() as u64))
    }

    /// Goes on after a step. Work begins at once; anything else is to be done in its turn.
    fn go_on(&mut self, now: Mono, round: &TurnSettings, recorder: &mut Recorder) {
        self.stage = match self.machine.peek() {
            None => return self.think(now, round, recorder),
            Some(Step::Work(part)) => {
                self.machine.step();
                WorkerStage::Working { until: now + self.turn.hold / part }
            }
            Some(_) => WorkerStage::Ready,
        };
    }

    /// An access of the vault as it leaves.
    fn access(&self, operation: WorkerRequest, round: &TurnSettings) -> AccessOnItsWay {
        let grant = self.machine.grant(operation.hold);
        AccessOnItsWay {
            worker: self.number,
            process: self.process,
            request: self.open,
            f: operation.f,
            key: round.key(grant).clone(),
            mode: grant.mode,
            token: grant.token,
            value: self.machine.to_write(operation),
            begun: self.begun,
        }
    }

    /// Records that an access ends without having reached the vault, and goes on to release.
    fn touched_in_vain(
        &mut self,
        operation: WorkerRequest,
        (at, kind, error): (Mono, Kind, &str),
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        let value = self.machine.to_write(operation);
        self.record(operation.hold, (at, kind, operation.f), round, recorder, |event| {
            (event.value, event.error) = (value, Some(error.into()));
        });
        self.end(kind, None, at, round, recorder);
    }

    /// Ends the open operation, and goes on.
    fn end(
        &mut self,
        kind: Kind,
        given: Option<u64>,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        self.machine.ended(kind, given);
        self.go_on(at, round, recorder);
    }

    /// The vault has served an access or fenced it off.
    pub fn served(&mut self, request: u64) {
        if let WorkerStage::AtVault { served, .. } = &mut self.stage
            && self.open == request
        {
            *served = true;
        }
    }

    /// Takes the answer of the vault, or the report of the worker's own machine that the connection
    /// there is no more.
    pub fn hear_vault(
        &mut self,
        outcome: AccessOutcome,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        if !matches!(self.stage, WorkerStage::AtVault { .. }) {
            return;
        }
        match outcome {
            AccessOutcome::Served(value) => self.end(Kind::Ok, Some(value), at, round, recorder),
            AccessOutcome::Fenced => self.end(Kind::Fail, None, at, round, recorder),
            AccessOutcome::Unsent(error) => self.unheard((at, Kind::Fail, error), round, recorder),
            AccessOutcome::Broken => {
                self.unheard((at, Kind::Info, "connection reset"), round, recorder);
            }
        }
    }

    /// Gives up waiting for the vault; `left`: the access has left its client. The worker goes on,
    /// whatever becomes of it.
    pub fn give_up_on_vault(
        &mut self,
        left: bool,
        now: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        let (kind, error) = match left {
            true => (Kind::Info, "no reply in time"),
            false => (Kind::Fail, "no connection in time"),
        };
        self.unheard((now, kind, error), round, recorder);
    }

    /// No answer to an access comes any more, for this reason. If the vault had served it all the
    /// same, the history knows already.
    fn unheard(&mut self, how: (Mono, Kind, &str), round: &TurnSettings, recorder: &mut Recorder) {
        let WorkerStage::AtVault { served, .. } = self.stage else { return };
        match self.machine.open() {
            Some(operation) if !served => self.touched_in_vain(operation, how, round, recorder),
            _ => self.end(how.1, None, how.0, round, recorder),
        }
    }

    /// Takes the answer of the worker's client to its request. `send` takes an access of the vault.
    pub fn hear(
        &mut self,
        reply: ClientReply,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
        send: impl FnOnce(AccessOnItsWay),
    ) -> Heard {
        let (WorkerStage::Asking { since, .. }, Some(operation)) =
            (self.stage, self.machine.open())
        else {
            return Heard::Goes;
        };
        let Some(outcome) = reply.outcome() else { return Heard::Goes };
        let ReplyOutcome { mut kind, mut error, facts, token } = outcome;
        let WorkerRequest { f, hold, mode, wait, cancel, .. } = operation;
        // What comes late says nothing of now.
        let is_late = (f, kind) == (F::Valid, Kind::Ok) && at.since(since) > round.wait(wait);
        if is_late {
            (kind, error) = (Kind::Info, Some("its lock answered too late".into()));
        }
        let is_cancelled =
            cancel.is_some() && matches!(self.stage, WorkerStage::Asking { cancel: None, .. });
        if is_cancelled && kind == Kind::Info {
            error = Some(CANCELLED.into());
        }
        match (f, kind) {
            (F::Read | F::Write, Kind::Ok) => {
                send(self.access(operation, round));
                let until = at + round.at_vault;
                self.stage = WorkerStage::AtVault { until, served: false };
                return Heard::Goes;
            }
            (F::Read | F::Write, _) => {
                let error = error.as_deref().unwrap_or_default();
                self.touched_in_vain(operation, (at, kind, error), round, recorder);
                return Heard::Goes;
            }
            (F::Acquire, Kind::Ok) => {
                self.since[hold] = at;
                recorder.played.granted(at);
            }
            _ => {}
        }
        self.machine.ended(kind, token);
        let is_refused = kind == Kind::Fail && matches!(f, F::Extend | F::Valid);
        self.record(hold, (at, kind, f), round, recorder, |event| {
            (event.facts, event.error, event.mode) = (facts, error, Some(mode));
            event.value = operation.several();
        });
        match kind {
            _ if is_refused => self.give_up_hold(hold, "its lock says so", at, round, recorder),
            _ if is_late => self.give_up_hold(hold, "its lock is silent", at, round, recorder),
            Kind::Info => return Heard::Doubt,
            _ => {}
        }
        self.go_on(at, round, recorder);
        Heard::Goes
    }

    /// Notes that a grant is over, for this reason, which its lock gave when it was asked.
    fn give_up_hold(
        &mut self,
        hold: usize,
        why: &str,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        let key = self.machine.grant(hold).key;
        if self.machine.lost(|number| number == key).is_some() {
            self.record(hold, (at, Kind::Info, F::Lost), round, recorder, |event| {
                event.error = Some(why.into());
            });
        }
    }

    /// Returns the number of the request that its client has to answer, if there is one.
    pub fn awaited(&self) -> Option<u64> {
        matches!(self.stage, WorkerStage::Asking { .. }).then_some(self.open)
    }

    /// Returns the open operation, while the worker waits for its client.
    fn asking(&self) -> Option<WorkerRequest> {
        self.machine.open().filter(|_| matches!(self.stage, WorkerStage::Asking { .. }))
    }

    /// The store has woken the worker's client. A worker that has its answer already does not wait
    /// any more.
    pub fn hear_notified(&self, at: Mono, round: &TurnSettings, recorder: &mut Recorder) {
        if let Some(WorkerRequest { f: F::Acquire, hold, .. }) = self.asking() {
            self.record(hold, (at, Kind::Info, F::Notified), round, recorder, |_| {});
        }
    }

    /// The worker's operation sends a command to a server.
    pub fn hear_call(&mut self, command: &str, at: Mono) {
        self.call = Some(CallView { command: command.into(), sent: at, answered: None });
    }

    /// Returns the last command that its operation has sent, while that goes on.
    pub fn call(&self) -> Option<&CallView> {
        let goes_on = |operation: WorkerRequest| !matches!(operation.f, F::Read | F::Write);
        self.call.as_ref().filter(|_| self.asking().is_some_and(goes_on))
    }

    /// The client doubts that the worker's grants of a key, or of all keys, still stand, and goes on.
    pub fn hear_doubt(
        &self,
        key: Option<Key>,
        error: String,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        let is_meant = |hold: &usize| {
            let of = round.key(self.machine.grant(*hold));
            key.as_ref().is_none_or(|key| key == of)
        };
        if let Some(hold) = self.machine.held().find(is_meant) {
            let what = (at, Kind::Info, F::Doubt);
            self.record(hold, what, round, recorder, |event| event.error = Some(error));
        }
    }

    /// The client has learnt that the worker's grants of a key, or of all keys, may be gone.
    pub fn hear_lost(
        &mut self,
        key: Option<Key>,
        error: String,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        if !matches!(self.state(), ClientState::Holding { .. }) {
            return;
        }
        let is_meant = |of: &Key| key.as_ref().is_none_or(|key| key == of);
        let lost = self.machine.lost(|number| is_meant(&round.keys[number as usize]));
        let Some(first) = lost else { return };
        let what = (at, Kind::Info, F::Lost);
        self.record(first, what, round, recorder, |event| event.error = Some(error));
        // A request that is on its way is answered first.
        if matches!(self.stage, WorkerStage::Ready | WorkerStage::Working { .. }) {
            self.go_on(at, round, recorder);
        }
    }

    /// Records that the worker's process is gone.
    pub fn record_death(
        &self,
        at: Mono,
        error: Option<&str>,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        self.record(0, (at, Kind::Info, F::Death), round, recorder, |event| {
            event.error = error.map(Into::into);
        });
    }

    /// The worker goes on under another process number, from `until` on or with its client's next
    /// process.
    pub fn replace(&mut self, workers: u32, until: Option<Mono>) {
        self.process += workers;
        self.machine.forget();
        self.stage = WorkerStage::Down { until };
    }

    /// A reply of a server has passed the link to the worker's client. Returns true if the worker
    /// has asked for it.
    pub fn passed(&mut self, server: u32, at: Mono) -> bool {
        if let Some(call) = &mut self.call {
            call.answered.get_or_insert(at);
        }
        let asks = self.asking().is_some_and(|it| matches!(it.f, F::Acquire | F::Release));
        if let WorkerStage::Asking { last_reply, answers, .. } = &mut self.stage
            && asks
        {
            *last_reply = Some(at);
            answers.add(server);
        }
        asks
    }

    /// Returns true while the worker holds a lock.
    pub fn holds_any(&self) -> bool {
        self.machine.held().next().is_some()
    }

    /// Returns the time at which the worker has something to do; `None`: it waits for an answer or
    /// for its client, or is done.
    pub fn due(&self) -> Option<Mono> {
        match self.stage {
            WorkerStage::Thinking { until }
            | WorkerStage::Working { until }
            | WorkerStage::AtVault { until, .. } => Some(until),
            WorkerStage::Down { until } | WorkerStage::Asking { cancel: until, .. } => until,
            WorkerStage::Ready => Some(Mono::ZERO),
            _ => None,
        }
    }

    /// The run's time begins: what was listed comes at its time from now on.
    pub fn begin(&mut self, now: Mono) {
        if let WorkerStage::Thinking { until } = &mut self.stage {
            *until = now + self.turn.think;
        }
    }

    /// The activity of the worker, as a nemesis sees it.
    pub fn state(&self) -> ClientState {
        let since = self.machine.held().map(|hold| self.since[hold]).min();
        let f = self.machine.open().map(|operation| operation.f);
        match (self.stage, since) {
            (WorkerStage::Down { .. }, _) => ClientState::Down,
            (WorkerStage::Thinking { .. } | WorkerStage::Done, _) => ClientState::Idle,
            (WorkerStage::Asking { since, last_reply, answers, .. }, None)
                if f == Some(F::Acquire) =>
            {
                let answers = answers.count();
                ClientState::Acquiring { since, last_reply, answers }
            }
            (WorkerStage::Asking { last_reply, .. }, None) if f == Some(F::Release) => {
                ClientState::Releasing { last_reply }
            }
            (WorkerStage::Ready, Some(_)) if self.is_leaving() => {
                ClientState::Releasing { last_reply: None }
            }
            (_, Some(since)) => ClientState::Holding { since },
            (_, None) => ClientState::Idle,
        }
    }

    /// Returns true if the next step releases the only lock that is held.
    fn is_leaving(&self) -> bool {
        self.machine.held().count() == 1 && matches!(self.machine.peek(), Some(Step::Release(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::Answers;

    #[test]
    fn a_server_that_answers_again_begins_a_round() {
        let mut answers = Answers::default();
        let counts = [0, 3, 1, 3, 1, 0].map(|server| {
            answers.add(server);
            answers.count()
        });
        assert_eq!(counts, [1, 2, 3, 1, 2, 3]);
    }
}
