//! `cancel`: callers that stop waiting for their lock, or for their release to end, as a task does
//! that is aborted, or a thread that is interrupted. Nobody knows then what the store has done, and
//! whatever the lock has left behind stays with a client that lives on.

use base::{Step, Task, Wait};

/// The part of a hold after which a caller that queues for the lock gives up.
const IN_THE_QUEUE: u32 = 2;

/// The part of a hold that is about as long as a round trip.
const ON_THE_WAY: u32 = 64;

pub const TASK: Task = Task {
    name: "cancel",
    summary: "each client stops waiting for an acquire or a release now and then, in mid-call",
    scripts: &[&acquire(IN_THE_QUEUE), &acquire(ON_THE_WAY), RELEASE],
    // A client with one worker would end with what it was waiting for.
    workers: 2,
    ..Task::CONTEND
};

const fn acquire(part: u32) -> [Step; 6] {
    [
        Step::Cancel(part),
        Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
        Step::Read(0),
        Step::Work(1),
        Step::Write(0),
        Step::Release(0),
    ]
}

const RELEASE: &[Step] = &[
    Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
    Step::Read(0),
    Step::Work(1),
    Step::Write(0),
    Step::Cancel(ON_THE_WAY),
    Step::Release(0),
];
