//! Small random histories of operations, for tests: a toy of what is modelled is played with by a
//! few processes. Now and then somebody lies, so that illegal histories come out as well.

use crate::operation::{Ended, Operation, OperationKind, RegisterValue};
use base::{Mode, Rng};
use std::collections::BTreeSet;

/// The behaviour of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// One thing at a time, and nothing after an operation of unknown outcome.
    Tame,
    /// One thing at a time; a process goes on after an operation of unknown outcome, and may count
    /// on it.
    Stubborn,
    /// Several things at once; a process frees what is not its own, and goes on whatever happens.
    Wild,
}

/// The object that processes play with.
#[derive(Clone, Debug)]
pub(crate) enum Toy {
    Lock(RandomLock),
    Register { cell: RegisterValue, cas: bool },
    Set(BTreeSet<i64>),
}

/// A lock: which sets of holds are legal is the only difference between those that there are.
#[derive(Clone, Debug)]
pub(crate) struct RandomLock {
    pub legal: fn(u32, &[(u32, Mode)]) -> bool,
    pub bound: u32,
    /// True if it has modes, and can be converted.
    pub shared: bool,
    pub tokens: bool,
    /// True if one operation may take or give back two permits.
    pub permits: bool,
    /// True if the holder may take it again, in any mode.
    pub again: bool,
    pub holds: Vec<(u32, Mode)>,
    pub token: u64,
}

impl Toy {
    pub(crate) fn lock(
        bound: u32,
        shared: bool,
        tokens: bool,
        legal: fn(u32, &[(u32, Mode)]) -> bool,
    ) -> Self {
        let (permits, again, holds, token) = (false, false, Vec::new(), 0);
        Self::Lock(RandomLock { legal, bound, shared, tokens, permits, again, holds, token })
    }

    pub(crate) fn mutex() -> Self {
        Self::lock(1, false, false, |_, holds| holds.len() <= 1)
    }

    pub(crate) fn rw(tokens: bool) -> Self {
        Self::lock(1, true, tokens, |_, holds| {
            holds.len() <= 1 || holds.iter().all(|(_, mode)| *mode == Mode::Shared)
        })
    }

    pub(crate) fn semaphore(permits: u32) -> Self {
        Self::lock(permits, false, false, |permits, holds| holds.len() <= permits as usize)
    }

    pub(crate) fn permits(permits: u32) -> Self {
        let Self::Lock(lock) = Self::semaphore(permits) else { unreachable!("it is a lock") };
        Self::Lock(RandomLock { permits: true, ..lock })
    }

    pub(crate) fn rw_reentrant(tokens: bool) -> Self {
        let lock = Self::lock(1, true, tokens, |_, holds| {
            let excludes = |one: &(u32, Mode), other: &(u32, Mode)| {
                one.0 != other.0 && one.1.excludes(other.1)
            };
            !holds.iter().any(|one| holds.iter().any(|other| excludes(one, other)))
        });
        let Self::Lock(lock) = lock else { unreachable!("it is a lock") };
        Self::Lock(RandomLock { again: true, ..lock })
    }

    pub(crate) fn reentrant(depth: u32) -> Self {
        Self::lock(depth, false, false, |depth, holds| {
            holds.len() <= depth as usize && holds.iter().all(|(who, _)| *who == holds[0].0)
        })
    }

    /// Returns true if its holder may take it again, in any mode.
    pub(crate) fn is_taken_again(&self) -> bool {
        matches!(self, Self::Lock(lock) if lock.again)
    }

    fn is_held_by(&self, process: u32) -> bool {
        matches!(self, Self::Lock(lock) if lock.holds.iter().any(|(who, _)| *who == process))
    }

    /// Draws what a process might want to do next; `claims` is the number of grants it believes to
    /// have.
    fn wish(&self, claims: usize, wild: bool, rng: &mut Rng) -> Option<OperationKind> {
        let value = |rng: &mut Rng| Some(rng.below(3) as i64);
        Some(match self {
            Self::Lock(lock) => {
                let holds = claims > 0;
                let frees = if wild { rng.chance(0.5) } else { holds && rng.chance(0.6) };
                let mode = match lock.shared && rng.chance(0.6) {
                    true => Mode::Shared,
                    false => Mode::Exclusive,
                };
                let again = wild || !holds || lock.bound > 1 || lock.again || rng.chance(0.1);
                let permits = 1 + u32::from(lock.permits && rng.chance(0.4));
                let of = Some(mode).filter(|_| lock.again && rng.chance(0.7));
                match () {
                    () if (holds || wild) && rng.chance(0.15) => OperationKind::Confirm,
                    () if frees => OperationKind::Release { mode: of, permits },
                    () if lock.shared && (holds || wild) && rng.chance(0.5) => {
                        OperationKind::Convert { mode }
                    }
                    () if again => OperationKind::Acquire { mode, token: None, permits },
                    () => return None,
                }
            }
            Self::Register { cas, .. } => match rng.below(if *cas { 4 } else { 2 }) {
                0 => OperationKind::Read { value: None },
                1 => OperationKind::Write { value: value(rng) },
                2 => OperationKind::Miss { old: value(rng) },
                _ => OperationKind::Cas { old: value(rng), new: value(rng) },
            },
            Self::Set(_) if rng.chance(0.3) => OperationKind::Members { values: None },
            Self::Set(_) => OperationKind::Add { value: rng.below(5) as i64 },
        })
    }

