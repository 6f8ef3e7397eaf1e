//! The one table that decides what an error of a member means: certainly without effect, or
//! unknown.
//!
//! Only an error that comes before a command is proposed, or from the command itself when it is
//! applied, is certain. A member that has waited for too long, or stops, does not report what
//! becomes of it.

use super::Refusal;
use base::CallError;

/// The outcome of a request that ended with this error: the gRPC code, and the words.
pub fn outcome(code: u64, message: &str) -> CallError<Refusal> {
    match (code, message) {
        (_, "etcdserver: requested lease not found") => CallError::Refused(Refusal::LeaseNotFound),
        (_, "etcdserver: lease already exists") => CallError::Refused(Refusal::LeaseExists),
        (_, "etcdserver: no leader") => CallError::Refused(Refusal::NoLeader),
        // Returned for reads alone.
        (_, "etcdserver: leader changed")
        // Returned before it is proposed.
        | (_, "etcdserver: too many requests")
        // INVALID_ARGUMENT, OUT_OF_RANGE and UNIMPLEMENTED: there is no such request.
        | (3 | 11 | 12, _) => CallError::Refused(Refusal::Other(message.into())),
        _ => CallError::Unknown(message.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_certainly_not_done_is_refused() {
        let certain = |code, message| matches!(outcome(code, message), CallError::Refused(_));
        assert!(certain(5, "etcdserver: requested lease not found"));
        assert!(certain(9, "etcdserver: lease already exists"));
        assert!(certain(11, "etcdserver: mvcc: required revision is a future revision"));
        for in_doubt in [
            "etcdserver: request timed out",
            "etcdserver: request timed out, possibly due to previous leader failure",
            "etcdserver: server stopped",
            "transport is closing",
        ] {
            assert!(!certain(14, in_doubt), "{in_doubt}");
        }
    }
}
