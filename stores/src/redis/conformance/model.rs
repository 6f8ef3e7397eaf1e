//! The model's arm.

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
}

impl Modelled {
    /// A server that has just started, empty.
    pub fn new() -> Self {
        let wall = WallTime::ZERO + Duration::from_secs(1_700_000_000);
        Self { server: Server::new(Engine::new()), clocks: Clocks { wall, mono: Mono::ZERO } }
    }
}

impl ConformanceSubject for Modelled {
    fn call(&mut self, connection: usize, command: &Cmd) -> io::Result<Value> {
        Ok(self.server.execute_on(connection as u64 + 1, self.clocks.wall, command))
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
        self.server.disconnected(self.clocks, connection as u64 + 1, &mut Vec::new());
    }

    fn wait(&mut self, duration: Duration) {
        self.clocks.wall = self.clocks.wall + duration;
        self.clocks.mono = self.clocks.mono + duration;
        self.server.tick(self.clocks, &mut Vec::new());
    }
}

#[test]
fn the_model_answers_as_redis_does() {
    let report = run(&mut Modelled::new());
    assert!(report.passed(962), "{report}");
}

#[test]
fn the_model_crashes_as_redis_does() {
    let report = run_restarts(&mut Modelled::new());
    assert!(report.passed(16), "{report}");
}
