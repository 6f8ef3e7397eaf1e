//! Makes the wall clock of a server go wrong and right again, and measures by the server's own word how far
//! it went.

use super::probe::ask;
use super::servers::StartedServer;
use super::testbed::Testbed;
use super::wall_clock::true_ns;
use base::{BackendError, ClockChange};
use std::time::Duration;
use tokio::time::timeout;

/// The longest time that a server or a client may take to tell its time. One that is paused meanwhile answers after that.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The most by which a clock may be off after a change of its rate. The start of a process is not known
/// better at first.
const CLOSE_ENOUGH_NS: i64 = 1_000_000;

/// The lead of a wall clock over the clock of the run, in microseconds: it was told at some moment between
/// question and answer.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    least: i64,
    most: i64,
}

impl Lead {
    /// The lead of a clock that told this time, in microseconds, between these two times of the run.
    pub fn told(told: i64, asked: i64, answered: i64) -> Self {
        Self { least: told - answered, most: told - asked }
    }

    /// The same without a part of it.
    fn without_ns(self, nanos: i64) -> Self {
        Self { least: self.least - nanos / 1_000, most: self.most - nanos / 1_000 }
    }

    /// The milliseconds by which a clock with this lead certainly came to another one, ahead or back.
    pub fn moved_to(self, after: Self, ahead: bool) -> u64 {
        let micros = if ahead { after.least - self.most } else { self.least - after.most };
        micros.max(0) as u64 / 1_000
    }
}

/// A clock of a server that is wrong.
#[derive(Clone, Copy, Debug)]
pub struct WrongServerClock {
    change: ClockChange,
    /// The milliseconds by which it certainly went where it was sent at once.
    moved: u64,
    /// The lead that it had when its rate became wrong, without jumps; `None` if the server did not tell.
    lead: Option<Lead>,
}

impl<S: StartedServer> Testbed<S> {
    /// Makes the wall clock of a server go wrong.
    pub async fn bend_clock(
        &self,
        server: &S,
        change: ClockChange,
    ) -> Result<WrongServerClock, BackendError> {
        let before = self.lead(server).await?;
        server.with_clock(|clock| clock.change(change, true_ns())).await?;
        let after = self.lead(server).await?;
        let moved = match (change, before, after) {
            (ClockChange::Jump(nanos), Some(before), Some(after)) => {
                before.moved_to(after, nanos >= 0)
            }
            _ => 0,
        };
        self.settle_clock(server).await?;
        let lead = after.map(|lead| without_jumps(server, lead));
        Ok(WrongServerClock { change, moved, lead })
    }

    /// Sets the clock right. Returns the milliseconds by which it certainly went wrong; 0 if the server
    /// did not tell its time.
    pub async fn right_clock(
        &self,
        server: &S,
        wrong: WrongServerClock,
    ) -> Result<u64, BackendError> {
        let WrongServerClock { change, moved, lead } = wrong;
        let ahead = match change {
            ClockChange::Jump(_) => None,
            ClockChange::Drift(ppm) => Some(ppm >= 0),
            ClockChange::Freeze => Some(false),
        };
        let moved = match ahead {
            None => moved,
            Some(ahead) => {
                let now = self.lead(server).await?.map(|lead| without_jumps(server, lead));
                lead.zip(now).map_or(0, |(then, now)| then.moved_to(now, ahead))
            }
        };
        server.with_clock(|clock| clock.undo(change, true_ns())).await?;
        self.settle_clock(server).await?;
        Ok(moved)
    }

    /// Has a clock that runs at another rate run on from where it is to be: a rate counts from the start of
    /// the process, and when that was only the process itself can tell.
    pub async fn settle_clock(&self, server: &S) -> Result<(), BackendError> {
        if server.clock().is_none_or(|clock| !clock.has_rate()) {
            return Ok(());
        }
        let Some(lead) = self.lead(server).await? else { return Ok(()) };
        let Some(clock) = server.clock() else { return Ok(()) };
        let (now_ns, run_ns) = (true_ns(), self.now().nanos() as i64);
        let expected = clock.ahead_ns(now_ns) + now_ns - run_ns;
        let error = (lead.least + lead.most) * 500 - expected;
        if error.abs() > CLOSE_ENOUGH_NS {
            server.with_clock(|clock| clock.correct(error)).await?;
        }
        Ok(())
    }

    /// Asks a server for its time.
    async fn lead(&self, server: &S) -> Result<Option<Lead>, BackendError> {
        let clock = self.store.settable_clock().map_err(|why| BackendError(why.into()))?;
        let Ok(address) = server.address() else { return Ok(None) };
        let micros = || (self.now().nanos() / 1_000) as i64;
        let asked = micros();
        let answer = timeout(ANSWER_LIMIT, ask(address, clock.question)).await;
        let told = answer.ok().and_then(Result::ok).and_then(|answer| (clock.micros)(&answer));
        Ok(told.map(|told| Lead::told(told, asked, micros())))
    }
}

fn without_jumps(server: &impl StartedServer, lead: Lead) -> Lead {
    lead.without_ns(server.clock().map_or(0, |clock| clock.jumps_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_counts_as_moved() {
        let lead = |least, most| Lead { least, most };
        let there = lead(1_000_000, 1_000_900);
        assert_eq!(there.moved_to(lead(6_000_000, 6_000_800), true), 4_999);
        assert_eq!(there.moved_to(lead(-4_000_000, -3_999_100), false), 4_999);
        assert_eq!(there.moved_to(lead(1_000_100, 1_001_000), true), 0, "it stood");
        assert_eq!(there.moved_to(lead(-4_000_000, -3_999_100), true), 0, "it went back");
        assert_eq!(there.moved_to(lead(5_000_000, 9_000_000), true), 3_999, "slow answer");
    }
}
