//! The decision of a model about a history, for the terminal.

use super::paint::Painter;
use super::{Outcome, Style, word};

/// A history held against a model.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The model's name.
    pub model: String,
    /// The outcome of the decision.
    pub outcome: Outcome,
    /// One line: what was judged, or why there is no answer.
    pub summary: String,
    /// The reasons for it, a paragraph each.
    pub why: Vec<String>,
    /// The notes on the file.
    pub notes: Vec<String>,
    /// The page with a picture of it, if there is one.
    pub report: Option<String>,
}

/// The answer in words. Ends with a line break.
pub fn decision(decided: &Decided, style: Style) -> String {
    let mut out = Painter::new(style);
    let (sign, ink) = out.sign(decided.outcome);
    let head = format!("{sign} {}  {}", out.plain(&decided.model), word(decided.outcome));
    let indent = head.chars().count() + 2;
    out.hanging(&head, ink, indent, &decided.summary);
    for paragraph in &decided.why {
        out.blank();
        out.wrapped(2, paragraph);
    }
    if !decided.notes.is_empty() {
        out.blank();
    }
    for note in &decided.notes {
        out.line(&format!("Note: {note}"));
    }
    if let Some(report) = &decided.report {
        out.blank();
        out.copied("report", report);
    }
    out.blank();
    out.verdict(ink, &word(decided.outcome).to_uppercase(), "");
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_printed_in_words_that_move_no_cursor() {
        let decided = Decided {
            model: "mutex".into(),
            outcome: Outcome::Violated,
            summary: "4 operations".into(),
            why: vec!["process 1's acq\x1b[2Juire can be put nowhere".into()],
            notes: vec!["cut off at line 9".into()],
            report: Some("page.html".into()),
        };
        let text =
            decision(&decided, Style { colour: false, unicode: false, width: 80, piped: true });
        expect_test::expect![[r#"
            X mutex  violated  4 operations

              process 1's acq\u{1b}[2Juire can be put nowhere

            Note: cut off at line 9

            report           page.html

            VIOLATED
        "#]]
        .assert_eq(&text);
    }
}