    /// Does it, if that is legal; what it gives is noted in the action.
    fn play(&mut self, process: u32, action: &mut OperationKind) -> bool {
        match (self, action) {
            (Self::Lock(lock), action) => lock.play(process, action),
            (Self::Register { cell, .. }, OperationKind::Read { value }) => {
                *value = Some(*cell);
                true
            }
            (Self::Register { cell, .. }, OperationKind::Write { value }) => {
                *cell = *value;
                true
            }
            (Self::Register { cell, .. }, OperationKind::Cas { old, new }) => {
                let fits = cell == old;
                *cell = if fits { *new } else { *cell };
                fits
            }
            (Self::Register { cell, .. }, OperationKind::Miss { old }) => cell != old,
            (Self::Set(set), OperationKind::Add { value }) => {
                set.insert(*value);
                true
            }
            (Self::Set(set), OperationKind::Members { values }) => {
                *values = Some(set.iter().copied().collect());
                true
            }
            _ => false,
        }
    }

    /// Makes up a result for what was not done.
    fn lie(&self, action: &mut OperationKind, rng: &mut Rng) {
        match action {
            OperationKind::Acquire { token, .. } if matches!(self, Self::Lock(lock) if lock.tokens) =>
            {
                *token = Some((1 + rng.below(6)).into());
            }
            OperationKind::Read { value } => *value = Some(Some(rng.below(3) as i64)),
            OperationKind::Members { values } => {
                *values = Some((0..5).filter(|_| rng.chance(0.5)).collect());
            }
            _ => {}
        }
    }
}

impl RandomLock {
    fn play(&mut self, process: u32, action: &mut OperationKind) -> bool {
        let ours = self.holds.iter().rposition(|(who, _)| *who == process);
        let mut holds = self.holds.clone();
        match (&*action, ours) {
            (OperationKind::Acquire { mode, permits, .. }, _) => {
                holds.extend((0..*permits).map(|_| (process, *mode)));
            }
            (OperationKind::Release { mode, permits }, Some(_)) => {
                for _ in 0..*permits {
                    let is_it = |(who, held): &(u32, Mode)| {
                        *who == process && (!self.again || mode.is_none_or(|mode| mode == *held))
                    };
                    let Some(place) = holds.iter().rposition(is_it) else { return false };
                    holds.remove(place);
                }
            }
            (OperationKind::Convert { mode }, Some(ours)) => holds[ours].1 = *mode,
            (OperationKind::Confirm, Some(_)) => {}
            _ => return false,
        }
        let legal = (self.legal)(self.bound, &holds);
        if legal {
            self.holds = holds;
            if let OperationKind::Acquire { token, .. } = action {
                // Its holder gets the token that it has.
                self.token += u64::from(!(self.again && ours.is_some()));
                *token = self.tokens.then_some(self.token.into());
            }
        }
        legal
    }
}

/// An operation that is under way.
struct Pending {
    id: usize,
    done: bool,
}

