//! Tasks: what the workers of a client do with a lock, as data.
//!
//! A worker takes turns. A turn draws a few numbers ([`Turn`]) and then executes one of its task's
//! scripts ([`Step`]). A [`Walk`] is a place in a script, which alone knows what is left to do when
//! an acquire is refused or a hold is lost; [`crate::WorkerMachine`] executes it.

use crate::{Mode, Rng, Spread};
use std::hash::Hash;
use std::time::Duration;

/// The largest number of grants that a worker holds at once.
pub const HOLDS: usize = 2;

/// One step of a turn. A `hold` is the worker's own number for a grant, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Asks for a lock.
    Acquire {
        /// The number of the grant.
        hold: usize,
        /// The lock: the turn's key, or so many keys after it.
        key: u32,
        /// The longest time to wait for it.
        wait: Wait,
    },
    /// Reads what the lock guards.
    Read(usize),
    /// Writes what the lock guards. A shared holder reads it again instead.
    Write(usize),
    /// Works for this part of the turn's hold: 2 is a half.
    Work(u32),
    /// Changes the mode of a grant without letting go of it.
    Convert(usize, Mode),
    /// Asks for more time for a grant.
    Extend(usize),
    /// Asks the lock whether a grant still stands.
    Ask(usize),
    /// Frees a lock.
    Release(usize),
    /// Cancels the next request, an acquire or a release, if it is still under way after this part
    /// of the turn's hold.
    Cancel(u32),
}

/// The longest time that an acquire waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// As long as every other client may hold the lock before it.
    Long,
    /// A quarter of the lock's ttl, and the round trips of one try over a slow link.
    Short,
    /// Not at all: one try.
    Try,
}

/// A task in the list: a name, and what its workers do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// The name, as `--task` takes it.
    pub name: &'static str,
    /// One line for `picklock list`.
    pub summary: &'static str,
    /// The scripts; each turn draws one of them.
    pub scripts: &'static [&'static [Step]],
    /// The share of turns that ask for a shared hold, where the lock has any.
    pub readers: f64,
    /// True if each turn asks for a number of permits that it draws, and not for one.
    pub several: bool,
    /// The number of workers in each client.
    pub workers: u32,
    /// The least number of keys.
    pub keys: u32,
    /// False for workers that neither think nor work.
    pub rests: bool,
    /// The promise without which the task means nothing.
    pub needs: Option<Needs>,
}

/// A promise that a task builds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Several readers may hold the lock at once.
    Shared,
    /// A writer may become a reader without letting go.
    Downgrade,
    /// A holder may ask for more time.
    Extend,
    /// A holder may ask whether it still holds the lock.
    Tell,
    /// Several may hold the lock at once, each with a permit or more.
    Permits,
}

impl Task {
    /// The task of most runs: every client, with one worker, takes one lock at a time, for as long
    /// as it may need. The others are this one with differences.
    pub const CONTEND: Self = Self {
        name: "contend",
        summary: "each client takes the lock, reads, works, writes and releases",
        scripts: &[&[
            Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
            Step::Read(0),
            Step::Work(1),
            Step::Write(0),
            Step::Release(0),
        ]],
        readers: 0.6,
        several: false,
        workers: 1,
        keys: 1,
        rests: true,
        needs: None,
    };
}

/// The task of a run with the numbers from which its turns are drawn.
#[derive(Clone, Debug)]
pub struct Load {
    /// The task that all workers of the run do.
    pub task: &'static Task,
    /// The number of keys.
    pub keys: u32,
    /// True if readers can hold the lock together.
    pub shared: bool,
    /// The most permits that a turn may ask for; 1 but for a task that asks for several.
    pub permits: u32,
    /// The time for which a worker works. A hold that is shorter than a fault can never show what
    /// the fault breaks, so some have to be long.
    pub hold: Spread,
    /// The time for which a worker does something else before its turn.
    pub think: Spread,
    /// The number of turns that each worker takes. `None`: turns until the run is over.
    pub turns: Option<u32>,
}

/// The numbers of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The time before it asks for the lock.
    pub think: Duration,
    /// The number of the key, from 0.
    pub key: u32,
    /// The mode in which it asks.
    pub mode: Mode,
    /// The number of permits that it asks for.
    pub permits: u32,
    /// The time for which it works.
    pub hold: Duration,
    /// The number of its script.
    pub script: u32,
}

impl Load {
    /// Draws a turn.
    pub fn turn(&self, rng: &mut Rng) -> Turn {
        let hold = self.hold.draw(rng);
        let shared = self.shared && rng.chance(self.task.readers);
        let mode = if shared { Mode::Shared } else { Mode::Exclusive };
        let think = self.think.draw(rng);
        let key = rng.below(u64::from(self.keys)) as u32;
        let script = match self.task.scripts.len() as u64 {
            1 => 0,
            scripts => rng.below(scripts) as u32,
        };
        let permits = match self.permits {
            0 | 1 => 1,
            most => 1 + rng.below(u64::from(most)) as u32,
        };
        Turn { think, key, mode, permits, hold, script }
    }
}

