//! The real arm: an ensemble of real servers, wherever it runs.

use super::{ConformanceReport, ConformanceSubject, SessionEnding, random};
use crate::zookeeper::real::FateOnDrop as RealEnding;
use crate::zookeeper::{RealSession, Refusal, Reply, Request, WatchEvent, WatchId};
use base::{CallError, Link, LocalFuture};
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

struct RealEnsemble {
    servers: Vec<String>,
    session_timeout: Duration,
    sessions: BTreeMap<usize, RealSession>,
}

impl RealEnsemble {
    fn session(&self, session: usize) -> &RealSession {
        &self.sessions[&session]
    }
}

impl ConformanceSubject for RealEnsemble {
    fn open(
        &mut self,
        session: usize,
        ending: SessionEnding,
    ) -> LocalFuture<'_, Result<(), String>> {
        let ending = match ending {
            SessionEnding::Closed => RealEnding::Closed,
            SessionEnding::Silent => RealEnding::Silent,
        };
        Box::pin(async move {
            let servers = self.servers.clone();
            let opened = RealSession::connect_with(servers, self.session_timeout, 0, ending).await;
            self.sessions.insert(session, opened.map_err(|error| error.to_string())?);
            Ok(())
        })
    }

    fn end(&mut self, session: usize) -> LocalFuture<'_, ()> {
        self.sessions.remove(&session);
        Box::pin(std::future::ready(()))
    }

    fn call(
        &mut self,
        session: usize,
        request: Request,
    ) -> LocalFuture<'_, Result<Reply, CallError<Refusal>>> {
        self.session(session).call(0, request)
    }

    fn fired(
        &mut self,
        session: usize,
        watch: WatchId,
        within: Duration,
    ) -> LocalFuture<'_, Option<WatchEvent>> {
        let fired = self.session(session).watch(watch);
        // A time-out of zero still looks once, so that an event that is there is found.
        Box::pin(async move { tokio::time::timeout(within, fired?).await.ok() })
    }

    fn wait(&mut self, time: Duration) -> LocalFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn reset(&mut self) -> LocalFuture<'_, ()> {
        self.sessions.clear();
        Box::pin(std::future::ready(()))
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
) -> ConformanceReport {
    let real =
        || RealEnsemble { servers: servers.clone(), session_timeout, sessions: BTreeMap::new() };
    let limit = session_timeout * 3 + Duration::from_secs(5);
    let mut report = super::run(&mut real(), root, limit).await;
    let lanes = (0..AT_A_TIME).map(|lane| {
        let (mut real, mine) = (real(), seeds.clone().filter(move |n| n % AT_A_TIME == lane));
        async move {
            let mut failed = Vec::new();
            for seed in mine {
                let base = format!("/{root}-random-{seed}");
                if let Err(why) = random::compare(&mut real, &base, seed, limit).await {
                    failed.push((format!("random sequence {seed}"), Err(why)));
                }
            }
            failed
        }
    });
    report.cases.extend(join_all(lanes).await.into_iter().flatten());
    report.sequences = seeds.end - seeds.start;
    report
}
