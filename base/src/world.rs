//! The seam: everything that a lock can do to the outside.
//!
//! The simulator and the real adapters implement it; lock code cannot tell which of them it runs
//! in.

use crate::{Mono, WallTime};
use std::borrow::Cow;
use std::fmt::Debug;
use std::future::{Future, ready};
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

/// A boxed future that stays on its thread: a client is one thread in both worlds.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The facilities of a client's machine: clocks, sleep, randomness. Each client has its own, so
/// that its clocks can be wrong on their own.
pub trait World {
    /// The wall clock of this client. It may jump, drift or stand still.
    fn now(&self) -> WallTime;
    /// The monotonic clock of this client.
    fn monotonic(&self) -> Mono;
    /// Waits for a duration, by the monotonic clock.
    fn sleep(&self, duration: Duration) -> LocalFuture<'_, ()>;
    /// 64 random bits.
    fn random(&self) -> u64;
}

/// The types of messages between a client and a store.
pub trait Protocol: 'static {
    /// A command to the store.
    type Request;
    /// The store's answer to a command.
    type Reply;
    /// A definite "no" of the server: the command had no effect.
    type Refusal: Clone + Debug;
    /// A message that nobody asked for: a watch that fired, a session in another state. A store
    /// that only answers has [`Infallible`](std::convert::Infallible).
    type Signal;

    /// Returns the name of a request's command, in the store's own words.
    fn command(request: &Self::Request) -> Cow<'static, str>;
}

/// The result of a call to a store.
pub type Answer<P> = Result<<P as Protocol>::Reply, CallError<<P as Protocol>::Refusal>>;

/// The links of one client to the servers of one store.
pub trait Link<P: Protocol> {
    /// The facilities of the client's machine.
    fn world(&self) -> &dyn World;

    /// Sends one command to a server and waits for its answer. The command leaves now, and not when
    /// the future is first polled; to drop the future does not withdraw it.
    ///
    /// # Errors
    /// Fails when the server refuses, when there is no such server, and when no answer comes.
    fn call(&self, server: usize, request: P::Request) -> LocalFuture<'_, Answer<P>>;

    /// Takes the next signal, if one has come. Signals keep their order, and one that came before
    /// the answer to a call is here when the answer is.
    fn signal(&self) -> Option<P::Signal> {
        None
    }

    /// Has this waker woken when the next signal comes, in place of the one before.
    fn wake_on_signal(&self, _waker: &Waker) {}

    /// Waits for the next message over a [further connection](further_connection). `None`: the
    /// connection has ended.
    fn pushed(&self, _connection: usize) -> LocalFuture<'_, Option<P::Signal>> {
        Box::pin(ready(None))
    }

    /// Closes a further connection.
    fn hang_up(&self, _connection: usize) {}

    /// Opens a new identity with the servers, such as a session, after the old one has ended.
    ///
    /// # Errors
    /// Fails when the servers do not grant one.
    fn renew(&self) -> LocalFuture<'_, Result<(), CallError<P::Refusal>>> {
        Box::pin(ready(Ok(())))
    }

    /// The number of servers.
    fn servers(&self) -> usize;
}

/// More servers than any topology has: the number of a further connection stands beyond them.
const MOST_SERVERS: usize = 1 << 16;

/// Returns the name of a further connection to a server, for a call to take in the place of the
/// server's: one of its own, which is opened by the first call. Its number is not 0.
pub const fn further_connection(server: usize, number: usize) -> usize {
    number * MOST_SERVERS + server
}

/// Returns the server to which a call goes, and the number of the further connection that it takes,
/// or 0.
pub const fn server_and_connection(named: usize) -> (usize, usize) {
    (named % MOST_SERVERS, named / MOST_SERVERS)
}

/// A reason for which a call brought no reply. Each store decides in one table which of the two it
/// is; whatever is not provably without effect is [`CallError::Unknown`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError<R: Debug> {
    /// The command was certainly not applied and never will be.
    #[error("refused: {0:?}")]
    Refused(R),
    /// The command may have been applied, or may be applied later.
    #[error("unknown outcome: {0}")]
    Unknown(String),
}
