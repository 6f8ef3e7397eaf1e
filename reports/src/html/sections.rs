//! The parts of the page that are text and tables.

use super::witness;
use crate::ReportSubject;
use crate::facts::{AcquireOutcome, FaultTimes, percentile};
use crate::interpretation::{self, Surprise, breaches, sentence, surprise};
use crate::steps::steps;
use crate::units::{Precision, count, counted, duration, glued, moment, rate, span, times};
use base::{Event, Family, Measure, Mode, Outcome, Stall, Verdict, phrases};
use maud::{Markup, html};

pub(super) fn banner(subject: &ReportSubject<'_>) -> Markup {
    let ReportSubject { run, facts, verdicts, outcome, .. } = subject;
    let breaches = breaches(&run.info, verdicts);
    let word = match surprise(*outcome, &breaches) {
        Surprise::Expected => "Violated, as expected",
        Surprise::Unexpected => "Violated",
        Surprise::None => match outcome {
            Outcome::Held => "Held",
            Outcome::Inconclusive => "Inconclusive",
            _ => "Nothing to check",
        },
    };
    let last = interpretation::last_word(&run.info, verdicts, *outcome);
    html! {
        header class=(format!("banner {}", class(*outcome))) {
            p class="what" { "picklock " (subject.context.version) }
            h1 { (sign(*outcome)) " " (word) }
            p class="title" { (interpretation::title(&run.info)) }
            @if !last.is_empty() { p { (glued(&sentence(&last))) } }
            @for note in interpretation::notes(run, facts) {
                p class="note" { (glued(&note)) }
            }
        }
    }
}

pub(super) fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "held",
        Outcome::Violated => "violated",
        Outcome::Inconclusive => "inconclusive",
        Outcome::NotApplicable => "na",
        Outcome::Measured => "measured",
    }
}

pub(super) fn sign(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "✓",
        Outcome::Violated => "✗",
        Outcome::Inconclusive => "?",
        Outcome::NotApplicable => "–",
        Outcome::Measured => "·",
    }
}

pub(super) fn properties(subject: &ReportSubject<'_>) -> Markup {
    let groups = interpretation::grouped(subject.verdicts);
    html! {
        section id="properties" {
            h2 { "Properties" }
            @if subject.verdicts.is_empty() { p { "No property was checked." } }
            (verdicts(&groups.detailed))
            (group("not tested by this run", &groups.untested))
            (group("not applicable to this lock", &groups.not_applicable))
            (measures(subject.verdicts))
        }
    }
}

fn verdicts(verdicts: &[&Verdict]) -> Markup {
    html! {
        table class="properties" {
            @for verdict in verdicts {
                tr class=(class(verdict.outcome)) {
                    th scope="row" { (verdict.property) }
                    td class="outcome" {
                        span class="chip" {
                            (sign(verdict.outcome)) " " (interpretation::word(verdict.outcome))
                        }
                    }
                    td { (glued(&verdict.summary)) }
                }
            }
        }
    }
}

/// Verdicts of which their names are enough, until somebody asks.
fn group(what: &str, group: &[&Verdict]) -> Markup {
    html! {
        @if !group.is_empty() {
            details class="group" {
                summary { (group.len()) " " (what) ": " (interpretation::properties(group)) }
                (verdicts(group))
            }
        }
    }
}

