//! The page: one self-contained HTML file, for the light and the dark, for a phone and for a wide
//! screen. It loads nothing from anywhere.

mod data;
mod history;
mod order;
#[cfg_attr(not(feature = "plots"), path = "html/no_plots.rs")]
mod plots;
mod sections;
mod witness;

use crate::facts::AcquireOutcome;
use crate::{Context, ReportSubject};
use base::{Anomaly, Outcome, Run, Verdict, visible};
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use history::history;

const CSS: &str = concat!(
    include_str!("html/colours.css"),
    include_str!("html/witness.css"),
    include_str!("html/page.css"),
    include_str!("html/history.css")
);
/// The style of a picture that is a file of its own.
const PICTURE_CSS: &str =
    concat!(include_str!("html/colours.css"), include_str!("html/witness.css"));
/// One script in three files, in a scope of its own.
const JS: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("html/model.js"),
    include_str!("html/draw.js"),
    include_str!("html/steer.js"),
    "})();\n",
);

const HISTORY_JS: &str =
    concat!("(() => {\n'use strict';\n", include_str!("html/history.js"), "})();\n");

/// The script of a page.
enum PageScript {
    /// The timeline of a run, from its data.
    Run(String),
    /// The marking of what is pointed at in the pictures of a history.
    History,
    /// No script: there is nothing to point at.
    None,
}

/// The report of a run as an HTML file.
pub fn page(run: &Run, verdicts: &[Verdict], outcome: Outcome, context: &Context) -> String {
    let subject = ReportSubject::new(run, verdicts, outcome, context);
    let title = format!(
        "{}: {}",
        crate::interpretation::word(outcome),
        crate::interpretation::title(&run.info)
    );
    document(&title, &content(&subject), PageScript::Run(data::embed(&subject)))
}

/// Draws the witness of an anomaly as an SVG file; `None` when no client is part of it.
pub fn picture_file(run: &Run, anomaly: &Anomaly) -> Option<String> {
    let context = Context::default();
    let subject = ReportSubject::new(run, &[], Outcome::Violated, &context);
    witness::file(&subject, &anomaly.witness)
}

/// Makes a page of what is HTML already, and comes from picklock itself.
pub fn manual(title: &str, content: &str) -> String {
    still(title, &html! { section { (PreEscaped(content)) } })
}

/// A page without a script.
pub(crate) fn still(title: &str, content: &Markup) -> String {
    document(title, content, PageScript::None)
}

/// A page that needs nothing beside itself.
fn document(title: &str, content: &Markup, script: PageScript) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(CSS)) }
            }
            body {
                @match script {
                    PageScript::Run(data) => {
                        main { (content) }
                        script id="data" type="application/json" { (PreEscaped(data)) }
                        script { (PreEscaped(JS)) }
                    }
                    PageScript::History => {
                        main class="wide" { (content) }
                        script { (PreEscaped(HISTORY_JS)) }
                    }
                    PageScript::None => { main { (content) } }
                }
            }
        }
    }
    .into_string();
    // The data is shown by the script and is harmless already; line breaks are the page's own.
    page.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

fn content(subject: &ReportSubject<'_>) -> Markup {
    html! {
        (sections::banner(subject))
        (sections::properties(subject))
        (sections::anomalies(subject))
        (sections::settings(subject))
        (timeline(subject))
        (plot_section(subject))
        (sections::faults(subject))
        (sections::numbers(subject))
        (sections::files(subject))
    }
}

fn timeline(subject: &ReportSubject<'_>) -> Markup {
    html! {
        section id="timeline" {
            h2 { "Timeline" }
            noscript { p { "The timeline is drawn by a script, and scripts are off here. \
                Everything else on this page stands without one." } }
            div class="tools" {
                button type="button" data-do="out" title="Zoom out (−)" { "−" }
                button type="button" data-do="in" title="Zoom in (+)" { "+" }
                button type="button" data-do="reset" title="Show the whole run (0)" { "Whole run" }
                span id="breaches" {}
                span id="window" {}
            }
            div id="board" {
                canvas id="canvas" tabindex="0" role="img"
                    aria-label="Who waited for the lock and who held it, a lane a client" {}
                div id="tip" hidden {}
            }
            (sections::timeline_legend(subject))
            p class="hint" {
                "Wheel or pinch to zoom, drag to move, point at something to read it. Keys: "
                kbd { "←" } " " kbd { "→" } " move, " kbd { "+" } " " kbd { "−" } " zoom, "
                kbd { "0" } " whole run, " kbd { "v" } " next violation. The address keeps the \
                window, so it can be sent to others."
            }
        }
    }
}

fn plot_section(subject: &ReportSubject<'_>) -> Markup {
    let (latency, rate) = (plots::latency(subject), plots::rate(subject));
    html! {
        @if latency.is_some() || rate.is_some() {
            section id="plots" {
                h2 { "Over time" }
                @if let Some(svg) = latency {
                    h3 { "Time to acquire" }
                    (latency_legend(subject))
                    div class="scroll plot" { (PreEscaped(svg)) }
                }
                @if let Some(svg) = rate {
                    h3 { "Grants a second" }
                    div class="scroll plot" { (PreEscaped(svg)) }
                }
                p class="hint" { "Bands are faults, coloured as in the timeline; the last is the \
                    quiet phase." }
            }
        }
    }
}

fn latency_legend(subject: &ReportSubject<'_>) -> Markup {
    let seen = |answer| subject.facts.answered(answer) > 0;
    html! {
        p class="legend" {
            @if seen(AcquireOutcome::Granted) { span { i class="k dot" {} "granted (larger: more of them)" } }
            @if seen(AcquireOutcome::Unknown) { span { i class="k triangle" { "▲" } "outcome unknown" } }
            @if seen(AcquireOutcome::Failed) { span { i class="k cross" { "✕" } "failed" } }
        }
    }
}
