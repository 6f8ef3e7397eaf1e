//! redlock's `RedLock`, over all servers that there are (tried with 2.0.0 on redis 0.23.5).

#[path = "../picklock.rs"]
mod picklock;

use picklock::{Answer, Error, Run};
use redlock::RedLock;
use std::time::{Duration, Instant};

struct Redlock {
    manager: &'static RedLock,
    ttl_ms: usize,
}

impl Redlock {
    fn new(run: &Run) -> Self {
        let mut manager =
            RedLock::new(run.servers.iter().map(|server| format!("redis://{server}")).collect());
        manager.set_retry(1, 100);
        Self { manager: Box::leak(Box::new(manager)), ttl_ms: run.ttl.as_millis() as usize }
    }
}

impl picklock::Lock for Redlock {
    type Grant = redlock::Lock<'static>;
    const CAN: &'static [&'static str] = &["timed"];

    fn acquire(&self, key: &str, limit: Duration, _: bool) -> Answer<Self::Grant> {
        let until = Instant::now() + limit;
        loop {
            match self.manager.lock(key.as_bytes(), self.ttl_ms) {
                Ok(Some(lock)) => return Ok(lock),
                Ok(None) if Instant::now() >= until => {
                    return Err(Error::Failed("not granted".into()));
                }
                Err(error) if Instant::now() >= until => return Err(error.into()),
                Ok(None) => {}
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn release(&self, lock: Self::Grant) -> Answer<()> {
        self.manager.unlock(&lock); // It says nothing, whatever became of it.
        Ok(())
    }
}

fn main() {
    picklock::serve(Redlock::new);
}
