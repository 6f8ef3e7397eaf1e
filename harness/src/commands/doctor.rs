//! `picklock doctor`: the backends, topologies and faults that this machine is ready for, and the way to
//! the rest. It asks the code that refuses a run, so that the two cannot differ.

use base::{ACTIONS, Ability, Action};
use serde_json::{Value, json};
use std::fmt::Write as _;
use stores::StoreId;

use super::Failure;
use super::choice::{Ready, RealBackendEntry, real_backends, toxiproxy};
use crate::Exit;
use crate::cli::{DoctorArgs, Format};
use crate::manner::{style, told};
use crate::output::say;

/// The findings: one for each backend and topology, and one for each ability.
struct Findings {
    servers: Vec<(&'static str, Vec<(&'static str, Ready)>)>,
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
    fn look(ability: Ability, backends: &[RealBackendEntry]) -> Self {
        let (mut places, mut remedies) = (Vec::new(), Vec::new());
        for backend in backends {
            let mut able = Vec::new();
            for store in StoreId::ALL {
                match (backend.can)(*store, ability) {
                    Ok(()) => able.push(store.name()),
                    Err(remedy) => remedies.extend(remedy),
                }
            }
            places.push((backend.name, able));
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
        let backends = real_backends();
        for backend in &backends {
            let places = StoreId::ALL
                .iter()
                .flat_map(|store| store.topologies().iter().map(|topology| (*store, topology)));
            for ((store, topology), (_, found)) in places.zip(&mut servers) {
                found.push((backend.name, (backend.ready)(store, topology)));
            }
        }
        let abilities = abilities().map(|it| AbilityFinding::look(it, &backends)).collect();
        Self { servers, abilities }
    }

    /// Returns true if every topology can stand on real servers.
    fn is_complete(&self) -> bool {
        self.servers.iter().all(|(_, found)| found.iter().any(|(_, ready)| ready.is_ok()))
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
        Format::Human => say(&told(&human(&findings)))?,
        Format::Json => say(&format!("{:#}\n", as_json(&findings)))?,
    }
    Ok(if findings.is_complete() { Exit::Held } else { Exit::Inconclusive })
}

fn human(findings: &Findings) -> String {
    let (yes, no) = if style().unicode { ("✓", "✗") } else { ("ok", "no") };
    let mark = |good| if good { yes } else { no };
    let mut text = format!("simulator\n  {yes} every topology, every fault\n");
    text.push_str("\nreal servers\n");
    let mut remedies: Vec<&str> = Vec::new();
    for (topology, found) in &findings.servers {
        let each =
            found.iter().map(|(backend, ready)| format!("{} {backend}", mark(ready.is_ok())));
        let _ = writeln!(text, "  {topology:<16} {}", each.collect::<Vec<_>>().join("   "));
    }
    text.push_str("\nfaults on real servers\n");
    for found in &findings.abilities {
        let _ = writeln!(text, "  {} {}{}", mark(found.is_there()), found.ability, found.only());
    }
    let toxiproxy = match toxiproxy() {
        Ok(()) => "can lead through a Toxiproxy: --links".into(),
        Err(why) => format!("lead through no Toxiproxy: {why}"),
    };
    let _ = writeln!(text, "  links of clients {toxiproxy}");
    let refusals = findings.servers.iter().flat_map(|(_, found)| found);
    let refusals = refusals.filter_map(|(_, ready)| ready.as_ref().err().map(|why| &why.line));
    for line in refusals.chain(findings.abilities.iter().flat_map(|found| &found.remedies)) {
        if !remedies.contains(&line.as_str()) {
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
    let ready = |ready: &Ready| match ready {
        Ok(()) => json!({ "ready": true }),
        Err(why) => json!({ "ready": false, "reason": why.reason, "fix": why.fix }),
    };
    let topology = |(topology, found): &(&str, Vec<(&str, Ready)>)| {
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
        "toxiproxy": toxiproxy().is_ok(),
        "topologies": findings.servers.iter().map(topology).collect::<Value>(),
        "faults": findings.abilities.iter().map(ability).collect::<Vec<_>>(),
    })
}
