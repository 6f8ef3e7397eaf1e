//! The simulated network: each pair of nodes has a wire with a gate in each direction. A closed
//! gate holds what is sent, as TCP does, and lets it through when it opens, in order.
//!
//! Gates stand for themselves too: the links to the vault have the same in every world.

use base::{Action, Direction, Fault, Mono, Node, Rng, Spread};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::chance::ChoiceLog;
use crate::link_faults::LinkFaults;

/// The longest time that a server's machine goes on sending to another whose acknowledgements do
/// not come. Then it repeats what it has sent, and sends nothing new, neither data nor the end of a
/// connection: with Linux, both on one bridge and the way back dropped by iptables, what was sent
/// in the first 0.2 to 0.4 s arrived, and the rest after the heal.
const UNACKNOWLEDGED: Duration = Duration::from_millis(400);

struct DirectionGate<T> {
    /// The number of faults that keep it closed.
    closed: u32,
    held: Vec<T>,
    /// The number of packets that did not pass and never will: they were to open a connection, or
    /// went down with their sender.
    stopped: u64,
    /// The time of the first packet that passed but cannot be acknowledged, because the way back is
    /// closed.
    unacknowledged: Option<Mono>,
}

impl<T> Default for DirectionGate<T> {
    fn default() -> Self {
        Self { closed: 0, held: Vec::new(), stopped: 0, unacknowledged: None }
    }
}

impl<T> DirectionGate<T> {
    /// Lets through what it held.
    fn release(&mut self) -> Vec<T> {
        (self.stopped, self.unacknowledged) = (0, None);
        std::mem::take(&mut self.held)
    }
}

/// The gates of all wires. `T` is what is sent.
pub struct Gates<T>(BTreeMap<(Node, Node), DirectionGate<T>>);

impl<T> Default for Gates<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Gates<T> {
    /// Returns the packets held behind a closed gate, or for want of acknowledgements; `None`: a
    /// packet sent now passes.
    pub fn closed(&mut self, from: Node, to: Node, now: Mono) -> Option<&mut Vec<T>> {
        // Most of the time no gate was ever closed, and then there is none.
        if self.0.is_empty() {
            return None;
        }
        let waits = self.is_closed(from, to) || self.is_stalled(from, to, now);
        waits.then(|| &mut self.0.entry((from, to)).or_default().held)
    }

    fn is_closed(&self, from: Node, to: Node) -> bool {
        self.0.get(&(from, to)).is_some_and(|gate| gate.closed > 0)
    }

    /// Returns true if a server has waited too long for acknowledgements to send more. (Between a
    /// client and a server stands the link proxy, whose machine acknowledges what it holds.)
    fn is_stalled(&mut self, from: Node, to: Node, now: Mono) -> bool {
        let between_servers = matches!((from, to), (Node::Server(_), Node::Server(_)));
        if !between_servers || !self.is_closed(to, from) {
            return false;
        }
        let gate = self.0.entry((from, to)).or_default();
        now.since(*gate.unacknowledged.get_or_insert(now)) >= UNACKNOWLEDGED
    }

    /// Returns true if at least one of the two directions between these nodes is closed.
    pub fn is_cut(&self, a: Node, b: Node) -> bool {
        !self.0.is_empty() && (self.is_closed(a, b) || self.is_closed(b, a))
    }

    /// Stops an attempt to open a connection if one of the two directions is closed. Returns true
    /// if it did.
    pub fn stop(&mut self, client: Node, server: Node) -> bool {
        let ways = [(client, server), (server, client)];
        // The answer is sent only if the question has come through.
        let Some(way) = ways.into_iter().find(|(from, to)| self.is_closed(*from, *to)) else {
            return false;
        };
        self.0.entry(way).or_default().stopped += 1;
        true
    }

    /// Takes what waits behind the gates that are meant. It was stopped all the same.
    pub fn take(&mut self, is: impl Fn((Node, Node)) -> bool) -> Vec<T> {
        let meant = self.0.iter_mut().filter(|(ends, _)| is(**ends));
        let take = |(_, gate): (_, &mut DirectionGate<T>)| {
            gate.stopped += gate.held.len() as u64;
            std::mem::take(&mut gate.held)
        };
        meant.flat_map(take).collect()
    }

    /// Closes the gates that a cut names.
    pub fn cut(&mut self, fault: &Fault) {
        for ends in directed(fault) {
            self.0.entry(ends).or_default().closed += 1;
        }
    }

    /// Opens the gates of a cut again and hands back what they held, and how much that was.
    pub fn heal(&mut self, fault: &Fault) -> Vec<((Node, Node), T)> {
        let mut opened = Vec::new();
        for ends in directed(fault) {
            let Some(gate) = self.0.get_mut(&ends) else { continue };
            gate.closed = gate.closed.saturating_sub(1);
            if gate.closed == 0 {
                // The acknowledgements of the way back pass here, too.
                opened.extend([ends, (ends.1, ends.0)]);
            }
        }
        let mut freed = Vec::new();
        for ends in opened {
            if let Some(gate) = self.0.get_mut(&ends).filter(|gate| gate.closed == 0) {
                freed.extend(gate.release().into_iter().map(|item| (ends, item)));
            }
        }
        freed
    }

    /// Returns the number of packets that the gates of a cut hold now, or have stopped for good.
    pub fn held(&self, fault: &Fault) -> u64 {
        let gates = directed(fault).filter_map(|ends| self.0.get(&ends));
        gates.map(|gate| gate.held.len() as u64 + gate.stopped).sum()
    }
}

