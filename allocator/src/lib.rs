//! The allocator of the binary. A simulation allocates in small pieces, on each thread for itself;
//! this one is made for that.
//!
//! It is a crate of its own because what calls it is compiled in this crate: every allocation goes
//! through that, and the crate of the binary, which has the tests, is not optimised.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
