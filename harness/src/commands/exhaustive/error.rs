//! The mistakes in what was asked for of an exhaustive search.

use crate::nearest::Unlisted;
use crate::setup::SetupError;

/// The reason why a lock cannot be searched so. Each says what to give instead, in one line.
#[derive(Debug, thiserror::Error)]
pub enum EnumerationError {
    /// There is no such lock.
    #[error(transparent)]
    Unlisted(#[from] Unlisted),
    /// The lock wants more than the one server that there is.
    #[error(
        "{lock} wants {servers} servers, and an exhaustive search has one: search it without \
         --exhaustive"
    )]
    Servers {
        /// The name of the lock.
        lock: String,
        /// The servers that it wants.
        servers: u32,
    },
    /// The lock may have several holders, none of which is a reader.
    #[error(
        "{lock} is a semaphore, and an exhaustive search knows locks alone: search it without \
         --exhaustive"
    )]
    Permits {
        /// The name of the lock.
        lock: String,
    },
    /// A number is too small or too large.
    #[error("{flag} {given} is out of range for an exhaustive search: give 1 to {most}")]
    OutOfRange {
        /// The flag that sets the number.
        flag: &'static str,
        /// The number that was given.
        given: u64,
        /// The greatest number.
        most: u64,
    },
    /// There are too many faults.
    #[error("--faults {0} is out of range: give 0 to 4")]
    Faults(u32),
    /// The clients would have several workers.
    #[error(
        "an exhaustive search has one worker in each client, and the task {task} has {workers}: \
         search it without --exhaustive"
    )]
    Workers {
        /// The name of the task.
        task: &'static str,
        /// The workers in each client.
        workers: u32,
    },
    /// The lock does not go with the task.
    #[error(transparent)]
    Setup(#[from] SetupError),
}
