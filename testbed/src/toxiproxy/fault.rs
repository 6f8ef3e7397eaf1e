//! Faults of links that Toxiproxy does, and their measured effect: what passed while they were in
//! force, if a round trip took as long as they make it.

use super::links::ToxicLink;
use crate::link_proxy::{LinkProxy, Slowing};
use crate::probe::POLL;
use base::{Action, BackendError, Effect, LinkFault};
use futures_util::future::try_join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The longest time until the ends of a connection know that it is broken.
const TELLING: Duration = Duration::from_secs(1);

/// A link as Toxiproxy has it, and the link proxy before it, which sees what passes.
pub type ToxicPair<'a> = (Arc<ToxicLink>, &'a LinkProxy);

/// A fault in force.
pub struct ToxicFault {
    fault: LinkFault,
    links: Vec<Arc<ToxicLink>>,
    meters: Vec<Slowing>,
    timings: JoinSet<Result<Option<Duration>, BackendError>>,
}

impl ToxicFault {
    /// Puts a fault in force on links, and begins to time a round trip through each.
    pub async fn inject(pairs: Vec<ToxicPair<'_>>, fault: LinkFault) -> Result<Self, BackendError> {
        let mut timings = JoinSet::new();
        let (mut links, mut meters) = (Vec::new(), Vec::new());
        for (link, link_proxy) in pairs {
            link.add(fault).await?;
            // As slow as ever: it only counts.
            meters.push(link_proxy.slow(1));
            let timed = link.clone();
            timings.spawn(async move { timed.time().await });
            links.push(link);
        }
        Ok(Self { fault, links, meters, timings })
    }

    /// Ends it, and measures what it did. A round trip that is not over says nothing.
    pub async fn heal(self) -> Result<Effect, BackendError> {
        let Self { fault, links, meters, mut timings } = self;
        let mut took: Option<Duration> = None;
        while let Some(timed) = timings.try_join_next() {
            let timed = timed.unwrap_or(Ok(None))?;
            took = [took, timed].into_iter().flatten().min();
        }
        drop(timings);
        try_join_all(links.iter().map(|link| link.end(fault))).await?;
        let passed = meters.into_iter().map(Slowing::end).sum();
        Ok(match took {
            Some(took) => {
                let (unit, millis) = (Action::Link(fault).spec().counted, took.as_millis());
                let unit = unit.replace("bytes", "packets");
                Effect::new(format!("{unit} while a round trip took {millis} ms"), passed)
            }
            None => Effect::new("no round trip was timed", 0),
        })
    }
}

/// Breaks the connections over links. Returns the number of those that were seen to end.
pub async fn reset(pairs: Vec<ToxicPair<'_>>) -> Result<u64, BackendError> {
    let broken = pairs.into_iter().map(async |(link, link_proxy)| {
        let before = link_proxy.connections();
        let mut left = before;
        let all_ended = async {
            let _ = timeout(TELLING, async {
                while link_proxy.connections() > 0 {
                    sleep(POLL).await;
                }
            })
            .await;
            left = link_proxy.connections();
        };
        link.hang_up(all_ended).await?;
        Ok(before.saturating_sub(left))
    });
    try_join_all(broken).await.map(|ended| ended.into_iter().sum())
}
