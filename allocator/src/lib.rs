//! The allocator of the binary. A simulation allocates in small pieces, on each thread for itself;
//! this one is made for that.
//!
//! The functions through which every allocation goes are compiled here. The crate of the binary is
//! not optimised, for the sake of the many tests in it (see the profiles in the workspace's
//! `Cargo.toml`); this one is.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
