//! A lock client of picklock in Rust: one file, which needs `serde_json` alone. Copy it beside your lock:
//!
//! ```ignore
//! mod picklock;
//! use picklock::{Answer, Error, Lock, Run};
//!
//! struct MyLock { /* … */ }
//!
//! impl Lock for MyLock {
//!     type Grant = MyGuard;
//!     const CAN: &'static [&'static str] = &["timed"];
//!
//!     fn acquire(&self, key: &str, timeout: Duration, shared: bool) -> Answer<MyGuard> {
//!         match self.locks.try_lock_for(key, timeout) {
//!             Ok(guard) => Ok(guard),
//!             Err(MyError::TimedOut) => Err(Error::Failed("not granted".into())),
//!             Err(error) => Err(error.into()),
//!         }
//!     }
//!
//!     fn release(&self, guard: MyGuard) -> Answer<()> {
//!         Ok(guard.unlock()?)
//!     }
//! }
//!
//! fn main() {
//!     picklock::serve(|run| MyLock::connected(&run.servers, run.ttl));
//! }
//! ```
//!
//! One lock serves a client process; its workers call it from a thread each. `Error::Failed` says that nothing has
//! happened. Any other error is `Error::Unknown`: nobody knows whether something has. Standard output is the
//! harness's: whatever else the program has to say belongs on standard error.

use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A lock that is tested.
pub trait Lock: Send + Sync + 'static {
    /// The proof that the lock is held, with which it is released.
    type Grant: Send;

    /// The abilities beyond these two methods, in the words of docs/protocol.md: "timed" for an `acquire` that heeds
    /// its timeout, "shared", "permits", "extend", "held". A task that needs another is refused.
    const CAN: &'static [&'static str];

    /// Waits for the lock, at most so long; for a timeout of zero, tries once.
    fn acquire(&self, key: &str, timeout: Duration, shared: bool) -> Answer<Self::Grant>;

    /// Releases the lock.
    fn release(&self, grant: Self::Grant) -> Answer<()>;

    /// Takes several permits of a semaphore, all or none, of which `acquire` takes one.
    fn acquire_permits(&self, _key: &str, _timeout: Duration, _permits: u64) -> Answer<Self::Grant> {
        Err(Error::Unsupported)
    }

    /// Begins the time to live of a grant anew; `Error::Failed` if it is over.
    fn extend(&self, _grant: &mut Self::Grant) -> Answer<()> {
        Err(Error::Unsupported)
    }

    /// Returns true if the lock still claims the grant.
    fn held(&self, _grant: &Self::Grant) -> Answer<bool> {
        Err(Error::Unsupported)
    }

    /// Returns the fencing token of a grant, if it has one.
    fn token(&self, _grant: &Self::Grant) -> Option<u64> {
        None
    }
}

/// The answer of a lock.
pub type Answer<T> = Result<T, Error>;

/// A failure, and its extent.
#[derive(Debug)]
pub enum Error {
    /// Nothing has happened.
    Failed(String),
    /// Nobody knows what has happened.
    Unknown(String),
    /// The lock cannot do that at all: the run ends.
    Unsupported,
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Unknown(error.to_string())
    }
}

/// The run, as the harness tells of it: `init` has all of it.
#[allow(dead_code, reason = "not every lock needs all of it")]
pub struct Run {
    pub ttl: Duration,
    /// The servers, as `host:port`.
    pub servers: Vec<String>,
    pub init: Value,
}

thread_local! {
    static WORKER: Cell<u64> = const { Cell::new(0) };
}

/// The worker that calls the lock on this thread.
#[allow(dead_code, reason = "not every library tells")]
pub fn worker() -> u64 {
    WORKER.get()
}

/// Tells the harness that a worker may have lost what it holds. Callable from any thread.
#[allow(dead_code, reason = "not every library tells")]
pub fn lost(worker: u64, error: &str) {
    say(&json!({"type": "lost", "worker": worker, "level": "lost", "error": error}));
}

