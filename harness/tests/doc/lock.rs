// The lock of the examples in the documentation of `picklock`, which include this file in the
// place of their reader's crate: nothing here may begin with `//!`.

use picklock::{AcquireError, Grant, Lock, Mode, ReleaseError, Removed, Site};
use redis::{AsyncCommands, cmd};
use std::time::Duration;

const COMPARE_AND_DELETE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// A lock on one server: free, or the value of its owner until its time is over.
pub struct MyLock {
    site: Site,
    owner: u64,
    /// False: whoever releases it frees whoever holds it.
    compares: bool,
}

impl MyLock {
    /// A lock that holds.
    pub fn new(site: Site) -> Self {
        Self { owner: site.random(), site, compares: true }
    }

    /// A lock with a mistake.
    #[allow(dead_code, reason = "for the examples of what fails")]
    pub fn careless(site: Site) -> Self {
        Self { compares: false, ..Self::new(site) }
    }
}

impl Lock for MyLock {
    async fn acquire(&mut self, _: Mode, patience: Duration) -> Result<Grant, AcquireError> {
        let until = self.site.monotonic() + patience;
        let mut set = cmd("SET");
        set.arg(self.site.key()).arg(self.owner).arg("NX");
        set.arg("PX").arg(self.site.ttl().as_millis() as u64);
        loop {
            match set.query_async(&mut self.site.connection(0)).await {
                Ok(Some(())) => return Ok(Grant::default()),
                Ok(None) if self.site.monotonic() < until => {
                    self.site.sleep(Duration::from_millis(50)).await;
                }
                Ok(None) => return Err(AcquireError::Failed("somebody else has it".into())),
                Err(error) => return Err(AcquireError::Unknown(error.to_string())),
            }
        }
    }

    async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
        let mut connection = self.site.connection(0);
        let (removed, of) = if self.compares {
            let mut free = cmd("EVAL");
            free.arg(COMPARE_AND_DELETE).arg(1).arg(self.site.key()).arg(self.owner);
            (free.query_async(&mut connection).await, Removed::Own)
        } else {
            (connection.del(self.site.key()).await, Removed::Any)
        };
        match removed {
            Ok(1) => Ok(of),
            Ok(_) => Err(ReleaseError::NotHeld("its time was over".into())),
            Err(error) => Err(ReleaseError::Unknown(error.to_string())),
        }
    }
}
