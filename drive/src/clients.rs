//! The clients as the drive loop sees them. A client is a process with one worker or several, which
//! take turns at their task. A worker whose acquire or release ended in doubt is replaced by a new
//! one under a new process number, as in Jepsen; a client with one worker is replaced with it.

use base::{
    Action, Backend, CallView, ClientAbility, ClientReply, ClientRequest, ClientState, ClientView,
    F, Facts, Fault, Kind, LossLevel, Mono, Node, Process, Response,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;
use stores::vault::StaleToken;

use super::faults::Faults;
use super::vault::{AccessOnItsWay, Arrival, VaultAnswer, VaultNode};
use super::worker::{DrivenWorker, Heard, TurnSettings, WorkerStage};
use super::{DriveError, Recorder};
use crate::plan::{Plan, UnfitClient};

/// The time for which a worker that was given up, or its client, has no process.
const RESPAWN: Duration = Duration::from_millis(100);

/// The end of a doubtful worker that still holds another lock.
const GIVEN_UP: &str = "given up, as nobody knows how its last operation ended";

/// The process of a client.
struct ClientProcess {
    process: u32,
    stage: ProcessStage,
    /// This process or one before it has answered `init`.
    has_come_up: bool,
}

/// The stage of a client's process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessStage {
    /// There is none; a new one comes then, if a heal does not have to come first.
    Gone {
        until: Option<Mono>,
    },
    Starting,
    Up,
}

/// An answer to a request that nobody has made, or that was answered before.
#[derive(Debug, thiserror::Error)]
#[error(
    "process {process} {}, and {}",
    .id.map_or("answered without the `id` of a request".into(), |id| format!("answered request {id}")),
    .open.map_or("was asked nothing".into(), |id| format!("was asked request {id}")),
)]
pub struct StrayAnswer {
    process: u32,
    id: Option<u64>,
    open: Option<u64>,
}

/// All clients of a run, with their workers.
pub struct Clients {
    clients: Vec<ClientProcess>,
    /// The workers of the first client, then those of the second, and so on.
    workers: Vec<DrivenWorker>,
    /// The times at which workers and clients have something to do; clients are numbered after the
    /// workers. Entries that no longer apply are passed over.
    queue: BinaryHeap<Reverse<(Mono, u32)>>,
    /// The workers that have something to do at once, which would only pass through the queue.
    ready: Vec<u32>,
    round: TurnSettings,
    next_request: u64,
    /// The server that answered last to an acquire or a release.
    answering: Option<u32>,
    /// The reason with which the last client that could not begin refused its `init`.
    refusal: Option<String>,
    /// The abilities that they need beyond the four requests.
    needed: Vec<ClientAbility>,
    /// The lack of the first client that cannot do what is asked of it.
    unfit: Option<UnfitClient>,
}

impl Clients {
    pub fn new(plan: &Plan) -> Self {
        let round = TurnSettings::new(plan);
        let each = plan.load.task.workers;
        let workers = plan.run.clients * each;
        let gone = ProcessStage::Gone { until: Some(Mono::ZERO) };
        Self {
            clients: (0..plan.run.clients)
                .map(|process| ClientProcess { process, stage: gone, has_come_up: false })
                .collect(),
            workers: (0..workers).map(|number| DrivenWorker::new(number, plan, &round)).collect(),
            queue: (workers..workers + plan.run.clients)
                .map(|it| Reverse((Mono::ZERO, it)))
                .collect(),
            ready: Vec::new(),
            round,
            next_request: 0,
            answering: None,
            refusal: None,
            needed: plan.needed.clone(),
            unfit: None,
        }
    }

    /// All clients are up.
    pub fn begin(&mut self, now: Mono) {
        if self.round.origin.is_some() {
            return;
        }
        self.round.origin = Some(now);
        for number in 0..self.workers.len() {
            self.workers[number].begin(now);
            self.note(number);
        }
    }

    /// The number of workers of each client.
    fn each(&self) -> usize {
        self.workers.len() / self.clients.len()
    }

    /// The numbers of a client's workers.
    fn workers_of(&self, client: usize) -> std::ops::Range<usize> {
        let each = self.each();
        client * each..(client + 1) * each
    }

    /// Returns the worker that goes by this process number now.
    fn worker(&self, process: u32) -> Option<usize> {
        let number = number(process, self.workers.len());
        Some(number).filter(|number| self.workers[*number].process == process)
    }

