//! Targets as a script names them: by name, or by the state of the lock.

use base::{Action, Hits};
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

use super::ScriptedRun;
use super::error::{Mistake, ScriptMistake};
use super::fields::Fields;
use super::fits::{check_link, check_links, check_node};
use crate::nearest;

/// The target of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Nodes, each of which is hit by itself.
    Nodes(Whom),
    /// The links of nodes.
    LinksOf(Whom),
    /// Links by their ends.
    Links(Vec<(Whom, Whom)>),
}

/// A node, or several, as a script names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// A client by its number.
    Client(u32),
    /// Servers by their numbers: one by its name, or all of a role.
    Servers(Vec<u32>),
    /// The vault, which guards the resource.
    Vault,
    /// Every client of the run.
    Clients,
    /// Every client and every server.
    All,
    /// A client that holds the lock.
    Holder,
    /// A client that has asked for the lock.
    Asker,
    /// The client that has waited longest.
    NextWaiter,
    /// A client with others before and behind it.
    MiddleWaiter,
    /// A client, drawn from the run's seed.
    RandomClient,
    /// A server, drawn from the run's seed.
    RandomServer,
    /// The server that leads the others.
    Leader,
    /// A server that follows another one, drawn from the run's seed.
    Follower,
    /// Fewer than half of the servers of each group, drawn from the run's seed.
    Minority,
    /// More than half of the servers of each group, drawn from the run's seed.
    Majority,
    /// The client that the fault before it hit.
    SameClient,
}

/// The words for targets beside names, each with what it means.
pub const WORDS: &[(&str, &str)] = &[
    ("client-0", "a client by its number"),
    ("server-0", "a server by its name"),
    ("member", "every server of a role, as the topology has it"),
    ("clients", "every client"),
    ("servers", "every server"),
    ("all", "every client and every server"),
    ("vault", "what the lock guards, as the end of a link"),
    ("holder", "the client that holds the lock"),
    ("asker", "a client that has asked for the lock"),
    ("next-waiter", "the client that has waited longest"),
    ("middle-waiter", "a waiter with others before and behind it"),
    ("random-client", "a client, drawn from the run's seed"),
    ("random-server", "a server, drawn from the run's seed"),
    ("leader", "the server that leads the others now, such as a primary"),
    ("follower", "a server that follows another one now, drawn from the run's seed"),
    ("minority", "fewer than half of the servers of each role, drawn from the run's seed"),
    ("majority", "more than half of the servers of each role, drawn from the run's seed"),
    ("same-client", "the client that the fault before it hit"),
];

const TARGET: &str = "the name of a target: target = \"holder\"";
const LINKS: &str = "a list of links: links = [[\"holder\", \"vault\"]]";

impl Whom {
    pub(super) fn read(text: &str, run: &ScriptedRun<'_>) -> Result<Self, Mistake> {
        Ok(match text {
            "vault" => Self::Vault,
            "clients" => Self::Clients,
            "servers" => Self::Servers((0..run.servers.len() as u32).collect()),
            "all" => Self::All,
            "holder" => Self::Holder,
            "asker" => Self::Asker,
            "next-waiter" => Self::NextWaiter,
            "middle-waiter" => Self::MiddleWaiter,
            "random-client" => Self::RandomClient,
            "random-server" => Self::RandomServer,
            "same-client" => Self::SameClient,
            "leader" | "follower" if !run.peers => {
                let none = "the servers of this run are nothing to each other: none leads";
                return Err(Mistake::Misfit(none.into()));
            }
            "leader" => Self::Leader,
            "follower" => Self::Follower,
            "minority" if run.servers.len() < 3 => {
                let none = "the servers of this run are too few for a minority of them";
                return Err(Mistake::Misfit(none.into()));
            }
            "minority" => Self::Minority,
            "majority" => Self::Majority,
            name => return Self::named(name, run),
        })
    }

