//! The conformance suite: named cases and random sequences of requests to three members, answered by the
//! model's keys and leases and by a real cluster.
//!
//! Each request goes to any of the members: whatever was answered before is known to all. Leases live for
//! longer than a sequence; how long they live that nobody keeps alive is measured besides. Revisions are
//! compared from where the sequence begins. What is created at a revision is deleted by it: so sequences are
//! drawn together with what the model answers.

#[cfg(feature = "real")]
mod arm;
#[cfg(feature = "real")]
mod failover;
mod leader;

#[cfg(feature = "real")]
pub use arm::{ConformanceReport, real_arm};
#[cfg(feature = "real")]
pub use failover::{ClusterKilling, measure_failover};
pub use leader::{LeaderFigures, LeaderRange};

use super::model::KeyStore;
use super::{DeletionWatchId, Refusal, Reply, Request, Revision};
use base::Rng;
use std::collections::BTreeMap;

/// The time to live of leases that outlive a sequence, in seconds.
const LONG: i64 = 600;

/// A step of a sequence: a request, and the model's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceStep {
    /// The member that is asked.
    pub member: usize,
    /// The request itself.
    pub request: Request,
    /// The answer of the model.
    pub answer: Result<Reply, Refusal>,
}

/// A sequence of requests, on keys and leases that no other uses.
#[derive(Debug)]
pub struct Sequence {
    store: KeyStore,
    name: String,
    lease: i64,
    watches: BTreeMap<DeletionWatchId, (String, Revision)>,
    rng: Rng,
    /// The steps so far.
    pub steps: Vec<SequenceStep>,
}

impl Sequence {
    fn new(name: String, number: u64) -> Self {
        Self {
            store: KeyStore::new(1),
            name,
            lease: (number as i64 + 1) << 8,
            watches: BTreeMap::new(),
            rng: Rng::new(number),
            steps: Vec::new(),
        }
    }

    /// A random sequence.
    pub fn drawn(seed: u64) -> Self {
        let mut sequence = Self::new(format!("seed-{seed}"), seed + 1_000);
        for _ in 0..30 {
            let request = sequence.draw();
            sequence.step(request);
        }
        sequence
    }

    /// Returns the watches that have to have fired in the end.
    pub fn fired(&self) -> Vec<DeletionWatchId> {
        let fires = |(key, from): &(String, Revision)| self.store.was_deleted(key, *from);
        self.watches.iter().filter(|(_, watch)| fires(watch)).map(|(id, _)| *id).collect()
    }

    fn step(&mut self, request: Request) {
        if let Request::Watch { key, from, watch } = &request {
            self.watches.insert(*watch, (key.clone(), *from));
        }
        let answer = self.store.apply(&request, &mut Vec::new());
        self.steps.push(SequenceStep { member: self.rng.below(3) as usize, request, answer });
    }

    fn key(&self, number: u64) -> String {
        format!("picklock-{}-{number}", self.name)
    }

    fn draw(&mut self) -> Request {
        let (key, lease) = (self.rng.below(3), self.lease + self.rng.below(3) as i64);
        let key = self.key(key);
        match self.rng.below(8) {
            0 | 1 => Request::LeaseGrant { lease, ttl: LONG },
            2 => Request::LeaseRevoke { lease },
            3 => Request::LeaseKeepAlive { lease },
            4 | 5 => Request::Create { key, value: format!("v{}", self.rng.below(100)), lease },
            6 => self.delete(key),
            _ => match self.rng.below(2) {
                0 => Request::Get { key },
                _ => self.watch(key),
            },
        }
    }

    /// Deletes a key, most of the time by the revision at which it was created.
    fn delete(&mut self, key: String) -> Request {
        let stored = self.store.keys().find(|(stored, _)| **stored == key);
        let created = stored.map_or(1, |(_, stored)| stored.created);
        Request::Delete { key, created: created + i64::from(self.rng.below(4) == 0) }
    }

    /// Watches a key, from now on or from an earlier time.
    fn watch(&mut self, key: String) -> Request {
        let next = self.revision() + 1;
        let from = if self.rng.below(3) == 0 { 2 } else { next };
        Request::Watch { key, from, watch: self.watches.len() as DeletionWatchId + 1 }
    }

