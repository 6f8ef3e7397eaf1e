//! `picklock client`: a lock client as a process of its own, so that SIGSTOP is a true pause and
//! SIGKILL a true crash. Requests come as JSON lines on stdin, answers go to stdout; what it has to
//! say besides goes to stderr, which the harness keeps.

use anyhow::{Context, Result, bail};
use base::{Command, Init, Mailbox, Reply, Request, Response};
use std::future::poll_fn;
use std::io::Write;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as Waiting, Poll, ready};
use std::time::Duration;
use stores::Store;
use stores::redis::RealLink;
use stores::zookeeper::{Client, RealSession};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::task::LocalSet;
use workloads::client::{AnyLink, serve};

use crate::Exit;

/// Serves one harness.
///
/// # Errors
/// Fails when the first line is no `init`, or the servers cannot be reached.
pub fn run() -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(conversation()))?;
    // A read of stdin that nobody waits for any more would keep the runtime from ending.
    runtime.shutdown_background();
    Ok(Exit::Held)
}

async fn conversation() -> Result<()> {
    let mut pipe = Pipe { lines: BufReader::new(tokio::io::stdin()).lines(), first: None };
    let Some(request) = poll_fn(|cx| pipe.poll_next(cx)).await else { return Ok(()) };
    let Command::Init(init) = &request.command else {
        bail!("the first line must be an `init`; see the protocol in base/src/client.rs");
    };
    let Init { algo, servers, ttl_ns, call_timeout_ns, seed, process } = &**init;
    let lock = workloads::find(algo).with_context(|| format!("there is no lock `{algo}`"))?;
    let seed = base::Rng::fork(*seed, 1_000 + u64::from(*process)).next();
    let (ttl, call_timeout) =
        (Duration::from_nanos(*ttl_ns), Duration::from_nanos(*call_timeout_ns));
    let link = match connect(lock.store(), servers.clone(), ttl, call_timeout, seed).await {
        Ok(link) => link,
        Err(error) => {
            let reply = Reply::fail(format!("{error:#}"));
            pipe.say(Response { id: Some(request.id), reply });
            return Err(error);
        }
    };
    pipe.first = Some(request);
    serve(lock, link, Box::new(pipe)).await;
    Ok(())
}

async fn connect(
    store: Store,
    servers: Vec<String>,
    ttl: Duration,
    call_timeout: Duration,
    seed: u64,
) -> Result<AnyLink> {
    Ok(match store {
        Store::Redis => AnyLink::Redis(Rc::new(RealLink::new(servers, call_timeout, seed))),
        Store::ZooKeeper => {
            let session = RealSession::connect(servers, ttl, seed).await;
            let session = session.context("cannot open a ZooKeeper session")?;
            AnyLink::ZooKeeper(Client::new(Rc::new(session)))
        }
    })
}

/// Stdin and stdout as a mailbox.
struct Pipe {
    lines: Lines<BufReader<Stdin>>,
    /// A request that was read before the conversation began.
    first: Option<Request>,
}

impl Mailbox for Pipe {
    fn poll_next(&mut self, cx: &mut Waiting<'_>) -> Poll<Option<Request>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        loop {
            let read = ready!(Pin::new(&mut self.lines).poll_next_line(cx));
            let Some(line) = read.ok().flatten() else { return Poll::Ready(None) };
            match serde_json::from_str(&line) {
                Ok(request) => return Poll::Ready(Some(request)),
                Err(error) => eprintln!("not a request ({error}): {line}"),
            }
        }
    }

    fn say(&mut self, response: Response) {
        let line = serde_json::to_string(&response).expect("a response is plain data") + "\n";
        let mut stdout = std::io::stdout().lock();
        if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            // The harness is gone, and with it the reason to live.
            std::process::exit(i32::from(Exit::CouldNotRun.code()));
        }
    }
}