    /// A client, a server or the servers of a role.
    fn named(name: &str, run: &ScriptedRun<'_>) -> Result<Self, Mistake> {
        if let Some(number) = name.strip_prefix("client-").and_then(|n| n.parse().ok()) {
            return match number < run.clients {
                true => Ok(Self::Client(number)),
                false => Err(Mistake::Absent(format!(
                    "there is no {name} in this run, which has client-0 to client-{}",
                    run.clients - 1
                ))),
            };
        }
        let is_meant = |server: &base::ServerInfo| server.name == name || server.role == name;
        let meant = (0..).zip(run.servers).filter(|(_, server)| is_meant(server));
        let numbers: Vec<u32> = meant.map(|(number, _)| number).collect();
        if !numbers.is_empty() {
            return Ok(Self::Servers(numbers));
        }
        if name.strip_prefix("server-").is_some_and(|n| n.parse::<u32>().is_ok()) {
            return Err(Mistake::Absent(format!(
                "there is no {name} in this run, which has server-0 to server-{}",
                run.servers.len().saturating_sub(1)
            )));
        }
        let words = WORDS.iter().map(|(word, _)| *word).filter(|word| *word != "member");
        let roles = run.servers.iter().map(|server| server.role.as_str());
        let mut known: Vec<&str> = words.chain(roles).collect();
        known.dedup();
        Err(Mistake::Unknown(nearest::unknown("target", name, &known)))
    }
}

impl Aim {
    /// Reads the target of a fault with such an action.
    pub(super) fn read(
        fields: &Fields<'_>,
        action: Action,
        run: &ScriptedRun<'_>,
    ) -> Result<Self, ScriptMistake> {
        let is_of_links = action.spec().hits == Hits::Links;
        let name = action.spec().name;
        match (fields.text("target", TARGET)?, fields.list("links", LINKS)?) {
            (Some(_), Some((_, at))) => {
                let both = "give `target` for all links of a node, or `links` for some";
                Err(Mistake::Contradiction(both).at(at))
            }
            (None, None) if is_of_links => {
                let missing = Mistake::Missing("a target: target = \"holder\", or links");
                Err(missing.at(fields.at.clone()))
            }
            (None, None) => {
                Err(Mistake::Missing("a target: target = \"holder\"").at(fields.at.clone()))
            }
            (None, Some((_, at))) if !is_of_links => {
                let misfit = format!("`{name}` hits nodes and no links: give a target");
                Err(Mistake::Misfit(misfit).at(at))
            }
            (None, Some((links, at))) => {
                let links = links.iter().map(|link| read_link(link, action, run));
                let links = links.collect::<Result<Vec<_>, _>>()?;
                check_links(&links).map_err(|mistake| mistake.at(at))?;
                Ok(Self::Links(links))
            }
            (Some((text, at)), None) => {
                let whom = Whom::read(text, run).map_err(|mistake| mistake.at(at.clone()))?;
                if is_of_links {
                    return Ok(Self::LinksOf(whom));
                }
                check_node(action, &whom, text).map_err(|mistake| mistake.at(at))?;
                Ok(Self::Nodes(whom))
            }
        }
    }

    /// Every mention of a node or of several.
    pub fn mentions(&self) -> impl Iterator<Item = &Whom> {
        let (one, links) = match self {
            Self::Nodes(whom) | Self::LinksOf(whom) => (Some(whom), &[][..]),
            Self::Links(links) => (None, &links[..]),
        };
        one.into_iter().chain(links.iter().flat_map(|(a, b)| [a, b]))
    }

    /// The first client that it names by its number.
    pub(super) fn client(&self) -> Option<u32> {
        self.mentions().find_map(|whom| match whom {
            Whom::Client(client) => Some(*client),
            _ => None,
        })
    }

    /// Returns true if it goes by how servers stand to each other.
    pub(super) fn is_by_standing(&self) -> bool {
        self.mentions().any(|whom| matches!(whom, Whom::Leader | Whom::Follower))
    }

    /// Returns true if it is links of the vault.
    pub(super) fn is_at_vault(&self) -> bool {
        self.mentions().any(|whom| *whom == Whom::Vault)
    }
}

/// Reads a link: a pair of targets.
fn read_link(
    link: &Spanned<DeValue<'_>>,
    action: Action,
    run: &ScriptedRun<'_>,
) -> Result<(Whom, Whom), ScriptMistake> {
    let wanted = || Mistake::Type { field: "links", wanted: LINKS }.at(link.span());
    let ends = link.get_ref().as_array().ok_or_else(wanted)?;
    let [a, b] = &ends[..] else { return Err(wanted()) };
    let end = |end: &Spanned<DeValue<'_>>| {
        let text = end.get_ref().as_str().ok_or_else(wanted)?;
        Whom::read(text, run).map_err(|mistake| mistake.at(end.span()))
    };
    let link_of = (end(a)?, end(b)?);
    check_link(action, &link_of, run).map_err(|mistake| mistake.at(link.span()))?;
    Ok(link_of)
}

/// The place of a fault's target.
pub(super) fn place(fields: &Fields<'_>) -> Range<usize> {
    let place = fields.place("target").or_else(|| fields.place("links"));
    place.unwrap_or_else(|| fields.at.clone())
}
