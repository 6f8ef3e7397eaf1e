//! Junk for a real server: as many items as there is room for.
//!
//! Each of them evicts the item at the end of the list once there is no room left, so that nothing
//! is there after them that was there before. What is stored meanwhile may evict junk, which does
//! not count.

use super::memory::CAPACITY;
use crate::Junk;

/// The way to fill the memory of a server.
pub const JUNK: Junk = Junk { fill, evicted, take_out };

const STATS: &str = "stats\r\n";

fn fill() -> Vec<u8> {
    let store = each(|n| format!("set picklock-junk-{n} 0 0 1 noreply\r\n-\r\n"));
    // Answered with EN by what is no longer there.
    let look = each(|n| format!("mg picklock-junk-{n}\r\n"));
    format!("{STATS}{store}{look}{STATS}quit\r\n").into_bytes()
}

fn take_out() -> Vec<u8> {
    let delete = each(|n| format!("delete picklock-junk-{n} noreply\r\n"));
    format!("{delete}quit\r\n").into_bytes()
}

fn each(command: impl Fn(usize) -> String) -> String {
    (0..CAPACITY).map(command).collect()
}

fn evicted(answers: &str) -> Option<u64> {
    let mut counts = answers.lines().filter_map(evictions);
    let (before, after) = (counts.next()?, counts.next()?);
    let junk = answers.lines().filter(|line| line.trim_end() == "EN").count() as u64;
    Some(after.saturating_sub(before).saturating_sub(junk))
}

/// Reads the number of evictions so far from a line of a server's statistics.
pub fn evictions(line: &str) -> Option<u64> {
    line.strip_prefix("STAT evictions ")?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_that_was_evicted_does_not_count() {
        let stats = |evictions| format!("STAT pid 1\r\nSTAT evictions {evictions}\r\nEND\r\n");
        let answers = |looks| stats(7) + looks + &stats(10);
        assert_eq!(evicted(&answers("HD\r\nHD\r\n")), Some(3));
        assert_eq!(evicted(&answers("EN\r\nHD\r\n")), Some(2));
        assert_eq!(evicted(&answers("EN\r\nEN\r\nEN\r\n")), Some(0));
        assert_eq!(evicted(&stats(7)), None, "it was cut off");
    }
}
