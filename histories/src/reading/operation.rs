//! The map of one operation of a Jepsen history as an [`Entry`].

use super::entry::{Entry, Value, Verb};
use crate::HistoryError;
use base::{Kind, Mode};

/// An event as its map describes it: its place in the order, and its entry if it is a client's.
#[derive(Debug)]
pub struct ParsedEvent {
    /// The event's place in its history, where the map gives it.
    pub index: Option<u64>,
    /// The event's time, where the map gives it.
    pub time_ns: Option<i128>,
    /// The event of a client; `None` for the nemesis.
    pub entry: Option<Entry>,
    /// The run was at its end.
    pub stop: bool,
}

/// The parts of a map that count.
#[derive(Default)]
struct Parts<'a> {
    index: Option<&'a Value>,
    time: Option<&'a Value>,
    process: Option<&'a Value>,
    kind: Option<&'a Value>,
    f: Option<&'a Value>,
    value: Option<&'a Value>,
    key: Option<&'a Value>,
    mode: Option<&'a Value>,
    token: Option<&'a Value>,
}

impl<'a> Parts<'a> {
    /// The parts that stand in the namespace of the process: `:zk/value` beside `:process` is a
    /// private remark, beside `:zk/process` it is the value. Otherwise returns the name of a part
    /// that stands there twice.
    fn of(pairs: &'a [(Value, Value)]) -> Result<Self, &'static str> {
        let spelled = || pairs.iter().filter_map(|(name, value)| Some((name.spelled()?, value)));
        let spaces = spelled().filter(|((_, name), _)| *name == "process");
        // No namespace is less than any.
        let space = spaces.map(|((space, _), _)| space).min().unwrap_or_default();
        let mut parts = Self::default();
        for ((_, name), value) in spelled().filter(|((of, _), _)| *of == space) {
            let (name, part) = match name {
                "index" => ("index", &mut parts.index),
                "time" => ("time", &mut parts.time),
                "process" => ("process", &mut parts.process),
                "type" => ("type", &mut parts.kind),
                "f" => ("f", &mut parts.f),
                "value" => ("value", &mut parts.value),
                "key" => ("key", &mut parts.key),
                "mode" => ("mode", &mut parts.mode),
                "token" => ("token", &mut parts.token),
                _ => continue,
            };
            if part.replace(value).is_some() {
                return Err(name);
            }
        }
        Ok(parts)
    }
}

/// Reads a map such as `{:process 0, :type :invoke, :f :read, :value nil}`. Its tag, if it has one,
/// is ignored; its keys may be keywords or strings, and others than these are passed over.
pub fn parse(line: u64, form: Value) -> Result<ParsedEvent, HistoryError> {
    let map = form.into_bare();
    let Value::Map(pairs) = &map else {
        let found = short(&map);
        return Err(HistoryError::wrong(line, format!("not the map of an operation: {found}")));
    };
    let twice =
        |name| HistoryError::wrong(line, format!("an operation with two :{name}: {}", short(&map)));
    let parts = Parts::of(pairs).map_err(twice)?;
    let index = match parts.index {
        None | Some(Value::Nil) => None,
        // Jepsen writes -1 where it has not numbered the operation yet.
        Some(Value::Int(-1)) => None,
        Some(index) => {
            let number = index.int();
            let why = || HistoryError::wrong(line, format!("no :index is {}", short(index)));
            Some(number.ok_or_else(why)?)
        }
    };
    let missing =
        |name| HistoryError::wrong(line, format!("an operation without :{name}: {}", short(&map)));
    let process = parts.process.ok_or_else(|| missing("process"))?;
    let entry = match client(line, process.clone())? {
        Some(process) => Some(entry(line, process, &parts, missing)?),
        None => None,
    };
    Ok(ParsedEvent { index, time_ns: parts.time.and_then(Value::int), entry, stop: false })
}

fn entry(
    line: u64,
    process: Value,
    parts: &Parts<'_>,
    missing: impl Fn(&'static str) -> HistoryError,
) -> Result<Entry, HistoryError> {
    let kind = parts.kind.ok_or_else(|| missing("type"))?;
    let kind = kind.name().and_then(kind_of).ok_or_else(|| {
        let found = short(kind);
        HistoryError::wrong(line, format!("no :type is {found}: invoke, ok, fail or info"))
    })?;
    let verb = parts.f.ok_or_else(|| missing("f"))?;
    let verb = verb.name().map_or_else(|| Verb::of(&short(verb)), Verb::of);
    let some = |part: Option<&Value>| part.filter(|value| !matches!(value, Value::Nil)).cloned();
    Ok(Entry {
        line,
        time_ns: parts.time.and_then(Value::int),
        process,
        kind,
        verb,
        key: some(parts.key),
        value: some(parts.value).unwrap_or_default(),
        mode: some(parts.mode).map(|mode| mode_named(line, &mode)).transpose()?,
        token: some(parts.token).unwrap_or_default(),
    })
}

/// The client that a process is, by its number or name; `None` for the nemesis.
pub fn client(line: u64, process: Value) -> Result<Option<Value>, HistoryError> {
    let process = process.into_bare();
    let name = match &process {
        Value::Word(name) => &**name,
        Value::Text(name) => &**name,
        _ => "",
    };
    if matches!(name, ":nemesis" | "nemesis") {
        return Ok(None);
    }
    match process {
        client @ (Value::Int(_) | Value::Word(_) | Value::Text(_)) => Ok(Some(client)),
        other => {
            let found = short(&other);
            Err(HistoryError::wrong(line, format!("no process is {found}: a number or a name")))
        }
    }
}

/// The kind with this name.
pub fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "invoke" => Kind::Invoke,
        "ok" => Kind::Ok,
        "fail" => Kind::Fail,
        "info" => Kind::Info,
        _ => return None,
    })
}

