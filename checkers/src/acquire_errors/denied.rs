//! Holders that are answered that they no longer hold the lock, while they do.

use crate::Case;
use crate::causes::Occurrence;
use base::{Cause, Event, F, Key, Kind};
use std::collections::BTreeMap;

/// The answers that a process has had about one lock.
#[derive(Clone, Copy, Debug, Default)]
struct HoldSeen {
    /// The grant; `None`: it holds nothing for certain.
    granted: Option<u64>,
    /// The time, in nanoseconds, at which it asked for the grant, or for its last extension.
    since_ns: u64,
    /// The request about its hold that is under way.
    asked: Option<(u64, u64)>,
}

/// The extensions that were refused, and the holds that were denied, though what was granted was
/// good for as long again: by at most half of its ttl since it was asked for.
pub(super) fn denied<'a>(
    case: &Case<'_>,
    calm: impl Iterator<Item = &'a Event>,
) -> Vec<Occurrence> {
    let info = &case.run.info;
    let grain_ns = info.lock.promises.pace.grain_ns;
    let good_ns = (info.run.ttl_ns / 2).saturating_sub(grain_ns);
    let mut holds: BTreeMap<(Option<u32>, &Option<Key>), HoldSeen> = BTreeMap::new();
    let mut denied = Vec::new();
    for event in calm {
        let hold = holds.entry((event.client(), &event.key)).or_default();
        let (at, time_ns) = (event.index, event.time_ns);
        match (event.f, event.kind) {
            (F::Acquire, Kind::Invoke) => *hold = HoldSeen { since_ns: time_ns, ..*hold },
            (F::Acquire, Kind::Ok) => hold.granted = Some(at),
            (F::Extend | F::Valid, Kind::Invoke) => hold.asked = Some((at, time_ns)),
            (F::Extend, Kind::Ok) => {
                hold.since_ns = hold.asked.map_or(hold.since_ns, |(_, asked_ns)| asked_ns);
            }
            (F::Extend | F::Valid, Kind::Fail) => {
                let is_good = time_ns < hold.since_ns.saturating_add(good_ns);
                let seen = hold.granted.zip(hold.asked).filter(|_| is_good);
                let witness = seen.map(|(ok, (asked, _))| [ok, asked, at]);
                denied.extend(witness.map(|witness| Occurrence::new(Cause::Recipe, witness)));
                hold.granted = None;
            }
            (F::Release, _) | (F::Lost | F::Death | F::Convert, _) => hold.granted = None,
            _ => {}
        }
    }
    denied
}
