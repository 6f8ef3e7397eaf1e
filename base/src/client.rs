//! The protocol between the harness and a client: JSON lines over stdin and stdout for a real
//! process, the same values for a simulated one.
//!
//! The harness sends a [`ClientRequest`] and the client answers it with one [`Response`] of the
//! same `id`. Time stamps are the harness's; only `lost` and the store facts of an answer carry
//! times that the client has read: by CLOCK_MONOTONIC, which all processes of a machine share. A
//! client whose own clock is wrong translates them, by how far the two are apart when it speaks.
//! `lost`, `notified` and `calls` are notices, without an `id`.
//!
//! A client has one worker or several, which share its connections as threads of a process do. Each
//! has one request at a time; those of different workers may be answered in any order. A worker
//! number that was never used before is a new worker. A worker has up to [`HOLDS`](crate::HOLDS)
//! grants at once, by numbers that its requests give them.

use crate::{ClientAbility, ClockSetting, ErrorCode, Facts, Key, Kind, Mode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::task::{Context, Poll};

/// The version of the protocol that this build speaks.
pub const PROTOCOL_VERSION: u32 = 1;

/// A line to the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRequest {
    /// The harness's number for this request; its response repeats it.
    pub id: u64,
    /// The worker that is asked, by its process number in the history. It says nothing in `init`
    /// and `exit`, which concern the whole client.
    #[serde(default)]
    pub worker: u32,
    /// The command to carry out.
    #[serde(flatten)]
    pub command: Command,
}

/// A command of the harness to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Command {
    /// The first line: the client's identity and the addresses of its servers. Answered with `ok`
    /// once the client is connected.
    Init(Box<Init>),
    /// Acquire a lock. Answered with `ok`, `fail` or `info`.
    Acquire(Box<Acquire>),
    /// Answered with `ok` when the client runs. That answer is the moment at which its read or
    /// write leaves for the vault: a paused client's write arrives late, as in life.
    Touch {
        /// The number of the grant under which the vault is read or written.
        #[serde(default)]
        hold: usize,
    },
    /// Change the mode of a grant without letting go of it. Answered with `ok`, with `fail` when
    /// the grant is what it was, or with `info`.
    Convert {
        /// The number of the grant.
        #[serde(default)]
        hold: usize,
        /// The mode in which it is to be held.
        mode: Mode,
    },
    /// Ask for more time for a grant: its time to live begins anew. Answered with `ok`, with `fail`
    /// when the grant is over, or with `info`.
    Extend {
        /// The number of the grant.
        #[serde(default)]
        hold: usize,
    },
    /// Say whether the lock still claims a grant. Answered with `ok`, with `fail` when the grant is
    /// over, or with `info`.
    Held {
        /// The number of the grant.
        #[serde(default)]
        hold: usize,
        /// The time within which an `ok` counts: a later one claims nothing.
        within_ns: u64,
    },
    /// Release a lock. Answered with `ok`, `fail` or `info`.
    Release {
        /// The number of the grant.
        #[serde(default)]
        hold: usize,
    },
    /// Make the clocks of the client's machine wrong in this way and no other from now on. The
    /// monotonic clock goes at the same rate as the wall clock, and is never set. Answered with
    /// `clock` at once, whatever the client's workers do.
    Clock(ClockSetting),
    /// Cancel a request that is under way, an acquire or a release, as a caller does that waits no
    /// longer. It is not answered; the other request is, and with `info` if nobody knows what it
    /// has done.
    Cancel {
        /// The number of that request. It may have been answered already.
        request: u64,
    },
    /// End the client process.
    Exit,
}

/// The lock that a client is to acquire, and the manner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acquire {
    /// The key of the lock.
    pub key: Key,
    /// The number that its grant gets; a worker may already hold others.
    #[serde(default)]
    pub hold: usize,
    /// The mode in which it is to be held.
    pub mode: Mode,
    /// The number of permits to take, all or none. Other numbers than 1 are sent only to a client
    /// that says it can take several.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub permits: u32,
    /// The longest time that the client may wait for it.
    pub acquire_timeout_ns: u64,
}

