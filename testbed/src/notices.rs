//! The queue of notices, on their way from many tasks to the one drive loop.

use super::clock::RunClock;
use crate::lock;
use base::{BackendError, Message, Mono, Notice};
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// A message, or the error after which there will be no more.
type MessageOrError = Result<Message, BackendError>;

/// The end of the queue for tasks. Stamping and queueing are one step, so that the order in the
/// queue is the order of the stamps.
pub struct NoticeSender {
    clock: RunClock,
    queue: Mutex<UnboundedSender<MessageOrError>>,
}

/// The end of the queue for the drive loop.
pub struct NoticeReceiver {
    queue: UnboundedReceiver<MessageOrError>,
    /// The error that came behind the messages that were taken last.
    error: Option<BackendError>,
}

/// A fresh queue of notices.
pub fn notices(clock: RunClock) -> (NoticeSender, NoticeReceiver) {
    let (queue, inbox) = unbounded_channel();
    (NoticeSender { clock, queue: Mutex::new(queue) }, NoticeReceiver { queue: inbox, error: None })
}

impl NoticeSender {
    /// Reports an event that happens now. Returns its time.
    pub fn tell(&self, notice: Notice) -> Mono {
        self.put(|now| Ok(Message { at: now, notice }))
    }

    /// Reports an event that happened at `at`, which does not lie after now.
    pub fn tell_late(&self, at: Mono, notice: Notice) {
        self.put(|_| Ok(Message { at, notice }));
    }

    /// Reports that the testbed broke.
    pub fn fail(&self, error: BackendError) {
        self.put(|_| Err(error));
    }

    pub fn clock(&self) -> RunClock {
        self.clock
    }

    fn put(&self, item: impl FnOnce(Mono) -> MessageOrError) -> Mono {
        let queue = lock(&self.queue);
        let now = self.clock.now();
        // It fails when the run is over and nobody reads any more.
        let _ = queue.send(item(now));
        now
    }
}

impl NoticeReceiver {
    /// Waits for the first item, at most for `longest`, and takes everything that is there, in the
    /// order of the stamps: a `lost` that was stamped by its client may have been overtaken. An
    /// error is returned by the call after the one that takes what came before it.
    pub async fn take(
        &mut self,
        longest: Duration,
        messages: &mut Vec<Message>,
    ) -> Result<(), BackendError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Ok(Some(first)) = timeout(longest, self.queue.recv()).await else { return Ok(()) };
        let from = messages.len();
        messages.push(first?);
        while let Ok(item) = self.queue.try_recv() {
            match item {
                Ok(message) => messages.push(message),
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        messages[from..].sort_by_key(|message| message.at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_there_comes_in_the_order_of_its_stamps_and_an_error_behind_it() {
        let (outbox, mut inbox) = notices(RunClock::start());
        let first = outbox.tell(Notice::Passed { process: 1, server: 0 });
        outbox.tell(Notice::Passed { process: 2, server: 0 });
        outbox.tell_late(first, Notice::Passed { process: 3, server: 0 });
        let mut messages = Vec::new();
        inbox.take(Duration::ZERO, &mut messages).await.unwrap();
        let order: Vec<_> = messages.into_iter().map(|m| m.notice).collect();
        assert_eq!(order, [1, 3, 2].map(|process| Notice::Passed { process, server: 0 }));
        outbox.tell(Notice::GivenUp { id: 1 });
        outbox.fail(BackendError("gone".into()));
        outbox.tell(Notice::GivenUp { id: 2 });
        let mut rest = Vec::new();
        inbox.take(Duration::ZERO, &mut rest).await.unwrap();
        let error = inbox.take(Duration::ZERO, &mut rest).await.unwrap_err();
        assert_eq!(error.to_string(), "gone");
        inbox.take(Duration::ZERO, &mut rest).await.unwrap();
        let rest: Vec<_> = rest.into_iter().map(|it| it.notice).collect();
        assert_eq!(rest, [1, 2].map(|id| Notice::GivenUp { id }));
    }
}
