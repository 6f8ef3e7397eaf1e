//! The suite against a real server.

use super::{expected, pass, pressed, sequence, used};
use crate::memcached::memory::{CAPACITY, GRAIN};
use crate::memcached::{RealLink, Reply, Request, Server, junk};
use base::Link;
use std::fmt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The number of values whose life is measured.
const LIVES: u32 = 5;

/// The number of sequences of which one is put under pressure, besides.
const EACH: usize = 40;

/// The results of the suite.
#[derive(Debug, Default)]
pub struct ConformanceReport {
    /// The number of replies that were compared.
    pub replies: u64,
    /// The number of items that the server evicted in sequences under pressure.
    pub evictions: u64,
    /// Every reply that is not the model's, in words.
    pub differences: Vec<String>,
    /// The times for which values with `exptime` 2 were there, in milliseconds.
    pub lives_ms: Vec<u64>,
}

impl ConformanceReport {
    /// Returns true if every reply was the model's, items were evicted, and values lived for one
    /// to two seconds.
    pub fn passed(&self) -> bool {
        // A request and its reply take their time.
        let fits = |life: &u64| (950..=2_200).contains(life);
        let lives = self.lives_ms.len() == LIVES as usize && self.lives_ms.iter().all(fits);
        self.replies > 0 && self.evictions > 0 && self.differences.is_empty() && lives
    }
}

impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replies, evictions, lives_ms, .. } = self;
        writeln!(f, "{replies} replies compared, {evictions} evictions, lives {lives_ms:?} ms")?;
        self.differences.iter().try_for_each(|difference| writeln!(f, "{difference}"))
    }
}

/// Runs the suite against a real server. Needs a tokio runtime around it.
pub async fn real_arm(address: &str, seeds: std::ops::Range<u64>) -> ConformanceReport {
    let link = RealLink::new(vec![address.into()], Duration::from_secs(5), 1);
    let mut report = ConformanceReport::default();
    for seed in seeds.clone() {
        let name = format!("seed {seed}");
        report.compare(&link, &name, &sequence(seed), &mut Server::default()).await;
    }
    for seed in seeds.step_by(EACH) {
        report.press(&link, address, seed).await;
    }
    for number in 0..LIVES {
        report.lives_ms.extend(life_ms(&link, number).await);
        // Another place between two ticks.
        link.world().sleep(Duration::from_millis(370)).await;
    }
    report.use_late(&link).await;
    report
}

impl ConformanceReport {
    /// Has the server and the model answer a sequence.
    async fn compare(
        &mut self,
        link: &RealLink,
        name: &str,
        sequence: &[Request],
        model: &mut Server,
    ) {
        for (request, expected) in sequence.iter().zip(expected(model, sequence)) {
            let reply = link.call(0, request.clone()).await;
            self.replies += 1;
            if reply.as_ref() != Ok(&expected) {
                let said = format!("{name}: {request:?}: {reply:?}, not {expected:?}");
                self.differences.push(said);
            }
        }
    }

    /// Does the same under pressure, and compares the number of evictions once the memory is
    /// full for the first time.
    async fn press(&mut self, link: &RealLink, address: &str, seed: u64) {
        let (name, sequence) = (format!("pressed seed {seed}"), pressed(seed));
        let (first, rest) = sequence.split_at(CAPACITY);
        let mut model = Server::default();
        self.compare(link, &name, first, &mut model).await;
        let before = evictions(address).await.unwrap_or_default();
        self.compare(link, &name, rest, &mut model).await;
        let evicted = evictions(address).await.unwrap_or_default() - before;
        self.evictions += evicted;
        if evicted != model.evictions() {
            let expected = model.evictions();
            self.differences.push(format!("{name}: {evicted} evictions, not {expected}"));
        }
    }

    /// Uses an item after more than a minute, and finds that it was not evicted.
    async fn use_late(&mut self, link: &RealLink) {
        let ([early, late], mut model) = (used(), Server::default());
        self.compare(link, "used late", &early, &mut model).await;
        let longer = Duration::from_secs(GRAIN as u64 + 2);
        link.world().sleep(longer).await;
        pass(&mut model, longer);
        self.compare(link, "used late", &late, &mut model).await;
    }
}

/// Asks a server how many items it has evicted so far.
async fn evictions(address: &str) -> Option<u64> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(b"stats\r\nquit\r\n").await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    answer.lines().find_map(junk::evictions)
}

/// Measures how long a value with `exptime` 2 is there.
async fn life_ms(link: &RealLink, number: u32) -> Option<u64> {
    let key = format!("picklock-life-{number}");
    let (begun, value) = (link.world().monotonic(), "v".into());
    link.call(0, Request::Set { key: key.clone(), value, exptime: 2 }).await.ok()?;
    while link.call(0, Request::Get { key: key.clone() }).await.ok()? != Reply::Value(None) {
        link.world().sleep(Duration::from_millis(5)).await;
    }
    Some(link.world().monotonic().since(begun).as_millis() as u64)
}
