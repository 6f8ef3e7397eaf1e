//! A client with several workers: their conversations side by side, over one mailbox.

use base::{ClientRequest, Command, Mailbox, Response};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use stores::Store;

use super::SharedParts;
use super::worker::Worker;

/// Serves the harness until it says `exit` or hangs up.
pub async fn serve<S: Store>(process: &Rc<SharedParts<S>>, mailbox: Box<dyn Mailbox>) {
    let shared = Rc::new(RefCell::new(mailbox));
    let mut queues: BTreeMap<u32, Rc<RefCell<WorkerQueue>>> = BTreeMap::new();
    let mut workers = FuturesUnordered::new();
    poll_fn(|cx| {
        loop {
            let request = match shared.borrow_mut().poll_next(cx) {
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Ready(Some(ClientRequest { command: Command::Exit, .. })) => {
                    return Poll::Ready(());
                }
                Poll::Ready(Some(request)) => request,
                Poll::Pending => break,
            };
            let queue = queues.entry(request.worker).or_insert_with(|| {
                let queue = Rc::<RefCell<WorkerQueue>>::default();
                let mut mailbox = WorkerMailbox { queue: queue.clone(), shared: shared.clone() };
                let worker = Worker::new(process.clone());
                workers.push(async move { worker.serve(&mut mailbox).await });
                queue
            });
            queue.borrow_mut().put(request);
        }
        while let Poll::Ready(Some(())) = workers.poll_next_unpin(cx) {}
        Poll::Pending
    })
    .await;
}

/// The requests that wait for one worker.
#[derive(Default)]
struct WorkerQueue {
    requests: VecDeque<ClientRequest>,
    waker: Option<Waker>,
}

impl WorkerQueue {
    fn put(&mut self, request: ClientRequest) {
        self.requests.push_back(request);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The mailbox of one worker.
struct WorkerMailbox {
    queue: Rc<RefCell<WorkerQueue>>,
    shared: Rc<RefCell<Box<dyn Mailbox>>>,
}

impl Mailbox for WorkerMailbox {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ClientRequest>> {
        let mut queue = self.queue.borrow_mut();
        match queue.requests.pop_front() {
            Some(request) => Poll::Ready(Some(request)),
            None => {
                queue.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn poll_cancel(&mut self, request: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut queue = self.queue.borrow_mut();
        let cancels = |it: &ClientRequest| it.command == Command::Cancel { request };
        match queue.requests.iter().position(cancels) {
            Some(place) => {
                queue.requests.remove(place);
                Poll::Ready(())
            }
            None => {
                queue.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn say(&mut self, response: Response) {
        self.shared.borrow_mut().say(response);
    }
}
