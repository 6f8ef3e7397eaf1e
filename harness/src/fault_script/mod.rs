//! Fault scripts: TOML files that say exactly which faults come, on what, when and for how long.
//! `docs/scripts.md` describes the format.
//!
//! A script is read for a run: what this run cannot do is refused with its line, before anything
//! starts.

mod action;
mod aim;
mod error;
mod fields;
mod fits;
mod follow;
mod moment;
mod print;
mod read;
mod run;
mod time;

use base::{Ability, Action, LinkFault, ScriptedFault};
use std::ops::Range;
use std::time::Duration;

pub use aim::{Aim, WORDS, Whom};
use base::ScriptFile;
use error::Mistake;
pub use error::ScriptError;
pub use follow::Follower;
pub use moment::{LockEvent, MOMENTS, Moment};
pub use print::print;
pub use run::ScriptedRun;

/// The faults of a script, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultScript {
    entries: Vec<ScriptFault>,
}

/// One fault of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptFault {
    /// The line in which it begins.
    pub line: u32,
    /// The place of its action.
    pub at: Range<usize>,
    /// The action of the fault.
    pub action: Action,
    /// The target, as the script names it.
    pub aim: Aim,
    /// The time at which it comes.
    pub moment: Moment,
    /// The time from injection to heal.
    pub lasts: Duration,
    /// True if the run counts even if the fault never comes or does nothing.
    pub optional: bool,
    /// The fault in words: "pause holder when working".
    pub what: String,
}

impl FaultScript {
    /// The faults that a run must have, as its header names them.
    pub fn faults(&self) -> Vec<ScriptedFault> {
        let named =
            |entry: &ScriptFault| ScriptedFault { line: entry.line, what: entry.what.clone() };
        self.entries.iter().filter(|entry| !entry.optional).map(named).collect()
    }

    /// Returns true if a fault of it waits for a command of a client.
    pub fn looks_at_commands(&self) -> bool {
        let names = |it: &ScriptFault| matches!(it.moment, Moment::When { command: Some(_), .. });
        self.entries.iter().any(names)
    }

    /// The abilities that its faults need of a backend, where servers talk to each other (`peers`)
    /// or not.
    pub fn needs(&self, peers: bool) -> impl Iterator<Item = Ability> {
        self.entries.iter().flat_map(move |entry| entry.abilities(peers))
    }

    /// The bandwidths that it limits links to, in bytes a second.
    pub fn bandwidths(&self) -> impl Iterator<Item = u32> {
        let of_clients = self.entries.iter().filter(|entry| !entry.aim.is_at_vault());
        of_clients.filter_map(|entry| match entry.action {
            Action::Link(LinkFault::Throttle(rate)) => Some(rate),
            _ => None,
        })
    }

    /// Checks that it hits clients and their links only.
    ///
    /// # Errors
    /// Fails with the first fault that hits a server.
    pub fn check_clients_only(&self, file: &ScriptFile) -> Result<(), ScriptError> {
        match self.entries.iter().find(|entry| fits::hits_servers(&entry.aim)) {
            None => Ok(()),
            Some(entry) => {
                let wrong = Mistake::Misfit(
                    "this hits a server, and those of --servers belong to somebody else: aim at clients \
                     or their links, or give --backend local"
                        .into(),
                );
                Err(ScriptError::new(file, wrong.at(entry.at.clone())))
            }
        }
    }

    /// Returns the mistake of asking a backend for what it refuses, if the script does.
    pub fn refused(
        &self,
        file: &ScriptFile,
        peers: bool,
        refusal: impl Fn(Ability) -> Option<String>,
    ) -> Option<ScriptError> {
        self.entries.iter().find_map(|entry| {
            let wrong = entry.abilities(peers).into_iter().find_map(&refusal)?;
            let wrong = Mistake::Unable(wrong).at(entry.at.clone());
            Some(ScriptError::new(file, wrong))
        })
    }
}

impl ScriptFault {
    fn abilities(&self, peers: bool) -> Vec<Ability> {
        fits::abilities(self.action, &self.aim, peers)
    }
}
