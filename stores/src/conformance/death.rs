//! The death of a server, as clients see it: the same questions to real servers and to many models.
//! The steps of a real one must take as long as those of the models.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::time::Duration;

/// A way to kill servers, and to start them again.
pub trait Killing {
    /// Cuts a server off from the others until it is killed. Clients still reach it.
    ///
    /// # Errors
    /// Fails when it cannot be done.
    fn cut_off(&mut self, server: usize) -> io::Result<()>;

    /// Kills a server, which keeps its data.
    ///
    /// # Errors
    /// Fails when it cannot be done.
    fn crash(&mut self, server: usize) -> io::Result<()>;

    /// Does the same with its machine, so that the others hear nothing.
    ///
    /// # Errors
    /// Fails when it cannot be done.
    fn kill(&mut self, server: usize) -> io::Result<()>;

    /// Starts it again, and returns its address.
    ///
    /// # Errors
    /// Fails when it cannot be done.
    fn start(&mut self, server: usize) -> io::Result<String>;
}

/// The times that went by until each of these.
pub type Times = BTreeMap<&'static str, Duration>;

/// The shortest and the longest times that many models took until each of these.
#[derive(Clone, Debug, Default)]
pub struct TimeRange(BTreeMap<&'static str, (Duration, Duration)>);

impl TimeRange {
    /// Takes in the times of a model.
    pub fn extend(&mut self, times: Times) {
        for (what, time) in times {
            let (least, most) = self.0.entry(what).or_insert((time, time));
            (*least, *most) = (time.min(*least), time.max(*most));
        }
    }

    /// The times, in words, that are shorter or longer than those of all models by more than this.
    pub fn differences(&self, times: &Times, slack: impl Fn(&str) -> Duration) -> Vec<String> {
        let fits = |what: &str, (least, most): (Duration, Duration)| {
            let time = times.get(what);
            time.is_some_and(|time| *time + slack(what) >= least && *time <= most + slack(what))
        };
        let others = self.0.iter().filter(|(what, bounds)| !fits(what, **bounds));
        let describe = |(what, (least, most)): (&&str, &(Duration, Duration))| {
            let time = times.get(what);
            format!("{what} after {time:.2?}, where models take {least:.2?} to {most:.2?}")
        };
        others.map(describe).collect()
    }
}

/// Displays the times.
impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let describe = |(what, (least, most)): (&&str, &(Duration, Duration))| {
            format!("{what} after {least:.2?} to {most:.2?}")
        };
        f.write_str(&self.0.iter().map(describe).collect::<Vec<_>>().join(", "))
    }
}
