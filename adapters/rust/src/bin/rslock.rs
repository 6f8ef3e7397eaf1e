//! rslock's `LockManager`, over all servers that there are (tried with 0.10.0 on redis 1.8.1).

#[path = "../picklock.rs"]
mod picklock;

use picklock::{Answer, Error, Run};
use rslock::{Lock, LockError, LockManager};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

/// A call that takes longer is given up.
const CALL_LIMIT: Duration = Duration::from_secs(2);

struct Rslock {
    runtime: Runtime,
    manager: LockManager,
    ttl: Duration,
}

impl Rslock {
    fn new(run: &Run) -> Self {
        let mut manager = LockManager::new(
            run.servers.iter().map(|server| format!("redis://{server}")).collect(),
        );
        manager.set_retry(1, Duration::from_millis(100));
        Self { runtime: Runtime::new().expect("threads"), manager, ttl: run.ttl }
    }
}

impl picklock::Lock for Rslock {
    type Grant = Lock;
    const CAN: &'static [&'static str] = &["timed", "extend", "held"];

    fn acquire(&self, key: &str, limit: Duration, _: bool) -> Answer<Lock> {
        self.runtime.block_on(async {
            let until = Instant::now() + limit;
            loop {
                match timeout(CALL_LIMIT, self.manager.lock(key.as_bytes(), self.ttl)).await? {
                    Ok(lock) => return Ok(lock),
                    Err(LockError::Unavailable) if Instant::now() < until => {
                        sleep(Duration::from_millis(100)).await
                    }
                    Err(LockError::Unavailable) => return Err(Error::Failed("unavailable".into())),
                    Err(error) => return Err(error.into()),
                }
            }
        })
    }

    fn extend(&self, lock: &mut Lock) -> Answer<()> {
        let extended = async { timeout(CALL_LIMIT, self.manager.extend(lock, self.ttl)).await };
        *lock = self.runtime.block_on(extended)??;
        Ok(())
    }

    fn held(&self, lock: &Lock) -> Answer<bool> {
        let asked = async { timeout(CALL_LIMIT, self.manager.is_freed(lock)).await };
        match self.runtime.block_on(asked)? {
            Ok(is_freed) => Ok(!is_freed),
            Err(LockError::RedisKeyMismatch | LockError::RedisKeyNotFound) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn release(&self, lock: Lock) -> Answer<()> {
        // It says nothing, whatever became of it.
        Ok(self
            .runtime
            .block_on(async { timeout(CALL_LIMIT, self.manager.unlock(&lock)).await })?)
    }
}

fn main() {
    picklock::serve(Rslock::new);
}
