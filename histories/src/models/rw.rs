//! `rw`: a read/write lock that knows its holders: one exclusive one alone, or any number of shared
//! ones. A holder can upgrade, when it is the only one, and downgrade, without letting go.
//!
//! `fenced`: the same with fencing tokens: each grant's token is greater than that of every grant
//! before it. A grant that brought no token is under no such rule; for `rw` none brings one.
//!
//! The step of these models, and what is proved about steps here, serve every lock that knows its
//! holders (`reentrant`, `rw:reentrant`).

use super::{Around, BeforeGoal, Between, Model, ModelSpec, is_shared_lock};
use crate::line_sweep::{Rule, strict::StrictLock};
use crate::operation::{Operation, OperationKind, Token};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use base::Mode;
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

pub(super) const RW: ModelSpec = ModelSpec {
    name: "rw",
    bound: None,
    summary: "one writer or many readers, with upgrade and downgrade",
    reentrant: Some("rw:reentrant"),
    lock: Some(|_| StrictLock { rule: Rule::ReadWrite, fenced: false }),
    takes: is_shared_lock,
    search: |_, operations, meter| search(&Rw { fenced: false }, operations, meter),
    line: |_, operations, wanted, meter| line(&Rw { fenced: false }, operations, wanted, meter),
};

pub(super) const FENCED: ModelSpec = ModelSpec {
    name: "fenced",
    summary: "`rw` whose tokens grow with every grant",
    reentrant: Some("fenced:reentrant"),
    lock: Some(|_| StrictLock { rule: Rule::ReadWrite, fenced: true }),
    search: |_, operations, meter| search(&Rw { fenced: true }, operations, meter),
    line: |_, operations, wanted, meter| line(&Rw { fenced: true }, operations, wanted, meter),
    ..RW
};

pub(crate) struct Rw {
    /// Grants bring tokens, which are compared.
    pub fenced: bool,
}

/// A step of one process on a lock that knows its holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HolderStep {
    pub process: u32,
    pub does: Does,
    /// Its process never wants the lock for itself alone.
    reader: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Does {
    Take(Mode, Option<Token>),
    Convert(Mode),
    /// Frees the latest hold, or the latest of a mode.
    Free(Option<Mode>),
    Confirm,
}

impl HolderStep {
    pub(super) fn of(operation: &&Operation) -> Self {
        let does = match operation.action {
            OperationKind::Acquire { mode, token, .. } => Does::Take(mode, token),
            OperationKind::Convert { mode } => Does::Convert(mode),
            OperationKind::Release { .. } => Does::Free(None),
            _ => Does::Confirm,
        };
        Self { process: operation.process, does, reader: false }
    }

    /// The steps of a lock that has readers.
    pub(super) fn with_readers(operations: &[&Operation]) -> Vec<Self> {
        let steps = || operations.iter().map(Self::of);
        let alone = |step: &Self| {
            matches!(step.does, Does::Take(Mode::Exclusive, _) | Does::Convert(Mode::Exclusive))
        };
        let writers: HashSet<u32, FxBuildHasher> =
            steps().filter(alone).map(|step| step.process).collect();
        steps().map(|step| Self { reader: !writers.contains(&step.process), ..step }).collect()
    }

    /// Returns true if it takes more of the lock. Between steps of other processes it may always be
    /// taken later: to be legal next to it, a step of another process must be legal without it.
    pub(super) fn takes_more(&self) -> bool {
        matches!(self.does, Does::Take(..) | Does::Convert(Mode::Exclusive))
    }

    /// [`Model::passes`] of a lock without tokens, for steps of two processes. What takes more may
    /// be taken later. And two that take no more may change places: each is legal if its process
    /// holds the lock, which the other's step does not touch; and where both hold it, both are
    /// readers, whom a downgrade does not change. A reader may also come before another leaves. To
    /// confirm a hold takes no more than that the process holds the lock.
    pub(super) fn passes(&self, later: &Self) -> bool {
        let enters = self.reader && matches!(later.does, Does::Take(Mode::Shared, _));
        (self.takes_more() || !later.takes_more() || enters) && self.process != later.process
    }

