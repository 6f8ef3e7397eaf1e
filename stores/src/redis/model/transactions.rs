//! Transactions: MULTI queues the commands of a connection until EXEC, which does nothing if a key
//! that the connection watches has changed.

use super::commands::{self, CommandSpec, WallClock};
use super::keyspace::Bytes;
use super::{Server, cluster};
use crate::redis::reply::{error, error_text, status};
use redis::Value;
use smallvec::SmallVec;

/// The commands that MULTI has queued.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueuedCommands {
    commands: Vec<Vec<Bytes>>,
    /// True if a command was refused, so that EXEC will be.
    is_refused: bool,
}

/// Commands that are executed and not queued.
const NEVER_QUEUED: &[&str] = &["exec", "discard", "multi", "watch"];

/// MULTI.
pub fn multi(server: &mut Server, _: WallClock, _: &[&[u8]]) -> Value {
    let session = server.session();
    if session.queued.is_some() {
        return error("ERR MULTI calls can not be nested");
    }
    session.queued = Some(QueuedCommands::default());
    Value::Okay
}

/// DISCARD: forgets what is queued and what is watched.
pub fn discard(server: &mut Server, _: WallClock, _: &[&[u8]]) -> Value {
    match server.end_transaction() {
        Some(_) => Value::Okay,
        None => error("ERR DISCARD without MULTI"),
    }
}

/// WATCH key….
pub fn watch(server: &mut Server, clock: WallClock, args: &[&[u8]]) -> Value {
    if server.session().queued.is_some() {
        return error("ERR WATCH inside MULTI is not allowed");
    }
    for key in &args[1..] {
        server.keys.watch(server.connection, key, clock.millis);
    }
    Value::Okay
}

/// UNWATCH.
pub fn unwatch(server: &mut Server, _: WallClock, _: &[&[u8]]) -> Value {
    server.keys.unwatch(server.connection);
    Value::Okay
}

/// EXEC: executes what is queued, or nothing.
pub fn exec(server: &mut Server, clock: WallClock, _: &[&[u8]]) -> Value {
    let is_dirty = server.keys.is_dirty(server.connection, clock.millis);
    let Some(queued) = server.end_transaction() else { return error("ERR EXEC without MULTI") };
    if queued.is_refused {
        return error("EXECABORT Transaction discarded because of previous errors.");
    }
    if is_dirty {
        return Value::Nil;
    }
    let calls: Vec<SmallVec<[&[u8]; 8]>> = queued.commands.iter().map(|it| words(it)).collect();
    if let Some(refusal) = server.refused_together(&calls) {
        return refusal;
    }
    server.is_transaction = true;
    let replies = calls.iter().filter_map(|args| {
        let command = commands::checked(args).ok()?;
        Some(server.run_here(command, clock, args))
    });
    let replies = Value::Array(replies.collect());
    server.is_transaction = false;
    replies
}

fn words(command: &[Bytes]) -> SmallVec<[&[u8]; 8]> {
    command.iter().map(|word| word.as_slice()).collect()
}

fn is_exec(args: &[&[u8]]) -> bool {
    args.first().is_some_and(|name| name.eq_ignore_ascii_case(b"exec"))
}

/// The reply to EXEC that is refused itself. The general code is left out.
fn aborted(refusal: &Value) -> Value {
    let reason = match refusal {
        Value::ServerError(refusal) => error_text(refusal),
        _ => String::new(),
    };
    let reason = reason.strip_prefix("ERR ").unwrap_or(&reason);
    error(&format!("EXECABORT Transaction discarded because of: {reason}"))
}

impl Server {
    /// Ends the transaction of the connection, and returns what was queued.
    fn end_transaction(&mut self) -> Option<QueuedCommands> {
        let queued = self.sessions.get_mut(&self.connection)?.queued.take()?;
        self.keys.unwatch(self.connection);
        Some(queued)
    }

    /// Refuses commands of a transaction that cannot all be executed here.
    fn refused_together(&self, calls: &[SmallVec<[&[u8]; 8]>]) -> Option<Value> {
        let known = || calls.iter().filter_map(|args| Some((commands::checked(args).ok()?, args)));
        if let Some(bus) = &self.bus {
            let keys: Vec<&[u8]> =
                known().flat_map(|(command, args)| command.keys(args)).copied().collect();
            return cluster::turn_away_keys(bus, &keys);
        }
        let writes = known().any(|(command, _)| command.writes);
        (writes && self.follows()).then(|| aborted(&error(super::READ_ONLY)))
    }

    /// The reply to a command that is refused. EXEC ends the transaction even then.
    pub(super) fn refused(&mut self, refusal: Value, args: &[&[u8]]) -> Value {
        if !is_exec(args) {
            return refusal;
        }
        self.end_transaction();
        aborted(&refusal)
    }

    /// Queues a command, if the connection is in a transaction, and returns the reply. `None`: the
    /// command, or its refusal, goes its usual way.
    pub(super) fn queue(
        &mut self,
        admitted: &Result<&'static CommandSpec, Value>,
        args: &[&[u8]],
    ) -> Option<Value> {
        let session = self.sessions.get_mut(&self.connection)?;
        let queued = session.queued.as_mut()?;
        match admitted {
            Ok(command) if NEVER_QUEUED.contains(&command.name) => None,
            Ok(_) => {
                queued.commands.push(args.iter().map(|word| Bytes::from_slice(word)).collect());
                Some(status("QUEUED".into()))
            }
            Err(_) if is_exec(args) => None,
            Err(_) => {
                queued.is_refused = true;
                None
            }
        }
    }
}
