//! The timers of a client's machine. Its task sets and drops them, by its own monotonic clock; the
//! simulator sees that the event queue has an alarm for the first of them.
//!
//! Only the first: a call has a time-out, and most calls are answered long before it, so that most
//! timers would be put into the event queue only to be taken out again. A timer books its place in
//! the event queue's order when it is set, so that it goes off exactly when it would go off if it
//! stood there.

use base::Mono;
use std::task::Waker;

use crate::event_queue::{EventQueue, Ticket};

/// The identity of a timer. A place is used again, so the generation tells its users apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerId {
    place: u32,
    generation: u32,
}

#[derive(Default)]
struct Timer {
    generation: u32,
    /// The time at which it goes off, by the machine's monotonic clock.
    at: Mono,
    /// The task that waits for it. Stays when the timer is gone: the next one is most likely the
    /// same task's.
    waker: Option<Waker>,
    /// Its place in the event queue, until that has come.
    booked: Option<Ticket>,
}

impl Timer {
    fn awaken(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }
}

#[derive(Default)]
pub struct Timers {
    timers: Vec<Timer>,
    free: Vec<u32>,
    /// The timers that are not yet booked.
    fresh: Vec<TimerId>,
    /// The tickets in the event queue, each earlier than the one before it. The timer of an alarm
    /// may be gone; the first alarm is never later than the first timer.
    alarms: Vec<Ticket>,
}