    /// Returns true if steps of one process lead from some holds to others, each an `[exclusive,
    /// shared]` count. First it frees, then it takes: so it never holds more than at one of the
    /// ends, and whatever it frees it has at first.
    fn becomes(process: u32, from: [u32; 2], to: [u32; 2], between: Between<'_, Self>) -> bool {
        let (mut freed, mut held) = (0, from);
        for step in between.steps.iter().filter(|step| step.process == process) {
            match step.does {
                Does::Take(Mode::Exclusive, _) => held[0] += 1,
                Does::Take(Mode::Shared, _) => held[1] += 1,
                Does::Free(_) => freed += 1,
                Does::Confirm if from == [0, 0] => return false,
                Does::Confirm => {}
                Does::Convert(_) => return false,
            }
        }
        let left = |does| {
            let step = |reader| Self { process, does, reader };
            (between.left)(&step(true)) + (between.left)(&step(false))
        };
        let mut excess = 0;
        for (at, mode) in [Mode::Exclusive, Mode::Shared].into_iter().enumerate() {
            let (over, lack) = (held[at].saturating_sub(to[at]), to[at].saturating_sub(held[at]));
            if over > from[at] || lack > 0 && left(Does::Take(mode, None)) < lack {
                return false;
            }
            excess += over;
        }
        freed <= excess && (freed == excess || left(Does::Free(None)) >= excess - freed)
    }

    /// [`Model::is_of_use`], where a process can hold the lock more than once or not. `held` is the
    /// modes that the process of the step holds.
    ///
    /// To take the lock is of use where the process has no hold and frees one before the goal,
    /// which then is this one; one of the two must be certain, or neither is needed. Where it has a
    /// hold, it can free that, and take the lock behind the goal. To free the lock is of use where
    /// the hold is in the way of somebody who takes it, which is the goal or comes before it.
    pub(super) fn is_of_use<'a>(
        before: BeforeGoal<'a, Self>,
        held: &[Mode],
        goal: &Self,
        left: impl Iterator<Item = BeforeGoal<'a, Self>> + Clone,
    ) -> bool {
        let BeforeGoal { step, optional } = before;
        let mut all = left.clone().map(|it| it.step).chain([goal]);
        let ours = |other: &Self| other.process == step.process;
        if all.clone().any(|it| ours(it) && matches!(it.does, Does::Convert(_))) {
            return true;
        }
        match step.does {
            Does::Take(..) if all.any(|it| step.has_less_token(it)) => true,
            Does::Take(..) => {
                let frees = |it: &BeforeGoal<'_, Self>| {
                    ours(it.step) && !it.step.takes_more() && !(optional && it.optional)
                };
                held.is_empty()
                    && (ours(goal) && !goal.takes_more() || left.clone().any(|it| frees(&it)))
            }
            Does::Free(_) => all.any(|it| match it.does {
                Does::Take(mode, _) | Does::Convert(mode) => {
                    held.iter().any(|held| held.excludes(mode))
                }
                Does::Free(_) | Does::Confirm => false,
            }),
            Does::Convert(_) | Does::Confirm => true,
        }
    }

    /// [`Model::is_forced`]: a hold that is in the way of the goal has to end before it, and what
    /// its process does before that it can do behind it as well.
    pub(super) fn is_forced<'a>(
        &self,
        held: &[Mode],
        goal: &Self,
        left: impl Iterator<Item = BeforeGoal<'a, Self>> + Clone,
    ) -> bool {
        let (Does::Free(_), Does::Take(mode, _) | Does::Convert(mode)) = (self.does, goal.does)
        else {
            return false;
        };
        let in_the_way =
            goal.process != self.process && held.iter().any(|held| held.excludes(mode));
        let mut ours = left.map(|it| it.step).filter(|it| it.process == self.process);
        let as_well = |step: &Self| matches!(step.does, Does::Free(_) | Does::Take(..));
        in_the_way && ours.all(as_well)
    }

    /// The token of a grant.
    pub(super) fn token(&self) -> Option<Token> {
        match self.does {
            Does::Take(_, token) => token,
            _ => None,
        }
    }

    /// Returns true if both are grants with tokens, and this one's is the smaller.
    pub(super) fn has_less_token(&self, later: &Self) -> bool {
        self.token().zip(later.token()).is_some_and(|(ours, theirs)| ours < theirs)
    }

    /// [`Model::eager`]: to hold less leaves more to all others, and the process itself does
    /// nothing else in the meantime. To confirm a hold changes nothing.
    ///
    /// A release may also come before takes and releases in doubt of its own process. Put it in
    /// front of a line on which it comes later: until the first release that then finds no hold,
    /// the process holds one less than before. If that is the same release, it is not needed there.
    /// If it is one in doubt, leave it out, and let it come where the certain one came.
    pub(super) fn eager(&self, alone: bool, steady: bool) -> bool {
        match self.does {
            Does::Confirm => true,
            Does::Free(_) => alone || steady,
            _ => alone && !self.takes_more(),
        }
    }

    /// [`Model::disturbs`]: for a release, only what is neither a take nor a release does.
    pub(super) fn disturbs(&self) -> bool {
        !matches!(self.does, Does::Take(..) | Does::Free(_))
    }

    /// [`Model::idle`]: to confirm a hold is of use to nobody. And a take or an upgrade in doubt
    /// whose process does nothing for certain after it. Take a line that is legal, and the first
    /// such step of a process on it. All steps of the process behind it are in doubt as well. Leave
    /// it out, and of those behind it all that take more, and each release that only gives back
    /// what is left out: one that does not bring the holds of the process below the fewest that
    /// they have been since the step. Then the process holds at each place that fewest number, so
    /// never more than before, and exclusively only where it did so before; what is left of its
    /// steps is legal, since such a release finds a hold, and so are the steps of all others, whom
    /// less is in the way. Tokens forbid no less on a line with fewer grants. So the step is of no
    /// use, one process after the other.
    pub(super) fn idle(&self, last: bool) -> bool {
        self.does == Does::Confirm || self.takes_more() && last
    }
}

