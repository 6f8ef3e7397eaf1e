//! The locks under test, one file each, and what clients do with them.

pub mod client;
pub mod locks;
mod tasks;

pub use locks::{
    BELOW_TTL, BEYOND_SESSION, LOCKS, LockSettings, LockSpec, On, Opens, ProgramLock, TestedLock,
    find, lock,
};
pub use tasks::{TASKS, task};
