//! The suite against a real server, over plain sockets: the replies are compared as they stand on
//! the wire, whatever the client library would make of them.

#![expect(clippy::disallowed_methods, reason = "a real server's keys run out in real time")]

use super::{Compared, ConformanceSubject, Moments, random, replicas, run, run_restarts};
use base::Data;
use redis::{Cmd, Parser, Value};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::Duration;

/// A server that does not answer within this time has failed.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// The connection that asks for the time.
const CLOCK: usize = usize::MAX;

/// Runs the suite against the server at this address ("127.0.0.1:6379"), and then the random
/// sequences of these seeds against it and the model side by side. It empties the server.
///
/// # Errors
/// Fails when the server cannot be reached.
pub fn real_arm(address: &str, seeds: Range<u64>) -> io::Result<Compared> {
    let mut real = RealRedis::new(&[address]);
    // Replies do not depend on the disk, and need not wait for it.
    real.call(0, redis::cmd("CONFIG").arg("SET").arg("appendfsync").arg("no"))?;
    let mut report = run(&mut real);
    random::compare(&mut real, seeds, &mut report);
    Ok(report)
}

/// Runs the cases of a pair against the servers at these addresses, which it empties; the second
/// finds the first at `master` ("10.0.0.1 6379").
///
/// # Errors
/// Fails when the first server cannot be reached.
pub fn replicas_arm(first: &str, second: &str, master: &str) -> io::Result<Compared> {
    let mut real = RealRedis::new(&[first, second]);
    // Else it waits five seconds for more replicas before it sends them its data.
    let mut set = redis::cmd("CONFIG");
    real.call(0, set.arg("SET").arg("repl-diskless-sync-delay").arg("0"))?;
    Ok(replicas::run(&mut real, master))
}

/// A function that crashes the server, starts it again, with its data or without, and returns its
/// new address.
pub type Restart<'a> = &'a mut dyn FnMut(Data) -> io::Result<String>;

/// Runs the cases of a server that crashes against the one at this address, which it empties.
pub fn restarts_arm(address: &str, restart: Restart<'_>) -> Compared {
    run_restarts(&mut Restarted { real: RealRedis::new(&[address]), restart })
}

struct Restarted<'a> {
    real: RealRedis,
    restart: Restart<'a>,
}

impl ConformanceSubject for Restarted<'_> {
    fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
        self.real.call(connection, command)
    }

    fn timed(&mut self, connection: usize, command: &Cmd) -> io::Result<(Moments, Value)> {
        self.real.timed(connection, command)
    }

    fn send(&mut self, connection: usize, command: &Cmd) -> io::Result<()> {
        self.real.send(connection, command)
    }

    fn take(&mut self, connection: usize) -> io::Result<Option<Value>> {
        self.real.take(connection)
    }

    fn restart(&mut self, data: Data) -> io::Result<()> {
        self.real = RealRedis::new(&[&(self.restart)(data)?]);
        Ok(())
    }

    fn hang_up(&mut self, connection: usize) {
        self.real.forget(connection);
    }

    fn wait(&mut self, duration: Duration) {
        self.real.wait(duration);
    }
}

pub(super) struct RealRedis {
    /// Connection n leads to address n; those beyond the last lead there, too.
    addresses: Vec<String>,
    connections: BTreeMap<usize, (TcpStream, Parser)>,
}

impl RealRedis {
    pub(super) fn new(addresses: &[&str]) -> Self {
        let addresses = addresses.iter().map(|&address| address.to_owned()).collect();
        Self { addresses, connections: BTreeMap::new() }
    }

    /// Closes a connection, so that the next call opens it anew.
    pub(super) fn forget(&mut self, connection: usize) {
        self.connections.remove(&connection);
    }

    fn open(&self, connection: usize) -> io::Result<(TcpStream, Parser)> {
        let last = self.addresses.len() - 1;
        let stream = TcpStream::connect(&self.addresses[connection.min(last)])?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        Ok((stream, Parser::new()))
    }

    /// A connection, which is opened when it is first used.
    fn opened(&mut self, connection: usize) -> io::Result<&mut (TcpStream, Parser)> {
        let opened = match self.connections.remove(&connection) {
            Some(opened) => opened,
            None => self.open(connection)?,
        };
        Ok(self.connections.entry(connection).or_insert(opened))
    }

    /// The time by the server's clock. A connection of its own asks: others may be in transactions.
    fn now(&mut self) -> io::Result<i64> {
        millis(&self.call(CLOCK, &redis::cmd("TIME"))?)
    }
}

/// The answer to TIME, in milliseconds.
fn millis(time: &Value) -> io::Result<i64> {
    let number = |value: &Value| match value {
        Value::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse::<i64>().ok(),
        _ => None,
    };
    let both = match time {
        Value::Array(parts) => parts.iter().map(number).collect::<Option<Vec<i64>>>(),
        _ => None,
    };
    match both.as_deref() {
        Some([seconds, micros]) => Ok(seconds * 1000 + micros / 1000),
        _ => Err(io::Error::other(format!("TIME answered {time:?}"))),
    }
}

impl ConformanceSubject for RealRedis {
    fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
        self.send(connection, command)?;
        let (stream, parser) = self.opened(connection)?;
        parser.parse_value(stream).map_err(io::Error::other)
    }

    fn send(&mut self, connection: usize, command: &Cmd) -> io::Result<()> {
        let (stream, _) = self.opened(connection)?;
        stream.write_all(&command.get_packed_command())
    }

    fn take(&mut self, connection: usize) -> io::Result<Option<Value>> {
        // The server answers one question after the other, but sends the answers of one turn in any
        // order: when it has answered two more, all that it has answered before is here.
        self.now()?;
        self.now()?;
        let (stream, parser) = self.opened(connection)?;
        stream.set_nonblocking(true)?;
        // It may have read more than one reply before.
        let taken = parser.parse_value(&mut *stream);
        stream.set_nonblocking(false)?;
        match taken {
            Ok(reply) => Ok(Some(reply)),
            Err(error) if error.is_timeout() => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn timed(&mut self, connection: usize, command: &Cmd) -> io::Result<(Moments, Value)> {
        let before = self.now()?;
        let value = self.call(connection, command)?;
        Ok(((before, self.now()?), value))
    }

    fn hang_up(&mut self, connection: usize) {
        self.forget(connection);
        // The server has noticed when it answers. If it does not, the next call shows that, too.
        let _ = self.now();
    }

    fn wait(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }
}