/// The holders of the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LockHolders {
    writer: Option<u32>,
    /// The readers, in order; a process that holds it twice is in it twice.
    readers: SmallVec<[u32; 4]>,
}

impl LockHolders {
    pub(super) fn apply(&self, step: &HolderStep) -> Option<Self> {
        let mut next = self.clone();
        match step.does {
            Does::Take(mode, _) => next.take(step.process, mode)?,
            Does::Free(_) => next.free(step.process)?,
            Does::Confirm if !next.holds(step.process) => return None,
            Does::Confirm => {}
            Does::Convert(mode) => {
                next.free(step.process)?;
                next.take(step.process, mode)?;
            }
        }
        Some(next)
    }

    fn take(&mut self, process: u32, mode: Mode) -> Option<()> {
        match mode {
            _ if self.writer.is_some() => return None,
            Mode::Exclusive if !self.readers.is_empty() => return None,
            Mode::Exclusive => self.writer = Some(process),
            Mode::Shared => {
                let place = self.readers.partition_point(|reader| *reader < process);
                self.readers.insert(place, process);
            }
        }
        Some(())
    }

    fn free(&mut self, process: u32) -> Option<()> {
        if self.writer == Some(process) {
            self.writer = None;
        } else {
            let place = self.readers.binary_search(&process).ok()?;
            self.readers.remove(place);
        }
        Some(())
    }

    /// [`Model::becomes`], where tokens do not matter: all frees come before all takes, and so
    /// every state between the two is a part of one of them.
    pub(super) fn becomes(&self, to: &Self, between: Between<'_, HolderStep>) -> bool {
        let holders = |it: &Self| it.writer.into_iter().chain(it.readers.clone());
        let mut all: SmallVec<[u32; 8]> = holders(self).chain(holders(to)).collect();
        all.extend(between.steps.iter().map(|step| step.process));
        all.sort_unstable();
        all.dedup();
        all.into_iter().all(|process| {
            HolderStep::becomes(process, self.count(process), to.count(process), between)
        })
    }

    /// The modes in which a process holds it.
    pub(super) fn modes(&self, process: u32) -> SmallVec<[Mode; 2]> {
        let [exclusive, shared] = self.count(process);
        let held = [(exclusive, Mode::Exclusive), (shared, Mode::Shared)];
        held.into_iter().filter(|(count, _)| *count > 0).map(|(_, mode)| mode).collect()
    }

