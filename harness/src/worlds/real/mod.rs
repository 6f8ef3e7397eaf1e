//! The worlds of real servers that need no containers.

pub mod given;
pub mod local;
pub mod toxiproxy;
