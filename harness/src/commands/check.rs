//! `picklock check`: judges a stored run again.

use super::{Failure, judge::judge};
use crate::Exit;
use crate::cli::CheckArgs;
use crate::folder::Folder;

pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let folder = Folder::find(&args.run)?;
    let (run, cut_off) = folder.read()?;
    if cut_off {
        eprintln!(
            "picklock: the history ends in the middle of a line; judging the {} events before it",
            run.history.events().len()
        );
    }
    Ok(judge(&run, &folder, args.format, None)?)
}
