//! Numbers as people read them: times, durations, counts, rates. Checkers and reports write every
//! number with these functions, so that one number is not written in two ways.

use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// The precision with which times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Milliseconds: "4.100 s".
    Millis,
    /// Microseconds: "4.100231 s", for a witness whose events lie within milliseconds.
    Micros,
}

impl Precision {
    /// The precision that suits these times: the finer one if they lie close together and two of
    /// them would read alike. Over a longer time the order says enough.
    pub fn for_times(times: &[u64]) -> Self {
        let lowest = times.iter().min().unwrap_or(&0);
        let close = times.iter().all(|t| t - lowest < 100_000_000);
        let alike = |w: &[u64]| w[0] != w[1] && w[0] / 1_000_000 == w[1] / 1_000_000;
        if close && times.windows(2).any(alike) { Self::Micros } else { Self::Millis }
    }
}

/// A moment of the run: "4.100 s".
pub fn moment(nanos: u64, precision: Precision) -> String {
    let (seconds, rest) = (nanos / SECOND, nanos % SECOND);
    match precision {
        Precision::Millis => format!("{seconds}.{:03} s", rest / 1_000_000),
        Precision::Micros => format!("{seconds}.{:06} s", rest / 1_000),
    }
}

/// A duration to three digits in the unit that fits: "850 µs", "12.3 ms", "1.2 s", "2 min 5 s".
pub fn span(nanos: u64) -> String {
    let unit = |scale: f64, name: &str| format!("{} {name}", digits(nanos as f64 / scale));
    match nanos {
        0 => "0 s".into(),
        1..1_000 => format!("{nanos} ns"),
        1_000..999_500 => unit(1e3, "µs"),
        999_500..999_500_000 => unit(1e6, "ms"),
        999_500_000..120_000_000_000 => unit(1e9, "s"),
        _ => minutes(nanos / SECOND),
    }
}

