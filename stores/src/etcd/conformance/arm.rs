//! The suite against a real cluster.

use super::{Sequence, SequenceStep, cases};
use crate::etcd::{DeletionWatchId, RealLink, Refusal, Reply, Request, Revision, Signal};
use base::{CallError, Link};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// The number of leases whose life is measured.
const LIVES: i64 = 5;

/// The longest time for which a watch that has to fire may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The results of the suite.
#[derive(Debug, Default)]
pub struct ConformanceReport {
    /// The number of answers that were compared.
    pub answers: u64,
    /// The number of watches that fired.
    pub fired: u64,
    /// Every answer that is not the model's, in words.
    pub differences: Vec<String>,
    /// The times for which leases of two seconds lived, in milliseconds.
    pub lives_ms: Vec<u64>,
}

impl ConformanceReport {
    /// Returns true if every answer was the model's, watches fired, and leases lived for two seconds and
    /// up to the leader's next look at them.
    pub fn passed(&self) -> bool {
        // A request and its reply take their time.
        let fits = |life: &u64| (1_950..=2_900).contains(life);
        let lives = self.lives_ms.len() == LIVES as usize && self.lives_ms.iter().all(fits);
        self.answers > 0 && self.fired > 0 && self.differences.is_empty() && lives
    }
}

impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answers, fired, lives_ms, .. } = self;
        writeln!(f, "{answers} answers compared, {fired} watches fired, lives {lives_ms:?} ms")?;
        self.differences.iter().try_for_each(|difference| writeln!(f, "{difference}"))
    }
}

/// Runs the suite against real members. Needs a tokio `LocalSet` around it.
pub async fn real_arm(addresses: Vec<String>, seeds: std::ops::Range<u64>) -> ConformanceReport {
    let link = |address| RealLink::new(vec![address], Duration::from_secs(10), 1);
    let links: Vec<RealLink> = addresses.into_iter().map(link).collect();
    let mut report = ConformanceReport::default();
    for sequence in cases().into_iter().chain(seeds.map(Sequence::drawn)) {
        report.compare(&links, &sequence).await;
    }
    for lease in 1..=LIVES {
        report.lives_ms.extend(life_ms(&links[0], lease).await);
        // Another place between two looks of the leader.
        links[0].world().sleep(Duration::from_millis(170)).await;
    }
    report
}

impl ConformanceReport {
    async fn compare(&mut self, links: &[RealLink], sequence: &Sequence) {
        let Some(base) = revision(&links[0]).await.map(|revision| revision - 1) else {
            return self.differences.push(format!("{}: no revision", sequence.name));
        };
        for SequenceStep { member, request, answer } in &sequence.steps {
            let real = links[*member].call(0, later(request.clone(), base)).await;
            let real = real.map(|reply| earlier(reply, base));
            self.answers += 1;
            if real != answer.clone().map_err(CallError::Refused) {
                let said = format!("{}: {request:?}: {real:?}, not {answer:?}", sequence.name);
                self.differences.push(said);
            }
        }
        self.compare_watches(links, sequence).await;
        self.clean_up(links, sequence).await;
    }

    async fn compare_watches(&mut self, links: &[RealLink], sequence: &Sequence) {
        let expected: BTreeSet<DeletionWatchId> = sequence.fired().into_iter().collect();
        let mut fired = BTreeSet::new();
        let begun = links[0].world().monotonic();
        while fired.len() < expected.len() && links[0].world().monotonic().since(begun) < LIMIT {
            while let Some(signal) = links.iter().find_map(|link| link.signal()) {
                match signal {
                    Signal::Deleted { watch } => fired.insert(watch),
                    Signal::Ended { watch } => {
                        let said = format!("{}: the watch {watch} ended", sequence.name);
                        self.differences.push(said);
                        false
                    }
                };
            }
            links[0].world().sleep(Duration::from_millis(1)).await;
        }
        self.fired += fired.len() as u64;
        if fired != expected {
            let name = &sequence.name;
            self.differences.push(format!("{name}: {fired:?} fired, not {expected:?}"));
        }
    }

    /// Ends the watches and the leases of a sequence. (The links number watches alike.)
    async fn clean_up(&mut self, links: &[RealLink], sequence: &Sequence) {
        for watch in sequence.watches.keys() {
            for link in links {
                let unwatched = link.call(0, Request::Unwatch { watch: *watch }).await;
                self.answers += u64::from(unwatched == Ok(Reply::Unwatched));
            }
        }
        let left: Vec<i64> = sequence.store.leases().map(|(lease, _)| lease).collect();
        for lease in left {
            let ended = links[0].call(0, Request::LeaseRevoke { lease }).await;
            self.answers += 1;
            if ended != Ok(Reply::Revoked) {
                self.differences.push(format!("{}: {ended:?}, not Revoked", sequence.name));
            }
        }
    }
}

async fn revision(link: &RealLink) -> Option<Revision> {
    match link.call(0, Request::Get { key: "picklock-none".into() }).await {
        Ok(Reply::Found { revision, .. }) => Some(revision),
        _ => None,
    }
}

/// Returns a request with its revisions as they are in the cluster.
fn later(mut request: Request, base: Revision) -> Request {
    match &mut request {
        Request::Delete { created, .. } => *created += base,
        Request::Watch { from, .. } => *from += base,
        _ => {}
    }
    request
}

/// Returns a reply with its revisions as they would be in a cluster that is new.
fn earlier(mut reply: Reply, base: Revision) -> Reply {
    match &mut reply {
        Reply::Created { revision } => *revision -= base,
        Reply::Found { found, revision } => {
            *revision -= base;
            found.iter_mut().for_each(|found| found.created -= base);
        }
        _ => {}
    }
    reply
}

/// Measures how long a lease of two seconds lives, by its key.
async fn life_ms(link: &RealLink, lease: i64) -> Option<u64> {
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
