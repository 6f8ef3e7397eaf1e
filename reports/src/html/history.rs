//! The page about a history of any origin that was held against a model.

use super::order::picture;
use super::sections::{class, sign};
use super::{PageScript, document};
use crate::history::{Drawn, End, OperationRole, PictureKey, PictureView, Sheet};
use crate::interpretation;
use crate::units::{count, counted, glued};
use base::{Kind, Outcome};
use maud::{Markup, html};

/// The report of a history as an HTML file.
pub fn history(sheet: &Sheet) -> String {
    let outcome = sheet.decided.outcome;
    let title = format!(
        "{}: {} against {}",
        interpretation::word(outcome),
        sheet.file,
        sheet.decided.model
    );
    document(&title, &content(sheet), PageScript::History)
}

fn content(sheet: &Sheet) -> Markup {
    html! {
        (banner(sheet))
        (why(sheet))
        @for (place, key) in sheet.keys.iter().enumerate() {
            (section(key, place, sheet.keys.len() > 1 || sheet.left_out > 0))
        }
        @if sheet.left_out > 0 {
            section { p class="hint" {
                (counted(sheet.left_out, "more key is", "more keys are")) " not drawn. Keys that go \
                wrong come first."
            } }
        }
        (reading_aid(sheet))
        (made_by(sheet))
    }
}

fn banner(sheet: &Sheet) -> Markup {
    let decided = &sheet.decided;
    html! {
        header class=(format!("banner {}", class(decided.outcome))) {
            p class="what" { "picklock " (sheet.version) }
            h1 { (sign(decided.outcome)) " " (capital(interpretation::word(decided.outcome))) }
            p class="title" { (sheet.file) " against the model " (decided.model) }
            p { (glued(&decided.summary)) }
            @for note in &decided.notes { p class="note" { "Note: " (glued(note)) } }
        }
    }
}

/// Explains in words what goes wrong.
fn why(sheet: &Sheet) -> Markup {
    html! {
        @if sheet.decided.outcome == Outcome::Violated {
            section class="anomaly" id="why" {
                h2 { "What cannot be ordered" }
                @for paragraph in &sheet.decided.why { p { (capital(&glued(paragraph))) } }
            }
        }
    }
}

/// Tells how far the order of a key goes.
fn reach(key: &PictureKey) -> String {
    let ordered = counted(key.ordered, "operation", "operations");
    match key.end {
        End::Whole => format!("Here is an order of {ordered} in which the model allows each."),
        End::Stuck { reached: true, .. } if key.ordered == 0 => {
            "Nothing that was answered before stands in its way.".into()
        }
        End::Stuck { reached: true, .. } => format!(
            "Everything that was answered before can be ordered. Here is an order of {ordered}; \
             none goes on."
        ),
        End::Stuck { reached: false, .. } | End::Unknown { .. } if key.ordered == 0 => {
            "No order was found in the time that there is for a picture.".into()
        }
        End::Stuck { reached: false, .. } | End::Unknown { .. } => {
            format!("Here is an order of {ordered}; how it goes on was not found.")
        }
    }
}

fn section(key: &PictureKey, place: usize, named: bool) -> Markup {
    let name = match (&key.name, named) {
        (Some(name), _) => format!("Key {name}"),
        (None, true) => "No key".into(),
        (None, false) => "The order".into(),
    };
    let goes = match key.end {
        End::Stuck { .. } => "cannot be ordered",
        End::Whole => "can be ordered",
        End::Unknown { .. } => "not known",
    };
    let size = counted(key.operations, "operation", "operations");
    html! {
        section class="history" {
            @if place == 0 {
                h2 { (name) }
                (pictures(key))
            } @else {
                details {
                    summary { h2 { (name) ": " (size) ", " (goes) } }
                    (pictures(key))
                }
            }
        }
    }
}

fn pictures(key: &PictureKey) -> Markup {
    let more = key.wide.operations.len() > key.close.operations.len();
    html! {
        p class="meta" { (glued(&reach(key))) " " (capital(&drawn(key, &key.close))) " are drawn." }
        (picture(key, &key.close))
        (legend(&key.close, key))
        (table(key, &key.close))
        @if more {
            details class="more" {
                summary { "More of the history: " (drawn(key, &key.wide)) }
                (picture(key, &key.wide))
            }
        }
    }
}

