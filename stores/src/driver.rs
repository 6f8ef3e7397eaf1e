//! Client libraries as pure state machines: between the calls of a lock and the connections to the
//! servers. They read no clock but the one that they are handed, and do no I/O.
//!
//! A store whose clients have sessions brings its own [`Driver`]; the others share [`CallDriver`].

use base::{Answer, CallError, Mono, Protocol, server_and_connection};

/// The reason of a call that nobody has answered in its time.
const NO_REPLY: &str = "no reply in time";
/// The reason of a call whose connection was closed before an answer.
const CLOSED: &str = "connection closed";

/// Returns true if this is why a call has no reply at all, and not what a server has replied.
pub fn is_without_reply(why: &str) -> bool {
    [NO_REPLY, CLOSED].contains(&why)
}

/// An action that a driver asks for. Connection numbers are its own.
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

/// Everything that a driver puts out.
pub struct Outbox<D: Driver> {
    /// The actions that it asks for, in order.
    pub todo: Vec<Do<D::Packet>>,
    /// The calls that are answered, by their numbers.
    pub answers: Vec<(u64, Answer<D::Protocol>)>,
    /// The signals for the lock, in order.
    pub signals: Vec<SignalOf<D>>,
    /// The messages over further connections, each with the connection's name; `None` where it has
    /// ended.
    pub pushed: Vec<(usize, Option<SignalOf<D>>)>,
}

/// A signal of a driver's store.
pub type SignalOf<D> = <<D as Driver>::Protocol as Protocol>::Signal;

/// A request of a driver's store.
pub type RequestOf<D> = <<D as Driver>::Protocol as Protocol>::Request;

/// A refusal by the servers of a driver's store.
pub type RefusalOf<D> = <<D as Driver>::Protocol as Protocol>::Refusal;

impl<D: Driver> Default for Outbox<D> {
    fn default() -> Self {
        Self { todo: Vec::new(), answers: Vec::new(), signals: Vec::new(), pushed: Vec::new() }
    }
}

/// A client library, as a pure state machine. Its times are readings of its machine's monotonic
/// clock.
pub trait Driver: Sized + 'static {
    /// The protocol of the store.
    type Protocol: Protocol;
    /// A packet on a connection between a client and a server.
    type Packet;

    /// True if a call that takes too long is given up.
    const CALLS_TIME_OUT: bool;

    /// Starts the client.
    fn start(&mut self, _at: Mono, _out: &mut Outbox<Self>) {}

    /// Makes a call, whose number is greater than any before.
    fn call(
        &mut self,
        at: Mono,
        call: u64,
        server: usize,
        request: RequestOf<Self>,
        out: &mut Outbox<Self>,
    );

    /// Returns the error of a call that has taken too long.
    fn too_late(&self, _call: u64) -> CallError<RefusalOf<Self>> {
        CallError::Unknown(NO_REPLY.into())
    }

    /// Gives up a call whose answer nobody waits for any more.
    fn forget(&mut self, _call: u64, _out: &mut Outbox<Self>) {}

    /// Closes a further connection.
    fn hang_up(&mut self, _named: usize, _out: &mut Outbox<Self>) {}

    /// Opens a new identity with the servers, if the old one has ended.
    fn renew(&mut self, _at: Mono, _out: &mut Outbox<Self>) {}

    /// Handles a packet that has arrived.
    fn receive(&mut self, at: Mono, connection: u64, packet: Self::Packet, out: &mut Outbox<Self>);

    /// Handles the end of a connection: the other end closed it, or it broke.
    fn closed(&mut self, at: Mono, connection: u64, out: &mut Outbox<Self>);

    /// Handles the end of a connection that was never made: nothing that was to go over it has
    /// left.
    fn refused(&mut self, at: Mono, connection: u64, out: &mut Outbox<Self>) {
        self.closed(at, connection, out);
    }

    /// Notes that the server has not answered yet: what is sent over this connection waits until it
    /// is opened.
    fn waits(&mut self, _connection: u64) {}

    /// Notes that the server has answered: what waited has left.
    fn opened(&mut self, _connection: u64) {}

    /// Handles the coming of the time that it asked for.
    fn tick(&mut self, _at: Mono, _out: &mut Outbox<Self>) {}

    /// Returns the time at which it wants to be ticked; `None`: not at all.
    fn deadline(&self) -> Option<Mono> {
        None
    }

    /// Returns the same when a tick makes it connect again.
    fn connects_at(&self) -> Option<Mono> {
        None
    }
}

