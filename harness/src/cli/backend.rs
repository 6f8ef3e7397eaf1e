//! The worlds as arguments, made from their list.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::worlds::{self, RunWorld, SIMULATOR, WORLDS};

/// The world that was asked for; `None` asks for the best that this machine is ready for.
#[derive(Clone, Copy)]
pub struct BackendArg(pub Option<&'static RunWorld>);

/// The name that leaves the choice to picklock.
const AUTO: &str = "auto";

/// The rule by which it chooses, for help texts and lists.
pub const AUTO_SUMMARY: &str =
    "Real servers when this machine is ready for them, docker before local, else the simulator";

fn values() -> impl Iterator<Item = PossibleValue> {
    let chosen = WORLDS.iter().filter(|world| world.is_chosen);
    chosen.map(|world| PossibleValue::new(world.name).help(world.summary))
}

/// Reads the name of a world.
pub fn backend() -> impl TypedValueParser<Value = BackendArg> {
    let auto = PossibleValue::new(AUTO).help(AUTO_SUMMARY);
    let names = PossibleValuesParser::new(std::iter::once(auto).chain(values()));
    names.map(|name| BackendArg(worlds::named(&name)))
}

/// The worlds of a suite: each entry is run in the first of each list in which it can be.
#[derive(Clone)]
pub struct SuiteBackendArg(pub Vec<Vec<&'static RunWorld>>);

/// The name that asks for the simulator and for real servers.
const BOTH: &str = "both";

/// Reads the name of the worlds of a suite.
pub fn suite_backend() -> impl TypedValueParser<Value = SuiteBackendArg> {
    let help =
        "The simulator, and real servers: as processes where they can be, else in containers";
    let both = PossibleValue::new(BOTH).help(help);
    let names = PossibleValuesParser::new(values().chain([both]));
    names.map(|name| {
        SuiteBackendArg(match worlds::named(&name) {
            Some(world) => vec![vec![world]],
            None => {
                let mut real: Vec<&RunWorld> = worlds::real().collect();
                // Processes start faster than containers.
                real.sort_by_key(|world| world.is_made);
                vec![vec![SIMULATOR], real]
            }
        })
    })
}
