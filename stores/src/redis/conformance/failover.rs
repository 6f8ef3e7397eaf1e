//! Failovers of real Sentinels, as clients see them: how long they name a primary that is dead,
//! when the next one answers, what it knows, and what becomes of the one before. The figures are
//! those that the model is held against in its own tests. And real members of a Redis Cluster, to
//! which the questions of `cluster.rs` are put.

#![expect(clippy::disallowed_methods, reason = "a real failover takes real time")]

use super::cluster::{ClusterSubject, NO_CONNECTION};
use super::real::RealRedis;
use super::{ConformanceSubject, render};
use crate::conformance::{Compared, Killing, same};
use crate::node_number;
use crate::redis::SentinelTiming;
use redis::{Cmd, FromRedisValue, Value, cmd};
use std::io;
use std::time::{Duration, Instant};

/// The pause between two questions, and the time in which all must have come to its end.
const PAUSE: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(60);

/// The places of the servers in the topology.
const DATA: [usize; 3] = [0, 1, 2];
const SENTINELS: [usize; 3] = [3, 4, 5];

/// Kills the primary of real servers and measures what follows: it may take no less than the
/// settings and Redis's own intervals say, and no more than clients have to expect.
///
/// # Errors
/// Fails when a server cannot be reached, or does not come to its end in time.
pub fn failover_arm(
    addresses: &[String],
    servers: &mut dyn Killing,
    timing: SentinelTiming,
) -> io::Result<Compared> {
    let mut addresses = addresses.to_vec();
    let mut real = connected(&addresses);
    let before = named_primary(&mut real, SENTINELS[0])?;
    real.call(before, cmd("SET").arg("kept").arg("k"))?;
    for server in DATA {
        until(|| Ok(get(&mut real, server)? == bulk("k")))?;
    }
    // It is silent before it is dead, which takes a while on a busy machine.
    let died = Instant::now();
    servers.kill(before)?;
    until(|| {
        Ok(SENTINELS.iter().any(|it| named_primary(&mut real, *it).is_ok_and(|now| now != before)))
    })?;
    let first = died.elapsed();
    until(|| {
        Ok(SENTINELS.iter().all(|it| named_primary(&mut real, *it).is_ok_and(|now| now != before)))
    })?;
    let all = died.elapsed();
    // A server that is promoted closes its connections, and so does one that is made a replica.
    let mut real = connected(&addresses);
    let primary = named_primary(&mut real, SENTINELS[0])?;
    until(|| Ok(real.call(primary, cmd("SET").arg("new").arg("n"))? == Value::Okay))?;
    let writable = died.elapsed();
    let kept = get(&mut real, primary)?;
    // On a busy machine the server runs for seconds before its start is done.
    let started = Instant::now();
    addresses[before] = servers.start(before)?;
    until(|| Ok(is_master(&mut connected(&addresses), before).is_ok_and(|is_one| !is_one)))?;
    let followed = started.elapsed();
    let mut new = cmd("GET");
    new.arg("new");
    until(|| Ok(connected(&addresses).call(before, &new).is_ok_and(|it| it == bulk("n"))))?;
    let mut report = Compared { replies: 1, ..Compared::default() };
    report.note("what had reached the next primary", same(&kept, &bulk("k")));
    let (least, most) = (timing.down_after + Duration::from_secs(1), timing.settled());
    for (what, least, most, took) in [
        ("another primary named", least, most, first),
        ("named by all", least, most, all),
        ("writable", least, most, writable),
        ("the old one followed", Duration::from_secs(8), Duration::from_secs(40), followed),
    ] {
        let [least, most, took] = [least, most, took].map(|time| time.as_millis() as u64);
        report.time(what, [least, most], Some(took));
    }
    Ok(report)
}

/// Members of a real cluster.
pub struct RealCluster<'a> {
    addresses: Vec<String>,
    members: &'a mut dyn Killing,
    real: RealRedis,
    begun: Instant,
}

impl<'a> RealCluster<'a> {
    /// The members at these addresses.
    pub fn new(addresses: Vec<String>, members: &'a mut dyn Killing) -> Self {
        let real = connected(&addresses);
        Self { addresses, members, real, begun: Instant::now() }
    }
}

impl Killing for RealCluster<'_> {
    fn cut_off(&mut self, member: usize) -> io::Result<()> {
        self.members.cut_off(member)
    }

    fn crash(&mut self, member: usize) -> io::Result<()> {
        self.members.crash(member)
    }

    fn kill(&mut self, member: usize) -> io::Result<()> {
        self.members.kill(member)
    }

    fn start(&mut self, member: usize) -> io::Result<String> {
        let address = self.members.start(member)?;
        self.addresses[member].clone_from(&address);
        self.real = connected(&self.addresses);
        Ok(address)
    }
}

impl ClusterSubject for RealCluster<'_> {
    fn ask(&mut self, member: usize, command: &Cmd) -> io::Result<String> {
        // A connection that its end has closed says nothing of what a new one would come to.
        let answer = self.real.call(member, command).or_else(|_| {
            self.real.forget(member);
            self.real.call(member, command)
        });
        match answer {
            Ok(value) => Ok(render(&value).join("\n")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Ok(NO_CONNECTION.into())
            }
            Err(error) => Err(error),
        }
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn wait(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

fn connected(addresses: &[String]) -> RealRedis {
    RealRedis::new(&addresses.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Asks again and again until something is true.
fn until(mut is_so: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let begun = Instant::now();
    while !is_so()? {
        if begun.elapsed() > LIMIT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The primary that a Sentinel names.
fn named_primary(real: &mut RealRedis, sentinel: usize) -> io::Result<usize> {
    let mut ask = Cmd::new();
    ask.arg("SENTINEL").arg("get-master-addr-by-name").arg("picklock");
    let reply = real.call(sentinel, &ask)?;
    let (name, _) = <(String, u16)>::from_redis_value_ref(&reply).map_err(io::Error::other)?;
    let number = node_number(&name).ok_or_else(|| io::Error::other(format!("named {name}")))?;
    Ok(number as usize)
}

fn get(real: &mut RealRedis, server: usize) -> io::Result<Value> {
    real.call(server, cmd("GET").arg("kept"))
}

fn is_master(real: &mut RealRedis, server: usize) -> io::Result<bool> {
    let role = real.call(server, &cmd("ROLE"))?;
    Ok(matches!(role, Value::Array(words) if words.first() == Some(&bulk("master"))))
}

fn bulk(text: &str) -> Value {
    Value::BulkString(text.into())
}
