//! The wall clock of a real Redis server, by which it counts every time to live.

use crate::settable_clock::FAKETIME;
use crate::{Need, SettableClock};

/// The way to set it and to read it. The allocator that Redis comes with asks for the time before
/// libfaketime is ready to tell it, and both wait for each other; this one does not. A Sentinel
/// knows neither TIME nor QUIT, but hangs up on nonsense.
pub const SETTABLE_CLOCK: SettableClock = SettableClock {
    libraries: &[Need { what: "libmimalloc.so.2", package: "libmimalloc2.0" }, FAKETIME],
    question: b"INFO server\r\n*nonsense\r\n",
    micros,
};

fn micros(answer: &str) -> Option<i64> {
    let (_, rest) = answer.split_once("server_time_usec:")?;
    rest.split_once('\r')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read_from_the_answer_and_from_no_other() {
        let answer =
            "$80\r\n# Server\r\nserver_time_usec:1795618982365907\r\nhz:10\r\n\r\n-ERR\r\n";
        assert_eq!(micros(answer), Some(1_795_618_982_365_907));
        assert_eq!(micros("-ERR max number of clients reached\r\n"), None);
        assert_eq!(micros("$80\r\n# Server\r\nserver_time_usec:17956"), None);
    }
}
