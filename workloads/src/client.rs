//! The client: answers the harness's requests with a lock. The same code runs as an operating
//! system process on real servers and as a task in the simulator.

mod worker;
mod workers;

use base::{
    ClientAbility, ClientReply, ClientRequest, Command, Init, Link, LockInfo, Mailbox, Response,
};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use stores::{CallNames, NamedCalls, Store, StoreClient};

use crate::locks::{On, ProcessFields, TestedLock};
use worker::Worker;

/// The parts of a client that its workers share.
struct SharedParts<S: Store> {
    lock: Arc<LockInfo>,
    on: On<S>,
    client: S::Client,
    ttl: Duration,
    call_timeout: Duration,
    fields: ProcessFields,
    /// The commands that were sent and not reported yet; `None` if nobody wants to know.
    calls: Option<CallNames>,
}

/// Serves the harness until it says `exit` or hangs up.
///
/// # Panics
/// Panics when the lock is built on another store.
pub async fn serve<S: Store>(
    lock: TestedLock,
    link: Rc<dyn Link<S>>,
    mut mailbox: Box<dyn Mailbox>,
) {
    if let Some((id, init)) = begin(mailbox.as_mut()).await {
        serve_begun(lock, link, (id, init), mailbox).await;
    }
}

/// Serves a harness whose `init`, with the number of its request, has been read before.
///
/// # Panics
/// Panics when the lock is built on another store.
pub async fn serve_begun<S: Store>(
    lock: TestedLock,
    link: Rc<dyn Link<S>>,
    (id, init): (u64, Box<Init>),
    mut mailbox: Box<dyn Mailbox>,
) {
    let on: &On<S> = lock.opener.on().expect("the harness links a client to its lock's own store");
    let calls = init.names_calls.then(CallNames::default);
    let link = match &calls {
        Some(names) => Rc::new(NamedCalls::new(link, names.clone())),
        None => link,
    };
    let client = S::client(link, lock.topology_named(&init.topology));
    client.ready().await;
    let mut reply = ClientReply::ok();
    if let ClientReply::Ok { can, .. } = &mut reply {
        *can = Some(Box::new(ClientAbility::ALL));
    }
    mailbox.say(Response { id: Some(id), worker: 0, reply });
    let process = Rc::new(SharedParts {
        lock: lock.info,
        on: on.clone(),
        client,
        ttl: Duration::from_nanos(init.ttl_ns),
        call_timeout: Duration::from_nanos(init.call_timeout_ns),
        fields: ProcessFields::default(),
        calls,
    });
    match init.workers {
        0 | 1 => Worker::new(process).serve(mailbox.as_mut()).await,
        _ => workers::serve(&process, mailbox).await,
    }
}

/// Returns the first command, which introduces the client, with the number of its request.
async fn begin(mailbox: &mut dyn Mailbox) -> Option<(u64, Box<Init>)> {
    match poll_fn(|cx| mailbox.poll_next(cx)).await? {
        ClientRequest { id, command: Command::Init(init), .. } => Some((id, init)),
        _ => None,
    }
}
