//! The fault scripts of a library: there are none, since they are files of the command line.

use base::{Ability, Nemesis, Next, Rng, ScriptFile, ScriptedFault, View};
use std::sync::Arc;

mod run;

pub use run::ScriptedRun;

/// The refusal of a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this picklock reads no fault scripts; build it with the cargo feature `cli`")]
pub struct ScriptError;

/// A script that was read: never.
#[derive(Debug)]
pub enum FaultScript {}

impl FaultScript {
    /// Refuses to read a script.
    ///
    /// # Errors
    /// Fails always.
    pub const fn read(_: &ScriptFile, _: &ScriptedRun<'_>) -> Result<Self, ScriptError> {
        Err(ScriptError)
    }

    /// Returns its faults.
    pub const fn faults(&self) -> Vec<ScriptedFault> {
        match *self {}
    }

    /// Returns true if a fault of it waits for a command of a client.
    pub const fn looks_at_commands(&self) -> bool {
        match *self {}
    }

    /// Returns the abilities that its faults need of a backend.
    pub const fn needs(&self, _: bool) -> std::iter::Empty<Ability> {
        match *self {}
    }

    /// Returns the bandwidths that it limits links to.
    pub const fn bandwidths(&self) -> std::iter::Empty<u32> {
        match *self {}
    }

    /// Returns the mistake of asking a backend for what it refuses.
    pub fn refused(
        &self,
        _: &ScriptFile,
        _: bool,
        _: impl Fn(Ability) -> Option<String>,
    ) -> Option<ScriptError> {
        match *self {}
    }

    /// Checks that it hits clients and their links only.
    ///
    /// # Errors
    /// Never comes to that.
    pub const fn check_clients_only(&self, _: &ScriptFile) -> Result<(), ScriptError> {
        match *self {}
    }
}

/// A nemesis that follows a script.
pub struct Follower(Arc<FaultScript>);

impl Follower {
    /// A nemesis that has yet to begin with a script.
    pub const fn new(script: Arc<FaultScript>) -> Self {
        Self(script)
    }
}

impl Nemesis for Follower {
    fn next(&mut self, _: &View<'_>, _: &mut Rng) -> Next {
        match *self.0 {}
    }
}
