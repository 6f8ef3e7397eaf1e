//! Statements, their answers, and sessions.

use base::Protocol;
use std::borrow::Cow;
use std::time::Duration;

use crate::named_calls::named_commands;

/// The protocol of PostgreSQL. A session is a connection: when the one ends, the other does, and
/// what the session had locked is free.
#[derive(Clone, Copy, Debug)]
pub struct Postgres;

impl Protocol for Postgres {
    type Request = Request;
    type Reply = Reply;
    type Refusal = Refusal;
    type Signal = Signal;

    fn command(request: &Request) -> Cow<'static, str> {
        request.command().into()
    }
}

/// The number that a client gives to a session. It gives none twice.
pub type SessionId = u64;

/// A message that nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The session's connection was lost, or its server was silent for too long: it is over for
    /// its client, and will be for the server once that notices.
    Closed {
        /// The session that is opened.
        session: SessionId,
    },
}

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Opens a session. Replies `Done`.
    Connect {
        /// The number of the new session.
        session: SessionId,
        /// The settings of the session.
        settings: SessionSettings,
    },
    /// Executes a statement. Those of a session are executed in their order.
    Execute {
        /// The session that executes the statement.
        session: SessionId,
        /// The statement to be executed.
        statement: Statement,
    },
    /// Closes the session's connection without a word to the server. Replies `Done`.
    Close {
        /// The session that ends.
        session: SessionId,
    },
}

impl Request {
    /// The name of its command.
    pub const fn command(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "connect",
            Self::Close { .. } => "close",
            Self::Execute { statement, .. } => statement.command(),
        }
    }
}

/// The settings of a session, in whole milliseconds; zero for none, which is what a server has by
/// itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionSettings {
    /// `lock_timeout`: the longest wait for one lock.
    pub lock_timeout: Duration,
    /// `idle_in_transaction_session_timeout`: the longest time for which the session may say
    /// nothing within a transaction. Then the server ends it.
    pub idle_in_transaction: Duration,
}

/// A statement that recipes use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// Waits for an advisory lock of the session. Replies `Done`.
    AdvisoryLock {
        /// The name of the lock.
        key: String,
    },
    /// Takes it if it is free: `Answer`.
    TryAdvisoryLock {
        /// The name of the lock.
        key: String,
    },
    /// Gives it back: `Answer`, false if the session does not have it.
    AdvisoryUnlock {
        /// The name of the lock.
        key: String,
    },
    /// Waits for an advisory lock, which the transaction has until it ends. Replies `Done`.
    AdvisoryXactLock {
        /// The name of the lock.
        key: String,
    },
    /// Takes it until the transaction ends if it is free: `Answer`.
    TryAdvisoryXactLock {
        /// The name of the lock.
        key: String,
    },
    /// Begins a transaction. Replies `Done`.
    Begin,
    /// Ends it; what it has locked is free. Replies `Done`.
    Commit,
    /// Ends it, and undoes what it did. Replies `Done`.
    Rollback,
    /// Inserts a row unless it is there. Outside of a transaction only. Replies `Done`.
    InsertRow {
        /// The name of the row.
        name: String,
    },
    /// Locks a row until the transaction ends: `Answer`, false if there is no such row.
    LockRow {
        /// The name of the row.
        name: String,
        /// Waits for the row; otherwise it is refused when it is locked.
        wait: bool,
    },
    /// Does nothing. Replies `Done`.
    Ping,
}

named_commands!(Statement {
    AdvisoryLock => "pg_advisory_lock",
    TryAdvisoryLock => "pg_try_advisory_lock",
    AdvisoryUnlock => "pg_advisory_unlock",
    AdvisoryXactLock => "pg_advisory_xact_lock",
    TryAdvisoryXactLock => "pg_try_advisory_xact_lock",
    Begin => "BEGIN",
    Commit => "COMMIT",
    Rollback => "ROLLBACK",
    InsertRow => "INSERT",
    LockRow => "SELECT FOR UPDATE",
    Ping => "SELECT 1",
});

impl Statement {
    /// The statement in SQL.
    pub fn sql(&self) -> String {
        // One advisory lock has a number of 64 bits; a name is hashed, as applications do.
        let advisory = |function: &str, key: &str| {
            format!("SELECT {function}(hashtextextended({}, 0))", quoted(key))
        };
        match self {
            Self::AdvisoryLock { key } => advisory("pg_advisory_lock", key),
            Self::TryAdvisoryLock { key } => advisory("pg_try_advisory_lock", key),
            Self::AdvisoryUnlock { key } => advisory("pg_advisory_unlock", key),
            Self::AdvisoryXactLock { key } => advisory("pg_advisory_xact_lock", key),
            Self::TryAdvisoryXactLock { key } => advisory("pg_try_advisory_xact_lock", key),
            Self::Begin => "BEGIN".into(),
            Self::Commit => "COMMIT".into(),
            Self::Rollback => "ROLLBACK".into(),
            Self::InsertRow { name } => {
                format!("INSERT INTO locks VALUES ({}) ON CONFLICT DO NOTHING", quoted(name))
            }
            Self::LockRow { name, wait } => {
                let or_not = if *wait { "" } else { " NOWAIT" };
                format!("SELECT name FROM locks WHERE name = {} FOR UPDATE{or_not}", quoted(name))
            }
            Self::Ping => "SELECT 1".into(),
        }
    }

    /// Reads a statement in SQL, if it is one of these.
    #[cfg(feature = "real")]
    pub fn of_sql(sql: &str) -> Option<Self> {
        let quote =
            |text: &str| Some(text.split_once('\'')?.1.rsplit_once('\'')?.0.replace("''", "'"));
        let name = || quote(sql).unwrap_or_default();
        let all = [
            Self::AdvisoryLock { key: name() },
            Self::TryAdvisoryLock { key: name() },
            Self::AdvisoryUnlock { key: name() },
            Self::AdvisoryXactLock { key: name() },
            Self::TryAdvisoryXactLock { key: name() },
            Self::Begin,
            Self::Commit,
            Self::Rollback,
            Self::InsertRow { name: name() },
            Self::LockRow { name: name(), wait: true },
            Self::LockRow { name: name(), wait: false },
            Self::Ping,
        ];
        all.into_iter().find(|statement| statement.sql() == sql)
    }
}

/// A text as a literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// It is done.
    Done,
    /// The answer to a question; of a row, whether there is one.
    Answer(bool),
}

/// A definite "no": what was asked for was not done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// 55P03: the lock is another's, and was for too long.
    LockNotAvailable,
    /// 25P02: an error came before in this transaction, which can only be ended.
    InFailedTransaction,
    /// The server refused for another reason.
    Other(String),
    /// There is no connection to the server.
    NoConnection(String),
    /// The session was over when the request was made: it was never sent.
    NoSession,
}

/// A packet between a simulated client and a simulated server. Answers come in the order of their
/// requests, one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Opens a session over this connection.
    Startup(SessionSettings),
    /// The session is open.
    Ready,
    /// A session executes a statement.
    Statement(Statement),
    /// The answer to a statement.
    Answer(Result<Reply, Refusal>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_break_out_of_its_literal() {
        let unlock = Statement::AdvisoryUnlock { key: "it's".into() };
        assert_eq!(unlock.sql(), "SELECT pg_advisory_unlock(hashtextextended('it''s', 0))");
        #[cfg(feature = "real")]
        assert_eq!(Statement::of_sql(&unlock.sql()), Some(unlock));
    }
}
