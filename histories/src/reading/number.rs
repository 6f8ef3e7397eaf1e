//! Numbers, compared by value: two that are equal are the same value, however they are written.
//! `5`, `5.0`, `50e-1` and `5N` are one, and so are `1/2` and `0.5`.

use super::entry::Value;

/// The greatest power of ten that may be part of a number of 128 bits.
const LARGEST_POWER: i64 = 38;
/// A fraction has at most so many zeros behind its point, and else an exponent.
const MOST_ZEROS: i64 = 6;

/// Reads a number in decimal notation, such as `-12`, `5.0` or `1e2`. `None` if it is not one.
pub fn decimal(text: &str) -> Option<Value> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let is_number = !whole.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| canonical(sign, &digits, i64::from(exponent) - fraction.len() as i64))
}

/// Reads a ratio, such as `-1/2`. `None` if it is not one.
pub fn ratio(above: &str, below: &str) -> Option<Value> {
    let (above, below): (i128, u64) = (above.parse().ok()?, below.parse().ok()?);
    let below = i128::from(below);
    let (mut scaled, mut exponent) = (above, 0);
    while scaled.checked_rem(below)? != 0 {
        // It has no end as a decimal fraction.
        let Some(more) = scaled.checked_mul(10) else {
            let common = common_divisor(above, below);
            return Some(Value::Word(format!("{}/{}", above / common, below / common).into()));
        };
        (scaled, exponent) = (more, exponent - 1);
    }
    let whole = (scaled / below).to_string();
    decimal(&format!("{whole}e{exponent}"))
}

fn common_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { common_divisor(b, a % b) }
}

/// The one value of a number: digits, times a power of ten.
fn canonical(sign: &str, digits: &str, exponent: i64) -> Value {
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Value::Int(0);
    }
    let exponent = exponent + (digits.len() - significant.len()) as i64;
    let point = significant.len() as i64 + exponent;
    let word = match exponent {
        0..=LARGEST_POWER => {
            let whole = format!("{sign}{significant}{}", "0".repeat(exponent as usize));
            if let Ok(number) = whole.parse() {
                return Value::Int(number);
            }
            whole
        }
        ..0 if point > 0 => {
            let (whole, fraction) = significant.split_at(point as usize);
            format!("{sign}{whole}.{fraction}")
        }
        ..0 if point >= -MOST_ZEROS => {
            format!("{sign}0.{}{significant}", "0".repeat(-point as usize))
        }
        _ => format!("{sign}{significant}e{exponent}"),
    };
    Value::Word(word.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        let value = match text.split_once('/') {
            Some((above, below)) => ratio(above, below),
            None => decimal(text),
        };
        value
            .map(|value| format!("{value}{}", if value.int::<i128>().is_some() { "" } else { "~" }))
    }

    #[test]
    fn equal_numbers_are_the_same_value() {
        for (same, is) in [
            (&["5", "5.0", "+5", "005", "50e-1", "0.05e2", "5.", "10/2", "5/1"][..], "5"),
            (&["0", "-0", "0.0", "-0.00", "0e99", "0/7"], "0"),
            (&["100", "1e2", "1E+2", "100.000", "10e1"], "100"),
            (&["-9", "-9.0", "-18/2", "-90e-1"], "-9"),
            (&["0.5", "1/2", "5e-1", "00.50", "2/4"], "0.5~"),
            (&["-1.25", "-5/4", "-125e-2"], "-1.25~"),
            (&["0.000001", "1e-6"], "0.000001~"),
            (&["1e-9", "0.000000001", "1/1000000000"], "1e-9~"),
            (&["1/3", "2/6"], "1/3~"),
            (&["1e300", "10e299", "0.1e301"], "1e300~"),
            (
                &["170141183460469231731687303715884105727"],
                "170141183460469231731687303715884105727",
            ),
            (
                &[
                    "170141183460469231731687303715884105728",
                    "170141183460469231731687303715884105728.0",
                ],
                "170141183460469231731687303715884105728~",
            ),
            (&["1e38"], "100000000000000000000000000000000000000"),
            (&["1e39", "1000000000000000000000000000000000000000"], "1e39~"),
        ] {
            for text in same {
                assert_eq!(canonical(text).as_deref(), Some(is), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in
            ["", "-", ".5", "5x", "1e", "e5", "1e99999999999", "--5", "1.2.3", "1/0", "1/x", "٣"]
        {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
