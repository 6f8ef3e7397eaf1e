//! Carries configurations from answer to answer.

use super::config::{Config, Frontier};
use super::meter::{Meter, SpentBudget};
use super::open::{Candidate, OpenOperations, Timeline};
use crate::models::{Around, BeforeGoal, Between, Model};
use crate::state::ModelState;

/// The number of the furthest states that are reported.
const STATES: usize = 4;

/// The number of candidates that can be looked at in the time of a step.
const GLANCES: usize = 16;

/// No line goes on.
pub(super) struct Dead {
    pub(super) stuck: usize,
    pub(super) concurrent: Vec<usize>,
    pub(super) states: Vec<ModelState>,
}

pub(super) struct LineSearch<'a, M: Model> {
    model: &'a M,
    steps: &'a [M::Step],
    open: OpenOperations<'a, M>,
}

/// The step that must be on the line now, and those that a line may have to take before it.
struct Goal<'a, Step> {
    slot: usize,
    step: &'a Step,
    before: &'a [Candidate],
}

/// The configurations that those of one answer lead to. All of it is empty between two answers, and
/// kept for its room.
struct Reached<S> {
    /// The configurations that have the goal.
    next: Frontier<S>,
    /// The configurations on the way to it that need not be gone through again.
    seen: Frontier<S>,
    /// The configurations among them that are to be carried on.
    work: Vec<Config<S>>,
}

impl<'a, M: Model> LineSearch<'a, M> {
    pub(super) fn of(model: &'a M, steps: &'a [M::Step], open: OpenOperations<'a, M>) -> Self {
        Self { model, steps, open }
    }

    pub(super) fn run(
        mut self,
        timeline: &Timeline,
        meter: &mut Meter<'_, '_>,
    ) -> Result<Result<(), Dead>, SpentBudget> {
        let frontier = || Frontier::new(self.model.fewer(self.steps), M::heap);
        let mut reached = Reached { next: frontier(), seen: frontier(), work: Vec::new() };
        let mut configs = vec![Config::new(self.model.initial())];
        let mut bytes = 0;
        let (mut before, mut rest) = (Vec::new(), Vec::new());
        for event in &timeline.events {
            meter.tick()?;
            let Some(slot) = self.open.step(event) else { continue };
            let step = &self.steps[event.operation()];
            let mut looked = false;
            for config in &configs {
                meter.handle(M::heap(&config.state))?;
                let goal = Goal { slot, step, before: &[] };
                if self.at_once(config, &goal, &mut reached.next, meter)? {
                    continue;
                }
                if !std::mem::replace(&mut looked, true) {
                    self.relevant(slot, step, &mut before, &mut rest, meter)?;
                }
                self.answer(config, &Goal { before: &before, ..goal }, &mut reached, meter)?;
            }
            reached.seen.clear(meter);
            if reached.next.is_empty() {
                return Ok(Err(self.dead(event.operation(), &configs)));
            }
            self.open.close(slot);
            reached.next.drain_into(&mut configs, &mut bytes, meter);
            self.drop_hasty(&mut configs, meter)?;
        }
        Ok(Ok(()))
    }

    /// Drops each configuration that another one can still become.
    fn drop_hasty(
        &self,
        configs: &mut Vec<Config<M::State>>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), SpentBudget> {
        if configs.len() < 2 || !self.model.relates() {
            return Ok(());
        }
        configs.sort_by_key(|config| config.way.len());
        let mut kept: Vec<Config<M::State>> = Vec::with_capacity(configs.len());
        for config in configs.drain(..) {
            meter.work(kept.len() / GLANCES)?;
            if !kept.iter().any(|known| self.becomes(known, &config)) {
                kept.push(config);
            }
        }
        *configs = kept;
        Ok(())
    }

    /// Returns true if the first can become the second: by the steps that are on this one only, of
    /// which optional ones may be left out.
    fn becomes(&self, first: &Config<M::State>, second: &Config<M::State>) -> bool {
        let (less, more) = (&first.way, &second.way);
        if !less.is_part_of(more) {
            return false;
        }
        let steps = self.open.ahead(less, more);
        let left = |step: &M::Step| self.open.left(step, less, more);
        self.model.becomes(&first.state, &second.state, Between { steps: &steps, left: &left })
    }

