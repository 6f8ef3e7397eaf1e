//! The place of a mistake in a text, and the line in which it stands, with marks below it.

use std::ops::Range;

/// The place of a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of the column, from 1.
    pub column: usize,
    /// The line, with marks below what is wrong; empty where the line is.
    pub lines: Vec<String>,
}

impl Excerpt {
    /// The place of these bytes in a text.
    pub fn of(text: &str, at: Range<usize>) -> Self {
        let start = floor(text, at.start);
        let before = &text[..start];
        let line = before.matches('\n').count() + 1;
        let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        let whole = text[begin..].lines().next().unwrap_or_default();
        let marked = &text[start..floor(text, at.end.max(start))];
        let marked = marked.lines().next().unwrap_or_default().chars().count().max(1);
        let column = text[begin..start].chars().count() + 1;
        let margin = " ".repeat(line.to_string().len());
        let part = ShownPart::of(whole, column - 1, marked);
        let blank = " ".repeat(part.before);
        let shown = vec![
            format!("{margin} |"),
            format!("{line} | {}", part.text.replace('\t', " ")),
            format!("{margin} | {blank}{}", "^".repeat(part.marked)),
        ];
        Self { line, column, lines: if whole.is_empty() { Vec::new() } else { shown } }
    }
}

/// The most characters of a line that are shown.
const WIDEST: usize = 160;

/// The part of a line that is shown.
struct ShownPart {
    text: String,
    /// The number of its characters before what is marked.
    before: usize,
    /// The number of characters that are marked.
    marked: usize,
}

impl ShownPart {
    /// Returns the whole line; of a long one, what stands around the mark, which begins behind so
    /// many characters.
    fn of(line: &str, before: usize, marked: usize) -> Self {
        let length = line.chars().count();
        if length.max(before + marked) <= WIDEST {
            return Self { text: line.into(), before, marked };
        }
        let marked = marked.min(WIDEST / 2);
        let from = before.saturating_sub(WIDEST / 4);
        let text: String = line.chars().skip(from).take(WIDEST).collect();
        let (left, right) = (from > 0, from + WIDEST < length);
        let dots = |there: bool| if there { "…" } else { "" };
        let text = format!("{}{text}{}", dots(left), dots(right));
        Self { text, before: before - from + usize::from(left), marked }
    }
}

/// The places at which the lines of a text end, for a text of which many lines are asked for.
pub struct LineEnds(Vec<usize>);

impl LineEnds {
    /// Finds the lines of a text.
    pub fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The number of the line in which a byte stands, from 1.
    pub fn line_of(&self, at: usize) -> usize {
        self.0.partition_point(|end| *end < at) + 1
    }
}

/// The nearest place at or before a byte at which the text can be divided.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Excerpt;

    #[test]
    fn of_a_long_line_the_part_around_the_mistake_is_shown() {
        let line = format!("{}wrong{}", "a".repeat(5_000_000), "b".repeat(1_000));
        let excerpt = Excerpt::of(&line, 5_000_000..5_000_005);
        assert_eq!(excerpt.column, 5_000_001);
        let [_, text, marks] = &excerpt.lines[..] else { panic!("three lines") };
        assert!(text.contains("aaawrongbbb") && text.chars().count() < 200, "{text}");
        let place = marks.chars().position(|it| it == '^').expect("a mark");
        assert_eq!(text.chars().skip(place).take(5).collect::<String>(), "wrong");
        let short = Excerpt::of("x = wrong", 4..9);
        assert_eq!(short.lines[1..], ["1 | x = wrong".to_owned(), "  |     ^^^^^".into()]);
    }
}