/// A store whose servers answer each request with one reply, and say nothing else but messages over
/// further connections.
pub trait RequestReply: Protocol<Request: Clone> {
    /// A packet on a connection between a client and a server.
    type Packet;
    /// A reply before it is judged.
    type Raw;

    /// Returns the packet that carries a request.
    fn packet(call: u64, request: Self::Request) -> Self::Packet;

    /// Returns the number of the call that a packet answers, and the reply.
    ///
    /// # Errors
    /// Returns any other packet.
    fn reply(packet: Self::Packet) -> Result<(u64, Self::Raw), Self::Packet>;

    /// Reads a packet that nobody asked for.
    fn pushed(_packet: Self::Packet) -> Option<Self::Signal> {
        None
    }

    /// Judges a reply: it may be a refusal.
    fn judge(request: &Self::Request, reply: Self::Raw) -> Answer<Self>
    where
        Self: Sized;

    /// Returns the refusal of a client library, for this reason.
    fn refusal(reason: String) -> Self::Refusal;
}

/// The driver of the stores whose servers answer each request with one reply: one connection a
/// server and those that calls name beside it, each opened by the first call and again by the call
/// after it was closed. It never sends a
/// request twice; the late reply to a call that was given up is dropped.
pub struct CallDriver<P: RequestReply> {
    /// The calls that are not answered. A client has few at a time.
    open: Vec<DriverCall<P::Request>>,
    servers: usize,
    /// The open connections, each with the name that calls give to it.
    connections: Vec<(usize, u64)>,
    /// The connections among them that no server has answered yet.
    unanswered: Vec<u64>,
    next_connection: u64,
}

struct DriverCall<R> {
    id: u64,
    connection: u64,
    request: R,
}

impl<P: RequestReply> CallDriver<P> {
    /// Makes a driver for so many servers.
    pub fn to(servers: usize) -> Self {
        Self {
            open: Vec::new(),
            servers,
            connections: Vec::new(),
            unanswered: Vec::new(),
            next_connection: 0,
        }
    }

    /// Forgets a connection: the next call opens another.
    fn drop_connection(&mut self, connection: u64) {
        self.unanswered.retain(|known| *known != connection);
        self.connections.retain(|(_, open)| *open != connection);
    }

    /// Returns the connection with this name, if it is open.
    fn named(&self, named: usize) -> Option<u64> {
        let open = self.connections.iter().find(|(name, _)| *name == named);
        open.map(|(_, connection)| *connection)
    }

    /// Opens a connection.
    fn open(&mut self, named: usize, out: &mut Outbox<Self>) -> u64 {
        self.next_connection += 1;
        let (server, _) = server_and_connection(named);
        out.todo.push(Do::Open { connection: self.next_connection, server });
        self.connections.push((named, self.next_connection));
        self.next_connection
    }

    /// Ends all calls on a connection that is no more.
    fn end(&mut self, connection: u64, error: &CallError<P::Refusal>, out: &mut Outbox<Self>) {
        let named = self.connections.iter().find(|(_, open)| *open == connection);
        let is_further = |(name, _): &&(usize, u64)| server_and_connection(*name).1 > 0;
        out.pushed.extend(named.filter(is_further).map(|(name, _)| (*name, None)));
        self.drop_connection(connection);
        let lost = self.open.extract_if(.., |call| call.connection == connection);
        out.answers.extend(lost.map(|call| (call.id, Err(error.clone()))));
    }
}

impl<P: RequestReply> Driver for CallDriver<P> {
    type Protocol = P;
    type Packet = P::Packet;

    const CALLS_TIME_OUT: bool = true;

    fn call(
        &mut self,
        _at: Mono,
        id: u64,
        named: usize,
        request: P::Request,
        out: &mut Outbox<Self>,
    ) {
        let (server, _) = server_and_connection(named);
        if server >= self.servers {
            return out.answers.push((id, Err(no_server::<P>(server))));
        }
        let connection = self.named(named).unwrap_or_else(|| self.open(named, out));
        out.todo.push(Do::Send { connection, packet: P::packet(id, request.clone()) });
        self.open.push(DriverCall { id, connection, request });
    }

    fn too_late(&self, id: u64) -> CallError<P::Refusal> {
        let call = self.open.iter().find(|call| call.id == id);
        match call.is_some_and(|call| self.unanswered.contains(&call.connection)) {
            true => CallError::Refused(P::refusal("no connection in time".into())),
            false => CallError::Unknown(NO_REPLY.into()),
        }
    }

