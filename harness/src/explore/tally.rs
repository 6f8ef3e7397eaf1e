//! What a search found, as data: `explore` makes it, `merge` adds it up, both print it.

use base::{Outcome, RunInfo};
use checkers::Judgement;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

use crate::setup::Options;

/// The version of the stored form.
const VERSION: u32 = 1;

/// So many seeds are named for each anomaly.
const SEEDS: usize = 8;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The version of this format.
    pub picklock_explore: u32,
    /// The picklock that searched: another one may draw other schedules from the same seeds.
    pub picklock: String,
    /// What was searched.
    pub searched: Searched,
    /// The seeds whose schedules were run, as half-open ranges, in order, apart from each other.
    pub seeds: Vec<Range<u64>>,
    /// Schedules in which every promise was kept.
    pub held: u64,
    /// Schedules in which one was broken.
    pub violated: u64,
    /// Schedules that cannot tell.
    pub inconclusive: u64,
    /// The first seed that broke a promise.
    pub first_violation: Option<u64>,
    /// What was seen, by name.
    pub anomalies: BTreeMap<String, Sighting>,
}

/// What was searched: results can be added up only where this is the same. Durations are in
/// nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Searched {
    /// The lock.
    pub algo: String,
    /// The nemeses, joined by commas.
    pub nemesis: String,
    /// Whether each seed drew its own configuration.
    pub swarm: bool,
    /// The most clients.
    pub clients: u32,
    /// How long faults were injected.
    pub time_limit: u64,
    /// The lock's time to live, or its session time-out.
    pub ttl: u64,
    /// The mean of a short hold.
    pub hold: u64,
    /// How long each client-server link delays at least, each way.
    pub link_delay: u64,
    /// How many keys.
    pub keys: u32,
}

/// How often an anomaly was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// The property that it breaks.
    pub property: String,
    /// In how many schedules.
    pub schedules: u64,
    /// The first seeds that show it, a few of them.
    pub seeds: Vec<u64>,
    /// Why it is no surprise under this nemesis; absent where it is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub known: Option<String>,
}

impl Sighting {
    fn add(&mut self, schedules: u64, seeds: &[u64]) {
        self.schedules += schedules;
        self.seeds.extend(seeds);
        self.seeds.sort_unstable();
        self.seeds.truncate(SEEDS);
    }
}

impl Tally {
    /// Nothing searched yet.
    pub fn new(options: &Options) -> Self {
        let nanos = |d: std::time::Duration| d.as_nanos() as u64;
        Self {
            picklock_explore: VERSION,
            picklock: env!("CARGO_PKG_VERSION").into(),
            searched: Searched {
                algo: options.algo.clone(),
                nemesis: options.nemesis.clone(),
                swarm: options.swarm,
                clients: options.clients,
                time_limit: nanos(options.time_limit),
                ttl: nanos(options.ttl),
                hold: nanos(options.hold),
                link_delay: nanos(options.link_delay),
                keys: options.keys,
            },
            seeds: Vec::new(),
            held: 0,
            violated: 0,
            inconclusive: 0,
            first_violation: None,
            anomalies: BTreeMap::new(),
        }
    }

    /// Adds the schedule of a seed that comes after all others.
    pub fn add(&mut self, seed: u64, info: &RunInfo, judgement: &Judgement) {
        match self.seeds.last_mut().filter(|range| range.end == seed) {
            Some(range) => range.end += 1,
            None => self.seeds.push(seed..seed + 1),
        }
        match judgement.outcome {
            Outcome::Held => self.held += 1,
            Outcome::Violated => {
                self.violated += 1;
                self.first_violation.get_or_insert(seed);
            }
            Outcome::Inconclusive | Outcome::NotApplicable => self.inconclusive += 1,
        }
        for breach in reports::reading::breaches(info, &judgement.verdicts) {
            let known = breach.known.map(|known| known.why.clone());
            self.anomalies
                .entry(breach.anomaly.name.clone())
                .and_modify(|sighting| sighting.add(1, &[seed]))
                .or_insert_with(|| Sighting {
                    property: breach.property.into(),
                    schedules: 1,
                    seeds: vec![seed],
                    known,
                });
        }
    }

    /// How many schedules were run.
    pub fn schedules(&self) -> u64 {
        self.held + self.violated + self.inconclusive
    }

    /// How many schedules it took to the first violation, that one included.
    pub fn to_first(&self) -> Option<u64> {
        let first = self.first_violation?;
        let before = |range: &Range<u64>| first.min(range.end).saturating_sub(range.start);
        Some(self.seeds.iter().map(before).sum::<u64>() + 1)
    }

    /// The answer. One schedule that broke a promise is enough; that most of them kept it says
    /// something only where most could tell.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self { violated: 1.., .. } => Outcome::Violated,
            Self { held, inconclusive, .. } if held > inconclusive => Outcome::Held,
            _ => Outcome::Inconclusive,
        }
    }

    /// For a clean search: the share of schedules that can break a promise is below this, with
    /// 95 % confidence (the rule of three: Hanley, Lippman-Hand, JAMA 249, 1983). Only schedules
    /// that could tell count.
    pub fn bound(&self) -> Option<f64> {
        (self.violated == 0 && self.held > 0).then(|| (3.0 / self.held as f64).min(1.0))
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// One line that says what it is instead.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
        match value.get("picklock_explore").and_then(serde_json::Value::as_u64) {
            None => Err("is no result of `picklock explore --out`".into()),
            Some(1) => serde_json::from_value(value)
                .map_err(|error| format!("is no result of `picklock explore --out`: {error}")),
            Some(other) => Err(format!("has version {other}; this picklock reads {VERSION}")),
        }
    }
}

