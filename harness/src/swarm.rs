//! Swarm testing: each seed draws a configuration of its own, so that the search does not spend
//! all its schedules in the middle of one distribution. Some kinds of faults are off, the others
//! are weighted wildly; clients are few or many, holds short or long, links fast or slow,
//! alike or not.
//!
//! Source: Groce, Zhang, Eide, Chen, Regehr, "Swarm testing", ISSTA 2012.

use base::{ClientState, Fault, LockInfo, Nemesis, Next, Node, Rng, RunSpec, View, nanos};
use std::time::Duration;

use crate::links::slowest_link;
use stores::LinkDelays;

/// The streams of randomness that belong to the swarm; turns and faults have others.
const CONFIGURATION: u64 = 30;
const WEIGHTS: u64 = 31;

/// The number of times that a nemesis may propose what is switched off before it has to wait for
/// the next event.
const PROPOSALS: u32 = 8;

/// Returns the run that the seed draws within the numbers of the one that was asked for, and the
/// delays of its links.
pub fn vary(lock: &LockInfo, asked: &RunSpec) -> (RunSpec, LinkDelays) {
    let mut rng = Rng::fork(asked.seed, CONFIGURATION);
    // Among so many, somebody has to wait.
    let least = lock.promises.permits.saturating_add(1);
    let clients = match asked.clients {
        few if few <= least => few,
        // A fault script names them.
        all if asked.script.is_some() => all,
        most => least + rng.below(u64::from(most - least) + 1) as u32,
    };
    let (longer, later) = (wild(&mut rng, 8.0), wild(&mut rng, 8.0));
    let hold = asked
        .hold
        .map(|mean| mean.mul_f64(longer).max(Duration::from_millis(1)).min(asked.ttl() / 4));
    let think = asked.think().map(|mean| mean.mul_f64(later));
    // Half of the seeds have links as slow as a bad network's, so that faults can fall between two
    // messages; a delay of a fortieth of the ttl breaks no lock by itself.
    let slow = match rng.chance(0.5) {
        true => asked.ttl().mul_f64(rng.unit() / 40.0),
        false => Duration::ZERO,
    };
    // Drawn last, so that what was drawn before stays as it was.
    let links = match rng.below(8) {
        0 => LinkDelays::HeavyTailed,
        1 | 2 => LinkDelays::Uneven,
        _ => LinkDelays::Alike,
    };
    // No slower than the lock can bear, but as slow as was asked for.
    let bearable = slowest_link(lock, asked.ttl()).max(asked.link_delay());
    let run = RunSpec {
        clients,
        hold,
        think: Some(think),
        link_delay_ns: nanos((asked.link_delay() + slow).min(bearable)),
        ..asked.clone()
    };
    (run, links)
}

/// A factor between 1/`most` and `most`, each power of two as likely as any other.
fn wild(rng: &mut Rng, most: f64) -> f64 {
    most.powf(rng.unit() * 2.0 - 1.0)
}

/// A nemesis whose kinds of faults are weighted by the seed: some are off. The first kind that it
/// proposes always stays on, so that no schedule is without faults.
pub struct Weighted {
    inner: Box<dyn Nemesis>,
    seed: u64,
    first: Option<u64>,
    /// The factor for the length of the fault that it proposed last; `None`: it is not wanted.
    last: Option<f64>,
}

impl Weighted {
    /// Weighs a nemesis by the seed of a run.
    pub fn new(inner: Box<dyn Nemesis>, seed: u64) -> Self {
        Self { inner, seed, first: None, last: None }
    }

    /// Returns the factor for the length of this fault; `None`: it is not wanted.
    fn weigh(&mut self, fault: &Fault, view: &View<'_>, rng: &mut Rng) -> Option<f64> {
        let kind = kind(fault, view);
        let mut weights = Rng::fork(self.seed, WEIGHTS << 32 | kind);
        let (off, weight, stretch) =
            (weights.chance(0.4), weights.unit().powi(2), wild(&mut weights, 2.0));
        if *self.first.get_or_insert(kind) == kind {
            return Some(stretch);
        }
        (!off && rng.chance(weight)).then_some(stretch)
    }
}

impl Nemesis for Weighted {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        for _ in 0..PROPOSALS {
            match self.inner.next(view, rng) {
                Next::Inject { fault, lasts } => {
                    self.last = self.weigh(&fault, view, rng);
                    if let Some(stretch) = self.last {
                        return Next::Inject { fault, lasts: lasts.mul_f64(stretch) };
                    }
                }
                Next::Also { fault, lasts } => {
                    if let Some(stretch) = self.last {
                        return Next::Also { fault, lasts: lasts.mul_f64(stretch) };
                    }
                }
                next => return next,
            }
        }
        Next::Watch
    }

    fn looks_at_standings(&self) -> bool {
        self.inner.looks_at_standings()
    }
}

