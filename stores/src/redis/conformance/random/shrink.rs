//! Shrinking: from a sequence that shows a difference to the least that still shows one.

use super::{Difference, Ended, Step, Subject, run};
use crate::redis::conformance::Report;
use crate::redis::script::Engine;
use std::io;

/// Leaves out pieces, ever smaller ones, as long as a difference remains. It may become another
/// one, which is a difference all the same.
pub fn shrink(
    engine: &Engine,
    real: &mut dyn Subject,
    mut steps: Vec<Step>,
    mut difference: Difference,
) -> io::Result<(Vec<Step>, Difference)> {
    let mut piece = steps.len().div_ceil(2);
    while piece > 0 {
        let (mut start, before) = (0, steps.len());
        while start < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(start..steps.len().min(start + piece));
            match run(engine, real, &fewer, &mut Report::default())? {
                Ended::Differed(end, smaller) => {
                    fewer.truncate(end);
                    (steps, difference) = (fewer, *smaller);
                }
                Ended::Agreed | Ended::Lost => start += piece,
            }
        }
        // Single steps are tried again until none can go.
        if piece > 1 || steps.len() == before {
            piece /= 2;
        }
    }
    Ok((steps, difference))
}