/// The mode with this name: in our words, or in those of read/write locks.
pub fn mode_of(name: &str) -> Option<Mode> {
    Some(match name {
        "exclusive" | "write" => Mode::Exclusive,
        "shared" | "read" => Mode::Shared,
        _ => return None,
    })
}

fn mode_named(line: u64, mode: &Value) -> Result<Mode, HistoryError> {
    mode.name().and_then(mode_of).ok_or_else(|| {
        let found = short(mode);
        HistoryError::wrong(line, format!("no :mode is {found}: exclusive or shared"))
    })
}

/// A value as text of at most 60 characters, for an error line.
pub fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::edn::{NextForm, Parser};
    use super::*;

    fn read(text: &str) -> Result<ParsedEvent, String> {
        let Ok(NextForm::Form(line, form)) = Parser::new(text.as_bytes(), 1).form(None) else {
            panic!("{text}")
        };
        parse(line, form).map_err(|error| error.to_string())
    }

    #[test]
    fn the_map_of_an_operation_is_an_entry() {
        for text in [
            "{:process 3, :type :ok, :f :cas, :value [1 2], :time 7, :index 9, :error :none}",
            "#jepsen.history.Op{:index 9, :time 7, :type :ok, :process 3, :f :cas, :value [1 2]}",
            r#"{"process" 3 "type" "ok" "f" "cas" "value" (1 2) "index" 9 "time" 7N}"#,
            "#:op{:process 3N, :type ok, :f :my/cas, :value [1 2], :time 7, :index 9}",
        ] {
            let event = read(text).unwrap();
            assert_eq!((event.index, event.time_ns), (Some(9), Some(7)), "{text}");
            let entry = event.entry.unwrap();
            assert_eq!(
                (entry.process, entry.kind, entry.verb),
                (Value::Int(3), Kind::Ok, Verb::Cas)
            );
            assert_eq!(entry.value.to_string(), "[1 2]");
        }
    }

    #[test]
    fn a_nemesis_is_no_client() {
        for text in [
            "{:process :nemesis, :type :info, :f :start, :value nil}",
            "{:process \"nemesis\", :type :sleep}",
        ] {
            assert!(read(text).unwrap().entry.is_none());
        }
    }

    #[test]
    fn a_client_may_have_a_name() {
        for name in [":p1", "\"p1\"", "p1", "\"7\"", "-7", "9223372036854775808", ":nemesis-2"] {
            let event = read(&format!("{{:process {name}, :type :ok, :f :read}}")).unwrap();
            assert_eq!(event.entry.unwrap().process.to_string(), name);
        }
    }

    #[test]
    fn only_what_stands_beside_the_process_counts() {
        for (map, value) in [
            (":process 1, :type :ok, :f :read, :value 5, :zk/value 6, :a/value 7", "5"),
            (":process 1, :type :ok, :f :read, :zk/value 6, :zk/process 2", "nil"),
            (":op/process 1, :op/type :ok, :op/f :read, :op/value 5, :zk/value 6, :value 7", "5"),
        ] {
            let entry = read(&format!("{{{map}}}")).unwrap().entry.unwrap();
            assert_eq!((entry.process, entry.value.to_string()), (Value::Int(1), value.into()));
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (text, expected) in [
            ("[1 2]", "line 1: not the map of an operation: [1 2]"),
            ("{:type :ok, :f :read}", "line 1: an operation without :process: {:f :read"),
            ("{:process 1, :f :read}", "line 1: an operation without :type"),
            ("{:process 1, :type :ok}", "line 1: an operation without :f"),
            ("{:process 1, :type :begin, :f :read}", "line 1: no :type is :begin: invoke, ok"),
            ("{:process nil, :type :ok, :f :read}", "line 1: no process is nil: a number or a"),
            ("{:process [1], :type :ok, :f :read}", "line 1: no process is [1]"),
            ("{:process 1 \"process\" 2}", "line 1: an operation with two :process: {:process 1"),
            ("{:process 1, :type :ok, :f :read, :index :a}", "line 1: no :index is :a"),
            ("{:process 1, :type :ok, :f :acquire, :mode 7}", "line 1: no :mode is 7"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }
}
