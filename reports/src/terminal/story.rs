//! A counterexample, step by step in the order of time.

use super::Style;
use super::paint::{Ink, Painter};
use crate::interpretation::sentence;
use crate::steps::StoryStep;
use crate::units::{Precision, moment};

/// A story with its title, and with its explanation where that is not given elsewhere.
pub fn story(title: &str, steps: &[StoryStep], explanation: Option<&str>, style: Style) -> String {
    let mut out = Painter::new(style);
    out.heading(&format!("{title}:"));
    out.blank();
    rows(&mut out, 2, steps);
    if let Some(explanation) = explanation {
        out.blank();
        out.wrapped(2, &sentence(explanation));
    }
    out.finish()
}

/// Steps, a row each, behind an indent.
pub(super) fn rows(out: &mut Painter, indent: usize, steps: &[StoryStep]) {
    Columns::of(steps).rows(out, indent, steps);
}

/// The widths of the columns of a story.
pub(super) struct Columns {
    precision: Precision,
    time: usize,
    who: usize,
}

impl Columns {
    pub fn of(steps: &[StoryStep]) -> Self {
        let clock: Vec<u64> = steps.iter().map(|step| step.time).collect();
        let precision = Precision::for_times(&clock);
        Self {
            precision,
            time: clock.iter().map(|at| moment(*at, precision).len()).max().unwrap_or(0),
            who: steps.iter().map(|step| step.who.len()).max().unwrap_or(0),
        }
    }

    pub fn rows(&self, out: &mut Painter, indent: usize, steps: &[StoryStep]) {
        let Self { precision, time, who } = *self;
        for step in steps {
            let (at, name) = (moment(step.time, precision), &step.who);
            let head = format!("{:indent$}{at:>time$}  {name:who$}  ", "");
            let width = head.chars().count();
            out.hanging(head.trim_end(), Ink::Plain, width, &step.what);
        }
    }
}
