//! The owners of the things in the store: the ledger of a run, by thing. It has the life of each
//! key or node, change by change.

use super::authors;
use crate::evidence::Evidence;
use base::{Change, HOLDS, Ledger, LedgerEntry};
use hashbrown::{HashMap, HashSet};
use histories::holds::{AcquireAnswer, Claim, Ending};
use rustc_hash::FxBuildHasher;
use std::ops::Range;

/// A change of a thing, with its time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) at_ns: u64,
    pub(super) change: Change,
}

/// A write of a process: the thing, and the place of the write in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) at_ns: u64,
    pub(super) thing: usize,
    pub(super) place: usize,
}

/// A thing that stands in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// Its last write.
    pub(super) write: Written,
    /// The process that wrote it.
    pub(super) process: u32,
    /// The server lost what came after that write.
    pub(super) restored: bool,
}

/// Every thing's life, and every process's writes in the order of their times.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    lives: Vec<Vec<Changed>>,
    /// The server of each thing.
    servers: Vec<u32>,
    /// The name of each thing, by its number.
    objects: Vec<u32>,
    /// The things that several share.
    shared: HashSet<usize, FxBuildHasher>,
    writes: HashMap<u32, Vec<Written>, FxBuildHasher>,
    claims: HashMap<u32, Vec<usize>, FxBuildHasher>,
}

impl Ownership {
    /// Reads it from a ledger. `None`: of a change nobody can tell which worker made it.
    pub(crate) fn of(evidence: &Evidence<'_>, ledger: &Ledger) -> Option<Self> {
        let mut ownership = Self::default();
        // On several servers a thing of one name is one thing each.
        let mut things: HashMap<(u32, u32), usize, FxBuildHasher> = HashMap::default();
        let no_locks = no_locks(evidence, ledger);
        let is_lock = |object| !no_locks.contains(&object);
        let changes = authors::changes(evidence, ledger, is_lock)?;
        for entry in changes.iter().filter(|entry| is_lock(entry.object)) {
            let fresh = ownership.lives.len();
            let thing = *things.entry((entry.server, entry.object)).or_insert(fresh);
            if thing == fresh {
                ownership.lives.push(Vec::new());
                ownership.servers.push(entry.server);
                ownership.objects.push(entry.object);
                if ledger.is_shared(entry.object) {
                    ownership.shared.insert(thing);
                }
            }
            let life = &mut ownership.lives[thing];
            if let Change::Written(process) = entry.change {
                let write = Written { at_ns: entry.time_ns, thing, place: life.len() };
                ownership.writes.entry(process).or_default().push(write);
            }
            life.push(Changed { at_ns: entry.time_ns, change: entry.change });
        }
        for (place, claim) in evidence.claims.claims.iter().enumerate() {
            ownership.claims.entry(claim.process).or_default().push(place);
        }
        Some(ownership)
    }

    /// Returns true if it tells what each grant has taken.
    pub(super) fn tells_all(&self, evidence: &Evidence<'_>) -> bool {
        evidence.claims.grants().all(|claim| !self.taken(evidence, claim).is_empty())
    }

    /// The last thing that a process wrote for its claim, if the claim has one place in a queue: it
    /// went on without any that it made before.
    pub(super) fn last_of_queue(evidence: &Evidence<'_>, taken: &mut Vec<Written>) {
        let last = taken.iter().map(|write| write.at_ns).max();
        if evidence.run.info.lock.promises.fifo {
            taken.retain(|write| Some(write.at_ns) == last);
        }
    }

    /// The server that stores a thing.
    pub(super) fn server(&self, thing: usize) -> u32 {
        self.servers[thing]
    }

    /// Returns true if two things have one name, each on a server of its own.
    pub(super) fn is_copy(&self, thing: usize, other: usize) -> bool {
        thing != other && self.objects[thing] == self.objects[other]
    }

    /// Returns true if a thing has had several owners, one at a time: nobody wrote it while it was
    /// another's.
    pub(super) fn is_a_lock(&self, thing: usize) -> bool {
        let mut owners = HashSet::<u32, FxBuildHasher>::default();
        let mut owner = None;
        for changed in &self.lives[thing] {
            owner = match changed.change {
                Change::Written(by) if owner.is_some_and(|it| it != by) => return false,
                Change::Written(by) => Some(by),
                _ => None,
            };
            owners.extend(owner);
        }
        owners.len() > 1
    }

