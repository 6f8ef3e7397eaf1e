//! Lines of text: wrapping, indents, colours, and the words of strangers made harmless.

use super::{PROSE, Style};
use base::units::glued;
use base::{Outcome, visible};

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Good,
    Bad,
    Warn,
    Faint,
    Strong,
    Info,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Good => "32",
            Self::Bad => "1;31",
            Self::Warn => "33",
            Self::Faint => "2",
            Self::Strong => "1",
            Self::Info => "34",
        }
    }
}

/// Collects the lines of a summary.
pub(super) struct Painter {
    style: Style,
    text: String,
}

impl Painter {
    pub fn new(style: Style) -> Self {
        Self { style, text: String::new() }
    }

    pub fn unicode(&self) -> bool {
        self.style.unicode
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.style.width
    }

    /// Returns the longest line of prose behind an indent, in columns.
    fn prose(&self, indent: usize) -> usize {
        self.style.width.min(PROSE).saturating_sub(indent).max(1)
    }

    /// The summary, without blank lines at its end and with one line break.
    pub fn finish(self) -> String {
        self.text.trim_end().to_string() + "\n"
    }

    /// Returns text of any origin as this terminal can show it. Hidden characters could move the
    /// cursor, recolour the screen or turn the direction of what follows, so they are written out.
    pub fn plain(&self, text: &str) -> String {
        visible(text).chars().fold(String::new(), |mut out, c| {
            match c {
                c if c.is_ascii() || self.style.unicode => out.push(c),
                '—' | '–' | '−' => out.push('-'),
                '…' => out.push_str("..."),
                '×' => out.push('x'),
                'µ' => out.push('u'),
                '≥' => out.push_str(">="),
                '≤' => out.push_str("<="),
                '’' => out.push('\''),
                _ => out.push('?'),
            }
            out
        })
    }

    /// The same, cut to a width.
    pub fn cut(&self, text: &str, width: usize) -> String {
        let text = self.plain(text);
        if text.chars().count() <= width {
            return text;
        }
        let end = self.plain("…");
        text.chars().take(width.saturating_sub(end.chars().count())).chain(end.chars()).collect()
    }

    /// The sign and colour of an outcome.
    pub fn sign(&self, outcome: Outcome) -> (&'static str, Ink) {
        let (fancy, simple, ink) = match outcome {
            Outcome::Held => ("✓", "+", Ink::Good),
            Outcome::Violated => ("✗", "X", Ink::Bad),
            Outcome::Inconclusive => ("?", "?", Ink::Warn),
            Outcome::NotApplicable => ("–", "-", Ink::Faint),
            Outcome::Measured => ("·", ".", Ink::Faint),
        };
        (if self.style.unicode { fancy } else { simple }, ink)
    }

    /// Returns text in a colour, where there are colours.
    pub fn inked(&self, ink: Ink, text: &str) -> String {
        match ink.code() {
            "" => text.into(),
            _ if !self.style.colour || text.is_empty() => text.into(),
            code => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    pub fn blank(&mut self) {
        if !self.text.ends_with("\n\n") && !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A line that is painted already.
    pub fn raw(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub fn line(&mut self, text: &str) {
        self.wrapped(0, text);
    }

    pub fn heading(&mut self, text: &str) {
        self.inked_line(Ink::Strong, text);
    }

    pub fn inked_line(&mut self, ink: Ink, text: &str) {
        for line in wrap(&self.plain(text), self.prose(0)) {
            let line = self.inked(ink, &line);
            self.raw(&line);
        }
    }

    /// Adds text wrapped behind an indent.
    pub fn wrapped(&mut self, indent: usize, text: &str) {
        for line in wrap(&self.plain(text), self.prose(indent)) {
            self.raw(&format!("{:indent$}{line}", ""));
        }
    }

    /// A line as it is, if it fits; else wrapped, with its rest two columns deeper, or in the
    /// column behind its first gap.
    pub fn listed(&mut self, indent: usize, line: &str) {
        let line = self.plain(line);
        if line.chars().count() <= self.width() {
            return self.raw(&line);
        }
        let gap = line[indent..].find("  ").map(|at| indent + at);
        if let Some((head, rest)) = gap.map(|at| line.split_at(at)) {
            let column = line.chars().count() - rest.trim_start().chars().count();
            return self.hanging(head, Ink::Plain, column, rest);
        }
        for (place, line) in wrap(&line, self.prose(indent + 2)).iter().enumerate() {
            let indent = if place == 0 { indent } else { indent + 2 };
            self.raw(&format!("{:indent$}{line}", ""));
        }
    }

    /// Items behind an indent, as many on a line as it takes.
    pub fn items(&mut self, indent: usize, ink: Ink, items: &[String]) {
        let widest = items.iter().map(|item| item.chars().count()).max().unwrap_or(0);
        let indent = indent.min(self.width().saturating_sub(widest));
        let mut line = String::new();
        for item in items {
            let gap = if line.is_empty() { "" } else { "   " };
            let length = indent + (line.chars().count() + gap.len() + item.chars().count());
            if !line.is_empty() && length > self.width() {
                self.raw(&format!("{:indent$}{}", "", self.inked(ink, &line)));
                line = item.clone();
            } else {
                line = line + gap + item;
            }
        }
        self.raw(&format!("{:indent$}{}", "", self.inked(ink, &line)));
    }

    /// A painted head, and text beside it that wraps into its own column, or below it where there
    /// is no room.
    pub fn hanging(&mut self, head: &str, ink: Ink, indent: usize, text: &str) {
        let head = self.plain(head);
        if self.width() < indent + NARROWEST {
            self.raw(&self.inked(ink, head.trim_end()));
            return self.wrapped(BELOW, text);
        }
        let gap = indent.saturating_sub(head.chars().count());
        let mut prefix = format!("{}{:gap$}", self.inked(ink, &head), "");
        for line in wrap(&self.plain(text), self.prose(indent)) {
            self.raw(&format!("{prefix}{line}"));
            prefix = format!("{:indent$}", "");
        }
    }

    /// A name and its value.
    pub fn field(&mut self, name: &str, value: &str) {
        self.hanging(name, Ink::Faint, FIELD, value);
    }

    /// A name and a path or command, which is never broken: it is there to be copied.
    pub fn copied(&mut self, name: &str, value: &str) {
        let name = self.inked(Ink::Faint, &format!("{name:<FIELD$}"));
        let line = format!("{name}{}", self.plain(value));
        self.raw(&line);
    }

    /// The last line; in a pipe in one piece, so that a search in a log finds all of it.
    pub fn verdict(&mut self, ink: Ink, head: &str, rest: &str) {
        let whole = format!("{head}{}", self.plain(rest));
        let lines = if self.style.piped { vec![whole] } else { wrap(&whole, self.prose(0)) };
        for (place, line) in lines.iter().enumerate() {
            let line = match line.strip_prefix(head).filter(|_| place == 0) {
                Some(rest) => self.inked(ink, head) + rest,
                None => line.clone(),
            };
            self.raw(&line);
        }
    }
}

/// The least number of columns for text beside a head.
const NARROWEST: usize = 24;
/// The width of a field's name.
const FIELD: usize = 17;
/// The indent of text below its head.
const BELOW: usize = 6;

/// Breaks text at spaces, but not between a number and its unit. A word that is longer than a line
/// keeps its line to itself.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in glued(text).split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        let line = lines.last_mut().expect("there is always a line");
        if used > 0 && used + 1 + length > width {
            lines.push(word.replace('\u{a0}', " "));
            used = length;
        } else {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(&word.replace('\u{a0}', " "));
            used += length;
        }
    }
    lines
}