    fn revision(&mut self) -> Revision {
        match self.store.apply(&Request::Get { key: String::new() }, &mut Vec::new()) {
            Ok(Reply::Found { revision, .. }) => revision,
            _ => 0,
        }
    }
}

/// The named cases: what somebody may well get wrong.
pub fn cases() -> Vec<Sequence> {
    type Steps = fn(&Sequence) -> Vec<Request>;
    let named: [(&str, Steps); 5] = [
        ("a lease is made once and ends once", |it| {
            let (lease, revoke) = (it.lease, Request::LeaseRevoke { lease: it.lease });
            let keep = Request::LeaseKeepAlive { lease };
            let grant = Request::LeaseGrant { lease, ttl: LONG };
            vec![grant.clone(), grant, keep.clone(), revoke.clone(), revoke, keep]
        }),
        ("a lease that is not there is missed only by who creates", |it| {
            let create = |lease| Request::Create { key: it.key(0), value: "v".into(), lease };
            let grant = Request::LeaseGrant { lease: it.lease, ttl: LONG };
            vec![create(it.lease), grant, create(it.lease), create(it.lease + 1)]
        }),
        ("all keys of a lease go in one revision", |it| {
            let lease = it.lease;
            let create = |key| Request::Create { key: it.key(key), value: "v".into(), lease };
            let watch = |key| Request::Watch { key: it.key(key), from: 4, watch: key + 1 };
            let get = Request::Get { key: it.key(0) };
            let grant = Request::LeaseGrant { lease, ttl: LONG };
            let revoke = Request::LeaseRevoke { lease };
            vec![grant, create(0), create(1), watch(0), watch(1), revoke, get]
        }),
        ("only the revision of its creation deletes a key", |it| {
            let (key, lease) = (it.key(0), it.lease);
            let create = Request::Create { key: key.clone(), value: "v".into(), lease };
            let delete = |created| Request::Delete { key: key.clone(), created };
            let grant = Request::LeaseGrant { lease, ttl: LONG };
            vec![grant, create.clone(), delete(3), delete(2), delete(2), create, delete(2)]
        }),
        ("a watch fires on what was deleted since, and on nothing before", |it| {
            let (key, lease) = (it.key(0), it.lease);
            let create = Request::Create { key: key.clone(), value: "v".into(), lease };
            let delete = Request::Delete { key: key.clone(), created: 2 };
            let watch = |from, watch| Request::Watch { key: key.clone(), from, watch };
            let grant = Request::LeaseGrant { lease, ttl: LONG };
            vec![grant, create, delete, watch(2, 1), watch(3, 2), watch(4, 3)]
        }),
    ];
    let case = |(number, (name, steps)): (u64, (&str, Steps))| {
        let mut sequence = Sequence::new(name.replace(' ', "-"), number);
        steps(&sequence).into_iter().for_each(|request| sequence.step(request));
        sequence
    };
    (0..).zip(named).map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_show_every_kind_of_answer() {
        let all: Vec<Sequence> = cases().into_iter().chain((0..100).map(Sequence::drawn)).collect();
        let answers = || all.iter().flat_map(|it| &it.steps).map(|step| &step.answer);
        let count =
            |wanted: fn(&Result<Reply, Refusal>) -> bool| answers().filter(|it| wanted(it)).count();
        for (count, what) in [
            (count(|it| matches!(it, Ok(Reply::Created { .. }))), "created"),
            (count(|it| matches!(it, Ok(Reply::Found { found: Some(_), .. }))), "found"),
            (count(|it| *it == Ok(Reply::Deleted(true))), "deleted"),
            (count(|it| *it == Ok(Reply::Deleted(false))), "not deleted"),
            (count(|it| *it == Ok(Reply::Leased { ttl: 0 })), "no lease to keep"),
            (count(|it| *it == Err(Refusal::LeaseNotFound)), "no lease"),
            (count(|it| *it == Err(Refusal::LeaseExists)), "a lease too many"),
        ] {
            assert!(count > 10, "{what}: {count}");
        }
        let fired: usize = all.iter().map(|it| it.fired().len()).sum();
        let set: usize = all.iter().map(|it| it.watches.len()).sum();
        assert!(fired > 20 && set - fired > 20, "{fired} of {set} watches fire");
    }
}