    /// Returns the changes to a thing after one of its writes.
    pub(super) fn after(&self, write: Written) -> &[Changed] {
        &self.lives[write.thing][write.place + 1..]
    }

    /// Returns true if several share a thing.
    pub(super) fn is_shared(&self, thing: usize) -> bool {
        self.shared.contains(&thing)
    }

    /// Returns true if a thing that several share stood already when it was written.
    pub(super) fn joined(&self, write: Written) -> bool {
        let before = self.lives[write.thing][..write.place].last();
        self.is_shared(write.thing)
            && before.is_some_and(|it| matches!(it.change, Change::Written(_) | Change::Restored))
    }

    /// The latest write of each thing by the process of a claim, while the claim was asked for or
    /// converted, of those that it did not remove again by then.
    pub(super) fn taken(&self, evidence: &Evidence<'_>, claim: &Claim) -> Vec<Written> {
        let to = converted(evidence, claim).unwrap_or(claim.asking().end);
        self.taken_until(evidence, claim, evidence.time(to))
    }

    /// The same with what reached the store after its answer, up to a time in nanoseconds.
    pub(super) fn taken_until(
        &self,
        evidence: &Evidence<'_>,
        claim: &Claim,
        to: u64,
    ) -> Vec<Written> {
        let from = evidence.time(claim.invoke);
        let Some(writes) = self.writes.get(&claim.process) else { return Vec::new() };
        let begin = writes.partition_point(|write| write.at_ns < from);
        let mut latest: Vec<Written> = Vec::new();
        for write in writes[begin..].iter().take_while(|write| write.at_ns <= to) {
            latest.retain(|other| other.thing != write.thing);
            latest.push(*write);
        }
        let own = Change::Deleted(claim.process);
        latest.retain(|write| {
            let next = self.after(*write).first();
            next.is_none_or(|next| next.change != own || next.at_ns > to)
        });
        // Of a store with replicas only the copy counts on which the last try was made.
        if evidence.run.info.failover_ns > 0
            && let Some(last) = latest.last().map(|write| self.server(write.thing))
        {
            latest.retain(|write| self.server(write.thing) == last);
        }
        latest
    }

    /// Returns true if what several share of a lock went with its server's data by a time, in
    /// nanoseconds: those who had a part in it take that out again, and the count is wrong from
    /// then on.
    pub(super) fn lost_count(&self, evidence: &Evidence<'_>, key: usize, until_ns: u64) -> bool {
        let is_ours = |changed: &Changed| match changed.change {
            Change::Written(by) => {
                let claim = self.busy_with(evidence, by, changed.at_ns);
                claim.is_some_and(|claim| claim.key == key)
            }
            _ => false,
        };
        let was_lost = |thing: &usize| {
            let mut steps = self.lives[*thing].windows(2);
            steps.any(|step| {
                step[1].change == Change::Wiped && step[1].at_ns <= until_ns && is_ours(&step[0])
            })
        };
        self.shared.iter().any(was_lost)
    }

    /// Returns the time, in nanoseconds, at which a claim put its part into a thing that several
    /// share, if the part is there still: nothing else of its process was put there or taken out.
    pub(super) fn part(
        &self,
        evidence: &Evidence<'_>,
        claim: &Claim,
        (thing, until_ns): (usize, u64),
    ) -> Option<u64> {
        // Both lists are in the order of time; a client that is refused all the time has long ones.
        let from = evidence.time(claim.invoke);
        let claims = self.claims.get(&claim.process)?;
        let invoked = |place: &usize| evidence.time(evidence.claims.claims[*place].invoke);
        let next = claims.partition_point(|place| invoked(place) <= from);
        let next = claims.get(next).map_or(u64::MAX, invoked);
        let writes = self.writes.get(&claim.process)?;
        let first = writes.partition_point(|write| write.at_ns < from);
        let ours = writes[first..].iter().take_while(|it| it.at_ns < next && it.at_ns <= until_ns);
        let mut ours = ours.filter(|write| write.thing == thing);
        let (part, None) = (ours.next()?, ours.next()) else { return None };
        let mut later = self.after(*part).iter().take_while(|it| it.at_ns <= until_ns);
        let stands = later.all(|it| matches!(it.change, Change::Written(_) | Change::Restored));
        stands.then_some(part.at_ns)
    }

