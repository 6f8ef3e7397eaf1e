//! The arguments of `client`.

use clap::{Args, Subcommand};

use super::{BackendArg, LoadArgs, LockArgs, ServersArgs, backend};

const CHECK_EXAMPLES: &str = "Examples:
  picklock client check --client \"python3 my_lock.py\" --on redis
  picklock client check --lock my-lock.toml

Exit codes:
    0  the client does what a client has to
    1  it does not
  254  bad arguments, or a mistake in the definition file
  255  the servers could not be started";

/// The arguments of `client`.
#[derive(Args)]
pub struct ClientArgs {
    /// The command; without one, this is the client of a lock of the catalogue.
    #[command(subcommand)]
    pub command: Option<ClientCommands>,
}

/// The commands about clients.
#[derive(Subcommand)]
pub enum ClientCommands {
    /// Tries the client of a lock of your own on real servers, in seconds, and names its mistakes.
    Check(ClientCheckArgs),
}

/// The arguments of `client check`.
#[derive(Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct ClientCheckArgs {
    /// The lock of the client.
    #[command(flatten)]
    pub lock: LockArgs,
    /// The world to try it in.
    #[arg(long, value_name = "BACKEND", value_parser = backend(), default_value = "local")]
    pub backend: BackendArg,
    /// Servers in the place of a backend.
    #[command(flatten)]
    pub servers: ServersArgs,
    /// The load, of which only the servers and the ttl matter.
    #[command(flatten)]
    pub load: LoadArgs,
}