    fn forget(&mut self, id: u64, out: &mut Outbox<Self>) {
        let Some(place) = self.open.iter().position(|call| call.id == id) else { return };
        let connection = self.open.remove(place).connection;
        if self.unanswered.contains(&connection) {
            // A client has one call to a server under way at a time: nobody else waits for it.
            self.drop_connection(connection);
            out.todo.push(Do::Close { connection });
        }
    }

    fn hang_up(&mut self, named: usize, out: &mut Outbox<Self>) {
        if let Some(connection) = self.named(named) {
            self.drop_connection(connection);
            self.open.retain(|call| call.connection != connection);
            out.todo.push(Do::Close { connection });
        }
    }

    fn receive(&mut self, _at: Mono, connection: u64, packet: P::Packet, out: &mut Outbox<Self>) {
        let (id, reply) = match P::reply(packet) {
            Ok(answered) => answered,
            Err(packet) => {
                let named = self.connections.iter().find(|(_, open)| *open == connection);
                let pushed = P::pushed(packet).zip(named);
                return out.pushed.extend(pushed.map(|(it, (name, _))| (*name, Some(it))));
            }
        };
        if let Some(place) = self.open.iter().position(|call| call.id == id) {
            let call = self.open.remove(place);
            out.answers.push((id, P::judge(&call.request, reply)));
        }
    }

    fn closed(&mut self, _at: Mono, connection: u64, out: &mut Outbox<Self>) {
        self.end(connection, &CallError::Unknown(CLOSED.into()), out);
    }

    fn refused(&mut self, _at: Mono, connection: u64, out: &mut Outbox<Self>) {
        let refusal = P::refusal("connection refused".into());
        self.end(connection, &CallError::Refused(refusal), out);
    }

    fn waits(&mut self, connection: u64) {
        self.unanswered.push(connection);
    }

    fn opened(&mut self, connection: u64) {
        self.unanswered.retain(|known| *known != connection);
    }
}

/// Returns the error of a call to a server that does not exist, the same in both worlds.
pub fn no_server<P: RequestReply>(server: usize) -> CallError<P::Refusal> {
    CallError::Refused(P::refusal(format!("there is no server {server}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::{Packet, Redis};
    use base::further_connection;
    use redis::cmd;
    use std::rc::Rc;

    type Out = Outbox<CallDriver<Redis>>;

    /// The connections that are opened, each with its server, and those that are closed.
    fn opened_and_closed(out: &Out) -> (Vec<(u64, usize)>, Vec<u64>) {
        let (mut opened, mut closed) = (Vec::new(), Vec::new());
        for action in &out.todo {
            match action {
                Do::Open { connection, server } => opened.push((*connection, *server)),
                Do::Close { connection } => closed.push(*connection),
                Do::Send { .. } => {}
            }
        }
        (opened, closed)
    }

    #[test]
    fn each_name_has_a_connection_of_its_own() {
        let (mut driver, mut out) = (CallDriver::<Redis>::to(2), Out::default());
        let named = further_connection(1, 7);
        for (id, name) in [(1, 1), (2, named), (3, 1), (4, named)] {
            driver.call(Mono::ZERO, id, name, Rc::new(cmd("PING")), &mut out);
        }
        assert_eq!(opened_and_closed(&out), (vec![(1, 1), (2, 1)], vec![]));
        let push = Packet::Push(Box::new(redis::Value::Int(9)));
        driver.receive(Mono::ZERO, 2, push, &mut out);
        assert_eq!(out.pushed, [(named, Some(Box::new(redis::Value::Int(9))))]);
        driver.hang_up(named, &mut out);
        assert_eq!(opened_and_closed(&out).1, [2]);
        driver.call(Mono::ZERO, 5, further_connection(2, 1), Rc::new(cmd("PING")), &mut out);
        assert!(matches!(&out.answers[..], [(5, Err(CallError::Refused(_)))]), "no such server");
    }

    #[test]
    fn whoever_listens_to_a_connection_hears_of_its_end() {
        let (mut driver, mut out) = (CallDriver::<Redis>::to(1), Out::default());
        let named = further_connection(0, 1);
        for (id, name) in [(1, 0), (2, named)] {
            driver.call(Mono::ZERO, id, name, Rc::new(cmd("PING")), &mut out);
        }
        driver.closed(Mono::ZERO, 1, &mut out);
        assert!(out.pushed.is_empty(), "nobody listens to the server's own");
        driver.closed(Mono::ZERO, 2, &mut out);
        assert_eq!(out.pushed, [(named, None)]);
        assert_eq!(out.answers.len(), 2, "both calls end");
    }
}
