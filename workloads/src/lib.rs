//! The locks under test, one file each, and what clients do with them.

pub mod client;
pub mod locks;
pub mod task;

pub use locks::{LOCKS, LockSpec, Open, Settings, find};