/// Tells how much of a key a picture shows.
fn drawn(key: &PictureKey, view: &PictureView) -> String {
    let (shown, all) = (view.operations.len() as u64, key.operations);
    match shown == all {
        true => format!("all of its {}", counted(all, "operation", "operations")),
        false => format!("{} of its {} operations", count(shown), count(all)),
    }
}

fn legend(view: &PictureView, key: &PictureKey) -> Markup {
    let any = |test: fn(&Drawn) -> bool| view.operations.iter().any(test);
    html! {
        p class="legend" {
            @if any(|drawn| drawn.point.is_some()) { span { i class="k number" { "1" } "takes effect, in this order" } }
            @if any(|drawn| drawn.ended == Kind::Ok) { span { i class="k opok" {} "answered" } }
            @if any(|drawn| drawn.ended == Kind::Info) { span { i class="k opinfo" {} "outcome unknown: at any time after its begin, or never" } }
            @if any(|drawn| drawn.ended == Kind::Fail) { span { i class="k opfail" {} "failed: left out" } }
            @if any(|drawn| drawn.role == OperationRole::Stuck) { span { i class="k opstuck" { "✗" } "can be put nowhere" } }
            @if any(|drawn| drawn.role == OperationRole::Beside) { span { i class="k opbeside" {} "stands beside it" } }
            @if !view.skipped.is_empty() { span { i class="k skipped" { "+9" } "so many are left out" } }
            @if any(|drawn| drawn.point.is_none() && drawn.role == OperationRole::Plain) && key.end != End::Whole {
                span { i class="k oplater" {} "not on the order yet" }
            }
        }
    }
}

/// The operations of a picture in the order that was found, and what they lead to.
fn table(key: &PictureKey, view: &PictureView) -> Markup {
    let mut rows: Vec<&Drawn> = view.operations.iter().collect();
    rows.sort_by_key(|drawn| (number(drawn), drawn.role != OperationRole::Stuck, drawn.invoke));
    html! {
        table class="events orders" {
            thead { tr { th scope="col" { "#" } th scope="col" { "operation" } th scope="col" { "then" } } }
            tbody {
                @for drawn in rows {
                    tr class=[(drawn.role == OperationRole::Stuck).then_some("wrong")] {
                        td {
                            @match &drawn.point {
                                Some(point) => span class="number long" { (count(point.number)) },
                                None if drawn.role == OperationRole::Stuck => span class="cross" { "✗" },
                                None => "–",
                            }
                        }
                        td { (capital(&glued(&drawn.text))) }
                        td { (outcome(key, drawn)) }
                    }
                }
            }
        }
    }
}

fn number(drawn: &Drawn) -> u64 {
    drawn.point.as_ref().map_or(u64::MAX, |point| point.number)
}

/// Returns the table's text about an operation.
fn outcome(key: &PictureKey, drawn: &Drawn) -> String {
    match drawn.point.as_ref().and_then(|point| point.state.as_ref()) {
        Some(state) => capital(state),
        None => place(key, drawn),
    }
}

/// Tells where an operation is on the order, as a sentence.
pub(super) fn place(key: &PictureKey, drawn: &Drawn) -> String {
    match (&drawn.point, drawn.role, drawn.ended) {
        (Some(point), ..) => format!("Number {} of the order.", count(point.number)),
        (None, OperationRole::Stuck, _) => "It can be put nowhere.".into(),
        (None, _, Kind::Fail) => "It failed and is left out.".into(),
        (None, ..) if key.end == End::Whole => "It need not have happened.".into(),
        (None, _, Kind::Info) => "It need not have happened by then.".into(),
        (None, ..) => "It is not on the order yet.".into(),
    }
}

fn reading_aid(sheet: &Sheet) -> Markup {
    html! {
        section id="reading" {
            h2 { "How to read this" }
            p {
                "A lane is a process, a bar an operation from its call to its answer. The file keeps \
                to the model if there is an order of all operations in which each takes effect at \
                one moment within its bar and does what the model allows. The model "
                (sheet.decided.model) ": " (sheet.about) ". The numbers are such an order, as far as \
                there is one. An operation that failed did not happen; one of unknown outcome happens at any moment after its \
                begin, or never."
            }
            p class="hint" {
                "Distances show what comes before what, not how long it took. Point at a bar to \
                read all of it; the table says the same."
            }
        }
    }
}

fn made_by(sheet: &Sheet) -> Markup {
    html! {
        section id="again" {
            h2 { "Make it again" }
            div class="command" { code { (sheet.command) } }
        }
    }
}

/// The text with a capital first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
