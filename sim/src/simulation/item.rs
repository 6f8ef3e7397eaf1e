//! Items in the event queue, what they bring, and the connections that packets travel over.

use base::{Node, Response};
use slab::Slab;
use std::num::NonZeroU32;

use crate::network::PacketOrder;
use crate::timers::TimerId;

/// The content of a message over a connection: the packet, or the place where it is kept on its
/// way.
#[derive(Clone, Copy)]
pub enum Payload<P> {
    Data(P),
    Closed,
}

/// A thing to come. It goes from hand to hand and moves when something is put before it, so it fits
/// into two registers: what it brings is kept in [`InFlight`] and moved once.
#[derive(Clone, Copy)]
pub enum Item {
    ToServer {
        connection: u64,
        payload: Payload<InFlightPlace>,
    },
    ToClient {
        connection: u64,
        payload: Payload<InFlightPlace>,
    },
    /// A connection broke under the server.
    Gone {
        server: u32,
        connection: u64,
    },
    /// A connection broke under the client, or was refused: by the library's number for it.
    Broken {
        process: u32,
        local: u64,
    },
    Refused {
        process: u32,
        local: u64,
    },
    /// A client's machine asks again for a connection that nobody has answered.
    Connect {
        process: u32,
        local: u64,
    },
    Between {
        from: u32,
        to: u32,
        packet: InFlightPlace,
    },
    ServerTick {
        server: u32,
    },
    LibraryTick {
        process: u32,
    },
    /// The place of a timer in the event queue's order has come, which may be gone.
    Alarm {
        process: u32,
        timer: TimerId,
    },
    Timer {
        process: u32,
        timer: TimerId,
    },
    /// The next request to a client, which waits at its machine.
    Request {
        process: u32,
    },
    Response {
        process: u32,
        response: InFlightPlace,
    },
}

const _: () = assert!(size_of::<Item>() == 16);

/// The place where something in flight is kept.
#[derive(Clone, Copy)]
pub struct InFlightPlace(NonZeroU32);

/// Packets or responses in flight.
pub struct Pieces<T>(Slab<T>);

impl<T> Pieces<T> {
    pub fn put(&mut self, piece: T) -> InFlightPlace {
        let place = self.0.insert(piece) as u32 + 1;
        InFlightPlace(NonZeroU32::new(place).expect("no more than four billion pieces"))
    }

    /// Each place is good for one piece.
    pub fn take(&mut self, place: InFlightPlace) -> T {
        self.0.remove(place.0.get() as usize - 1)
    }
}

/// Packets and responses on their way.
pub struct InFlight<P> {
    pub packets: Pieces<P>,
    pub responses: Pieces<Response>,
}

impl<P> InFlight<P> {
    pub fn new() -> Self {
        Self { packets: Pieces(Slab::new()), responses: Pieces(Slab::new()) }
    }

    /// Keeps a packet for the time that it is on its way.
    pub fn load(&mut self, payload: Payload<P>) -> Payload<InFlightPlace> {
        match payload {
            Payload::Data(packet) => Payload::Data(self.packets.put(packet)),
            Payload::Closed => Payload::Closed,
        }
    }

    /// Drops what an item brings, which has nobody to go to.
    pub fn discard(&mut self, item: Item) {
        match item {
            Item::ToServer { payload: Payload::Data(packet), .. }
            | Item::ToClient { payload: Payload::Data(packet), .. }
            | Item::Between { packet, .. } => drop(self.packets.take(packet)),
            Item::Response { response, .. } => drop(self.responses.take(response)),
            _ => {}
        }
    }
}

/// A connection between a client process and a server.
pub struct Connection {
    pub process: u32,
    /// The client of that process, by number.
    pub client: u32,
    pub server: u32,
    /// The library's own number for it.
    pub local: u64,
    pub to_server: PacketOrder,
    pub to_client: PacketOrder,
    pub line: ConnectionState,
}

/// The state of a connection.
pub enum ConnectionState {
    /// Its client has asked for it and was not answered: what it wants to send has not left.
    Opening(Vec<InFlightPlace>),
    /// Both ends have it.
    Open,
    /// Its server's machine was gone: whatever comes over it now is answered by a reset.
    Forgotten,
    /// The server has closed it and notified the client.
    Closed,
}

impl Connection {
    /// Returns true if its client has it, and no server has reported its end.
    pub fn is_open(&self) -> bool {
        matches!(self.line, ConnectionState::Open)
    }

    /// The client's end and the server's.
    pub fn ends(&self) -> (Node, Node) {
        (Node::Client(self.client), Node::Server(self.server))
    }
}

/// All connections, by their numbers, which count up from 1 and are never used twice.
#[derive(Default)]
pub struct Connections(Vec<Option<Connection>>);

impl Connections {
    /// Adds one; says its number.
    pub fn insert(&mut self, connection: Connection) -> u64 {
        self.0.push(Some(connection));
        self.0.len() as u64
    }

    pub fn get(&self, number: u64) -> Option<&Connection> {
        self.0.get(number as usize - 1)?.as_ref()
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Connection> {
        self.0.get_mut(number as usize - 1)?.as_mut()
    }

    pub fn remove(&mut self, number: u64) -> Option<Connection> {
        self.0[number as usize - 1].take()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Connection)> {
        let numbered = self.0.iter().enumerate();
        numbered.filter_map(|(index, c)| Some((index as u64 + 1, c.as_ref()?)))
    }
}
