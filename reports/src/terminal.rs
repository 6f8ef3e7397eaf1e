//! The summary for the terminal: what was run, which promise was kept and which broken, the witness
//! in words and as a picture, the numbers, and the command to run it again.

mod decision;
mod fit;
mod lanes;
mod paint;
mod story;

use crate::facts::AcquireOutcome;
use crate::interpretation::{
    Breach, Surprise, breaches, expectations, grouped, last_word, notes, properties, sentence,
    surprise, title, word,
};
use crate::picture::{PictureLimits, picture};
use crate::steps::{StoryStep, steps};
use crate::units::{count, counted, duration, span, times};
use crate::{Context, ReportSubject};
use base::{Event, Outcome, Run, Verdict, phrases};
use paint::{Ink, Painter};
use story::{Columns, rows};

pub use decision::{Decided, decision};
pub use fit::{fitted, table};
pub use story::story;

/// The longest line of prose, in columns: longer ones are hard to read.
const PROSE: usize = 100;
/// The most events that are shown: more are cut in the middle, and the page shows them all.
const EVENTS: usize = 14;
/// The lanes and bands that can be read at a glance.
const LIMITS: PictureLimits = PictureLimits { lanes: 4, bands: 3 };

/// The capabilities of the reader's terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// True if ANSI colours may be used.
    pub colour: bool,
    /// True if signs and bars beyond ASCII may be used.
    pub unicode: bool,
    /// The number of columns.
    pub width: usize,
    /// The text goes into a pipe or a file: the last line stays in one piece, so that a search
    /// finds all of it.
    pub piped: bool,
}

/// The summary of a run. Ends with a line break.
pub fn summary(
    run: &Run,
    verdicts: &[Verdict],
    outcome: Outcome,
    context: &Context,
    style: Style,
) -> String {
    let subject = ReportSubject::new(run, verdicts, outcome, context);
    let mut page = Page { out: Painter::new(style), subject: &subject };
    page.headline();
    page.properties();
    let breaches = breaches(&run.info, verdicts);
    for (breach, expectation) in breaches.iter().zip(expectations(&breaches)) {
        page.breach(breach, &expectation);
    }
    page.notes();
    page.numbers();
    page.places();
    page.last_line();
    page.out.finish()
}

/// Its last line alone.
pub fn last_line(
    run: &Run,
    verdicts: &[Verdict],
    outcome: Outcome,
    context: &Context,
    style: Style,
) -> String {
    let subject = ReportSubject::new(run, verdicts, outcome, context);
    let mut page = Page { out: Painter::new(style), subject: &subject };
    page.last_line();
    page.out.finish()
}

struct Page<'a> {
    out: Painter,
    subject: &'a ReportSubject<'a>,
}

