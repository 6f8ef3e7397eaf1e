//! Checks that a run can have a program of somebody else for its clients: what picklock's own client
//! does for a fault, nobody does there.

use base::{Ability, ClientAbility, Task};
use stores::{StoreId, WorldSpec};
use workloads::TestedLock;

use super::Setup;

/// A mistake in what was asked of a program. Each says what to give instead, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The faults set the clocks of clients.
    #[error(
        "picklock cannot {0} that is a program of its own; give a nemesis that does something else \
         (pause-client, partition-client, crash-client), or start the program with a clock of its \
         own: --client \"faketime -f +10s …\""
    )]
    Clock(Ability),
    /// Nobody says how its server is started.
    #[error(
        "{0} runs on a server of your own: give its command with server = \"…\" in the definition \
         file (docs/own-lock.md), or its address with --servers server-0=HOST:PORT"
    )]
    Server(String),
    /// The fault script waits for a command that only picklock's own clients name.
    #[error(
        "a fault script cannot wait for a command of {0}, a program that does not name its commands; \
         wait for a moment of the lock instead (`picklock list moments`)"
    )]
    Commands(String),
}

/// Returns the abilities that a task needs of the clients of a lock, if they are a program.
pub(super) fn needed(lock: &TestedLock, task: &Task) -> Vec<ClientAbility> {
    match lock.opener.program() {
        Some(_) => ClientAbility::needed(task, lock.info.promises.shared),
        None => Vec::new(),
    }
}

/// Checks it, if the clients are such a program.
///
/// # Errors
/// Fails with what cannot be, and what to give instead.
pub(super) fn check(setup: &Setup) -> Result<(), ProgramError> {
    if setup.world.client.is_none() {
        return Ok(());
    }
    let WorldSpec { store, server, given, .. } = &setup.world;
    if *store == StoreId::Custom && server.is_none() && given.is_empty() {
        return Err(ProgramError::Server(setup.lock.name().into()));
    }
    let clocks = [Ability::ClientClock, Ability::ClientClockRate];
    if let Some(ability) = setup.needs().into_iter().find(|it| clocks.contains(it)) {
        return Err(ProgramError::Clock(ability));
    }
    if setup.world.names_calls {
        return Err(ProgramError::Commands(setup.lock.name().into()));
    }
    Ok(())
}
