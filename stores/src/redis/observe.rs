//! The observer of a real Redis: `MONITOR` names the client of each command, and keyspace events
//! name the changes that it made. Both come on one connection, in one order: the events of a
//! command come before its line, those of a script before the lines of its commands, and all of
//! them after the line of the script.

use super::allotment::SETTING;
use super::stream::SILENT;
use crate::Endpoint;
use crate::allotment::{own_name, within};
use crate::model::{By, Name, Noted, What};
use crate::observation::{Observation, ObservedServer, Observer, ReportSink, ServerReport};
use crate::real::monotonic_nanos;
use combine::parser::combinator::AnySendSyncPartialState;
use combine::stream::{Decoder, PointerOffset};
use futures_util::future::BoxFuture;
use members::FollowedKeys;
use redis::aio::MultiplexedConnection;
use redis::{PushKind, RedisResult, Value, cmd, parse_redis_value_async, pipe};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, watch};

mod members;

/// The requests after which a connection hears of everything. The names of all keys come before: a
/// connection that hears of all commands is refused them.
const OPENING: &[u8] = b"HELLO 3\r\nCONFIG SET notify-keyspace-events EA\r\n\
    PSUBSCRIBE __keyevent@*\r\nKEYS *\r\nMONITOR\r\nPING\r\n";

/// The same on a server that others use, too: it is not asked for the names of all their keys.
const OPENING_OF_GIVEN: &[u8] = b"HELLO 3\r\nPSUBSCRIBE __keyevent@*\r\nMONITOR\r\nPING\r\n";

/// The interval at which a server among replicas is asked for its role and its keys.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// The number of times that a server of somebody else is asked for its time.
const ASKED_FOR_TIME: u32 = 20;

/// The grain of the times that a server tells, and of those at which it is set.
const GRAIN_NS: i64 = 1_000_000;

/// The way to observe a server without replicas.
pub const ALONE: Observer = Observer {
    begin: |server| Box::pin(observe(server, ObservationKind::Standalone)),
    reads_traffic: false,
};

/// The way to observe one whose locks are members of collections, too.
pub const BY_MEMBERS: Observer = Observer {
    begin: |server| Box::pin(observe(server, ObservationKind::ByMembers)),
    reads_traffic: false,
};

/// The way to observe a primary or a replica.
pub const REPLICATED: Observer = Observer {
    begin: |server| Box::pin(observe(server, ObservationKind::Replicated)),
    reads_traffic: false,
};

/// A kind of observation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ObservationKind {
    Standalone,
    ByMembers,
    Replicated,
}

async fn observe(server: ObservedServer, kind: ObservationKind) -> io::Result<Observation> {
    let lag_ns = match &server.allotment {
        Some(allotment) => {
            Some(prepare(&server.endpoint, allotment).await.map_err(io::Error::other)?)
        }
        None => None,
    };
    let (pongs, answered) = watch::channel(0);
    let copy = match kind {
        ObservationKind::ByMembers => Some(copy_of(&server).await.map_err(io::Error::other)?),
        ObservationKind::Standalone | ObservationKind::Replicated => None,
    };
    let mut report = Report { lag_ns, copy, ..Report::new(server, pongs) };
    let mut hearing = Hearing::begin(&mut report).await?;
    let requests = Arc::new(Mutex::new(hearing.requests.take()));
    let latest = requests.clone();
    let following = Box::pin(async move {
        if kind != ObservationKind::Replicated {
            return hearing.follow(&mut report).await;
        }
        // A Sentinel has a server close all its connections when it makes it a primary or a
        // replica.
        loop {
            let asking = ask_on(report.server.endpoint.clone(), report.server.reports.clone());
            tokio::select! {
                () = hearing.follow(&mut report) => {}
                () = asking => {}
            }
            let Ok(again) = Hearing::begin(&mut report).await else { return };
            hearing = again;
            *latest.lock().await = hearing.requests.take();
        }
    });
    let catch_up =
        move || -> BoxFuture<'static, ()> { Box::pin(ping(requests.clone(), answered.clone())) };
    Ok(Observation { following, catch_up: Box::new(catch_up) })
}

/// A copy of what a server stores. On one that others use, too, nothing is the run's own yet.
async fn copy_of(server: &ObservedServer) -> RedisResult<FollowedKeys> {
    match server.allotment {
        Some(_) => Ok(FollowedKeys::empty()),
        None => FollowedKeys::load(&server.endpoint).await,
    }
}

