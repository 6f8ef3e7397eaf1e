//! Locks on Redis, as a team has them in a crate of its own. They know nothing of picklock.

mod keeper;
mod lock;
mod majority;
pub mod mistakes;

pub use keeper::Keeper;
pub use lock::OwnLock;
pub use majority::MajorityLock;
