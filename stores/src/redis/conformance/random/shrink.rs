//! Shrinking: from a sequence that shows a difference to the least that still shows one.

use super::{ConformanceSubject, Difference, SequenceEnd, SequenceStep, run};
use crate::redis::conformance::ConformanceReport;
use crate::redis::script::Engine;
use base::DeltaDebugger;
use std::io;

/// Leaves out steps as long as a difference remains. It may become another one, which is a
/// difference all the same.
pub fn shrink(
    engine: &Engine,
    real: &mut dyn ConformanceSubject,
    steps: Vec<SequenceStep>,
    mut difference: Difference,
) -> io::Result<(Vec<SequenceStep>, Difference)> {
    let mut steps = DeltaDebugger::new(steps);
    while let Some(mut fewer) = steps.propose() {
        if let SequenceEnd::Differed(end, smaller) =
            run(engine, real, &fewer, &mut ConformanceReport::default())?
        {
            fewer.truncate(end);
            steps.keep(fewer);
            difference = *smaller;
        }
    }
    Ok((steps.least(), difference))
}
