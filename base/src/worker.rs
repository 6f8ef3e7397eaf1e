//! The worker machine: what a worker does in its turn, as a pure function of the responses to it.
//!
//! It has no clock and no recorder. The drive loop puts its requests at the times of a run, the
//! exhaustive search takes them in every order; both interpret the steps of a task by it alone.

use crate::{Acquire, Command, F, HOLDS, Key, Kind, Mode, Step, Wait, Walk};
use std::hash::Hash;

/// A request that a worker makes, and the operation that its event records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerRequest {
    /// Its kind: an acquire, a conversion, an extension, the question whether it still holds the
    /// lock, a release, or a read or a write of what the lock guards.
    pub f: F,
    /// The number of the grant.
    pub hold: usize,
    /// The mode that it asks for, or in which the lock is held.
    pub mode: Mode,
    /// The number of permits that an acquire asks for.
    pub permits: u32,
    /// The longest time that an acquire waits, or an answer counts.
    pub wait: Wait,
    /// True for the read of a shared holder in place of a write.
    pub again: bool,
    /// The part of the turn's hold after which it is cancelled, if it has not ended by then.
    pub cancel: Option<u32>,
}

impl WorkerRequest {
    /// Returns the number of permits that it asks for, if it is an acquire of several.
    pub fn several(&self) -> Option<u64> {
        (self.f == F::Acquire && self.permits != 1).then_some(self.permits.into())
    }
}

/// The next step of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStep {
    /// Its turn is over.
    End,
    /// It works for this part of the turn's hold: 2 is a half.
    Work(u32),
    /// It makes this request, and waits for its end.
    Request(WorkerRequest),
}

/// A grant of a worker's turn, or what it asks for in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerGrant {
    /// The number of the key.
    pub key: u32,
    /// The mode in which it is held.
    pub mode: Mode,
    /// The fencing token, where the lock has any.
    pub token: Option<u64>,
    /// The value that was read or written last; 0 before.
    pub value: u64,
    /// True once the client has reported that it may have lost the lock.
    pub lost: bool,
}

impl WorkerGrant {
    const fn of(key: u32, mode: Mode) -> Self {
        Self { key, mode, token: None, value: 0, lost: false }
    }
}

/// A worker in its turn.
#[derive(Clone, Debug)]
pub struct WorkerMachine {
    walk: Walk,
    /// The number of keys.
    keys: u32,
    /// The key, the mode and the permits of the turn.
    turn: (u32, Mode, u32),
    grants: [WorkerGrant; HOLDS],
    open: Option<WorkerRequest>,
}

impl WorkerMachine {
    /// Makes a worker between two turns, the next of which may be about this key of so many.
    pub fn new(keys: u32, key: u32, mode: Mode) -> Self {
        let key = key % keys;
        let grants = [WorkerGrant::of(key, mode); HOLDS];
        Self { walk: Walk::new(&[]), keys, turn: (key, mode, 1), grants, open: None }
    }

    /// Begins a turn by this script, about this key.
    pub fn begin(&mut self, script: &'static [Step], key: u32, mode: Mode) {
        *self = Self { walk: Walk::new(script), ..Self::new(self.keys, key, mode) };
    }

    /// Has the acquires of the turn ask for so many permits each.
    pub const fn take_permits(&mut self, permits: u32) {
        self.turn.2 = permits;
    }

    /// Takes the next step of the turn.
    pub fn step(&mut self) -> WorkerStep {
        let mut cancel = None;
        loop {
            let Some(step) = self.walk.step() else { return WorkerStep::End };
            let (f, hold, mode, wait) = match step {
                Step::Work(part) => return WorkerStep::Work(part),
                Step::Cancel(part) => {
                    cancel = Some(part);
                    continue;
                }
                Step::Convert(hold, mode) if self.grants[hold].mode == mode => continue,
                Step::Convert(hold, mode) => (F::Convert, hold, mode, Wait::Long),
                Step::Acquire { hold, key, wait } => {
                    let (first, mode, _) = self.turn;
                    self.grants[hold] = WorkerGrant::of((first + key) % self.keys, mode);
                    (F::Acquire, hold, mode, wait)
                }
                Step::Write(hold) if self.grants[hold].mode == Mode::Exclusive => {
                    (F::Write, hold, Mode::Exclusive, Wait::Long)
                }
                Step::Read(hold) | Step::Write(hold) => {
                    (F::Read, hold, self.grants[hold].mode, Wait::Long)
                }
                Step::Extend(hold) => (F::Extend, hold, self.grants[hold].mode, Wait::Long),
                Step::Ask(hold) => (F::Valid, hold, self.grants[hold].mode, Wait::Short),
                Step::Release(hold) => {
                    self.walk.ended(hold);
                    (F::Release, hold, self.grants[hold].mode, Wait::Long)
                }
            };
            let again = f == F::Read && matches!(step, Step::Write(_));
            let permits = self.turn.2;
            let operation = WorkerRequest { f, hold, mode, permits, wait, again, cancel };
            self.open = Some(operation);
            return WorkerStep::Request(operation);
        }
    }

