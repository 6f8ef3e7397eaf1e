//! Real servers as child processes on the loopback interface.

use local::{CleanedFolders, LocalServers};
use testbed::owner::Certainty;

use super::given::start;
use crate::worlds::{Cleaned, RunWorld};
use drive::plan::FaultTiming;

/// The world in the list.
pub const WORLD: RunWorld = RunWorld {
    name: "local",
    summary: "Real servers as processes, from the programs of this machine; no Docker, no root",
    timing: FaultTiming::Trigger,
    is_chosen: true,
    is_made: false,
    is_built: true,
    can: testbed::can::<LocalServers>,
    ready: local::ready,
    tried: local::tried,
    prepare: |_| Ok(()),
    start: start::<LocalServers>,
    clean: |everything| {
        let local::Cleaned { processes, folders } = local::clean(certainty(everything))?;
        let CleanedFolders { removed: folders, failures, others } = folders;
        let removed = vec![(processes, "process", "processes"), (folders, "folder", "folders")];
        Ok(Cleaned { removed, failures, notes: others })
    },
};

/// Returns how certain the end of an owner must be, for what it left to be removed.
pub const fn certainty(everything: bool) -> Certainty {
    if everything { Certainty::NotSeen } else { Certainty::Ended }
}
