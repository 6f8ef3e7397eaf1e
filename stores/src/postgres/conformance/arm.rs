//! The suite against a real server.

use super::{Answered, SessionStep, StepDraw};
use crate::postgres::{Client, Postgres};
use crate::postgres::{
    RealLink, Refusal, Reply, Request, Session, SessionId, SessionSettings, Statement,
};
use base::{CallError, Link};
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

/// The number of steps of a sequence.
const STEPS: usize = 40;

/// The time after which an answer does not come any more.
const LIMIT: Duration = Duration::from_secs(5);

/// A session time-out so long that nobody asks for a sign of life.
const LONG: Duration = Duration::from_secs(3_600);

/// The results of the suite.
#[derive(Debug, Default)]
pub struct ConformanceReport {
    /// The number of answers that were compared.
    pub answers: u64,
    /// The number of answers to statements that had waited for a lock.
    pub handed_on: u64,
    /// Every difference from the model, in words.
    pub differences: Vec<String>,
    /// The times that went by until something happened by itself: what, the time that the model
    /// says, and the time that it took, in milliseconds.
    pub times_ms: Vec<(&'static str, u64, u64)>,
}

impl ConformanceReport {
    /// Returns true if every answer was the model's, and came at its time.
    pub fn passed(&self) -> bool {
        // A busy machine takes its time, also to hear the answer from which it counts.
        let fits = |(_, due, took): &(&str, u64, u64)| (due - 50..due + 400).contains(took);
        let times = self.times_ms.len() == 3 && self.times_ms.iter().all(fits);
        self.answers > 0 && self.handed_on > 0 && self.differences.is_empty() && times
    }
}

impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answers, handed_on, .. } = self;
        writeln!(f, "{answers} answers compared, {handed_on} of them after a wait")?;
        for (what, due, took) in &self.times_ms {
            writeln!(f, "{what}: after {took} ms, and {due} in the model")?;
        }
        self.differences.iter().try_for_each(|difference| writeln!(f, "{difference}"))
    }
}

/// Runs the suite against a real server. Needs a tokio `LocalSet` around it.
///
/// # Errors
/// Fails when the server does not answer at all.
pub async fn real_arm(
    address: &str,
    seeds: Range<u64>,
) -> Result<ConformanceReport, tokio_postgres::Error> {
    let observer = Observer::connect(address).await?;
    let mut report = ConformanceReport::default();
    for seed in seeds {
        report.compare(address, &observer, seed).await?;
    }
    report.measure(address).await;
    Ok(report)
}

impl ConformanceReport {
    /// Has the server and the model take the steps of a sequence.
    async fn compare(
        &mut self,
        address: &str,
        observer: &Observer,
        seed: u64,
    ) -> Result<(), tokio_postgres::Error> {
        let (mut draw, mut real) = (StepDraw::new(seed), RealSessions::new(address));
        let mut taken = Vec::new();
        for number in 0.. {
            let waiting = draw.counts().1;
            let next = if number < STEPS { Some(draw.step()) } else { draw.end() };
            let Some((step, expected)) = next else { return Ok(()) };
            taken.push(format!("{step:?}"));
            let answers = real.take(step, expected.len()).await;
            self.answers += answers.len() as u64;
            self.handed_on += waiting.saturating_sub(draw.counts().1) as u64;
            let said = if sorted(&answers) == sorted(&expected) {
                let counts = observer.settle(draw.counts()).await?;
                (counts != draw.counts())
                    .then(|| format!("(sessions, waiting) {counts:?}, not {:?}", draw.counts()))
            } else {
                Some(format!("{answers:?}, not {expected:?}"))
            };
            if let Some(said) = said {
                let steps = taken.join(", ");
                self.differences.push(format!("seed {seed}: {said} after {steps}"));
                while let Some((step, _)) = draw.end() {
                    real.take(step, 0).await;
                }
                observer.settle((0, 0)).await?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Measures what goes by time.
    async fn measure(&mut self, address: &str) {
        let link: Rc<dyn Link<Postgres>> = Rc::new(RealLink::new(vec![address.into()], LONG, 1));
        let client = Client::new(link);
        let measured = async {
            let took = refused_after(&client, Duration::ZERO).await?;
            self.times_ms.push(("lock_timeout of the first that waits", 700, took));
            let took = refused_after(&client, Duration::from_millis(400)).await?;
            self.times_ms.push(("lock_timeout of the second that becomes the first", 1_100, took));
            let took = ended_after(&client).await?;
            self.times_ms.push(("idle_in_transaction_session_timeout", 600, took));
            Ok::<(), CallError<Refusal>>(())
        };
        if let Err(error) = measured.await {
            self.differences.push(format!("what goes by time: {error}"));
        }
    }
}

/// Answers in the order of their sessions, those of a session in their own.
fn sorted(answers: &[Answered]) -> Vec<Answered> {
    let mut sorted = answers.to_vec();
    sorted.sort_by_key(|(session, _)| *session);
    sorted
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
        let link = Rc::new(RealLink::new(vec![address.into()], LONG, 1));
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

    /// Makes a call, whose answer is told unless nobody knows it.
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
struct Observer(tokio_postgres::Client);

impl Observer {
    async fn connect(address: &str) -> Result<Self, tokio_postgres::Error> {
        let (host, port) = address.split_once(':').unwrap_or((address, "5432"));
        let config = format!("host={host} port={port} user=postgres");
        let (client, connection) = tokio_postgres::connect(&config, tokio_postgres::NoTls).await?;
        spawn_local(connection);
        Ok(Self(client))
    }

    /// Waits until the sessions, and those that wait for a lock, are so many. Returns how many they are.
    async fn settle(
        &self,
        expected: (usize, usize),
    ) -> Result<(usize, usize), tokio_postgres::Error> {
        let until = Instant::now() + LIMIT;
        loop {
            let counts = self.counts().await?;
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

/// Measures after how many milliseconds a session is refused that waits for a row for 0.7 s at most:
/// the first that waits, or the second until the row is handed on after some time.
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

/// Measures after how many milliseconds a session ends that says nothing in a transaction, though it has
/// waited for a row for longer.
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
