//! A backend runs clients and servers and does faults to them. The simulator is one, real servers
//! in containers or as processes are others; one drive loop drives them all.

use crate::{ClientRequest, Effect, Fault, FaultId, Ledger, Mono, Response, ServerStanding, Stall};

/// Something that happened in the world, as the drive loop learns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The time of the event, since the run began.
    pub at: Mono,
    /// The event itself.
    pub notice: Notice,
}

/// An event in the world that the drive loop hears of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A client sends a message.
    Client {
        /// The client's process number.
        process: u32,
        /// The message: the answer to a request, or a notice.
        response: Response,
    },
    /// A reply of a server has passed the link to a client (and may not have reached it yet).
    Passed {
        /// The client's process number.
        process: u32,
        /// The number of the server.
        server: u32,
    },
    /// A client process ended though nobody asked it to.
    Died {
        /// The client's process number.
        process: u32,
        /// The reason, as far as it is known, in words.
        error: String,
    },
    /// Someone else has done something to a server or a client: the run proves nothing from then
    /// on.
    Interference {
        /// The action, in words.
        what: String,
    },
    /// The machine did not run a node, or the harness itself, though it was ready to run.
    Stalled {
        /// The stall, which has just ended.
        stall: Stall,
    },
    /// A fault is in force.
    Injected {
        /// The number of the fault.
        id: FaultId,
    },
    /// A fault is undone; its effect was measured.
    Healed {
        /// The number of the fault.
        id: FaultId,
        /// The measured effect of the fault.
        effect: Effect,
    },
    /// A fault could not be injected or undone, and nobody tries any longer. The reason is reported
    /// next, and ends the run.
    GivenUp {
        /// The number of the fault.
        id: FaultId,
    },
}

/// The attention that the drive loop pays to replies that pass a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Not reported: no nemesis looks at the clients.
    Ignored,
    /// Reported with the next event.
    Noted,
    /// Reported at once.
    Awaited,
}

/// A failure after which a backend cannot go on. The text names the fix where there is one.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BackendError(pub String);

/// A world with clients and servers in it.
///
/// `inject` and `heal` only begin: that they are done comes as a message. All faults are healed by
/// their own `heal`, which the drive loop calls for each fault whatever happens.
pub trait Backend {
    /// The name of the backend, as `--backend` takes it.
    fn name(&self) -> &'static str;

    /// Time since the run began.
    fn now(&self) -> Mono;

    /// Starts the client with this number, under a process number that was never used before. The
    /// client answers request 0, its `init`, when it is ready.
    ///
    /// # Errors
    /// Fails when it cannot be started.
    fn spawn(&mut self, client: u32, process: u32) -> Result<(), BackendError>;

    /// Sends a request to a client. One that is gone does not answer.
    fn send(&mut self, process: u32, request: ClientRequest);

    /// Begins to inject a fault.
    ///
    /// # Errors
    /// Fails when this backend cannot do this fault.
    fn inject(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError>;

    /// Begins to undo a fault. A crashed server is started again; a crashed client is not, that
    /// is for `spawn`.
    ///
    /// # Errors
    /// Fails when it cannot be undone.
    fn heal(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError>;

    /// Lets time pass until `until` or until something happens, whichever is first, and moves the
    /// events to `inbox`, in order. `passing` decides whether a reply that passes counts as one.
    ///
    /// # Errors
    /// Fails when the world broke in a way that no fault asked for.
    fn advance(
        &mut self,
        until: Mono,
        passing: Passing,
        inbox: &mut Vec<Message>,
    ) -> Result<(), BackendError>;

    /// Returns the standing of each server among the others, by number; `None` for one without a
    /// standing, or that does not report it. Empty: the backend does not know any.
    fn standings(&mut self) -> Vec<Option<ServerStanding>> {
        Vec::new()
    }

    /// Hands over the changes of everything that was put into the store. `None`: the backend cannot
    /// look into its servers.
    fn ledger(&mut self) -> Option<Ledger> {
        None
    }

    /// Returns, in words, an action of someone else on a server or a client that has been seen
    /// since the last call; `None` if there is none. Called once more when a run is over.
    fn interference(&mut self) -> Option<String> {
        None
    }

    /// Ends everything and removes it.
    ///
    /// # Errors
    /// Fails when a log could not be kept, or something could not be removed; all else is ended and
    /// removed all the same.
    fn stop(&mut self) -> Result<(), BackendError>;
}
