//! The real arm: an ensemble of real servers, wherever it runs.

use super::{ConformanceSubject, SessionEnding, random};
use crate::conformance::Compared;
use crate::zookeeper::real::FateOnDrop as RealEnding;
use crate::zookeeper::{RealSession, Refusal, Reply, Request, WatchEvent, WatchId};
use base::{CallError, Link};
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

struct RealEnsemble {
    servers: Vec<String>,
    session_timeout: Duration,
    sessions: BTreeMap<usize, RealSession>,
}

impl ConformanceSubject for RealEnsemble {
    async fn open(&mut self, session: usize, ending: SessionEnding) -> Result<(), String> {
        let ending = match ending {
            SessionEnding::Closed => RealEnding::Closed,
            SessionEnding::Silent => RealEnding::Silent,
        };
        let servers = self.servers.clone();
        let opened = RealSession::connect_with(servers, self.session_timeout, 0, ending).await;
        self.sessions.insert(session, opened.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn end(&mut self, session: usize) {
        self.sessions.remove(&session);
    }

    async fn call(
        &mut self,
        session: usize,
        request: Request,
    ) -> Result<Reply, CallError<Refusal>> {
        self.sessions[&session].call(0, request).await
    }

    async fn fired(
        &mut self,
        session: usize,
        watch: WatchId,
        within: Duration,
    ) -> Option<WatchEvent> {
        let fired = self.sessions[&session].watch(watch)?;
        // A time-out of zero still looks once, so that an event that is there is found.
        tokio::time::timeout(within, fired).await.ok()
    }

    async fn wait(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn reset(&mut self) {
        self.sessions.clear();
    }
}

/// The number of random sequences that run at a time: most of each is waiting for the servers'
/// disks.
const AT_A_TIME: u64 = 16;

/// Runs the suite against real servers, and then the random sequences of these seeds, below nodes
/// whose names begin with `root`, which must not be there yet. Needs a tokio `LocalSet` around it.
pub async fn real_arm(
    servers: Vec<String>,
    session_timeout: Duration,
    root: &str,
    seeds: Range<u64>,
) -> Compared {
    let real =
        || RealEnsemble { servers: servers.clone(), session_timeout, sessions: BTreeMap::new() };
    let limit = session_timeout * 3 + Duration::from_secs(5);
    let mut report = super::run(&mut real(), root, limit).await;
    let lanes = (0..AT_A_TIME).map(|lane| {
        let (mut real, mine) = (real(), seeds.clone().filter(move |n| n % AT_A_TIME == lane));
        async move { random::compare(&mut real, root, mine, limit).await }
    });
    join_all(lanes).await.into_iter().for_each(|lane| report.extend(lane));
    report
}
