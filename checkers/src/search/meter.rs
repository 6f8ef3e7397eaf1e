//! What a search may cost. Checkers read no clock, so the caller brings one.

/// What a decision may cost. It is honoured inside each step: past it the answer is inconclusive.
pub struct Budget<'a> {
    /// Bytes that the search may keep at once. The sweep, which is linear in the history, is not
    /// metered.
    pub memory: usize,
    /// Whether the time is over. Asked every few thousand steps.
    pub expired: &'a mut dyn FnMut() -> bool,
}

/// Which budget was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Time,
    Memory,
}

/// How many steps pass between two looks at the clock.
const TICKS: u32 = 4096;

pub(crate) struct Meter<'a, 'b> {
    budget: &'a mut Budget<'b>,
    used: usize,
    ticks: u32,
}

impl<'a, 'b> Meter<'a, 'b> {
    pub(crate) fn new(budget: &'a mut Budget<'b>) -> Self {
        // The clock is looked at in the first step already, for budgets of many small keys.
        Self { budget, used: 0, ticks: 0 }
    }

    /// One step of work.
    pub(crate) fn tick(&mut self) -> Result<(), Stop> {
        if self.ticks == 0 {
            self.ticks = TICKS;
            if (self.budget.expired)() {
                return Err(Stop::Time);
            }
        }
        self.ticks -= 1;
        Ok(())
    }

    /// Takes memory.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.used += bytes;
        if self.used > self.budget.memory { Err(Stop::Memory) } else { Ok(()) }
    }

    /// Gives memory back.
    pub(crate) fn give(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }
}