/// A duration of the real world, in the notation of [`span`].
pub fn duration(d: Duration) -> String {
    span(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

/// A count with its thousands apart: "12,345".
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: "1 client", "5 clients".
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A rate, from a number of things in a number of nanoseconds: "1.21 a second".
pub fn rate(n: u64, nanos: u64) -> String {
    format!("{} a second", digits(n as f64 * 1e9 / nanos.max(1) as f64))
}

/// An amount and its noun, given in the plural: "2 replies lost", "1 reply lost". An amount of time
/// is written like any other: "3.99 s not running".
pub fn measured(n: u64, many: &str) -> String {
    match many.split_once(' ') {
        Some(("ms" | "milliseconds", rest)) => time(n, 1_000_000, rest),
        Some(("microseconds", rest)) => time(n, 1_000, rest),
        // "bytes and connections held" is a sum: nobody knows of which there was one.
        Some((noun, rest)) if n == 1 && !rest.starts_with("and ") => {
            format!("1 {} {rest}", singular(noun))
        }
        _ => format!("{} {many}", count(n)),
    }
}

fn time(n: u64, nanos: u64, rest: &str) -> String {
    format!("{} {rest}", span(n.saturating_mul(nanos)))
}

fn singular(noun: &str) -> String {
    match (noun.strip_suffix("ies"), noun.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        // "process" is one already.
        (_, Some(stem)) if !stem.ends_with('s') => stem.to_owned(),
        _ => noun.to_owned(),
    }
}

/// A number of repetitions: "once", "twice", "12 times".
pub fn times(n: u64) -> String {
    match n {
        1 => "once".into(),
        2 => "twice".into(),
        _ => format!("{} times", count(n)),
    }
}

/// A rate or another small number, to about three digits: "0.25", "1.2", "41".
pub fn digits(x: f64) -> String {
    let decimals = match x {
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{x:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// Nouns that are followed by a number as their name: "process 3".
const NUMBERED: [&str; 9] =
    ["process", "client", "server", "seed", "seeds", "token", "place", "line", "step"];

/// The text with spaces that do not break between a number and what it is a number of: "4.1 s",
/// "12 grants", "process 3".
pub fn glued(text: &str) -> String {
    let mut glued = String::with_capacity(text.len() + 8);
    let (mut before, mut last) = ("", "");
    for (place, word) in text.split(' ').enumerate() {
        let counts = is_number(last) && !NUMBERED.contains(&before) && is_unit(word);
        let names = NUMBERED.contains(&last) && is_number(word);
        match place {
            0 => {}
            _ if counts || names => glued.push('\u{a0}'),
            _ => glued.push(' '),
        }
        glued.push_str(word);
        (before, last) = (last, word);
    }
    glued
}

fn is_number(word: &str) -> bool {
    let number = word.trim_start_matches('(');
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    number.ends_with(|c: char| c.is_ascii_digit()) && number.chars().all(digits)
}

fn is_unit(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '%' | '‰'))
}

/// A round number of nanoseconds that divides a width into three to six parts.
pub fn round_step(width: u64) -> u64 {
    let rough = (width / 6).max(1);
    let power = 10u64.saturating_pow(rough.ilog10());
    let nice = [1, 2, 5, 10].into_iter().map(|n| power.saturating_mul(n));
    nice.into_iter().find(|s| *s >= rough).unwrap_or(u64::MAX)
}

/// A tick of an axis with that step, with as many decimals as the step needs: "4.25 s".
pub fn tick_label(tick: u64, step: u64) -> String {
    let decimals = 9usize.saturating_sub(step.max(1).ilog10() as usize);
    let text = format!("{}.{:09}", tick / SECOND, tick % SECOND);
    let text = &text[..text.len() - (9 - decimals)];
    format!("{} s", text.trim_end_matches('.'))
}

fn minutes(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (m, 0) => format!("{m} min"),
        (m, s) => format!("{m} min {s} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_written_as_one() {
        for (n, many, text) in [
            (1, "replies lost", "1 reply lost"),
            (2, "replies lost", "2 replies lost"),
            (1, "packets held", "1 packet held"),
            (1, "process gone", "1 process gone"),
            (1, "ms paused, says the engine", "1 ms paused, says the engine"),
            (8_692, "milliseconds not running", "8.69 s not running"),
            (250, "microseconds by which the clock was off", "250 µs by which the clock was off"),
            (1, "bytes and connections held", "1 bytes and connections held"),
            (5_120, "bytes held", "5,120 bytes held"),
        ] {
            assert_eq!(measured(n, many), text);
        }
    }

    #[test]
    fn spans_take_the_unit_that_fits() {
        let says = |n| span(n);
        assert_eq!(says(0), "0 s");
        assert_eq!(says(850_400), "850 µs");
        assert_eq!(says(999_600), "1 ms");
        assert_eq!(says(12_340_000), "12.3 ms");
        assert_eq!(says(SECOND), "1 s");
        assert_eq!(says(1_250_000_000), "1.25 s");
        assert_eq!(says(30 * SECOND), "30 s");
        assert_eq!(says(125 * SECOND), "2 min 5 s");
        assert_eq!(says(u64::MAX), "307445734 min 33 s");
    }

    #[test]
    fn a_rate_has_three_digits() {
        assert_eq!(rate(47, 38_800_000_000), "1.21 a second");
        assert_eq!(rate(3, 1_500_000), "2000 a second");
        assert_eq!(rate(0, 0), "0 a second");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        for (text, glued_with_tilde) in [
            ("took 114 ms (99 %: 15.6 s)", "took 114~ms (99~%: 15.6~s)"),
            ("47 grants by 5 processes", "47~grants by 5~processes"),
            ("process 4 acquired at 2.101 s, then", "process~4 acquired at 2.101~s, then"),
            ("2 min 5 s", "2~min 5~s"),
            ("seeds 1, 2 and 3", "seeds 1, 2~and 3"),
            ("lists 1 2 3 4 break", "lists 1 2 3 4~break"),
            ("no number", "no number"),
        ] {
            assert_eq!(glued(text).replace('\u{a0}', "~"), glued_with_tilde);
        }
    }

    #[test]
    fn moments_have_the_decimals_in_which_they_differ() {
        let wide = Precision::for_times(&[1_000_000, 2_000_000, 2_000_000]);
        assert_eq!(moment(4_100_231_000, wide), "4.100 s");
        let narrow = Precision::for_times(&[4_100_231_000, 4_100_245_000]);
        assert_eq!(moment(4_100_231_000, narrow), "4.100231 s");
        let long = Precision::for_times(&[1_000_000_000, 4_100_231_000, 4_100_245_000]);
        assert_eq!(moment(4_100_231_000, long), "4.100 s");
    }

    #[test]
    fn axes_have_round_ticks_with_the_decimals_that_they_need() {
        assert_eq!(round_step(1_900_000_000), 500_000_000);
        assert_eq!(tick_label(4_500_000_000, 500_000_000), "4.5 s");
        assert_eq!(tick_label(40 * SECOND, 10 * SECOND), "40 s");
        assert_eq!(tick_label(152_000_000, 2_000_000), "0.152 s");
        assert_eq!(round_step(0), 1);
        assert_eq!(tick_label(7, 1), "0.000000007 s");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "client", "clients"), "1 client");
        assert_eq!(times(1), "once");
        assert_eq!(times(2_000), "2,000 times");
        assert_eq!(digits(41.3), "41.3");
        assert_eq!(digits(0.5), "0.5");
        assert_eq!(digits(100.4), "100");
    }
}
