//! What the harness and a client say to each other: JSON lines over stdin and stdout for a real
//! process, the same values for a simulated one.
//!
//! The harness sends a [`Request`] and the client answers it with one [`Response`] of the same
//! `id`. Time stamps are the harness's; only `lost` and the store facts of an answer carry clock
//! readings of the client. `lost` and `notified` are notices, without an `id`.

use crate::{Facts, Key, Mode};
use serde::{Deserialize, Serialize};
use std::task::{Context, Poll};

/// A line to the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The harness's number for this request; its response repeats it.
    pub id: u64,
    /// What to do.
    #[serde(flatten)]
    pub command: Command,
}

/// What a client can be told to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Command {
    /// The first line: who the client is and where its servers are. Answered with `ok` once the
    /// client is connected.
    Init(Box<Init>),
    /// Acquire. Answered with `ok`, `fail` or `info`.
    Acquire(Box<Acquire>),
    /// Answered with `ok` when the client runs. That answer is the moment at which its read or
    /// write leaves for the vault: a paused client's write arrives late, as in life.
    Touch {
        /// Which lock's vault.
        key: Key,
    },
    /// Release. Answered with `ok`, `fail` or `info`.
    Release {
        /// Which lock.
        key: Key,
    },
    /// End.
    Exit,
}

/// What lock a client is to acquire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acquire {
    /// Which.
    pub key: Key,
    /// How.
    pub mode: Mode,
    /// How long the client may wait for it, in nanoseconds.
    pub patience: u64,
}

/// Who a client is and where its servers are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    /// The lock to use, by its name in the catalogue.
    pub algo: String,
    /// The client's process number, unique in the run.
    pub process: u32,
    /// The addresses of this client's own links, `host:port`, one a server.
    pub servers: Vec<String>,
    /// The lock's time to live, or its session time-out, in nanoseconds.
    pub ttl: u64,
    /// How long a call to a server may take, in nanoseconds.
    pub call_timeout: u64,
    /// Seeds the client's randomness.
    pub seed: u64,
}

/// A line from the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The request that it answers; `None` for a notice that nobody asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<u64>,
    /// The answer.
    #[serde(flatten)]
    pub reply: Reply,
}

/// How a request ended, or what a client has to say on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Reply {
    /// It happened.
    Ok {
        /// The fencing token of a grant, where the lock has one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        token: Option<u64>,
        /// What the store said, times by the client's CLOCK_MONOTONIC.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        facts: Option<Box<Facts>>,
    },
    /// It certainly did not happen.
    Fail {
        /// Why.
        error: String,
        /// What the store said all the same.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        facts: Option<Box<Facts>>,
    },
    /// It may have happened, or may happen later.
    Info {
        /// Why this is not known.
        error: String,
    },
    /// A notice: the client has learnt that it may have lost this lock, and touches nothing more.
    Lost {
        /// Which lock.
        key: Key,
        /// The client's CLOCK_MONOTONIC when it learnt it, in nanoseconds.
        at: u64,
        /// How it learnt it.
        error: String,
    },
    /// A notice: the store has woken this client, which waits for this lock. It will look again.
    Notified {
        /// Which lock.
        key: Key,
    },
}

impl Reply {
    /// It happened, and there is nothing more to say.
    pub fn ok() -> Self {
        Self::Ok { token: None, facts: None }
    }

    /// It certainly did not happen, and there is nothing more to say.
    pub fn fail(error: impl Into<String>) -> Self {
        Self::Fail { error: error.into(), facts: None }
    }

    /// Reads every time in it on another clock.
    pub fn on_clock(&mut self, read: impl Fn(u64) -> u64) {
        match self {
            Self::Ok { facts: Some(facts), .. } | Self::Fail { facts: Some(facts), .. } => {
                facts.on_clock(read);
            }
            Self::Lost { at, .. } => *at = read(*at),
            _ => {}
        }
    }
}

/// A client's end of the conversation.
pub trait Mailbox {
    /// The next request, if it is there; `None` when the harness has hung up.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Request>>;

    /// Says something to the harness.
    fn say(&mut self, response: Response);
}