    /// Returns the client that has this process now.
    fn client(&self, process: u32) -> Option<usize> {
        let number = number(process, self.clients.len());
        Some(number).filter(|number| self.clients[*number].process == process)
    }

    /// A worker has come to another stage: remembers when it has something to do.
    fn note(&mut self, number: usize) {
        match self.workers[number].due() {
            Some(Mono::ZERO) => self.ready.push(number as u32),
            Some(due) => self.queue.push(Reverse((due, number as u32))),
            None => {}
        }
    }

    /// Returns the time at which a worker or a client has something to do.
    fn due(&self, number: usize) -> Option<Mono> {
        match number.checked_sub(self.workers.len()) {
            None => self.workers[number].due(),
            Some(client) => match self.clients[client].stage {
                ProcessStage::Gone { until } => until,
                ProcessStage::Starting | ProcessStage::Up => None,
            },
        }
    }

    /// Returns the reason with which a client refused its `init`, if one has.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Returns the missing ability of a client that cannot do its task, if one has reported it.
    pub const fn unfit(&self) -> Option<UnfitClient> {
        self.unfit
    }

    /// Returns true once every client has come up, even if it has been replaced since, as after an
    /// acquire in doubt.
    pub fn all_up(&self) -> bool {
        self.clients.iter().all(|client| client.has_come_up)
    }

    /// Returns true once every worker has had all its turns.
    pub fn all_done(&self) -> bool {
        self.workers.iter().all(|worker| matches!(worker.stage, WorkerStage::Done))
    }

    /// The server that answered last to an acquire or a release, if one has.
    pub const fn answering(&self) -> Option<u32> {
        self.answering
    }

    /// Returns the nemeses' view of the clients.
    pub fn view(&self, faults: &Faults) -> Vec<ClientView> {
        let view = |client: usize| ClientView {
            state: self.state(client),
            faulted: faults.hits(Node::Client(client as u32)),
            call: self.call(client).cloned(),
        };
        (0..self.clients.len()).map(view).collect()
    }

    /// The activity of a client: that of its worker which is nearest to the lock.
    fn state(&self, client: usize) -> ClientState {
        if self.clients[client].stage != ProcessStage::Up {
            return ClientState::Down;
        }
        let states = self.workers[self.workers_of(client)].iter().map(DrivenWorker::state);
        let nearness = |state: &ClientState| match state {
            ClientState::Holding { .. } => 3,
            ClientState::Acquiring { .. } => 2,
            ClientState::Releasing { .. } => 1,
            ClientState::Idle | ClientState::Down => 0,
        };
        states.max_by_key(nearness).unwrap_or(ClientState::Down)
    }

    /// The last command that a client has sent for one of its operations.
    fn call(&self, client: usize) -> Option<&CallView> {
        let calls = self.workers[self.workers_of(client)].iter().filter_map(DrivenWorker::call);
        calls.max_by_key(|call| call.sent)
    }

    /// Does what clients have to do now; says when the next of them has something to do.
    pub fn act(
        &mut self,
        now: Mono,
        backend: &mut dyn Backend,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) -> Result<Option<Mono>, DriveError> {
        // In the order of the workers, the first one last.
        self.ready.sort_unstable_by_key(|number| Reverse(*number));
        while let Some(number) = self.ready.pop() {
            if self.workers[number as usize].due() == Some(Mono::ZERO) {
                self.act_one(number as usize, now, backend, recorder);
            }
        }
        while let Some(&Reverse((due, number))) = self.queue.peek() {
            let number = number as usize;
            let meant = self.due(number) == Some(due);
            if meant && due > now {
                return Ok(Some(due));
            }
            self.queue.pop();
            match number.checked_sub(self.workers.len()) {
                _ if !meant => {}
                Some(client) => self.spawn(client, backend)?,
                None => {
                    self.give_up_on_vault(number, now, vault, recorder);
                    self.act_one(number, now, backend, recorder);
                }
            }
        }
        Ok(None)
    }

    fn spawn(&mut self, client: usize, backend: &mut dyn Backend) -> Result<(), DriveError> {
        let it = &mut self.clients[client];
        it.stage = ProcessStage::Starting;
        Ok(backend.spawn(client as u32, it.process)?)
    }

    fn act_one(
        &mut self,
        number: usize,
        now: Mono,
        backend: &mut dyn Backend,
        recorder: &mut Recorder,
    ) {
        let id = self.next_request + 1;
        let worker = &mut self.workers[number];
        if let Some(command) = worker.act(now, id, &self.round, recorder) {
            self.next_request = id;
            let request = ClientRequest { id, worker: worker.process, command };
            let client = &self.clients[number / self.each()];
            backend.send(client.process, request);
        }
        self.note(number);
    }

