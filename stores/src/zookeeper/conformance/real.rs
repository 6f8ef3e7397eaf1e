//! The real arm: an ensemble that stands somewhere.

use super::{Ending, Report, Subject};
use crate::zookeeper::real::Ending as RealEnding;
use crate::zookeeper::{RealSession, Refusal, Reply, Request, Session, WatchEvent, WatchId};
use base::{CallError, Link, LocalFuture};
use std::collections::BTreeMap;
use std::time::Duration;

struct Real {
    servers: Vec<String>,
    session_timeout: Duration,
    sessions: BTreeMap<usize, RealSession>,
}

impl Real {
    fn session(&self, session: usize) -> &RealSession {
        &self.sessions[&session]
    }
}

impl Subject for Real {
    fn open(&mut self, session: usize, ending: Ending) -> LocalFuture<'_, Result<(), String>> {
        let ending = match ending {
            Ending::Closed => RealEnding::Closed,
            Ending::Silent => RealEnding::Silent,
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
        let fired = self.session(session).fired(watch);
        // A time-out of zero still looks once, so that an event that is there is found.
        Box::pin(async move { tokio::time::timeout(within, fired).await.ok() })
    }

    fn wait(&mut self, time: Duration) -> LocalFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn reset(&mut self) -> LocalFuture<'_, ()> {
        self.sessions.clear();
        Box::pin(std::future::ready(()))
    }
}

/// Runs the suite against real servers, below nodes whose names begin with `root`, which must not
/// be there yet. Needs a tokio `LocalSet` around it.
pub async fn real_arm(servers: Vec<String>, session_timeout: Duration, root: &str) -> Report {
    let mut real = Real { servers, session_timeout, sessions: BTreeMap::new() };
    super::run(&mut real, root, session_timeout * 3 + Duration::from_secs(5)).await
}
