//! What stands on the agenda, and the connections that packets travel over.

use base::{Request, Response};

use crate::network::Order;
use crate::timers::TimerId;

/// What travels over a connection.
pub enum Payload<P> {
    Data(P),
    Closed,
}

/// A thing to come.
pub enum Item<P> {
    ToServer {
        server: u32,
        connection: u64,
        payload: Payload<P>,
    },
    ToClient {
        connection: u64,
        payload: Payload<P>,
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
    Between {
        from: u32,
        to: u32,
        packet: P,
    },
    ServerTick {
        server: u32,
    },
    LibraryTick {
        process: u32,
    },
    /// The place of a timer in the agenda's order has come, which may be gone.
    Alarm {
        process: u32,
        timer: TimerId,
    },
    Timer {
        process: u32,
        timer: TimerId,
    },
    Request {
        process: u32,
        request: Request,
    },
    Response {
        process: u32,
        response: Response,
    },
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
