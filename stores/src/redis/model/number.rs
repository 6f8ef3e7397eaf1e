//! Numbers as Redis reads and writes them.

/// A 64-bit integer, in the one spelling that Redis accepts: no sign but '-', no blanks, no
/// leading zeros, and no "-0".
pub fn integer(bytes: &[u8]) -> Option<i64> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let canonical = bytes == b"0" || matches!(digits.first(), Some(b'1'..=b'9'));
    // Nineteen digits always fit.
    if !canonical || digits.len() > 19 {
        return None;
    }
    let mut number: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u64::from(digit - b'0');
    }
    match digits.len() == bytes.len() {
        true => i64::try_from(number).ok(),
        false => 0i64.checked_sub_unsigned(number),
    }
}

/// A Lua number as C's `%.17g` prints it, which is how a number becomes an argument of
/// `redis.call`.
pub fn lua_number(n: f64) -> String {
    // Up to here every integer has an exact f64 and at most 17 digits, so `%g` prints it plainly.
    if n.fract() == 0.0 && n.abs() < 9e15 {
        return if n == 0.0 && n.is_sign_negative() {
            "-0".into()
        } else {
            format!("{}", n as i64)
        };
    }
    if !n.is_finite() {
        return not_finite(n).into();
    }
    let scientific = format!("{n:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..17).contains(&exponent) {
        trimmed(&format!("{n:.*}", (16 - exponent) as usize)).into()
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
    }
}

/// C's names, with the sign that a NaN has on the usual machine.
fn not_finite(n: f64) -> &'static str {
    match (n.is_nan(), n.is_sign_negative()) {
        (true, true) => "-nan",
        (true, false) => "nan",
        (false, true) => "-inf",
        (false, false) => "inf",
    }
}

fn trimmed(decimal: &str) -> &str {
    match decimal.contains('.') {
        true => decimal.trim_end_matches('0').trim_end_matches('.'),
        false => decimal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_spelling() {
        for (text, value) in [
            ("0", Some(0)),
            ("12", Some(12)),
            ("-7", Some(-7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("18446744073709551617", None),
            ("1x", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("+1", None),
            ("01", None),
            (" 1", None),
            ("1.0", None),
        ] {
            assert_eq!(integer(text.as_bytes()), value, "{text:?}");
        }
    }

    #[test]
    fn numbers_look_as_c_prints_them() {
        for (n, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (42.0, "42"),
            (0.1, "0.10000000000000001"),
            (-1.5, "-1.5"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1.25e300, "1.2500000000000001e+300"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.2500000000000001e-05"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(lua_number(n), text);
        }
    }
}
