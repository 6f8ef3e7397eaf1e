//! The interface of client libraries to the simulator: a pure state machine between the client's
//! calls and the wires to its servers. It leaves results where the client's futures wait for them.

use base::{Mono, Rng};
use std::rc::Rc;
use std::time::Duration;
use stores::model::ServerModel;

use crate::machine::Machine;

/// An action that a library asks for. Connection numbers are its own.
#[derive(Clone, Debug)]
pub enum Do<P> {
    /// Connect to a server.
    Open {
        /// The number that it gives to the connection.
        connection: u64,
        /// The number of the server, from 0.
        server: usize,
    },
    /// Close a connection.
    Close {
        /// The number of the connection.
        connection: u64,
    },
    /// Send a packet.
    Send {
        /// The connection to send it over.
        connection: u64,
        /// The packet to send.
        packet: P,
    },
}

/// A client library, as a pure state machine. Its times are readings of its machine's monotonic
/// clock.
pub trait Library {
    /// A packet on a connection between a client and a server.
    type Packet;

    /// The client starts.
    fn start(&mut self, at: Mono, out: &mut Vec<Do<Self::Packet>>);

    /// The client's task has run: it may have left calls.
    fn calls(&mut self, at: Mono, out: &mut Vec<Do<Self::Packet>>);

    /// A packet has arrived.
    fn receive(
        &mut self,
        at: Mono,
        connection: u64,
        packet: Self::Packet,
        out: &mut Vec<Do<Self::Packet>>,
    );

    /// A connection was closed by the other end, or broke.
    fn closed(&mut self, at: Mono, connection: u64, out: &mut Vec<Do<Self::Packet>>);

    /// The server has not answered yet: what is sent over this connection waits until it is opened.
    fn waits(&mut self, _connection: u64) {}

    /// The server has answered: what waited has left.
    fn opened(&mut self, _connection: u64) {}

    /// A connection was never made: nothing that was to go over it has left.
    fn refused(&mut self, at: Mono, connection: u64, out: &mut Vec<Do<Self::Packet>>) {
        self.closed(at, connection, out);
    }

    /// The time that it asked for has come.
    fn tick(&mut self, at: Mono, out: &mut Vec<Do<Self::Packet>>);

    /// Returns the time at which it wants to be ticked; `None`: not at all.
    fn deadline(&self) -> Option<Mono>;

    /// The same when a tick makes it connect again.
    fn connects_at(&self) -> Option<Mono> {
        None
    }
}

/// The settings of a library at its creation.
pub struct Settings {
    /// The client's machine.
    pub machine: Rc<Machine>,
    /// The number of servers.
    pub servers: usize,
    /// The session time-out, for stores that have sessions.
    pub ttl: Duration,
    /// The longest time a call may take, for stores whose calls time out.
    pub call_timeout: Duration,
    /// The library's own randomness.
    pub rng: Rng,
}

/// A store in the simulator: its server model and its client library.
pub trait SimStore {
    /// The model of one server.
    type Server: ServerModel;
    /// The client library.
    type Library: Library<Packet = <Self::Server as ServerModel>::Packet>;
    /// The interface that the client's lock calls.
    type Link: ?Sized;

    /// Makes a server.
    fn server(&self, number: u32, servers: u32) -> Self::Server;

    /// Makes a client's library and the link in front of it.
    fn client(&self, settings: Settings) -> (Self::Library, Rc<Self::Link>);
}
