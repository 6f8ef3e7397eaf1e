//! The conformance suite: named cases and random sequences of requests to three members, answered
//! by the model's keys and leases and by a real cluster.
//!
//! Each request goes to any of the members: whatever was answered before is known to all. Leases
//! live for longer than a sequence; how long they live that nobody keeps alive is measured besides.
//! Revisions are compared from where the sequence begins. What is created at a revision is deleted
//! by it: so sequences are drawn together with what the model answers.

#[cfg(feature = "real")]
mod arm;
#[cfg(feature = "real")]
mod failover;
mod leader;

#[cfg(feature = "real")]
pub use arm::real_arm;
#[cfg(feature = "real")]
pub use failover::measure_failover;
pub use leader::leader_deaths;

use super::model::KeyStore;
use super::{DeletionWatchId, LeaseId, Refusal, Reply, Request, Revision};
use base::Rng;
use std::collections::BTreeMap;

/// The time to live of leases that outlive a sequence, in seconds.
const LONG: i64 = 600;

/// A step of a sequence: the member that is asked, and the request. Keys and leases are those of
/// the sequence.
pub type MemberRequest = (usize, Request);

/// The model's keys and leases, and the watches that were set.
#[derive(Debug)]
pub struct ModelledKeys {
    store: KeyStore,
    watches: BTreeMap<DeletionWatchId, (String, Revision)>,
}

impl Default for ModelledKeys {
    fn default() -> Self {
        Self { store: KeyStore::new(1), watches: BTreeMap::new() }
    }
}

impl ModelledKeys {
    /// The answer to a request.
    pub fn answer(&mut self, request: &Request) -> Result<Reply, Refusal> {
        if let Request::Watch { key, from, watch } = request {
            self.watches.insert(*watch, (key.clone(), *from));
        }
        self.store.apply(request, &mut Vec::new())
    }

    /// Returns the watches that have to have fired by now.
    pub fn fired(&self) -> impl Iterator<Item = DeletionWatchId> {
        let fires = |(key, from): &(String, Revision)| self.store.was_deleted(key, *from);
        self.watches.iter().filter(move |(_, watch)| fires(watch)).map(|(id, _)| *id)
    }
}

/// A generator of steps.
struct RequestDraw {
    model: ModelledKeys,
    rng: Rng,
}

/// The random sequence of this seed.
pub fn drawn(seed: u64) -> Vec<MemberRequest> {
    let mut draw = RequestDraw { model: ModelledKeys::default(), rng: Rng::new(seed + 1_000) };
    let mut step = || {
        let request = draw.request();
        draw.model.answer(&request).ok();
        (draw.rng.below(3) as usize, request)
    };
    (0..30).map(|_| step()).collect()
}

impl RequestDraw {
    fn request(&mut self) -> Request {
        let (key, lease) = (self.rng.below(3).to_string(), self.rng.below(3) as LeaseId);
        match self.rng.below(8) {
            0 | 1 => Request::LeaseGrant { lease, ttl: LONG },
            2 => Request::LeaseRevoke { lease },
            3 => Request::LeaseKeepAlive { lease },
            4 | 5 => Request::Create { key, value: format!("v{}", self.rng.below(100)), lease },
            6 => self.delete(key),
            _ => match self.rng.below(3) {
                0 => Request::Get { key },
                1 => {
                    let before = self.revision() + 1 - self.rng.below(5) as Revision;
                    // Before the first of all changes there is no revision to ask for.
                    Request::GetLast { prefix: String::new(), before: before.max(2) }
                }
                _ => self.watch(key),
            },
        }
    }

    /// Deletes a key, most of the time by the revision at which it was created.
    fn delete(&mut self, key: String) -> Request {
        let stored = self.model.store.keys().find(|(stored, _)| **stored == key);
        let created = stored.map_or(1, |(_, stored)| stored.created);
        Request::Delete { key, created: created + i64::from(self.rng.below(4) == 0) }
    }

    /// Watches a key, from now on or from an earlier time.
    fn watch(&mut self, key: String) -> Request {
        let next = self.revision() + 1;
        let from = if self.rng.below(3) == 0 { 2 } else { next };
        Request::Watch { key, from, watch: self.model.watches.len() as DeletionWatchId + 1 }
    }

    fn revision(&mut self) -> Revision {
        match self.model.store.apply(&Request::Get { key: String::new() }, &mut Vec::new()) {
            Ok(Reply::Found { revision, .. }) => revision,
            _ => 0,
        }
    }
}

/// The named cases: what somebody may well get wrong.
pub fn cases() -> Vec<(&'static str, Vec<MemberRequest>)> {
    let grant = || Request::LeaseGrant { lease: 0, ttl: LONG };
    let revoke = || Request::LeaseRevoke { lease: 0 };
    let keep = || Request::LeaseKeepAlive { lease: 0 };
    let create_with =
        |key: &str, lease| Request::Create { key: key.into(), value: "v".into(), lease };
    let create = |key| create_with(key, 0);
    let delete = |created| Request::Delete { key: "0".into(), created };
    let watch = |key: &str, from, watch| Request::Watch { key: key.into(), from, watch };
    let get = Request::Get { key: "0".into() };
    let get_last = |prefix: &str, before| Request::GetLast { prefix: prefix.into(), before };
    let named = [
        (
            "a lease is made once and ends once",
            vec![grant(), grant(), keep(), revoke(), revoke(), keep()],
        ),
        (
            "a lease that is not there is missed only by who creates",
            vec![create("0"), grant(), create("0"), create_with("0", 1)],
        ),
        (
            "all keys of a lease go in one revision",
            vec![
                grant(),
                create("0"),
                create("1"),
                watch("0", 4, 1),
                watch("1", 4, 2),
                revoke(),
                get,
            ],
        ),
        (
            "only the revision of its creation deletes a key",
            vec![grant(), create("0"), delete(3), delete(2), delete(2), create("0"), delete(2)],
        ),
        (
            "the last key of a name is the one that was created last before a revision",
            vec![
                grant(),
                create("a/1"),
                create("a/0"),
                create("0"),
                get_last("a/", 5),
                get_last("a/", 3),
                get_last("a/", 2),
                get_last("b/", 5),
            ],
        ),
        (
            "a watch fires on what was deleted since, and on nothing before",
            vec![
                grant(),
                create("0"),
                delete(2),
                watch("0", 2, 1),
                watch("0", 3, 2),
                watch("0", 4, 3),
            ],
        ),
    ];
    let case = |(number, (name, requests)): (u64, (_, Vec<Request>))| {
        let mut rng = Rng::new(number);
        let step = |request| (rng.below(3) as usize, request);
        (name, requests.into_iter().map(step).collect())
    };
    (0..).zip(named).map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_show_every_kind_of_answer() {
        let (mut answers, mut fired, mut set) = (Vec::new(), 0, 0);
        let cases = cases().into_iter().map(|(_, steps)| steps);
        for steps in cases.chain((0..100).map(drawn)) {
            let mut model = ModelledKeys::default();
            answers.extend(steps.iter().map(|(_, request)| model.answer(request)));
            (fired, set) = (fired + model.fired().count(), set + model.watches.len());
        }
        let count = |wanted: fn(&Result<Reply, Refusal>) -> bool| {
            answers.iter().filter(|it| wanted(it)).count()
        };
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
        assert!(fired > 20 && set - fired > 20, "{fired} of {set} watches fire");
    }
}
