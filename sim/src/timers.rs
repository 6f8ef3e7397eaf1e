//! The timers of a client's machine. Its task sets and drops them; the simulator puts them on its
//! agenda and takes off those that nobody waits for any more.

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
    fresh: Vec<(Mono, TimerId)>,
    /// Still on the agenda.
    dropped: Vec<Ticket>,
}

impl Timers {
    pub fn set(&mut self, at: Mono) -> TimerId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.timers.push(Timer::default());
            self.timers.len() as u32 - 1
        });
        let id = TimerId { place, generation: self.timers[place as usize].generation };
        self.fresh.push((at, id));
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
        std::mem::take(&mut self.fresh)
    }

    /// Puts the timers that were set since the last call on the agenda and takes the dropped ones
    /// off it.
    pub fn sync<T>(&mut self, agenda: &mut Agenda<T>, item: impl Fn(TimerId) -> T) {
        for ticket in self.dropped.drain(..) {
            agenda.cancel(ticket);
        }
        for (at, id) in self.fresh.drain(..) {
            let timer = &mut self.timers[id.place as usize];
            if timer.generation == id.generation {
                timer.ticket = Some(agenda.push(at, item(id)));
            }
        }
    }
}
