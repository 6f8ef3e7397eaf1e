//! Faults as plain data: an action on a target. A nemesis yields them, a backend applies them, the
//! history records them.

mod ability;
mod action;
mod actions;
mod clock;
mod extent;
mod family;
mod link;
mod node;
mod stored;
#[cfg(test)]
mod tests;
mod words;

pub use ability::Ability;
pub use action::{Action, Data, Direction};
pub use actions::{ACTIONS, ActionSpec, Hits, Matters};
pub use clock::ClockChange;
pub use extent::{ActionExtent, ExtentUnit};
pub use family::Family;
pub use link::LinkFault;
pub use node::Node;

use serde::{Deserialize, Serialize};

/// The number of a fault within its run.
pub type FaultId = u32;

/// One fault: an action on a target, until it is healed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "stored::StoredFault", into = "stored::StoredFault")]
pub struct Fault {
    action: Action,
    target: Target,
}

/// The part of the world that a fault hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A single node, which is a client, a server or the vault.
    Node(Node),
    /// Links, each a pair of nodes.
    Links(Vec<(Node, Node)>),
}

impl Fault {
    /// An action on a node.
    ///
    /// # Panics
    /// Panics if the action is one on links, or on another sort of node.
    pub fn at(node: Node, action: Action) -> Self {
        let is_client = matches!(node, Node::Client(_));
        let fits = match action.spec().hits {
            Hits::Nodes => true,
            Hits::Clients => is_client,
            // A foreign history may have a vault that crashes, which is no sound fault.
            Hits::Servers => !is_client,
            Hits::Links => false,
        };
        assert!(fits, "{node} cannot be hit by `{}`", action.spec().name);
        Self { action, target: Target::Node(node) }
    }

    /// An action on links.
    ///
    /// # Panics
    /// Panics if the action is one on a node.
    pub fn over(links: Vec<(Node, Node)>, action: Action) -> Self {
        let fits = action.spec().hits == Hits::Links;
        assert!(fits, "links cannot be hit by `{}`", action.spec().name);
        Self { action, target: Target::Links(links) }
    }

    /// Returns the action that is done to the target.
    pub const fn action(&self) -> Action {
        self.action
    }

    /// Returns the target of the action.
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// The line of its action in the list of actions.
    pub const fn spec(&self) -> &'static ActionSpec {
        self.action.spec()
    }

    /// The family of its action.
    pub const fn family(&self) -> Family {
        self.spec().family
    }

    /// A copy of the fault at other nodes.
    #[must_use]
    pub fn map(&self, at: impl Fn(Node) -> Node) -> Self {
        let target = match &self.target {
            Target::Node(node) => Target::Node(at(*node)),
            Target::Links(links) => {
                Target::Links(links.iter().map(|(a, b)| (at(*a), at(*b))).collect())
            }
        };
        Self { action: self.action, target }
    }

    /// The nodes that it hits, each once, in order.
    pub fn nodes(&self) -> Vec<Node> {
        let mut nodes = match &self.target {
            Target::Node(node) => vec![*node],
            Target::Links(links) => links.iter().flat_map(|(a, b)| [*a, *b]).collect(),
        };
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The one node that it hits; `None` for a fault of links.
    pub const fn node(&self) -> Option<Node> {
        match self.target {
            Target::Node(node) => Some(node),
            Target::Links(_) => None,
        }
    }

    /// The links that it hits; none for a fault of a node.
    pub fn links(&self) -> &[(Node, Node)] {
        match &self.target {
            Target::Node(_) => &[],
            Target::Links(links) => links,
        }
    }

    /// The links that it hits; `None` for a fault of a node.
    pub const fn links_mut(&mut self) -> Option<&mut Vec<(Node, Node)>> {
        match &mut self.target {
            Target::Node(_) => None,
            Target::Links(links) => Some(links),
        }
    }

    /// Returns true if the fault hits links of the vault. These are the same in every world: the
    /// drive loop applies it, and the backend hears nothing of it.
    pub fn is_at_vault(&self) -> bool {
        self.nodes().contains(&Node::Vault)
    }

    /// Returns true if all links of the fault join a client and the vault, or if it leaves the
    /// vault alone.
    pub fn is_sound(&self) -> bool {
        let to_vault = |link: &(Node, Node)| {
            matches!(link, (Node::Client(_), Node::Vault) | (Node::Vault, Node::Client(_)))
        };
        !self.is_at_vault() || (self.node().is_none() && self.links().iter().all(to_vault))
    }
}

/// The measured effect of a fault. A fault without one did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The quantity measured, in words: "milliseconds not running", "bytes held".
    pub what: String,
    /// The amount of it; 0 means that the fault had no effect.
    pub amount: u64,
}

impl Effect {
    /// An effect of this amount.
    pub fn new(what: impl Into<String>, amount: u64) -> Self {
        Self { what: what.into(), amount }
    }

    /// An effect of this amount, in the unit of the action.
    pub fn of(action: Action, amount: u64) -> Self {
        Self::new(action.spec().counted, amount)
    }
}
