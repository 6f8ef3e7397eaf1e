//! `picklock merge`: adds up what several searches found.

use super::{Failure, explore::tell};
use crate::Exit;
use crate::cli::MergeArgs;
use crate::explore::{Tally, merge};

pub fn run(args: &MergeArgs) -> Result<Exit, Failure> {
    let mut parts = Vec::new();
    for path in &args.files {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::could_not(format!("cannot read `{file}`: {error}")))?;
        let tally =
            Tally::from_json(&text).map_err(|why| Failure::could_not(format!("`{file}` {why}")))?;
        parts.push((file, tally));
    }
    let sum = merge(parts).map_err(Failure::could_not)?;
    tell(&sum, args.format, args.out.as_deref())
}
