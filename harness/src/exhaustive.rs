//! A lock, enumerated: every interleaving of a few clients in a world without time.

use base::{Link, Outcome};
use serde::{Deserialize, Serialize};
use sim::exhaustive::{AloneWorld, Anomaly, Case, Explorer, FaultKind, Found, Progress, Story};
use sim::{Handle, RedisWorld};
use stores::Store;
use stores::redis::Redis;
use stores::zookeeper::{Client, Session};
use workloads::LockSpec;
use workloads::client::{AnyLink, serve};

/// A lock and what is enumerated of it.
#[derive(Clone)]
pub struct Enumeration {
    lock: &'static LockSpec,
    case: Case,
    reduce: bool,
}

impl Enumeration {
    /// Two clients that ask once for one key, without faults.
    pub fn new(lock: &'static LockSpec) -> Self {
        let case = Case {
            algo: lock.name.into(),
            clients: 2,
            cycles: 1,
            keys: 1,
            shared: lock.promises.shared,
            fenced: lock.promises.fenced,
            unlimited: false,
            faults: 0,
            kinds: vec![FaultKind::Crash, FaultKind::Expire, FaultKind::Reset],
        };
        Self { lock, case, reduce: true }
    }

    /// Changes what is enumerated.
    pub fn with(mut self, change: impl FnOnce(&mut Case)) -> Self {
        change(&mut self.case);
        self
    }

    /// Takes every step by itself, equivalent orders included.
    pub fn unreduced(self) -> Self {
        Self { reduce: false, ..self }
    }

    /// What is enumerated.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Searches until there is nothing more, there are `most` states, or `go_on` says no.
    pub fn search(&self, most: u64, go_on: &mut dyn FnMut(Progress) -> bool) -> Found {
        match self.lock.store() {
            Store::Redis => self.on_redis().search(most, go_on),
            Store::ZooKeeper => self.on_zookeeper().search(most, go_on),
        }
    }

    /// Takes exactly these steps; tells what happens and what it breaks.
    ///
    /// # Errors
    /// With the number of the first step, from 0, that cannot be taken.
    pub fn replay(
        &self,
        schedule: &[sim::exhaustive::Action],
    ) -> Result<(Story, Vec<Anomaly>), usize> {
        match self.lock.store() {
            Store::Redis => self.on_redis().replay(schedule),
            Store::ZooKeeper => self.on_zookeeper().replay(schedule),
        }
    }

    /// Shows every schedule, one by one: for spaces that are small.
    pub fn walk(&self, each: &mut dyn FnMut(&Story, &[Anomaly])) {
        match self.lock.store() {
            Store::Redis => self.on_redis().walk(each),
            Store::ZooKeeper => self.on_zookeeper().walk(each),
        }
    }

    fn on_redis(&self) -> Explorer<RedisWorld> {
        let lock = self.lock;
        let open = move |handle: Handle<dyn Link<Redis>>| {
            Box::pin(serve(lock, AnyLink::Redis(handle.link), handle.mailbox)) as _
        };
        let explorer = Explorer::new(self.case.clone(), RedisWorld::default(), Box::new(open));
        if self.reduce { explorer } else { explorer.unreduced() }
    }

    fn on_zookeeper(&self) -> Explorer<AloneWorld> {
        let lock = self.lock;
        let open = move |handle: Handle<dyn Session>| {
            let link = AnyLink::ZooKeeper(Client::new(handle.link));
            Box::pin(serve(lock, link, handle.mailbox)) as _
        };
        let explorer = Explorer::new(self.case.clone(), AloneWorld, Box::new(open));
        if self.reduce { explorer } else { explorer.unreduced() }
    }
}

/// The version of the stored form that this build writes.
pub const ENUMERATION_VERSION: u32 = 1;

/// An enumeration and what it came to, as it is stored. Each finding can be replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enumerated {
    /// The version of this format.
    pub picklock_enumeration: u32,
    /// What was enumerated.
    pub case: Case,
    /// What was found.
    pub found: Found,
}

impl Enumerated {
    /// In the form of this version.
    pub fn new(case: Case, found: Found) -> Self {
        Self { picklock_enumeration: ENUMERATION_VERSION, case, found }
    }

    /// Its answer.
    pub fn outcome(&self) -> Outcome {
        match (self.found.findings.is_empty(), self.found.exhausted) {
            (false, _) => Outcome::Violated,
            (true, true) => Outcome::Held,
            (true, false) => Outcome::Inconclusive,
        }
    }
}
