//! Searching many schedules in the simulator: a seed a schedule, seeds side by side on all cores.

mod search;
mod tally;

pub use search::{Search, SearchError, search};
pub use tally::{
    FileValue, MIN_HELD, MergeError, Missing, NoTally, SearchPart, Searched, Sighting, Tally, merge,
};
