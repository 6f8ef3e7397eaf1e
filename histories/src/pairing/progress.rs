//! Progress: does anybody who asks for a free lock get it? Safety says nothing about that, and so a
//! deadlock is legal for every model.
//!
//! A lock is taken for free while there is room for one more according to grants and releases:
//! an acquire of unknown outcome takes no room (though not all of a semaphore's permits may be
//! there after one), and a process that asked for its release, lost its hold or died uses none. If
//! an acquire finds a free lock and is not answered by the end of the history, then the lock was
//! not given to it:
//!
//! * by the order of events, if others were answered after both;
//! * by time, if there is one: when it waited at least as long as any acquire that was granted had
//!   to wait for a free lock;
//! * or by the word of the lock, if it refused to free the last hold.
//!
//! Nor was it given where it refused two acquires and granted none after them, each of which asked
//! alone for a lock whose every release had succeeded.
//!
//! Otherwise the history may just have ended too early, as it has where a release is under way that
//! would free the lock.

use super::denials::Denials;

/// A place in a history, and its time if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimedPlace {
    pub place: u64,
    pub time_ns: Option<i64>,
}

impl TimedPlace {
    fn later(self, other: Self) -> Self {
        if other.place > self.place { other } else { self }
    }

    /// The time from an earlier moment to this one, in nanoseconds.
    fn since_ns(self, earlier: Self) -> Option<i64> {
        Some(self.time_ns?.saturating_sub(earlier.time_ns?))
    }
}

/// An acquire that was never answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub operation: usize,
    pub key: u32,
    pub permits: u32,
    pub asked: TimedPlace,
}

/// A lock that nobody was given any more, though it was free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    /// The acquires that were never answered, as indices of operations, oldest first.
    pub waiting: Vec<usize>,
    /// The place from which on the lock was free and asked for.
    pub since: u64,
    /// The time from then to the end of the history, in nanoseconds, if events have times.
    pub waited_ns: Option<i64>,
    /// The place at which the lock refused to free its last hold, if it did.
    pub refused: Option<u64>,
}

/// The room that there is in every lock of a history.
#[derive(Debug)]
pub(super) struct Rooms {
    /// The permits of each lock.
    permits: u32,
    keys: Vec<KeyRoom>,
    /// The longest time that a granted acquire waited for a free lock.
    longest_ns: Option<i64>,
    now: TimedPlace,
    /// The place of the last answer.
    last_answer: u64,
}

#[derive(Clone, Debug, Default)]
struct KeyRoom {
    used: u32,
    /// The moment since which nobody holds it.
    idle: TimedPlace,
    /// The moment since which one permit is to be had.
    room: TimedPlace,
    granted: bool,
    /// Nobody knows whether an acquire was granted.
    doubtful: bool,
    /// The place at which the release of the last hold was refused.
    refused: Option<u64>,
    denials: Denials,
}

impl Rooms {
    /// Begins with free locks of so many permits.
    pub fn new(permits: u32) -> Self {
        let (now, keys) = (TimedPlace::default(), Vec::new());
        Self { permits, keys, longest_ns: None, now, last_answer: 0 }
    }

    /// Goes on to the next event, which is an answer or not.
    pub fn at(&mut self, now: TimedPlace, is_answer: bool) {
        self.now = now;
        if is_answer {
            self.last_answer = now.place;
        }
    }

    fn key(&mut self, key: u32) -> &mut KeyRoom {
        let key = key as usize;
        if self.keys.len() <= key {
            self.keys.resize(key + 1, KeyRoom::default());
        }
        &mut self.keys[key]
    }

    /// Notes that an acquire begins.
    pub fn asks(&mut self, key: u32) {
        let place = self.now.place;
        self.key(key).denials.asks(place);
    }

    /// Notes that an acquire has its answer.
    pub fn is_answered(&mut self, key: u32) {
        self.key(key).denials.is_answered();
    }

    /// Notes that an acquire was refused that began at this place.
    pub fn denied(&mut self, key: u32, permits: u32, (operation, began): (usize, u64)) {
        let most = self.permits;
        let room = self.key(key);
        let is_free = room.free_since(permits, most).is_some_and(|free| free.place < began);
        if is_free && room.granted && !room.doubtful {
            room.denials.add(operation, began);
        }
    }

