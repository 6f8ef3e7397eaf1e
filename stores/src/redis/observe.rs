//! What a real Redis does, as it tells an observer: `MONITOR` names the client of each command, and
//! keyspace events name the changes that it made. Both come on one connection, in one order: the
//! events of a command come before its line, those of a script before the lines of its commands, and
//! all of them after the line of the script.

use crate::model::{By, Name, Noted, What};
use crate::observation::{Observation, ObservedServer, Observer, Sight, Sights};
use crate::real::monotonic_nanos;
use combine::stream::Decoder;
use futures_util::future::BoxFuture;
use redis::aio::MultiplexedConnection;
use redis::{Client, PushKind, RedisResult, Value, parse_redis_value_async, pipe};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::{Mutex, watch};

/// The requests after which a connection hears of everything. The names of all keys come before: a
/// connection that hears of all commands is refused them.
const OPENING: &[u8] = b"HELLO 3\r\nCONFIG SET notify-keyspace-events EA\r\n\
    PSUBSCRIBE __keyevent@*\r\nKEYS *\r\nMONITOR\r\nPING\r\n";

/// The interval at which a server among replicas is asked for its role and its keys.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// The way to observe a server without replicas.
pub const ALONE: Observer =
    Observer { begin: |server| Box::pin(hear(server)), reads_traffic: false };

/// The way to observe a primary or a replica.
pub const MEMBER: Observer =
    Observer { begin: |server| Box::pin(hear_and_ask(server)), reads_traffic: false };

async fn hear_and_ask(server: ObservedServer) -> io::Result<Observation> {
    let (address, sights) = (server.address, server.sights.clone());
    let hearing = hear(server).await?;
    let client = Client::open(format!("redis://{address}")).map_err(io::Error::other)?;
    let mut asked = client.get_multiplexed_async_connection().await.map_err(io::Error::other)?;
    ask(&mut asked, &sights).await.map_err(io::Error::other)?;
    let asking = async move {
        // Of a server that does not answer, the end of the hearing tells.
        while ask(&mut asked, &sights).await.is_ok() {
            tokio::time::sleep(ASKED_EVERY).await;
        }
        std::future::pending().await
    };
    let following = Box::pin(async move {
        tokio::select! {
            () = hearing.following => {}
            () = asking => {}
        }
    });
    Ok(Observation { following, ..hearing })
}

/// Hears of every change from now on.
async fn hear(server: ObservedServer) -> io::Result<Observation> {
    let (mut replies, mut requests) = TcpStream::connect(server.address).await?.into_split();
    requests.write_all(OPENING).await?;
    let (pongs, answered) = watch::channel(0);
    let (mut report, mut decoder) = (Report::new(server, pongs), Decoder::new());
    while *answered.borrow() == 0 {
        let value = parse_redis_value_async(&mut decoder, &mut replies).await;
        report.take(value.map_err(io::Error::other)?)?;
    }
    let following = Box::pin(async move {
        while let Ok(value) = parse_redis_value_async(&mut decoder, &mut replies).await {
            // Nothing is asked any more, so nothing is refused.
            let _ = report.take(value);
        }
    });
    let requests = Arc::new(Mutex::new(requests));
    let catch_up =
        move || -> BoxFuture<'static, ()> { Box::pin(ping(requests.clone(), answered.clone())) };
    Ok(Observation { following, catch_up: Box::new(catch_up) })
}

/// Waits until all is heard that was done before.
async fn ping(requests: Arc<Mutex<OwnedWriteHalf>>, mut answered: watch::Receiver<u64>) {
    answered.mark_unchanged();
    // Of a connection that has broken, nothing more is heard.
    if requests.lock().await.write_all(b"PING\r\n").await.is_ok() {
        let _ = answered.changed().await;
    }
}

/// Asks for what no report tells: the role of a server, and what it has from another one.
async fn ask(connection: &mut MultiplexedConnection, sights: &Sights) -> RedisResult<()> {
    let mut both = pipe();
    both.cmd("ROLE").cmd("KEYS").arg("*");
    let (role, names): (Vec<Value>, Vec<Vec<u8>>) = both.query_async(connection).await?;
    let is_primary = matches!(role.first(), Some(Value::BulkString(role)) if role == b"master");
    sights(Sight::Primary(is_primary));
    if !is_primary {
        sights(Sight::Contents(names.iter().map(|name| Name::from_slice(name)).collect()));
    }
    Ok(())
}

/// The reading of a connection.
struct Report {
    server: ObservedServer,
    /// The changes whose command is not known yet, each with the time at which it was heard.
    events: Vec<(Name, What, u64)>,
    /// The client of the last command that came from one.
    caller: Option<u16>,
    /// The number of answers to `PING`.
    pongs: watch::Sender<u64>,
}

impl Report {
    const fn new(server: ObservedServer, pongs: watch::Sender<u64>) -> Self {
        Self { server, events: Vec::new(), caller: None, pongs }
    }

    /// Takes the next thing that the server says.
    fn take(&mut self, value: Value) -> io::Result<()> {
        match value {
            Value::Push { kind: PushKind::PMessage, data } => self.event(&data),
            Value::Array(names) => {
                (self.server.sights)(Sight::Contents(names.iter().filter_map(name).collect()));
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
        if let (Some(name), Some(what)) = (name(key), change(kind)) {
            self.events.push((name, what, monotonic_nanos()));
        }
    }

    /// Reads `1795666126.658793 [0 127.0.0.1:50278] "SET" "key" "value"`; `lua` stands for the address
    /// where the command is a script's.
    fn command(&mut self, line: &str) -> Option<()> {
        let (time, rest) = line.split_once(" [")?;
        let (source, arguments) = rest.split_once("] ")?;
        if !source.ends_with(" lua") {
            self.caller = source.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        }
        let mut hasher = DefaultHasher::new();
        arguments.split("\" \"").nth(2).map(|value| value.trim_end_matches('"')).hash(&mut hasher);
        let (at_ns, value) = (self.time(time), hasher.finish());
        for (object, what, heard_ns) in std::mem::take(&mut self.events) {
            let is_asked = !matches!(what, What::Expired | What::Evicted);
            (self.server.sights)(Sight::Change {
                caller: self.caller.filter(|_| is_asked),
                noted: Noted { object, what, zxid: None },
                at_ns: Some(heard_ns.min(at_ns)),
                value,
            });
        }
        Some(())
    }

    /// The time of a command by CLOCK_MONOTONIC. Its line can be heard after its client has had the
    /// answer, so it is as old as the server says, by the clock that it shares with this machine.
    fn time(&self, told: &str) -> u64 {
        let now_ns = monotonic_nanos();
        let told_s = told.parse().ok().filter(|_| self.server.shares_clock);
        let then = told_s.map(|told_s| UNIX_EPOCH + Duration::from_secs_f64(told_s));
        let age = then.and_then(|then| then.elapsed().ok());
        now_ns - age.map_or(0, |age| age.as_nanos() as u64)
    }
}

/// The change that a keyspace event of this kind tells; `None` if what is stored is as it was.
fn change(kind: &[u8]) -> Option<What> {
    match kind {
        b"expire" | b"persist" => None,
        b"expired" => Some(What::Expired),
        b"evicted" => Some(What::Evicted),
        b"del" | b"rename_from" | b"move_from" => Some(What::Deleted(By::Caller)),
        _ => Some(What::Written(By::Caller)),
    }
}

fn name(value: &Value) -> Option<Name> {
    match value {
        Value::BulkString(name) => Some(Name::from_slice(name)),
        _ => None,
    }
}
