//! The timers of a client's machine. Its task sets and drops them, by its own monotonic clock; the
//! simulator puts them on its agenda, by the time of the world, and takes off those that nobody
//! waits for any more.

use base::Mono;
use std::task::Waker;

use crate::agenda::{Agenda, Ticket};

/// Which timer. A place is used again, so the generation tells its users apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerId {
    place: u32,
    generation: u32,
}

#[derive(Default)]
struct Timer {
    generation: u32,
    /// When it rings, by the machine's monotonic clock.
    at: Mono,
    /// Who waits for it. Stays when the timer is gone: the next one is most likely the same task's.
    waker: Option<Waker>,
    /// Where it stands on the agenda.
    ticket: Option<Ticket>,
}

#[derive(Default)]
pub struct Timers {
    timers: Vec<Timer>,
    free: Vec<u32>,
    /// Not yet on the agenda.
    fresh: Vec<TimerId>,
    /// Still on the agenda.
    dropped: Vec<Ticket>,
}

impl Timers {
    pub fn set(&mut self, at: Mono) -> TimerId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.timers.push(Timer::default());
            self.timers.len() as u32 - 1
        });
        let timer = &mut self.timers[place as usize];
        timer.at = at;
        let id = TimerId { place, generation: timer.generation };
        self.fresh.push(id);
        id
    }

    /// The timer, if it was not dropped.
    fn get(&mut self, id: TimerId) -> Option<&mut Timer> {
        self.timers.get_mut(id.place as usize).filter(|timer| timer.generation == id.generation)
    }

    /// From now on this waker waits for it.
    pub fn wait(&mut self, id: TimerId, waker: &Waker) {
        if let Some(timer) = self.get(id)
            && !timer.waker.as_ref().is_some_and(|known| known.will_wake(waker))
        {
            timer.waker = Some(waker.clone());
        }
    }

    /// Nobody waits for it any more.
    pub fn unset(&mut self, id: TimerId) {
        let Some(timer) = self.get(id) else { return };
        timer.generation = timer.generation.wrapping_add(1);
        if let Some(ticket) = timer.ticket.take() {
            self.dropped.push(ticket);
        }
        self.free.push(id.place);
    }

    /// Its time has come; whoever waits for it is woken.
    pub fn ring(&mut self, id: TimerId) {
        let Some(timer) = self.get(id) else { return };
        timer.ticket = None;
        if let Some(waker) = &timer.waker {
            waker.wake_by_ref();
        }
    }

    /// Somebody waits for it.
    pub fn awaits(&mut self, id: TimerId) -> bool {
        self.get(id).is_some()
    }

    /// The timers that were set since the last call, for a world without an agenda.
    pub fn take_fresh(&mut self) -> Vec<(Mono, TimerId)> {
        let fresh = std::mem::take(&mut self.fresh).into_iter();
        fresh.map(|id| (self.timers[id.place as usize].at, id)).collect()
    }

    /// The clock goes at another rate from now on: the next `sync` puts every timer on the agenda
    /// anew.
    pub fn unplan(&mut self) {
        for (place, timer) in (0..).zip(&mut self.timers) {
            if let Some(ticket) = timer.ticket.take() {
                self.dropped.push(ticket);
                self.fresh.push(TimerId { place, generation: timer.generation });
            }
        }
    }

    /// Puts the timers that were set since the last call on the agenda and takes the dropped ones
    /// off it. `due` says when, by the time of the world, the machine's clock says so.
    pub fn sync<T>(
        &mut self,
        agenda: &mut Agenda<T>,
        due: impl Fn(Mono) -> Mono,
        item: impl Fn(TimerId) -> T,
    ) {
        for ticket in self.dropped.drain(..) {
            agenda.cancel(ticket);
        }
        for id in self.fresh.drain(..) {
            let timer = &mut self.timers[id.place as usize];
            if timer.generation == id.generation {
                timer.ticket = Some(agenda.push(due(timer.at), item(id)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(n: u64) -> Mono {
        Mono::from_nanos(n)
    }

    #[test]
    fn when_the_clock_changes_every_timer_that_is_waited_for_moves() {
        let (mut timers, mut agenda) = (Timers::default(), Agenda::new());
        let [gone, late] = [10, 20].map(|at| timers.set(nanos(at)));
        timers.sync(&mut agenda, |at| at, |id| id);
        timers.unset(gone);
        timers.unplan();
        timers.sync(&mut agenda, |at| nanos(at.nanos() * 2), |id| id);
        assert_eq!(agenda.pop(nanos(39)), None);
        assert_eq!(agenda.pop(nanos(40)), Some((nanos(40), late)));
        assert_eq!(agenda.len(), 0);
    }
}
