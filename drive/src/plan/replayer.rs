//! The nemesis that replays the faults of a schedule: at their exact times in the simulator, at
//! the same moments in the life of the lock on real servers.

use base::{ClientState, Fault, Mono, Nemesis, Next, Node, Rng, View};
use std::collections::VecDeque;
use std::time::Duration;

use super::replay::client_of;
use super::{FaultTiming, Planned, Trigger, Victim};

/// The faults of a schedule, as a nemesis.
pub struct Replayer {
    left: VecDeque<Planned>,
    aim: FaultTiming,
    grants: Grants,
}

impl Replayer {
    /// Makes a nemesis of these faults, in order.
    pub fn new(faults: Vec<Planned>, aim: FaultTiming) -> Self {
        Self { left: faults.into(), aim, grants: Grants::default() }
    }
}

impl Nemesis for Replayer {
    fn next(&mut self, view: &View<'_>, _rng: &mut Rng) -> Next {
        self.grants.look(view);
        let Some(planned) = self.left.front() else { return Next::Done };
        let inject =
            |fault: Fault| Next::Inject { fault, lasts: Duration::from_nanos(planned.lasts_ns) };
        let next = match self.aim {
            FaultTiming::Time => match Mono::from_nanos(planned.at_ns) {
                at if at <= view.now => inject(planned.fault.clone()),
                at => Next::At(at),
            },
            FaultTiming::Trigger => match self.grants.find(planned, view) {
                Some((at, client_number)) if at <= view.now => {
                    inject(at_client(&planned.fault, client_number))
                }
                Some((at, _)) => Next::At(at),
                None => Next::Watch,
            },
        };
        if matches!(next, Next::Inject { .. }) {
            self.left.pop_front();
        }
        next
    }
}

/// Counts the grants of a run.
#[derive(Debug, Default)]
struct Grants {
    count: u64,
    /// The time of the last grant; before the first, the time when all clients were up.
    last: Option<Mono>,
    /// The time since which each client holds the lock; `None`: it does not.
    holds: Vec<Option<Mono>>,
}

impl Grants {
    fn look(&mut self, view: &View<'_>) {
        self.holds.resize(view.clients.len(), None);
        self.last.get_or_insert(view.now);
        for (hold, client) in self.holds.iter_mut().zip(view.clients) {
            let now = match client.state {
                ClientState::Holding { since } => Some(since),
                _ => None,
            };
            if let Some(since) = now.filter(|_| now != *hold) {
                self.count += 1;
                self.last = self.last.max(Some(since));
            }
            *hold = now;
        }
    }

    /// Returns the time of a fault and the client that it hits, if they are known by now.
    fn find(&self, planned: &Planned, view: &View<'_>) -> Option<(Mono, Option<u32>)> {
        let Trigger { grants, victim, later_ns } = planned.moment;
        if self.count < grants {
            return None;
        }
        let later = Duration::from_nanos(later_ns);
        if victim == Victim::Any {
            return Some((self.last? + later, None));
        }
        let fits = |client_number: u32| {
            let client =
                view.clients.get(client_number as usize).filter(|client| !client.faulted)?;
            Some((since(client.state, victim)? + later, Some(client_number)))
        };
        // The client that was hit when it was recorded, or else another that does the same.
        let named = client_of(&planned.fault);
        named.and_then(fits).or_else(|| (0..view.clients.len() as u32).find_map(fits))
    }
}

/// Returns the time since when a client is in the state that is wanted of it.
fn since(state: ClientState, victim: Victim) -> Option<Mono> {
    match (victim, state) {
        (Victim::Holding, ClientState::Holding { since }) => Some(since),
        (Victim::Answered, ClientState::Acquiring { last_reply, .. }) => last_reply,
        (Victim::Asking, ClientState::Acquiring { since, .. }) => Some(since),
        _ => None,
    }
}

/// The same fault at another client.
fn at_client(fault: &Fault, client_number: Option<u32>) -> Fault {
    let (Some(was), Some(client_number)) = (client_of(fault), client_number) else {
        return fault.clone();
    };
    fault.map(|node| if node == Node::Client(was) { Node::Client(client_number) } else { node })
}
