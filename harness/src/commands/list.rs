//! `picklock list`: what there is.

use base::ACTIONS;
use serde_json::{Value, json};
use stores::StoreId;

use super::Failure;
use crate::Exit;
use crate::cli::{AUTO_SUMMARY, Format, ListArgs, ListWhat};
use crate::fault_script;
use crate::foreign;
use crate::output::say;
use crate::output_style::style;
use crate::worlds::WORLDS;
use reports::terminal::table;

/// A kind of thing: its title, and each thing's name and summary.
type Section = (&'static str, Vec<(&'static str, &'static str)>);

fn section(what: ListWhat) -> Section {
    match what {
        ListWhat::Locks => {
            ("locks", workloads::LOCKS.iter().map(|l| (l.name, l.summary)).collect())
        }
        ListWhat::Topologies => {
            ("topologies", StoreId::all_topologies().map(|t| (t.name, t.summary)).collect())
        }
        ListWhat::Tasks => {
            ("tasks", workloads::TASKS.iter().map(|t| (t.name, t.summary)).collect())
        }
        ListWhat::Nemeses => {
            ("nemeses", nemesis::Nemesis::ALL.iter().map(|n| (n.name(), n.summary())).collect())
        }
        ListWhat::Actions => {
            ("actions", ACTIONS.iter().map(|a| (a.spec().name, a.spec().about)).collect())
        }
        ListWhat::Targets => ("targets", fault_script::WORDS.to_vec()),
        ListWhat::Moments => (
            "moments",
            fault_script::MOMENTS.iter().map(|(name, _, about)| (*name, *about)).collect(),
        ),
        ListWhat::Promises => {
            ("promises", foreign::PROMISE_WORDS.iter().map(|it| (it.word, it.about)).collect())
        }
        ListWhat::Checkers => {
            ("checkers", checkers::CHECKERS.iter().map(|c| (c.name(), c.summary())).collect())
        }
        ListWhat::Models => {
            ("models", histories::MODELS.iter().map(|m| (m.name, m.summary)).collect())
        }
        ListWhat::Backends => {
            let chosen = WORLDS.iter().filter(|world| world.is_chosen);
            let auto = std::iter::once(("auto", AUTO_SUMMARY));
            ("backends", auto.chain(chosen.map(|world| (world.name, world.summary))).collect())
        }
    }
}

pub fn run(args: &ListArgs) -> Result<Exit, Failure> {
    use ListWhat::{
        Actions, Backends, Checkers, Locks, Models, Moments, Nemeses, Promises, Targets, Tasks,
        Topologies,
    };
    let all = [
        Locks, Topologies, Tasks, Nemeses, Actions, Targets, Moments, Promises, Checkers, Models,
        Backends,
    ];
    let chosen = args.what.as_ref().map_or(&all[..], std::slice::from_ref);
    let sections: Vec<Section> = chosen.iter().map(|what| section(*what)).collect();
    match args.format {
        Format::Human => say(&human(&sections))?,
        Format::Json => say(&format!("{:#}\n", as_json(&sections)))?,
    }
    Ok(Exit::Held)
}

fn human(sections: &[Section]) -> String {
    let tables = sections.iter().map(|(title, things)| table(title, things, style()) + "\n");
    tables.collect()
}

fn as_json(sections: &[Section]) -> Value {
    let things = |things: &[(&str, &str)]| -> Value {
        things.iter().map(|(name, summary)| json!({ "name": name, "summary": summary })).collect()
    };
    sections.iter().map(|(title, rows)| (title.to_string(), things(rows))).collect()
}