impl Page<'_> {
    fn headline(&mut self) {
        let info = &self.subject.run.info;
        let version = &self.subject.context.version;
        self.out.heading(&format!("picklock {version}: {}", title(info)));
        let faults = if info.run.nemesis == "none" { "" } else { " of faults" };
        let mut settings = vec![
            counted(info.run.clients.into(), "client", "clients"),
            counted(info.servers.into(), "server", "servers"),
            format!("ttl {}", span(info.run.ttl_ns)),
            format!("{}{faults} + {} quiet", span(info.run.time_limit_ns), span(info.quiet_ns)),
            format!("seed {}", info.run.seed),
        ];
        if let Some(elapsed) = self.subject.context.elapsed {
            settings.push(format!("took {}", duration(elapsed)));
        }
        self.out.line(&settings.join(", "));
        self.out.blank();
    }

    fn properties(&mut self) {
        let verdicts = self.subject.verdicts;
        let groups = grouped(verdicts);
        let name = groups.detailed.iter().map(|v| v.property.chars().count()).max().unwrap_or(0);
        let answer = groups.detailed.iter().map(|v| word(v.outcome).len()).max().unwrap_or(0);
        for verdict in groups.detailed {
            let (sign, ink) = self.out.sign(verdict.outcome);
            let property = format!("{:name$}", self.out.plain(&verdict.property));
            let outcome = format!("{:answer$}", word(verdict.outcome));
            let head = format!("{sign} {property}  {outcome}");
            let indent = head.chars().count() + 2;
            self.out.hanging(&head, ink, indent, &verdict.summary);
        }
        self.group(Outcome::Inconclusive, "not tested by this run:", &groups.untested);
        self.group(Outcome::NotApplicable, "not applicable:", &groups.not_applicable);
        if verdicts.is_empty() {
            self.out.line("No property was checked.");
        }
        self.out.blank();
    }

    fn group(&mut self, outcome: Outcome, what: &str, verdicts: &[&Verdict]) {
        if !verdicts.is_empty() {
            let (sign, ink) = self.out.sign(outcome);
            let names = self.out.plain(&properties(verdicts));
            let head = format!("{sign} {what}");
            let indent = head.chars().count() + 1;
            self.out.hanging(&head, ink, indent, &names);
        }
    }

    fn breach(&mut self, breach: &Breach<'_>, (expected, why): &(&str, String)) {
        let anomaly = breach.anomaly;
        let (sign, ink) = self.out.sign(Outcome::Violated);
        let title =
            format!("{sign} {}, seen {} ({})", anomaly.name, times(anomaly.count), breach.property);
        self.out.inked_line(ink, &title);
        self.out.wrapped(2, &sentence(&anomaly.explanation));
        self.witness(&anomaly.witness);
        self.out.wrapped(2, &format!("{expected} {why}"));
        self.out.blank();
    }

    fn witness(&mut self, witness: &[u64]) {
        let run = self.subject.run;
        let events: Vec<&Event> = witness.iter().filter_map(|i| run.history.get(*i)).collect();
        if events.is_empty() {
            return;
        }
        self.out.blank();
        self.events(&events);
        if let Some(picture) = picture(run, &self.subject.facts, witness, LIMITS) {
            self.out.blank();
            lanes::draw(&mut self.out, &picture);
        }
        self.out.blank();
    }

    fn events(&mut self, events: &[&Event]) {
        let steps = steps(&self.subject.run.info, &self.subject.facts, events);
        if steps.len() <= EVENTS {
            return rows(&mut self.out, 4, &steps);
        }
        let (first, last) = (EVENTS / 2, steps.len() - EVENTS / 2 + 1);
        let shown: Vec<StoryStep> = [&steps[..first], &steps[last..]].concat();
        let columns = Columns::of(&shown);
        columns.rows(&mut self.out, 4, &shown[..first]);
        self.cut_events((last - first) as u64);
        columns.rows(&mut self.out, 4, &shown[first..]);
    }

    fn cut_events(&mut self, n: u64) {
        let more = counted(n, "more event", "more events");
        let dots = self.out.plain("…");
        self.out.line(&format!("    {dots} {more}, all of them in the report"));
    }

    fn notes(&mut self) {
        let ReportSubject { run, facts, .. } = self.subject;
        let notes = notes(run, facts);
        for note in &notes {
            self.out.wrapped(0, note);
        }
        if !notes.is_empty() {
            self.out.blank();
        }
    }

    fn numbers(&mut self) {
        let facts = &self.subject.facts;
        let (failed, unknown) =
            (facts.answered(AcquireOutcome::Failed), facts.answered(AcquireOutcome::Unknown));
        let others = format!("{} failed, {} of unknown outcome", count(failed), count(unknown));
        self.out.field("other acquires", &others);
        self.out.field("faults", &self.faults());
    }

    fn faults(&self) -> String {
        let facts = &self.subject.facts;
        let all = facts.faults.len() as u64;
        if all == 0 {
            return "none".into();
        }
        let effective = facts.effective_faults();
        let text = format!("{}, {} with a measured effect", count(all), count(effective));
        match facts.faults.iter().filter_map(|f| f.effect.as_ref()).find(|e| e.amount > 0) {
            Some(example) => format!("{text} (the first: {})", phrases::measured(example)),
            None => text,
        }
    }

    fn places(&mut self) {
        let context = self.subject.context;
        if !context.folder.is_empty() {
            let folder = context.folder.trim_end_matches('/');
            self.out.copied("history", &format!("{folder}/history.jsonl"));
            self.out.copied("report", &format!("{folder}/report.html"));
        }
        self.out.copied("run it again", &self.subject.run.info.command);
        self.out.blank();
    }

    fn last_line(&mut self) {
        let ReportSubject { run, verdicts, outcome, .. } = self.subject;
        let (_, ink) = self.out.sign(*outcome);
        let head = word(*outcome).to_uppercase();
        let rest = last_word(&run.info, verdicts, *outcome);
        let breaches = breaches(&run.info, verdicts);
        let ink = match surprise(*outcome, &breaches) {
            Surprise::Expected => Ink::Warn,
            _ => ink,
        };
        match (rest.is_empty(), *outcome) {
            (true, _) => self.out.inked_line(ink, &head),
            (_, Outcome::Held) => self.out.verdict(ink, &head, &format!(", {rest}")),
            _ => self.out.verdict(ink, &head, &format!(": {rest}")),
        }
    }
}
