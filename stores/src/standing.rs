//! The standing of a real server among the others, by its own word.

use base::ServerStanding;

/// The question for it, and how the answer is read.
#[derive(Clone, Copy, Debug)]
pub struct StandingQuestion {
    /// The question, after which the server closes the connection.
    pub question: &'static [u8],
    /// Reads the answer. `None`: it is nothing to the others, or does not know.
    pub read: fn(&str) -> Option<ServerStanding>,
}
