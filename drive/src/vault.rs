//! The vault as a node: what the lock guards, and a link to it for each client.
//!
//! Both worlds share it. An access leaves when its client has answered, so that of a paused client
//! leaves late, and passes the client's link. Where no fault is in its way, that takes no time.
//! Faults do to these links what they do to those of servers: a cut holds what is sent and delivers
//! it late, also after its client has given up waiting; only over a connection that was never made
//! nothing leaves at all.

use base::{Action, Effect, F, Fault, FaultId, Key, LinkFault, Mode, Mono, Node};
use sim::{Gates, LinkFaults, PacketOrder};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use stores::vault::{StaleToken, Vault};

/// A read or a write on its way.
#[derive(Clone, Debug)]
pub struct AccessOnItsWay {
    pub worker: u32,
    pub process: u32,
    /// The number of the request that asks the client for it.
    pub request: u64,
    pub f: F,
    pub key: Key,
    pub mode: Mode,
    pub token: Option<u64>,
    /// The value to write; `None` for a read.
    pub value: Option<u64>,
    /// The index of its `invoke`.
    pub begun: u64,
}

/// The answer to a client's access.
#[derive(Clone, Debug)]
pub struct VaultAnswer {
    pub worker: u32,
    pub request: u64,
    pub outcome: AccessOutcome,
}

/// The outcome of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessOutcome {
    /// It was served: what was read or written.
    Served(u64),
    /// It was fenced off.
    Fenced,
    /// It has never left.
    Unsent(&'static str),
    /// Its connection broke.
    Broken,
}

/// A message that comes to its end of a link.
#[derive(Debug)]
pub enum Arrival {
    /// An access to the vault, which has served it or fenced it off.
    Access { access: AccessOnItsWay, served: Result<u64, StaleToken>, late: bool },
    /// An answer to its client.
    Answer(VaultAnswer),
}

#[derive(Clone, Debug)]
enum VaultMessage {
    Access(AccessOnItsWay),
    Answer(VaultAnswer),
}

impl VaultMessage {
    fn worker(&self) -> u32 {
        match self {
            Self::Access(access) => access.worker,
            Self::Answer(answer) => answer.worker,
        }
    }
}

pub struct VaultNode {
    vault: Vault,
    /// The usual delay of a message over a link that faults can slow.
    usual: Duration,
    /// The number of workers of each client.
    each: u32,
    gates: Gates<VaultMessage>,
    link_faults: LinkFaults,
    /// The order of the messages of each client: those to the vault, and those from it.
    orders: Vec<[PacketOrder; 2]>,
    /// The messages on their way, in the order in which they arrive.
    on_the_way: VecDeque<(Mono, VaultMessage)>,
    /// The process of each worker that has a connection.
    connected: BTreeMap<u32, u32>,
    /// Accesses that wait for a connection.
    unsent: Vec<AccessOnItsWay>,
    /// Requests that their clients have given up though the vault may still serve them.
    given_up: BTreeSet<u64>,
}

impl VaultNode {
    pub fn new(vault: Vault, usual: Duration, each: u32) -> Self {
        Self {
            vault,
            usual,
            each,
            gates: Gates::default(),
            link_faults: LinkFaults::default(),
            orders: Vec::new(),
            on_the_way: VecDeque::new(),
            connected: BTreeMap::new(),
            unsent: Vec::new(),
            given_up: BTreeSet::new(),
        }
    }

    /// The client of a worker.
    fn client(&self, worker: u32) -> Node {
        Node::Client(worker / self.each)
    }

    /// An access leaves its client.
    pub fn send(&mut self, now: Mono, access: AccessOnItsWay) {
        let client = self.client(access.worker);
        if self.connected.get(&access.worker) != Some(&access.process) {
            if self.gates.is_cut(client, Node::Vault) {
                return self.unsent.push(access);
            }
            if self.link_faults.refuses(client, Node::Vault) {
                return self.answer(now, &access, AccessOutcome::Unsent("connection refused"));
            }
            self.connected.insert(access.worker, access.process);
        }
        if self.link_faults.loses(client, Node::Vault) {
            return self.snap(now, &access);
        }
        self.pass(now, (client, Node::Vault), VaultMessage::Access(access));
    }