    /// Finds the open operations that a line may have to take before the goal. `rest` is room to
    /// work in.
    fn relevant(
        &self,
        slot: usize,
        goal: &M::Step,
        chosen: &mut Vec<Candidate>,
        rest: &mut Vec<Candidate>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), SpentBudget> {
        chosen.clear();
        rest.clear();
        rest.extend(self.open.candidates().filter(|candidate| {
            *candidate != Candidate::Slot(slot) && self.open.step_of(*candidate) != goal
        }));
        let mut later = Some(goal);
        let mut looked_at = 0;
        while let Some(step) = later.filter(|_| !rest.is_empty()) {
            meter.work(rest.len() / GLANCES)?;
            rest.retain(|candidate| {
                let passes = self.passes(*candidate, step);
                if !passes {
                    chosen.push(*candidate);
                }
                passes
            });
            later = chosen.get(looked_at).map(|candidate| self.open.step_of(*candidate));
            looked_at += 1;
        }
        Ok(())
    }

    /// Returns true if a candidate can be put behind this step, is not needed before it, or leaves
    /// no trace there.
    fn passes(&self, candidate: Candidate, later: &M::Step) -> bool {
        let earlier = self.open.step_of(candidate);
        let optional = matches!(candidate, Candidate::Kind(_));
        (self.model.constant(earlier) && self.model.constant(later))
            || self.model.passes(earlier, later, optional)
    }

