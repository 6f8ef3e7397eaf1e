//! The suite against a real server.

use super::{Answered, Expected, SessionStep, sequence};
use crate::conformance::{Compared, Comparison, Stop, same};
use crate::postgres::{Client, Postgres};
use crate::postgres::{
    RealLink, Refusal, Reply, Request, Session, SessionId, SessionSettings, Statement,
};
use base::{CallError, Link};
use std::future::Future;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

/// The time after which an answer does not come any more.
const LIMIT: Duration = Duration::from_secs(5);

/// A session time-out so long that nobody asks for a sign of life.
const LONG: Duration = Duration::from_secs(3_600);

/// Runs the suite against a real server. Needs a tokio `LocalSet` around it.
///
/// # Errors
/// Fails when the server does not answer at all.
pub async fn real_arm(address: &str, seeds: Range<u64>) -> Result<Compared, tokio_postgres::Error> {
    let observer = SessionView::connect(address).await?;
    let (model, real) = (Expected::default(), RealSessions::new(address));
    let mut both = BesideModel { address, observer, name: String::new(), model, real };
    let mut report = Compared::default();
    for seed in seeds {
        report.compare(&mut both, &seed.to_string(), sequence(seed)).await;
    }
    measure(address, &mut report).await;
    Ok(report)
}

/// A real server beside the model.
struct BesideModel<'a> {
    address: &'a str,
    observer: SessionView,
    /// The name of the sequence, which those of its rows and locks begin with.
    name: String,
    model: Expected,
    real: RealSessions,
}

impl Comparison for BesideModel<'_> {
    type Step = SessionStep;

    async fn begin(&mut self, name: &str) -> Result<(), Stop> {
        self.name = format!("picklock-{name}");
        (self.model, self.real) = (Expected::default(), RealSessions::new(self.address));
        Ok(())
    }

    async fn step(&mut self, step: &SessionStep, report: &mut Compared) -> Result<(), Stop> {
        let step = named(step.clone(), &self.name);
        if !self.model.can_take(&step) {
            return Ok(());
        }
        let (_, waiting) = self.model.counts();
        let expected = self.model.take(&step);
        let answers = self.real.take(step, expected.len()).await;
        // The sessions, and those that wait.
        let counts = self.model.counts();
        report.replies += answers.len() as u64;
        report.count("answers after a wait", waiting.saturating_sub(counts.1) as u64);
        same(&sorted(answers), &sorted(expected))?;
        same(&self.observer.settle(counts).await?, &counts)
    }

    /// Closes what is open.
    async fn end(&mut self, _: &mut Compared) -> Result<(), Stop> {
        while let Some(step) = self.model.close() {
            self.model.take(&step);
            self.real.take(step, 0).await;
        }
        same(&self.observer.settle((0, 0)).await?, &(0, 0))
    }
}

/// A step with the names that it has on the server.
fn named(mut step: SessionStep, sequence: &str) -> SessionStep {
    if let SessionStep::Execute(
        _,
        Statement::AdvisoryLock { key: name }
        | Statement::TryAdvisoryLock { key: name }
        | Statement::AdvisoryUnlock { key: name }
        | Statement::AdvisoryXactLock { key: name }
        | Statement::TryAdvisoryXactLock { key: name }
        | Statement::InsertRow { name }
        | Statement::LockRow { name, .. },
    ) = &mut step
    {
        *name = format!("{sequence}-{name}");
    }
    step
}

/// Measures what goes by time.
async fn measure(address: &str, report: &mut Compared) {
    let link: Rc<dyn Link<Postgres>> = Rc::new(RealLink::new(vec![address.into()], None, LONG, 1));
    let client = Client::new(link);
    let first = refused_after(&client, Duration::ZERO).await;
    let second = refused_after(&client, Duration::from_millis(400)).await;
    for (what, due, took) in [
        ("lock_timeout of the first that waits", 700, first),
        ("lock_timeout of the second that becomes the first", 1_100, second),
        ("idle_in_transaction_session_timeout", 600, ended_after(&client).await),
    ] {
        // A busy machine takes its time, also to hear the answer from which it counts.
        report.time(what, [due - 50, due + 400], took.ok());
    }
}

/// Answers in the order of their sessions, those of a session in their own.
fn sorted(mut answers: Vec<Answered>) -> Vec<Answered> {
    answers.sort_by_key(|(session, _)| *session);
    answers
}

/// The sessions of a sequence with a real server.
struct RealSessions {
    link: Rc<RealLink>,
    answers: mpsc::UnboundedReceiver<Answered>,
    teller: mpsc::UnboundedSender<Answered>,
}

impl RealSessions {
    fn new(address: &str) -> Self {
        let (teller, answers) = mpsc::unbounded_channel();
        let link = Rc::new(RealLink::new(vec![address.into()], None, LONG, 1));
        Self { link, answers, teller }
    }

