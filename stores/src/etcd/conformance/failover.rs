//! The death of a real leader, as clients see it: how long writes come to nothing, and what becomes
//! of a lease. Models are asked the same.

use super::arm::was_there;
use super::leader::{LEASE_OVER, PATIENCE, TTL, WRITABLE};
use crate::conformance::{Killing, Times};
use crate::etcd::{RealLink, Reply, Request};
use base::Link;
use std::io;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(2);

/// The time in which all must have come to its end.
const LIMIT: Duration = Duration::from_secs(30);

/// Kills the leader of real members, measures what follows, and starts it again.
///
/// # Errors
/// Fails when a member cannot be killed, or nothing comes to its end in time.
pub fn measure_failover(
    addresses: &mut [String],
    round: i64,
    members: &mut dyn Killing,
) -> io::Result<Times> {
    // What kills has a runtime of its own, and must not be used within another.
    let runtime = Builder::new_current_thread().enable_all().build();
    let (runtime, local) = (runtime?, LocalSet::new());
    let link = |address: &String| RealLink::new(vec![address.clone()], PATIENCE, 1);
    let links: Vec<RealLink> = addresses.iter().map(link).collect();
    let leader = runtime.block_on(local.run_until(leader(&links)))?;
    let other = &links[(leader + 1) % links.len()];
    let (lease, fresh) = (1_000 + 2 * round, 1_001 + 2 * round);
    let key = format!("picklock-failover-{lease}");
    runtime.block_on(local.run_until(create(other, lease, &key)))?;
    members.kill(leader)?;
    let figures = runtime.block_on(local.run_until(measure(other, fresh, &key)))?;
    addresses[leader] = members.start(leader)?;
    Ok(figures)
}

/// Makes a key with a lease of its own, however often it takes.
async fn create(link: &RealLink, lease: i64, key: &str) -> io::Result<()> {
    grant(link, lease).await?;
    let (create, begun) =
        (Request::Create { key: key.into(), value: "v".into(), lease }, link.world().monotonic());
    // The key is there even if the answer that counts is not the first one.
    while link.call(0, create.clone()).await.is_err() {
        in_time(link, begun).await?;
    }
    Ok(())
}

/// Measures from the death of the leader, which is now.
async fn measure(link: &RealLink, fresh: i64, key: &str) -> io::Result<Times> {
    let died = link.world().monotonic();
    grant(link, fresh).await?;
    let writable = link.world().monotonic().since(died);
    loop {
        let read = link.call(0, Request::Get { key: key.into() }).await;
        if matches!(read, Ok(Reply::Found { found: None, .. })) {
            let lease_over = link.world().monotonic().since(died);
            return Ok(Times::from([(WRITABLE, writable), (LEASE_OVER, lease_over)]));
        }
        in_time(link, died).await?;
    }
}

/// Makes a lease, however often it takes.
async fn grant(link: &RealLink, lease: i64) -> io::Result<()> {
    let begun = link.world().monotonic();
    loop {
        let answer = link.call(0, Request::LeaseGrant { lease, ttl: TTL }).await;
        if answer.is_ok() || was_there(&answer) {
            return Ok(());
        }
        in_time(link, begun).await?;
    }
}

async fn in_time(link: &RealLink, begun: base::Mono) -> io::Result<()> {
    link.world().sleep(PAUSE).await;
    match link.world().monotonic().since(begun) < LIMIT {
        true => Ok(()),
        false => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// The member that leads.
async fn leader(links: &[RealLink]) -> io::Result<usize> {
    let begun = links[0].world().monotonic();
    loop {
        for (number, link) in links.iter().enumerate() {
            if link.leads().await == Some(true) {
                return Ok(number);
            }
        }
        in_time(&links[0], begun).await?;
    }
}
