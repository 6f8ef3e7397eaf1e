//! Checks that an action fits its target, and that a run has the links that a script names.

use base::{Ability, Action, ActionSpec, Hits};

use super::error::Mistake;
use super::{Aim, ScriptedRun, Whom};

/// The kind of nodes that a target is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Clients,
    Servers,
    Vault,
    Both,
}

impl Whom {
    const fn sort(&self) -> Sort {
        match self {
            Self::Servers(_)
            | Self::RandomServer
            | Self::Leader
            | Self::Follower
            | Self::Minority
            | Self::Majority => Sort::Servers,
            Self::Vault => Sort::Vault,
            Self::All => Sort::Both,
            _ => Sort::Clients,
        }
    }
}

/// The abilities that an action needs at such a target, where servers talk to each other (`peers`)
/// or not.
pub fn abilities(action: Action, aim: &Aim, peers: bool) -> Vec<Ability> {
    let ability = action.spec().ability;
    let mut abilities = match aim {
        _ if aim.is_at_vault() => vec![Ability::Vault],
        Aim::Nodes(whom) => at_nodes(ability, whom.sort()),
        Aim::LinksOf(whom)
            if peers && whom.sort() == Sort::Servers && matches!(action, Action::Cut(_)) =>
        {
            vec![ability.between_servers()]
        }
        Aim::LinksOf(_) => vec![ability],
        Aim::Links(links) => links.iter().map(|link| at_link(ability, link)).collect(),
    };
    abilities.sort_unstable();
    abilities.dedup();
    abilities
}

fn at_nodes(ability: Ability, sort: Sort) -> Vec<Ability> {
    match sort {
        Sort::Clients => vec![ability.at_client()],
        Sort::Servers | Sort::Vault => vec![ability],
        Sort::Both => vec![ability, ability.at_client()],
    }
}

fn at_link(ability: Ability, (a, b): &(Whom, Whom)) -> Ability {
    match (a.sort(), b.sort()) {
        (Sort::Servers, Sort::Servers) => ability.between_servers(),
        _ => ability,
    }
}

/// Returns true if a fault with this target hits a server, or a link between servers.
pub fn hits_servers(aim: &Aim) -> bool {
    let has_servers = |whom: &Whom| matches!(whom.sort(), Sort::Servers | Sort::Both);
    match aim {
        Aim::Nodes(whom) | Aim::LinksOf(whom) => has_servers(whom),
        Aim::Links(links) => links.iter().any(|(a, b)| has_servers(a) && has_servers(b)),
    }
}

/// Checks that an action can hit such a node.
pub fn check_node(action: Action, whom: &Whom, text: &str) -> Result<(), Mistake> {
    let ActionSpec { name, hits, ability, .. } = action.spec();
    let (fits, wanted): (&[Sort], &str) = match hits {
        Hits::Nodes => (&[Sort::Clients, Sort::Servers, Sort::Both], "clients and servers"),
        Hits::Clients => (&[Sort::Clients], "clients; a server takes `crash`"),
        Hits::Servers if *ability == Ability::Crash => {
            (&[Sort::Servers], "servers; a client takes `kill`")
        }
        Hits::Servers | Hits::Links => (&[Sort::Servers], "servers"),
    };
    match fits.contains(&whom.sort()) {
        true => Ok(()),
        false if whom.sort() == Sort::Vault => Err(Mistake::Misfit(format!(
            "`{name}` cannot hit the vault, which has links only: cut, slow or reset those"
        ))),
        false => Err(Mistake::Misfit(format!("`{name}` cannot hit {text}: it hits {wanted}"))),
    }
}

/// Checks that there are such links, and that the action can hit them.
pub fn check_link(
    action: Action,
    (a, b): &(Whom, Whom),
    run: &ScriptedRun<'_>,
) -> Result<(), Mistake> {
    let refused = match (a.sort(), b.sort()) {
        (Sort::Clients, Sort::Servers | Sort::Vault) => return Ok(()),
        (Sort::Servers, Sort::Servers) if !run.peers => {
            "the servers of this run do not talk to each other: there is no such link"
        }
        (Sort::Servers, Sort::Servers) if matches!(action, Action::Link(link_fault) if !link_fault.is_delay()) => {
            "servers do not call each other as clients do: a link between them is cut, slowed or throttled"
        }
        (Sort::Servers, Sort::Servers) => return Ok(()),
        (Sort::Both, _) | (_, Sort::Both) => "`all` is no end of a link: give clients or servers",
        (_, Sort::Clients) if a.sort() != Sort::Clients => {
            "give the client of a link first: forward is from there"
        }
        _ => "there is no such link: clients have links to servers and to the vault",
    };
    Err(Mistake::Misfit(refused.into()))
}

/// Checks that a fault is of the vault's links or of others.
pub fn check_links(links: &[(Whom, Whom)]) -> Result<(), Mistake> {
    if links.is_empty() {
        return Err(Mistake::Missing("a link: links = [[\"holder\", \"vault\"]]"));
    }
    let to_vault = links.iter().filter(|(_, end)| *end == Whom::Vault).count();
    match to_vault == 0 || to_vault == links.len() {
        true => Ok(()),
        false => Err(Mistake::Contradiction("links of the vault are a fault of their own")),
    }
}
