//! The conformance suite: random sequences of commands, answered by the model and by a real server.
//!
//! No reply depends on the moment: values live for ever, for much longer than a sequence, or not at
//! all. The life of values with an `exptime` of two seconds is measured besides.

use super::{Reply, Request, Server};
use base::Rng;

/// A sequence of commands on three keys.
pub fn sequence(seed: u64) -> Vec<Request> {
    let mut rng = Rng::new(seed);
    (0..40).map(|_| command(seed, &mut rng)).collect()
}

fn command(seed: u64, rng: &mut Rng) -> Request {
    // Sequences side by side have keys of their own.
    let key = format!("picklock-{seed}-{}", rng.below(3));
    let exptime = [0, 1_000, -1][rng.below(3) as usize];
    let value = format!("v{}", rng.below(100));
    match rng.below(4) {
        0 => Request::Add { key, value, exptime },
        1 => Request::Set { key, value, exptime },
        2 => Request::Get { key },
        _ => Request::Delete { key },
    }
}

/// The replies of the model to a sequence.
pub fn expected(sequence: &[Request]) -> Vec<Reply> {
    let mut server = Server::default();
    sequence.iter().map(|request| server.execute(request)).collect()
}

#[cfg(feature = "real")]
pub use arm::{Report, real_arm};

#[cfg(feature = "real")]
mod arm {
    use super::{Reply, Request, expected, sequence};
    use crate::memcached::RealLink;
    use base::{Link, World};
    use std::fmt;
    use std::time::Duration;

    /// The number of values whose life is measured.
    const LIVES: u32 = 5;

    /// The results of the suite.
    #[derive(Debug, Default)]
    pub struct Report {
        /// The number of replies that were compared.
        pub replies: u64,
        /// Every reply that is not the model's, in words.
        pub differences: Vec<String>,
        /// The times for which values with `exptime` 2 were there, in milliseconds.
        pub lives_ms: Vec<u64>,
    }

    impl Report {
        /// Returns true if every reply was the model's, and values lived for one to two seconds.
        pub fn passed(&self) -> bool {
            // A request and its reply take their time.
            let fits = |life: &u64| (950..=2_200).contains(life);
            let lives = self.lives_ms.len() == LIVES as usize && self.lives_ms.iter().all(fits);
            self.replies > 0 && self.differences.is_empty() && lives
        }
    }

    impl fmt::Display for Report {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            writeln!(f, "{} replies compared, lives {:?} ms", self.replies, self.lives_ms)?;
            self.differences.iter().try_for_each(|difference| writeln!(f, "{difference}"))
        }
    }

    /// Runs the suite against a real server. Needs a tokio runtime around it.
    pub async fn real_arm(address: &str, seeds: std::ops::Range<u64>) -> Report {
        let link = RealLink::new(vec![address.into()], Duration::from_secs(5), 1);
        let mut report = Report::default();
        for seed in seeds {
            let sequence = sequence(seed);
            for (request, expected) in sequence.iter().zip(expected(&sequence)) {
                let reply = link.call(0, request.clone()).await;
                report.replies += 1;
                if reply.as_ref() != Ok(&expected) {
                    let said = format!("seed {seed}: {request:?}: {reply:?}, not {expected:?}");
                    report.differences.push(said);
                }
            }
        }
        for number in 0..LIVES {
            report.lives_ms.extend(life_ms(&link, number).await);
            // Another place between two ticks.
            link.sleep(Duration::from_millis(370)).await;
        }
        report
    }

    /// Measures how long a value with `exptime` 2 is there.
    async fn life_ms(link: &RealLink, number: u32) -> Option<u64> {
        let key = format!("picklock-life-{number}");
        let (begun, value) = (link.monotonic(), "v".into());
        link.call(0, Request::Set { key: key.clone(), value, exptime: 2 }).await.ok()?;
        while link.call(0, Request::Get { key: key.clone() }).await.ok()? != Reply::Value(None) {
            link.sleep(Duration::from_millis(5)).await;
        }
        Some(link.monotonic().since(begun).as_millis() as u64)
    }
}
