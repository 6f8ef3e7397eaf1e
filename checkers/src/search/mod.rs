//! General search: can the operations of one key be put on one line that a model can walk?
//!
//! # The algorithm
//! Wing and Gong ("Testing and verifying concurrent objects", 1993) with Lowe's just-in-time
//! linearization ("Testing for linearizability", 2017). The history is read once, from front to
//! back. A [`Config`] is one way in which the line may have gone so far: the state that it leads
//! to, and which of the open operations are on it. Only the *answer* of an operation forces
//! anything: by then it must be on the line. So at each answer every configuration that lacks the
//! operation is carried on, by steps of other open operations, until it can take it; those that
//! cannot are dropped. A history is illegal if none remains, and the operation that was answered
//! there is the one that cannot be placed.
//!
//! # What keeps it short
//! Every rule keeps, for each line that can be completed, one that can be completed too.
//!
//! * **Right movers.** Before the goal, a line takes only what cannot be put behind it
//!   ([`Model::passes`]): start with the goal, add each open operation that does not pass all that
//!   were added so far, and repeat. Of a line that takes something else before the goal, the last
//!   such thing can be moved behind it (or, if it is optional, left out), and so on.
//! * **Left movers.** A step that may as well be taken at once ([`Model::eager`]) is taken, without
//!   a second branch.
//! * **Dominance.** Operations of unknown outcome never need be on the line. Of two configurations
//!   with the same state and the same answered-for operations, the one that has spent at most as
//!   many of each kind of optional operations can go wherever the other can. Where the steps that
//!   a line lacks can be put in anywhere ([`Model::fewer`]), that holds of all operations. Equal
//!   optional operations are one kind and counted, and those of no use to anybody ([`Model::idle`]) are left
//!   out from the beginning.
//!
//! No recursion; nothing is kept of the past but the configurations. Time and memory are metered
//! inside each step ([`Meter`]).

mod bits;
mod config;
mod meter;
mod open;
#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
pub(crate) mod tests;

pub use meter::Budget;
pub(crate) use meter::{Meter, Stop};

use crate::models::{Around, Model};
use crate::operation::{Ended, Operation};
use config::{Config, Frontier};
use open::{Candidate, Open, Timeline};

/// What the search says about the operations of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There is such a line.
    Legal,
    /// There is none. Operations are numbers in the list that was given.
    Illegal {
        /// The operation that cannot be placed.
        stuck: usize,
        /// Those that were open, or of unknown outcome, when it was answered.
        concurrent: Vec<usize>,
        /// Where the lines that go furthest lead, in words; a few of them.
        states: Vec<String>,
    },
    /// The budget was spent.
    Stopped(Stop),
}

/// How many of the furthest states are told.
const STATES: usize = 4;

/// Searches for a line of these operations, all of one key, in any order.
pub(crate) fn search<M: Model>(
    model: &M,
    operations: &[&Operation],
    meter: &mut Meter<'_, '_>,
) -> Answer {
    let happened: Vec<usize> =
        (0..operations.len()).filter(|id| operations[*id].ended != Ended::Fail).collect();
    let kept: Vec<&Operation> = happened.iter().map(|id| operations[*id]).collect();
    let steps = model.steps(&kept);
    let timeline = Timeline::of(model, &kept, &steps);
    let search = Search { model, steps: &steps, open: Open::of(&timeline, &steps) };
    match search.run(&timeline, meter) {
        Ok(Ok(())) => Answer::Legal,
        Ok(Err(Dead { stuck, concurrent, states })) => Answer::Illegal {
            stuck: happened[stuck],
            concurrent: concurrent.into_iter().map(|id| happened[id]).collect(),
            states,
        },
        Err(stop) => Answer::Stopped(stop),
    }
}

/// No line goes on.
struct Dead {
    stuck: usize,
    concurrent: Vec<usize>,
    states: Vec<String>,
}

struct Search<'a, M: Model> {
    model: &'a M,
    steps: &'a [M::Step],
    open: Open<'a, M::Step>,
}

