//! The toxics that do a fault, and the faults that no toxic does.

use crate::Lack;
use crate::link_proxy::slowed_by;
use base::{Ability, Action, BackendError, Fault, LinkFault, Node};
use std::fmt;
use std::time::Duration;

pub const LATENCY: &str = "latency";
const BANDWIDTH: &str = "bandwidth";

/// The bytes in the kilobyte that bandwidths count in.
const KILOBYTE: u32 = 1_000;

/// A toxic, which strikes every connection of its proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Toxic {
    /// Its type: latency or bandwidth.
    pub kind: &'static str,
    /// The way that it is about.
    pub stream: &'static str,
    /// Milliseconds, or kilobytes a second.
    pub amount: u32,
}

/// Displays it as the server lists it.
impl fmt::Display for Toxic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, stream, amount } = self;
        match *kind {
            LATENCY => write!(f, "{kind} {stream} jitter=0 latency={amount} toxicity=1"),
            _ => write!(f, "{kind} {stream} rate={amount} toxicity=1"),
        }
    }
}

/// The toxics that do faults, all in force together, to a link that has this delay of its own.
pub fn toxics(delay: Duration, faults: &[LinkFault]) -> Vec<Toxic> {
    let times = faults.iter().fold(1_u32, |times, fault| match fault {
        LinkFault::Slow(more) => times.saturating_mul((*more).max(1)),
        _ => times,
    });
    let rate = faults.iter().filter_map(|fault| match fault {
        LinkFault::Throttle(rate) => Some(*rate),
        _ => None,
    });
    let latency = slowed_by(delay, times).as_nanos().div_ceil(1_000_000);
    let latency = Some(u32::try_from(latency).unwrap_or(u32::MAX)).filter(|millis| *millis > 0);
    let latency = latency.map(|amount| (LATENCY, amount));
    let bandwidth = rate.min().map(|rate| (BANDWIDTH, rate / KILOBYTE));
    let both_ways =
        |(kind, amount)| ["upstream", "downstream"].map(|stream| Toxic { kind, stream, amount });
    latency.into_iter().chain(bandwidth).flat_map(both_ways).collect()
}

/// The least time that a round trip takes through these toxics, if this many bytes are asked and
/// any at all are answered.
pub fn least_round_trip(toxics: &[Toxic], asked: usize) -> Duration {
    let sum = |duration: Duration, toxic: &Toxic| match (toxic.kind, toxic.stream) {
        (LATENCY, _) => duration + Duration::from_millis(toxic.amount.into()),
        (_, "upstream") => {
            duration + Duration::from_secs(asked as u64) / (toxic.amount * KILOBYTE).max(1)
        }
        _ => duration,
    };
    toxics.iter().fold(Duration::ZERO, sum)
}

/// Checks that links through Toxiproxy have the ability.
///
/// # Errors
/// Fails with what they lack.
pub fn can(ability: Ability) -> Result<(), Lack> {
    let why = match ability {
        Ability::Cut => "it discards what a cut link delivers later",
        Ability::Refuse => "it breaks the connections that are open, too",
        Ability::LoseRequest | Ability::LoseReply => "it knows bytes, and no calls",
        Ability::RunServer => "no question is known that the server would answer over it",
        Ability::Jitter => "it does not tell which delays it has drawn",
        Ability::Reset | Ability::Slow | Ability::Throttle => return Ok(()),
        // These are not about links between clients and servers.
        Ability::Pause | Ability::Crash | Ability::CutPower | Ability::Vanish => return Ok(()),
        Ability::ServerClock | Ability::ServerClockRate => return Ok(()),
        Ability::ClientClock | Ability::ClientClockRate => return Ok(()),
        Ability::CutServers | Ability::DelayServers => return Ok(()),
        Ability::Evict | Ability::Vault | Ability::LeadPrograms => return Ok(()),
    };
    let reason = format!("Toxiproxy cannot {ability} as it should: {why}");
    Err(Lack { reason, fix: Some("leave --links out".into()) })
}

/// Refuses a fault that Toxiproxy cannot do, with the reason.
///
/// # Errors
/// Fails with the reason.
pub fn check(fault: &Fault) -> Result<(), BackendError> {
    can(fault.ability()).map_err(|lack| BackendError(lack.reason))?;
    if fault.ability() == Ability::DelayServers {
        return Ok(());
    }
    if matches!(fault.action(), Action::Link(_)) && fault.links().iter().any(is_between_servers) {
        let mixed = "Toxiproxy stands on the links of clients only: give those between servers a fault of their own";
        return Err(BackendError(mixed.into()));
    }
    match fault.action() {
        Action::Link(LinkFault::Throttle(rate)) if !is_rate(rate) => Err(BackendError(format!(
            "Toxiproxy cannot limit a link to {rate} bytes a second: it counts in thousands of them"
        ))),
        _ => Ok(()),
    }
}

fn is_between_servers(link: &(Node, Node)) -> bool {
    matches!(link, (Node::Server(_), Node::Server(_)))
}

/// Returns true if this many bytes a second are a limit that Toxiproxy has.
pub fn is_rate(rate: u32) -> bool {
    rate > 0 && rate.is_multiple_of(KILOBYTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts_of(delay_ms: u64, faults: &[LinkFault]) -> Vec<String> {
        let toxics = toxics(Duration::from_millis(delay_ms), faults);
        toxics.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn faults_together_are_one_toxic_of_a_kind_each_way() {
        assert_eq!(texts_of(0, &[]), Vec::<String>::new());
        assert_eq!(texts_of(10, &[LinkFault::Slow(1)]), Vec::<String>::new());
        // 300 microseconds are usual, and three times as much is added.
        assert_eq!(
            texts_of(0, &[LinkFault::Slow(4)]),
            [
                "latency upstream jitter=0 latency=1 toxicity=1",
                "latency downstream jitter=0 latency=1 toxicity=1"
            ]
        );
        let faults = [
            LinkFault::Slow(2),
            LinkFault::Throttle(4_000),
            LinkFault::Slow(3),
            LinkFault::Throttle(2_000),
        ];
        assert_eq!(
            texts_of(10, &faults),
            [
                "latency upstream jitter=0 latency=52 toxicity=1",
                "latency downstream jitter=0 latency=52 toxicity=1",
                "bandwidth upstream rate=2 toxicity=1",
                "bandwidth downstream rate=2 toxicity=1"
            ]
        );
        let toxics = toxics(Duration::from_millis(10), &faults);
        assert_eq!(least_round_trip(&toxics, 10), Duration::from_millis(52 + 52 + 5));
    }

    #[test]
    fn a_rate_is_a_whole_number_of_kilobytes() {
        assert_eq!([0, 250, 1_000, 1_500, 8_000].map(is_rate), [false, false, true, false, true]);
    }
}