/// The place of a worker in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    script: &'static [Step],
    next: usize,
    held: [bool; HOLDS],
    /// True once something went wrong: nothing is left to do but to release what is held.
    retreats: bool,
}

impl Walk {
    /// Starts at the beginning of a script.
    pub fn new(script: &'static [Step]) -> Self {
        Self { script, next: 0, held: [false; HOLDS], retreats: false }
    }

    /// Returns the next step; `None` at the end of the script.
    pub fn peek(&self) -> Option<Step> {
        self.script[self.next..].iter().copied().find(|step| self.applies(*step))
    }

    /// Takes the next step.
    pub fn step(&mut self) -> Option<Step> {
        let left = &self.script[self.next..];
        let place = left.iter().position(|step| self.applies(*step))?;
        self.next += place + 1;
        Some(left[place])
    }

    fn applies(&self, step: Step) -> bool {
        match step {
            Step::Acquire { .. } | Step::Work(_) | Step::Cancel(_) => !self.retreats,
            Step::Read(hold)
            | Step::Write(hold)
            | Step::Convert(hold, _)
            | Step::Extend(hold)
            | Step::Ask(hold) => self.held[hold] && !self.retreats,
            Step::Release(hold) => self.held[hold],
        }
    }

    /// Notes a grant.
    pub fn granted(&mut self, hold: usize) {
        self.held[hold] = true;
    }

    /// Notes that a hold has ended.
    pub fn ended(&mut self, hold: usize) {
        self.held[hold] = false;
    }

    /// Notes that an acquire was refused: what needs its grant is left out.
    pub fn refused(&mut self) {
        self.retreats |= !self.held.contains(&true);
    }

    /// Gives up what is left but for the releases.
    pub fn retreat(&mut self) {
        self.retreats = true;
    }

    /// Returns all that distinguishes the places in the same script.
    pub fn place(&self) -> impl Hash + use<> {
        (self.next, self.held, self.retreats)
    }

    /// Returns for each grant whether it is held.
    pub const fn held(&self) -> [bool; HOLDS] {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(task: &'static Task, shared: bool) -> Load {
        let spread = Spread::Exponential { least: Duration::ZERO, mean: Duration::from_millis(20) };
        Load { task, keys: 1, shared, permits: 1, hold: spread, think: spread, turns: None }
    }

    #[test]
    fn readers_have_a_little_more_than_half_of_the_turns() {
        let load = load(&Task::CONTEND, true);
        let mut rng = Rng::new(1);
        let turns = (0..1_000).map(|_| load.turn(&mut rng));
        let readers = turns.filter(|turn| turn.mode == Mode::Shared).count();
        assert!((500..700).contains(&readers));
    }

    #[test]
    fn a_turn_draws_a_permit_or_more_and_never_more_than_there_are() {
        let load = Load { permits: 3, ..load(&Task::CONTEND, false) };
        let mut rng = Rng::new(1);
        let drawn: Vec<u32> = (0..100).map(|_| load.turn(&mut rng).permits).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&1), Some(&3)));
    }

    const NESTED: &[Step] = &[
        Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
        Step::Acquire { hold: 1, key: 0, wait: Wait::Short },
        Step::Read(1),
        Step::Work(1),
        Step::Release(1),
        Step::Write(0),
        Step::Release(0),
    ];

    /// Walks a script, in which the acquires end as given.
    fn walked(mut walk: Walk, acquires: [bool; HOLDS]) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(step) = walk.step() {
            match step {
                Step::Acquire { hold, .. } if acquires[hold] => walk.granted(hold),
                Step::Acquire { .. } => walk.refused(),
                Step::Release(hold) => walk.ended(hold),
                _ => {}
            }
            steps.push(step);
        }
        steps
    }

    #[test]
    fn a_script_is_walked_from_end_to_end() {
        assert_eq!(walked(Walk::new(NESTED), [true, true]), NESTED);
    }

    #[test]
    fn without_a_grant_what_needs_it_is_left_out() {
        let outer = [NESTED[0], NESTED[1], Step::Work(1), Step::Write(0), Step::Release(0)];
        assert_eq!(walked(Walk::new(NESTED), [true, false]), outer);
        assert_eq!(walked(Walk::new(NESTED), [false, false]), NESTED[..1]);
    }

    #[test]
    fn a_worker_that_lost_a_hold_still_releases_it() {
        let mut walk = Walk::new(NESTED);
        walk.step();
        walk.granted(0);
        walk.retreat();
        assert_eq!(walk.peek(), Some(Step::Release(0)));
        assert_eq!(walked(walk, [true, true]), [Step::Release(0)]);
    }
}
