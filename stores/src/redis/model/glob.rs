//! Patterns in the style of a shell, as `stringmatchlen` of Redis 7.0 reads them.

/// Returns true if a text matches a pattern: `*` is any text, `?` any byte, `[a-c]` one of these,
/// `[^a]` one of the others, and a backslash takes the special meaning away.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // Redis does not look at the pattern of a text without letters: no `*` matches it.
    if text.is_empty() { pattern.is_empty() } else { matches_rest(pattern, text) }
}

fn matches_rest(pattern: &[u8], text: &[u8]) -> bool {
    let (Some(first), rest) = (pattern.first(), pattern.get(1..).unwrap_or_default()) else {
        return text.is_empty();
    };
    match (first, text.split_first()) {
        (b'*', None) => matches_rest(rest, text),
        (b'*', Some((_, later))) => matches_rest(rest, text) || matches_rest(pattern, later),
        (_, None) => false,
        (b'?', Some((_, later))) => matches_rest(rest, later),
        (b'[', Some((byte, later))) => {
            let (is_in, rest) = class(rest, *byte);
            is_in && matches_rest(rest, later)
        }
        (b'\\', Some((byte, later))) if !rest.is_empty() => {
            rest[0] == *byte && matches_rest(&rest[1..], later)
        }
        (literal, Some((byte, later))) => literal == byte && matches_rest(rest, later),
    }
}

/// Returns true if a class, which is open, has this byte, and the pattern behind the class.
fn class(mut pattern: &[u8], byte: u8) -> (bool, &[u8]) {
    let is_negated = pattern.first() == Some(&b'^');
    pattern = &pattern[usize::from(is_negated)..];
    let mut is_in = false;
    loop {
        pattern = match pattern {
            [b'\\', literal, rest @ ..] => {
                is_in |= *literal == byte;
                rest
            }
            // A class that is never closed ends with the pattern.
            [] => return (is_in != is_negated, &[]),
            [b']', rest @ ..] => return (is_in != is_negated, rest),
            [from, b'-', to, rest @ ..] => {
                is_in |= (*from.min(to)..=*from.max(to)).contains(&byte);
                rest
            }
            [literal, rest @ ..] => {
                is_in |= *literal == byte;
                rest
            }
        };
    }
}
