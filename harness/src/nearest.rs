//! "Did you mean": the names that are nearest to one that does not exist.

/// The longest name that can be a slip of the pen, in bytes.
const LONGEST: usize = 200;

/// The names that are nearest to one, the nearest first.
pub fn near<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    // What likens two names takes their lengths times each other.
    if name.len() > LONGEST {
        return Vec::new();
    }
    // Of one that is there and yet is not what is asked for, it is no help to say its name again.
    let others = known.iter().filter(|known| **known != name);
    let mut near: Vec<(f64, &str)> = others.map(|known| (likeness(name, known), *known)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.iter().take_while(|(score, _)| *score > 0.7).take(3).map(|(_, k)| *k).collect()
}

/// Returns the likeness of two names, from 0 to 1, whatever their case.
fn likeness(name: &str, known: &str) -> f64 {
    strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase())
}

/// An error line for a name that does not exist.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let best = near(name, known);
    let hint = if best.is_empty() { known.join(", ") } else { best.join(", ") };
    let lead = if best.is_empty() { "there are" } else { "did you mean" };
    let mark = if best.is_empty() { "" } else { "?" };
    format!("there is no {what} `{name}`; {lead} {hint}{mark}")
}

/// A name that is not among those that `picklock list` lists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} (`picklock list` shows all)", unknown(.what, .name, .known))]
pub struct Unlisted {
    what: &'static str,
    name: String,
    known: Vec<&'static str>,
}

impl Unlisted {
    /// The error for a name, and the list in which it is not.
    pub fn new(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        Self { what, name: name.into(), known: known.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::unknown;
    use expect_test::expect;

    #[test]
    fn the_nearest_names_come_first() {
        let locks = ["redis-set-nx-px", "redis-getset", "zk-rw", "zk-rw-as-printed"];
        let lines = [
            unknown("lock", "zk-wr", &locks),
            unknown("command", "EXPRIE", &["get", "expire"]),
            unknown("lock", "zk-rw", &["zk-rw", "redlock"]),
            unknown("lock", "qqq", &locks),
        ];
        expect![[r#"
            there is no lock `zk-wr`; did you mean zk-rw, zk-rw-as-printed?
            there is no command `EXPRIE`; did you mean expire?
            there is no lock `zk-rw`; there are zk-rw, redlock
            there is no lock `qqq`; there are redis-set-nx-px, redis-getset, zk-rw, zk-rw-as-printed"#]].assert_eq(&lines.join("\n"));
    }
}
