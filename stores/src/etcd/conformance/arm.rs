//! The suite against a real cluster.

use super::{MemberRequest, ModelledKeys, cases, drawn};
use crate::conformance::{Compared, Comparison, Stop, same};
use crate::etcd::allotment::ALLOTMENT;
use crate::etcd::{DeletionWatchId, Etcd, LeaseId, RealLink, Refusal, Reply};
use crate::etcd::{Request, Revision, Signal};
use base::{CallError, Link};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// The number of leases whose life is measured.
const LIVES: LeaseId = 5;

/// The bounds of the life of a lease of two seconds, in milliseconds: up to the leader's next look
/// at it. A request and its reply take their time.
const LIFE_MS: [u64; 2] = [1_950, 2_900];

/// The longest time for which a watch that has to fire may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Runs the suite against real members. Needs a tokio `LocalSet` around it.
pub async fn real_arm(addresses: Vec<String>, seeds: Range<u64>) -> Compared {
    let link = |address| -> Rc<dyn Link<Etcd>> {
        Rc::new(RealLink::new(vec![address], Duration::from_secs(10), 1))
    };
    let real: Vec<_> = addresses.into_iter().map(link).collect();
    let mut both =
        BesideModel { links: real.clone(), real, model: ModelledKeys::default(), base: 0, runs: 0 };
    let mut report = Compared::default();
    for (name, steps) in cases() {
        report.compare(&mut both, &name.replace(' ', "-"), steps).await;
    }
    for seed in seeds {
        report.compare(&mut both, &seed.to_string(), drawn(seed)).await;
    }
    for lease in 1..=LIVES {
        report.time("life", LIFE_MS, life_ms(&*both.real[0], lease).await);
        // Another place between two looks of the leader.
        both.real[0].world().sleep(Duration::from_millis(170)).await;
    }
    report
}

/// Real members beside the model.
struct BesideModel {
    real: Vec<Rc<dyn Link<Etcd>>>,
    /// The links to the keys of the sequence.
    links: Vec<Rc<dyn Link<Etcd>>>,
    model: ModelledKeys,
    /// The revision of the members at which the sequence began.
    base: Revision,
    /// The number of sequences so far.
    runs: LeaseId,
}

impl Comparison for BesideModel {
    type Step = MemberRequest;

    async fn begin(&mut self, name: &str) -> Result<(), Stop> {
        let (name, real) = (format!("picklock-{name}"), self.real.iter());
        self.links = real.map(|link| (ALLOTMENT.confine)(link.clone(), &name)).collect();
        self.model = ModelledKeys::default();
        self.runs += 1;
        self.base = match self.real[0].call(0, Request::Get { key: "picklock-none".into() }).await {
            Ok(Reply::Found { revision, .. }) => revision - 1,
            other => return Err(format!("no revision: {other:?}").into()),
        };
        Ok(())
    }

    async fn step(&mut self, step: &MemberRequest, report: &mut Compared) -> Result<(), Stop> {
        report.replies += 1;
        let (member, request) = step;
        let real = self.links[*member].call(0, self.later(request.clone())).await;
        let answer = self.model.answer(request).map_err(CallError::Refused);
        same(&real.map(|reply| self.earlier(reply)), &answer)
    }

    /// Waits for the watches that have to fire, and ends the watches and the leases.
    async fn end(&mut self, report: &mut Compared) -> Result<(), Stop> {
        let fired = self.fired().await;
        // The links number watches alike.
        for watch in self.model.watches.keys() {
            for link in &self.links {
                let unwatched = link.call(0, Request::Unwatch { watch: *watch }).await;
                report.replies += u64::from(unwatched == Ok(Reply::Unwatched));
            }
        }
        let left: Vec<LeaseId> = self.model.store.leases().map(|(lease, _)| lease).collect();
        for lease in left {
            report.replies += 1;
            let revoke = self.later(Request::LeaseRevoke { lease });
            same(&self.links[0].call(0, revoke).await, &Ok(Reply::Revoked))?;
        }
        let fired = fired?;
        report.count("watches fired", fired.len() as u64);
        same(&fired, &self.model.fired().collect())
    }
}

impl BesideModel {
    /// The watches that fire by the time at which all that have to should have.
    async fn fired(&self) -> Result<BTreeSet<DeletionWatchId>, Stop> {
        let (world, expected) = (self.links[0].world(), self.model.fired().count());
        let (mut fired, begun) = (BTreeSet::new(), world.monotonic());
        while fired.len() < expected && world.monotonic().since(begun) < LIMIT {
            while let Some(signal) = self.links.iter().find_map(|link| link.signal()) {
                match signal {
                    Signal::Deleted { watch } => fired.insert(watch),
                    Signal::Ended { watch } => {
                        return Err(format!("the watch {watch} ended").into());
                    }
                };
            }
            world.sleep(Duration::from_millis(1)).await;
        }
        Ok(fired)
    }

    /// Returns a request with its revisions as they are in the cluster, and its lease as no other
    /// sequence has it.
    fn later(&self, mut request: Request) -> Request {
        match &mut request {
            Request::Delete { created, .. } => *created += self.base,
            Request::GetLast { before, .. } => *before += self.base,
            Request::Watch { from, .. } => *from += self.base,
            Request::LeaseGrant { lease, .. }
            | Request::LeaseRevoke { lease }
            | Request::LeaseKeepAlive { lease }
            | Request::Create { lease, .. } => *lease += self.runs << 8,
            Request::Get { .. } | Request::Unwatch { .. } => {}
        }
        request
    }

    /// Returns a reply with its revisions and leases as they would be in a cluster that is new.
    fn earlier(&self, mut reply: Reply) -> Reply {
        match &mut reply {
            Reply::Created { revision } => *revision -= self.base,
            Reply::Found { found, revision } => {
                *revision -= self.base;
                if let Some(found) = found {
                    found.created -= self.base;
                    found.lease -= self.runs << 8;
                }
            }
            _ => {}
        }
        reply
    }
}

/// Measures how long a lease of two seconds lives, by its key.
async fn life_ms(link: &dyn Link<Etcd>, lease: LeaseId) -> Option<u64> {
    let key = format!("picklock-life-{lease}");
    let begun = link.world().monotonic();
    link.call(0, Request::LeaseGrant { lease, ttl: 2 }).await.ok()?;
    let create = Request::Create { key: key.clone(), value: "v".into(), lease };
    link.call(0, create).await.ok()?;
    loop {
        match link.call(0, Request::Get { key: key.clone() }).await.ok()? {
            Reply::Found { found: Some(_), .. } => {
                link.world().sleep(Duration::from_millis(5)).await
            }
            _ => return Some(link.world().monotonic().since(begun).as_millis() as u64),
        }
    }
}

/// Returns true if a call came to nothing because the lease was there already.
pub(super) fn was_there(answer: &Result<Reply, CallError<Refusal>>) -> bool {
    *answer == Err(CallError::Refused(Refusal::LeaseExists))
}
