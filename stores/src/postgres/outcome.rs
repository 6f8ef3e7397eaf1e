//! The one table that decides what an error of the client library means: certainly without effect,
//! or unknown.
//!
//! Only an `ERROR` of the server is certain: it undoes what its statement did. What comes with
//! `FATAL` ends the session, and may come after a statement whose answer was on its way.

use super::Refusal;
use base::CallError;
use tokio_postgres::Error;
use tokio_postgres::error::Severity;

/// The outcome of a statement that ended with this error.
pub fn outcome(error: &Error) -> CallError<Refusal> {
    match error.as_db_error() {
        Some(db_error) if db_error.parsed_severity() == Some(Severity::Error) => {
            CallError::Refused(refusal(db_error.code().code(), db_error.message()))
        }
        _ => CallError::Unknown(words(error)),
    }
}

/// The error of a session that could not be opened: nothing was ever asked over it.
pub fn no_connection(error: &Error) -> CallError<Refusal> {
    CallError::Refused(Refusal::NoConnection(words(error)))
}

/// The refusal with this SQLSTATE.
fn refusal(code: &str, message: &str) -> Refusal {
    match code {
        "55P03" => Refusal::LockNotAvailable,
        "25P02" => Refusal::InFailedTransaction,
        _ => Refusal::Other(format!("{code}: {message}")),
    }
}

/// The error with its reason, which the library keeps apart.
fn words(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_its_refusal() {
        assert_eq!(refusal("55P03", ""), Refusal::LockNotAvailable);
        assert_eq!(refusal("25P02", ""), Refusal::InFailedTransaction);
        let other = Refusal::Other("40P01: deadlock detected".into());
        assert_eq!(refusal("40P01", "deadlock detected"), other);
    }
}
