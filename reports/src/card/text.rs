//! The card as text: for a terminal, and as Markdown.

use super::{Card, CardRow};
use crate::terminal::{Style, fitted};
use crate::units::span;
use base::{Outcome, visible};
use std::fmt::Write as _;
use std::ops::Range;

/// The heads of the columns behind the properties.
const COSTS: [&str; 3] = ["runs", "grants/s", "after a death"];

/// The sign of an outcome.
fn sign(outcome: Option<Outcome>, unicode: bool) -> &'static str {
    match (outcome, unicode) {
        (Some(Outcome::Held), true) => "✓",
        (Some(Outcome::Violated), true) => "✗",
        (Some(Outcome::Held), false) => "ok",
        (Some(Outcome::Violated), false) => "NO",
        (Some(Outcome::Inconclusive), _) => "?",
        (_, true) => "·",
        (_, false) => ".",
    }
}

/// Returns the cells of a row, each a sign, and its costs.
pub(super) fn cells(card: &Card, row: &CardRow, unicode: bool) -> Vec<String> {
    let of = |property: &&str| {
        row.cells.iter().find(|cell| cell.property == *property).map(|cell| cell.outcome)
    };
    let signs = card.properties().into_iter().map(|it| sign(of(&it), unicode).to_owned());
    let grants = format!("{:.1}", row.grants_mhz as f64 / 1_000.0);
    let death = row.after_death_ns.map_or("".into(), span);
    signs.chain([row.runs.to_string(), grants, death]).collect()
}

/// Returns the heads of the columns.
pub(super) fn heads(card: &Card) -> Vec<&str> {
    card.properties().into_iter().chain(COSTS).collect()
}

/// Returns the card for a terminal.
pub fn terminal(card: &Card, style: Style) -> String {
    let head = format!("{}: {}\non {}, ttl ", card.lock, visible(&card.summary), card.on);
    let mut text = fitted(&(head + &span(card.ttl_ns)), style) + "\n";
    let tables = parts(card, style.width).into_iter().map(|part| part_of_table(card, style, part));
    let tables: Vec<String> = tables.map(|lines| lines.join("\n") + "\n").collect();
    text += &tables.join("\n");
    for (head, items) in card.words() {
        let _ = write!(text, "\n{}", fitted(&listed(head, &items, "  - "), style));
    }
    text
}

/// Returns the worst that was seen, and under which faults, in a line.
pub fn last_line(card: &Card, style: Style) -> String {
    let (outcome, head) = match card.outcome() {
        Outcome::Violated => (Outcome::Violated, "VIOLATED, not safe against"),
        Outcome::Inconclusive => (Outcome::Inconclusive, "INCONCLUSIVE, could not tell"),
        _ => (Outcome::Held, "HELD, safe against"),
    };
    let of = card.rows.iter().filter(|row| row.outcome() == outcome);
    let faults: Vec<&str> = of.map(CardRow::faults).collect();
    fitted(&format!("{head}: {}", faults.join(", ")), style)
}

/// Returns a head with its items: a single one on the same line, else each on a line of its own.
fn listed(head: &str, items: &[String], mark: &str) -> String {
    match items {
        [only] => format!("{head}: {only}"),
        items => {
            let items: String = items.iter().map(|item| format!("\n{mark}{item}")).collect();
            format!("{head}:{items}")
        }
    }
}

/// Returns the table of a card, line by line, with as many of its columns as there is room for.
pub fn table(card: &Card, style: Style, columns: usize) -> Vec<String> {
    part_of_table(card, style, 0..room(card, &heads(card), columns))
}

/// Returns the parts of the columns for which there is room beside the faults; a column that is
/// too wide is a part of its own.
fn parts(card: &Card, columns: usize) -> Vec<Range<usize>> {
    let (heads, mut parts, mut from) = (heads(card), Vec::new(), 0);
    while from < heads.len() {
        let until = from + room(card, &heads[from..], columns).max(1);
        parts.push(from..until);
        from = until;
    }
    parts
}

/// Returns the number of the first of these columns for which there is room beside the faults.
fn room(card: &Card, heads: &[&str], columns: usize) -> usize {
    let mut used = faults_width(card);
    let fits = |head: &&&str| {
        used += 2 + head.chars().count();
        used <= columns
    };
    heads.iter().take_while(fits).count()
}

fn faults_width(card: &Card) -> usize {
    card.rows.iter().map(|row| row.nemesis.len()).max().unwrap_or_default()
}

/// Returns the table with this part of its columns, line by line.
fn part_of_table(card: &Card, style: Style, part: Range<usize>) -> Vec<String> {
    let (name, heads) = (faults_width(card), &heads(card)[part.clone()]);
    let line = |first: &str, cells: &[String]| {
        let cell = |(head, cell): (&&str, &String)| {
            let width = head.chars().count();
            format!("  {}", coloured(&format!("{cell:^width$}"), style))
        };
        let cells: String = heads.iter().zip(cells).map(cell).collect();
        format!("{first:name$}{cells}").trim_end().to_owned()
    };
    let titles: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let rows = card.rows.iter().map(|row| {
        let cells = cells(card, row, style.unicode);
        line(&row.nemesis, &cells[part.clone()])
    });
    std::iter::once(line("", &titles)).chain(rows).collect()
}

/// Colours a cell by its sign.
fn coloured(cell: &str, style: Style) -> String {
    let code = match cell.trim() {
        _ if !style.colour => return cell.into(),
        "✓" | "ok" => "32",
        "✗" | "NO" => "1;31",
        "?" => "33",
        _ => return cell.into(),
    };
    format!("\x1b[{code}m{cell}\x1b[0m")
}

/// Returns a text as it can stand in a cell of Markdown: no mark-up, no link and no picture.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '|' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Returns the card as Markdown.
pub fn markdown(card: &Card) -> String {
    let heads = heads(card);
    let mut text = format!("### {}: {}\n\n", card.lock, escaped(&card.summary));
    let _ = writeln!(text, "On {}, ttl {}. `{}`\n", card.on, span(card.ttl_ns), card.command);
    let _ = writeln!(text, "| faults | {} |", heads.join(" | "));
    let _ = writeln!(text, "| --- |{}", " --- |".repeat(heads.len()));
    for row in &card.rows {
        let _ = writeln!(text, "| {} | {} |", row.nemesis, cells(card, row, true).join(" | "));
    }
    for (head, items) in card.words() {
        let items: Vec<String> = items.iter().map(|item| escaped(item)).collect();
        let _ = writeln!(text, "\n{}", listed(&format!("**{head}**"), &items, "- "));
    }
    text
}