    /// The next thing that has arrived by now.
    pub fn arrival(&mut self, now: Mono) -> Option<Arrival> {
        while self.on_the_way.front().is_some_and(|(due, _)| *due <= now) {
            match self.on_the_way.pop_front()?.1 {
                VaultMessage::Answer(answer) => return Some(Arrival::Answer(answer)),
                VaultMessage::Access(access) => {
                    let late = self.given_up.remove(&access.request);
                    // Nobody waits for what is read late.
                    if !late || access.f == F::Write {
                        return Some(self.serve(now, access, late));
                    }
                }
            }
        }
        None
    }

    /// Returns the time of the next arrival.
    pub fn next_arrival(&self) -> Option<Mono> {
        self.on_the_way.front().map(|(due, _)| *due)
    }

    /// A client waits no longer for the answer to its access, which has not been served by now.
    /// Says whether it has left.
    pub fn give_up(&mut self, request: u64) -> bool {
        let unsent = self.unsent.len();
        self.unsent.retain(|access| access.request != request);
        let left = self.unsent.len() == unsent;
        if left {
            self.given_up.insert(request);
        }
        left
    }

    /// A process is gone: what has not left never will.
    pub fn hang_up(&mut self, process: u32) {
        self.unsent.retain(|access| access.process != process);
    }

    fn serve(&mut self, now: Mono, access: AccessOnItsWay, late: bool) -> Arrival {
        let served = match access.value {
            Some(value) => self.vault.write(&access.key, access.token, value).map(|()| value),
            None => self.vault.read(&access.key, access.mode, access.token),
        };
        let link = (Node::Vault, self.client(access.worker));
        if late {
            return Arrival::Access { access, served, late };
        }
        if self.link_faults.loses(link.0, link.1) {
            self.snap(now, &access);
        } else {
            let outcome = served.map_or(AccessOutcome::Fenced, AccessOutcome::Served);
            let answer = VaultAnswer { worker: access.worker, request: access.request, outcome };
            self.pass(now, link, VaultMessage::Answer(answer));
        }
        Arrival::Access { access, served, late }
    }

    /// Breaks the connection of an access; its client is notified at once.
    fn snap(&mut self, now: Mono, access: &AccessOnItsWay) {
        self.connected.remove(&access.worker);
        self.answer(now, access, AccessOutcome::Broken);
    }

    /// Notifies a client of what its own machine knows.
    fn answer(&mut self, now: Mono, access: &AccessOnItsWay, outcome: AccessOutcome) {
        let answer = VaultAnswer { worker: access.worker, request: access.request, outcome };
        self.put(now, VaultMessage::Answer(answer));
    }

    /// Sends a message on its way, or has it wait behind a closed gate.
    fn pass(&mut self, now: Mono, link: (Node, Node), message: VaultMessage) {
        match self.gates.closed(link.0, link.1, now) {
            Some(held) => held.push(message),
            None => self.set_off(now, link, message),
        }
    }

    fn set_off(&mut self, now: Mono, link: (Node, Node), message: VaultMessage) {
        let usual = self.usual.as_nanos() as u64;
        let delay = self.link_faults.delay(link.0, link.1, now, usual).unwrap_or(0);
        let due = self.order(link).arrival(now, delay);
        self.put(due, message);
    }

    /// The order of the messages that go over a link in its direction.
    fn order(&mut self, link: (Node, Node)) -> &mut PacketOrder {
        let (client, direction) = match link {
            (Node::Client(client), _) => (client as usize, 0),
            (_, Node::Client(client)) => (client as usize, 1),
            _ => unreachable!("only clients have a link to the vault"),
        };
        if self.orders.len() <= client {
            self.orders.resize(client + 1, Default::default());
        }
        &mut self.orders[client][direction]
    }

    fn put(&mut self, due: Mono, message: VaultMessage) {
        let place = self.on_the_way.partition_point(|(other, _)| *other <= due);
        self.on_the_way.insert(place, (due, message));
    }

