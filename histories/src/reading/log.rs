//! Operations in a log, as Jepsen prints them: `INFO  jepsen.util - 0  :invoke  :write  4`.
//!
//! A line is an operation where a process, a type and a name follow each other; what stands before
//! (time, level, thread) is passed over, and so is every line that has no such three. A process
//! that is not a number counts as one before a verb that picklock knows. The rest of the line is
//! the value as EDN and, in `fail` and `info`, the error, which often stands in the value's place.
//! Only the two values of a cas with nothing behind them are not an error: `:fail :cas [1 2]`.

use super::edn::{NextForm, NoForm, Parser};
use super::entry::{Entry, Value, Verb};
use super::lines::TextLine;
use super::operation::{client, kind_of};
use crate::HistoryError;
use base::Kind;

/// The meaning of a line of a log.
#[derive(Debug, PartialEq, Eq)]
pub enum LogMeaning {
    /// An operation of a client.
    Operation(Entry),
    /// The line is not an operation.
    Nothing,
    /// The line breaks off too early to be an operation.
    CutOff,
}

/// Reads one line.
pub fn parse(line: TextLine<'_>) -> Result<LogMeaning, HistoryError> {
    let nothing = || if line.whole { LogMeaning::Nothing } else { LogMeaning::CutOff };
    let Some((process, kind, rest)) = find(line.text) else { return Ok(nothing()) };
    let mut forms = Parser::new(rest.as_bytes(), line.number);
    let mut next = || match forms.form(None) {
        Ok(NextForm::Form(_, form)) => Ok(Some(form)),
        Ok(NextForm::Close | NextForm::End) => Ok(None),
        Err(NoForm::CutOff) if !line.whole => Ok(None),
        Err(NoForm::CutOff) => Err(HistoryError::wrong(line.number, "its value has no end")),
        Err(NoForm::Wrong(error)) => Err(error),
    };
    let numbered = matches!(process, Value::Int(_));
    let verb = match next() {
        Err(_) if !numbered => return Ok(nothing()),
        verb => verb?,
    };
    let named = |verb: &Value| verb.name().map_or_else(|| Verb::of(&verb.to_string()), Verb::of);
    let verb = verb.as_ref().map(named);
    if !numbered && verb.as_ref().is_none_or(|verb| matches!(verb, Verb::Other(_))) {
        return Ok(nothing());
    }
    let Some(process) = client(line.number, process)? else { return Ok(nothing()) };
    let value = next()?;
    // Without its line end, a number or a name may have lost its last letters and be another
    // one, and what failed may have lost its error.
    let ended = line.text.ends_with([']', ')', '}', '"']) && kind != Kind::Fail;
    if !line.whole && (value.is_none() || !ended) {
        return Ok(LogMeaning::CutOff);
    }
    let Some(verb) = verb else {
        return Err(HistoryError::wrong(line.number, format!("no name follows the {kind:?}")));
    };
    let value = match kind {
        // An error, such as `:timed-out`.
        Kind::Info => Value::Nil,
        Kind::Fail => {
            // Whatever stands behind the values is an error, EDN or not.
            let mut alone = || matches!(next(), Ok(None | Some(Value::Nil)));
            value.filter(|value| value.items().is_some() && alone()).unwrap_or_default()
        }
        Kind::Invoke | Kind::Ok => value.unwrap_or_default(),
    };
    let (key, mode, token, time_ns, line) = (None, None, Value::Nil, None, line.number);
    Ok(LogMeaning::Operation(Entry { line, time_ns, process, kind, verb, key, value, mode, token }))
}

/// A process and a type that follow each other, and the rest of the line.
fn find(text: &str) -> Option<(Value, Kind, &str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find(|c: char| !c.is_whitespace())?;
        let length = text[at..].find(char::is_whitespace).unwrap_or(text.len() - at);
        let kind = text[at..at + length].strip_prefix(':').and_then(kind_of);
        if let Some(kind) = kind
            && let Some(process) = last_word(text[..at].trim_end())
        {
            return Some((process, kind, &text[at + length..]));
        }
        from = at + length;
    }
}

