//! `picklock merge`: adds up what several searches found.

use super::{Failure, catalogued, explore::tell, writable};
use crate::Exit;
use crate::cli::MergeArgs;
use crate::explore::{Tally, merge};
use crate::input;
use crate::output::OutputLosses;
use crate::paths;

pub fn run(args: &MergeArgs) -> Result<Exit, Failure> {
    writable([(&args.out, "--out")])?;
    let budget = args.budget.begin();
    let mut parts = Vec::new();
    for path in &args.files {
        let file = path.display().to_string();
        if !path.exists() {
            return Err(Failure::arguments(paths::missing(
                path,
                "give results of `explore --out`",
            )));
        }
        let text = input::text(path, budget)?;
        let tally =
            Tally::from_json(&text).map_err(|why| Failure::could_not(format!("`{file}` {why}")))?;
        parts.push((file, tally));
    }
    let sum = merge(parts).map_err(Failure::could_not)?;
    let lock = catalogued(&sum.searched.algo)?;
    let mut losses = OutputLosses::default();
    tell(&sum, &lock.info, args.format, args.out.as_deref(), &mut losses)?;
    Ok(losses.end(sum.outcome()))
}