impl<'a, M: Model> Search<'a, M> {
    fn run(
        mut self,
        timeline: &Timeline,
        meter: &mut Meter<'_, '_>,
    ) -> Result<Result<(), Dead>, Stop> {
        let mut configs = vec![Config::new(self.model.initial())];
        let mut bytes = 0;
        let mut next = Frontier::new(self.model.fewer());
        let mut seen = Frontier::new(self.model.fewer());
        for event in &timeline.events {
            meter.tick()?;
            let Some(slot) = self.open.step(event) else { continue };
            let goal = event.operation();
            let mut relevant = None;
            for config in &configs {
                meter.tick()?;
                let mut config = config.clone();
                if config.taken.take(slot) {
                    next.insert(config, meter)?;
                    continue;
                }
                let relevant = relevant.get_or_insert_with(|| self.relevant(slot, goal));
                self.reach(config, goal, relevant, &mut next, &mut seen, meter)?;
            }
            seen.clear(meter);
            if next.is_empty() {
                return Ok(Err(self.dead(goal, &configs)));
            }
            self.open.close(slot);
            next.drain_into(&mut configs, &mut bytes, meter);
        }
        Ok(Ok(()))
    }

    /// The open operations that a line may have to take before the goal.
    fn relevant(&self, slot: usize, goal: usize) -> Vec<Candidate> {
        let mut rest: Vec<Candidate> = self.open.candidates().collect();
        rest.retain(|candidate| *candidate != Candidate::Slot(slot));
        let mut chosen = Vec::new();
        let mut newest = vec![&self.steps[goal]];
        while let Some(later) = newest.pop() {
            rest.retain(|candidate| {
                let (step, optional) = self.open.step_of(*candidate);
                let passes = self.model.passes(step, later, optional);
                if !passes {
                    chosen.push(*candidate);
                    newest.push(step);
                }
                passes
            });
        }
        chosen
    }

    /// Puts into `next` every configuration that comes from this one by relevant steps and then
    /// the goal. What was `seen` on the way from another configuration is not gone through again.
    fn reach(
        &self,
        config: Config<M::State>,
        goal: usize,
        relevant: &[Candidate],
        next: &mut Frontier<M::State>,
        seen: &mut Frontier<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), Stop> {
        let goal_step = &self.steps[goal];
        if relevant.is_empty() {
            if let Some(state) = self.model.apply(&config.state, goal_step) {
                next.insert(config.at(state), meter)?;
            }
            return Ok(());
        }
        if !seen.insert(config.clone(), meter)? {
            return Ok(());
        }
        let mut work = vec![config];
        while let Some(mut config) = work.pop() {
            self.hurry(&mut config, goal_step, relevant, meter)?;
            if let Some(state) = self.model.apply(&config.state, goal_step) {
                next.insert(config.at(state), meter)?;
            }
            for candidate in relevant.iter().filter(|candidate| self.is_left(&config, **candidate))
            {
                meter.tick()?;
                let (step, optional) = self.open.step_of(*candidate);
                let Some(state) = self.model.apply(&config.state, step) else { continue };
                if optional && state == config.state {
                    continue;
                }
                let mut child = config.at(state);
                child.spend(*candidate);
                if seen.insert(child.clone(), meter)? {
                    work.push(child);
                }
            }
        }
        Ok(())
    }

    /// Takes every step that may as well be taken at once.
    fn hurry(
        &self,
        config: &mut Config<M::State>,
        goal: &M::Step,
        relevant: &[Candidate],
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), Stop> {
        loop {
            let mut changed = false;
            for candidate in relevant {
                meter.tick()?;
                if !self.is_left(config, *candidate) {
                    continue;
                }
                let (step, optional) = self.open.step_of(*candidate);
                let Some(state) = self.model.apply(&config.state, step) else { continue };
                if optional && state == config.state {
                    continue;
                }
                let alone = self.open.alone(*candidate);
                let open = self.open.certain(config);
                if self.model.eager(&config.state, step, Around { goal, alone, open }) {
                    config.state = state;
                    config.spend(*candidate);
                    changed = true;
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }

    fn is_left(&self, config: &Config<M::State>, candidate: Candidate) -> bool {
        match candidate {
            Candidate::Slot(slot) => !config.taken.has(slot),
            Candidate::Kind(kind) => config.spent(kind) < self.open.begun(kind),
        }
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