/// The kind of a fault as far as the swarm distinguishes them: what it does, and to whom.
fn kind(fault: &Fault, view: &View<'_>) -> u64 {
    let spec = fault.spec();
    let (what, how) = (spec.family as u64, spec.number);
    let whom = match fault.nodes().first() {
        Some(Node::Client(client)) => match view.clients.get(*client as usize).map(|c| c.state) {
            Some(ClientState::Holding { .. }) => 1,
            Some(ClientState::Acquiring { .. }) => 2,
            Some(ClientState::Releasing { .. }) => 3,
            _ => 4,
        },
        _ => 0,
    };
    (what << 8) | (how << 4) | whom
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Action, ClientView, Mono};

    #[test]
    fn configurations_differ_from_seed_to_seed_and_stay_within_the_options() {
        let lock = workloads::find("redis-set-nx-px").expect("a lock of the list").lock();
        let vary = |seed| vary(&lock.info, &lock.info.run("pause", seed));
        let (drawn, drawn_links): (Vec<RunSpec>, Vec<LinkDelays>) = (0..200).map(vary).unzip();
        for clients in 2..=5 {
            assert!(drawn.iter().any(|o| o.clients == clients), "{clients} clients");
        }
        assert!(drawn.iter().all(|o| (2..=5).contains(&o.clients)));
        let semaphore = workloads::find("redis-semaphore").expect("a lock of the list").lock();
        let run = |seed| super::vary(&semaphore.info, &semaphore.info.run("pause", seed)).0;
        assert!((0..200).all(|seed| (3..=5).contains(&run(seed).clients)));
        let shortest = drawn.iter().map(|o| o.hold.time).min().expect("some");
        let longest = drawn.iter().map(|o| o.hold.time).max().expect("some");
        assert!(longest > shortest * 16, "{shortest:?} to {longest:?}");
        let slow = drawn.iter().filter(|o| o.link_delay() > Duration::from_millis(1)).count();
        assert!((60..140).contains(&slow), "{slow} of 200 have slow links");
        for links in [LinkDelays::HeavyTailed, LinkDelays::Uneven] {
            let such = drawn_links.iter().filter(|drawn| **drawn == links).count();
            assert!((10..80).contains(&such), "{such} of 200 have {links:?} links");
        }
    }

    /// Proposes a pause of each client in turn.
    struct Proposer(u32);

    impl Nemesis for Proposer {
        fn next(&mut self, view: &View<'_>, _rng: &mut Rng) -> Next {
            self.0 += 1;
            let node = Node::Client(self.0 % view.clients.len() as u32);
            Next::Inject { fault: Fault::at(node, Action::Pause), lasts: Duration::from_secs(1) }
        }
    }

    /// Returns the victims that a seed hits, of three kinds.
    fn victims(seed: u64) -> Vec<Node> {
        let holding = ClientState::Holding { since: Mono::ZERO };
        let acquiring = ClientState::Acquiring { since: Mono::ZERO, last_reply: None, answers: 0 };
        let clients = [holding, acquiring, ClientState::Idle]
            .map(|state| ClientView { state, ..ClientView::default() });
        let mut nemesis = Weighted::new(Box::new(Proposer(0)), seed);
        let mut rng = Rng::new(seed);
        let ttl = Duration::from_secs(1);
        let mut hit = Vec::new();
        for _ in 0..100 {
            let view = View {
                now: Mono::ZERO,
                ttl,
                clients: &clients,
                servers: &[],
                peers: false,
                answering: None,
                standings: &[],
                active: 0,
            };
            if let Next::Inject { fault, .. } = nemesis.next(&view, &mut rng) {
                hit.extend(fault.nodes());
            }
        }
        hit.sort_unstable();
        hit.dedup();
        hit
    }

    #[test]
    fn some_kinds_of_faults_are_off_but_never_all() {
        let hit: Vec<Vec<Node>> = (0..100).map(victims).collect();
        assert!(hit.iter().all(|kinds| !kinds.is_empty()));
        for kinds in 1..=3 {
            assert!(hit.iter().any(|hit| hit.len() == kinds), "{kinds} kinds");
        }
    }

    /// Proposes pauses, each with a crash that is a part of it.
    struct Pairs(bool);

    impl Nemesis for Pairs {
        fn next(&mut self, _view: &View<'_>, rng: &mut Rng) -> Next {
            self.0 = !self.0;
            let (node, lasts) = (Node::Client(rng.below(3) as u32), Duration::from_secs(1));
            match self.0 {
                true => Next::Inject { fault: Fault::at(node, Action::Pause), lasts },
                false => Next::Also { fault: Fault::at(node, Action::Kill), lasts },
            }
        }
    }

    #[test]
    fn what_is_a_part_of_a_fault_comes_with_it_and_never_alone() {
        let clients =
            [ClientState::Idle; 3].map(|state| ClientView { state, ..ClientView::default() });
        let ttl = Duration::from_secs(1);
        for seed in 0..100 {
            let mut nemesis = Weighted::new(Box::new(Pairs(false)), seed);
            let mut rng = Rng::new(seed);
            let mut after_pause = false;
            for _ in 0..50 {
                let (now, servers) = (Mono::ZERO, &[][..]);
                let view = View {
                    now,
                    ttl,
                    clients: &clients,
                    servers,
                    peers: false,
                    answering: None,
                    standings: &[],
                    active: 0,
                };
                let next = nemesis.next(&view, &mut rng);
                assert_eq!(matches!(next, Next::Also { .. }), after_pause, "seed {seed}: {next:?}");
                after_pause = matches!(next, Next::Inject { .. });
            }
        }
    }
}
