//! The simulated network: each pair of nodes has a wire with a gate in each direction. A closed
//! gate holds what is sent, as TCP does, and lets it through when it opens, in order.

use base::{Direction, Fault, Mono, Node, Rng, Spread};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::chance::Tape;
use crate::troubles::Troubles;

struct Gate<T> {
    /// How many faults keep it closed.
    closed: u32,
    held: Vec<T>,
}

impl<T> Default for Gate<T> {
    fn default() -> Self {
        Self { closed: 0, held: Vec::new() }
    }
}

/// All wires. `T` is what is sent.
pub struct Network<T> {
    gates: BTreeMap<(Node, Node), Gate<T>>,
    pub troubles: Troubles,
    rng: Rng,
    tape: Option<Rc<Tape>>,
    /// Between a client and a server.
    outer: Spread,
    /// Where it is another one.
    links: BTreeMap<(Node, Node), Spread>,
    /// Between two servers.
    inner: Spread,
}

impl<T> Network<T> {
    /// With this delay of each link between a client and a server, each way, but for those that
    /// have another. Servers stand close to each other.
    pub fn new(
        rng: Rng,
        tape: Option<Rc<Tape>>,
        outer: Spread,
        links: BTreeMap<(Node, Node), Spread>,
    ) -> Self {
        let (least, mean) = (Duration::from_micros(100), Duration::from_micros(200));
        let inner = Spread::Exponential { least, mean };
        let troubles = Troubles::default();
        Self { gates: BTreeMap::new(), troubles, rng, tape, outer, links, inner }
    }

    /// What waits behind a closed gate; `None`: it is open.
    pub fn closed_gate(&mut self, from: Node, to: Node) -> Option<&mut Vec<T>> {
        // Most of the time no gate was ever closed, and then there is none.
        if self.gates.is_empty() {
            return None;
        }
        let gate = self.gates.get_mut(&(from, to)).filter(|gate| gate.closed > 0);
        gate.map(|gate| &mut gate.held)
    }

    /// How long the next packet is on its way, in nanoseconds.
    pub fn delay(&mut self, from: Node, to: Node) -> u64 {
        let between_servers = matches!((from, to), (Node::Server(_), Node::Server(_)));
        let usual = if between_servers { self.inner } else { self.outer };
        // Most worlds have no link of its own kind.
        let own = if self.links.is_empty() { None } else { self.links.get(&(from, to)) };
        let latency = own.copied().unwrap_or(usual);
        let mut draw = || latency.nanos(&mut self.rng);
        let delay = match &self.tape {
            Some(tape) => tape.delay(from, to, draw),
            None => draw(),
        };
        match self.troubles.slowness(from, to) {
            1 => delay,
            times => delay.saturating_mul(u64::from(times)),
        }
    }

    /// Closes the gates that a cut names.
    pub fn cut(&mut self, fault: &Fault) {
        for ends in directed(fault) {
            self.gates.entry(ends).or_default().closed += 1;
        }
    }

    /// Opens the gates of a cut again and hands back what they held, and how much that was.
    pub fn heal(&mut self, fault: &Fault) -> Vec<((Node, Node), T)> {
        let mut freed = Vec::new();
        for ends in directed(fault) {
            let Some(gate) = self.gates.get_mut(&ends) else { continue };
            gate.closed = gate.closed.saturating_sub(1);
            if gate.closed == 0 {
                freed.extend(std::mem::take(&mut gate.held).into_iter().map(|t| (ends, t)));
            }
        }
        freed
    }

    /// How much the gates of a cut hold now.
    pub fn held(&self, fault: &Fault) -> u64 {
        directed(fault).filter_map(|ends| self.gates.get(&ends)).map(|g| g.held.len() as u64).sum()
    }
}

/// The directed wires that a cut closes.
fn directed(fault: &Fault) -> impl Iterator<Item = (Node, Node)> {
    let (links, direction) = match fault {
        Fault::Cut { links, direction } => (links.as_slice(), *direction),
        _ => (&[][..], Direction::Both),
    };
    links.iter().flat_map(move |&(a, b)| {
        let forward = (direction != Direction::Backward).then_some((a, b));
        let backward = (direction != Direction::Forward).then_some((b, a));
        forward.into_iter().chain(backward)
    })
}

/// Keeps the order of packets in each direction of a connection: none arrives before the one
/// that was sent before it.
#[derive(Clone, Copy, Default)]
pub struct Order(Mono);

impl Order {
    /// When what is sent then, and takes so many nanoseconds, arrives.
    pub fn arrival(&mut self, sent: Mono, delay: u64) -> Mono {
        let arrival = sent.after(delay).max(self.0.after(1));
        self.0 = arrival;
        arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Node = Node::Client(0);
    const SERVER: Node = Node::Server(0);

    fn cut(direction: Direction) -> Fault {
        Fault::Cut { links: vec![(CLIENT, SERVER)], direction }
    }

    fn network() -> Network<char> {
        let second = Duration::from_secs(1);
        let steady = Spread::Uniform { least: second, most: second };
        Network::new(Rng::new(1), None, steady, BTreeMap::new())
    }

    /// Whether what is sent is on its way.
    fn passes(net: &mut Network<char>, from: Node, to: Node, what: char) -> bool {
        net.closed_gate(from, to).map(|held| held.push(what)).is_none()
    }

    #[test]
    fn a_one_way_cut_holds_one_way_and_delivers_late() {
        let mut net = network();
        net.cut(&cut(Direction::Forward));
        assert!(!passes(&mut net, CLIENT, SERVER, 'a'));
        assert!(!passes(&mut net, CLIENT, SERVER, 'b'));
        assert!(passes(&mut net, SERVER, CLIENT, 'c'));
        assert_eq!(net.held(&cut(Direction::Forward)), 2);
        let freed: String = net.heal(&cut(Direction::Forward)).iter().map(|(_, t)| *t).collect();
        assert_eq!(freed, "ab");
        assert!(passes(&mut net, CLIENT, SERVER, 'd'));
    }

    #[test]
    fn two_cuts_of_one_wire_need_two_heals() {
        let mut net = network();
        net.cut(&cut(Direction::Both));
        net.cut(&cut(Direction::Backward));
        assert!(net.heal(&cut(Direction::Both)).is_empty());
        assert!(!passes(&mut net, SERVER, CLIENT, 'a'));
        assert_eq!(net.heal(&cut(Direction::Backward)).len(), 1);
    }

    #[test]
    fn order_is_kept() {
        let mut order = Order::default();
        let first = order.arrival(Mono::ZERO, 9_000_000);
        let second = order.arrival(Mono::ZERO, 1_000_000);
        assert!(second > first);
    }
}
