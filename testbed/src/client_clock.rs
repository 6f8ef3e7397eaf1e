//! Makes the clocks of a client's machine go wrong and right again, and measures by the client's
//! own word how far its wall clock went. The monotonic clock goes by the same oscillator, and with
//! it all sleeps.

use super::clients::RunningClient;
use super::servers::StartedServer;
use super::testbed::Testbed;
use super::wrong_clock::{ANSWER_LIMIT, Lead, WrongClock};
use crate::lock;
use base::{Clock, ClockChange, ClockSetting, Mono, WallTime};
use futures_util::future::join;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::timeout;

/// The longest time that the heal of a jump waits for the client. One that is paused hears of it
/// after that.
const HEAL_LIMIT: Duration = Duration::from_secs(1);

/// The clocks of the clients' machines, as faults have made them, against the clock of the run. A
/// process that takes another's place finds them as they are.
#[derive(Debug, Default)]
pub struct ClientClocks(Mutex<BTreeMap<u32, Clock>>);

impl ClientClocks {
    /// All that is wrong with the clocks of a client's machine, and what they have gained at a
    /// wrong rate.
    pub fn setting_and_drift(&self, client_number: u32, now: Mono) -> (ClockSetting, i64) {
        self.with(client_number, |clock| (clock.setting(), clock.drifted_ns(now)))
    }

    fn setting(&self, client_number: u32) -> ClockSetting {
        self.with(client_number, |clock| clock.setting())
    }

    fn with<T>(&self, client_number: u32, act: impl FnOnce(&mut Clock) -> T) -> T {
        let mut clocks = lock(&self.0);
        let right = || Clock::right(WallTime::ZERO, Mono::ZERO, Mono::ZERO);
        act(clocks.entry(client_number).or_insert_with(right))
    }
}

impl<S: StartedServer> Testbed<S> {
    /// Makes the clocks of a client's machine go wrong.
    pub async fn bend_client_clock(
        &self,
        client_number: u32,
        client: &RunningClient,
        change: ClockChange,
    ) -> WrongClock {
        let right = self.client_clocks.setting(client_number);
        let before = self.client_lead(client, right).await;
        let wrong = self.client_clocks.with(client_number, |clock| {
            clock.change(change, self.now());
            clock.setting()
        });
        let after = self.client_lead(client, wrong).await;
        WrongClock::new(change, before, after, wrong.jumps_ns)
    }

    /// Sets the clocks right. Returns the microseconds by which they certainly went wrong; 0 if the
    /// client did not tell its time.
    pub async fn right_client_clock(&self, client_number: u32, wrong: WrongClock) -> u64 {
        let client = self.client(client_number);
        let before = self.client_clocks.setting(client_number);
        let after = self.client_clocks.with(client_number, |clock| {
            clock.undo(wrong.change, self.now());
            clock.setting()
        });
        let Some(client) = client else { return wrong.moved(None, 0) };
        let righted = client.set_clock(after);
        if !wrong.has_rate() {
            let _ = timeout(HEAL_LIMIT, righted).await;
            return wrong.moved(None, 0);
        }
        // Both are on their way at once: a client that is paused has its clocks right as soon as it
        // goes on.
        let asked = self.client_lead(&client, before);
        let (lead, _) = join(asked, timeout(ANSWER_LIMIT, righted)).await;
        wrong.moved(lead, before.jumps_ns)
    }

    /// Has a client tell its time, once it has its clocks so; `None` if it does not.
    async fn client_lead(&self, client: &RunningClient, setting: ClockSetting) -> Option<Lead> {
        let micros = || (self.now().nanos() / 1_000) as i64;
        let asked = micros();
        let time_ns = timeout(ANSWER_LIMIT, client.set_clock(setting)).await.ok()??;
        Some(Lead::of((time_ns / 1_000) as i64, asked, micros()))
    }
}
