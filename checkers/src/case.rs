//! What is judged: a run, and what several checkers want to know of it, read once for all.

use crate::faults::Outage;
use crate::holds::Claims;
use base::{Run, Verdict};

/// A run with its readings.
#[derive(Debug)]
pub struct Case<'a> {
    /// What was run, and what happened.
    pub run: &'a Run,
    /// Who asked for and held which lock, and under which grant the vault was touched.
    pub claims: Claims,
    /// What the nemesis did.
    pub outages: Vec<Outage>,
}

impl<'a> Case<'a> {
    /// Reads a run.
    pub fn of(run: &'a Run) -> Self {
        Self { run, claims: Claims::of(&run.history), outages: Outage::of(&run.history) }
    }
}

/// Decides one property of a case, and from nothing else: no files, no clock, no drawing.
pub trait Checker {
    /// The property's name, as verdicts and reports say it.
    fn name(&self) -> &'static str;
    /// One line for `picklock list`.
    fn summary(&self) -> &'static str;
    /// The verdict.
    fn check(&self, case: &Case<'_>) -> Verdict;
}
