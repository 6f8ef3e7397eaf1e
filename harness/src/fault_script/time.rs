//! Times of a fault script: `2.5s`, or so many times the ttl.

use std::time::Duration;

/// The unit of a time that goes with the ttl of the run.
const TTL: &str = "ttl";

/// No run lasts longer.
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Reads a time.
///
/// # Errors
/// One line that says how to write it.
pub fn read(text: &str, ttl: Duration) -> Result<Duration, String> {
    let time = match text.strip_suffix(TTL) {
        Some(times) => {
            let times: Option<f64> = times.trim_end().parse().ok();
            let time =
                times.and_then(|times| Duration::try_from_secs_f64(ttl.as_secs_f64() * times).ok());
            time.ok_or_else(|| format!("`{text}` is no time; write it as 1.5 ttl"))?
        }
        None => humantime::parse_duration(text).map_err(|why| {
            format!("`{text}` is no time: {why}; write it as 2.5s, 300ms or 1.5 ttl")
        })?,
    };
    match time <= DAY {
        true => Ok(time),
        false => Err(format!("`{text}` is more than a day")),
    }
}

/// The time as a script has it, to the nanosecond.
pub fn write(time: Duration) -> String {
    let nanos = format!("{:09}", time.subsec_nanos());
    match nanos.trim_end_matches('0') {
        "" => format!("{}s", time.as_secs()),
        part => format!("{}.{part}s", time.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_is_written() {
        let ttl = Duration::from_secs(4);
        for nanos in [1, 999_999_999, 1_000_000_000, 2_101_345_678, 86_399_999_999_999] {
            let time = Duration::from_nanos(nanos);
            assert_eq!(read(&write(time), ttl), Ok(time));
        }
        for (text, millis) in [("2.5s", 2_500), ("300ms", 300), ("1.5 ttl", 6_000), ("2ttl", 8_000)]
        {
            assert_eq!(read(text, ttl), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "ttl", "-1 ttl", "-5s", "inf ttl", "1e30 ttl", "2 days"] {
            assert!(read(text, ttl).is_err(), "{text}");
        }
    }
}
