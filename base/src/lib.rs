//! The vocabulary of picklock: what a lock, a world, a fault, an event and a verdict are.
//!
//! Nothing here does I/O, reads a clock or knows a store; every other crate speaks these words.

#![warn(missing_docs)]

mod backend;
mod cause;
mod client;
mod client_ability;
mod clock;
mod delta;
mod emplace;
mod error_code;
mod extra_promise;
mod facts;
mod fault;
mod history;
mod key;
mod lease;
mod ledger;
mod length;
mod lock;
mod lock_info;
mod named_server;
mod nemesis;
pub mod phrases;
mod program_command;
mod readiness;
mod rng;
mod run;
mod script_file;
mod spec;
mod spread;
mod task;
mod time;
mod toxiproxy_at;
pub mod units;
mod verdict;
mod version;
mod visible;
mod wakeups;
mod worker;
mod world;

pub use backend::{Backend, BackendError, Message, Notice, Passing};
pub use cause::{Cause, Causes};
pub use client::{
    Acquire, CANCELLED, ClientReply, ClientRequest, Command, Init, LossLevel, Mailbox,
    PROTOCOL_VERSION, ReplyOutcome, Response,
};
pub use client_ability::ClientAbility;
pub use clock::{Clock, ClockSetting};
pub use delta::DeltaDebugger;
pub use emplace::emplace;
pub use error_code::ErrorCode;
pub use extra_promise::ExtraPromise;
pub use facts::{Facts, Removed, Stall};
pub use fault::{
    ACTIONS, Ability, Action, ActionExtent, ActionSpec, ClockChange, Data, Direction, Effect,
    ExtentUnit, Family, Fault, FaultId, Hits, LinkFault, Matters, Node, Target,
};
pub use history::{
    Event, F, FaultEvent, HEADER_VERSION, Header, History, Kind, Process, event_line, header_line,
};
pub use key::Key;
pub use lease::{LeaseEnd, Leases};
pub use ledger::{Change, LEDGER_VERSION, Ledger, LedgerEntry, LedgerError};
pub use length::{Length, NoLength};
pub use lock::{AcquireError, Grant, Lock, Mode, Recipe, ReleaseError};
pub use lock_info::{LockInfo, LockName, NoLockName, Shape};
pub use named_server::{NamedServer, NoNamedServer};
pub use nemesis::{
    CallView, ClientState, ClientView, Nemesis, NemesisSpec, Next, ServerStanding, ServersNeeded,
    View,
};
pub use program_command::ProgramCommand;
pub use readiness::{Lack, Readiness};
pub use rng::Rng;
pub use run::{
    Ensemble, Known, Pace, Promises, RUN_VERSION, Run, RunInfo, ScriptedFault, ServerInfo, Wakes,
};
pub use script_file::ScriptFile;
pub use spec::{EnsembleSpec, RunSpec, UNLIMITED_NS, nanos};
pub use spread::Spread;
pub use task::{HOLDS, Load, Needs, Step, Task, Turn, Wait, Walk};
pub use time::{Mono, WallTime};
pub use toxiproxy_at::{NoToxiproxy, ToxiproxyAt};
pub use verdict::{Anomaly, Belief, Measure, Outcome, Verdict};
pub use version::WrongVersion;
pub use visible::{is_hidden, show_strings, visible, visible_json};
pub use wakeups::Wakeups;
pub use worker::{WorkerGrant, WorkerMachine, WorkerRequest, WorkerStep};
pub use world::{
    Answer, CallError, Link, LocalFuture, Protocol, World, further_connection,
    server_and_connection,
};
