//! One worker of a client: its turns, its grants, and the step of its script at which it is.

use base::{
    Acquire, CallView, ClientReply, ClientState, Command, Event, F, Facts, HOLDS, Key, Kind, Load,
    Mode, Mono, Process, Rng, Step, Turn, Wait, Walk,
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
    /// It has asked for the lock.
    Acquiring { hold: usize, since: Mono, last_reply: Option<Mono>, answers: Answers },
    /// An access to the vault is about to leave its client.
    Touching { f: F, hold: usize },
    /// It waits for the vault until then.
    AtVault { until: Mono, touch: Touch },
    /// It works until then.
    Working { until: Mono },
    /// It has asked for another mode.
    Converting { hold: usize, mode: Mode },
    /// It has released the lock and waits for the answer.
    Releasing { hold: usize, last_reply: Option<Mono> },
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

/// An access that has left its client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    pub f: F,
    pub hold: usize,
    /// The vault has served it or fenced it off.
    pub served: bool,
}

/// A grant of the worker's turn.
#[derive(Clone)]
struct WorkerHold {
    key: Key,
    mode: Mode,
    /// The time at which it was granted.
    since: Mono,
    token: Option<u64>,
    /// The value that was read last.
    value: u64,
    /// The client has said that it may have lost it.
    lost: bool,
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
        let keys = (0..plan.load.keys).map(|key| format!("k{key}").into()).collect();
        // By the clock, a replay counts from the start of the run; by the state of the lock, from
        // when all clients are up, which takes its time on real servers.
        let by_trigger =
            plan.replay.as_ref().is_some_and(|replay| replay.aim == FaultTiming::Trigger);
        Self {
            load: plan.load.clone(),
            keys,
            acquire_timeout: plan.acquire_timeout,
            short_wait: plan.short_wait,
            at_vault: plan.ttl / AT_VAULT,
            origin: (!by_trigger).then_some(Mono::ZERO),
        }
    }

    /// A hold as a turn asks for it, of the key so many after the turn's own.
    fn hold(&self, turn: &Turn, offset: u32) -> WorkerHold {
        let key = (turn.key + offset) as usize % self.keys.len();
        WorkerHold {
            key: self.keys[key].clone(),
            mode: turn.mode,
            since: Mono::ZERO,
            token: None,
            value: 0,
            lost: false,
        }
    }

    fn acquire_timeout_ns(&self, wait: Wait) -> u64 {
        let acquire_timeout = match wait {
            Wait::Long => self.acquire_timeout,
            Wait::Short => self.short_wait,
            Wait::Try => Duration::ZERO,
        };
        acquire_timeout.as_nanos() as u64
    }
}

