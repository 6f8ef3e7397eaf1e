//! Faults of links beyond cuts: which connections are refused, which request or reply is the
//! next to be lost, how much slower everything is. Counts what each fault has done.

use base::{FaultId, LinkFault, Mono, Node, Rng};
use std::collections::BTreeMap;

/// A fault in force.
struct ActiveLinkFault {
    id: FaultId,
    links: Vec<(Node, Node)>,
    what: LinkFault,
    done: u64,
    /// The time until which each direction of a throttled link is busy.
    busy: BTreeMap<(Node, Node), Mono>,
}

/// All of them.
#[derive(Default)]
pub struct LinkFaults(Vec<ActiveLinkFault>);

impl LinkFaults {
    /// Begins a fault, which has done so much already.
    pub fn begin(&mut self, id: FaultId, links: &[(Node, Node)], what: LinkFault, done: u64) {
        self.0.push(ActiveLinkFault {
            id,
            links: links.to_vec(),
            what,
            done,
            busy: BTreeMap::new(),
        });
    }

    /// Ends a fault, and returns how much it did.
    pub fn end(&mut self, id: FaultId) -> u64 {
        let place = self.0.iter().position(|link_fault| link_fault.id == id);
        place.map_or(0, |place| self.0.remove(place).done)
    }

    /// Returns true if a new connection is refused.
    pub fn refuses(&mut self, from: Node, to: Node) -> bool {
        self.count_first(from, to, |link_fault| link_fault.what == LinkFault::Refuse)
    }

    /// Returns true if this request or reply is the one to be lost: each such fault takes one.
    pub fn loses(&mut self, from: Node, to: Node) -> bool {
        let lost = match from {
            Node::Client(_) => LinkFault::LoseRequest,
            Node::Server(_) | Node::Vault => LinkFault::LoseReply,
        };
        self.count_first(from, to, |link_fault| link_fault.what == lost && link_fault.done == 0)
    }

    /// Returns the delay of a packet that is sent now and would take `usual`, in nanoseconds.
    /// `None`: no fault delays it.
    #[inline]
    pub fn delay(&mut self, from: Node, to: Node, now: Mono, usual: u64) -> Option<u64> {
        if self.0.is_empty() { None } else { self.delay_by_faults((from, to), now, usual) }
    }

    fn delay_by_faults(&mut self, (from, to): (Node, Node), now: Mono, usual: u64) -> Option<u64> {
        let mut delay = None;
        for link_fault in self.0.iter_mut().filter(|link_fault| link_fault.hits(from, to)) {
            let so_far = delay.unwrap_or(usual);
            delay = link_fault.delay((from, to), now, so_far).or(delay);
        }
        delay
    }

    fn count_first(&mut self, from: Node, to: Node, is: impl Fn(&ActiveLinkFault) -> bool) -> bool {
        let found =
            self.0.iter_mut().find(|link_fault| is(link_fault) && link_fault.hits(from, to));
        found.map(|link_fault| link_fault.done += 1).is_some()
    }
}

impl ActiveLinkFault {
    /// Delays a packet, and counts it. `None`: it does not do that.
    fn delay(&mut self, way: (Node, Node), now: Mono, usual: u64) -> Option<u64> {
        let (delay, done) = match self.what {
            LinkFault::Slow(times) => (usual.saturating_mul(u64::from(times)), 1),
            LinkFault::Jitter(micros) => {
                // Of its own, so that a replay has the same and nothing else is drawn otherwise.
                let mut rng = Rng::fork(now.nanos(), (u64::from(self.id) << 32) + self.done);
                let most = u64::from(micros) * 1_000;
                (usual.saturating_add(rng.below(most + 1)), 1)
            }
            LinkFault::Throttle(rate) => {
                let waits = self.waits(way, now, rate);
                (usual.saturating_add(waits), LinkFault::PACKET)
            }
            LinkFault::Reset
            | LinkFault::Refuse
            | LinkFault::LoseRequest
            | LinkFault::LoseReply => return None,
        };
        self.done += done;
        Some(delay)
    }