/// The last word of a text, as the number or name that it is. A string is one word.
fn last_word(text: &str) -> Option<Value> {
    let word = match text.strip_suffix('"') {
        Some(inner) => &text[inner.rfind('"')?..],
        None => text.rsplit(char::is_whitespace).next()?,
    };
    let word: Value = word.parse().ok()?;
    matches!(word, Value::Int(_) | Value::Word(_) | Value::Text(_)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let whole = text.ends_with('\n');
        match parse(TextLine { number: 4, text: text.trim_end_matches('\n'), whole }) {
            Ok(LogMeaning::Operation(e)) => {
                Ok(format!("{} {:?} {} {}", e.process, e.kind, e.verb, e.value))
            }
            Ok(other) => Ok(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn operations_are_found_wherever_they_stand() {
        for (text, is) in [
            ("INFO  jepsen.util - 0\t:invoke\t:write\t4\n", "0 Invoke write 4"),
            ("INFO  jepsen.util - 0 :ok :read nil\n", "0 Ok read nil"),
            ("INFO  jepsen.util - 12  :fail  :read  :timed-out\n", "12 Fail read nil"),
            ("INFO  jepsen.util - 12 :info :cas :timed-out\n", "12 Info cas nil"),
            ("INFO  jepsen.util - 12 :fail :cas [1 2]\n", "12 Fail cas [1 2]"),
            ("INFO  jepsen.util - 12 :fail :cas [1 2] nil\n", "12 Fail cas [1 2]"),
            ("INFO  jepsen.util - 12 :fail :cas [1 2] :connection-refused\n", "12 Fail cas nil"),
            (
                "INFO  jepsen.util - 12 :fail :cas [1 2] java.io.IOException: (x\n",
                "12 Fail cas nil",
            ),
            ("INFO  jepsen.util - :p1\t:invoke\t:acquire\tnil\n", ":p1 Invoke acquire nil"),
            ("INFO  jepsen.util - \"client 1\" :ok :lock\n", "\"client 1\" Ok acquire nil"),
            ("jepsen.util: p1\u{2003}:ok :release nil\n", "p1 Ok release nil"),
            ("INFO {:process 0 :type :invoke :f :read}\n", "Nothing"),
            ("INFO  jepsen.util - that went :ok :then\n", "Nothing"),
            (
                "2026-01-01 10:00:00,123{GMT}\tINFO\t[worker 3] jepsen.util: 3\t:ok\t:cas\t[1 2]\n",
                { "3 Ok cas [1 2]" },
            ),
            ("3 :invoke :lock\n", "3 Invoke acquire nil"),
            ("INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n", "Nothing"),
            ("INFO  jepsen.core - Running test\n", "Nothing"),
            ("\n", "Nothing"),
        ] {
            assert_eq!(read(text), Ok(is.into()), "{text}");
        }
    }

    #[test]
    fn the_last_line_counts_only_if_nothing_can_be_missing() {
        for text in [
            "- 1 :ok :read 4",
            "- 1 :ok :cas [1 ",
            "- 1 :ok :re",
            "- 1 :o",
            "INFO",
            "- 1 :fail :cas [1 2]",
        ] {
            assert_eq!(read(text), Ok("CutOff".into()), "{text}");
        }
        assert_eq!(read("- 1 :ok :cas [1 2]"), Ok("1 Ok cas [1 2]".into()));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_line() {
        for (text, expected) in [
            ("- 1 :ok :cas [1 2\n", "line 4: its value has no end"),
            ("- 1 :ok :cas ]\n", "line 4: not EDN: `]` closes nothing"),
            ("- 1 :ok\n", "line 4: no name follows"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }
}