    /// Lets a configuration pass that has the goal already, or may as well take it at once. Says
    /// whether nothing else need be done with it.
    fn at_once(
        &self,
        config: &Config<M::State>,
        goal: &Goal<'_, M::Step>,
        next: &mut Frontier<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<bool, SpentBudget> {
        if config.way.done.has(goal.slot) {
            let config = config.clone().without(goal.slot);
            next.insert(config, &self.open.firm, meter)?;
        }
        let candidate = Candidate::Slot(goal.slot);
        if !self.open.is_left(candidate, &config.way) {
            return Ok(true);
        }
        // Where it is not legal, it is not taken either.
        Ok(self.is_eager(config, candidate, goal) && self.take_goal(config, goal, next, meter)?)
    }

    /// Puts into `next` every configuration that comes from this one by relevant steps and takes
    /// the goal.
    fn answer(
        &self,
        config: &Config<M::State>,
        goal: &Goal<'_, M::Step>,
        reached: &mut Reached<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), SpentBudget> {
        if goal.before.is_empty() {
            return self.take_goal(config, goal, &mut reached.next, meter).map(drop);
        }
        self.visit(config.clone(), goal, reached, meter)?;
        while let Some(config) = reached.work.pop() {
            meter.give(config.bytes(M::heap));
            for candidate in goal.before {
                meter.handle(M::heap(&config.state))?;
                let Some(state) = self.step(&config, *candidate) else { continue };
                if self.has_twin(&config, *candidate, goal.before)
                    || !self.is_of_use(&config, *candidate, goal)
                {
                    continue;
                }
                let mut child = config.at(state);
                self.open.take(*candidate, &mut child.way);
                self.visit(child, goal, reached, meter)?;
            }
        }
        Ok(())
    }

    /// Takes the goal from here, if that is legal; and carries on from here, unless that has been
    /// done or the goal may as well be taken at once.
    fn visit(
        &self,
        mut config: Config<M::State>,
        goal: &Goal<'_, M::Step>,
        reached: &mut Reached<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), SpentBudget> {
        if !self.hurry(&mut config, goal, meter)? {
            return self.take_goal(&config, goal, &mut reached.next, meter).map(drop);
        }
        if reached.seen.insert(config.clone(), &self.open.firm, meter)?
            && !self.take_goal(&config, goal, &mut reached.next, meter)?
        {
            meter.take(config.bytes(M::heap))?;
            reached.work.push(config);
        }
        Ok(())
    }

    /// Takes the goal, if that is legal here. Says whether it may as well be taken at once.
    fn take_goal(
        &self,
        config: &Config<M::State>,
        goal: &Goal<'_, M::Step>,
        next: &mut Frontier<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<bool, SpentBudget> {
        let Some(state) = self.model.apply(&config.state, goal.step) else { return Ok(false) };
        let mut taken = config.at(state);
        self.open.take(Candidate::Slot(goal.slot), &mut taken.way);
        next.insert(taken.without(goal.slot), &self.open.firm, meter)?;
        Ok(self.is_eager(config, Candidate::Slot(goal.slot), goal))
    }

    /// Takes every step that may as well be taken at once. Says whether any other can be taken.
    fn hurry(
        &self,
        config: &mut Config<M::State>,
        goal: &Goal<'_, M::Step>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<bool, SpentBudget> {
        loop {
            let (mut changed, mut any) = (false, false);
            for candidate in goal.before {
                meter.handle(M::heap(&config.state))?;
                let Some(state) = self.step(config, *candidate) else { continue };
                if self.has_twin(config, *candidate, goal.before) {
                    continue;
                }
                if self.is_eager(config, *candidate, goal)
                    || self.is_forced(config, *candidate, goal)
                {
                    config.state = state;
                    self.open.take(*candidate, &mut config.way);
                    changed = true;
                } else {
                    any = true;
                }
            }
            if !changed {
                return Ok(any);
            }
        }
    }

    /// Returns the state to which a candidate leads, if it can be taken and is of use.
    #[inline]
    fn step(&self, config: &Config<M::State>, candidate: Candidate) -> Option<M::State> {
        if !self.open.is_left(candidate, &config.way) {
            return None;
        }
        let step = self.open.step_of(candidate);
        let state = self.model.apply(&config.state, step)?;
        // What need not happen need not happen in vain.
        let optional = matches!(candidate, Candidate::Kind(_));
        let covers = || self.model.constant(step) && !self.open.constant.within(&config.way.done);
        (!optional || state != config.state || covers()).then_some(state)
    }

    fn is_eager(
        &self,
        config: &Config<M::State>,
        candidate: Candidate,
        goal: &Goal<'_, M::Step>,
    ) -> bool {
        let (alone, steady) = (self.open.alone(candidate), self.open.steady(candidate));
        let around =
            Around { goal: goal.step, alone, steady, open: self.open.certain(&config.way) };
        self.model.eager(&config.state, self.open.step_of(candidate), around)
    }

    /// Returns true if another candidate does the same and must be done earlier.
    fn has_twin(
        &self,
        config: &Config<M::State>,
        candidate: Candidate,
        others: &[Candidate],
    ) -> bool {
        let (step, deadline) = (self.open.step_of(candidate), self.open.deadline(candidate));
        others.iter().any(|other| {
            self.open.step_of(*other) == step
                && self.open.deadline(*other) < deadline
                && self.open.is_left(*other, &config.way)
        })
    }

    /// Returns true if a candidate may be needed before the goal: see [`Model::is_of_use`].
    fn is_of_use(
        &self,
        config: &Config<M::State>,
        candidate: Candidate,
        goal: &Goal<'_, M::Step>,
    ) -> bool {
        let step = self.before_goal(&candidate);
        self.model.is_of_use(&config.state, step, goal.step, self.left(config, goal))
    }

    /// Returns true if a candidate has to come before the goal: see [`Model::is_forced`].
    fn is_forced(
        &self,
        config: &Config<M::State>,
        candidate: Candidate,
        goal: &Goal<'_, M::Step>,
    ) -> bool {
        let step = self.before_goal(&candidate).step;
        self.model.is_forced(&config.state, step, goal.step, self.left(config, goal))
    }

    /// The steps that may be taken from here before the goal.
    fn left(
        &self,
        config: &Config<M::State>,
        goal: &Goal<'_, M::Step>,
    ) -> impl Iterator<Item = BeforeGoal<'a, M::Step>> + Clone {
        let left = goal.before.iter().filter(|it| self.open.is_left(**it, &config.way));
        left.map(|candidate| self.before_goal(candidate))
    }

    fn before_goal(&self, candidate: &Candidate) -> BeforeGoal<'a, M::Step> {
        let optional = matches!(candidate, Candidate::Kind(_));
        BeforeGoal { step: self.open.step_of(*candidate), optional }
    }

    fn dead(&self, goal: usize, configs: &[Config<M::State>]) -> Dead {
        let mut states = Vec::new();
        for config in configs {
            let state = self.model.describe(&config.state);
            if !states.contains(&state) {
                states.push(state);
            }
            if states.len() == STATES {
                break;
            }
        }
        Dead { stuck: goal, concurrent: self.open.beside(goal), states }
    }
}

#[cfg(test)]
mod tests;