    pub fn inject(&mut self, now: Mono, id: FaultId, fault: &Fault) {
        match fault.action() {
            Action::Cut(_) => self.gates.cut(fault),
            Action::Link(link_fault) => {
                let (links, reset) = (fault.links(), link_fault == LinkFault::Reset);
                let done = if reset { self.reset(now, links) } else { 0 };
                self.link_faults.begin(id, links, link_fault, done);
            }
            // The vault itself is never hit.
            _ => {}
        }
    }

    pub fn heal(&mut self, now: Mono, id: FaultId, fault: &Fault) -> Effect {
        match fault.action() {
            action @ Action::Link(_) => Effect::of(action, self.link_faults.end(id)),
            _ => self.mend(now, fault),
        }
    }

    fn mend(&mut self, now: Mono, cut: &Fault) -> Effect {
        let each = self.each;
        let client = |access: &AccessOnItsWay| Node::Client(access.worker / each);
        let hit = |access: &&AccessOnItsWay| cut.nodes().contains(&client(access));
        let unsent = self.unsent.iter().filter(hit).count() as u64;
        let effect = Effect::new("messages held", self.gates.held(cut) + unsent);
        for (link, message) in self.gates.heal(cut) {
            self.set_off(now, link, message);
        }
        for access in std::mem::take(&mut self.unsent) {
            self.send(now, access);
        }
        effect
    }

