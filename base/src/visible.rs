//! Untrusted text, made fit to be shown.
//!
//! A key, an error or a path may hold anything: characters that move a terminal's cursor, turn the
//! direction of what follows, or cannot be seen. They are written out.

use serde_json::Value;
use std::borrow::Cow;

/// Returns true for a character that does not simply show: control characters, direction marks,
/// line separators, and characters of no width.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text with its hidden characters written out: `\u{202e}`, `\n`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_hidden(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown.into()
}

/// JSON with its hidden characters written out as JSON does it: the same data. Its own line breaks
/// stay.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let hidden = |c: char| c != '\n' && is_hidden(c);
    if !json.chars().any(hidden) {
        return json.into();
    }
    let mut shown = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        match hidden(c) {
            true => {
                let mut units = [0; 2];
                shown.extend(c.encode_utf16(&mut units).iter().map(|u| format!("\\u{u:04x}")));
            }
            false => shown.push(c),
        }
    }
    shown.into()
}

/// Writes the hidden characters of every string out.
pub fn show_strings(data: &mut Value) {
    match data {
        Value::String(text) => *text = visible(text).into_owned(),
        Value::Array(parts) => parts.iter_mut().for_each(show_strings),
        Value::Object(parts) => parts.values_mut().for_each(show_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_not_be_seen_is_written_out() {
        for (text, shown) in [
            ("plain, 試験 and ✗", "plain, 試験 and ✗"),
            ("\x1b[2Ja\r\nb\tc\x7f", "\\u{1b}[2Ja\\r\\nb\\tc\\u{7f}"),
            ("\u{202e}lock\u{2066}", "\\u{202e}lock\\u{2066}"),
            ("\u{200e}\u{200f}\u{61c}\u{9b}", "\\u{200e}\\u{200f}\\u{61c}\\u{9b}"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
        ] {
            assert_eq!(visible(text), shown);
            assert!(!visible(text).chars().any(is_hidden));
        }
    }

    #[test]
    fn json_says_the_same_with_its_hidden_characters_written_out() {
        let data = serde_json::json!({ "key": "a\u{202e}b\x1b\u{9b}\u{e0041}", "n": [1, 2] });
        let json = serde_json::to_string_pretty(&data).expect("JSON");
        let shown = visible_json(&json);
        assert!(shown.chars().all(|c| c == '\n' || !is_hidden(c)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), data);
        assert_eq!(visible_json("{\n  \"a\": 1\n}\n"), "{\n  \"a\": 1\n}\n");
    }
}
