//! The standings of the servers among each other, asked again and again while somebody wants to
//! know.

use super::probe::ask;
use super::servers::StartedServer;
use super::testbed::Testbed;
use crate::lock;
use base::ServerStanding;
use futures_util::future::join_all;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stores::StandingQuestion;
use tokio::time::{sleep, timeout};

/// The time from one round of questions to the next.
const INTERVAL: Duration = Duration::from_millis(50);
/// The longest time that a server may take to answer. One that is paused does not.
const ANSWER_LIMIT: Duration = Duration::from_millis(250);

/// The standings that the servers reported last.
#[derive(Default)]
pub struct ReportedStandings(Mutex<Vec<Option<ServerStanding>>>);

impl ReportedStandings {
    /// The standing of each server; nothing before all were asked.
    pub fn latest(&self) -> Vec<Option<ServerStanding>> {
        lock(&self.0).clone()
    }

    /// Asks the servers for ever.
    pub async fn follow<S: StartedServer>(self: Arc<Self>, testbed: Arc<Testbed<S>>) {
        let Some(question) = testbed.store.standing() else { return };
        loop {
            let answers = testbed.servers.iter().map(|server| standing(&**server, question));
            let standings = join_all(answers).await;
            *lock(&self.0) = standings;
            sleep(INTERVAL).await;
        }
    }
}

async fn standing(
    server: &impl StartedServer,
    question: StandingQuestion,
) -> Option<ServerStanding> {
    let endpoint = server.endpoint().ok().filter(|_| server.is_running())?;
    let answer = timeout(ANSWER_LIMIT, ask(&endpoint, question.question)).await.ok()?.ok()?;
    (question.read)(&answer)
}
