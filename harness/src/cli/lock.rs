//! The lock under test as arguments: of the catalogue, a program, or a definition file.

use clap::{ArgGroup, Args};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The lock under test.
#[derive(Args)]
#[command(group(ArgGroup::new("tested").required(true).args(["algo", "client", "lock"])))]
pub struct LockArgs {
    /// The lock under test (`picklock list locks`).
    #[arg(long, value_name = "LOCK")]
    pub algo: Option<String>,
    /// A lock of your own: the program of its client, in any language, which reads requests from
    /// stdin and answers on stdout (docs/own-lock.md). Needs --on, and runs on real servers only.
    #[arg(long, value_name = "COMMAND", requires = "on")]
    pub client: Option<String>,
    /// A lock of your own, by its definition file (docs/own-lock.md).
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,
    /// The promises of the lock of --client (`picklock list promises`). It is held to these and to
    /// no others.
    #[arg(long, value_name = "PROMISE", value_delimiter = ',', requires = "client")]
    pub promises: Vec<String>,
    /// The number of holders that the lock of --client lets in at once, if it is a semaphore.
    #[arg(long, value_name = "N", requires = "client")]
    pub permits: Option<NonZeroU32>,
}
