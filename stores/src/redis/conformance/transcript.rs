//! The cases as text: a session as `redis-cli` would show it.

use crate::redis::reply::error_text;
use base::Data;
use redis::{Cmd, Value};
use std::fmt;
use std::time::Duration;

/// A case: a name and its steps, in order.
pub struct ConformanceCase {
    /// The name: the behaviour that it shows.
    pub name: String,
    /// The steps, in order.
    pub steps: Vec<CaseStep>,
}

/// One step of a case, or of a random sequence, in which no reply is expected.
#[derive(Clone, PartialEq, Eq)]
pub enum CaseStep {
    /// A command and its expected reply.
    Call {
        /// The connection that sends it, from 0.
        connection: usize,
        /// The command as it is written.
        text: String,
        /// The reply, line by line.
        expected: Vec<String>,
    },
    /// The reply to a command of this connection that has waited.
    Reply {
        /// The connection, from 0.
        connection: usize,
        /// The reply, line by line.
        expected: Vec<String>,
    },
    /// A wait for this time.
    Wait(Duration),
    /// A crash of the server, which starts again with its data or without.
    Restart(Data),
    /// The end of a connection, from 0.
    HangUp(usize),
}

/// Shows the step as the cases write it.
impl fmt::Debug for CaseStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { connection, text, .. } => write!(f, "{}> {text}", connection + 1),
            Self::Reply { connection, .. } => write!(f, "{}<", connection + 1),
            Self::Wait(duration) => write!(f, "wait {}ms", duration.as_millis()),
            Self::Restart(data) => write!(f, "restart {data:?}"),
            Self::HangUp(connection) => write!(f, "{} hangs up", connection + 1),
        }
    }
}

/// Reads the cases. Lines before the first case, the preamble, are skipped.
pub fn parse(text: &str) -> Vec<ConformanceCase> {
    let mut cases: Vec<ConformanceCase> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix("## ") {
            cases.push(ConformanceCase { name: name.to_owned(), steps: Vec::new() });
        } else if let Some(case) = cases.last_mut() {
            case.read(line);
        }
    }
    cases
}

impl ConformanceCase {
    fn read(&mut self, line: &str) {
        let step = call(line).or_else(|| wait(line)).or_else(|| restart(line));
        if let Some(step) = step.or_else(|| hang_up(line)).or_else(|| reply(line)) {
            self.steps.push(step);
        } else if let Some(CaseStep::Call { expected, .. } | CaseStep::Reply { expected, .. }) =
            self.steps.last_mut()
        {
            expected.push(line.to_owned());
        }
    }
}

fn call(line: &str) -> Option<CaseStep> {
    let (before, text) = line.split_once("> ")?;
    let connection = connection(before)?;
    Some(CaseStep::Call { connection, text: text.to_owned(), expected: Vec::new() })
}

/// The connection with this number, from 1; the first one has none.
fn connection(number: &str) -> Option<usize> {
    match number {
        "" => Some(0),
        number => number.parse::<usize>().ok()?.checked_sub(1),
    }
}

fn reply(line: &str) -> Option<CaseStep> {
    let connection = connection(line.strip_suffix('<')?)?;
    Some(CaseStep::Reply { connection, expected: Vec::new() })
}

fn hang_up(line: &str) -> Option<CaseStep> {
    let number = line.strip_suffix(" hangs up")?.parse::<usize>().ok()?;
    number.checked_sub(1).map(CaseStep::HangUp)
}

fn wait(line: &str) -> Option<CaseStep> {
    let millis = line.strip_prefix("wait ")?.strip_suffix("ms")?.parse().ok()?;
    Some(CaseStep::Wait(Duration::from_millis(millis)))
}

fn restart(line: &str) -> Option<CaseStep> {
    match line.strip_prefix("restart ")? {
        "kept" => Some(CaseStep::Restart(Data::Kept)),
        "lost" => Some(CaseStep::Restart(Data::Lost)),
        _ => None,
    }
}

/// The command that a line stands for.
pub fn command(text: &str) -> Cmd {
    let mut command = Cmd::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (argument, behind) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
                (word.as_bytes().to_vec(), behind)
            }
        };
        command.arg(argument);
        rest = behind.trim_start();
    }
    command
}

/// The line that these words make.
pub fn line(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
    };
    let word = |word| if plain(word) { word.clone() } else { quoted(word.as_bytes()) };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The bytes up to the closing quote, and the rest of the text behind it.
fn unquoted(text: &str) -> (Vec<u8>, &str) {
    let mut bytes = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => bytes.extend(escaped(&mut rest)),
            c => bytes.extend(c.to_string().bytes()),
        }
    }
    (bytes, rest.as_str())
}

fn escaped(rest: &mut std::str::Chars<'_>) -> Option<u8> {
    Some(match rest.next()? {
        'n' => b'\n',
        'r' => b'\r',
        'x' => (rest.next()?.to_digit(16)? * 16 + rest.next()?.to_digit(16)?) as u8,
        c => c as u8,
    })
}

/// A reply as redis-cli shows it, line by line.
pub fn render(value: &Value) -> Vec<String> {
    vec![match value {
        Value::Nil => "(nil)".into(),
        Value::Int(n) => format!("(integer) {n}"),
        Value::Okay => "OK".into(),
        Value::SimpleString(text) => visible_end(text),
        Value::BulkString(bytes) => quoted(bytes),
        Value::ServerError(error) => visible_end(&format!("(error) {}", error_text(error))),
        Value::Array(values) if values.is_empty() => "(empty array)".into(),
        Value::Array(values) => return array(values),
        other => format!("{other:?}"),
    }]
}

