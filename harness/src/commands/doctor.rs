//! `picklock doctor`: the backends, topologies and faults that this machine is ready for, and the
//! way to the rest. It asks the code that refuses a run, so that the two cannot differ.

use base::{ACTIONS, Ability, Action, Lack, Readiness};
use serde_json::{Value, json};
use std::fmt::Write as _;
use stores::StoreId;

use super::Failure;
use crate::Exit;
use crate::cli::{DoctorArgs, Format};
use crate::output::say;
use crate::output_style::{render, style};
use crate::worlds::{self, RunWorld, toxiproxy};

/// The findings: one for each backend and topology, and one for each ability.
struct Findings {
    servers: Vec<(&'static str, Vec<(&'static str, Readiness)>)>,
    abilities: Vec<AbilityFinding>,
}

/// The servers that have an ability.
struct AbilityFinding {
    ability: Ability,
    /// The stores whose servers have it, by backend.
    places: Vec<(&'static str, Vec<&'static str>)>,
    /// The ways to have it, one line each, if no servers have it.
    remedies: Vec<String>,
}

impl AbilityFinding {
    fn look(ability: Ability, worlds: &[&RunWorld]) -> Self {
        let (mut places, mut remedies) = (Vec::new(), Vec::new());
        for world in worlds {
            let mut able = Vec::new();
            for store in StoreId::ALL {
                match (world.can)(*store, ability) {
                    Ok(()) => able.push(store.name()),
                    Err(Lack { reason, fix }) => {
                        remedies.extend(fix.map(|fix| format!("{}: {reason}: {fix}", world.name)));
                    }
                }
            }
            places.push((world.name, able));
        }
        if places.iter().any(|(_, able)| !able.is_empty()) {
            remedies.clear();
        }
        Self { ability, places, remedies }
    }

    fn is_there(&self) -> bool {
        self.places.iter().any(|(_, able)| !able.is_empty())
    }

    /// Names the servers that have it, unless all do.
    fn only(&self) -> String {
        if !self.is_there() {
            return " (in the simulator: --backend sim)".into();
        }
        if self.places.iter().all(|(_, able)| able.len() == StoreId::ALL.len()) {
            return String::new();
        }
        let some = self.places.iter().filter(|(_, able)| !able.is_empty());
        let some: Vec<_> =
            some.map(|(name, able)| format!("{name}: {}", able.join(", "))).collect();
        format!(" ({})", some.join("; "))
    }
}

impl Findings {
    fn look() -> Self {
        let mut servers: Vec<_> =
            StoreId::all_topologies().map(|on| (on.name, Vec::new())).collect();
        let worlds: Vec<&RunWorld> = worlds::real().collect();
        for world in &worlds {
            let places = StoreId::ALL
                .iter()
                .flat_map(|store| store.topologies().iter().map(|topology| (*store, topology)));
            for ((store, topology), (_, found)) in places.zip(&mut servers) {
                found.push((world.name, (world.tried)(store, topology)));
            }
        }
        let abilities = abilities().map(|it| AbilityFinding::look(it, &worlds)).collect();
        Self { servers, abilities }
    }

    /// Returns true if every topology can stand on real servers.
    fn is_complete(&self) -> bool {
        self.servers.iter().all(|(_, found)| found.iter().any(|(_, it)| is_ready(it)))
    }
}

/// The abilities that any fault needs, each once.
fn abilities() -> impl Iterator<Item = Ability> {
    let of = |action: &Action| {
        let ability = action.spec().ability;
        [ability, ability.at_client(), ability.between_servers()]
    };
    let mut all: Vec<_> = ACTIONS.iter().flat_map(of).collect();
    all.push(Ability::Vault);
    all.sort_unstable();
    all.dedup();
    all.into_iter()
}

pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let findings = Findings::look();
    match args.format {
        Format::Human => say(&render(&human(&findings)))?,
        Format::Json => say(&format!("{:#}\n", as_json(&findings)))?,
    }
    Ok(if findings.is_complete() { Exit::Held } else { Exit::Inconclusive })
}

fn is_ready(readiness: &Readiness) -> bool {
    *readiness == Readiness::Ready
}

/// Returns the remedy for a world that is not ready, in one line.
fn refusal((world, readiness): &(&str, Readiness)) -> Option<String> {
    match readiness {
        Readiness::Ready => None,
        Readiness::NotReady { reason, fix } => Some(format!("{world}: {reason}: {fix}")),
    }
}

fn human(findings: &Findings) -> String {
    let (yes, no) = if style().unicode { ("✓", "✗") } else { ("ok", "no") };
    let mark = |good| if good { yes } else { no };
    let mut text = format!("simulator\n  {yes} every topology, every fault\n");
    text.push_str("\nreal servers\n");
    let mut remedies: Vec<String> = Vec::new();
    for (topology, found) in &findings.servers {
        let each =
            found.iter().map(|(backend, ready)| format!("{} {backend}", mark(is_ready(ready))));
        let _ = writeln!(text, "  {topology:<16} {}", each.collect::<Vec<_>>().join("   "));
    }
    text.push_str("\nfaults on real servers\n");
    for found in &findings.abilities {
        let _ = writeln!(text, "  {} {}{}", mark(found.is_there()), found.ability, found.only());
    }
    let toxiproxy = match toxiproxy::is_built_in() {
        Ok(()) => "can lead through a Toxiproxy: --links".into(),
        Err(why) => format!("lead through no Toxiproxy: {why}"),
    };
    let _ = writeln!(text, "  links of clients {toxiproxy}");
    let refusals = findings.servers.iter().flat_map(|(_, found)| found);
    let refusals = refusals.filter_map(refusal);
    let abilities = findings.abilities.iter().flat_map(|found| found.remedies.clone());
    for line in refusals.chain(abilities) {
        if !remedies.contains(&line) {
            remedies.push(line);
        }
    }
    if !remedies.is_empty() {
        text.push_str("\nto get the rest\n");
        remedies.iter().for_each(|line| _ = writeln!(text, "  {line}"));
    }
    text.push_str(match findings.is_complete() {
        true => "\nevery topology can stand on real servers here\n",
        false => "\nsome topologies stand in the simulator only, as long as nothing is done\n",
    });
    text
}

fn as_json(findings: &Findings) -> Value {
    let ready = |ready: &Readiness| match ready {
        Readiness::Ready => json!({ "ready": true }),
        Readiness::NotReady { reason, fix } => {
            json!({ "ready": false, "reason": reason, "fix": fix })
        }
    };
    let topology = |(topology, found): &(&str, Vec<(&str, Readiness)>)| {
        let backends = found.iter().map(|(backend, it)| ((*backend).to_owned(), ready(it)));
        ((*topology).to_owned(), backends.collect::<Value>())
    };
    let ability = |found: &AbilityFinding| {
        let places = found.places.iter();
        let places = places.map(|(name, able)| ((*name).to_owned(), json!(able)));
        json!({
            "ability": found.ability.to_string(),
            "real": found.is_there(),
            "stores": places.collect::<Value>(),
        })
    };
    json!({
        "version": 1,
        "complete": findings.is_complete(),
        "toxiproxy": toxiproxy::is_built_in().is_ok(),
        "topologies": findings.servers.iter().map(topology).collect::<Value>(),
        "faults": findings.abilities.iter().map(ability).collect::<Vec<_>>(),
    })
}
