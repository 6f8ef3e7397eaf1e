//! The suite against a real server, over plain sockets: the replies are compared as they stand on
//! the wire, whatever the client library would make of them.

#![expect(clippy::disallowed_methods, reason = "a real server's keys run out in real time")]

use super::{Modelled, Report, Subject, random, run};
use redis::{Cmd, Parser, Value};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A server that does not answer within this time has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Seeds of the random part, and how many commands each.
const SEEDS: std::ops::Range<u64> = 0..20;
const COMMANDS: usize = 500;

/// Runs the suite against the server at this address ("127.0.0.1:6379"), and then random commands
/// against it and the model side by side. It empties the server.
///
/// # Errors
/// When the server cannot be reached or stops answering.
pub fn real_arm(address: &str) -> io::Result<Report> {
    let mut real = Real { address: address.to_owned(), connections: BTreeMap::new() };
    let mut report = run(&mut real)?;
    for seed in SEEDS {
        random::compare(&mut Modelled::new(), &mut real, seed, COMMANDS, &mut report)?;
    }
    Ok(report)
}

struct Real {
    address: String,
    connections: BTreeMap<usize, (TcpStream, Parser)>,
}

impl Real {
    fn open(&self) -> io::Result<(TcpStream, Parser)> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok((stream, Parser::new()))
    }
}

impl Subject for Real {
    fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
        if !self.connections.contains_key(&connection) {
            let opened = self.open()?;
            self.connections.insert(connection, opened);
        }
        let Some((stream, parser)) = self.connections.get_mut(&connection) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        stream.write_all(&command.get_packed_command())?;
        parser.parse_value(stream).map_err(io::Error::other)
    }

    fn wait(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }
}
