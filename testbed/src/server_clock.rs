//! Sets the wall clock of a server, and measures by the server's own word how far it went.

use super::probe::ask;
use super::servers::StartedServer;
use super::testbed::Testbed;
use base::BackendError;
use std::time::Duration;
use tokio::time::timeout;

/// The longest time that a server may take. One that is paused meanwhile answers after that.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The microseconds by which a server's wall clock is ahead of the clock of the run: it told its time
/// at some moment between question and answer.
#[derive(Clone, Copy)]
struct Ahead {
    least: i64,
    most: i64,
}

impl<S: StartedServer> Testbed<S> {
    /// Sets the wall clock of a server. Returns the milliseconds by which it certainly went where it was
    /// sent; 0 if the server did not tell its time.
    pub async fn move_clock(&self, server: &S, nanos: i64) -> Result<u64, BackendError> {
        let before = self.ahead(server).await?;
        server.move_clock(nanos)?;
        let after = self.ahead(server).await?;
        Ok(before.zip(after).map_or(0, |(before, after)| moved(before, after, nanos)))
    }

    /// Asks a server for its time.
    async fn ahead(&self, server: &S) -> Result<Option<Ahead>, BackendError> {
        let clock = self.store.settable_clock().map_err(|why| BackendError(why.into()))?;
        let Ok(address) = server.address() else { return Ok(None) };
        let micros = || (self.now().nanos() / 1_000) as i64;
        let asked = micros();
        let answer = timeout(ANSWER_LIMIT, ask(address, clock.question)).await;
        let told = answer.ok().and_then(Result::ok).and_then(|answer| (clock.micros)(&answer));
        let answered = micros();
        Ok(told.map(|told| Ahead { least: told - answered, most: told - asked }))
    }
}

/// The milliseconds by which a clock that was set so far went in that direction, at the least.
fn moved(before: Ahead, after: Ahead, nanos: i64) -> u64 {
    let micros = if nanos < 0 { before.least - after.most } else { after.least - before.most };
    micros.max(0) as u64 / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_counts_as_moved() {
        let ahead = |least, most| Ahead { least, most };
        let there = ahead(1_000_000, 1_000_900);
        assert_eq!(moved(there, ahead(6_000_000, 6_000_800), 5_000_000_000), 4_999);
        assert_eq!(moved(there, ahead(-4_000_000, -3_999_100), -5_000_000_000), 4_999);
        assert_eq!(moved(there, ahead(1_000_100, 1_001_000), 5_000_000_000), 0, "it stood");
        assert_eq!(moved(there, ahead(-4_000_000, -3_999_100), 5_000_000_000), 0, "it went back");
        assert_eq!(moved(there, ahead(5_000_000, 9_000_000), 5_000_000_000), 3_999, "slow answer");
    }
}
