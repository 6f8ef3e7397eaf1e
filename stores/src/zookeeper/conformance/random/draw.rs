//! The vocabulary of random sequences: requests and the ends of sessions.

use super::{SILENT, SequenceStep};
use crate::zookeeper::{CreateMode, Request, WatchId};
use base::Rng;

/// The number of steps in a sequence.
const STEPS: u64 = 30;

/// A few names, so that requests meet each other. The last ones are names that the servers give.
const NAMES: &[&str] = &["/a", "/a", "/b", "/q-0000000000", "/q-0000000001"];

/// Malformed continuations of the root's path.
const MALFORMED: &[&str] = &["/", "/a/", "//a", "/./a", "/..", "/.", "/a\u{1}", "/a\u{f8ff}"];

/// The sequence of this seed.
pub fn sequence(seed: u64) -> Vec<SequenceStep> {
    let mut rng = Rng::new(seed);
    // A session that falls silent takes its time to expire.
    let expires = rng.chance(0.02);
    (0..STEPS).map(|number| step(&mut rng, expires, number)).collect()
}

fn step(rng: &mut Rng, expires: bool, number: u64) -> SequenceStep {
    let session = match rng.below(5) {
        0 if expires => SILENT,
        n => n as usize % SILENT,
    };
    // A silence takes seconds: one of them must do.
    let ends = if session == SILENT { 0.3 } else { 0.06 };
    if rng.chance(ends) {
        SequenceStep::End(session)
    } else {
        SequenceStep::Call(session, request(rng, number))
    }
}

fn request(rng: &mut Rng, number: WatchId) -> Request {
    let path = path(rng);
    let version = rng.chance(0.3).then(|| rng.below(3) as i32);
    let data = vec![rng.below(256) as u8; rng.below(4) as usize];
    let watch = rng.chance(0.6).then_some(number);
    match rng.below(12) {
        0 | 1 => Request::Create { path, data, mode: CreateMode::Persistent },
        2 => Request::Create { path, data, mode: CreateMode::Ephemeral },
        3 | 4 => {
            let path = path.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
            Request::Create { path, data, mode: CreateMode::EphemeralSequential }
        }
        5 | 6 => Request::Delete { path, version },
        7 => Request::SetData { path, data, version },
        8 => Request::GetData { path, watch },
        9 => Request::Exists { path, watch },
        10 => Request::GetChildren { path, watch },
        _ if rng.chance(0.3) => Request::Sync { path },
        _ => Request::GetChildren { path: String::new(), watch },
    }
}

fn path(rng: &mut Rng) -> String {
    let mut path = String::new();
    for _ in 0..[0, 1, 1, 1, 1, 1, 2, 2, 2, 3][rng.below(10) as usize] {
        path.push_str(rng.pick(NAMES).copied().unwrap_or_default());
    }
    if rng.chance(0.03) {
        path.push_str(rng.pick(MALFORMED).copied().unwrap_or_default());
    }
    path
}
