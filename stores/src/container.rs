//! The container of a real server, as data. Whoever runs it needs to know nothing of the store.

/// The container of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The command, as `node.sh` takes it.
    pub command: Vec<String>,
    /// The variables that it finds in its environment.
    pub environment: Vec<(String, String)>,
    /// The port on which it serves clients.
    pub port: u16,
    /// The question that tells whether it serves.
    pub probe: Probe,
}

/// A question after which the server closes the connection, and what it answers once it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The bytes to send.
    pub send: &'static [u8],
    /// The texts of which an answer of a server that serves has one.
    pub expect: &'static [&'static str],
}