    /// Returns the next step of the script as it stands.
    pub fn peek(&self) -> Option<Step> {
        self.walk.peek()
    }

    /// Returns the operation that has not ended yet.
    pub const fn open(&self) -> Option<WorkerRequest> {
        self.open
    }

    /// Returns the command for the client with which an operation begins. `key` is the name of its
    /// key; an acquire waits for so many nanoseconds at most, and so long an answer counts.
    pub fn command(operation: WorkerRequest, key: Key, wait_ns: u64) -> Command {
        let WorkerRequest { f, hold, mode, permits, .. } = operation;
        match f {
            F::Acquire => {
                let acquire_timeout_ns = wait_ns;
                Command::Acquire(Box::new(Acquire { key, hold, mode, permits, acquire_timeout_ns }))
            }
            F::Convert => Command::Convert { hold, mode },
            F::Extend => Command::Extend { hold },
            F::Valid => Command::Held { hold, within_ns: wait_ns },
            F::Release => Command::Release { hold },
            _ => Command::Touch { hold },
        }
    }

    /// Returns the value that an operation writes; `None` if it does not write.
    pub fn to_write(&self, operation: WorkerRequest) -> Option<u64> {
        (operation.f == F::Write).then(|| self.grants[operation.hold].value + 1)
    }

    /// Ends the open request. `given` is the token of a grant, or the value that an access has read
    /// or written. After an access that is not served, and a conversion that is refused, the worker
    /// only releases what is held. After a doubt of any other kind it is to be replaced.
    pub fn ended(&mut self, kind: Kind, given: Option<u64>) {
        let Some(WorkerRequest { f, hold, mode, .. }) = self.open.take() else { return };
        let grant = &mut self.grants[hold];
        match (f, kind) {
            (F::Acquire, Kind::Ok) => {
                grant.token = given;
                self.walk.granted(hold);
            }
            (F::Acquire, Kind::Fail) => self.walk.refused(),
            (F::Convert, Kind::Ok) => (grant.token, grant.mode) = (given.or(grant.token), mode),
            (F::Convert, Kind::Fail) => self.walk.retreat(),
            (F::Extend, Kind::Ok) => grant.token = given.or(grant.token),
            (F::Read | F::Write, Kind::Ok) => grant.value = given.unwrap_or(grant.value),
            (F::Read | F::Write, _) => self.walk.retreat(),
            _ => {}
        }
    }

    /// Notes that the grants of a key may be gone; `is_key` recognises its number. Returns the
    /// first grant of which that is new.
    pub fn lost(&mut self, is_key: impl Fn(u32) -> bool) -> Option<usize> {
        let held = self.walk.held();
        let mut first = None;
        for (hold, grant) in self.grants.iter_mut().enumerate() {
            if held[hold] && !grant.lost && is_key(grant.key) {
                grant.lost = true;
                first = first.or(Some(hold));
            }
        }
        if first.is_some() {
            self.walk.retreat();
        }
        first
    }

    /// Forgets the turn, as the process of the worker is gone. The key and the mode stay known.
    pub fn forget(&mut self) {
        (self.walk, self.open) = (Walk::new(&[]), None);
        for grant in &mut self.grants {
            *grant = WorkerGrant::of(grant.key, grant.mode);
        }
    }

    /// Returns a grant, whether it is held or not.
    pub const fn grant(&self, hold: usize) -> &WorkerGrant {
        &self.grants[hold]
    }

    /// Returns the numbers of the grants that are held.
    pub fn held(&self) -> impl Iterator<Item = usize> + use<> {
        let held = self.walk.held();
        (0..HOLDS).filter(move |hold| held[*hold])
    }

