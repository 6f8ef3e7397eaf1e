//! Real servers in containers.

use base::BackendError;
use docker::DockerServers;
use std::cell::Cell;

use super::real::given::start;
use super::real::local::certainty;
use super::{Cleaned, RunWorld};
use crate::output_style::hint;
use drive::plan::FaultTiming;

/// The world in the list.
pub const WORLD: RunWorld = RunWorld {
    name: "docker",
    summary: "Real servers in containers; builds the image when it is missing",
    timing: FaultTiming::Trigger,
    is_chosen: true,
    is_made: true,
    is_built: true,
    can: testbed::can::<DockerServers>,
    ready: |_, _| docker::ready(),
    tried: |_, _| docker::ready(),
    prepare,
    start: |setup, means| {
        prepare(means.progress)?;
        start::<DockerServers>(setup, means)
    },
    clean: |everything| {
        let cleaned = match docker::clean(certainty(everything)) {
            Ok(cleaned) => cleaned,
            Err(error) => {
                let notes = vec![format!("no containers were looked for: {error}")];
                return Ok(Cleaned { notes, ..Cleaned::default() });
            }
        };
        let docker::Cleaned { containers, networks, failures } = cleaned;
        let removed =
            vec![(containers, "container", "containers"), (networks, "network", "networks")];
        let failures = failures.iter().map(ToString::to_string).collect();
        Ok(Cleaned { removed, failures, notes: Vec::new() })
    },
};

/// Makes the image unless it is there.
fn prepare(progress: &dyn Fn(&str)) -> Result<(), BackendError> {
    let is_announced = Cell::new(false);
    docker::ensure_image(&|line| {
        if !is_announced.replace(true) {
            hint("making the image of the servers, once; this takes some minutes");
        }
        progress(line);
    })
}
