//! Plain lines made to fit a terminal.

use super::paint::{Ink, Painter};
use super::{Outcome, Style, word};

/// Lines as this terminal can show them: wrapped behind their indent, with hidden characters
/// written out. A command keeps its line: it is there to be copied. A last line that begins with a
/// verdict is coloured.
pub fn fitted(text: &str, style: Style) -> String {
    let mut out = Painter::new(style);
    for line in text.trim_end().lines() {
        let words = line.trim_start();
        let indent = line.chars().count() - words.chars().count();
        match verdict(words) {
            _ if words.is_empty() => out.blank(),
            Some((head, outcome)) => {
                let (_, ink) = out.sign(outcome);
                out.verdict(ink, head, &words[head.len()..]);
            }
            None if words.starts_with("picklock ") && indent > 0 => {
                let line = out.plain(line);
                out.raw(&line);
            }
            None => out.listed(indent, line),
        }
    }
    out.finish()
}

/// The verdict that a line begins with.
fn verdict(line: &str) -> Option<(&str, Outcome)> {
    let head = line.split(|c: char| !c.is_ascii_uppercase()).next().unwrap_or_default();
    let outcomes = [Outcome::Held, Outcome::Violated, Outcome::Inconclusive];
    let outcome = outcomes.into_iter().find(|outcome| word(*outcome).to_uppercase() == head)?;
    Some((head, outcome))
}

/// A table of names and what they are: `rows` behind an indent, each in its own column.
pub fn table(title: &str, rows: &[(&str, &str)], style: Style) -> String {
    let mut out = Painter::new(style);
    out.heading(title);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, what) in rows {
        out.hanging(&format!("  {name:width$}  "), Ink::Plain, width + 4, what);
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style { colour: false, unicode: true, width: 40, piped: false };

    #[test]
    fn lines_are_wrapped_behind_their_indent_and_commands_are_not() {
        let command = "    picklock replay 17 --algo redis-set-nx-px --nemesis pause\n";
        let text = "a lock\u{202e} under pause\n\n  a line that is too long for forty columns\n";
        let fits =
            "a lock\\u{202e} under pause\n\n  a line that is too long for forty\n    columns\n";
        assert_eq!(fitted(&format!("{text}{command}"), STYLE), format!("{fits}{command}"));
    }

    #[test]
    fn a_row_wraps_into_its_column() {
        let row = "  double hold  in 12 schedules, first by seed 0\n";
        let wraps = "  double hold  in 12 schedules, first by\n               seed 0\n";
        assert_eq!(fitted(row, STYLE), wraps);
    }

    #[test]
    fn a_verdict_is_coloured() {
        let colour = Style { colour: true, ..STYLE };
        assert_eq!(fitted("HELD: all\n", colour), "\x1b[32mHELD\x1b[0m: all\n");
        assert_eq!(fitted("HELDER\n", colour), "HELDER\n");
    }

    #[test]
    fn a_table_wraps_into_its_column() {
        let rows = [("a", "one"), ("long-name", "some words that take two lines")];
        let text = table("locks", &rows, STYLE);
        let wrapped = "  long-name  some words that take two\n             lines\n";
        assert_eq!(text, format!("locks\n  a          one\n{wrapped}"));
    }
}
