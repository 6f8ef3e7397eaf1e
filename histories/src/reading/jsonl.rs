//! A line of JSON as an [`Entry`]: our own, or that of any tool that uses Jepsen's words.

use super::entry::{Entry, Value, Verb};
use super::number::decimal;
use super::operation::{ParsedEvent, client, mode_of};
use crate::HistoryError;
use base::{Kind, Mode};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// The parts of an event that count. Others are passed over.
#[derive(serde::Deserialize)]
struct EventFields<'a> {
    index: Option<u64>,
    /// The time by our own name, and by Jepsen's: nanoseconds both.
    time_ns: Option<Value>,
    time: Option<Value>,
    process: Value,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(borrow)]
    f: FieldText<'a>,
    #[serde(default)]
    key: Value,
    #[serde(default)]
    mode: Option<FieldText<'a>>,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    token: Value,
}

/// A string that is copied only where it must be.
#[derive(serde::Deserialize)]
struct FieldText<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads one line.
pub fn parse(line: u64, text: &str) -> Result<ParsedEvent, HistoryError> {
    if text.trim_start().starts_with('[') {
        return Err(HistoryError::wrong(
            line,
            "an array; write one object a line, no brackets around",
        ));
    }
    let wire: EventFields<'_> =
        serde_json::from_str(text).map_err(|error| HistoryError::Line { line, error })?;
    let time = wire.time_ns.or(wire.time);
    let (index, time_ns) = (wire.index, time.as_ref().and_then(Value::int));
    let Some(process) = client(line, wire.process)? else {
        return Ok(ParsedEvent { index, time_ns, entry: None, stop: wire.f.0 == "stop" });
    };
    let mode = wire.mode.map(|name| mode(line, &name.0)).transpose()?;
    let entry = Entry {
        line,
        time_ns: time.as_ref().and_then(Value::int),
        process,
        kind: wire.kind,
        verb: Verb::of(&wire.f.0),
        key: Some(wire.key).filter(|key| *key != Value::Nil),
        value: wire.value,
        mode,
        token: wire.token,
    };
    Ok(ParsedEvent { index, time_ns, entry: Some(entry), stop: false })
}

fn mode(line: u64, name: &str) -> Result<Mode, HistoryError> {
    mode_of(name).ok_or_else(|| {
        let name: String = name.chars().take(40).collect();
        HistoryError::wrong(line, format!("no mode is `{name}`: exclusive or shared"))
    })
}

/// Deserializes a value of any JSON type.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

/// The magnitude from which the JSON reader may be off by one in the last digit of a number that
/// has a point or an exponent, or does not fit 64 bits.
const LARGEST_FLOAT: f64 = (1_u64 << 49) as f64;

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Value, E> {
        Ok(Value::Bool(yes))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Int(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        // The JSON reader makes these of whole numbers that are too large for it as well, and of
        // two different ones the same.
        if number.abs() >= LARGEST_FLOAT {
            return Err(E::custom("a number too large to be read exactly"));
        }
        decimal(&format!("{number:e}")).ok_or_else(|| E::custom("no number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let mut map: Vec<(Value, Value)> = Vec::new();
        while let Some((key, value)) = pairs.next_entry::<String, Value>()? {
            map.push((Value::Text(key.into()), value));
        }
        map.sort();
        if map.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(de::Error::custom("an object with a key that stands twice"));
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_line_of_json_is_an_entry() {
        let text = r#"{"index":4,"time":9,"process":2,"type":"ok","f":"cas","key":"x","value":[1,null,"a"],"more":{}}"#;
        let event = parse(7, text).unwrap();
        assert_eq!((event.index, event.time_ns), (Some(4), Some(9)));
        let entry = event.entry.unwrap();
        assert_eq!((entry.line, entry.process, entry.verb), (7, Value::Int(2), Verb::Cas));
        assert_eq!(entry.value.to_string(), "[1 nil \"a\"]");
        assert_eq!(entry.key, Some(Value::Text("x".into())));
    }

    /// An event with this value.
    fn valued(value: &str) -> Result<Value, String> {
        let text = format!(r#"{{"process":0,"type":"ok","f":"read","value":{value}}}"#);
        parse(1, &text).map(|event| event.entry.unwrap().value).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_at_the_edge_are_exact_or_refused() {
        let line = |value: &str| valued(value).map(|value| value.to_string()).ok();
        assert_eq!(line("9223372036854775808"), Some("9223372036854775808".into()));
        assert_eq!(line("18446744073709551615"), Some("18446744073709551615".into()));
        assert_eq!(line("18446744073709551616"), None);
        assert_eq!(line("-9223372036854775809"), None);
        assert_eq!(line("1e300"), None);
        assert_eq!(line("9007199254740993.0"), None);
        assert_eq!(line("-0.5"), Some("-0.5".into()));
    }

    #[test]
    fn equal_numbers_are_the_same_value() {
        for (a, b) in [("5", "5.0"), ("100", "1e2"), ("0", "-0"), ("0", "-0.0"), ("0.5", "5e-1")] {
            assert_eq!(valued(a), valued(b), "{a} {b}");
        }
        assert_ne!(valued("5"), valued("5.5"));
        assert_ne!(valued("5"), valued("\"5\""));
        expect!["line 1: not an event: an object with a key that stands twice at column 57"]
            .assert_eq(&valued(r#"{"a":1,"a":2}"#).unwrap_err());
    }

    #[test]
    fn a_client_may_have_a_name() {
        let process = |process: &str| {
            let text = format!(r#"{{"process":{process},"type":"ok","f":"read"}}"#);
            parse(1, &text).map(|event| event.entry.map(|entry| entry.process))
        };
        assert_eq!(process("\"p1\"").unwrap(), Some(Value::Text("p1".into())));
        assert_eq!(process("\"7\"").unwrap(), Some(Value::Text("7".into())));
        assert_eq!(process("7.0").unwrap(), Some(Value::Int(7)));
        assert_eq!(process("\"nemesis\"").unwrap(), None);
        for wrong in ["null", "true", "[1]", "{}"] {
            assert!(process(wrong).unwrap_err().to_string().starts_with("line 1: no process is"));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let deep = "[".repeat(100_000);
        let deep = format!(r#"{{"process":0,"type":"ok","f":"read","value":{deep}"#);
        let begin = r#"{"process":0,"type":"begin","f":"read"}"#;
        let mode = r#"{"process":0,"type":"ok","f":"acquire","mode":"x"}"#;
        let messages =
            ["{}", "[{}", &deep, begin, mode].map(|text| parse(3, text).unwrap_err().to_string());
        expect![[r#"
            line 3: not an event: missing field `process` at column 2
            line 3: an array; write one object a line, no brackets around
            line 3: not an event: recursion limit exceeded at column 171
            line 3: not an event: unknown variant `begin`, expected one of `invoke`, `ok`, `fail`, `info` at column 27
            line 3: no mode is `x`: exclusive or shared"#]].assert_eq(&messages.join("\n"));
    }
}