    /// Takes a step, and returns the answers up to so many.
    async fn take(&mut self, step: SessionStep, expected: usize) -> Vec<Answered> {
        match step {
            SessionStep::Connect(session) => {
                let settings = SessionSettings::default();
                self.call(session, Request::Connect { session, settings });
            }
            SessionStep::Execute(session, statement) => {
                self.call(session, Request::Execute { session, statement });
            }
            SessionStep::Close(session) => drop(self.link.call(0, Request::Close { session })),
        }
        let mut answers = Vec::new();
        while answers.len() < expected
            && let Ok(Some(answer)) = timeout(LIMIT, self.answers.recv()).await
        {
            answers.push(answer);
        }
        answers
    }

    /// Makes a call, and sends on its answer unless the outcome is unknown.
    fn call(&self, session: SessionId, request: Request) {
        let (link, teller) = (self.link.clone(), self.teller.clone());
        spawn_local(async move {
            let answer = match link.call(0, request).await {
                Ok(reply) => Ok(reply),
                Err(CallError::Refused(refusal)) => Err(refusal),
                Err(CallError::Unknown(_)) => return,
            };
            // Nobody listens any more at the end of a sequence.
            let _ = teller.send((session, answer));
        });
    }
}

/// Looks at the sessions of a server from beside.
struct SessionView(tokio_postgres::Client);

impl SessionView {
    async fn connect(address: &str) -> Result<Self, tokio_postgres::Error> {
        let (host, port) = address.split_once(':').unwrap_or((address, "5432"));
        let config = format!("host={host} port={port} user=postgres");
        let (client, connection) = tokio_postgres::connect(&config, tokio_postgres::NoTls).await?;
        spawn_local(connection);
        Ok(Self(client))
    }

    /// Waits until the sessions, and those that wait for a lock, are so many. Returns how many they
    /// are.
    async fn settle(&self, expected: (usize, usize)) -> Result<(usize, usize), String> {
        let until = Instant::now() + LIMIT;
        loop {
            let counts = self.counts().await.map_err(|error| error.to_string())?;
            if counts == expected || Instant::now() > until {
                return Ok(counts);
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    async fn counts(&self) -> Result<(usize, usize), tokio_postgres::Error> {
        let question = "SELECT count(*), count(*) FILTER (WHERE wait_event_type = 'Lock') \
             FROM pg_stat_activity \
             WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let messages = self.0.simple_query(question).await?;
        let row = messages.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let count = |place| row?.get(place)?.parse().ok();
        Ok((count(0).unwrap_or(0), count(1).unwrap_or(0)))
    }
}

type Timed<T> = Result<T, CallError<Refusal>>;

/// A row that sessions meet at.
const NAME: &str = "picklock-timed";

/// Opens a session and begins a transaction.
async fn begun(client: &Client, settings: SessionSettings) -> Timed<Session> {
    let session = client.connect(settings).await?;
    session.execute(Statement::InsertRow { name: NAME.into() }).await?;
    session.execute(Statement::Begin).await?;
    Ok(session)
}

/// Has a session lock the row, or wait for it.
fn lock(session: &Session) -> impl Future<Output = Timed<Reply>> {
    session.execute(Statement::LockRow { name: NAME.into(), wait: true })
}

/// Measures after how many milliseconds a session is refused that waits for a row for 0.7 s at
/// most: the first that waits, or the second until the row is handed on after some time.
async fn refused_after(client: &Client, handed_on: Duration) -> Timed<u64> {
    let lock_timeout = Duration::from_millis(700);
    let last = SessionSettings { lock_timeout, ..SessionSettings::default() };
    let (holder, before) =
        (begun(client, SessionSettings::default()), begun(client, SessionSettings::default()));
    let (holder, before, last) = (holder.await?, before.await?, begun(client, last).await?);
    lock(&holder).await?;
    let is_second = !handed_on.is_zero();
    let _first = is_second.then(|| lock(&before));
    // Connections overtake each other.
    sleep(Duration::from_millis(100)).await;
    let started = Instant::now();
    let answer = lock(&last);
    sleep(handed_on).await;
    if is_second {
        holder.execute(Statement::Commit).await?;
    }
    match answer.await {
        Err(CallError::Refused(Refusal::LockNotAvailable)) => {
            Ok(started.elapsed().as_millis() as u64)
        }
        other => Err(CallError::Unknown(format!("{other:?}"))),
    }
}

/// Measures after how many milliseconds a session ends that says nothing in a transaction, though
/// it has waited for a row for longer.
async fn ended_after(client: &Client) -> Timed<u64> {
    let idle_in_transaction = Duration::from_millis(600);
    let settings = SessionSettings { idle_in_transaction, ..SessionSettings::default() };
    let (holder, idle) =
        (begun(client, SessionSettings::default()).await?, begun(client, settings).await?);
    lock(&holder).await?;
    let answer = lock(&idle);
    sleep(Duration::from_secs(1)).await;
    holder.execute(Statement::Commit).await?;
    answer.await?;
    let started = Instant::now();
    idle.closed().await;
    Ok(started.elapsed().as_millis() as u64)
}