    /// Returns the nanoseconds until a link of so many bytes a second has carried a packet that is
    /// sent now, behind those that were sent before it.
    fn waits(&mut self, way: (Node, Node), now: Mono, rate: u32) -> u64 {
        let takes = LinkFault::PACKET * 1_000_000_000 / u64::from(rate.max(1));
        let busy = self.busy.entry(way).or_default();
        *busy = (*busy).max(now).after(takes);
        busy.nanos() - now.nanos()
    }

    fn hits(&self, from: Node, to: Node) -> bool {
        self.links.iter().any(|&link| link == (from, to) || link == (to, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Node = Node::Client(0);
    const SERVER: Node = Node::Server(0);
    const LINK: &[(Node, Node)] = &[(CLIENT, SERVER)];

    #[test]
    fn one_request_and_one_reply_are_lost_and_no_other() {
        let mut link_faults = LinkFaults::default();
        link_faults.begin(1, LINK, LinkFault::LoseRequest, 0);
        assert!(!link_faults.loses(SERVER, CLIENT), "a reply");
        assert!(!link_faults.loses(Node::Client(1), SERVER), "another's");
        assert!(link_faults.loses(CLIENT, SERVER));
        assert!(!link_faults.loses(CLIENT, SERVER), "the second");
        link_faults.begin(2, LINK, LinkFault::LoseReply, 0);
        assert!(link_faults.loses(SERVER, CLIENT));
        assert_eq!([1, 2, 3].map(|id| link_faults.end(id)), [1, 1, 0]);
    }

    #[test]
    fn what_is_sent_faster_than_a_throttled_link_carries_waits_in_its_direction() {
        let mut link_faults = LinkFaults::default();
        // A packet takes half a second.
        link_faults.begin(1, LINK, LinkFault::Throttle(200), 0);
        let at = |ms: u64| Mono::from_nanos(ms * 1_000_000);
        let mut delay = |from, to, ms| link_faults.delay(from, to, at(ms), 7);
        assert_eq!(delay(CLIENT, SERVER, 1_000), Some(500_000_007));
        assert_eq!(delay(CLIENT, SERVER, 1_000), Some(1_000_000_007));
        assert_eq!(delay(SERVER, CLIENT, 1_100), Some(500_000_007), "the other way");
        assert_eq!(delay(CLIENT, SERVER, 3_000), Some(500_000_007), "all is gone by now");
        assert_eq!(delay(Node::Client(1), SERVER, 3_000), None, "another's");
        assert_eq!(link_faults.end(1), 400);
    }

    #[test]
    fn a_jitter_delays_each_packet_by_another_time_up_to_the_longest() {
        let draw = |id| {
            let mut link_faults = LinkFaults::default();
            link_faults.begin(id, LINK, LinkFault::Jitter(1_000), 0);
            let mut delay = || link_faults.delay(CLIENT, SERVER, Mono::ZERO, 7).expect("it delays");
            let delays: Vec<u64> = (0..1_000).map(|_| delay()).collect();
            assert_eq!(link_faults.end(id), 1_000);
            delays
        };
        let delays = draw(1);
        assert!(delays.iter().all(|delay| (7..=1_000_007).contains(delay)));
        let mean = delays.iter().sum::<u64>() / 1_000;
        assert!((450_000..550_000).contains(&mean), "{mean}");
        assert_eq!(delays, draw(1));
        assert_ne!(delays, draw(2));
    }

    #[test]
    fn each_counts_what_it_did() {
        let mut link_faults = LinkFaults::default();
        link_faults.begin(1, LINK, LinkFault::Refuse, 0);
        link_faults.begin(2, LINK, LinkFault::Slow(3), 0);
        link_faults.begin(3, LINK, LinkFault::Slow(5), 0);
        assert!(link_faults.refuses(CLIENT, SERVER) && link_faults.refuses(CLIENT, SERVER));
        assert_eq!(link_faults.delay(SERVER, CLIENT, Mono::ZERO, 10), Some(150));
        assert_eq!(link_faults.delay(Node::Server(1), CLIENT, Mono::ZERO, 10), None);
        assert_eq!([1, 2, 3].map(|id| link_faults.end(id)), [2, 1, 1]);
        assert!(!link_faults.refuses(CLIENT, SERVER));
    }
}