    /// The number of holds of a process: exclusive and shared.
    fn count(&self, process: u32) -> [u32; 2] {
        let from = self.readers.partition_point(|reader| *reader < process);
        let until = self.readers.partition_point(|reader| *reader <= process);
        [u32::from(self.writer == Some(process)), (until - from) as u32]
    }

    fn holds(&self, process: u32) -> bool {
        self.count(process) != [0, 0]
    }

    /// Returns the bytes outside of the state itself: see [`Model::heap`].
    pub(super) fn heap(&self) -> usize {
        self.readers.len() * size_of::<u32>()
    }

    pub(super) fn describe(&self) -> ModelState {
        match (self.writer, self.readers.as_slice()) {
            (Some(writer), _) => {
                ModelState::HeldBy { mode: Mode::Exclusive, processes: vec![writer] }
            }
            (None, []) => ModelState::Free,
            (None, readers) => {
                ModelState::HeldBy { mode: Mode::Shared, processes: readers.to_vec() }
            }
        }
    }
}

impl Model for Rw {
    /// The holder, and the greatest token so far.
    type State = (LockHolders, Option<Token>);
    type Step = HolderStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<HolderStep>, SpentBudget> {
        let mut steps = HolderStep::with_readers(operations);
        for step in steps.iter_mut().filter(|_| !self.fenced) {
            if let Does::Take(_, token) = &mut step.does {
                *token = None;
            }
        }
        Ok(steps)
    }

    fn initial(&self) -> Self::State {
        Self::State::default()
    }

    fn apply(&self, (held, mark): &Self::State, step: &HolderStep) -> Option<Self::State> {
        let mark = match step.does {
            Does::Take(_, Some(token)) if mark.is_some_and(|mark| token <= mark) => return None,
            Does::Take(_, Some(token)) => Some(token),
            _ => *mark,
        };
        Some((held.apply(step)?, mark))
    }

    /// Decides as without tokens; but a grant cannot be put behind one with a greater token.
    fn passes(&self, earlier: &HolderStep, later: &HolderStep, _optional: bool) -> bool {
        earlier.passes(later) && !earlier.has_less_token(later)
    }

    fn eager<'a>(
        &self,
        _: &Self::State,
        step: &HolderStep,
        around: Around<'a, HolderStep, impl Iterator<Item = &'a HolderStep>>,
    ) -> bool {
        step.eager(around.alone, around.steady)
    }

    fn disturbs(&self, step: &HolderStep) -> bool {
        step.disturbs()
    }

    fn idle(&self, step: &HolderStep, last: bool) -> bool {
        step.idle(last)
    }

    fn is_of_use<'a>(
        &self,
        (held, _): &Self::State,
        step: BeforeGoal<'a, HolderStep>,
        goal: &HolderStep,
        left: impl Iterator<Item = BeforeGoal<'a, HolderStep>> + Clone,
    ) -> bool {
        HolderStep::is_of_use(step, &held.modes(step.step.process), goal, left)
    }

    fn is_forced<'a>(
        &self,
        (held, _): &Self::State,
        step: &HolderStep,
        goal: &HolderStep,
        left: impl Iterator<Item = BeforeGoal<'a, HolderStep>> + Clone,
    ) -> bool {
        step.is_forced(&held.modes(step.process), goal, left)
    }

    fn relates(&self) -> bool {
        true
    }

    fn becomes(
        &self,
        (from, mark): &Self::State,
        (to, reached): &Self::State,
        between: Between<'_, HolderStep>,
    ) -> bool {
        let tokens = between.steps.iter().filter_map(|step| step.token());
        // Those that are missing must still be legal.
        let rises = tokens.clone().all(|token| mark.is_none_or(|mark| mark < token));
        rises && tokens.max().or(*mark) == *reached && from.becomes(to, between)
    }

    fn turn(&self, step: &HolderStep) -> Option<Token> {
        step.token()
    }

    fn heap((held, _): &Self::State) -> usize {
        held.heap()
    }

    fn describe(&self, (held, mark): &Self::State) -> ModelState {
        held.describe().fenced(*mark)
    }
}
