//! The card as a page.

use super::text::{cells, heads};
use super::{Card, CardCell, CardRow};
use crate::html::still;
use crate::units::span;
use base::{Outcome, visible};
use maud::{Markup, html};

/// Returns the card as an HTML file that loads nothing.
pub fn page(card: &Card) -> String {
    let title = format!("The report card of {}", card.lock);
    still(&title, &content(card))
}

fn content(card: &Card) -> Markup {
    html! {
        header.banner.(class(card.outcome())) {
            p.what { "picklock: the report card of a lock" }
            h1 { (card.lock) }
            p.title { (visible(&card.summary)) }
            p.note { "On " (card.on) ", ttl " (span(card.ttl_ns)) ", made in " (span(card.took_ns)) "." }
        }
        section {
            @for (head, items) in card.words() { (words(head, &items)) }
        }
        section {
            h2 { "Faults and properties" }
            (table(card))
            p.hint { "✓ kept, ✗ broken, ? this could not be told, · not promised." }
        }
        @for row in card.rows.iter().filter(|row| row.outcome() == Outcome::Violated) { (broken(row)) }
        section {
            h2 { "Again" }
            p { code { (visible(&card.command)) } }
        }
    }
}

/// The lines under a head, as a list if there is more than one item.
fn words(head: &str, items: &[String]) -> Markup {
    html! {
        @match items {
            [only] => p { b { (head) ": " } (visible(only)) },
            items => {
                p { b { (head) ":" } }
                ul { @for item in items { li { (visible(item)) } } }
            }
        }
    }
}

fn table(card: &Card) -> Markup {
    html! {
        table {
            thead { tr { th { "faults" } @for head in heads(card) { th { (head) } } } }
            tbody {
                @for row in &card.rows {
                    tr {
                        th title=(row.about) {
                            @if row.outcome() == Outcome::Violated { a href={ "#" (row.nemesis) } { (row.nemesis) } }
                            @else { (row.nemesis) }
                        }
                        @for cell in cells(card, row, true) { td style=(colour(&cell)) { (cell) } }
                    }
                }
            }
        }
    }
}

/// The breaches under one kind of faults, each with its story.
fn broken(row: &CardRow) -> Markup {
    html! {
        section id=(row.nemesis) {
            h2 { (row.faults()) ", " (row.frequency()) }
            p.hint { (visible(&row.about)) }
            @for cell in &row.cells { (breaches(cell)) }
            p { code { (visible(&row.command)) } }
            @if let Some(report) = &row.report { p { "The run: " code { (visible(report)) } } }
        }
    }
}

fn breaches(cell: &CardCell) -> Markup {
    html! {
        @for breach in &cell.breaches {
            h3 { (cell.property) ": " (breach.name) @if breach.known { " (known)" } }
            p { (visible(&breach.story)) }
        }
    }
}

/// Returns the style of a cell, by its sign.
fn colour(cell: &str) -> &'static str {
    match cell {
        "✓" => "color: var(--held); font-weight: 600",
        "✗" => "color: var(--bad); font-weight: 600",
        "?" => "color: var(--info); font-weight: 600",
        _ => "",
    }
}

const fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "held",
        Outcome::Violated => "violated",
        _ => "inconclusive",
    }
}
