//! The one table that decides what an error of the client library means: certainly without effect,
//! or unknown.
//!
//! Only a server's word that it refused the request is certain. A connection that was lost comes as
//! many errors (`ConnectionLoss` after a clean end, `Custom` after a reset or a silence), and a new
//! version of the library may have more: whatever is not in the table is unknown.

use super::Refusal;
use base::CallError;
use zookeeper_client::Error;

/// The outcome of a request that ended with this error.
///
/// `SessionExpired` is no refusal here: requests that were on their way when the session expired
/// get the same error as those that were never sent.
pub fn outcome(error: &Error) -> CallError<Refusal> {
    match error {
        Error::NodeExists => CallError::Refused(Refusal::NodeExists),
        Error::NoNode => CallError::Refused(Refusal::NoNode),
        Error::BadVersion => CallError::Refused(Refusal::BadVersion),
        Error::NotEmpty => CallError::Refused(Refusal::NotEmpty),
        Error::NoChildrenForEphemerals => CallError::Refused(Refusal::NoChildrenForEphemerals),
        Error::BadArguments(_) => CallError::Refused(Refusal::BadArguments),
        other => CallError::Unknown(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_servers_refusal_is_definite() {
        let definite = [
            (Error::NodeExists, Refusal::NodeExists),
            (Error::NoNode, Refusal::NoNode),
            (Error::BadVersion, Refusal::BadVersion),
            (Error::NotEmpty, Refusal::NotEmpty),
            (Error::NoChildrenForEphemerals, Refusal::NoChildrenForEphemerals),
            (Error::BadArguments(&"path must start with '/'"), Refusal::BadArguments),
        ];
        for (error, refusal) in definite {
            assert_eq!(outcome(&error), CallError::Refused(refusal), "{error:?}");
        }
        let unknown = [
            Error::ConnectionLoss,
            Error::SessionExpired,
            Error::SessionMoved,
            Error::ClientClosed,
            Error::Timeout,
            Error::NoHosts,
            Error::NoAuth,
            Error::Throttled,
            Error::MarshallingError,
            Error::UnexpectedErrorCode(-3),
            Error::UnexpectedError("recv response with xid 7 but no pending request".into()),
        ];
        for error in unknown {
            let CallError::Unknown(text) = outcome(&error) else { panic!("{error:?} is unknown") };
            assert_eq!(text, error.to_string());
        }
    }
}
