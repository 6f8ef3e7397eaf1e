//! The model's arm.

use super::random::{peer, received, reply};
use super::{ConformanceSubject, Moments, run, run_restarts};
use crate::model::{Clocks, ServerModel};
use crate::redis::Server;
use crate::redis::script::Engine;
use base::{Data, Mono, WallTime};
use redis::{Cmd, Value};
use std::io;
use std::time::Duration;

/// The model, in virtual time.
pub struct Modelled {
    server: Server,
    clocks: Clocks,
    /// The replies that nobody has taken yet, each with its connection.
    pub(super) replies: Vec<(u64, Value)>,
}

impl Modelled {
    /// A server that has just started, empty.
    pub fn new() -> Self {
        let wall = WallTime::ZERO + Duration::from_secs(1_700_000_000);
        let (server, clocks) = (Server::new(Engine::new()), Clocks { wall, mono: Mono::ZERO });
        Self { server, clocks, replies: Vec::new() }
    }
}

impl ConformanceSubject for Modelled {
    fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
        self.send(connection, command)?;
        self.take(connection)?.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    fn send(&mut self, connection: usize, command: &Cmd) -> io::Result<()> {
        let replies = received(&mut self.server, self.clocks, connection, command);
        self.replies.extend(replies);
        Ok(())
    }

    fn take(&mut self, connection: usize) -> io::Result<Option<Value>> {
        let place = self.replies.iter().position(|(to, _)| *to == peer(connection));
        Ok(place.map(|place| self.replies.remove(place).1))
    }

    fn timed(&mut self, connection: usize, command: &Cmd) -> io::Result<(Moments, Value)> {
        let now = self.clocks.wall.millis() as i64;
        Ok(((now, now), self.call(connection, command)?))
    }

    fn restart(&mut self, data: Data) -> io::Result<()> {
        self.server.restart(self.clocks, data);
        Ok(())
    }

    fn hang_up(&mut self, connection: usize) {
        self.server.disconnected(self.clocks, peer(connection), &mut Vec::new());
    }

    fn wait(&mut self, duration: Duration) {
        self.clocks.wall = self.clocks.wall + duration;
        self.clocks.mono = self.clocks.mono + duration;
        let mut out = Vec::new();
        self.server.tick(self.clocks, &mut out);
        self.replies.extend(out.into_iter().filter_map(reply));
    }
}

#[test]
fn the_model_answers_as_redis_does() {
    let report = run(&mut Modelled::new());
    assert!(report.passed(1220), "{report}");
}

#[test]
fn the_model_crashes_as_redis_does() {
    let report = run_restarts(&mut Modelled::new());
    assert!(report.passed(42), "{report}");
}
