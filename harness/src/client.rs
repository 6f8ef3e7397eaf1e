//! `picklock client`, and the client of a lab: a lock client as a process of its own, so that
//! SIGSTOP is a true pause and SIGKILL a true crash. Requests come as JSON lines on stdin, answers
//! go to stdout or where a lab has them go; what it has to say besides goes to stderr, which the
//! harness keeps.

use anyhow::{Context, Result, bail};
use base::{ClientReply, ClientRequest, Command, Init, Link, LocalFuture, Mailbox, Response};
use std::cell::RefCell;
use std::future::poll_fn;
use std::io::Write;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::task::{Context as Waiting, Poll};
use std::time::Duration;
use stores::real::MachineClock;
use stores::{ConnectError, RealSettings, Store, Visit};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{LocalSet, spawn_local};
use workloads::TestedLock;
use workloads::client::serve_begun;

use crate::Exit;

/// Serves one harness with a lock of the catalogue.
///
/// # Errors
/// Fails when the first line is no `init`, or the servers cannot be reached.
pub fn run() -> Result<Exit> {
    let named = |init: &Init| workloads::lock(&init.algo);
    serve(AnswerPipe::to(std::io::stdout()), named)?;
    Ok(Exit::Held)
}

/// Serves one harness with the lock that an `init` asks for.
///
/// # Errors
/// As for [`run`].
pub fn serve(answers: AnswerPipe, lock: impl FnOnce(&Init) -> Option<TestedLock>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(conversation(answers, lock)))?;
    // A read of stdin that nobody waits for any more would keep the runtime from ending.
    runtime.shutdown_background();
    Ok(())
}

async fn conversation(
    answers: AnswerPipe,
    lock: impl FnOnce(&Init) -> Option<TestedLock>,
) -> Result<()> {
    let (queue, requests) = unbounded_channel();
    let clock = MachineClock::of_this_thread();
    spawn_local(read(queue, clock.clone(), answers.clone()));
    let mut pipe = Pipe { requests, clock, answers };
    let Some(request) = poll_fn(|cx| pipe.poll_next(cx)).await else { return Ok(()) };
    let ClientRequest { id, command: Command::Init(init), .. } = request else {
        bail!("the first line must be an `init`; see the protocol in base/src/client.rs");
    };
    let Init { algo, ttl_ns, call_timeout_ns, seed, process, .. } = &*init;
    let lock = lock(&init).with_context(|| format!("there is no lock `{algo}`"))?;
    let settings = RealSettings {
        servers: init.servers.clone(),
        ttl: Duration::from_nanos(*ttl_ns),
        call_timeout: Duration::from_nanos(*call_timeout_ns),
        seed: base::Rng::fork(*seed, 1_000 + u64::from(*process)).next(),
    };
    lock.store().visit(Serve { lock, settings, id, init, pipe }).await
}

/// Reads requests, and does at once what concerns the machine and no worker.
async fn read(queue: UnboundedSender<ClientRequest>, clock: Rc<MachineClock>, answers: AnswerPipe) {
    let mut lines = BufReader::new(stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(ClientRequest { id, worker, command: Command::Clock(setting) }) => {
                clock.set(setting);
                let reply = ClientReply::Clock { wall_ns: clock.wall().nanos() };
                answers.tell(&Response { id: Some(id), worker, reply });
            }
            Ok(request) => {
                if let Command::Init(init) = &request.command {
                    clock.begin(init.clock, init.drifted_ns);
                }
                // It is not read by a client that has ended.
                drop(queue.send(request));
            }
            Err(error) => eprintln!("not a request ({error}): {line}"),
        }
    }
}

/// Returns stdin: the harness's pipe is read by this thread, anything else by one that blocks.
fn stdin() -> Box<dyn AsyncRead + Unpin> {
    let stdin = std::io::stdin().as_fd().try_clone_to_owned();
    match stdin.and_then(pipe::Receiver::from_owned_fd) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::io::stdin()),
    }
}

/// Links the client to its servers, and serves.
struct Serve {
    lock: TestedLock,
    settings: RealSettings,
    /// The `init` and the number of its request, which is answered once the client can be asked for
    /// the lock.
    id: u64,
    init: Box<Init>,
    pipe: Pipe,
}

impl Visit for Serve {
    type Out = LocalFuture<'static, Result<()>>;

    fn visit<S: Store>(self) -> Self::Out {
        let Self { lock, settings, id, init, mut pipe } = self;
        Box::pin(async move {
            match S::connect(settings).await.and_then(|link| confined::<S>(link, &init.allotment)) {
                Ok(link) => {
                    serve_begun::<S>(lock, link, (id, init), Box::new(pipe)).await;
                    Ok(())
                }
                Err(error) => {
                    let reply = ClientReply::fail(error.to_string());
                    pipe.say(Response { id: Some(id), worker: 0, reply });
                    Err(error.into())
                }
            }
        })
    }
}

/// A link that keeps to an allotment, if there is one.
fn confined<S: Store>(
    link: Rc<dyn Link<S>>,
    allotment: &str,
) -> std::result::Result<Rc<dyn Link<S>>, ConnectError> {
    match (allotment, S::ALLOTMENT) {
        ("", _) => Ok(link),
        (name, Ok(way)) => Ok((way.confine)(link, name)),
        (_, Err(why)) => Err(ConnectError(why.into())),
    }
}

/// Stdin and the answers as a mailbox.
struct Pipe {
    requests: UnboundedReceiver<ClientRequest>,
    /// Translates the times that the client has read for the harness.
    clock: Rc<MachineClock>,
    answers: AnswerPipe,
}

impl Mailbox for Pipe {
    fn poll_next(&mut self, cx: &mut Waiting<'_>) -> Poll<Option<ClientRequest>> {
        self.requests.poll_recv(cx)
    }

    fn say(&mut self, mut response: Response) {
        response.reply.on_clock(|reading| self.clock.translate(reading));
        self.answers.tell(&response);
    }
}

/// The way of the answers to the harness. Clones share it.
#[derive(Clone)]
pub struct AnswerPipe(Rc<RefCell<dyn Write>>);

impl AnswerPipe {
    /// AnswerPipe with lines to this.
    pub fn to(writer: impl Write + 'static) -> Self {
        Self(Rc::new(RefCell::new(writer)))
    }

    fn tell(&self, response: &Response) {
        let line = serde_json::to_string(response).expect("a response is plain data") + "\n";
        let mut writer = self.0.borrow_mut();
        if writer.write_all(line.as_bytes()).and_then(|()| writer.flush()).is_err() {
            // The harness is gone, and with it the reason to live.
            std::process::exit(i32::from(Exit::CouldNotRun.code()));
        }
    }
}
