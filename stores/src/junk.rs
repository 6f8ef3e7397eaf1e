//! Junk that fills the memory of a real server until it evicts what clients have stored.

/// The commands that fill a server's memory and empty it again, as bytes for a connection of its
/// own. After each list of commands the server closes the connection.
#[derive(Clone, Copy, Debug)]
pub struct Junk {
    /// The commands that fill the memory, with questions about what became of that.
    pub fill: fn() -> Vec<u8>,
    /// Reads from the answers how many items were evicted that are no junk. `None`: the server did
    /// not answer everything.
    pub evicted: fn(&str) -> Option<u64>,
    /// The commands that take out what is left of the junk.
    pub take_out: fn() -> Vec<u8>,
}
