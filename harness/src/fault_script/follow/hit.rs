//! Finds the nodes and links that a target means at a moment, and makes faults of them.

use base::{Action, Fault, Node, Rng, View};
use nemesis::aim;

use super::super::{Aim, Whom};

/// The moment at which a target is looked for.
pub struct Hit<'a> {
    pub view: &'a View<'a>,
    pub rng: &'a mut Rng,
    /// The holder of the moment, if it has one.
    pub holder: Option<u32>,
    /// The client of the moment, if it has asked for the lock.
    pub asker: Option<u32>,
    /// The client that the fault before hit.
    pub last_client: Option<u32>,
}

impl<'a> Hit<'a> {
    /// Makes one that finds nothing but what is named.
    pub fn named(view: &'a View<'a>, rng: &'a mut Rng) -> Self {
        Self { view, rng, holder: None, asker: None, last_client: None }
    }

    /// The faults of an action on a target; none where there is nobody to hit.
    pub fn faults(&mut self, action: Action, aim: &Aim) -> Vec<Fault> {
        let links = match aim {
            Aim::Nodes(whom) => {
                let nodes = self.find(whom).into_iter();
                return nodes.map(|node| Fault::at(node, action)).collect();
            }
            Aim::LinksOf(whom) => self.links_of(action, whom),
            Aim::Links(links) => self.links(links),
        };
        if links.is_empty() { Vec::new() } else { vec![Fault::over(links, action)] }
    }

    /// The nodes that are meant.
    fn find(&mut self, whom: &Whom) -> Vec<Node> {
        let view = self.view;
        let client = match whom {
            Whom::Client(client) => Some(*client),
            Whom::Holder => self.holder.or_else(|| aim::holder(view, self.rng)),
            Whom::Asker => self.asker.or_else(|| aim::asking(view, self.rng)),
            Whom::NextWaiter => aim::next_waiter(view),
            Whom::MiddleWaiter => aim::middle_waiter(view),
            Whom::RandomClient => aim::anybody(view, self.rng),
            Whom::SameClient => self.last_client,
            Whom::RandomServer => return aim::server(view, self.rng).into_iter().collect(),
            Whom::Leader => return aim::leader(view).map(Node::Server).into_iter().collect(),
            Whom::Follower => {
                return aim::follower(view, self.rng).map(Node::Server).into_iter().collect();
            }
            Whom::Minority => return self.some_of_each_group(|count| count.saturating_sub(1) / 2),
            Whom::Majority => return self.some_of_each_group(|count| count / 2 + 1),
            Whom::Servers(servers) => return servers.iter().copied().map(Node::Server).collect(),
            Whom::Vault => return vec![Node::Vault],
            Whom::Clients => return clients(view).collect(),
            Whom::All => return clients(view).chain(servers(view)).collect(),
        };
        client.map(Node::Client).into_iter().collect()
    }

    fn some_of_each_group(&mut self, share: impl Fn(usize) -> usize) -> Vec<Node> {
        let drawn = aim::some_of_each_group(self.view, self.rng, share);
        drawn.into_iter().map(Node::Server).collect()
    }

    /// All links of nodes: of clients to all servers, of servers to their peers, or to all clients
    /// where they have no peers, or where the action is none on links between servers.
    fn links_of(&mut self, action: Action, whom: &Whom) -> Vec<(Node, Node)> {
        let view = self.view;
        if *whom == Whom::All {
            return product(clients(view), servers(view));
        }
        let found = self.find(whom);
        match found.first() {
            Some(Node::Client(_)) => product(found.into_iter(), servers(view)),
            Some(Node::Vault) => product(clients(view), found.into_iter()),
            Some(Node::Server(_)) if view.peers && matches!(action, Action::Cut(_)) => {
                apart(product(found.into_iter(), servers(view)))
            }
            Some(Node::Server(_)) => product(clients(view), found.into_iter()),
            None => Vec::new(),
        }
    }

    /// Links by their ends. What is named twice in one fault is the same node.
    fn links(&mut self, ends: &[(Whom, Whom)]) -> Vec<(Node, Node)> {
        let mut found: Vec<(&Whom, Vec<Node>)> = Vec::new();
        let mut links = Vec::new();
        for (a, b) in ends {
            let [a, b] = [a, b].map(|whom| match found.iter().find(|(known, _)| *known == whom) {
                Some((_, nodes)) => nodes.clone(),
                None => {
                    let nodes = self.find(whom);
                    found.push((whom, nodes.clone()));
                    nodes
                }
            });
            // A fault of which an end is missing waits for it.
            if a.is_empty() || b.is_empty() {
                return Vec::new();
            }
            links.extend(product(a.into_iter(), b.into_iter()));
        }
        apart(links)
    }
}

fn clients(view: &View<'_>) -> impl Iterator<Item = Node> + Clone {
    (0..view.clients.len() as u32).map(Node::Client)
}

fn servers(view: &View<'_>) -> impl Iterator<Item = Node> + Clone {
    (0..view.server_count()).map(Node::Server)
}

/// Every pair of one node and another.
fn product(
    from: impl Iterator<Item = Node>,
    to: impl Iterator<Item = Node> + Clone,
) -> Vec<(Node, Node)> {
    from.flat_map(|a| to.clone().map(move |b| (a, b))).collect()
}

/// The links between different nodes, each once.
fn apart(links: Vec<(Node, Node)>) -> Vec<(Node, Node)> {
    let mut apart: Vec<(Node, Node)> = Vec::new();
    for (a, b) in links {
        if a != b && !apart.contains(&(a, b)) && !apart.contains(&(b, a)) {
            apart.push((a, b));
        }
    }
    apart
}