impl Timers {
    /// Sets a timer, which this waker waits for.
    pub fn set(&mut self, at: Mono, waker: &Waker) -> TimerId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.timers.push(Timer::default());
            self.timers.len() as u32 - 1
        });
        let timer = &mut self.timers[place as usize];
        timer.at = at;
        timer.awaken(waker);
        let id = TimerId { place, generation: timer.generation };
        self.fresh.push(id);
        id
    }

    /// The timer, if it was not dropped.
    fn get(&mut self, id: TimerId) -> Option<&mut Timer> {
        self.timers.get_mut(id.place as usize).filter(|timer| timer.generation == id.generation)
    }

    /// Makes this waker wait for a timer from now on.
    pub fn wait(&mut self, id: TimerId, waker: &Waker) {
        if let Some(timer) = self.get(id) {
            timer.awaken(waker);
        }
    }

    /// Removes a timer that nobody waits for any more.
    pub fn unset(&mut self, id: TimerId) {
        let Some(timer) = self.get(id) else { return };
        timer.generation = timer.generation.wrapping_add(1);
        timer.booked = None;
        self.free.push(id.place);
    }

    /// Its time has come; whoever waits for it is woken.
    pub fn wake(&mut self, id: TimerId) {
        if let Some(Timer { waker: Some(waker), .. }) = self.get(id) {
            waker.wake_by_ref();
        }
    }

    /// Returns true if somebody waits for it.
    pub fn awaits(&mut self, id: TimerId) -> bool {
        self.get(id).is_some()
    }

    /// The timers that were set since the last call, for a world without an event queue.
    pub fn take_fresh(&mut self) -> Vec<(Mono, TimerId)> {
        let fresh = std::mem::take(&mut self.fresh).into_iter();
        fresh.map(|id| (self.timers[id.place as usize].at, id)).collect()
    }

    /// Books a place for the timers that were set since the last call. `due` says when, by the time
    /// of the world, the machine's clock says so.
    pub fn sync<T: Copy>(
        &mut self,
        queue: &mut EventQueue<T>,
        due: impl Fn(Mono) -> Mono,
        item: impl Fn(TimerId) -> T,
    ) {
        if self.fresh.is_empty() {
            return;
        }
        // Those that were booked before have their alarm, or one before it.
        let mut earliest: Option<(Ticket, TimerId)> = None;
        for &id in &self.fresh {
            let timer = &mut self.timers[id.place as usize];
            if timer.generation == id.generation {
                let booked = queue.book(due(timer.at));
                timer.booked = Some(booked);
                if earliest.is_none_or(|(first, _)| booked < first) {
                    earliest = Some((booked, id));
                }
            }
        }
        self.fresh.clear();
        self.set_alarm(earliest, queue, item);
    }

    /// The first alarm has gone off, for this timer. Says whether somebody waits for that.
    pub fn alarm<T: Copy>(
        &mut self,
        id: TimerId,
        queue: &mut EventQueue<T>,
        item: impl Fn(TimerId) -> T,
    ) -> bool {
        self.alarms.pop();
        let awaited = self.get(id).is_some_and(|timer| timer.booked.take().is_some());
        self.set_alarm(self.earliest(), queue, item);
        awaited
    }

    /// The first of all timers that are booked.
    fn earliest(&self) -> Option<(Ticket, TimerId)> {
        let booked = (0..).zip(&self.timers).filter_map(|(place, timer)| {
            Some((timer.booked?, TimerId { place, generation: timer.generation }))
        });
        booked.min_by_key(|(booked, _)| *booked)
    }

    /// Sees that this timer has its alarm, or one before it.
    fn set_alarm<T: Copy>(
        &mut self,
        timer: Option<(Ticket, TimerId)>,
        queue: &mut EventQueue<T>,
        item: impl Fn(TimerId) -> T,
    ) {
        if let Some((booked, id)) = timer
            && self.alarms.last().is_none_or(|first| booked < *first)
        {
            queue.fill(booked, item(id));
            self.alarms.push(booked);
        }
    }

    /// The clock goes at another rate from now on: the next `sync` books every timer anew.
    pub fn unplan<T: Copy>(&mut self, queue: &mut EventQueue<T>) {
        for alarm in self.alarms.drain(..) {
            queue.cancel(alarm);
        }
        for (place, timer) in (0..).zip(&mut self.timers) {
            if timer.booked.take().is_some() {
                self.fresh.push(TimerId { place, generation: timer.generation });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;
    use std::collections::BTreeMap;

    fn nanos(n: u64) -> Mono {
        Mono::from_nanos(n)
    }

    /// The timers that go off up to this time, each with its own.
    fn woken_until(
        end: u64,
        timers: &mut Timers,
        queue: &mut EventQueue<TimerId>,
    ) -> Vec<(u64, TimerId)> {
        let mut woken = Vec::new();
        while let Some((at, id)) = queue.pop(nanos(end)) {
            if timers.alarm(id, queue, |id| id) {
                woken.push((at.nanos(), id));
            }
        }
        woken
    }

    #[test]
    fn when_the_clock_changes_every_timer_that_is_waited_for_moves() {
        let (mut timers, mut queue) = (Timers::default(), EventQueue::new());
        let [gone, late] = [10, 20].map(|at| timers.set(nanos(at), Waker::noop()));
        timers.sync(&mut queue, |at| at, |id| id);
        timers.unset(gone);
        timers.unplan(&mut queue);
        timers.sync(&mut queue, |at| nanos(at.nanos() * 2), |id| id);
        assert_eq!(woken_until(39, &mut timers, &mut queue), []);
        assert_eq!(woken_until(40, &mut timers, &mut queue), [(40, late)]);
        assert_eq!(queue.len(), 0);
    }

    /// Held against a map of all timers, through thousands of random settings and droppings: each
    /// goes off at its time, those of one time in the order in which they were set.
    #[test]
    fn one_alarm_rings_like_one_for_each() {
        let mut rng = Rng::new(11);
        let (mut timers, mut queue, mut all) =
            (Timers::default(), EventQueue::new(), BTreeMap::new());
        let mut now = 0;
        for number in 0..20_000u64 {
            match rng.below(4) {
                0 | 1 => {
                    let at = now + rng.below(30);
                    all.insert((at, number), timers.set(nanos(at), Waker::noop()));
                    timers.sync(&mut queue, |at| at, |id| id);
                }
                2 if !all.is_empty() => {
                    let key = *all.keys().nth(rng.below(all.len() as u64) as usize).unwrap();
                    timers.unset(all.remove(&key).unwrap());
                }
                _ => {
                    now += rng.below(10);
                    let woken = woken_until(now, &mut timers, &mut queue);
                    let later = all.split_off(&(now + 1, 0));
                    let due = std::mem::replace(&mut all, later);
                    let due: Vec<_> = due.into_iter().map(|((at, _), id)| (at, id)).collect();
                    assert_eq!(woken, due);
                    due.iter().for_each(|(_, id)| timers.unset(*id));
                }
            }
        }
    }
}
