//! Removes what runs that were killed left behind, and nothing of a run that still lives.
//!
//! The kernel kills the processes of a run together with it, so that only folders stay. Should a
//! process live on all the same, it carries the name of its owner with it.

use super::folder::{self, CleanedFolders};
use super::posix;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use testbed::own_process;
use testbed::owner::Certainty;
use tokio::time::{sleep, timeout};

/// The longest time that the kernel may take to end a process that was killed.
const LIMIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(1);

/// The number of things removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The number of processes.
    pub processes: usize,
    /// The folders.
    pub folders: CleanedFolders,
}

/// Removes the processes and the folders of runs whose process has ended, with this certainty.
///
/// # Errors
/// Fails when there is nothing to wait with.
pub fn clean(certainty: Certainty) -> Result<Cleaned, base::BackendError> {
    Ok(testbed::runtime()?.block_on(remove_abandoned(certainty)))
}

pub async fn remove_abandoned(certainty: Certainty) -> Cleaned {
    let ids = own_process::abandoned(certainty).filter_map(|id| u32::try_from(id.as_raw()).ok());
    let segments: BTreeSet<PathBuf> = ids.flat_map(posix::mapped).collect();
    let processes = own_process::kill_abandoned(certainty);
    let ending = async {
        // One of them may have started another meanwhile.
        while own_process::kill_abandoned(certainty) > 0 {
            sleep(POLL).await;
        }
    };
    // What one of them still writes is removed another time.
    let _ = timeout(LIMIT, ending).await;
    for segment in segments {
        // Another one that cleans may be quicker.
        let _ = fs::remove_file(segment);
    }
    for server in folder::abandoned_servers(certainty) {
        posix::remove_shared_memory(&server).await;
    }
    Cleaned { processes, folders: folder::remove_abandoned(certainty) }
}