/// A history of so many events.
pub(crate) fn history(
    mut toy: Toy,
    manner: Behaviour,
    events: u64,
    rng: &mut Rng,
) -> Vec<Operation> {
    let wild = manner == Behaviour::Wild;
    let mut operations: Vec<Operation> = Vec::new();
    let mut pending: Vec<Pending> = Vec::new();
    let mut processes: Vec<u32> = (0..2 + rng.below(5) as u32).collect();
    let mut claims = vec![0usize; 1000];
    let honest = if rng.chance(0.3) { 1.0 } else { 0.4 };
    for place in 0..events {
        // Open operations take place now and then, in any order.
        for open in &mut pending {
            if !open.done && rng.chance(0.5) {
                let operation = &mut operations[open.id];
                open.done = toy.play(operation.process, &mut operation.action);
            }
        }
        let client = rng.below(processes.len() as u64) as usize;
        let process = processes[client];
        let busy = pending.iter().any(|open| operations[open.id].process == process);
        if pending.is_empty() || rng.chance(0.5) {
            let claims = &mut claims[process as usize];
            let Some(action) = toy.wish(*claims, wild, rng) else { continue };
            if busy && !(wild && rng.chance(0.3)) {
                continue;
            }
            if matches!(action, OperationKind::Release { .. }) {
                *claims = claims.saturating_sub(1);
            }
            pending.push(Pending { id: operations.len(), done: false });
            let (invoke, ended) = (place, Ended::Info);
            operations.push(Operation { process, key: 0, invoke, answer: None, ended, action });
        } else {
            let open = pending.swap_remove(rng.below(pending.len() as u64) as usize);
            let operation = &mut operations[open.id];
            operation.answer = Some(place);
            operation.ended = answer(open.done, honest, manner, rng);
            match operation.ended {
                Ended::Ok if matches!(operation.action, OperationKind::Acquire { .. }) => {
                    claims[operation.process as usize] += 1;
                }
                Ended::Info if matches!(operation.action, OperationKind::Acquire { .. }) => {
                    let counts_on_it = manner == Behaviour::Stubborn && rng.chance(0.8);
                    claims[operation.process as usize] += usize::from(counts_on_it);
                }
                _ => {}
            }
            if operation.ended == Ended::Ok && (!open.done || !rng.chance(0.8 + honest / 5.0)) {
                toy.lie(&mut operation.action, rng);
            }
            if operation.ended == Ended::Info {
                forget(&mut operation.action);
                let gone = processes.iter().position(|process| *process == operation.process);
                if let Some(client) = gone.filter(|_| manner == Behaviour::Tame) {
                    processes[client] += 10;
                }
            }
        }
    }
    pending.iter().for_each(|open| forget(&mut operations[open.id].action));
    operations
}

/// A long history without a lie: so many processes take a lock and free it in turn, and of their
/// operations one in `doubt` ends with an unknown outcome. They go on under the same number.
pub(crate) fn honest(
    mut toy: Toy,
    processes: u32,
    operations: usize,
    doubt: u64,
    rng: &mut Rng,
) -> Vec<Operation> {
    let mut all: Vec<Operation> = Vec::new();
    let mut pending: Vec<Pending> = Vec::new();
    let mut holds = vec![false; processes as usize];
    // One that waits for the lock is looked at often.
    let waits_in_doubt = |rng: &mut Rng| rng.below(16 * doubt) == 0;
    let mut place = 0;
    while all.len() < operations {
        place += 1;
        let process = rng.below(processes.into()) as u32;
        let claims = &mut holds[process as usize];
        let Some(at) = pending.iter().position(|open| all[open.id].process == process) else {
            let mode = if rng.chance(0.6) { Mode::Shared } else { Mode::Exclusive };
            let action = match *claims {
                true => OperationKind::Release { mode: None, permits: 1 },
                false => OperationKind::acquire(mode),
            };
            pending.push(Pending { id: all.len(), done: false });
            let (invoke, ended) = (place, Ended::Info);
            all.push(Operation { process, key: 0, invoke, answer: None, ended, action });
            continue;
        };
        let Pending { id, done } = &mut pending[at];
        let operation = &mut all[*id];
        if !*done && !waits_in_doubt(rng) {
            *done = toy.play(process, &mut operation.action);
            let is_free = matches!(operation.action, OperationKind::Release { .. });
            // To take again what it already holds, or to free what it does not, fails.
            if !*done && (is_free || toy.is_held_by(process)) {
                operation.ended = Ended::Fail;
            } else {
                continue;
            }
        }
        match *done && rng.below(doubt) > 0 {
            true => operation.ended = Ended::Ok,
            false => forget(&mut operation.action),
        }
        operation.answer = Some(place);
        *claims = toy.is_held_by(process);
        pending.swap_remove(at);
    }
    pending.iter().for_each(|open| forget(&mut all[open.id].action));
    all
}

fn answer(done: bool, honest: f64, manner: Behaviour, rng: &mut Rng) -> Ended {
    let likely = if done { Ended::Ok } else { Ended::Fail };
    let doubt = if manner == Behaviour::Stubborn { 0.35 } else { 0.15 };
    if rng.chance(doubt) {
        Ended::Info
    } else if rng.chance(honest) {
        likely
    } else {
        Ended::Ok
    }
}

/// Removes what an operation of unknown outcome gave: nobody learned it.
fn forget(action: &mut OperationKind) {
    match action {
        OperationKind::Acquire { token, .. } => *token = None,
        OperationKind::Read { value } => *value = None,
        OperationKind::Members { values } => *values = None,
        _ => {}
    }
}
