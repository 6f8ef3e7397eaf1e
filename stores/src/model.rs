//! What the simulator needs of a model: a server as a pure state machine, fed with packets and
//! ticks, answering with packets. It reads no clock but the one it is handed.

use base::{Data, Mono, Wall};

/// What a simulated server's clocks say at this moment.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Its wall clock.
    pub wall: Wall,
    /// Its monotonic clock.
    pub mono: Mono,
}

/// The other end of a simulated wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// A client's connection. Numbers are never used twice.
    Connection(u64),
    /// Another server of the same ensemble, by its number from 0.
    Server(u32),
}

/// What a server wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out<P> {
    /// Send this. Order is kept for each peer.
    Send(Peer, P),
    /// Close a client's connection.
    Close(u64),
}

/// A server of a store, as a pure state machine.
pub trait ServerModel {
    /// What travels on the wires, to and from clients and between servers.
    type Packet;

    /// Whether a packet between a client and a server carries a call of the lock, or the answer to
    /// one, and is no housekeeping of a client library's.
    fn is_call(packet: &Self::Packet) -> bool;

    /// A packet has arrived. The first one of a connection opens it.
    fn receive(
        &mut self,
        at: Clocks,
        from: Peer,
        packet: Self::Packet,
        out: &mut Vec<Out<Self::Packet>>,
    );

    /// A client's connection is gone.
    fn disconnected(&mut self, at: Clocks, connection: u64);

    /// Time has passed. Called when the server starts, and again at the time that the last call
    /// asked for (by the server's monotonic clock); `None` asks for nothing more.
    fn tick(&mut self, at: Clocks, out: &mut Vec<Out<Self::Packet>>) -> Option<Mono>;

    /// The server has crashed and starts again, with or without its data. All connections are
    /// gone; a `tick` follows.
    fn restart(&mut self, at: Clocks, data: Data);
}
