//! Locks that somebody else wrote, in any language: a program that speaks the protocol of clients,
//! and what its author promises of it.

mod error;
mod libraries;
mod promises;
#[cfg(feature = "cli")]
mod words;

pub use error::ForeignError;
pub use libraries::hint;
pub use promises::Promises;
#[cfg(feature = "cli")]
pub use words::{PROMISE_WORDS, PromiseWord, promised};

use base::{Known, LockInfo, LockName, ProgramCommand, nanos};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use stores::{StoreId, Topology};
use workloads::locks::{Opens, START_UP, unpromised};
use workloads::{BELOW_TTL, BEYOND_SESSION, ProgramLock, TestedLock};

use crate::named_anomaly::NamedAnomaly;
use crate::nearest::Unlisted;

/// A lock that a program takes, as its author describes it.
#[derive(Clone, Default)]
pub struct ForeignLock {
    /// The name. `None`: that of the program.
    pub name: Option<String>,
    /// One line about it. Empty: its command.
    pub summary: String,
    /// The program and its arguments, as a shell takes them.
    pub command: String,
    /// The folder in which it runs. `None`: that of picklock.
    pub folder: Option<PathBuf>,
    /// The variables that are added to its environment.
    pub environment: Vec<(String, String)>,
    /// The command that starts its server, as a shell takes it. Empty: picklock knows how.
    pub server: String,
    /// The longest time that the program takes until it can be asked for the lock. `None`: the usual
    /// one.
    pub start_up: Option<Duration>,
    /// The name of its topology.
    pub on: String,
    /// Its time to live, or session time-out. `None`: the usual one of the store.
    pub ttl: Option<Duration>,
    /// The promises that its author makes.
    pub promises: Promises,
    /// The anomalies that it is known to show, each by its cause.
    pub known: Vec<NamedAnomaly>,
    /// The arguments by which commands name it.
    pub arguments: String,
}

impl ForeignLock {
    /// Makes a lock that can be tested of it.
    ///
    /// # Errors
    /// Fails at the first mistake, with what to write instead.
    pub fn tested(self) -> Result<TestedLock, ForeignError> {
        let command = self.command(&self.command, ForeignError::Command)?;
        let name = self.name.clone().unwrap_or_else(|| name_of(&command));
        let program = self.program(command)?;
        self.opened_by(name, Arc::new(program))
    }

    /// Returns the way in which this program takes the lock.
    ///
    /// # Errors
    /// Fails when its topology is none, or has servers that picklock starts in another way, and when
    /// it has no time to start.
    pub fn program(&self, command: ProgramCommand) -> Result<ProgramLock, ForeignError> {
        let (store, topology) = topology(&self.on)?;
        let server = match self.server.as_str() {
            "" => None,
            _ if store != StoreId::Custom => {
                return Err(ForeignError::KnownServer(self.on.clone()));
            }
            server => Some(self.command(server, ForeignError::Server)?),
        };
        let start_up = self.start_up.unwrap_or(START_UP);
        if start_up.is_zero() {
            return Err(ForeignError::StartUp);
        }
        Ok(ProgramLock { topology, store, command, server, start_up })
    }

    /// Makes a lock that can be tested of it, with this name, which its client opens in this way.
    ///
    /// # Errors
    /// Fails at the first mistake, with what to write instead.
    pub fn opened_by(
        self,
        name: String,
        opener: Arc<dyn Opens>,
    ) -> Result<TestedLock, ForeignError> {
        let (store, topology) = topology(&self.on)?;
        let ttl = self.ttl.unwrap_or(store.ttl());
        let promises = self.promises.with(ttl)?;
        check_promises(&promises, topology)?;
        let renews = self.promises.renews || store.has_sessions();
        let summary = match self.summary.as_str() {
            "" => format!("`{}`", self.command),
            given => given.into(),
        };
        let info = LockInfo {
            name: LockName::try_from(name)?,
            summary,
            known: self.known(&promises)?,
            promises,
            longest_hold_permille: if renews { BEYOND_SESSION } else { BELOW_TTL },
            store: store.name().into(),
            shape: topology.shape,
            topology: topology.name.into(),
            usual_ttl_ns: nanos(ttl),
            own_ttl_ns: None,
            arguments: self.arguments,
        };
        Ok(TestedLock { info: Arc::new(info), opener })
    }

    /// Returns one of its commands, from its text.
    fn command(
        &self,
        text: &str,
        none: fn(String) -> ForeignError,
    ) -> Result<ProgramCommand, ForeignError> {
        let words = shlex::split(text).unwrap_or_default();
        let Some((program, args)) = words.split_first() else {
            return Err(none(text.into()));
        };
        let is_none = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        if let Some(name) = self.environment.iter().map(|(name, _)| name).find(is_none) {
            return Err(ForeignError::Variable(name.clone()));
        }
        Ok(ProgramCommand {
            program: program.into(),
            args: args.to_vec(),
            folder: self.folder.clone(),
            variables: self.environment.clone(),
        })
    }

    fn known(&self, promises: &base::Promises) -> Result<Vec<Known>, ForeignError> {
        let known = self.known.iter().map(|named| match named.cause {
            Some(cause) => Ok(Known {
                cause,
                anomaly: named.name.clone(),
                why: "its definition says so".into(),
            }),
            None => Err(ForeignError::Cause(named.name.clone())),
        });
        known.chain(unpromised(promises).map(Ok)).collect()
    }
}

/// Refuses promises that no lock on these servers can keep, or that cannot be judged together.
fn check_promises(promises: &base::Promises, topology: &Topology) -> Result<(), ForeignError> {
    let wrong = |why: String| Err(ForeignError::Promise(why));
    let name = topology.name;
    if promises.available && topology.servers() < 3 {
        return wrong(format!(
            "`available` is about a minority of servers, and {name} has too few: leave it out, or \
             choose a topology of at least three"
        ));
    }
    if promises.shared && promises.permits > 1 {
        return wrong("`shared` and several permits cannot both be judged: leave one out".into());
    }
    if promises.downgrades && !promises.shared {
        return wrong("`downgrades` is about readers: promise `shared` as well".into());
    }
    Ok(())
}

/// Returns the topology of a name, with its store.
fn topology(name: &str) -> Result<(StoreId, &'static Topology), ForeignError> {
    let of =
        |store: &StoreId| Some((*store, store.topologies().iter().find(|it| it.name == name)?));
    let all = || StoreId::all_topologies().map(|topology| topology.name);
    let found = StoreId::ALL.iter().find_map(of);
    found.ok_or_else(|| Unlisted::new("topology", name, all()).into())
}

/// Returns the name of a program: that of the first file that it is given, or its own.
fn name_of(command: &ProgramCommand) -> String {
    let is_file = |arg: &&String| !arg.starts_with('-') && Path::new(arg).extension().is_some();
    let file = command.args.iter().find(is_file).map(PathBuf::from);
    let file = file.unwrap_or_else(|| command.program.clone());
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
