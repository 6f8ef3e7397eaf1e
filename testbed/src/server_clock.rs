//! Makes the wall clock of a server go wrong and right again, and measures by the server's own word
//! how far it went.

use super::probe::ask;
use super::servers::StartedServer;
use super::testbed::Testbed;
use super::wall_clock::true_ns;
use super::wrong_clock::{ANSWER_LIMIT, Lead, WrongClock};
use base::{BackendError, ClockChange};
use tokio::time::timeout;

/// The most by which a clock may be off after a change of its rate. The start of a process is not
/// known better at first.
const CLOSE_ENOUGH_NS: i64 = 1_000_000;

impl<S: StartedServer> Testbed<S> {
    /// Makes the wall clock of a server go wrong.
    pub async fn bend_clock(
        &self,
        server: &S,
        change: ClockChange,
    ) -> Result<WrongClock, BackendError> {
        let before = self.lead(server).await?;
        server.with_clock(Box::new(move |clock| clock.change(change, true_ns()))).await?;
        let after = self.lead(server).await?;
        let wrong = WrongClock::new(change, before, after, jumps_ns(server));
        self.settle_clock(server).await?;
        Ok(wrong)
    }

    /// Sets the clock right. Returns the microseconds by which it certainly went wrong; 0 if the
    /// server did not tell its time.
    pub async fn right_clock(&self, server: &S, wrong: WrongClock) -> Result<u64, BackendError> {
        let now = if wrong.has_rate() { self.lead(server).await? } else { None };
        let (moved, change) = (wrong.moved(now, jumps_ns(server)), wrong.change);
        server.with_clock(Box::new(move |clock| clock.undo(change, true_ns()))).await?;
        self.settle_clock(server).await?;
        Ok(moved)
    }

    /// Has a clock that runs at another rate run on from where it is to be: a rate counts from the
    /// start of the process, and when that was only the process itself can tell.
    pub async fn settle_clock(&self, server: &S) -> Result<(), BackendError> {
        if server.clock().is_none_or(|clock| !clock.has_rate()) {
            return Ok(());
        }
        let Some(lead) = self.lead(server).await? else { return Ok(()) };
        let Some(clock) = server.clock() else { return Ok(()) };
        let (now_ns, run_ns) = (true_ns(), self.now().nanos() as i64);
        let expected = clock.ahead_ns(now_ns) + now_ns - run_ns;
        let error = lead.middle_ns() - expected;
        if error.abs() > CLOSE_ENOUGH_NS {
            server.with_clock(Box::new(move |clock| clock.correct(error))).await?;
        }
        Ok(())
    }

    /// Asks a server for its time.
    async fn lead(&self, server: &S) -> Result<Option<Lead>, BackendError> {
        let clock = self.store.settable_clock().map_err(|why| BackendError(why.into()))?;
        let Ok(endpoint) = server.endpoint() else { return Ok(None) };
        let micros = || (self.now().nanos() / 1_000) as i64;
        let asked = micros();
        let answer = timeout(ANSWER_LIMIT, ask(&endpoint, clock.question)).await;
        let time = answer.ok().and_then(Result::ok).and_then(|answer| (clock.micros)(&answer));
        Ok(time.map(|time| Lead::of(time, asked, micros())))
    }
}

/// The jumps of a server's wall clock.
fn jumps_ns(server: &impl StartedServer) -> i64 {
    server.clock().map_or(0, |clock| clock.jumps_ns())
}