fn array(values: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, value) in values.iter().enumerate() {
        for (number, line) in render(value).into_iter().enumerate() {
            let head = if number == 0 { format!("{}) ", index + 1) } else { "   ".into() };
            lines.push(head + &line);
        }
    }
    lines
}

/// Bytes as they are written between double quotes.
fn quoted(bytes: &[u8]) -> String {
    let inner: String = bytes
        .iter()
        .map(|b| match b {
            b'"' => "\\\"".into(),
            b'\\' => "\\\\".into(),
            b'\n' => "\\n".into(),
            b'\r' => "\\r".into(),
            0x20..=0x7e => char::from(*b).to_string(),
            b => format!("\\x{b:02x}"),
        })
        .collect();
    format!("\"{inner}\"")
}

fn visible_end(text: &str) -> String {
    match text.strip_suffix(' ') {
        Some(before) => format!("{before}\\x20"),
        None => text.to_owned(),
    }
}

/// Returns true if a reply is the expected one.
pub fn agree(expected: &[String], got: &[String]) -> bool {
    match expected {
        [any] if any == "(any)" => true,
        [one] => got == expected || in_range(one, got),
        _ => {
            let mut lines = expected.iter().zip(got);
            expected.len() == got.len() && lines.all(|(expected, got)| is_like(expected, got))
        }
    }
}

/// Returns true if a line of several is the expected one, which may end in anything.
fn is_like(expected: &str, got: &str) -> bool {
    match expected.strip_suffix("(any)") {
        Some(start) => got.starts_with(start),
        None => got == expected,
    }
}

fn in_range(expected: &str, got: &[String]) -> bool {
    let number = |text: &str| text.parse::<i64>().ok();
    let bounds = || {
        let (low, high) = expected.strip_prefix("(integer) ")?.split_once("..")?;
        let [line] = got else { return None };
        let got = number(line.strip_prefix("(integer) ")?)?;
        Some((number(low)?..=number(high)?).contains(&got))
    };
    bounds().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::Arg;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn a_line_is_a_command() {
        let command = command(r#"SET "a b" "\"\\\n\xff" "" c"#);
        let args: Vec<&[u8]> = command
            .args_iter()
            .filter_map(|arg| match arg {
                Arg::Simple(bytes) => Some(bytes),
                _ => None,
            })
            .collect();
        assert_eq!(args, [&b"SET"[..], b"a b", b"\"\\\n\xff", b"", b"c"]);
    }

    #[test]
    fn words_make_a_line_of_the_same_command() {
        let words = ["SET", "", "a b", "\"\\\r\n\0\u{fc}\t", "{now+7}", "a\"b"].map(str::to_owned);
        let mut command = Cmd::new();
        command.arg(&words);
        let packed = command.get_packed_command();
        assert_eq!(super::command(&line(&words)).get_packed_command(), packed);
    }

    #[test]
    fn a_reply_reads_as_in_redis_cli() {
        let inner = Value::Array(vec![Value::Nil, Value::Int(2)]);
        let value = Value::Array(vec![Value::Okay, inner, Value::BulkString(b"\"\xff".to_vec())]);
        assert_eq!(render(&value), ["1) OK", "2) 1) (nil)", "   2) (integer) 2", r#"3) "\"\xff""#]);
        assert_eq!(render(&Value::SimpleString("a ".into())), [r"a\x20"]);
    }

    #[test]
    fn ranges_and_anything() {
        let got = lines(&["(integer) 7"]);
        assert!(agree(&lines(&["(integer) 7"]), &got));
        assert!(agree(&lines(&["(integer) 5..9"]), &got));
        assert!(agree(&lines(&["(any)"]), &got));
        assert!(!agree(&lines(&["(integer) 8..9"]), &got));
        assert!(!agree(&lines(&["(nil)"]), &got));
        assert!(!agree(&[], &got));
        let (some, got) = (lines(&["1) a", "2) (any)"]), lines(&["1) a", "2) b"]));
        assert!(agree(&some, &got));
        assert!(!agree(&some, &got[..1]) && !agree(&lines(&["1) b", "2) (any)"]), &got));
    }

    #[test]
    fn a_text_is_cases() {
        let cases = parse("preamble\n\n## one\n2> GET k\n(nil)\nwait 5ms\n## two\n> PING\nPONG\n");
        assert_eq!(cases.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        let CaseStep::Call { connection, text, expected } = &cases[0].steps[0] else { panic!() };
        assert_eq!(
            (*connection, text.as_str(), expected.as_slice()),
            (1, "GET k", &["(nil)".to_owned()][..])
        );
        assert!(matches!(cases[0].steps[1], CaseStep::Wait(d) if d == Duration::from_millis(5)));
    }

    #[test]
    fn a_reply_may_come_later_and_a_connection_may_end() {
        let text = "## one\n2> BLPOP k 0\n(waits)\n2 hangs up\n<\n1) \"k\"\n2) \"v\"\n";
        let steps = parse(text).remove(0).steps;
        let expected = lines(&["1) \"k\"", "2) \"v\""]);
        assert_eq!(steps[1..], [CaseStep::HangUp(1), CaseStep::Reply { connection: 0, expected }]);
        assert!(matches!(&steps[0], CaseStep::Call { expected, .. } if *expected == ["(waits)"]));
    }
}