/// The identity of a client, and the servers and time-outs that it works with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    /// The version of the protocol.
    #[serde(default = "version")]
    pub version: u32,
    /// The lock to use, by its name in the catalogue.
    pub algo: String,
    /// The client's process number, unique in the run.
    pub process: u32,
    /// The addresses of this client's own links, `host:port`, one per server.
    pub servers: Vec<String>,
    /// The same as the variables of its environment have them, by their names: URLs, mostly.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The keys of the locks that it will be asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Key>,
    /// The name that all its keys begin with on servers that others use, too; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub allotment: String,
    /// The name of their layout; empty for the usual one of the lock.
    #[serde(default)]
    pub topology: String,
    /// The lock's time to live, or its session time-out.
    pub ttl_ns: u64,
    /// The longest time that a call to a server may take.
    pub call_timeout_ns: u64,
    /// Seeds the client's randomness.
    pub seed: u64,
    /// The faults of its machine's clocks.
    #[serde(default, skip_serializing_if = "ClockSetting::is_right")]
    pub clock: ClockSetting,
    /// The time that these clocks have gained so far at a wrong rate, in which the wall clock was
    /// not set.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drifted_ns: i64,
    /// True if it reports the name of each command that it sends to a server (`calls`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_calls: bool,
    /// The number of workers. A client with one need not look at the worker of a request.
    #[serde(default = "one")]
    pub workers: u32,
}

/// The identity of no client, on no servers; of the version that this build speaks.
impl Default for Init {
    fn default() -> Self {
        Self {
            version: PROTOCOL_VERSION,
            algo: String::new(),
            process: 0,
            servers: Vec::new(),
            variables: BTreeMap::new(),
            keys: Vec::new(),
            allotment: String::new(),
            topology: String::new(),
            ttl_ns: 0,
            call_timeout_ns: 0,
            seed: 0,
            clock: ClockSetting::RIGHT,
            drifted_ns: 0,
            names_calls: false,
            workers: 1,
        }
    }
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

const fn version() -> u32 {
    PROTOCOL_VERSION
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// A line from the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The request that it answers; `None` for a notice that nobody asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<u64>,
    /// The worker that answers, or that a notice concerns.
    #[serde(default)]
    pub worker: u32,
    /// The outcome or the notice.
    #[serde(flatten)]
    pub reply: ClientReply,
}

/// The outcome of a request, or a notice from the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ClientReply {
    /// The command took effect.
    Ok {
        /// The fencing token of a grant, where the lock has one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        token: Option<u64>,
        /// The store facts, with times by CLOCK_MONOTONIC.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        facts: Option<Box<Facts>>,
        /// The time for which a grant is good from now on, as the lock says. `None`: it does not.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        valid_ns: Option<u64>,
        /// The version of the protocol that the client speaks, in the answer to `init`. `None`: it
        /// goes by the harness's.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        version: Option<u32>,
        /// The abilities of the client, in the answer to `init`. `None`: it does not say.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        can: Option<Box<[ClientAbility]>>,
        /// A reason, which goes with no success.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        code: Option<ErrorCode>,
    },
    /// The command certainly had no effect.
    Fail {
        /// The reason, in words.
        #[serde(default)]
        error: String,
        /// The reason, as data.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        code: Option<ErrorCode>,
        /// The store facts that are known in spite of the failure.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        facts: Option<Box<Facts>>,
    },
    /// The command may have taken effect, or may do so later.
    Info {
        /// The reason for the doubt, in words.
        #[serde(default)]
        error: String,
        /// The reason, as data.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        code: Option<ErrorCode>,
    },
    /// The clocks are as the harness wants them.
    Clock {
        /// The reading of the wall clock after that, since 1970.
        wall_ns: u64,
    },
    /// A notice: the client has learnt that it may have lost this lock. If it is lost, it touches
    /// nothing more; if that is in doubt, it goes on.
    Lost {
        /// The lock in question. `None`: all that the worker holds.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        key: Option<Key>,
        /// The level of the loss.
        #[serde(default)]
        level: LossLevel,
        /// CLOCK_MONOTONIC when it learnt of the loss. `None`: just now.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        at_ns: Option<u64>,
        /// The sign of the loss, in words.
        #[serde(default)]
        error: String,
    },
    /// A notice: the worker sends this command to a server.
    Calls {
        /// The name of the command.
        command: String,
    },
    /// A notice: the store has woken this client, which waits for this lock. It will look again.
    Notified {
        /// The lock that the client waits for.
        key: Key,
    },
}