/// The same of a loss that is in doubt, and in spite of which the program goes on.
#[allow(dead_code, reason = "not every library tells")]
pub fn doubt(worker: u64, error: &str) {
    say(&json!({"type": "lost", "worker": worker, "level": "doubt", "error": error}));
}

/// Serves the harness until it says `exit` or hangs up.
pub fn serve<L: Lock>(make: impl FnOnce(&Run) -> L) {
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok).map(|line| parsed(&line));
    let Some(init) = lines.next() else { return };
    let servers = init["servers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let run = Run {
        ttl: time(&init["ttl_ns"]),
        servers: servers.map(Into::into).collect(),
        init: init.clone(),
    };
    let lock = Arc::new(make(&run));
    let can: Vec<&str> = L::CAN.iter().copied().chain(["workers"]).collect();
    say(&json!({"id": init["id"], "type": "ok", "version": 1, "can": can}));
    let mut workers: HashMap<u64, Sender<Value>> = HashMap::new();
    for request in lines.take_while(|request| request["op"] != "exit") {
        let number = number(&request["worker"]);
        let worker = workers.entry(number).or_insert_with(|| {
            let (sender, requests) = channel();
            let lock = Arc::clone(&lock);
            std::thread::spawn(move || {
                WORKER.set(number);
                work(&*lock, &requests);
            });
            sender
        });
        worker.send(request).expect("workers end with the process");
    }
    std::process::exit(0); // Threads of the lock need not end.
}

fn work<L: Lock>(lock: &L, requests: &Receiver<Value>) {
    let mut grants = HashMap::new();
    for request in requests {
        let answered = catch_unwind(AssertUnwindSafe(|| answer(lock, &mut grants, &request)));
        let mut answer = match answered.unwrap_or(Err(Error::Unknown("it panicked".into()))) {
            Ok(Some(token)) => json!({"type": "ok", "token": token}),
            Ok(None) => json!({"type": "ok"}),
            Err(Error::Failed(error)) => json!({"type": "fail", "error": error}),
            Err(Error::Unknown(error)) => json!({"type": "info", "error": error}),
            Err(Error::Unsupported) => json!({"type": "fail", "code": "unsupported", "error": "not supported"}),
        };
        answer["id"] = request["id"].clone();
        answer["worker"] = request["worker"].clone();
        say(&answer);
    }
}

/// Does what a request asks for, and returns the fencing token of a grant that has one.
fn answer<L: Lock>(
    lock: &L,
    grants: &mut HashMap<u64, L::Grant>,
    request: &Value,
) -> Answer<Option<u64>> {
    let hold = number(&request["hold"]);
    let none = || Error::Failed("not held".into());
    match request["op"].as_str() {
        Some("touch") => {}
        Some("release") => lock.release(grants.remove(&hold).ok_or_else(none)?)?,
        Some("extend") => lock.extend(grants.get_mut(&hold).ok_or_else(none)?)?,
        Some("held") => {
            if !lock.held(grants.get(&hold).ok_or_else(none)?)? {
                return Err(none());
            }
        }
        Some("acquire") => {
            let key = request["key"].as_str().unwrap_or_default();
            let timeout = time(&request["acquire_timeout_ns"]);
            let grant = match number(&request["permits"]) {
                0 | 1 => lock.acquire(key, timeout, request["mode"] == "shared")?,
                permits => lock.acquire_permits(key, timeout, permits)?,
            };
            let token = lock.token(&grant);
            grants.insert(hold, grant);
            return Ok(token);
        }
        _ => return Err(Error::Unsupported),
    }
    Ok(None)
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).expect("the harness sends JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn time(nanoseconds: &Value) -> Duration {
    Duration::from_nanos(number(nanoseconds))
}

fn say(answer: &Value) {
    let mut out = std::io::stdout().lock();
    // Who does not listen any more has ended the run.
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}
