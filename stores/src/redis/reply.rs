//! Replies as the client library would parse them off the wire.

use redis::Value;

/// An error reply. `text` starts with its code: "ERR syntax error".
pub fn error(text: &str) -> Value {
    // The library alone can make a `ServerError`, so the line goes through its own parser. A line
    // break would end the reply early; Redis replaces it by a blank too, and trims those at the
    // end.
    let text = text.trim_end_matches(['\r', '\n']);
    let line = format!("-{}\r\n", text.replace(['\r', '\n'], " "));
    redis::parse_redis_value(line.as_bytes()).unwrap_or(Value::Nil)
}

/// The text of an error reply, code and all: the opposite of [`error`].
pub fn error_text(error: &redis::ServerError) -> String {
    match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().to_owned(),
    }
}

/// Appends a reply as it goes over the wire (RESP 2).
pub fn encode(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Nil => bytes.extend(b"$-1\r\n"),
        Value::Okay => bytes.extend(b"+OK\r\n"),
        Value::Int(number) => bytes.extend(format!(":{number}\r\n").bytes()),
        Value::SimpleString(text) => bytes.extend(format!("+{text}\r\n").bytes()),
        Value::ServerError(error) => bytes.extend(format!("-{}\r\n", error_text(error)).bytes()),
        Value::BulkString(text) => {
            bytes.extend(format!("${}\r\n", text.len()).bytes());
            bytes.extend(text);
            bytes.extend(b"\r\n");
        }
        Value::Array(values) => {
            bytes.extend(format!("*{}\r\n", values.len()).bytes());
            values.iter().for_each(|value| encode(value, bytes));
        }
        other => unreachable!("RESP 2 has no {other:?}"),
    }
}

/// A status reply; "OK" has a value of its own.
pub fn status(text: String) -> Value {
    if text == "OK" { Value::Okay } else { Value::SimpleString(text) }
}

/// A bulk string.
pub fn bulk(bytes: impl Into<Vec<u8>>) -> Value {
    Value::BulkString(bytes.into())
}

/// 1 or 0, Redis's yes and no.
pub fn flag(yes: bool) -> Value {
    Value::Int(i64::from(yes))
}

/// The error reply "… for 'get' command".
pub fn wrong_arity(name: &str) -> Value {
    error(&format!("ERR wrong number of arguments for '{name}' command"))
}

/// The error reply for a text that is not a number.
pub fn not_an_integer() -> Value {
    error("ERR value is not an integer or out of range")
}

/// The error reply for options that make no sense.
pub fn syntax_error() -> Value {
    error("ERR syntax error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_text() {
        for text in ["ERR syntax error", "NOSCRIPT No matching script.", "OOM", "MY own \u{e9}"] {
            let Value::ServerError(parsed) = error(text) else { panic!("{text}: not an error") };
            assert_eq!(error_text(&parsed), text);
        }
        assert_eq!(error("ERR a\r\nb"), error("ERR a  b"));
    }
}
