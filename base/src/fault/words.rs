//! A fault in words, which come from the list of actions.

use super::{Action, Direction, Fault, Node, Target};
use std::fmt;

impl Fault {
    /// The words for what a node that it hits goes through, to stand after the node's name: "was
    /// paused", "could not reach server 0". A link's direction is seen from the node, whichever end
    /// of the link it is.
    pub fn lasting(&self, node: Node) -> String {
        let ours = self.links().iter().filter(|(a, b)| *a == node || *b == node);
        let others: Vec<String> =
            ours.clone().map(|(a, b)| if *a == node { b } else { a }.to_string()).collect();
        let is_first = ours.clone().any(|(a, _)| *a == node);
        let seen = match self.action {
            Action::Cut(direction) if !is_first => Action::Cut(direction.reversed()),
            action => action,
        };
        let words = seen.spec().lasting.replace("{amount}", &self.action.amount());
        words.replace("{others}", &others.join(", "))
    }

    /// The words for what its heal does to a node, to stand after the node's name: "ran on".
    pub const fn healed(&self) -> &'static str {
        self.spec().healed
    }
}

/// Displays the fault in words, for witnesses and reports: "client 3 paused".
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = self.spec().title.replace("{amount}", &self.action.amount());
        match &self.target {
            Target::Node(node) => f.write_str(&title.replace("{node}", &node.to_string())),
            Target::Links(links) => {
                f.write_str(&title)?;
                write_links(f, links, arrow(self.action))
            }
        }
    }
}

/// The word between the two ends of a link.
const fn arrow(action: Action) -> &'static str {
    match action {
        Action::Cut(Direction::Forward) => "to",
        Action::Cut(Direction::Backward) => "from",
        _ => "and",
    }
}

/// ": client 0 and server 0, client 0 and server 1"; nothing for no links, as a foreign history may
/// have it.
fn write_links(f: &mut fmt::Formatter<'_>, links: &[(Node, Node)], arrow: &str) -> fmt::Result {
    for (place, (a, b)) in links.iter().enumerate() {
        let before = if place == 0 { ": " } else { ", " };
        write!(f, "{before}{a} {arrow} {b}")?;
    }
    Ok(())
}