    /// A worker has waited long enough for the vault.
    fn give_up_on_vault(
        &mut self,
        number: usize,
        now: Mono,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        let worker = &mut self.workers[number];
        if let WorkerStage::AtVault { served, .. } = worker.stage {
            let left = !served && vault.give_up(worker.open);
            worker.give_up_on_vault(left, now, &self.round, recorder);
        }
    }

    /// Handles a response of a client.
    pub fn hear(
        &mut self,
        process: u32,
        response: Response,
        at: Mono,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) -> Result<(), StrayAnswer> {
        // A process that is gone may still be heard: its last words come late.
        let Some(client) = self.client(process) else { return Ok(()) };
        if self.clients[client].stage == ProcessStage::Starting {
            return self.hear_init(client, response, at, recorder);
        }
        // A client with one worker need not say which.
        let of = if self.each() == 1 { process } else { response.worker };
        let Some(number) = self.worker(of) else { return Ok(()) };
        self.hear_worker(number, response, at, vault, recorder)?;
        // Without a fault in its way, an access is served and answered at once.
        self.deliver(at, Some(number), vault, recorder);
        self.note(number);
        Ok(())
    }

    /// A client has answered its `init`.
    fn hear_init(
        &mut self,
        client: usize,
        response: Response,
        at: Mono,
        recorder: &mut Recorder,
    ) -> Result<(), StrayAnswer> {
        let id = response.id;
        if let ClientReply::Ok { version, can, .. } = &response.reply {
            let claimed = (*version, can.as_deref());
            let unfit = UnfitClient::of(&self.needed, self.round.task(), claimed);
            self.unfit = self.unfit.or(unfit);
        }
        let Some(outcome) = response.reply.outcome() else { return Ok(()) };
        let process = self.clients[client].process;
        match id {
            Some(0) => {}
            // Its other requests come once it has answered this one.
            _ => return Err(StrayAnswer { process, id, open: Some(0) }),
        }
        if outcome.kind != Kind::Ok {
            self.refusal = outcome.error;
            self.replace_client(client, Some(at + RESPAWN));
            return Ok(());
        }
        self.clients[client].stage = ProcessStage::Up;
        self.clients[client].has_come_up = true;
        for number in self.workers_of(client) {
            self.workers[number].think(at, &self.round, recorder);
            self.note(number);
        }
        Ok(())
    }

    fn hear_worker(
        &mut self,
        number: usize,
        response: Response,
        at: Mono,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) -> Result<(), StrayAnswer> {
        let (worker, round) = (&mut self.workers[number], &self.round);
        match response.reply {
            ClientReply::Lost { key, level, error, .. } => {
                match level {
                    LossLevel::Doubt => worker.hear_doubt(key, error, at, round, recorder),
                    LossLevel::Lost => worker.hear_lost(key, error, at, round, recorder),
                }
                return Ok(());
            }
            ClientReply::Notified { .. } => {
                worker.hear_notified(at, round, recorder);
                return Ok(());
            }
            ClientReply::Calls { command } => {
                worker.hear_call(&command, at);
                return Ok(());
            }
            _ => {}
        }
        let open = worker.awaited();
        if response.id != open {
            return Err(StrayAnswer { process: worker.process, id: response.id, open });
        }
        let send = |access| vault.send(at, access);
        if let Heard::Doubt = worker.hear(response.reply, at, round, recorder, send) {
            self.give_up(number, at, recorder);
        }
        Ok(())
    }

    /// Takes what has arrived at the vault, and what has come back from it. What the worker that is
    /// being heard has to do next is noted once, when it has been heard.
    pub fn deliver(
        &mut self,
        now: Mono,
        heard: Option<usize>,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        while let Some(arrival) = vault.arrival(now) {
            match arrival {
                Arrival::Access { access, served, late } => {
                    self.served(&access, now, served, late, recorder);
                }
                Arrival::Answer(VaultAnswer { worker: number, request, outcome }) => {
                    let number = number as usize;
                    let worker = &mut self.workers[number];
                    if worker.open == request {
                        worker.hear_vault(outcome, now, &self.round, recorder);
                    }
                    if heard != Some(number) {
                        self.note(number);
                    }
                }
            }
        }
    }