    /// Breaks connections; says how many there were.
    fn reset(&mut self, now: Mono, links: &[(Node, Node)]) -> u64 {
        let each = self.each;
        let of = |worker: u32| Node::Client(worker / each);
        let hit = |client: Node| links.iter().any(|link| link.0 == client || link.1 == client);
        let before = self.connected.len();
        self.connected.retain(|worker, _| !hit(of(*worker)));
        let mut lost = self.gates.take(|(from, to)| hit(from) || hit(to));
        let flying = std::mem::take(&mut self.on_the_way);
        let (gone, left) = flying.into_iter().partition(|(_, message)| hit(of(message.worker())));
        self.on_the_way = left;
        let gone: VecDeque<(Mono, VaultMessage)> = gone;
        lost.extend(gone.into_iter().map(|(_, message)| message));
        for message in lost {
            let (worker, request) = match message {
                VaultMessage::Access(access) => (access.worker, access.request),
                VaultMessage::Answer(answer) => (answer.worker, answer.request),
            };
            self.given_up.remove(&request);
            self.put(
                now,
                VaultMessage::Answer(VaultAnswer {
                    worker,
                    request,
                    outcome: AccessOutcome::Broken,
                }),
            );
        }
        (before - self.connected.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Direction;

    const CLIENT: Node = Node::Client(0);

    fn node() -> VaultNode {
        VaultNode::new(Vault::new(false), Duration::from_millis(1), 1)
    }

    fn cut(direction: Direction) -> Fault {
        Fault::over(vec![(CLIENT, Node::Vault)], Action::Cut(direction))
    }

    fn link(link_fault: LinkFault) -> Fault {
        Fault::over(vec![(CLIENT, Node::Vault)], Action::Link(link_fault))
    }

    fn at(millis: u64) -> Mono {
        Mono::from_nanos(millis * 1_000_000)
    }

    /// The write of this value, by the process of this number in the first client.
    fn write(process: u32, value: u64) -> AccessOnItsWay {
        AccessOnItsWay {
            worker: 0,
            process,
            request: value,
            f: F::Write,
            key: "k".into(),
            mode: Mode::Exclusive,
            token: None,
            value: Some(value),
            begun: 0,
        }
    }

    /// Lists the arrivals by then: "w1" for a write that is served, "late 1" for one that was given
    /// up, "a1" for its answer, "broken 1", "unsent 1".
    fn arrivals(node: &mut VaultNode, now: u64) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(arrival) = node.arrival(at(now)) {
            all.push(match arrival {
                Arrival::Access { access, late: true, .. } => format!("late {}", access.request),
                Arrival::Access { access, .. } => format!("w{}", access.request),
                Arrival::Answer(VaultAnswer { request, outcome, .. }) => match outcome {
                    AccessOutcome::Served(value) => format!("a{value}"),
                    AccessOutcome::Fenced => format!("fenced {request}"),
                    AccessOutcome::Unsent(_) => format!("unsent {request}"),
                    AccessOutcome::Broken => format!("broken {request}"),
                },
            });
        }
        all
    }

    #[test]
    fn without_a_fault_an_access_takes_no_time() {
        let mut node = node();
        node.send(at(1), write(0, 1));
        assert_eq!(arrivals(&mut node, 1), ["w1", "a1"]);
    }

    #[test]
    fn a_cut_holds_a_write_which_arrives_late_though_nobody_waits() {
        for direction in [Direction::Both, Direction::Forward] {
            let mut node = node();
            node.send(at(1), write(0, 1));
            assert_eq!(arrivals(&mut node, 1), ["w1", "a1"]);
            node.inject(at(2), 1, &cut(direction));
            node.send(at(3), write(0, 2));
            assert_eq!(arrivals(&mut node, 9), [""; 0]);
            assert!(node.give_up(2), "it has left");
            assert_eq!(node.heal(at(10), 1, &cut(direction)).amount, 1);
            assert_eq!(arrivals(&mut node, 10), ["late 2"]);
        }
    }

    #[test]
    fn a_cut_of_the_answers_holds_them_alone() {
        let mut node = node();
        node.send(at(1), write(0, 1));
        node.inject(at(1), 1, &cut(Direction::Backward));
        assert_eq!(arrivals(&mut node, 9), ["w1"]);
        assert_eq!(node.heal(at(10), 1, &cut(Direction::Backward)).amount, 1);
        assert_eq!(arrivals(&mut node, 10), ["a1"]);
    }

    #[test]
    fn over_a_connection_that_was_never_made_nothing_leaves() {
        for direction in [Direction::Both, Direction::Forward, Direction::Backward] {
            let mut node = node();
            node.inject(at(1), 1, &cut(direction));
            node.send(at(2), write(0, 1));
            assert!(!node.give_up(1), "it has not left");
            node.send(at(3), write(5, 2));
            node.hang_up(5);
            node.send(at(4), write(10, 3));
            assert_eq!(arrivals(&mut node, 9), [""; 0]);
            node.heal(at(10), 1, &cut(direction));
            assert_eq!(arrivals(&mut node, 10), ["w3", "a3"]);
        }
    }

    #[test]
    fn a_slow_link_keeps_the_order() {
        let (mut node, slow) = (node(), link(LinkFault::Slow(4)));
        node.inject(at(0), 1, &slow);
        node.send(at(1), write(0, 1));
        assert_eq!(node.next_arrival(), Some(at(5)));
        node.heal(at(2), 1, &slow);
        node.send(at(2), write(0, 2));
        assert_eq!(arrivals(&mut node, 4), [""; 0]);
        assert_eq!(arrivals(&mut node, 6), ["w1", "w2", "a1"]);
        assert_eq!(arrivals(&mut node, 7), ["a2"]);
    }

    #[test]
    fn of_a_lost_request_and_a_lost_reply_the_client_hears_the_same() {
        let mut node = node();
        node.inject(at(0), 1, &link(LinkFault::LoseRequest));
        node.send(at(1), write(0, 1));
        assert_eq!(arrivals(&mut node, 1), ["broken 1"]);
        node.inject(at(2), 2, &link(LinkFault::LoseReply));
        node.send(at(3), write(0, 2));
        assert_eq!(arrivals(&mut node, 3), ["w2", "broken 2"]);
    }

    #[test]
    fn a_reset_loses_what_is_held_and_a_refusal_keeps_it_from_leaving() {
        let mut node = node();
        node.send(at(1), write(0, 1));
        assert_eq!(arrivals(&mut node, 1), ["w1", "a1"]);
        node.inject(at(2), 1, &cut(Direction::Forward));
        node.send(at(3), write(0, 2));
        node.inject(at(4), 2, &link(LinkFault::Reset));
        assert_eq!(arrivals(&mut node, 4), ["broken 2"]);
        assert_eq!(node.heal(at(4), 2, &link(LinkFault::Reset)).amount, 1);
        node.heal(at(5), 1, &cut(Direction::Forward));
        node.inject(at(6), 3, &link(LinkFault::Refuse));
        node.send(at(7), write(0, 3));
        assert_eq!(arrivals(&mut node, 7), ["unsent 3"]);
        assert_eq!(node.heal(at(8), 3, &link(LinkFault::Refuse)).amount, 1);
    }
}
