//! Failovers of real Sentinels, as clients see them: how long they name a primary that is dead, when
//! the next one answers, what it knows, and what becomes of the one before. The figures are those that
//! the model is held against in its own tests. And real members of a Redis Cluster, to which the questions
//! of `cluster.rs` are put.

#![expect(clippy::disallowed_methods, reason = "a real failover takes real time")]

use super::cluster::{ClusterSubject, NO_CONNECTION};
use super::real::RealRedis;
use super::{ConformanceSubject, render};
use crate::conformance::Killing;
use crate::node_number;
use crate::redis::SentinelTiming;
use redis::{Cmd, FromRedisValue, Value, cmd};
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// The pause between two questions, and the time in which all must have come to its end.
const PAUSE: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(60);

/// The places of the servers in the topology.
const DATA: [usize; 3] = [0, 1, 2];
const SENTINELS: [usize; 3] = [3, 4, 5];

/// The figures of a failover.
#[derive(Clone, Copy, Debug)]
pub struct FailoverFigures {
    /// The time from the death of the primary until the first Sentinel named another.
    pub first: Duration,
    /// The same until all named it.
    pub all: Duration,
    /// The time until a client could write there.
    pub writable: Duration,
    /// True if it knew what had reached it, and refused to know what had not.
    pub kept: bool,
    /// The time from when the old primary was to start again until it followed the new one.
    pub followed: Duration,
}

impl FailoverFigures {
    /// Returns true if it took no less than the settings and Redis's own intervals say, and no more than
    /// clients are told to expect.
    pub fn fits(&self, timing: SentinelTiming) -> bool {
        let least = timing.down_after + Duration::from_secs(1);
        let usual = (8..40).contains(&self.followed.as_secs());
        self.kept && usual && self.first >= least && self.writable <= timing.settled()
    }
}

/// Displays the figures.
impl fmt::Display for FailoverFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, all, writable, kept, followed } = self;
        let kept = if *kept { "kept what had reached it" } else { "lost what had reached it" };
        write!(
            f,
            "named after {first:.2?}, by all after {all:.2?}, writable after {writable:.2?}, {kept}; \
             the old primary followed {followed:.1?} after its restart"
        )
    }
}

/// Kills the primary of real servers and measures what follows.
///
/// # Errors
/// Fails when a server cannot be reached, or does not come to its end in time.
pub fn failover_arm(
    addresses: &[String],
    servers: &mut dyn Killing,
) -> io::Result<FailoverFigures> {
    let mut addresses = addresses.to_vec();
    let mut real = connected(&addresses);
    let before = told(&mut real, SENTINELS[0])?;
    real.call(before, cmd("SET").arg("kept").arg("k"))?;
    for server in DATA {
        until(|| Ok(get(&mut real, server)? == bulk("k")))?;
    }
    // It is silent before it is dead, which takes a while on a busy machine.
    let died = Instant::now();
    servers.kill(before)?;
    until(|| Ok(SENTINELS.iter().any(|it| told(&mut real, *it).is_ok_and(|now| now != before))))?;
    let first = died.elapsed();
    until(|| Ok(SENTINELS.iter().all(|it| told(&mut real, *it).is_ok_and(|now| now != before))))?;
    let all = died.elapsed();
    // A server that is promoted closes its connections, and so does one that is made a replica.
    let mut real = connected(&addresses);
    let primary = told(&mut real, SENTINELS[0])?;
    until(|| Ok(real.call(primary, cmd("SET").arg("new").arg("n"))? == Value::Okay))?;
    let writable = died.elapsed();
    let kept = get(&mut real, primary)? == bulk("k");
    // On a busy machine the server runs for seconds before its start is done.
    let started = Instant::now();
    addresses[before] = servers.start(before)?;
    until(|| Ok(is_master(&mut connected(&addresses), before).is_ok_and(|is_one| !is_one)))?;
    let followed = started.elapsed();
    let mut new = cmd("GET");
    new.arg("new");
    until(|| Ok(connected(&addresses).call(before, &new).is_ok_and(|it| it == bulk("n"))))?;
    Ok(FailoverFigures { first, all, writable, kept, followed })
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
fn told(real: &mut RealRedis, sentinel: usize) -> io::Result<usize> {
    let mut ask = Cmd::new();
    ask.arg("SENTINEL").arg("get-master-addr-by-name").arg("picklock");
    let told = real.call(sentinel, &ask)?;
    let (name, _) = <(String, u16)>::from_redis_value_ref(&told).map_err(io::Error::other)?;
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