    /// Returns true if the process of a claim removed something of what it had taken, between these
    /// times.
    pub(super) fn took_back(
        &self,
        evidence: &Evidence<'_>,
        claim: &Claim,
        during: Range<u64>,
    ) -> bool {
        let own = Change::Deleted(claim.process);
        let next = |write: &Written| self.after(*write).first().copied();
        let is_own = |next: Changed| next.change == own && during.contains(&next.at_ns);
        self.taken(evidence, claim).iter().filter_map(next).any(is_own)
    }

    /// The first write of a thing by the process of a claim that comes at or after a time, up to
    /// its answer.
    pub(super) fn takes(
        &self,
        evidence: &Evidence<'_>,
        claim: &Claim,
        thing: usize,
    ) -> Option<u64> {
        let of_thing = self.taken(evidence, claim).into_iter().find(|write| write.thing == thing);
        of_thing.map(|write| write.at_ns)
    }

    /// Every deletion of a thing by another process than the one that had been granted the lock
    /// with it, and every write of another's release after which a third one was granted the lock
    /// with it: when, by whom, and the write of its owner.
    pub(super) fn thefts(
        &self,
        has_won: impl Fn(u32, u64) -> bool,
        overwrites: impl Fn(u32, u64, (u32, Written)) -> bool,
    ) -> Vec<(u64, u32, (u32, Written))> {
        let mut thefts = Vec::new();
        for (thing, life) in self.lives.iter().enumerate() {
            let mut owner: Option<(u32, Written)> = None;
            // The last write of another's release since then.
            let mut released: Option<(u64, u32)> = None;
            for (place, changed) in life.iter().enumerate() {
                let Changed { at_ns, change } = *changed;
                match (change, owner) {
                    (Change::Written(by), _) => {
                        let own = owner.is_none_or(|(it, _)| it == by);
                        let won = !own && has_won(by, at_ns);
                        if let (true, Some((at_ns, by)), Some(owner)) = (won, released, owner) {
                            thefts.push((at_ns, by, owner));
                        }
                        // Its owner's later writes count: it may have left what others hold, too.
                        if own || won {
                            owner = Some((by, Written { at_ns, thing, place }));
                            released = None;
                        } else if owner.is_some_and(|owner| overwrites(by, at_ns, owner)) {
                            released = Some((at_ns, by));
                        }
                        continue;
                    }
                    (Change::Deleted(by), Some(owner)) if owner.0 != by => {
                        thefts.push((at_ns, by, owner));
                    }
                    _ => {}
                }
                (owner, released) = (None, None);
            }
        }
        thefts.sort_by_key(|theft| theft.0);
        thefts
    }

    /// The claim that a process was busy with at a time: of the last ones that it had begun, as
    /// many as it holds at once, the one that it was asking for or freeing, else the last.
    pub(super) fn busy_with<'a>(
        &self,
        evidence: &'a Evidence<'_>,
        process: u32,
        at_ns: u64,
    ) -> Option<&'a Claim> {
        let mine = self.claims.get(&process)?;
        let claim = |place: &usize| &evidence.claims.claims[*place];
        let begun = mine.partition_point(|place| evidence.time(claim(place).invoke) <= at_ns);
        let mut latest = mine[..begun].iter().rev().take(HOLDS).map(claim);
        let works = |claim: &&Claim| {
            matches!(
                ClaimStep::of(evidence, claim, at_ns),
                ClaimStep::Asking | ClaimStep::Releasing
            )
        };
        latest.clone().find(works).or_else(|| latest.next())
    }

    /// The things that stand at a time.
    pub(super) fn standing(&self, at_ns: u64) -> impl Iterator<Item = Standing> {
        let stands = |last: &Changed| matches!(last.change, Change::Written(_) | Change::Restored);
        self.last_changes(at_ns).filter(move |(last, _)| stands(last)).map(|(_, thing)| thing)
    }

    /// The last change of each thing up to a time, and the thing as it was written last.
    pub(super) fn last_changes(&self, at_ns: u64) -> impl Iterator<Item = (Changed, Standing)> {
        self.lives.iter().enumerate().filter_map(move |(thing, life)| {
            let past = &life[..life.partition_point(|changed| changed.at_ns <= at_ns)];
            let last = *past.last()?;
            let restored = last.change == Change::Restored;
            let writer = |changed: &Changed| match changed.change {
                Change::Written(process) => Some(process),
                _ => None,
            };
            let place = past.iter().rposition(|changed| writer(changed).is_some())?;
            let write = Written { at_ns: past[place].at_ns, thing, place };
            Some((last, Standing { write, process: writer(&past[place])?, restored }))
        })
    }
}

