//! The wall clock of a real server that can be set while it runs, as libfaketime does it.

use crate::Need;

/// The things to know of a store to set the wall clock of one of its servers, and to read it.
#[derive(Clone, Copy, Debug)]
pub struct SettableClock {
    /// The libraries that its process has to load before all others, in this order.
    pub libraries: &'static [Need],
    /// The question for the time, after which the server closes the connection.
    pub question: &'static [u8],
    /// Reads the microseconds since 1970 from the answer. `None`: that is no time.
    pub micros: fn(&str) -> Option<i64>,
}

/// The library that tells a process another time.
pub const FAKETIME: Need = Need { what: "faketime/libfaketimeMT.so.1", package: "faketime" };
