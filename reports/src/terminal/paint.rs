//! Lines of text: wrapping, indents, colours, and the words of strangers made harmless.

use super::{Style, WIDTH};
use base::Outcome;

/// What a colour means.
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

    /// The summary, without blank lines at its end and with one line break.
    pub fn finish(self) -> String {
        self.text.trim_end().to_string() + "\n"
    }

    /// Text of any origin as this terminal can show it. Control characters could move the cursor
    /// or recolour the screen, so they do not pass.
    pub fn plain(&self, text: &str) -> String {
        text.chars().fold(String::new(), |mut out, c| {
            match c {
                c if c.is_control() => out.push(' '),
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
        };
        (if self.style.unicode { fancy } else { simple }, ink)
    }

    /// Text in a colour, where there are colours.
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
        for line in wrap(&self.plain(text), WIDTH) {
            let line = self.inked(ink, &line);
            self.raw(&line);
        }
    }

    /// Text wrapped behind an indent. Its own line breaks stay.
    pub fn wrapped(&mut self, indent: usize, text: &str) {
        for part in text.lines() {
            for line in wrap(&self.plain(part), WIDTH - indent) {
                self.raw(&format!("{:indent$}{line}", ""));
            }
        }
    }

    /// A painted head, and text beside it that wraps into its own column.
    pub fn hanging(&mut self, head: &str, ink: Ink, indent: usize, text: &str) {
        let head = self.plain(head);
        let gap = indent.saturating_sub(head.chars().count());
        let mut prefix = format!("{}{:gap$}", self.inked(ink, &head), "");
        for line in wrap(&self.plain(text), WIDTH.saturating_sub(indent).max(30)) {
            self.raw(&format!("{prefix}{line}"));
            prefix = format!("{:indent$}", "");
        }
    }

    /// A name and its value. A command is never broken: it is there to be copied.
    pub fn field(&mut self, name: &str, value: &str) {
        let name = self.inked(Ink::Faint, &format!("{name:<17}"));
        let line = format!("{name}{}", self.plain(value));
        self.raw(&line);
    }

    /// The last line, in one piece, so that a search in a log finds all of it.
    pub fn verdict(&mut self, ink: Ink, head: &str, rest: &str) {
        let line = format!("{}{}", self.inked(ink, head), self.plain(rest));
        self.raw(&line);
    }
}

/// Breaks text at spaces. A word that is longer than a line keeps its line to itself.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let line = lines.last_mut().expect("there is always a line");
        if used > 0 && used + 1 + length > width {
            lines.push(word.into());
            used = length;
        } else {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
        }
    }
    lines
}
