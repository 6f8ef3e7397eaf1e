//! Notes to people, beside the result.

use base::visible;
use std::borrow::Cow;
use std::io::{self, Write};

/// Tells people something beside the result, as a line on stderr. There is nowhere to say that
/// stderr takes no more.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{}", bounded(&visible(line)));
}

/// The most characters of a note before and behind what is left out: more than a path has.
const SHOWN: usize = 5_000;

/// Leaves the middle of a long line out, as of one that repeats what a stranger's file says; a
/// reason stands at its begin, and a remedy at its end.
fn bounded(line: &str) -> Cow<'_, str> {
    let cut = |(at, _)| at;
    match (line.char_indices().nth(SHOWN).map(cut), line.char_indices().nth_back(SHOWN).map(cut)) {
        (Some(left), Some(right)) if left < right => {
            format!("{} … {}", &line[..left], &line[right..]).into()
        }
        _ => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_line_is_left_out() {
        let line = format!("no field `{}`; did you mean `x`?", "ü".repeat(5_000_000));
        let shown = bounded(&line);
        assert!(shown.starts_with("no field `ü") && shown.ends_with("ü`; did you mean `x`?"));
        assert_eq!(shown.chars().count(), 2 * SHOWN + 4);
        assert_eq!(bounded(&line[..SHOWN]), line[..SHOWN]);
    }
}
