//! The model's arm: three servers in virtual time.

use super::{ConformanceSubject, SessionEnding};
use crate::model_network::ModelNetwork;
use crate::zookeeper::{Refusal, Reply, Request, Timing, WatchEvent, WatchId, ZooKeeper};
use base::{CallError, Node};
use futures_util::FutureExt;
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) struct ModelEnsemble {
    network: ModelNetwork<ZooKeeper>,
    sessions: BTreeMap<usize, (u32, SessionEnding)>,
}

impl ModelEnsemble {
    /// An ensemble of this size.
    pub(super) fn new(servers: u32, seed: u64) -> Self {
        let timing = Timing { tick: Duration::from_millis(400), init_limit: 10, sync_limit: 5 };
        Self { network: ModelNetwork::ensemble(servers, timing, seed), sessions: BTreeMap::new() }
    }

    fn client(&self, session: usize) -> u32 {
        self.sessions[&session].0
    }
}

impl ConformanceSubject for ModelEnsemble {
    async fn open(&mut self, session: usize, ending: SessionEnding) -> Result<(), String> {
        let client = self.network.connected(Duration::from_secs(2));
        self.sessions.insert(session, (client, ending));
        Ok(())
    }

    fn end(&mut self, session: usize) {
        match self.sessions.remove(&session) {
            Some((client, SessionEnding::Closed)) => {
                self.network.with_client(client, |driver, _, out| driver.close(out));
            }
            Some((client, SessionEnding::Silent)) => self.network.pause(Node::Client(client)),
            None => {}
        }
    }

    async fn call(
        &mut self,
        session: usize,
        request: Request,
    ) -> Result<Reply, CallError<Refusal>> {
        self.network.call(self.client(session), request)
    }

    async fn fired(
        &mut self,
        session: usize,
        watch: WatchId,
        within: Duration,
    ) -> Option<WatchEvent> {
        let client = self.client(session);
        self.network.run_until(within, |network| network.fired(client, watch).is_some());
        self.network.fired(client, watch)
    }

    async fn wait(&mut self, time: Duration) {
        self.network.run(time);
    }

    fn reset(&mut self) {
        for session in self.sessions.keys().copied().collect::<Vec<_>>() {
            self.end(session);
        }
    }
}

#[test]
fn the_model_conforms() {
    for (size, seed) in [(1, 1), (3, 1), (3, 2), (3, 3), (5, 1)] {
        let mut model = ModelEnsemble::new(size, seed);
        let run = super::run(&mut model, "conformance", Duration::from_secs(10));
        let report = run.now_or_never().expect("the model's answers are there when it is asked");
        assert!(report.passed(1), "size {size}, seed {seed}:\n{report}");
    }
}