/// Prepares a server of somebody else. Returns the time by which its clock lags behind
/// CLOCK_MONOTONIC, in nanoseconds.
async fn prepare(endpoint: &Endpoint, allotment: &str) -> RedisResult<i64> {
    let mut connection = connect(endpoint).await?;
    enable_change_events(&mut connection, allotment).await?;
    lag_ns(&mut connection).await
}

/// Asks for the time again and again, and goes by the quickest answer.
async fn lag_ns(connection: &mut MultiplexedConnection) -> RedisResult<i64> {
    let mut quickest = (u64::MAX, 0);
    for _ in 0..ASKED_FOR_TIME {
        let asked_ns = monotonic_nanos();
        let (seconds, micros): (i64, i64) = cmd("TIME").query_async(connection).await?;
        let took_ns = monotonic_nanos() - asked_ns;
        let middle_ns = (asked_ns + took_ns / 2) as i64;
        quickest = quickest.min((took_ns, middle_ns - seconds * 1_000_000_000 - micros * 1_000));
    }
    Ok(quickest.1)
}

/// Has a server report all changes, besides what it is to report to others, and notes the former
/// setting in the allotment, for whoever clears it. One that reports all changes is left as it is.
async fn enable_change_events(
    connection: &mut MultiplexedConnection,
    allotment: &str,
) -> RedisResult<()> {
    let get = cmd("CONFIG").arg("GET").arg(SETTING).take();
    let (_, before): (String, String) = get.query_async(connection).await?;
    if before.contains('A') && before.contains('E') {
        return Ok(());
    }
    let (key, mark) = (within(allotment, SETTING), within(allotment, ""));
    let mut note = pipe();
    note.atomic().cmd("SET").arg(&key).arg(&before).cmd("SADD").arg(mark).arg(&key);
    note.exec_async(connection).await?;
    let set = cmd("CONFIG").arg("SET").arg(SETTING).arg(before + "EA").take();
    set.exec_async(connection).await
}

async fn connect(endpoint: &Endpoint) -> RedisResult<MultiplexedConnection> {
    let opened = MultiplexedConnection::new(&SILENT, endpoint.connect().await?);
    let (connection, driver) = opened.await?;
    // It ends with the connection.
    tokio::spawn(driver);
    Ok(connection)
}

/// Waits until all is heard that was done before.
async fn ping(requests: Arc<Mutex<Option<OwnedWriteHalf>>>, mut answered: watch::Receiver<u64>) {
    answered.mark_unchanged();
    if let Some(requests) = &mut *requests.lock().await {
        // Of a connection that has broken, nothing more is heard; the next one begins with an
        // answer.
        let _ = requests.write_all(b"PING\r\n").await;
    }
    let _ = answered.changed().await;
}

/// A connection that hears of every change.
struct Hearing {
    replies: OwnedReadHalf,
    requests: Option<OwnedWriteHalf>,
    decoder: Decoder<AnySendSyncPartialState, PointerOffset<[u8]>>,
}

impl Hearing {
    async fn begin(report: &mut Report) -> io::Result<Self> {
        let (replies, mut requests) = report.server.endpoint.connect().await?.into_split();
        let is_given = report.server.allotment.is_some();
        requests.write_all(if is_given { OPENING_OF_GIVEN } else { OPENING }).await?;
        let mut it = Self { replies, requests: Some(requests), decoder: Decoder::new() };
        let before = *report.pongs.borrow();
        while *report.pongs.borrow() == before {
            report.take(it.next().await.map_err(io::Error::other)?)?;
        }
        Ok(it)
    }

    async fn next(&mut self) -> RedisResult<Value> {
        parse_redis_value_async(&mut self.decoder, &mut self.replies).await
    }

    /// Hears until the connection ends.
    async fn follow(&mut self, report: &mut Report) {
        while let Ok(value) = self.next().await {
            // Nothing is asked any more, so nothing is refused.
            let _ = report.take(value);
        }
    }
}

/// Asks a server among replicas again and again what no report tells. Its end is not noticed here.
async fn ask_on(endpoint: Endpoint, reports: ReportSink) {
    loop {
        if let Ok(mut connection) = connect(&endpoint).await {
            while ask(&mut connection, &reports).await.is_ok() {
                tokio::time::sleep(ASKED_EVERY).await;
            }
        }
        tokio::time::sleep(ASKED_EVERY).await;
    }
}

