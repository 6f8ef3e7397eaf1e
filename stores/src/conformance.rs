//! The frame of the conformance suites: sequences of steps that a server takes beside its model, or
//! beside what a case says of it. A sequence that shows a difference is shrunk.
//!
//! Each store gives its steps, how they are drawn, and what is compared after each
//! ([`Comparison`]).

mod death;

pub use death::{Killing, TimeRange, Times};

use base::DeltaDebugger;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;

/// The number of sequences with a difference that are shrunk, which takes time on a real server.
const MOST_SHRUNK: usize = 5;

/// The reason for which a sequence goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The subject differs from what was expected, by this description.
    Differs(String),
    /// The rest cannot be judged, since time went on at a wrong moment.
    Lost,
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Differs(why)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Differs(error.to_string())
    }
}

/// Returns `Ok` if a reply is the expected one.
///
/// # Errors
/// The difference in words.
pub fn same<T: PartialEq + fmt::Debug>(got: &T, expected: &T) -> Result<(), Stop> {
    if got == expected { Ok(()) } else { Err(format!("{got:?}, not {expected:?}").into()) }
}

/// A subject, and what tells how it has to answer: both take the same steps.
pub trait Comparison {
    /// A step of a sequence.
    type Step: Clone + fmt::Debug;

    /// True if a difference counts only if it comes again.
    const CHANCY: bool = false;

    /// Begins a sequence with this name, which no other has: nothing is left of those before.
    fn begin(&mut self, name: &str) -> impl Future<Output = Result<(), Stop>>;

    /// Takes a step, and compares what comes of it.
    fn step(
        &mut self,
        step: &Self::Step,
        report: &mut Compared,
    ) -> impl Future<Output = Result<(), Stop>>;

    /// Ends a sequence, of which a difference may have been found: compares what is left.
    fn end(&mut self, _: &mut Compared) -> impl Future<Output = Result<(), Stop>> {
        std::future::ready(Ok(()))
    }
}

/// The findings of a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The number of replies that were compared.
    pub replies: u64,
    /// The number of sequences that agreed from end to end.
    pub sequences: u64,
    /// The number of sequences that could not be decided to their end.
    pub lost: u64,
    /// The numbers of other things that have to happen, by what they are.
    pub counts: BTreeMap<&'static str, u64>,
    /// The times that were measured, in milliseconds.
    pub times_ms: Vec<(&'static str, u64)>,
    /// Every difference, in words.
    pub differences: Vec<String>,
}

impl Compared {
    /// Returns true if nothing differed, so many replies were compared, all happened that has to,
    /// and hardly a sequence was given up.
    pub fn passed(&self, least: u64) -> bool {
        let happened = self.counts.values().all(|count| *count > 0);
        let decided = self.lost * 20 <= self.sequences;
        self.replies >= least && happened && decided && self.differences.is_empty()
    }

    /// Counts what has to happen.
    pub fn count(&mut self, what: &'static str, number: u64) {
        *self.counts.entry(what).or_default() += number;
    }

    /// Notes a time, which has to lie between these bounds; `None`: it could not be measured.
    pub fn time(&mut self, what: &'static str, bounds_ms: [u64; 2], took_ms: Option<u64>) {
        let [least, most] = bounds_ms;
        self.times_ms.extend(took_ms.map(|took| (what, took)));
        if !took_ms.is_some_and(|took| (least..=most).contains(&took)) {
            self.differences.push(format!("{what}: {took_ms:?} ms, not {least} to {most}"));
        }
    }

    /// Notes the end of a sequence.
    pub fn note(&mut self, name: &str, end: Result<(), Stop>) {
        match end {
            Ok(()) => self.sequences += 1,
            Err(Stop::Lost) => self.lost += 1,
            Err(Stop::Differs(why)) => self.differences.push(format!("{name}: {why}")),
        }
    }

    /// Adds what was found beside this.
    pub fn extend(&mut self, other: Self) {
        self.replies += other.replies;
        self.sequences += other.sequences;
        self.lost += other.lost;
        other.counts.into_iter().for_each(|(what, number)| self.count(what, number));
        self.times_ms.extend(other.times_ms);
        self.differences.extend(other.differences);
    }

    /// Has both take the steps of a case.
    pub async fn case<C: Comparison>(&mut self, both: &mut C, name: &str, steps: &[C::Step]) {
        let end = self.run(both, name, steps).await;
        self.note(name, end.map_err(|(end, stop)| with_steps(&steps[..end], stop)));
    }

    /// Has both take the steps of a random sequence, and shrinks one that shows a difference.
    pub async fn compare<C: Comparison>(&mut self, both: &mut C, name: &str, steps: Vec<C::Step>) {
        let mut end = self.run(both, name, &steps).await;
        if C::CHANCY && end.is_err() {
            end = self.run(both, &format!("{name}-again"), &steps).await;
        }
        let end = match end {
            Err((end, Stop::Differs(why))) if self.differences.len() < MOST_SHRUNK => {
                Err(shrunk(both, name, steps[..end].to_vec(), why).await)
            }
            other => other.map_err(|(end, stop)| with_steps(&steps[..end], stop)),
        };
        self.note(&format!("sequence {name}"), end);
    }

    /// Has both take the steps of a sequence. A stop comes with the number of steps up to it.
    async fn run<C: Comparison>(
        &mut self,
        both: &mut C,
        name: &str,
        steps: &[C::Step],
    ) -> Result<(), (usize, Stop)> {
        let mut result = both.begin(name).await.map_err(|stop| (0, stop));
        for (step, number) in steps.iter().zip(1..) {
            if result.is_ok() {
                result = both.step(step, self).await.map_err(|stop| (number, stop));
            }
        }
        let end = both.end(self).await.map_err(|stop| (steps.len(), stop));
        result.and(end)
    }
}

/// Leaves out steps as long as a difference remains. It may become another one, which is a
/// difference all the same.
async fn shrunk<C: Comparison>(
    both: &mut C,
    name: &str,
    steps: Vec<C::Step>,
    mut why: String,
) -> Stop {
    let (mut steps, mut tries) = (DeltaDebugger::new(steps), 0);
    while let Some(mut fewer) = steps.propose() {
        tries += 1;
        let name = format!("{name}-{tries}");
        let tried = Compared::default().run(both, &name, &fewer).await;
        if let Err((end, Stop::Differs(other))) = tried {
            fewer.truncate(end);
            steps.keep(fewer);
            why = other;
        }
    }
    with_steps(&steps.least(), Stop::Differs(format!("shrunk: {why}")))
}

/// The reason, with the steps that led to it.
fn with_steps<S: fmt::Debug>(steps: &[S], stop: Stop) -> Stop {
    let Stop::Differs(why) = stop else { return stop };
    let steps: String = steps.iter().map(|step| format!("\n  {step:?}")).collect();
    Stop::Differs(format!("{why}, after{steps}"))
}

/// Displays what was counted and measured, and then each difference.
impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replies, sequences, lost, counts, times_ms, differences } = self;
        write!(f, "{replies} replies compared; {sequences} sequences agree to their end")?;
        writeln!(f, ", {lost} were given up, {} differ", differences.len())?;
        counts.iter().try_for_each(|(what, number)| writeln!(f, "{what}: {number}"))?;
        times_ms.iter().try_for_each(|(what, took)| writeln!(f, "{what}: {took} ms"))?;
        differences.iter().try_for_each(|difference| writeln!(f, "\n{difference}"))
    }
}