/// The things that lock nothing: those that have others in them, which whoever comes first makes
/// for all; those that a library keeps beside its locks: only the names of locks have that of a
/// key in them; and of a semaphore those that are not one holder's.
fn no_locks(evidence: &Evidence<'_>, ledger: &Ledger) -> HashSet<u32, FxBuildHasher> {
    let objects = ledger.entries().iter().map(|entry| (entry.object, ledger.name(entry.object)));
    let objects: HashMap<u32, &str, FxBuildHasher> = objects.collect();
    let folders: HashSet<&str, FxBuildHasher> =
        objects.values().filter_map(|name| Some(name.rsplit_once('/')?.0)).collect();
    let keys = &evidence.claims.keys;
    let has_key = |name: &str| keys.iter().any(|key| name.contains(&**key));
    let any_has = objects.values().any(|name| has_key(name));
    let locks_nothing =
        |name: &str| folders.contains(name) || any_has && !name.is_empty() && !has_key(name);
    let common = match evidence.run.info.lock.promises.permits {
        1 => HashSet::default(),
        _ => in_common(ledger),
    };
    let objects = objects.into_iter();
    let no_locks = objects.filter(|(object, name)| locks_nothing(name) || common.contains(object));
    no_locks.map(|(object, _)| object).collect()
}

/// The things that several have at once: those that they share, and those that one writes over the
/// other's, as a counter of holders.
fn in_common(ledger: &Ledger) -> HashSet<u32, FxBuildHasher> {
    let mut writers: HashMap<(u32, u32), u32, FxBuildHasher> = HashMap::default();
    let is_in_common = |entry: &&LedgerEntry| {
        let thing = (entry.server, entry.object);
        let before = match entry.change {
            Change::Written(by) => writers.insert(thing, by).filter(|before| *before != by),
            _ => writers.remove(&thing).and(None),
        };
        before.is_some() || ledger.is_shared(entry.object)
    };
    ledger.entries().iter().filter(is_in_common).map(|entry| entry.object).collect()
}

/// The step of its claim at which a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimStep {
    /// It asks for the lock.
    Asking,
    /// It believes that it holds the lock, or did until it learned otherwise.
    Holding,
    /// It frees the lock.
    Releasing,
    /// It has been answered, has given up or is dead: whatever still happens in its name is late.
    Over,
}

impl ClaimStep {
    /// The step of a claim at a time, in nanoseconds.
    pub(crate) fn of(evidence: &Evidence<'_>, claim: &Claim, at_ns: u64) -> Self {
        let passed = |event: u64| evidence.time(event) < at_ns;
        match claim.answer {
            AcquireAnswer::Failed(at) | AcquireAnswer::Unknown(at) if passed(at) => {
                return Self::Over;
            }
            AcquireAnswer::Granted(at) if passed(at) => {}
            _ => return Self::Asking,
        }
        if claim.freed.is_some_and(|(at, _)| passed(at)) {
            return Self::Over;
        }
        if claim.freeing.is_some_and(passed) {
            return Self::Releasing;
        }
        match claim.end {
            Some(end) if passed(end.at) && end.how == Ending::Death => Self::Over,
            _ => Self::Holding,
        }
    }
}

/// The event that answered the last conversion of a claim; the end of its hold, if that came first.
fn converted(evidence: &Evidence<'_>, claim: &Claim) -> Option<u64> {
    let hold = claim.definite().filter(|_| evidence.run.info.lock.promises.downgrades)?;
    let range = usize::try_from(hold.start).ok()?..;
    let events = evidence.run.history.events().get(range)?.iter();
    let ours = events.take_while(|event| event.index < hold.end);
    let converts =
        |event: &&base::Event| event.f == base::F::Convert && event.client() == Some(claim.process);
    let last = ours.filter(converts).last()?;
    Some(if last.kind == base::Kind::Invoke { hold.end } else { last.index })
}