    /// Returns all that distinguishes the states of a worker in the same turn.
    pub fn place(&self) -> impl Hash + use<> {
        let held = self.walk.held();
        let grants: [_; HOLDS] = std::array::from_fn(|hold| {
            let grant = self.grants[hold];
            let known = held[hold].then_some((grant.token, grant.value, grant.lost));
            (grant.key, grant.mode, known)
        });
        (self.walk.place(), self.open.map(|open| (open.f, open.hold, open.mode)), grants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: u32 = 3;

    fn worker(script: &'static [Step], mode: Mode) -> WorkerMachine {
        let mut worker = WorkerMachine::new(KEYS, 0, Mode::Exclusive);
        worker.begin(script, 5, mode);
        worker
    }

    /// Takes a step, which has to be a request.
    fn requested(worker: &mut WorkerMachine) -> WorkerRequest {
        match worker.step() {
            WorkerStep::Request(operation) => operation,
            other => panic!("{other:?} is no request"),
        }
    }

    /// Takes steps until the turn is over, each of which ends in this way.
    fn played(worker: &mut WorkerMachine, kind: Kind, given: Option<u64>) -> Vec<F> {
        let mut done = Vec::new();
        loop {
            match worker.step() {
                WorkerStep::End => return done,
                WorkerStep::Work(_) => {}
                WorkerStep::Request(operation) => {
                    done.push(operation.f);
                    worker.ended(kind, given);
                }
            }
        }
    }

    const NEXT_KEY: &[Step] = &[
        Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
        Step::Acquire { hold: 1, key: 2, wait: Wait::Try },
        Step::Write(1),
        Step::Convert(1, Mode::Shared),
        Step::Write(1),
        Step::Release(1),
        Step::Release(0),
    ];

    #[test]
    fn a_turn_asks_for_the_key_so_many_after_its_own() {
        let mut worker = worker(NEXT_KEY, Mode::Exclusive);
        assert_eq!(requested(&mut worker).wait, Wait::Long);
        worker.ended(Kind::Ok, Some(7));
        assert_eq!((worker.grant(0).key, worker.grant(0).token), (2, Some(7)));
        assert_eq!(requested(&mut worker).wait, Wait::Try);
        assert_eq!(worker.grant(1).key, 1);
        assert_eq!(worker.held().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_write_adds_one_to_what_was_read_and_a_shared_holder_reads_instead() {
        let mut worker = worker(NEXT_KEY, Mode::Exclusive);
        for given in [1, 2] {
            requested(&mut worker);
            worker.ended(Kind::Ok, Some(given));
        }
        let write = requested(&mut worker);
        assert_eq!((write.f, worker.to_write(write)), (F::Write, Some(1)));
        worker.ended(Kind::Ok, Some(1));
        assert_eq!(requested(&mut worker).mode, Mode::Shared);
        worker.ended(Kind::Ok, None);
        assert_eq!((worker.grant(1).mode, worker.grant(1).token), (Mode::Shared, Some(2)));
        let read = requested(&mut worker);
        assert_eq!((read.f, read.again, worker.to_write(read)), (F::Read, true, None));
    }

    #[test]
    fn a_shared_holder_has_nothing_to_convert() {
        let done = played(&mut worker(NEXT_KEY, Mode::Shared), Kind::Ok, Some(1));
        let acquires = [F::Acquire, F::Acquire];
        assert_eq!(done, [&acquires[..], &[F::Read, F::Read, F::Release, F::Release]].concat());
    }

    #[test]
    fn an_access_that_is_not_served_leaves_only_the_releases() {
        let mut worker = worker(NEXT_KEY, Mode::Exclusive);
        for kind in [Kind::Ok, Kind::Ok, Kind::Fail] {
            requested(&mut worker);
            worker.ended(kind, None);
        }
        assert_eq!(played(&mut worker, Kind::Ok, None), [F::Release, F::Release]);
    }

    #[test]
    fn a_loss_is_noted_once_and_for_its_key_alone() {
        let mut worker = worker(NEXT_KEY, Mode::Exclusive);
        for given in [1, 2] {
            requested(&mut worker);
            worker.ended(Kind::Ok, Some(given));
        }
        assert_eq!(worker.lost(|key| key == 0), None);
        assert_eq!(worker.lost(|key| key == 1), Some(1));
        assert_eq!(worker.lost(|key| key == 1), None);
        assert_eq!((worker.grant(0).lost, worker.grant(1).lost), (false, true));
        assert_eq!(played(&mut worker, Kind::Ok, None), [F::Release, F::Release]);
    }

    #[test]
    fn a_worker_whose_process_is_gone_holds_nothing() {
        let mut worker = worker(NEXT_KEY, Mode::Shared);
        requested(&mut worker);
        worker.ended(Kind::Ok, Some(1));
        worker.forget();
        assert_eq!(
            (worker.held().count(), worker.open(), worker.step()),
            (0, None, WorkerStep::End)
        );
        assert_eq!((worker.grant(0).key, worker.grant(0).token), (2, None));
    }
}