pub struct DrivenWorker {
    number: u32,
    pub process: u32,
    pub stage: WorkerStage,
    turn: Turn,
    walk: Walk,
    holds: [WorkerHold; HOLDS],
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
        let mut rng = Rng::fork(plan.seed, 100 + u64::from(number));
        let turn = round.load.turn(&mut rng);
        let turns = match &plan.replay {
            Some(replay) => TurnSource::Listed(replay.turns[number as usize].clone().into_iter()),
            None => TurnSource::Drawn(rng, round.load.turns),
        };
        Self {
            number,
            process: number,
            stage: WorkerStage::Down { until: None },
            holds: std::array::from_fn(|_| round.hold(&turn, 0)),
            walk: Walk::new(&[]),
            turn,
            open: 0,
            begun: 0,
            call: None,
            turns,
        }
    }

    /// Records an event of this worker, about a hold of its turn.
    fn record(
        &self,
        recorder: &mut Recorder,
        hold: usize,
        (at, kind, f): (Mono, Kind, F),
        fill: impl FnOnce(&mut Event),
    ) {
        let WorkerHold { key, mode, token, .. } = &self.holds[hold];
        recorder.push((at, Process::Client(self.process), kind, f), |event| {
            event.key = Some(key.clone());
            event.mode = Some(*mode);
            event.token = *token;
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
        self.holds = std::array::from_fn(|_| round.hold(&turn, 0));
        self.walk = Walk::new(round.load.task.scripts[turn.script as usize]);
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
        let Some(step) = self.walk.step() else {
            self.think(now, round, recorder);
            return None;
        };
        let (f, hold, mode, command) = match step {
            Step::Work(part) => {
                self.stage = WorkerStage::Working { until: now + self.turn.hold / part };
                return None;
            }
            Step::Convert(hold, mode) if self.holds[hold].mode == mode => {
                return self.step(now, request, round, recorder);
            }
            Step::Acquire { hold, key, wait } => {
                let wanted = round.hold(&self.turn, key);
                let (key, mode) = (wanted.key.clone(), wanted.mode);
                self.holds[hold] = wanted;
                let answers = Answers::default();
                self.stage = WorkerStage::Acquiring { hold, since: now, last_reply: None, answers };
                let acquire_timeout_ns = round.acquire_timeout_ns(wait);
                let wanted = Acquire { key, hold, mode, acquire_timeout_ns };
                (F::Acquire, hold, mode, Command::Acquire(Box::new(wanted)))
            }
            Step::Read(hold) | Step::Write(hold) => {
                let mode = self.holds[hold].mode;
                let writes = matches!(step, Step::Write(_)) && mode == Mode::Exclusive;
                let f = if writes { F::Write } else { F::Read };
                self.stage = WorkerStage::Touching { f, hold };
                (f, hold, mode, Command::Touch { hold })
            }
            Step::Convert(hold, mode) => {
                self.stage = WorkerStage::Converting { hold, mode };
                (F::Convert, hold, mode, Command::Convert { hold, mode })
            }
            Step::Release(hold) => {
                self.walk.ended(hold);
                self.stage = WorkerStage::Releasing { hold, last_reply: None };
                (F::Release, hold, self.holds[hold].mode, Command::Release { hold })
            }
        };
        (self.open, self.call) = (request, None);
        self.begun = recorder.history().events().len() as u64;
        let value = self.to_write(f, hold);
        self.record(recorder, hold, (now, Kind::Invoke, f), |event| {
            (event.value, event.mode) = (value, Some(mode));
        });
        Some(command)
    }

    /// Goes on after a step. Work begins at once; anything else is to be done in its turn.
    fn go_on(&mut self, now: Mono, round: &TurnSettings, recorder: &mut Recorder) {
        self.stage = match self.walk.peek() {
            None => return self.think(now, round, recorder),
            Some(Step::Work(part)) => {
                self.walk.step();
                WorkerStage::Working { until: now + self.turn.hold / part }
            }
            Some(_) => WorkerStage::Ready,
        };
    }

    /// The value that an access writes.
    fn to_write(&self, f: F, hold: usize) -> Option<u64> {
        (f == F::Write).then_some(self.holds[hold].value + 1)
    }

    /// An access of the vault as it leaves.
    fn access(&self, f: F, hold: usize) -> AccessOnItsWay {
        let WorkerHold { key, mode, token, .. } = self.holds[hold].clone();
        AccessOnItsWay {
            worker: self.number,
            process: self.process,
            request: self.open,
            f,
            key,
            mode,
            token,
            value: self.to_write(f, hold),
            begun: self.begun,
        }
    }

    /// Records that an access ends without the vault having had it, and goes on to release.
    fn touched_in_vain(
        &mut self,
        (f, hold): (F, usize),
        (at, kind, error): (Mono, Kind, &str),
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        let value = self.to_write(f, hold);
        self.record(recorder, hold, (at, kind, f), |event| {
            (event.value, event.error) = (value, Some(error.into()));
        });
        self.give_up_turn(at, round, recorder);
    }

    /// Does nothing more in this turn but to release what is held.
    fn give_up_turn(&mut self, at: Mono, round: &TurnSettings, recorder: &mut Recorder) {
        self.walk.retreat();
        self.go_on(at, round, recorder);
    }

    /// The vault has served an access or fenced it off.
    pub fn served(&mut self, request: u64) {
        if let WorkerStage::AtVault { touch, .. } = &mut self.stage
            && self.open == request
        {
            touch.served = true;
        }
    }

    /// The worker hears from the vault, or from its own machine that the connection there is no
    /// more.
    pub fn hear_vault(
        &mut self,
        said: AccessOutcome,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        let WorkerStage::AtVault { touch, .. } = self.stage else { return };
        match said {
            AccessOutcome::Served(value) => {
                let hold = &mut self.holds[touch.hold];
                hold.value = value;
                self.go_on(at, round, recorder);
            }
            AccessOutcome::Fenced => self.give_up_turn(at, round, recorder),
            AccessOutcome::Unsent(error) => {
                self.unheard(touch, (at, Kind::Fail, error), round, recorder)
            }
            AccessOutcome::Broken => {
                self.unheard(touch, (at, Kind::Info, "connection reset"), round, recorder);
            }
        }
    }

    /// The worker has waited long enough for the vault, and `left` says whether its access has left
    /// its client. It goes on, whatever becomes of that.
    pub fn give_up_on_vault(
        &mut self,
        left: bool,
        now: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        let WorkerStage::AtVault { touch, .. } = self.stage else { return };
        let (kind, error) = match left {
            true => (Kind::Info, "no reply in time"),
            false => (Kind::Fail, "no connection in time"),
        };
        self.unheard(touch, (now, kind, error), round, recorder);
    }

    /// No answer to an access comes any more, for this reason. If the vault had served it all the
    /// same, the history knows already.
    fn unheard(
        &mut self,
        touch: Touch,
        how: (Mono, Kind, &str),
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        match touch.served {
            true => self.give_up_turn(how.0, round, recorder),
            false => self.touched_in_vain((touch.f, touch.hold), how, round, recorder),
        }
    }

    /// The worker's client has answered its request. `send` takes an access of the vault.
    pub fn hear(
        &mut self,
        reply: ClientReply,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
        send: impl FnOnce(AccessOnItsWay),
    ) -> Heard {
        let (f, hold, mode) = match self.stage {
            WorkerStage::Touching { f, hold } => {
                let ReplyOutcome { kind, error, .. } = reply.into();
                if kind == Kind::Ok {
                    send(self.access(f, hold));
                    let touch = Touch { f, hold, served: false };
                    self.stage = WorkerStage::AtVault { until: at + round.at_vault, touch };
                } else {
                    let error = error.as_deref().unwrap_or_default();
                    self.touched_in_vain((f, hold), (at, kind, error), round, recorder);
                }
                return Heard::Goes;
            }
            WorkerStage::Acquiring { hold, .. } => (F::Acquire, hold, self.holds[hold].mode),
            WorkerStage::Converting { hold, mode } => (F::Convert, hold, mode),
            WorkerStage::Releasing { hold, .. } => (F::Release, hold, self.holds[hold].mode),
            _ => return Heard::Goes,
        };
        if let ClientReply::Ok { token, .. } = reply {
            self.succeeded(f, hold, (token, mode), at, recorder);
        }
        let ReplyOutcome { kind, facts, error } = reply.into();
        self.record(recorder, hold, (at, kind, f), |event| {
            (event.facts, event.error, event.mode) = (facts, error, Some(mode));
        });
        match kind {
            Kind::Info => return Heard::Doubt,
            Kind::Fail if f == F::Convert => self.walk.retreat(),
            Kind::Fail if f == F::Acquire => self.walk.refused(),
            _ => {}
        }
        self.go_on(at, round, recorder);
        Heard::Goes
    }

    fn succeeded(
        &mut self,
        f: F,
        hold: usize,
        (token, mode): (Option<u64>, Mode),
        at: Mono,
        recorder: &mut Recorder,
    ) {
        let of = &mut self.holds[hold];
        match f {
            F::Acquire => {
                (of.token, of.since) = (token, at);
                self.walk.granted(hold);
                recorder.played.granted(at);
            }
            F::Convert => (of.token, of.mode) = (token.or(of.token), mode),
            _ => {}
        }
    }

    /// The store has woken the worker's client. A worker that has its answer already does not wait
    /// any more.
    pub fn hear_notified(&self, at: Mono, recorder: &mut Recorder) {
        if let WorkerStage::Acquiring { hold, .. } = self.stage {
            self.record(recorder, hold, (at, Kind::Info, F::Notified), |_| {});
        }
    }

    /// The worker's operation sends a command to a server.
    pub fn hear_call(&mut self, command: &str, at: Mono) {
        self.call = Some(CallView { command: command.into(), sent: at, answered: None });
    }

    /// Returns the last command that its operation has sent, while that goes on.
    pub fn call(&self) -> Option<&CallView> {
        let goes_on = matches!(
            self.stage,
            WorkerStage::Acquiring { .. }
                | WorkerStage::Converting { .. }
                | WorkerStage::Releasing { .. }
        );
        self.call.as_ref().filter(|_| goes_on)
    }

    /// The client has learnt that the worker's grants of a key may be gone.
    pub fn hear_lost(
        &mut self,
        key: Key,
        error: String,
        at: Mono,
        round: &TurnSettings,
        recorder: &mut Recorder,
    ) {
        if !matches!(self.state(), ClientState::Holding { .. }) {
            return;
        }
        let gone = |worker: &Self, hold: usize| {
            let WorkerHold { key: of, lost, .. } = &worker.holds[hold];
            worker.walk.holds(hold) && *of == key && !lost
        };
        let Some(first) = (0..HOLDS).find(|hold| gone(self, *hold)) else { return };
        self.record(recorder, first, (at, Kind::Info, F::Lost), |event| event.error = Some(error));
        for hold in first..HOLDS {
            self.holds[hold].lost |= gone(self, hold);
        }
        self.walk.retreat();
        // A request that is on its way is answered first.
        if matches!(self.stage, WorkerStage::Ready | WorkerStage::Working { .. }) {
            self.go_on(at, round, recorder);
        }
    }

    /// Records that the worker's process is gone.
    pub fn record_death(&self, at: Mono, error: Option<&str>, recorder: &mut Recorder) {
        self.record(recorder, 0, (at, Kind::Info, F::Death), |event| {
            event.error = error.map(Into::into);
        });
    }

    /// The worker goes on under another process number, from `until` on or with its client's next
    /// process.
    pub fn replace(&mut self, workers: u32, until: Option<Mono>) {
        self.process += workers;
        self.walk = Walk::new(&[]);
        for hold in &mut self.holds {
            (hold.token, hold.value, hold.lost) = (None, 0, false);
        }
        self.stage = WorkerStage::Down { until };
    }

    /// A reply of a server has passed the link to the worker's client. Returns true if the worker has
    /// asked for it.
    pub fn passed(&mut self, server: u32, at: Mono) -> bool {
        if let Some(call) = &mut self.call {
            call.answered.get_or_insert(at);
        }
        match &mut self.stage {
            WorkerStage::Acquiring { last_reply, answers, .. } => {
                *last_reply = Some(at);
                answers.add(server);
            }
            WorkerStage::Releasing { last_reply, .. } => *last_reply = Some(at),
            _ => return false,
        }
        true
    }

    /// Returns true while the worker holds a lock.
    pub fn holds_any(&self) -> bool {
        self.walk.holds_any()
    }

    /// Returns the time at which the worker has something to do; `None`: it waits for an answer or
    /// for its client, or is done.
    pub fn due(&self) -> Option<Mono> {
        match self.stage {
            WorkerStage::Thinking { until }
            | WorkerStage::Working { until }
            | WorkerStage::AtVault { until, .. } => Some(until),
            WorkerStage::Down { until } => until,
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
        let held = (0..HOLDS).filter(|hold| self.walk.holds(*hold));
        let since = held.map(|hold| self.holds[hold].since).min();
        match (self.stage, since) {
            (WorkerStage::Down { .. }, _) => ClientState::Down,
            (WorkerStage::Thinking { .. } | WorkerStage::Done, _) => ClientState::Idle,
            (WorkerStage::Acquiring { since, last_reply, answers, .. }, None) => {
                let answers = answers.count();
                ClientState::Acquiring { since, last_reply, answers }
            }
            (WorkerStage::Releasing { last_reply, .. }, None) => {
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
        let held = (0..HOLDS).filter(|hold| self.walk.holds(*hold)).count();
        held == 1 && matches!(self.walk.peek(), Some(Step::Release(_)))
    }
}

/// The end of an operation that a reply brings, with its facts and its error.
struct ReplyOutcome {
    kind: Kind,
    /// The facts from the store, as the reply passes them on.
    facts: Option<Box<Facts>>,
    error: Option<String>,
}

impl From<ClientReply> for ReplyOutcome {
    fn from(reply: ClientReply) -> Self {
        let (kind, facts, error) = match reply {
            ClientReply::Ok { facts, .. } => (Kind::Ok, facts, None),
            ClientReply::Fail { error, facts } => (Kind::Fail, facts, Some(error)),
            ClientReply::Info { error } | ClientReply::Lost { error, .. } => {
                (Kind::Info, None, Some(error))
            }
            ClientReply::Notified { .. }
            | ClientReply::Calls { .. }
            | ClientReply::Clock { .. } => (Kind::Info, None, None),
        };
        Self { kind, facts, error }
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