/// The numbers that checkers measured, whatever they decided.
fn measures(verdicts: &[Verdict]) -> Markup {
    let measured: Vec<&Verdict> = verdicts.iter().filter(|v| !v.measures.is_empty()).collect();
    html! {
        @if !measured.is_empty() {
            details class="group" {
                summary { "Measured: " (interpretation::properties(&measured)) }
                dl class="tiles" {
                    @for verdict in measured {
                        @for measure in &verdict.measures {
                            div {
                                dt { (verdict.property) ": " (measure.name) }
                                dd { (amount(measure)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn amount(measure: &Measure) -> String {
    match measure.unit.as_str() {
        "ns" => span(measure.value),
        "mHz" => rate(measure.value, 1_000_000_000_000),
        "" => count(measure.value),
        unit => format!("{} {unit}", count(measure.value)),
    }
}

pub(super) fn anomalies(subject: &ReportSubject<'_>) -> Markup {
    let breaches = breaches(&subject.run.info, subject.verdicts);
    html! {
        @for (breach, expectation) in breaches.iter().zip(interpretation::expectations(&breaches)) {
            section class="anomaly" {
                h2 { "✗ " (breach.anomaly.name) }
                p class="meta" {
                    "seen " (times(breach.anomaly.count)) " · breaks " (breach.property)
                    @if let Some((from, until)) = extent(subject, &breach.anomaly.witness) {
                        " · " a href=(format!("#t={from}s,{until}s")) { "show on the timeline" }
                    }
                }
                p { (glued(&sentence(&breach.anomaly.explanation))) }
                (witness::draw(subject, &breach.anomaly.witness))
                (events(subject, &breach.anomaly.witness))
                p class="expectation" { b { (expectation.0) } " " (glued(&expectation.1)) }
            }
        }
    }
}

/// The interval of a witness in seconds, with a margin, for a link.
fn extent(subject: &ReportSubject<'_>, witness: &[u64]) -> Option<(f64, f64)> {
    let events = witness.iter().filter_map(|i| subject.run.history.get(*i));
    let times: Vec<u64> = events.map(|e| e.time_ns).collect();
    let (from, until) = (times.iter().min()?, times.iter().max()?);
    let margin = ((until - from) / 4).max(10_000_000);
    let seconds = |nanos: u64| (nanos / 1_000) as f64 / 1e6;
    Some((seconds(from.saturating_sub(margin)), seconds(until.saturating_add(margin))))
}

fn events(subject: &ReportSubject<'_>, witness: &[u64]) -> Markup {
    let events: Vec<&Event> = witness.iter().filter_map(|i| subject.run.history.get(*i)).collect();
    let steps = steps(&subject.run.info, &subject.facts, &events);
    let clock: Vec<u64> = steps.iter().map(|step| step.time).collect();
    let precision = Precision::for_times(&clock);
    html! {
        @if !steps.is_empty() {
            table class="events" {
                @for step in &steps {
                    tr {
                        td { @match step.number {
                            Some(number) => span class="number" { (number) },
                            None => i class="k leaseend" {},
                        } }
                        td class="time" { (moment(step.time, precision)) }
                        td class="who" { (step.who) }
                        td { (glued(&step.what)) }
                    }
                }
            }
        }
    }
}

pub(super) fn settings(subject: &ReportSubject<'_>) -> Markup {
    let info = &subject.run.info;
    let mut pairs = vec![
        ("lock", info.lock.name.to_string()),
        ("nemesis", info.run.nemesis.clone()),
        ("backend", info.backend.clone()),
        ("seed", info.run.seed.to_string()),
        ("task", info.run.task.clone()),
        ("clients", info.run.clients.to_string()),
        ("workers in each", info.workers.to_string()),
        ("topology", info.topology().to_owned()),
        ("servers", info.servers.to_string()),
        ("keys", info.run.keys.to_string()),
        ("ttl", span(info.run.ttl_ns)),
        (
            if info.run.nemesis == "none" { "ran for" } else { "faults for" },
            span(info.run.time_limit_ns),
        ),
        ("then quiet for", span(info.quiet_ns)),
        ("link delay", span(info.run.link_delay_ns)),
        ("acquire timeout", span(info.acquire_timeout_ns)),
    ];
    if let Some(elapsed) = subject.context.elapsed {
        pairs.push(("took", duration(elapsed)));
    }
    html! {
        section id="settings" {
            h2 { "Run it again" }
            div class="command" {
                code id="command" { (info.command) }
                button type="button" id="copy" { "Copy" }
            }
            dl class="tiles" {
                @for (name, value) in &pairs { div { dt { (name) } dd { (value) } } }
            }
        }
    }
}

/// Returns the legend of the timeline's colours, as far as this run shows them.
pub(super) fn timeline_legend(subject: &ReportSubject<'_>) -> Markup {
    let facts = &subject.facts;
    let waits = |answer| facts.waits.iter().any(|w| w.answer == answer);
    let holds = |mode| facts.holds.iter().any(|h| h.mode == mode);
    let seen = |family| facts.faults.iter().any(|f| f.fault.family() == family);
    let entries = [
        (waits(AcquireOutcome::Granted) || waits(AcquireOutcome::Open), "wait", "waits"),
        (waits(AcquireOutcome::Failed), "waitfail", "waits in vain"),
        (waits(AcquireOutcome::Unknown), "waitinfo", "waits, outcome unknown"),
        (holds(Mode::Exclusive), "hold", "holds"),
        (holds(Mode::Shared), "shared", "holds, shared"),
        (facts.holds.iter().any(|h| h.ran_out.is_some()), "unleased", "still believes it holds"),
        (!facts.overlaps().is_empty(), "overlap", "holds in conflict"),
    ];
    let faults = Family::ALL.iter().map(|f| (seen(*f), f.name(), f.legend()));
    let quiet = (facts.quiet.is_some(), "quiet", "quiet phase");
    let stalled = (!facts.stalls.is_empty(), "stall", "not run by the machine");
    let entries = entries.into_iter().chain(faults).chain([stalled, quiet]);
    html! {
        p class="legend" {
            @for (seen, class, name) in entries {
                @if seen { span { i class=(format!("k {class}")) {} (name) } }
            }
        }
    }
}

pub(super) fn faults(subject: &ReportSubject<'_>) -> Markup {
    let faults = &subject.facts.faults;
    html! {
        section id="faults" {
            h2 { "Faults" }
            @if faults.is_empty() {
                p { "None were injected." }
            } @else {
                div class="scroll" {
                    table class="faults" {
                        thead { tr {
                            th { "from" } th { "to" } th { "lasted" } th { "kind" } th { "what" }
                            th { "measured effect" }
                        } }
                        tbody { @for fault in faults { (fault_row(fault)) } }
                    }
                }
            }
            @if !subject.facts.stalls.is_empty() { (stalls(&subject.facts.stalls)) }
        }
    }
}

/// The stalls of the machine: how many there were, and the longest of them.
fn stalls(stalls: &[(Stall, u64)]) -> Markup {
    let number = counted(stalls.len() as u64, "stall", "stalls");
    let longest = stalls.iter().max_by_key(|(stall, _)| stall.lasted_ns);
    html! {
        p {
            "The machine had " (number) " of its own"
            @if let Some((stall, end)) = longest {
                ", the longest of " (span(stall.lasted_ns)) ", for which it did not run "
                (stall.waited()) ", until " (moment(*end, Precision::Millis))
            }
            "."
        }
    }
}

fn fault_row(fault: &FaultTimes) -> Markup {
    let (healed, family) = (fault.until, fault.fault.family().name());
    html! {
        tr {
            td class="time" { (moment(fault.from, Precision::Millis)) }
            td class="time" {
                (healed.map_or("never healed".into(), |at| moment(at, Precision::Millis)))
            }
            td class="time" { (healed.map_or("–".into(), |at| span(at - fault.from))) }
            td { i class=(format!("k {family}")) {} (family) }
            td { (fault.fault) }
            @match &fault.effect {
                Some(effect) if effect.amount > 0 => td { (phrases::measured(effect)) },
                Some(effect) => td class="none" { (phrases::measured(effect)) },
                None => td class="none" { "not measured" },
            }
        }
    }
}

pub(super) fn numbers(subject: &ReportSubject<'_>) -> Markup {
    let facts = &subject.facts;
    let answered = |answer| count(facts.answered(answer));
    let latencies = facts.latencies();
    let within = |percent| percentile(&latencies, percent).map_or("–".into(), span);
    let pairs = [
        ("grants", answered(AcquireOutcome::Granted)),
        ("grant rate", facts.grant_rate().unwrap_or("–".into())),
        ("failed acquires", answered(AcquireOutcome::Failed)),
        ("unknown acquires", answered(AcquireOutcome::Unknown)),
        ("median to acquire", within(50)),
        ("99 % acquire within", within(99)),
        ("faults", count(facts.faults.len() as u64)),
        ("faults with an effect", count(facts.effective_faults())),
        ("processes", count(facts.births.len() as u64)),
        ("events", count(subject.run.history.events().len() as u64)),
    ];
    html! {
        section id="numbers" {
            h2 { "Numbers" }
            dl class="tiles" {
                @for (name, value) in &pairs { div { dt { (name) } dd { (value) } } }
            }
            @for verdict in subject.verdicts.iter().filter(|v| v.property == "coverage") {
                p { b { "Coverage: " } (glued(&verdict.summary)) }
            }
        }
    }
}

pub(super) fn files(subject: &ReportSubject<'_>) -> Markup {
    let events = subject.run.history.events().len() as u64;
    let history = counted(events, "event", "events");
    let files = [
        ("history.jsonl", format!("{history}, a line each")),
        ("run.json", "the settings".into()),
        ("verdict.json", "the verdicts with all their witnesses".into()),
    ];
    html! {
        section id="files" {
            h2 { "Raw files" }
            ul {
                @for (name, what) in &files { li { a href=(name) { (name) } ": " (what) } }
            }
            @if !subject.context.folder.is_empty() {
                p class="hint" { "Beside this page, in " code { (subject.context.folder) } "." }
            }
        }
    }
}