/// Adds up the results of several searches, each with the name of its file.
///
/// # Errors
/// One line that names the two files that do not go together.
pub fn merge(parts: Vec<(String, Tally)>) -> Result<Tally, String> {
    let mut parts = parts;
    parts.sort_by_key(|(_, tally)| tally.seeds.first().map_or(0, |range| range.start));
    let mut parts = parts.into_iter();
    let (first_file, mut sum) = parts.next().ok_or("there is nothing to merge")?;
    let mut ranges: Vec<(Range<u64>, String)> =
        sum.seeds.iter().map(|range| (range.clone(), first_file.clone())).collect();
    for (file, part) in parts {
        agree(&first_file, &sum, &file, &part)?;
        ranges.extend(part.seeds.iter().map(|range| (range.clone(), file.clone())));
        sum.held += part.held;
        sum.violated += part.violated;
        sum.inconclusive += part.inconclusive;
        sum.first_violation =
            [sum.first_violation, part.first_violation].into_iter().flatten().min();
        for (name, sighting) in part.anomalies {
            sum.anomalies
                .entry(name)
                .and_modify(|all| all.add(sighting.schedules, &sighting.seeds))
                .or_insert(sighting);
        }
    }
    sum.seeds = join(ranges)?;
    Ok(sum)
}

fn agree(one_file: &str, one: &Tally, other_file: &str, other: &Tally) -> Result<(), String> {
    if one.picklock != other.picklock {
        let (one, other) = (&one.picklock, &other.picklock);
        return Err(format!(
            "`{one_file}` is of picklock {one} and `{other_file}` of {other}: search both with one"
        ));
    }
    if one.searched != other.searched {
        let what = |s: &Searched| {
            serde_json::to_value(s).ok().and_then(|v| v.as_object().cloned()).unwrap_or_default()
        };
        let (a, b) = (what(&one.searched), what(&other.searched));
        let name = a.keys().find(|name| a.get(*name) != b.get(*name)).cloned().unwrap_or_default();
        return Err(format!(
            "`{one_file}` and `{other_file}` are of different searches: {name} is {} and {}",
            a.get(&name).unwrap_or_default(),
            b.get(&name).unwrap_or_default()
        ));
    }
    Ok(())
}

/// Ranges in order, those that touch as one.
fn join(mut ranges: Vec<(Range<u64>, String)>) -> Result<Vec<Range<u64>>, String> {
    ranges.sort_by_key(|(range, _)| (range.start, range.end));
    let mut joined: Vec<(Range<u64>, String)> = Vec::new();
    for (range, file) in ranges {
        match joined.last_mut() {
            Some((last, other)) if range.start < last.end => {
                return Err(format!("`{other}` and `{file}` both have seed {}", range.start));
            }
            Some((last, other)) if range.start == last.end => {
                (last.end, *other) = (range.end, file);
            }
            _ => joined.push((range, file)),
        }
    }
    Ok(joined.into_iter().map(|(range, _)| range).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(seeds: Range<u64>, violated: &[u64]) -> Tally {
        let mut tally = Tally::new(&Options::new("zk-rw", "pause", 0));
        tally.seeds.push(seeds.clone());
        tally.violated = violated.len() as u64;
        tally.held = seeds.end - seeds.start - tally.violated;
        tally.first_violation = violated.first().copied();
        tally
    }

    fn named(tallies: &[Tally]) -> Vec<(String, Tally)> {
        tallies.iter().enumerate().map(|(n, t)| (format!("{n}.json"), t.clone())).collect()
    }

    #[test]
    fn shards_add_up_in_any_order() {
        let parts = [tally(0..10, &[]), tally(10..20, &[12, 13]), tally(20..25, &[24])];
        let sum = merge(named(&parts)).expect("they go together");
        assert_eq!(sum.seeds, tally(0..25, &[]).seeds);
        assert_eq!((sum.held, sum.violated, sum.first_violation), (22, 3, Some(12)));
        assert_eq!(sum.to_first(), Some(13));
        let backwards: Vec<Tally> = parts.iter().rev().cloned().collect();
        assert_eq!(merge(named(&backwards)).expect("in any order"), sum);
        let gap = merge(named(&[parts[0].clone(), parts[2].clone()])).expect("with a gap");
        assert_eq!((gap.seeds.clone(), gap.to_first()), (vec![0..10, 20..25], Some(15)));
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        let says = |parts: &[Tally]| merge(named(parts)).expect_err("refused");
        let one = tally(0..10, &[]);
        assert!(says(&[one.clone(), tally(9..12, &[])]).contains("both have seed 9"));
        assert!(says(&[one.clone(), one.clone()]).contains("both have seed 0"));
        let mut other = tally(10..20, &[]);
        other.searched.nemesis = "crash".into();
        assert!(says(&[one.clone(), other]).contains("nemesis is \"pause\" and \"crash\""));
        let mut old = tally(10..20, &[]);
        old.picklock = "0.0.1".into();
        assert!(says(&[one, old]).contains("picklock"));
    }

    #[test]
    fn only_a_clean_search_supports_a_bound() {
        let clean = tally(0..3_000, &[]);
        assert_eq!((clean.outcome(), clean.bound()), (Outcome::Held, Some(0.001)));
        assert_eq!(tally(0..100, &[7]).bound(), None);
        let mut unclear = tally(0..10, &[]);
        (unclear.held, unclear.inconclusive) = (5, 5);
        assert_eq!(unclear.outcome(), Outcome::Inconclusive);
        assert_eq!(Tally::from_json(&serde_json::to_string(&clean).unwrap()), Ok(clean));
        assert!(Tally::from_json("{}").unwrap_err().contains("no result"));
        assert!(Tally::from_json("{\"picklock_explore\":9}").unwrap_err().contains("version 9"));
    }
}