    /// Notes a grant of what was asked for at a moment.
    pub fn granted(&mut self, key: u32, permits: u32, asked: TimedPlace) {
        let (now, most) = (self.now, self.permits);
        let room = self.key(key);
        let free = room.free_since(permits, most);
        room.used += permits;
        (room.granted, room.refused) = (true, None);
        room.denials.granted();
        let waited_ns = free.and_then(|free| now.since_ns(free.later(asked)));
        self.longest_ns = self.longest_ns.max(waited_ns);
    }

    /// Notes that an acquire may or may not have been granted.
    pub fn granted_perhaps(&mut self, key: u32) {
        self.key(key).doubtful = true;
    }

    /// Notes that a hold is over: its release begins, or it is lost.
    pub fn freed(&mut self, key: u32, permits: u32) {
        let (now, most) = (self.now, self.permits);
        let room = self.key(key);
        let full = room.used >= most;
        room.denials.freed();
        room.used = room.used.saturating_sub(permits);
        if room.used == 0 {
            room.idle = now;
        }
        if full && room.used < most {
            room.room = now;
        }
    }

    /// Notes that a hold ended without a release.
    pub fn lost(&mut self, key: u32, permits: u32) {
        self.freed(key, permits);
        self.key(key).denials.lost();
    }

    /// Notes that a release was answered that began at this place, with success or not: what it
    /// freed is free from now on.
    pub fn answered(&mut self, key: u32, began: u64, is_ok: bool) {
        let now = self.now;
        let KeyRoom { idle, room, denials, .. } = self.key(key);
        denials.released(is_ok);
        for moment in [idle, room] {
            if moment.place == began {
                *moment = now;
            }
        }
    }

    /// Notes that the release of a hold failed: the lock may be free or not, but its holder is done
    /// with it.
    pub fn refused(&mut self, key: u32) {
        let place = self.now.place;
        self.key(key).refused = Some(place);
    }

    /// Notes that a release may have freed what an earlier one had refused to.
    pub fn freed_after_all(&mut self, key: u32) {
        let now = self.now;
        let room = self.key(key);
        if room.refused.take().is_some() {
            (room.idle, room.room) = (now, now);
        }
    }

    /// The locks that nobody was given any more, at the end of the history, at which releases are
    /// under way that began at these places.
    pub fn unserved(&self, mut waiting: Vec<Waiting>, releasing: &[u64]) -> Vec<Unserved> {
        waiting.sort_by_key(|it| (it.key, it.asked.place));
        let of_key = waiting.chunk_by(|one, other| one.key == other.key);
        let mut unserved: Vec<Unserved> =
            of_key.filter_map(|waiting| self.unserved_of(waiting, releasing)).collect();
        let waits = |key: usize| waiting.iter().any(|it| it.key as usize == key);
        let denied = self.keys.iter().enumerate().filter(|(key, _)| !waits(*key));
        unserved.extend(denied.filter_map(|(_, room)| self.denied_for_good(room)));
        unserved
    }

    /// Judges one lock for which nobody waits at the end.
    fn denied_for_good(&self, room: &KeyRoom) -> Option<Unserved> {
        let free = room.free_since(1, self.permits)?;
        Some(Unserved {
            waiting: room.denials.for_good()?.to_vec(),
            since: free.place,
            waited_ns: self.now.since_ns(free),
            refused: None,
        })
    }

    /// Judges one lock. The acquire that has waited longest may be the first of a queue, and so all
    /// of them are granted only after it.
    fn unserved_of(&self, waiting: &[Waiting], releasing: &[u64]) -> Option<Unserved> {
        let (first, now) = (waiting.first()?, self.now);
        let room = self.keys.get(first.key as usize).filter(|room| room.granted)?;
        let free = room.free_since(first.permits, self.permits)?;
        if releasing.contains(&free.place) {
            return None;
        }
        let since = free.later(first.asked);
        let waited_ns = now.since_ns(since);
        let long = match (waited_ns, self.longest_ns) {
            (Some(waited), Some(longest)) => waited >= longest && now.place > since.place,
            _ => self.last_answer > since.place,
        };
        (room.refused.is_some() || long).then(|| Unserved {
            waiting: waiting.iter().map(|it| it.operation).collect(),
            since: since.place,
            waited_ns,
            refused: room.refused,
        })
    }
}

impl KeyRoom {
    /// The moment since which so many permits are to be had; `None` while they are not.
    fn free_since(&self, permits: u32, most: u32) -> Option<TimedPlace> {
        match permits {
            1 => (self.used < most).then_some(self.room),
            _ => (self.used == 0 && !self.doubtful && permits <= most).then_some(self.idle),
        }
    }
}
