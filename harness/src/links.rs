//! The delays of messages between the clients and the servers of a simulated world.

use base::{LockInfo, Node, Rng, Spread};
use std::collections::BTreeMap;
use std::time::Duration;
use stores::{LinkDelays, WorldSpec};

/// The stream of randomness that the manners of links are drawn from.
const MANNERS: u64 = 32;

/// The longest time that a message takes over any link of such a world.
pub fn slowest(spec: &WorldSpec) -> Duration {
    steady(spec).bound().max(heavy(spec).bound())
}

/// The largest delay with which no message over a steady link takes longer than this.
pub fn largest_delay(slowest: Duration) -> Duration {
    let jitter = Spread::Exponential { least: LEAST, mean: MEAN }.bound();
    // A delay makes its share of the jitter, too: half as long again at most, see `steady`.
    let delay = slowest.saturating_sub(jitter) * 2 / 3;
    Duration::from_millis(delay.as_millis() as u64)
}

/// Returns the slowest links over which the lock can be granted and does not break by their delay
/// alone.
pub fn slowest_link(lock: &LockInfo, ttl: Duration) -> Duration {
    largest_delay(lock.slowest_message(ttl))
}

/// Returns how long a message is usually on its way over a link with such a delay.
pub fn usual_delay(link_delay: Duration) -> Duration {
    Duration::from_micros(300) + link_delay
}

/// Returns the usual delays of links in this world.
pub fn usual(spec: &WorldSpec) -> Spread {
    match spec.links {
        LinkDelays::HeavyTailed => heavy(spec),
        LinkDelays::Alike | LinkDelays::Uneven => steady(spec),
    }
}

/// The links with manners of their own, each way for itself.
pub fn own(spec: &WorldSpec) -> BTreeMap<(Node, Node), Spread> {
    let mut links = BTreeMap::new();
    if spec.links != LinkDelays::Uneven {
        return links;
    }
    let mut rng = Rng::fork(spec.seed, MANNERS);
    for client in (0..spec.clients).map(Node::Client) {
        for server in (0..spec.topology.servers()).map(Node::Server) {
            for ends in [(client, server), (server, client)] {
                links.insert(ends, manners(spec, &mut rng));
            }
        }
    }
    links
}

fn manners(spec: &WorldSpec, rng: &mut Rng) -> Spread {
    match rng.below(4) {
        0 => heavy(spec),
        1 => {
            let far = far(spec).mul_f64(rng.unit() / 2.0);
            Spread::Uniform { least: spec.link_delay + far, most: spec.link_delay + far * 2 }
        }
        _ => steady(spec),
    }
}

/// The delay of a message over a link without a delay of its own.
const LEAST: Duration = Duration::from_micros(100);
const MEAN: Duration = Duration::from_micros(200);

fn steady(spec: &WorldSpec) -> Spread {
    Spread::Exponential { least: LEAST + spec.link_delay, mean: MEAN + spec.link_delay / 20 }
}

/// Returns the longest extra delay of a message: no lock breaks by that alone, and no call times
/// out.
fn far(spec: &WorldSpec) -> Duration {
    (spec.ttl / 30).min(Duration::from_millis(100))
}

fn heavy(spec: &WorldSpec) -> Spread {
    Spread::Heavy {
        least: LEAST + spec.link_delay,
        scale: MEAN + spec.link_delay / 20,
        most: LEAST + spec.link_delay + far(spec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;

    fn spec(links: LinkDelays, seed: u64) -> WorldSpec {
        let lock = workloads::lock("redlock").expect("a lock of the list");
        let setup = Setup::new(&lock, lock.info.run("none", seed));
        WorldSpec { links, ..setup.unwrap_or_else(|why| panic!("{why}")).world }
    }

    #[test]
    fn the_largest_delay_keeps_all_messages_within_the_bound() {
        for ms in [3, 20, 400] {
            let bound = Duration::from_millis(ms);
            let with = |link_delay| WorldSpec { link_delay, ..spec(LinkDelays::Alike, 1) };
            let largest = largest_delay(bound);
            assert!(steady(&with(largest)).bound() <= bound, "{ms}");
            let more = largest + Duration::from_millis(1);
            assert!(steady(&with(more)).bound() > bound, "{ms}");
        }
    }

    #[test]
    fn only_uneven_links_have_manners_of_their_own_and_these_differ() {
        assert!(own(&spec(LinkDelays::Alike, 1)).is_empty());
        assert!(own(&spec(LinkDelays::HeavyTailed, 1)).is_empty());
        let links = own(&spec(LinkDelays::Uneven, 1));
        assert_eq!(links.len(), 5 * 5 * 2);
        assert_ne!(links, own(&spec(LinkDelays::Uneven, 2)));
        let of = |is: fn(&Spread) -> bool| links.values().filter(|spread| is(spread)).count();
        assert!(of(|s| matches!(s, Spread::Heavy { .. })) > 2);
        assert!(of(|s| matches!(s, Spread::Uniform { .. })) > 2);
        assert!(of(|s| matches!(s, Spread::Exponential { .. })) > 10);
    }
}
