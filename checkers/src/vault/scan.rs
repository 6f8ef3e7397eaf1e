//! One pass over a history: every access of the vault with the grant that it belongs to.

use base::{F, History, Kind, Mode};
use hashbrown::HashMap;
use histories::Processes;
use histories::holds::{self, Claim, Claims};
use rustc_hash::FxBuildHasher;

/// A place in the order of grants, with the access that the vault served under that grant.
#[derive(Clone, Copy, Debug)]
struct ServedAccess {
    rank: u64,
    access: u64,
    claim: usize,
}

/// The latest grant that was served in one mode, by each of the orders that decide what is later.
#[derive(Clone, Copy, Debug, Default)]
struct LatestServed {
    granted: Option<ServedAccess>,
    asked: Option<ServedAccess>,
    token: Option<ServedAccess>,
}

/// The accesses that the vault of one key has served.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    exclusive: LatestServed,
    shared: LatestServed,
    /// The last write.
    write: Option<u64>,
}

/// The accesses of one process to the vault of one key.
#[derive(Clone, Copy, Debug, Default)]
struct ProcessAccesses {
    /// The grant under which the access that is under way was sent.
    under: Option<usize>,
    /// The last access that was served, and the grant that it was served under.
    last: Option<(usize, u64)>,
}

/// The accesses of one process to each vault.
#[derive(Debug, Default)]
struct Accesses {
    /// The vault that it used last, where it mostly stays.
    key: u32,
    here: ProcessAccesses,
    others: HashMap<u32, ProcessAccesses, FxBuildHasher>,
}

impl Accesses {
    fn of(&mut self, key: u32) -> &mut ProcessAccesses {
        if self.key != key {
            let there = self.others.remove(&key).unwrap_or_default();
            self.others.insert(self.key, std::mem::replace(&mut self.here, there));
            self.key = key;
        }
        &mut self.here
    }
}

/// A write that should not have been applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrongWrite {
    pub(super) write: u64,
    /// The claim under which it was sent.
    pub(super) claim: usize,
    /// The access by another process that it ran over.
    pub(super) over: u64,
    /// The reason why it should not have.
    pub(super) because: Because,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Because {
    /// The other was served under this later grant.
    Later(usize),
    /// The write builds on this access of its own process.
    BuiltOn(u64),
}

#[derive(Debug)]
pub(super) struct Scan<'a> {
    fenced: bool,
    history: &'a History,
    claims: &'a [Claim],
    served: Vec<Served>,
    accesses: Processes<Accesses>,
    /// The access on which the first write in doubt under each grant builds, by claim.
    doubtful: HashMap<usize, u64, FxBuildHasher>,
    pub(super) accepted: u64,
    pub(super) refused_reads: u64,
    pub(super) refused_writes: u64,
    pub(super) lost: Vec<WrongWrite>,
    pub(super) stale: Vec<WrongWrite>,
    /// The accepted writes of processes that had never been granted the lock.
    pub(super) unguarded: Vec<u64>,
}

impl<'a> Scan<'a> {
    /// Goes through all accesses; `fenced` is whether tokens say which grant is later.
    pub(super) fn of(history: &'a History, claims: &'a Claims, fenced: bool) -> Self {
        let mut scan = Self {
            fenced,
            history,
            claims: &claims.claims,
            served: vec![Served::default(); claims.keys.len()],
            accesses: Processes::default(),
            doubtful: HashMap::default(),
            accepted: 0,
            refused_reads: 0,
            refused_writes: 0,
            lost: Vec::new(),
            stale: Vec::new(),
            unguarded: Vec::new(),
        };
        claims.accesses.iter().for_each(|access| scan.step(access));
        scan
    }

    fn step(&mut self, access: &holds::Access) {
        match access.kind {
            Kind::Invoke => {
                let under = access.grant.map(|grant| grant as usize);
                self.accesses.of(access.process).of(access.key).under = under;
            }
            Kind::Ok => self.serve(access),
            Kind::Fail => self.refuse(access),
            Kind::Info => self.doubt(access),
        }
    }

