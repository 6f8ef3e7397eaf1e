//! A typed face of sessions, so that recipes read as they do in books.
//!
//! A statement is sent when its method is called, not when the future is first polled; dropping the
//! future does not withdraw it.

use super::{Postgres, Refusal, Reply, Request, SessionId, SessionSettings, Signal, Statement};
use base::{CallError, Link, Wakeups, World};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The result of a call.
pub type CallResult<T> = std::result::Result<T, CallError<Refusal>>;

/// A client of a server. Clones are the same; make one for a link and clone it, else two would give
/// the same numbers to different sessions.
#[derive(Clone)]
pub struct Client {
    shared: Rc<SharedClient>,
    wakeups: Wakeups,
}

struct SharedClient {
    link: Rc<dyn Link<Postgres>>,
    /// The number of the last session.
    sessions: Cell<SessionId>,
    /// The sessions that are over, as far as somebody still asks about them.
    closed: RefCell<BTreeSet<SessionId>>,
    /// Each signal wakes all that wait for any.
    waiting: RefCell<Vec<Waker>>,
}

impl SharedClient {
    /// Takes in every signal that has come.
    fn hear(&self) {
        while let Some(Signal::Closed { session }) = self.link.signal() {
            self.closed.borrow_mut().insert(session);
            self.waiting.borrow_mut().drain(..).for_each(Waker::wake);
        }
    }

    fn is_closed(&self, session: SessionId) -> bool {
        self.hear();
        self.closed.borrow().contains(&session)
    }
}

impl Client {
    /// Makes the client of this link.
    pub fn new(link: Rc<dyn Link<Postgres>>) -> Self {
        let shared = SharedClient {
            link,
            sessions: Cell::new(0),
            closed: RefCell::default(),
            waiting: RefCell::default(),
        };
        Self { shared: Rc::new(shared), wakeups: Wakeups::default() }
    }

    /// Returns a client of the same link with wake-ups of its own.
    #[must_use]
    pub fn with_own_wakeups(&self) -> Self {
        Self { shared: self.shared.clone(), wakeups: Wakeups::default() }
    }

    /// The clocks, the sleep and the randomness of this client's machine.
    pub fn world(&self) -> &dyn World {
        self.shared.link.world()
    }

    /// The wake-ups that a recipe notes when the server has answered what waited for a lock.
    pub fn wakeups(&self) -> &Wakeups {
        &self.wakeups
    }

    /// Opens a session.
    ///
    /// # Errors
    /// Fails when there is no connection to the server.
    pub async fn connect(&self, settings: SessionSettings) -> CallResult<Session> {
        let id = self.shared.sessions.get() + 1;
        self.shared.sessions.set(id);
        // Made before it is connected, so that it is closed if nobody waits for that.
        let session = Session { shared: self.shared.clone(), id };
        self.shared.link.call(0, Request::Connect { session: id, settings }).await?;
        Ok(session)
    }
}

/// A session, which is closed when it is dropped.
pub struct Session {
    shared: Rc<SharedClient>,
    id: SessionId,
}

impl Session {
    /// Executes a statement.
    pub fn execute(&self, statement: Statement) -> impl Future<Output = CallResult<Reply>> {
        self.shared.link.call(0, Request::Execute { session: self.id, statement })
    }

    /// Executes a statement that answers a question.
    pub async fn ask(&self, statement: Statement) -> CallResult<bool> {
        match self.execute(statement).await? {
            Reply::Answer(answer) => Ok(answer),
            Reply::Done => Err(CallError::Unknown("the server answered something else".into())),
        }
    }

    /// Waits until the session is over; not at all if it is.
    pub async fn closed(&self) {
        poll_fn(|cx| {
            if self.shared.is_closed(self.id) {
                return Poll::Ready(());
            }
            self.shared.link.wake_on_signal(cx.waker());
            let mut waiting = self.shared.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.hear();
        if !self.shared.closed.borrow_mut().remove(&self.id) {
            drop(self.shared.link.call(0, Request::Close { session: self.id }));
        }
    }
}
