//! PostgreSQL: the statements that locks are made of, over sessions that are connections.

mod client;
#[cfg(any(test, feature = "real"))]
#[cfg(any(test, feature = "real"))]
pub mod conformance;
mod driver;
mod enumerable;
pub mod model;
#[cfg(feature = "real")]
mod observe;
#[cfg(feature = "real")]
pub mod outcome;
mod protocol;
#[cfg(feature = "real")]
mod real;
mod store;
#[cfg(feature = "real")]
mod wire_connection;

pub use client::{Client, Session};
pub use driver::PostgresDriver;
pub use model::Server;
pub use protocol::{
    Packet, Postgres, Refusal, Reply, Request, SessionId, SessionSettings, Signal, Statement,
};
#[cfg(feature = "real")]
pub use real::RealLink;
