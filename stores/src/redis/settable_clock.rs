//! The wall clock of a real Redis server, by which it counts every time to live.

use crate::settable_clock::FAKETIME;
use crate::{Need, SettableClock};

/// The way to set it and to read it. The allocator that Redis comes with asks for the time before
/// libfaketime is ready to tell it, and both wait for each other; this one does not.
pub const SETTABLE_CLOCK: SettableClock = SettableClock {
    libraries: &[Need { what: "libmimalloc.so.2", package: "libmimalloc2.0" }, FAKETIME],
    question: b"TIME\r\nQUIT\r\n",
    micros,
};

fn micros(answer: &str) -> Option<i64> {
    let mut numbers = answer.lines().filter_map(|line| line.parse::<i64>().ok());
    let (seconds, micros) = (numbers.next()?, numbers.next()?);
    Some(seconds * 1_000_000 + micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read_from_the_answer_and_from_no_other() {
        let answer = "*2\r\n$10\r\n1795486754\r\n$5\r\n81599\r\n+OK\r\n";
        assert_eq!(micros(answer), Some(1_795_486_754_081_599));
        assert_eq!(micros("-ERR max number of clients reached\r\n"), None);
        assert_eq!(micros("*2\r\n$10\r\n1795486754\r\n"), None);
    }
}
