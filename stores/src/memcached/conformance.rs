//! The conformance suite: random sequences of commands, answered by the model and by a real server.
//!
//! No reply depends on the moment: values live for ever, for much longer than a sequence, or not at
//! all. The life of values with an `exptime` of two seconds is measured besides.
//!
//! Some sequences fill the server's memory first: then the replies tell what it has evicted, and
//! its own count of that is compared, too.

#[cfg(feature = "real")]
mod arm;

#[cfg(feature = "real")]
pub use arm::real_arm;

use super::memory::CAPACITY;
use super::{Request, Server};
use crate::model::{Clocks, ServerModel};
use base::{Mono, Rng, WallTime};
use std::time::Duration;

/// A sequence of commands on three keys.
pub fn sequence(seed: u64) -> Vec<Request> {
    let mut rng = Rng::new(seed);
    (0..40).map(|_| on(rng.below(3).to_string(), &mut rng)).collect()
}

/// A command on a key.
fn on(key: String, rng: &mut Rng) -> Request {
    let exptime = [0, 1_000, -1][rng.below(3) as usize];
    let value = format!("v{}", rng.below(100));
    match rng.below(4) {
        0 => Request::Add { key, value, exptime },
        1 => Request::Set { key, value, exptime },
        2 => Request::Get { key },
        _ => Request::Delete { key },
    }
}

/// The number of keys that are stored early in a sequence under pressure, and looked at late.
const EARLY: u64 = 40;

/// A sequence of commands on a server whose memory they fill: twice, so that it does not matter
/// what was there before. In between come the keys that are the last in its memory then.
pub fn pressed(seed: u64) -> Vec<Request> {
    let mut rng = Rng::new(seed);
    let early = |n: u64| format!("early-{n}");
    let mut sequence: Vec<Request> = fill("first", CAPACITY).collect();
    sequence.extend((0..EARLY).map(|n| {
        let exptime = [0, 1_000, -1][rng.below(3) as usize];
        Request::Set { key: early(n), value: "v".into(), exptime }
    }));
    let rest = CAPACITY - EARLY as usize + rng.below(10) as usize;
    sequence.extend(fill("second", rest));
    sequence.extend((0..60).map(|_| on(early(rng.below(EARLY)), &mut rng)));
    sequence
}

/// Commands that store so many new items.
fn fill(name: &str, items: usize) -> impl Iterator<Item = Request> {
    let key = move |n| format!("{name}-{n}");
    (0..items).map(move |n| Request::Set { key: key(n), value: "v".into(), exptime: 0 })
}

/// Commands that show which of two keys was evicted: the first to be stored, unless the use of it
/// between the two halves counts.
pub fn used() -> [Vec<Request>; 2] {
    let set = |key: &str| Request::Set { key: key.into(), value: "v".into(), exptime: 0 };
    let get = |key: &str| Request::Get { key: key.into() };
    let mut late = vec![get("a")];
    late.extend(fill("late", CAPACITY - 1));
    late.extend([get("a"), get("b")]);
    [vec![set("a"), set("b")], late]
}

/// Lets time pass for a model.
pub fn pass(server: &mut Server, time: Duration) {
    let mono = Mono::ZERO + Duration::from_secs(server.now() as u64) + time;
    server.tick(Clocks { wall: WallTime::from_nanos(0), mono }, &mut Vec::new());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memcached::Reply;
    use crate::memcached::memory::GRAIN;

    /// The replies of a model to a sequence.
    fn expected(server: &mut Server, sequence: &[Request]) -> Vec<Reply> {
        sequence.iter().map(|request| server.execute(request)).collect()
    }

    #[test]
    fn a_sequence_under_pressure_shows_what_was_evicted_and_what_was_not() {
        let (mut found, mut missed, mut evicted) = (0, 0, 0);
        for seed in 0..10 {
            let mut server = Server::default();
            let replies = expected(&mut server, &pressed(seed));
            let late = &replies[replies.len() - 60..];
            found += late.iter().filter(|reply| matches!(reply, Reply::Value(Some(_)))).count();
            missed += late.iter().filter(|reply| matches!(reply, Reply::Value(None))).count();
            evicted += server.evictions();
        }
        assert!(found > 10 && missed > 10 && evicted > 100, "{found} {missed} {evicted}");
    }

    #[test]
    fn a_use_counts_after_a_minute() {
        for (seconds, there) in [(GRAIN, [false, true]), (GRAIN + 1, [true, false])] {
            let ([early, late], mut server) = (used(), Server::default());
            expected(&mut server, &early);
            pass(&mut server, Duration::from_secs(seconds as u64));
            let replies = expected(&mut server, &late);
            let last = &replies[replies.len() - 2..];
            assert_eq!([0, 1].map(|n| last[n] != Reply::Value(None)), there, "{seconds}");
        }
    }
}
