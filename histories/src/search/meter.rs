//! The budget of a search. Checkers read no clock, so the caller brings one.

/// The limits of a decision. They are honoured inside each step: past them the answer is
/// inconclusive.
pub struct Budget<'a> {
    /// Bytes that deciding may keep at once, beside the operations.
    pub memory: usize,
    /// Returns true once the time is over. Asked every few thousand steps of a search; the line
    /// sweep, which is linear in the history, does not ask.
    pub expired: &'a mut dyn FnMut() -> bool,
}

/// The budget that was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpentBudget {
    Time,
    Memory,
}

/// The number of steps between two looks at the clock.
const TICKS: usize = 4096;

/// Bytes that are copied or compared in about the time of a step.
const BLOCK: usize = 512;

pub(crate) struct Meter<'a, 'b> {
    budget: &'a mut Budget<'b>,
    used: usize,
    ticks: usize,
}

impl<'a, 'b> Meter<'a, 'b> {
    pub(crate) fn new(budget: &'a mut Budget<'b>) -> Self {
        // The clock is looked at in the first step already, for budgets of many small keys.
        Self { budget, used: 0, ticks: 0 }
    }

    /// One step of work.
    pub(crate) fn tick(&mut self) -> Result<(), SpentBudget> {
        self.work(1)
    }

    /// One step of work on something that takes so many bytes.
    pub(crate) fn handle(&mut self, bytes: usize) -> Result<(), SpentBudget> {
        self.work(1 + bytes / BLOCK)
    }

    /// Counts so many steps of work, and stops the search past the budget.
    pub(crate) fn work(&mut self, steps: usize) -> Result<(), SpentBudget> {
        match self.ticks.checked_sub(steps) {
            Some(left) => self.ticks = left,
            None => {
                self.ticks = TICKS;
                if (self.budget.expired)() {
                    return Err(SpentBudget::Time);
                }
            }
        }
        Ok(())
    }

    /// Lets a part of the search go on for so many looks at the clock at most, and forgets what it
    /// took.
    pub(crate) fn within<T>(
        &mut self,
        looks: usize,
        part: impl FnOnce(&mut Meter<'_, '_>) -> T,
    ) -> T {
        let mut left = looks;
        let mut expired = || {
            left = left.saturating_sub(1);
            left == 0 || (self.budget.expired)()
        };
        let memory = self.budget.memory.saturating_sub(self.used);
        part(&mut Meter::new(&mut Budget { memory, expired: &mut expired }))
    }

    /// Takes memory, in bytes, and stops the search past the budget.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), SpentBudget> {
        self.used += bytes;
        if self.used > self.budget.memory { Err(SpentBudget::Memory) } else { Ok(()) }
    }

    /// Gives memory back.
    pub(crate) fn give(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Gives all memory back.
    pub(crate) fn give_all(&mut self) {
        self.used = 0;
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used
    }
}

#[cfg(test)]
mod tests;
