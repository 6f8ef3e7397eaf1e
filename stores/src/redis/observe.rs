//! What a real Redis does, as it tells an observer: `MONITOR` names the client of each command, and
//! keyspace events name the changes that it made. Both come on one connection, in one order: the
//! events of a command come before its line, those of a script before the lines of its commands, and
//! all of them after the line of the script.

use crate::model::{By, Name, Noted, What};
use crate::observation::{Observation, ObservedServer, Observer, Sight, Sights};
use combine::stream::Decoder;
use futures_util::future::BoxFuture;
use redis::aio::MultiplexedConnection;
use redis::{Client, PushKind, RedisResult, Value, parse_redis_value_async, pipe};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// The requests after which a connection hears of everything. The names of all keys come before: a
/// connection that hears of all commands is refused them.
const OPENING: &[u8] = b"HELLO 3\r\nCONFIG SET notify-keyspace-events EA\r\n\
    PSUBSCRIBE __keyevent@*\r\nKEYS *\r\nMONITOR\r\nPING\r\n";

/// The interval at which a server among replicas is asked for its role and its keys.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// The time after which a report of what has been done is there.
const REPORTED: Duration = Duration::from_millis(50);

/// The way to observe a server without replicas.
pub const ALONE: Observer = Observer {
    begin: |server| {
        Box::pin(async move { Ok(observation(hear(server.address, server.sights).await?)) })
    },
    reads_traffic: false,
};

/// The way to observe a primary or a replica.
pub const MEMBER: Observer =
    Observer { begin: |server| Box::pin(observe_member(server)), reads_traffic: false };

fn observation(following: BoxFuture<'static, ()>) -> Observation {
    Observation { following, catch_up: Box::new(|| Box::pin(tokio::time::sleep(REPORTED))) }
}

async fn observe_member(server: ObservedServer) -> io::Result<Observation> {
    let ObservedServer { address, sights, .. } = server;
    let hearing = hear(address, sights.clone()).await?;
    let client = Client::open(format!("redis://{address}")).map_err(io::Error::other)?;
    let mut asked = client.get_multiplexed_async_connection().await.map_err(io::Error::other)?;
    ask(&mut asked, &sights).await.map_err(io::Error::other)?;
    Ok(observation(Box::pin(async move {
        let asking = async {
            // Of a server that does not answer, the end of the hearing tells.
            while ask(&mut asked, &sights).await.is_ok() {
                tokio::time::sleep(ASKED_EVERY).await;
            }
            std::future::pending().await
        };
        tokio::select! {
            () = hearing => {}
            () = asking => {}
        }
    })))
}

/// Hears of every change from now on.
async fn hear(address: SocketAddr, sights: Sights) -> io::Result<BoxFuture<'static, ()>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(OPENING).await?;
    let (mut report, mut decoder) = (Report::new(sights), Decoder::new());
    while !report.has_begun {
        let value = parse_redis_value_async(&mut decoder, &mut stream).await;
        report.take(value.map_err(io::Error::other)?)?;
    }
    Ok(Box::pin(async move {
        while let Ok(value) = parse_redis_value_async(&mut decoder, &mut stream).await {
            // Nothing is asked any more, so nothing is refused.
            let _ = report.take(value);
        }
    }))
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
    sights: Sights,
    /// The changes whose command is not known yet.
    events: Vec<(Name, What)>,
    /// The client of the last command that came from one.
    caller: Option<u16>,
    /// All that comes from now on is reported.
    has_begun: bool,
}

impl Report {
    const fn new(sights: Sights) -> Self {
        Self { sights, events: Vec::new(), caller: None, has_begun: false }
    }

    /// Takes the next thing that the server says.
    fn take(&mut self, value: Value) -> io::Result<()> {
        match value {
            Value::Push { kind: PushKind::PMessage, data } => self.event(&data),
            Value::Array(names) => {
                (self.sights)(Sight::Contents(names.iter().filter_map(name).collect()))
            }
            Value::SimpleString(answer) if answer == "PONG" => self.has_begun = true,
            Value::SimpleString(line) => self.command(&line),
            Value::ServerError(error) => return Err(io::Error::other(error.to_string())),
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self, data: &[Value]) {
        let [_, Value::BulkString(channel), key] = data else { return };
        let kind = channel.rsplit(|byte| *byte == b':').next().unwrap_or_default();
        let Some(name) = name(key) else { return };
        match change(kind) {
            Some(what @ (What::Expired | What::Evicted)) => self.tell(name, what, None, 0),
            Some(what) => self.events.push((name, what)),
            None => {}
        }
    }

    /// Reads `1795666126.658793 [0 127.0.0.1:50278] "SET" "key" "value"`; `lua` stands for the address
    /// where the command is a script's.
    fn command(&mut self, line: &str) {
        let Some((_, rest)) = line.split_once('[') else { return };
        let Some((source, arguments)) = rest.split_once("] ") else { return };
        if !source.ends_with(" lua") {
            self.caller = source.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        }
        let mut hasher = DefaultHasher::new();
        arguments.split("\" \"").nth(2).map(|value| value.trim_end_matches('"')).hash(&mut hasher);
        let (value, caller) = (hasher.finish(), self.caller);
        for (name, what) in std::mem::take(&mut self.events) {
            self.tell(name, what, caller, value);
        }
    }

    fn tell(&mut self, object: Name, what: What, caller: Option<u16>, value: u64) {
        let noted = Noted { object, what, zxid: None };
        (self.sights)(Sight::Change { caller, noted, at_ns: None, value });
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
