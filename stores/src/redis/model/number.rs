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

/// A score: a number as C's `strtod` reads it, with nothing before it and nothing behind it.
pub fn float(bytes: &[u8]) -> Option<f64> {
    let (number, rest) = float_before(bytes);
    let starts = bytes.first().is_some_and(|byte| !is_space(*byte));
    Some(number)
        .filter(|number| starts && rest.is_empty() && !number.is_nan() && is_exact(bytes, *number))
}

/// Returns false for a number that is too great or too small for a `double`, which C calls a range
/// error.
fn is_exact(bytes: &[u8], number: f64) -> bool {
    let names = |byte: &u8| matches!(byte.to_ascii_lowercase(), b'i');
    let digits = || bytes.iter().take_while(|byte| !matches!(byte, b'e' | b'E' | b'p' | b'P'));
    match number {
        0.0 => !digits().any(|digit| matches!(digit, b'1'..=b'9')),
        number if number.is_infinite() => bytes.iter().any(names),
        _ => true,
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Reads a number as C's `strtod` does, and returns it with the bytes behind it: 0 and all of them
/// if there is none.
pub fn float_before(bytes: &[u8]) -> (f64, &[u8]) {
    let text = &bytes[bytes.iter().take_while(|byte| is_space(**byte)).count()..];
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1.0, digits),
        [b'+', digits @ ..] => (1.0, digits),
        _ => (1.0, text),
    };
    let read = named(digits).or_else(|| hexadecimal(digits)).or_else(|| decimal(digits));
    read.map_or((0.0, bytes), |(number, length)| (sign * number, &digits[length..]))
}

/// The length of the name that a text begins with, in whatever case.
fn named(text: &[u8]) -> Option<(f64, usize)> {
    let names = [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)];
    names.into_iter().find_map(|(name, number)| {
        let start = text.get(..name.len())?;
        start.eq_ignore_ascii_case(name.as_bytes()).then_some((number, name.len()))
    })
}

fn digits(text: &[u8], is_digit: fn(&u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_digit(byte)).count()
}

/// The length of digits with or without a point among them; `None` if there is no digit.
fn mantissa(text: &[u8], is_digit: fn(&u8) -> bool) -> Option<usize> {
    let whole = digits(text, is_digit);
    let part = match text.get(whole) {
        Some(b'.') => Some(digits(&text[whole + 1..], is_digit)),
        _ => None,
    };
    (whole + part.unwrap_or_default() > 0).then(|| whole + part.map_or(0, |part| part + 1))
}

/// The length of an exponent behind this letter; 0 if there is none.
fn exponent(text: &[u8], letter: u8) -> usize {
    if text.first().map(u8::to_ascii_lowercase) != Some(letter) {
        return 0;
    }
    let sign = usize::from(matches!(text.get(1), Some(b'-' | b'+')));
    match digits(&text[1 + sign..], u8::is_ascii_digit) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

fn decimal(text: &[u8]) -> Option<(f64, usize)> {
    let mantissa = mantissa(text, u8::is_ascii_digit)?;
    let length = mantissa + exponent(&text[mantissa..], b'e');
    let number = std::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    Some((number, length))
}

/// Reads a hexadecimal number, of as many digits as a `double` holds.
fn hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))?;
    let mantissa = mantissa(text, u8::is_ascii_hexdigit)?;
    let power = exponent(&text[mantissa..], b'p');
    let scale = match power {
        0 => 0,
        power => {
            let digits = std::str::from_utf8(&text[mantissa + 1..mantissa + power]).ok()?;
            digits.parse::<i32>().ok()?
        }
    };
    let (mut number, mut places) = (0.0, None);
    for byte in &text[..mantissa] {
        match char::from(*byte).to_digit(16) {
            Some(digit) => {
                number = number * 16.0 + f64::from(digit);
                places = places.map(|places: i32| places + 4);
            }
            None => places = Some(0),
        }
    }
    Some((number * f64::from(scale - places.unwrap_or(0)).exp2(), 2 + mantissa + power))
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
    fn floats_are_read_as_c_reads_them() {
        for (text, number, rest) in [
            ("", 0.0, ""),
            ("12", 12.0, ""),
            (" \t-1.5e3x", -1500.0, "x"),
            ("1e", 1.0, "e"),
            ("1e+", 1.0, "e+"),
            (".5", 0.5, ""),
            ("5.", 5.0, ""),
            (".", 0.0, "."),
            ("-", 0.0, "-"),
            ("0x10", 16.0, ""),
            ("0x1.8p3", 12.0, ""),
            ("0x", 0.0, "x"),
            ("+Infinity", f64::INFINITY, ""),
            ("-infx", f64::NEG_INFINITY, "x"),
        ] {
            assert_eq!(float_before(text.as_bytes()), (number, rest.as_bytes()), "{text:?}");
        }
        assert!(float_before(b"nan").0.is_nan());
        for text in ["", " 1", "1 ", "nan", "1e400", "-1e-400", "1e", "0x"] {
            assert_eq!(float(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(float(b"0e5"), Some(0.0));
        assert_eq!(float(b"-inf"), Some(f64::NEG_INFINITY));
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