    /// The vault has served an access or fenced it off.
    fn served(
        &mut self,
        access: &AccessOnItsWay,
        at: Mono,
        served: Result<u64, StaleToken>,
        late: bool,
        recorder: &mut Recorder,
    ) {
        self.workers[access.worker as usize].served(access.request);
        let kind = if served.is_ok() { Kind::Ok } else { Kind::Fail };
        let f = if late { F::Arrive } else { access.f };
        recorder.push((at, Process::Client(access.process), kind, f), |event| {
            event.key = Some(access.key.clone());
            event.mode = Some(access.mode);
            event.token = access.token;
            event.value = served.ok().or(access.value);
            event.error = served.err().map(|fenced| fenced.to_string());
            let begun = late.then_some(access.begun);
            event.facts = begun.map(|_| Box::new(Facts { begun, ..Facts::default() }));
        });
    }

    /// Replaces a worker that ended in doubt, with its client if it is the only one.
    fn give_up(&mut self, number: usize, at: Mono, recorder: &mut Recorder) {
        let worker = &self.workers[number];
        if worker.holds_any() {
            worker.record_death(at, Some(GIVEN_UP), &self.round, recorder);
        }
        let until = Some(at + RESPAWN);
        if self.each() == 1 {
            return self.replace_client(number, until);
        }
        let workers = self.workers.len() as u32;
        self.workers[number].replace(workers, until);
        self.note(number);
    }

    /// Takes the process from a client and its workers until they get a new one.
    fn replace_client(&mut self, client: usize, until: Option<Mono>) {
        let (clients, workers) = (self.clients.len() as u32, self.workers.len() as u32);
        for number in self.workers_of(client) {
            self.workers[number].replace(workers, None);
        }
        self.clients[client].process += clients;
        self.restart(client, until);
    }

    fn restart(&mut self, client: usize, until: Option<Mono>) {
        self.clients[client].stage = ProcessStage::Gone { until };
        if let Some(until) = until {
            self.queue.push(Reverse((until, (self.workers.len() + client) as u32)));
        }
    }

    /// A reply of a server has passed the link to a client.
    pub fn passed(&mut self, process: u32, server: u32, at: Mono) {
        if let Some(client) = self.client(process) {
            let workers = self.workers_of(client);
            for worker in &mut self.workers[workers] {
                if worker.passed(server, at) {
                    self.answering = Some(server);
                }
            }
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
        let Some(client) = self.client(process) else {
            // A client with one worker shares its number; of another, the workers are known no
            // more.
            if self.each() == 1 {
                vault.hang_up(process);
            }
            return false;
        };
        self.bury(client, at, Some(error), vault, recorder);
        self.replace_client(client, Some(at + RESPAWN));
        true
    }

    /// Records the death of a client's workers.
    fn bury(
        &mut self,
        client: usize,
        at: Mono,
        error: Option<&str>,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        let alone = self.each() == 1;
        for worker in &self.workers[self.workers_of(client)] {
            vault.hang_up(worker.process);
            // One that was given up has died, as far as the history goes.
            if alone || !matches!(worker.stage, WorkerStage::Down { .. }) {
                worker.record_death(at, error, &self.round, recorder);
            }
        }
    }

    /// A fault is about to be injected: what it kills is dead from this moment on.
    pub fn before_fault(
        &mut self,
        fault: &Fault,
        now: Mono,
        vault: &mut VaultNode,
        recorder: &mut Recorder,
    ) {
        let Some(client) = killed(fault) else { return };
        match self.clients[client].stage {
            ProcessStage::Gone { .. } => {
                let workers = self.workers_of(client);
                self.workers[workers].iter().for_each(|worker| vault.hang_up(worker.process));
            }
            ProcessStage::Starting | ProcessStage::Up => {
                self.bury(client, now, None, vault, recorder)
            }
        }
        self.replace_client(client, None);
    }

    /// A fault is undone: what it killed starts again.
    pub fn after_heal(&mut self, fault: &Fault, now: Mono) {
        if let Some(client) = killed(fault) {
            self.restart(client, Some(now));
        }
    }
}

/// Returns the place of a process: a new one has the number of the one before it plus the number of
/// places.
fn number(process: u32, places: usize) -> usize {
    // Most places still have their first process, and a division takes its time.
    let process = process as usize;
    if process < places { process } else { process % places }
}

/// The number of the client that a fault kills; `None` if it kills none.
fn killed(fault: &Fault) -> Option<usize> {
    match (fault.action(), fault.node()) {
        (Action::Kill, Some(Node::Client(client))) => Some(client as usize),
        _ => None,
    }
}
