//! What stands on the agenda, and the connections that packets travel over.

use base::{Request, Response};

use crate::network::Order;

/// What travels over a connection.
pub enum Payload<P> {
    Data(P),
    Closed,
}

/// A thing to come.
pub enum Item<P> {
    ToServer { server: u32, connection: u64, payload: Payload<P> },
    ToClient { connection: u64, payload: Payload<P> },
    Between { from: u32, to: u32, packet: P },
    ServerTick { server: u32, life: u32 },
    LibraryTick { process: u32 },
    Timer { process: u32, timer: u64 },
    Request { process: u32, request: Request },
    Response { process: u32, response: Response },
}

/// A connection between a client process and a server.
pub struct Connection {
    pub process: u32,
    pub server: u32,
    /// The library's own number for it.
    pub local: u64,
    pub to_server: Order,
    pub to_client: Order,
    pub open: bool,
}