    /// A write that may still arrive, when its process has long gone on.
    fn doubt(&mut self, access: &holds::Access) {
        let known = *self.accesses.of(access.process).of(access.key);
        let ProcessAccesses { under: Some(claim), last: Some((last, at)) } = known else { return };
        if access.f == F::Write && last == claim {
            self.doubtful.entry(claim).or_insert(at);
        }
    }

    fn refuse(&mut self, access: &holds::Access) {
        let event = self.history.get(access.at);
        let error = event.and_then(|event| event.error.as_deref());
        if error.is_some_and(|error| error.starts_with("fenced")) {
            match access.f {
                F::Write | F::Arrive => self.refused_writes += 1,
                _ => self.refused_reads += 1,
            }
        }
    }

    fn serve(&mut self, served: &holds::Access) {
        let (at, writes) = (served.at, served.f != F::Read);
        let grant = served.grant.map(|grant| grant as usize);
        self.accepted += u64::from(writes);
        let (claim, built_on) = if served.f == F::Arrive {
            let Some(claim) = grant else { return };
            (claim, self.doubtful.get(&claim).copied())
        } else {
            let access = self.accesses.of(served.process).of(served.key);
            let Some(claim) = access.under.or(grant) else {
                self.unguarded.extend(writes.then_some(at));
                return;
            };
            let built_on = access.last.filter(|(under, _)| *under == claim).map(|(_, at)| at);
            access.last = Some((claim, at));
            (claim, built_on)
        };
        let mode = served.mode.unwrap_or(self.claims[claim].mode);
        let served = &mut self.served[served.key as usize];
        if writes {
            self.lost.extend(lost_update(served, claim, built_on, at));
            let later = later(served, self.claims, claim, mode, self.fenced);
            self.stale.extend(later.map(|mark| WrongWrite {
                write: at,
                claim,
                over: mark.access,
                because: Because::Later(mark.claim),
            }));
            served.write = Some(at);
        }
        served.note(&self.claims[claim], claim, mode, at);
    }
}

impl Served {
    fn note(&mut self, grant: &Claim, claim: usize, mode: Mode, access: u64) {
        let latest = match mode {
            Mode::Exclusive => &mut self.exclusive,
            Mode::Shared => &mut self.shared,
        };
        let raise = |mark: &mut Option<ServedAccess>, rank: Option<u64>| {
            let Some(rank) = rank else { return };
            if mark.is_none_or(|mark| mark.rank < rank) {
                *mark = Some(ServedAccess { rank, access, claim });
            }
        };
        raise(&mut latest.granted, grant.granted());
        raise(&mut latest.asked, Some(grant.invoke));
        raise(&mut latest.token, grant.token);
    }
}

/// A write builds on the last access of its own hold. What was written since then, and this can
/// only be another's, is lost under it.
fn lost_update(
    served: &Served,
    claim: usize,
    built_on: Option<u64>,
    write: u64,
) -> Option<WrongWrite> {
    let base = built_on?;
    let over = served.write.filter(|over| *over > base)?;
    Some(WrongWrite { write, claim, over, because: Because::BuiltOn(base) })
}

/// A grant that excludes this claim, is later than it and was served already.
fn later(
    served: &Served,
    claims: &[Claim],
    claim: usize,
    mode: Mode,
    fenced: bool,
) -> Option<ServedAccess> {
    let grant = &claims[claim];
    let above = |mark: Option<ServedAccess>, rank: u64| mark.filter(|mark| mark.rank > rank);
    let after = |latest: &LatestServed| {
        let ok = grant.granted()?;
        match grant.token.filter(|_| fenced) {
            None => above(latest.granted, ok),
            Some(token) => above(latest.token, token).or_else(|| above(latest.asked, ok)),
        }
    };
    let by_writers = after(&served.exclusive);
    match mode {
        Mode::Exclusive => by_writers.or_else(|| after(&served.shared)),
        Mode::Shared => by_writers,
    }
}