/// Asks for what no report tells: the role of a server, and what it has from another one.
async fn ask(connection: &mut MultiplexedConnection, reports: &ReportSink) -> RedisResult<()> {
    let mut both = pipe();
    both.cmd("ROLE").cmd("KEYS").arg("*");
    let (role, names): (Vec<Value>, Vec<Vec<u8>>) = both.query_async(connection).await?;
    let is_primary = matches!(role.first(), Some(Value::BulkString(role)) if role == b"master");
    reports(ServerReport::Primary(is_primary));
    if !is_primary {
        reports(ServerReport::Contents(names.iter().map(|name| Name::from_slice(name)).collect()));
    }
    Ok(())
}

/// The reading of a connection.
struct Report {
    server: ObservedServer,
    /// The changes whose command is not known yet.
    events: Vec<KeyspaceEvent>,
    /// A copy of what it stores, if the members of collections are reported one by one.
    copy: Option<FollowedKeys>,
    /// The client of the last command that came from one.
    caller: Option<u16>,
    /// The number of answers to `PING`.
    pongs: watch::Sender<u64>,
    /// The time by which the server's clock lags behind CLOCK_MONOTONIC; `None`: it is this
    /// machine's.
    lag_ns: Option<i64>,
}

/// A change of a key.
struct KeyspaceEvent {
    key: Name,
    what: What,
    /// The time at which it was heard.
    heard_ns: u64,
}

impl KeyspaceEvent {
    fn noted(self) -> Noted {
        Noted { object: self.key, what: self.what, zxid: None }
    }
}

impl Report {
    const fn new(server: ObservedServer, pongs: watch::Sender<u64>) -> Self {
        Self { server, events: Vec::new(), copy: None, caller: None, pongs, lag_ns: None }
    }

