//! Sets the wall clock of a client, and measures by the client's own word how far it went.
//!
//! Its monotonic clock, and so every sleep and every time-out, stays as it is: that is what setting a clock
//! does.

use super::clients::RunningClient;
use super::server_clock::{ANSWER_LIMIT, Lead};
use super::servers::StartedServer;
use super::testbed::Testbed;
use std::time::Duration;
use tokio::time::timeout;

/// The longest time that the heal waits for the client. One that is paused hears of it after that.
const HEAL_LIMIT: Duration = Duration::from_secs(1);

impl<S: StartedServer> Testbed<S> {
    /// Sets the wall clock of a client ahead by so many nanoseconds, back when negative, wherever it is.
    /// Returns the milliseconds by which it certainly went there; 0 if the client did not tell.
    pub async fn move_client_clock(
        &self,
        client_number: u32,
        client: &RunningClient,
        nanos: i64,
    ) -> u64 {
        let there = self.client_lead_ns(client_number);
        let before = timeout(ANSWER_LIMIT, self.client_lead(client, there)).await.ok().flatten();
        let ahead_ns = self.add_client_lead_ns(client_number, nanos);
        let after = timeout(ANSWER_LIMIT, self.client_lead(client, ahead_ns)).await.ok().flatten();
        before.zip(after).map_or(0, |(before, after)| before.moved_to(after, nanos >= 0))
    }

    /// Takes a jump of a client's wall clock back. A new process of the client has it right from its start.
    pub async fn right_client_clock(&self, client_number: u32, nanos: i64) {
        let ahead_ns = self.add_client_lead_ns(client_number, nanos.saturating_neg());
        if let Some(client) = self.client(client_number) {
            let _ = timeout(HEAL_LIMIT, client.set_wall(ahead_ns)).await;
        }
    }

    async fn client_lead(&self, client: &RunningClient, ahead_ns: i64) -> Option<Lead> {
        let micros = || (self.now().nanos() / 1_000) as i64;
        let asked = micros();
        let told = client.set_wall(ahead_ns).await?;
        Some(Lead::told((told / 1_000) as i64, asked, micros()))
    }
}
