//! The interface of a model to the simulator: a server as a pure state machine, fed with packets
//! and ticks, answering with packets. It reads no clock but the one it is handed.

use base::{Data, Mono, ServerStanding, WallTime};
use smallvec::SmallVec;

/// The readings of a simulated server's clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// The server's wall clock.
    pub wall: WallTime,
    /// The server's monotonic clock.
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

/// An action that a server asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out<P> {
    /// Send this packet. Order is kept for each peer.
    Send(Peer, P),
    /// Close a client's connection.
    Close(u64),
}

/// A change of a thing in the store, as the model records it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Noted {
    /// The name of the thing.
    pub object: Name,
    /// The kind of change.
    pub what: What,
    /// The number of the transaction, for members of an ensemble, which all apply the same changes.
    /// A change is noted once, by the member that comes first.
    pub zxid: Option<i64>,
}

/// The name of a thing in the store, in place where it is short.
pub type Name = SmallVec<[u8; 32]>;

/// A kind of change of something in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The thing was made or overwritten.
    Written(By),
    /// Its own part was put into it, or taken out, of what several share: an element of a list, a
    /// member of a set, a field of a hash.
    Shared(By),
    /// A request removed it.
    Deleted(By),
    /// A request removed it because its time was over, by the score that it had.
    Overdue(By),
    /// The thing's time to live was over.
    Expired,
    /// The server needed its room.
    Evicted,
    /// This session began; the thing is of no interest.
    SessionBegan(i64),
    /// This session ended, and the thing with it; of a session that owned nothing, no thing is
    /// named.
    SessionEnded(i64),
    /// The server lost its data.
    Wiped,
    /// The server lost what came later, and the thing stands again as it was before.
    Restored,
}

/// The client that asked for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// The one whose packet the server has just received.
    Caller,
    /// The one with this session.
    Session(i64),
}

/// A server of a store, as a pure state machine.
pub trait ServerModel {
    /// A packet on a connection, to or from a client or between servers.
    type Packet;

    /// Returns true if a packet between a client and a server carries a call of the lock, or the
    /// answer to one, and is not a client library's own housekeeping.
    fn is_call(packet: &Self::Packet) -> bool;

    /// Handles a packet that has arrived. The first one of a connection opens it.
    fn receive(
        &mut self,
        at: Clocks,
        from: Peer,
        packet: Self::Packet,
        out: &mut Vec<Out<Self::Packet>>,
    );

    /// Handles the loss of a client's connection.
    fn disconnected(&mut self, at: Clocks, connection: u64, out: &mut Vec<Out<Self::Packet>>);

    /// Handles the passing of time. Called when the server starts, and again at the time that the
    /// last call asked for (by the server's monotonic clock); `None` asks for nothing more.
    fn tick(&mut self, at: Clocks, out: &mut Vec<Out<Self::Packet>>) -> Option<Mono>;

    /// Returns the time at which it is to be ticked, where what it receives can make that sooner
    /// than the last tick asked for.
    fn due(&self) -> Option<Mono> {
        None
    }

    /// Ends the server's connections to other servers, as the machine of a killed process does. (It
    /// ends those to clients, too, which is not for the model to do.)
    fn hang_up(&self, _out: &mut Vec<Out<Self::Packet>>) {}

    /// Starts the server again after a crash, with or without its data. All connections are gone; a
    /// `tick` follows.
    fn restart(&mut self, at: Clocks, data: Data);

    /// Fills the memory with junk, and returns the number of things that were evicted for it. A
    /// store that evicts nothing has room.
    fn fill_memory(&mut self) -> u64 {
        0
    }

    /// Takes out what is left of the junk.
    fn take_out_junk(&mut self) {}

    /// Moves to `into` the changes of what is stored since the last call, in order.
    fn take_journal(&mut self, into: &mut Vec<Noted>);

    /// Returns the server that stands for the store from now on, if this one has just made it so,
    /// in place of another.
    fn take_appointed(&mut self) -> Option<u32> {
        None
    }

    /// Returns what it is to the other servers now, if it is anything to them.
    fn standing(&self) -> Option<ServerStanding> {
        None
    }

    /// Notes what is lost, and what comes back, because the store goes on with this server's data
    /// and no longer with another's.
    fn succeeds(&self, _before: &Self, _into: &mut Vec<Noted>) {}

    /// The present contents of an ensemble's store, after a change of leader or of data: each thing
    /// with the session that owns it (0 for none). `None`: nothing but the journal is needed.
    fn restated(&mut self) -> Option<Vec<(Name, i64)>> {
        None
    }
}