/// The level of a loss that a client reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossLevel {
    /// It may hold the lock or not, as after its connection broke, and acts as if it did.
    Doubt,
    /// It acts as if it no longer held the lock.
    #[default]
    Lost,
}

impl ClientReply {
    /// An `ok` without token or facts.
    pub fn ok() -> Self {
        Self::done(None, None)
    }

    /// An `ok` to anything but `init`.
    pub fn done(token: Option<u64>, facts: Option<Box<Facts>>) -> Self {
        Self::Ok { token, facts, valid_ns: None, version: None, can: None, code: None }
    }

    /// A `fail` without facts.
    pub fn fail(error: impl Into<String>) -> Self {
        Self::Fail { error: error.into(), code: None, facts: None }
    }

    /// An `info` in words alone.
    pub fn info(error: impl Into<String>) -> Self {
        Self::Info { error: error.into(), code: None }
    }

    /// Returns the mistake in the code of an answer, in words; `None` if there is none. A client
    /// that cannot do what it is asked for says so by a code, too.
    pub fn mistake(&self) -> Option<String> {
        let (code, error, is_definite) = match self {
            Self::Ok { code: Some(code), .. } => {
                let (word, about) = (code.word(), code.about());
                return Some(format!("it said `ok` with the code `{word}` ({about})"));
            }
            Self::Fail { code: Some(code), error, .. } => (code, error, true),
            Self::Info { code: Some(code), error } => (code, error, false),
            _ => return None,
        };
        let (word, about) = (code.word(), code.about());
        match code.is_definite() {
            _ if *code == ErrorCode::Unsupported => {
                Some(format!("it cannot do what it was asked for, as it says: {error}"))
            }
            Some(definite) if definite != is_definite => {
                let (kind, other) = if is_definite { ("fail", "info") } else { ("info", "fail") };
                Some(format!(
                    "it said `{kind}` with the code `{word}` ({about}), which is `{other}`"
                ))
            }
            _ => None,
        }
    }

    /// Notes when a grant runs out that was heard of now, by the harness's clock.
    pub fn date(&mut self, now_ns: u64) {
        if let Self::Ok { valid_ns: Some(valid_ns), facts, .. } = self {
            let facts = facts.get_or_insert_default();
            facts.expires_ns.get_or_insert(now_ns.saturating_add(*valid_ns));
        }
    }

    /// Returns how it ends a request: the kind of the event, the reason if it was no success, the
    /// facts and the token. `None`: it is a notice.
    pub fn outcome(self) -> Option<ReplyOutcome> {
        let (kind, error, facts, token) = match self {
            Self::Ok { token, facts, .. } => (Kind::Ok, None, facts, token),
            Self::Fail { error, facts, .. } => (Kind::Fail, Some(error), facts, None),
            Self::Info { error, .. } => (Kind::Info, Some(error), None, None),
            // No answer to what a worker asks for.
            Self::Clock { .. } => (Kind::Info, None, None, None),
            Self::Lost { .. } | Self::Calls { .. } | Self::Notified { .. } => return None,
        };
        Some(ReplyOutcome { kind, error, facts, token })
    }

    /// Converts every time in the reply to another clock.
    pub fn on_clock(&mut self, read: impl Fn(u64) -> u64) {
        match self {
            Self::Ok { facts: Some(facts), .. } | Self::Fail { facts: Some(facts), .. } => {
                facts.on_clock(read);
            }
            Self::Lost { at_ns: Some(at_ns), .. } => *at_ns = read(*at_ns),
            _ => {}
        }
    }
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyOutcome {
    /// The kind of the event that records it.
    pub kind: Kind,
    /// The reason, in words, if it was no success.
    pub error: Option<String>,
    /// The store facts.
    pub facts: Option<Box<Facts>>,
    /// The fencing token of a grant, where the lock has one.
    pub token: Option<u64>,
}

/// The error of a request of unknown outcome whose caller stopped waiting for it.
pub const CANCELLED: &str = "cancelled";

/// A client's end of the conversation.
pub trait Mailbox {
    /// The next request, if it is there; `None` when the harness has hung up.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ClientRequest>>;

    /// Ready once the harness has cancelled this request, which is under way. A client with one
    /// worker is never asked to.
    fn poll_cancel(&mut self, _request: u64, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    /// Says something to the harness.
    fn say(&mut self, response: Response);
}
