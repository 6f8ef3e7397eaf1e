//! The suite against a real server.

use super::{pass, pressed, sequence, used};
use crate::conformance::{Compared, Comparison, Stop, same};
use crate::memcached::allotment::ALLOTMENT;
use crate::memcached::memory::{CAPACITY, GRAIN};
use crate::memcached::{Memcached, RealLink, Reply, Request, Server, junk};
use base::Link;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The number of values whose life is measured.
const LIVES: u32 = 5;

/// The bounds of a life with `exptime` 2, in milliseconds: one to two seconds. A request and its
/// reply take their time.
const LIFE_MS: [u64; 2] = [950, 2_200];

/// The number of sequences of which one is put under pressure, besides.
const EACH: usize = 40;

/// Runs the suite against a real server. Needs a tokio runtime around it.
pub async fn real_arm(address: &str, seeds: Range<u64>) -> Compared {
    let real: Rc<dyn Link<Memcached>> =
        Rc::new(RealLink::new(vec![address.into()], Duration::from_secs(5), 1));
    let mut both = BesideModel { link: real.clone(), real, model: Server::default() };
    let mut report = Compared::default();
    for seed in seeds.clone() {
        report.compare(&mut both, &seed.to_string(), sequence(seed)).await;
    }
    for seed in seeds.step_by(EACH) {
        let name = format!("pressed-{seed}");
        let end = both.press(address, &name, &pressed(seed), &mut report).await;
        report.note(&name, end);
    }
    for number in 0..LIVES {
        report.time("life", LIFE_MS, life_ms(&*both.real, number).await);
        // Another place between two ticks.
        both.real.world().sleep(Duration::from_millis(370)).await;
    }
    let end = both.use_late(&mut report).await;
    report.note("used late", end);
    report
}

/// A real server beside the model.
struct BesideModel {
    real: Rc<dyn Link<Memcached>>,
    /// The link to the keys of the sequence.
    link: Rc<dyn Link<Memcached>>,
    model: Server,
}

impl Comparison for BesideModel {
    type Step = Request;

    async fn begin(&mut self, name: &str) -> Result<(), Stop> {
        self.link = (ALLOTMENT.confine)(self.real.clone(), &format!("picklock-{name}"));
        self.model = Server::default();
        Ok(())
    }

    async fn step(&mut self, step: &Request, report: &mut Compared) -> Result<(), Stop> {
        report.replies += 1;
        let reply = self.link.call(0, step.clone()).await;
        same(&reply, &Ok(self.model.execute(step)))
    }
}

impl BesideModel {
    async fn all(&mut self, steps: &[Request], report: &mut Compared) -> Result<(), Stop> {
        for step in steps {
            self.step(step, report).await?;
        }
        Ok(())
    }

    /// Takes a sequence under pressure, and compares the number of evictions once the memory is
    /// full for the first time.
    async fn press(
        &mut self,
        address: &str,
        name: &str,
        sequence: &[Request],
        report: &mut Compared,
    ) -> Result<(), Stop> {
        self.begin(name).await?;
        let (first, rest) = sequence.split_at(CAPACITY);
        self.all(first, report).await?;
        let before = evictions(address).await.unwrap_or_default();
        self.all(rest, report).await?;
        let evicted = evictions(address).await.unwrap_or_default() - before;
        report.count("items evicted", evicted);
        same(&evicted, &self.model.evictions())
    }

    /// Uses an item after more than a minute, and finds that it was not evicted.
    async fn use_late(&mut self, report: &mut Compared) -> Result<(), Stop> {
        let [early, late] = used();
        self.begin("used").await?;
        self.all(&early, report).await?;
        let longer = Duration::from_secs(GRAIN as u64 + 2);
        self.real.world().sleep(longer).await;
        pass(&mut self.model, longer);
        self.all(&late, report).await
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
async fn life_ms(link: &dyn Link<Memcached>, number: u32) -> Option<u64> {
    let key = format!("picklock-life-{number}");
    let (begun, value) = (link.world().monotonic(), "v".into());
    link.call(0, Request::Set { key: key.clone(), value, exptime: 2 }).await.ok()?;
    while link.call(0, Request::Get { key: key.clone() }).await.ok()? != Reply::Value(None) {
        link.world().sleep(Duration::from_millis(5)).await;
    }
    Some(link.world().monotonic().since(begun).as_millis() as u64)
}