    /// Takes the next thing that the server says.
    fn take(&mut self, value: Value) -> io::Result<()> {
        match value {
            Value::Push { kind: PushKind::PMessage, data } => self.event(&data),
            Value::Array(names) => {
                let all = || names.iter().filter_map(name).collect();
                let things = self.copy.as_ref().map_or_else(all, FollowedKeys::names);
                (self.server.reports)(ServerReport::Contents(things));
            }
            Value::SimpleString(answer) if answer == "PONG" => {
                self.pongs.send_modify(|it| *it += 1)
            }
            Value::SimpleString(line) => drop(self.command(&line)),
            Value::ServerError(error) => return Err(io::Error::other(error.to_string())),
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self, data: &[Value]) {
        let [_, Value::BulkString(channel), key] = data else { return };
        let kind = channel.rsplit(|byte| *byte == b':').next().unwrap_or_default();
        let own = name(key).filter(|name| self.own(name.clone()).is_some());
        if let (Some(key), Some(what)) = (own, change(kind)) {
            self.events.push(KeyspaceEvent { key, what, heard_ns: monotonic_nanos() });
        }
    }

    /// The name of a thing within the run; `None`: it is another's.
    fn own(&self, name: Name) -> Option<Name> {
        own_name(self.server.allotment.as_deref(), name)
    }

    /// Reads `1795666126.658793 [0 127.0.0.1:50278] "SET" "key" "value"`; `lua` stands for the
    /// address where the command is a script's.
    fn command(&mut self, line: &str) -> Option<()> {
        let (time, rest) = line.split_once(" [")?;
        let (source, arguments) = rest.split_once("] ")?;
        if !source.ends_with(" lua") {
            self.caller = source.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        }
        if arguments.to_ascii_lowercase().contains(SETTING) && arguments.starts_with("\"CONFIG") {
            // Somebody else decides now which changes are reported.
            (self.server.reports)(ServerReport::Incomplete);
        }
        let mut hasher = DefaultHasher::new();
        arguments.split("\" \"").nth(2).map(|value| value.trim_end_matches('"')).hash(&mut hasher);
        if self.events.is_empty() {
            return Some(());
        }
        let at_ns = self.time(time).unwrap_or_else(|| {
            (self.server.reports)(ServerReport::Incomplete);
            monotonic_nanos()
        });
        let value = hasher.finish();
        let events = std::mem::take(&mut self.events);
        let changes = match &mut self.copy {
            Some(copy) => copy.follow(events, arguments),
            None => Some(events.into_iter().map(|it| (it.heard_ns, it.noted())).collect()),
        };
        if changes.is_none() {
            (self.server.reports)(ServerReport::Incomplete);
        }
        for (heard_ns, noted) in changes.into_iter().flatten() {
            let is_asked = is_asked(noted.what);
            let Some(object) = self.own(noted.object) else { continue };
            (self.server.reports)(ServerReport::Change {
                caller: self.caller.filter(|_| is_asked),
                noted: Noted { object, ..noted },
                at_ns: Some(heard_ns.min(at_ns)),
                value,
            });
        }
        Some(())
    }

    /// The time of a command by CLOCK_MONOTONIC. Its line can be heard after its client has had the
    /// answer, so it is as old as the server says: by a clock whose lag is known, or whose lead
    /// over this machine's is. `None`: by that nobody knows.
    fn time(&self, time: &str) -> Option<u64> {
        let now_ns = monotonic_nanos();
        let time_ns = Duration::from_secs_f64(time.parse().ok()?).as_nanos() as i64;
        if let Some(lag_ns) = self.lag_ns {
            return Some((time_ns + lag_ns) as u64);
        }
        let wall_ns = UNIX_EPOCH.elapsed().ok()?.as_nanos() as i64;
        let age_ns = age_ns(wall_ns - time_ns, (self.server.leads)())?;
        Some(now_ns - age_ns)
    }
}

/// The age of what a server has reported, which by its clock seems so old, whatever its lead was:
/// what is heard at once is the newest that it can be, and nothing comes from the future. `None`:
/// it may be as much older as the clock has jumped.
fn age_ns(seems_ns: i64, leads: [Option<i64>; 2]) -> Option<u64> {
    let [now, before] = leads.map(|lead| Some(seems_ns + lead?));
    let (now, before) = (now?, before.unwrap_or(i64::MIN));
    let possible = [now, before].into_iter().filter(|age| *age > -GRAIN_NS);
    let age_ns = possible.min().unwrap_or(now.max(before)).max(0).unsigned_abs();
    (now == before || age_ns < now.abs_diff(before) / 2).then_some(age_ns)
}

/// Returns true if a client asked for a change.
const fn is_asked(what: What) -> bool {
    !matches!(what, What::Expired | What::Evicted)
}

/// The change that a keyspace event of this kind tells; `None` if what is stored is as it was.
fn change(kind: &[u8]) -> Option<What> {
    match kind {
        // The last two are reported where somebody else wants them.
        b"expire" | b"persist" | b"keymiss" | b"new" => None,
        b"expired" => Some(What::Expired),
        b"evicted" => Some(What::Evicted),
        b"del" | b"rename_from" | b"move_from" => Some(What::Deleted(By::Caller)),
        _ if PARTS.split(' ').any(|part| part.as_bytes() == kind) => Some(What::Shared(By::Caller)),
        _ => Some(What::Written(By::Caller)),
    }
}

/// The keyspace events of what is put into a collection, or taken out of one. A counter is one,
/// too: the sum of what each has added.
const PARTS: &str = "lpush rpush lpop rpop linsert lset lrem ltrim sadd srem spop zadd zincr zrem \
    zremrangebyrank zremrangebyscore zremrangebylex zpopmin zpopmax hset hincrby hincrbyfloat hdel \
    incrby incrbyfloat";

fn name(value: &Value) -> Option<Name> {
    match value {
        Value::BulkString(name) => Some(Name::from_slice(name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::age_ns;

    #[test]
    fn what_was_reported_before_or_after_a_jump_is_known_by_its_age() {
        const S: i64 = 1_000_000_000;
        // It was never set.
        assert_eq!(age_ns(7 * S, [Some(0); 2]), Some(7_000_000_000));
        assert_eq!(age_ns(-9, [Some(0); 2]), Some(0));
        // It was set ahead by five seconds, after that or before it.
        assert_eq!(age_ns(9 - 5 * S, [Some(5 * S), Some(0)]), Some(9));
        assert_eq!(age_ns(9, [Some(5 * S), Some(0)]), Some(9));
        // It was set back again.
        assert_eq!(age_ns(9, [Some(0), Some(5 * S)]), Some(9));
        assert_eq!(age_ns(9 - 5 * S, [Some(0), Some(5 * S)]), Some(9));
        // That was heard too late to be sure, or reported by a clock that stood still.
        assert_eq!(age_ns(3 * S, [Some(5 * S), Some(0)]), None);
        assert_eq!(age_ns(0, [None, Some(0)]), None);
        assert_eq!(age_ns(9, [Some(0), None]), Some(9));
    }
}