/// All wires, with what delays and disturbs them.
pub struct Network<T> {
    pub gates: Gates<T>,
    pub link_faults: LinkFaults,
    rng: Rng,
    choice_log: Option<Rc<ChoiceLog>>,
    /// The delay between a client and a server.
    outer: Spread,
    /// The links with another delay.
    links: BTreeMap<(Node, Node), Spread>,
    /// The delay between two servers.
    inner: Spread,
}

impl<T> Network<T> {
    /// Makes a network with this delay of each link between a client and a server, each way, but
    /// for those that have another. Servers stand close to each other.
    pub fn new(
        rng: Rng,
        choice_log: Option<Rc<ChoiceLog>>,
        outer: Spread,
        links: BTreeMap<(Node, Node), Spread>,
    ) -> Self {
        let (least, mean) = (Duration::from_micros(100), Duration::from_micros(200));
        let inner = Spread::Exponential { least, mean };
        let link_faults = LinkFaults::default();
        Self { gates: Gates::default(), link_faults, rng, choice_log, outer, links, inner }
    }

    /// Returns the delay of the packet that is sent now, in nanoseconds.
    pub fn delay(&mut self, from: Node, to: Node, now: Mono) -> u64 {
        let between_servers = matches!((from, to), (Node::Server(_), Node::Server(_)));
        let usual = if between_servers { self.inner } else { self.outer };
        // Most worlds have no link of its own kind.
        let own = if self.links.is_empty() { None } else { self.links.get(&(from, to)) };
        let latency = own.copied().unwrap_or(usual);
        let mut draw = || latency.nanos(&mut self.rng);
        let delay = match &self.choice_log {
            Some(choice_log) => choice_log.delay(from, to, draw),
            None => draw(),
        };
        self.link_faults.delay(from, to, now, delay).unwrap_or(delay)
    }
}

/// The directed wires that a cut closes.
fn directed(fault: &Fault) -> impl Iterator<Item = (Node, Node)> {
    let (links, direction) = match fault.action() {
        Action::Cut(direction) => (fault.links(), direction),
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
pub struct PacketOrder(Mono);

impl PacketOrder {
    /// Returns the arrival time of a packet sent at `sent` with a delay of this many nanoseconds.
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
        Fault::over(vec![(CLIENT, SERVER)], Action::Cut(direction))
    }

    /// Returns true if a packet sent now goes out at once.
    fn passes(net: &mut Gates<char>, from: Node, to: Node, what: char) -> bool {
        passes_at(net, Mono::ZERO, from, to, what)
    }

    fn passes_at(net: &mut Gates<char>, now: Mono, from: Node, to: Node, what: char) -> bool {
        net.closed(from, to, now).map(|held| held.push(what)).is_none()
    }

    #[test]
    fn a_one_way_cut_holds_one_way_and_delivers_late() {
        let mut net = Gates::default();
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
    fn what_was_held_when_its_sender_went_down_was_stopped() {
        let mut net = Gates::default();
        net.cut(&cut(Direction::Forward));
        assert!(!passes(&mut net, CLIENT, SERVER, 'a'));
        assert_eq!(net.take(|(from, _)| from == CLIENT), ['a']);
        assert_eq!(net.held(&cut(Direction::Forward)), 1);
        assert!(net.heal(&cut(Direction::Forward)).is_empty());
        assert_eq!(net.held(&cut(Direction::Forward)), 0);
    }

    #[test]
    fn a_cut_that_keeps_clients_from_connecting_has_an_effect() {
        for direction in [Direction::Forward, Direction::Backward] {
            let (mut net, cut) = (Gates::<char>::default(), cut(direction));
            assert!(!net.stop(CLIENT, SERVER));
            net.cut(&cut);
            assert_eq!(net.held(&cut), 0);
            assert!(net.stop(CLIENT, SERVER));
            assert_eq!(net.held(&cut), 1);
            net.heal(&cut);
            assert!(!net.stop(CLIENT, SERVER));
            assert_eq!(net.held(&cut), 0);
        }
    }

    #[test]
    fn a_server_that_gets_no_acknowledgements_soon_sends_nothing_new() {
        let mut net = Gates::default();
        let (a, b) = (Node::Server(0), Node::Server(1));
        let cut = Fault::over(vec![(a, b)], Action::Cut(Direction::Backward));
        let at = |ms| Mono::ZERO + Duration::from_millis(ms);
        net.cut(&cut);
        assert!(passes_at(&mut net, at(1_000), a, b, 'x'));
        assert!(passes_at(&mut net, at(1_399), a, b, 'y'));
        assert!(!passes_at(&mut net, at(1_400), a, b, 'z'));
        assert!(!passes_at(&mut net, at(1_500), b, a, 'q'));
        let freed: String = net.heal(&cut).iter().map(|(_, t)| *t).collect();
        assert_eq!(freed, "qz");
        assert!(passes_at(&mut net, at(1_600), a, b, 'd'));
        net.cut(&cut);
        assert!(passes_at(&mut net, at(3_000), a, b, 'e'), "a cut of its own");
    }

    #[test]
    fn two_cuts_of_one_wire_need_two_heals() {
        let mut net = Gates::default();
        net.cut(&cut(Direction::Both));
        net.cut(&cut(Direction::Backward));
        assert!(net.heal(&cut(Direction::Both)).is_empty());
        assert!(!passes(&mut net, SERVER, CLIENT, 'a'));
        assert_eq!(net.heal(&cut(Direction::Backward)).len(), 1);
    }

    #[test]
    fn order_is_kept() {
        let mut order = PacketOrder::default();
        let first = order.arrival(Mono::ZERO, 9_000_000);
        let second = order.arrival(Mono::ZERO, 1_000_000);
        assert!(second > first);
    }
}
