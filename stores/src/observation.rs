//! The observation of a real server: the changes to what it stores, from its own reports, from its
//! log or from its answers to clients, read beside the run.

use crate::Endpoint;
use crate::common_log::{LoggedTransaction, RequestId};
use crate::model::{Name, Noted};
use futures_util::future::BoxFuture;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

/// A report of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerReport {
    /// A change of a thing.
    Change {
        /// The port that the client had connected from whose request it was; `None` of what was no
        /// client's request.
        caller: Option<u16>,
        /// The change.
        noted: Noted,
        /// Its time by CLOCK_MONOTONIC, in nanoseconds; `None`: now. No report is older than the
        /// one before it.
        at_ns: Option<u64>,
        /// A number that two values share only if they are the same; 0 of what has no value now.
        value: u64,
    },
    /// The names of all things that are there, of a server that can list them. Reported first of
    /// all, and by a replica again and again: nothing tells when it takes over the data of another
    /// server.
    Contents(Vec<Name>),
    /// From now on the server is a primary, or a replica. Reported where there are both.
    Primary(bool),
    /// The log of an ensemble's member has this transaction.
    Logged(LoggedTransaction),
    /// A client has asked for a transaction.
    Asked {
        /// The request.
        request: RequestId,
        /// The port that the client had connected from.
        caller: u16,
        /// The time by CLOCK_MONOTONIC, in nanoseconds.
        at_ns: u64,
    },
    /// The server has answered a request that was reported.
    Answered {
        /// The request.
        request: RequestId,
        /// The time by CLOCK_MONOTONIC at which it was made, in nanoseconds.
        asked_ns: u64,
        /// The time of the answer; `None`: it was refused.
        at_ns: Option<u64>,
    },
    /// Something may have been missed.
    Incomplete,
}

/// The receiver of a server's reports, in their order.
pub type ReportSink = Arc<dyn Fn(ServerReport) + Send + Sync>;

/// Something on the connection of a client to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The time by CLOCK_MONOTONIC, in nanoseconds.
    pub at_ns: u64,
    /// The port that the client connects from.
    pub caller: u16,
    /// The event.
    pub passage: Passage,
}

/// An event on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    /// These bytes are about to reach the server.
    Request(Vec<u8>),
    /// The server has sent these bytes.
    Reply(Vec<u8>),
    /// The connection is closed.
    Closed,
}

/// Runs a shell command in the folder of a server's data, on its machine, and returns its output,
/// which has to be text.
pub type Shell = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<String>> + Send + Sync>;

/// Returns the nanoseconds by which a server's wall clock is ahead of this machine's, as it is set
/// now and as it was set before; `None` where it runs at another rate.
pub type Leads = Arc<dyn Fn() -> [Option<i64>; 2] + Send + Sync>;

/// A server to be observed.
pub struct ObservedServer {
    /// Its address, and the login to it.
    pub endpoint: Endpoint,
    /// The name that all keys of the run begin with on a server that others use, too; `None` on one
    /// of our own.
    pub allotment: Option<String>,
    /// All that goes over the connections of clients to it, for whoever asked for that.
    pub traffic: UnboundedReceiver<Traffic>,
    /// The shell of its machine.
    pub shell: Shell,
    /// The lead of its wall clock, which faults may set.
    pub leads: Leads,
    /// The receiver of its reports.
    pub reports: ReportSink,
}

/// An observation that has begun.
pub struct Observation {
    /// Goes on until it loses report of the server.
    pub following: BoxFuture<'static, ()>,
    /// Resolves when all that the server has done so far is reported.
    pub catch_up: CatchUp,
}

/// Makes the future of the same name.
pub type CatchUp = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// A way to observe a server.
#[derive(Clone, Copy)]
pub struct Observer {
    /// Begins; what the server does once this is there is reported.
    pub begin: fn(ObservedServer) -> BoxFuture<'static, io::Result<Observation>>,
    /// True if it reads what goes over the connections of clients.
    pub reads_traffic: bool,
}

/// Looks at what a server has done, and at what goes over its connections.
pub trait ServerReader: Send + 'static {
    /// Takes something that has gone over a connection.
    fn passed(&mut self, traffic: Traffic);

    /// Waits for something that the server tells by itself, and reports it. If it is given up
    /// before, nothing is lost.
    fn hear(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        std::future::pending()
    }

    /// Reports all that the server has done since the last time.
    fn look(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

/// The interval at which there is a look at what a server has done, so that it does not pile up.
const LOOKED_EVERY: Duration = Duration::from_secs(2);

impl Observation {
    /// The observation by a reader, until that hears no more or nobody sends traffic any more.
    pub fn by(
        mut reader: impl ServerReader,
        mut traffic: UnboundedReceiver<Traffic>,
        reports: ReportSink,
    ) -> Self {
        let (ask, mut asked) = unbounded_channel::<oneshot::Sender<()>>();
        let following = async move {
            let mut times = interval(LOOKED_EVERY);
            times.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    // What has passed before comes first.
                    biased;
                    passed = traffic.recv() => match passed {
                        Some(passed) => reader.passed(passed),
                        None => return,
                    },
                    Some(done) = asked.recv() => {
                        if reader.look().await.is_err() {
                            reports(ServerReport::Incomplete);
                        }
                        let _ = done.send(());
                    }
                    heard = reader.hear() => if heard.is_err() {
                        return;
                    },
                    // A server that is paused may have to be asked again.
                    _ = times.tick() => drop(reader.look().await),
                }
            }
        };
        let catch_up = move || -> BoxFuture<'static, ()> {
            let (done, caught_up) = oneshot::channel();
            // Of one that has ended its end tells.
            let _ = ask.send(done);
            Box::pin(async move { drop(caught_up.await) })
        };
        Self { following: Box::pin(following), catch_up: Box::new(catch_up) }
    }
}
