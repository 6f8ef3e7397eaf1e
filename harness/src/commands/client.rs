//! `picklock client`: the client of a lock of the catalogue; and `picklock client check`, which
//! tries a client that somebody else wrote, request by request.

mod steps;
mod trial;

use base::RunSpec;
use trial::ClientTrial;

use super::{Failure, tested};
use crate::Exit;
use crate::cli::{ClientArgs, ClientCheckArgs, ClientCommands};
use crate::output::say;
use crate::output_style::hint;
use crate::setup::Setup;
use crate::worlds::{Start, choose};

pub fn run(args: &ClientArgs) -> Result<Exit, Failure> {
    match &args.command {
        None => Ok(crate::client::run()?),
        Some(ClientCommands::Check(args)) => check(args),
    }
}

fn check(args: &ClientCheckArgs) -> Result<Exit, Failure> {
    let lock = tested(&args.lock, &args.load)?;
    let run = args.servers.under(args.load.run(&lock.info, "none", 0));
    // Two workers in each client, of which one may keep the other waiting.
    let run = RunSpec { clients: 2, task: "workers".into(), ..run };
    let setup = Setup::new(&lock, run)?;
    let world = choose(args.backend.0, &setup.world, &setup.needs())?;
    if !world.is_real() {
        return Err(Failure::arguments("a client is tried on real servers: give --backend local"));
    }
    (world.prepare)(&hint).map_err(Failure::could_not)?;
    let start = Start { choices: None, logs: None, client: None, progress: &|_| () };
    let backend = (world.start)(&setup, start).map_err(Failure::could_not)?;
    let mut trial = ClientTrial::of(backend, &setup);
    let ended = trial.take();
    if let Err(why) = ended {
        trial.tell(Err(why)).map_err(Failure::could_not)?;
    }
    let wrong = trial.end().map_err(Failure::could_not)?;
    match wrong {
        0 => say("\nThe client does what a client has to.\n")?,
        _ => say("\nThe protocol is docs/protocol.md.\n")?,
    }
    Ok(if wrong == 0 { Exit::Held } else { Exit::Violated })
}
