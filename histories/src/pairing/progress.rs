//! Progress: does anybody who asks for a free lock get it? Safety says nothing about that, and so a
//! deadlock is legal for every model.
//!
//! A lock is taken for free while there is room for one more by all that grants and releases say:
//! an acquire of unknown outcome takes no room, and a process that asked for its release, lost its
//! hold or died uses none. If an acquire finds a free lock and is not answered by the end of the
//! history, then the lock was not given to it:
//!
//! * by the order of events, if others did something after both;
//! * by time, if there is one: when it waited at least as long as any acquire that was granted had
//!   to wait for a free lock;
//! * or by the word of the lock, if it refused to free the last hold.
//!
//! Otherwise the history may just have ended too early.

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
}

#[derive(Clone, Copy, Debug, Default)]
struct KeyRoom {
    used: u32,
    /// The moment since which nobody holds it.
    idle: TimedPlace,
    /// The moment since which one permit is to be had.
    room: TimedPlace,
    granted: bool,
    refused: Option<u64>,
}

impl Rooms {
    /// Begins with free locks of so many permits.
    pub fn new(permits: u32) -> Self {
        Self { permits, keys: Vec::new(), longest_ns: None, now: TimedPlace::default() }
    }

    /// Goes on to the next event.
    pub fn at(&mut self, now: TimedPlace) {
        self.now = now;
    }

    fn key(&mut self, key: u32) -> &mut KeyRoom {
        let key = key as usize;
        if self.keys.len() <= key {
            self.keys.resize(key + 1, KeyRoom::default());
        }
        &mut self.keys[key]
    }

    /// Notes a grant of what was asked for at a moment.
    pub fn granted(&mut self, key: u32, permits: u32, asked: TimedPlace) {
        let (now, most) = (self.now, self.permits);
        let room = self.key(key);
        let free = room.free_since(permits, most);
        room.used += permits;
        (room.granted, room.refused) = (true, None);
        let waited_ns = free.and_then(|free| now.since_ns(free.later(asked)));
        self.longest_ns = self.longest_ns.max(waited_ns);
    }

    /// Notes that a hold is over: its release begins, or it is lost.
    pub fn freed(&mut self, key: u32, permits: u32) {
        let (now, most) = (self.now, self.permits);
        let room = self.key(key);
        let full = room.used >= most;
        room.used = room.used.saturating_sub(permits);
        if room.used == 0 {
            room.idle = now;
        }
        if full && room.used < most {
            room.room = now;
        }
    }

    /// Notes that a release was answered that began at this place: what it freed is free from now
    /// on.
    pub fn answered(&mut self, key: u32, began: u64) {
        let now = self.now;
        let KeyRoom { idle, room, .. } = self.key(key);
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

    /// The locks that nobody was given any more, at the end of the history.
    pub fn unserved(&self, mut waiting: Vec<Waiting>) -> Vec<Unserved> {
        waiting.sort_by_key(|it| (it.key, it.asked.place));
        let of_key = waiting.chunk_by(|one, other| one.key == other.key);
        of_key.filter_map(|waiting| self.unserved_of(waiting)).collect()
    }

    /// Judges one lock. The acquire that has waited longest may be the first of a queue, and so all
    /// of them are granted only after it.
    fn unserved_of(&self, waiting: &[Waiting]) -> Option<Unserved> {
        let (first, now) = (waiting.first()?, self.now);
        let room = self.keys.get(first.key as usize).filter(|room| room.granted)?;
        let since = room.free_since(first.permits, self.permits)?.later(first.asked);
        let waited_ns = now.since_ns(since);
        let long = match (waited_ns, self.longest_ns) {
            (Some(waited), Some(longest)) => waited >= longest,
            _ => true,
        };
        (room.refused.is_some() || long && now.place > since.place).then(|| Unserved {
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
            _ => (self.used == 0 && permits <= most).then_some(self.idle),
        }
    }
}
