//! Removes what runs that were killed left behind, and nothing of a run that still lives.
//!
//! The kernel kills the processes of a run together with it, so that only folders stay. Should a
//! process live on all the same, it carries the name of its owner with it.

use super::folder;
use std::time::Duration;
use testbed::own_process;
use testbed::owner::Certainty;
use tokio::time::{sleep, timeout};

/// The longest time that the kernel may take to end a process that was killed.
const LIMIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(1);

/// The number of things removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The number of processes.
    pub processes: usize,
    /// The number of folders.
    pub folders: usize,
}

/// Removes the processes and the folders of runs whose process has ended, with this certainty.
///
/// # Errors
/// Fails when there is nothing to wait with.
pub fn clean(certainty: Certainty) -> Result<Cleaned, base::BackendError> {
    Ok(testbed::runtime()?.block_on(remove_abandoned(certainty)))
}

pub async fn remove_abandoned(certainty: Certainty) -> Cleaned {
    let processes = own_process::kill_abandoned(certainty);
    let ending = async {
        while own_process::abandoned(certainty).next().is_some() {
            sleep(POLL).await;
        }
    };
    // What one of them still writes is removed another time.
    let _ = timeout(LIMIT, ending).await;
    Cleaned { processes, folders: folder::remove_abandoned(certainty) }
}
