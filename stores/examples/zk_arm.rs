//! Temporary.
use base::{CallError, Link, World};
use picklock_stores::zookeeper::*;
use std::rc::Rc;
use std::time::Duration;
fn sig(s: &str) {
    let out = std::process::Command::new("bash").arg("-c").arg(format!("for p in /tmp/zk/pid*; do kill -{s} $(cat $p); done")).status();
    println!("   signal {s}: {out:?}");
}
async fn experiment(servers: Vec<String>) {
    let s = Rc::new(RealSession::connect(servers, Duration::from_secs(2), 7).await.unwrap());
    let c = Client::new(s.clone());
    println!("id {:x} {:?} {}", c.id(), c.state(), c.disconnects());
    c.ensure("/exp/deep").await.unwrap();
    let made = c.create("/exp/e-", b"x", CreateMode::EphemeralSequential).await.unwrap();
    println!("{made:?} seq {:?}", sequence(&made.path));
    let (there, w) = c.exists_watched(&made.path).await.unwrap();
    println!("{there:?}");
    let t = |s: &RealSession| s.monotonic().millis();
    println!("{} stopping", t(&s));
    sig("STOP");
    let inflight = tokio::task::spawn_local({ let c = c.clone(); let s = s.clone(); async move { let r = c.create("/exp/inflight", b"", CreateMode::Persistent).await; println!("{} inflight {r:?}", s.monotonic().millis()); } });
    let st = c.changed().await;
    println!("{} changed {st:?} disconnects {}", t(&s), c.disconnects());
    let queued = tokio::task::spawn_local({ let c = c.clone(); let s = s.clone(); async move { let r = c.exists("/exp").await; println!("{} queued {r:?}", s.monotonic().millis()); } });
    let st = c.changed().await;
    println!("{} changed {st:?} disconnects {}", t(&s), c.disconnects());
    println!("{} watch {:?}", t(&s), w.fired().await);
    let late: Result<_, CallError<Refusal>> = s.call(0, Request::Sync { path: "/".into() }).await;
    println!("{} late {late:?}", t(&s));
    inflight.await.unwrap(); queued.await.unwrap();
    let ch = tokio::task::spawn_local({ let s = s.clone(); async move { let st = s.changed().await; println!("{} waiter saw {st:?}", s.monotonic().millis()); } });
    tokio::time::sleep(Duration::from_millis(50)).await;
    sig("CONT");
    let r = c.renew().await;
    println!("{} renew {r:?} id {:x} {:?} disconnects {}", t(&s), c.id(), c.state(), c.disconnects());
    ch.await.unwrap();
    println!("{} {:?}", t(&s), c.exists("/exp/inflight").await);
    println!("{} {:?}", t(&s), c.get_children("/exp").await);
}
fn main() {
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let root = std::env::args().nth(1).unwrap();
    let servers: Vec<String> = (1..=3).map(|i| format!("127.0.0.1:2181{i}")).collect();
    let local = tokio::task::LocalSet::new();
    if root == "fo" { return local.block_on(&rt, failover(servers)); }
    if root == "exp" { return local.block_on(&rt, experiment(servers)); }
    let report = local.block_on(&rt, conformance::real_arm(servers, Duration::from_secs(2), &root));
    println!("{report}passed: {}", report.passed());
}
#[allow(dead_code)]
async fn failover(servers: Vec<String>) {
    let s = Rc::new(RealSession::connect(servers, Duration::from_secs(4), 7).await.unwrap());
    let c = Client::new(s.clone());
    let leader = std::process::Command::new("bash").arg("-c").arg("for i in 1 2 3; do if tac /tmp/zk/n$i/log | grep -m1 -E 'Peer state changed: (leading|following) - broadcast' | grep -q leading; then echo $i; fi; done").output().unwrap();
    println!("leader {}", String::from_utf8_lossy(&leader.stdout));
    let id = String::from_utf8_lossy(&leader.stdout).trim().to_owned();
    let start = s.monotonic();
    std::process::Command::new("bash").arg("-c").arg(format!("kill -9 $(cat /tmp/zk/pid{id})")).status().unwrap();
    let mut last = String::new();
    let mut n = 0;
    while s.monotonic().since(start) < Duration::from_secs(6) {
        n += 1;
        let r = c.create(&format!("/fo-{n}-{}", s.random()), b"", CreateMode::Ephemeral).await;
        let text = match r { Ok(_) => "ok".to_string(), Err(e) => e.to_string() };
        if text != last { println!("{:?} {text} {:?}", s.monotonic().since(start), c.state()); last = text; }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
