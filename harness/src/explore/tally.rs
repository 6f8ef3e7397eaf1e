//! The result of a search, as data: `explore` makes it, `merge` adds it up, both print it.

use base::{Causes, LockName, Outcome, RunInfo, RunSpec, WrongVersion};
use checkers::Judgement;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::setup::Setup;

/// The version of the stored form.
const VERSION: u32 = 5;

/// The least number of schedules that held to support a bound worth the name: with ten of them,
/// three in ten may break a promise.
pub const MIN_HELD: u64 = 10;

/// The number of seeds named for each anomaly.
const SEEDS: usize = 8;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The version of this format.
    pub picklock_explore: u32,
    /// The picklock that searched: another one may draw other schedules from the same seeds.
    pub picklock: String,
    /// The settings of the search.
    pub searched: Searched,
    /// The parts that make up this result, one for each file that was added up; a whole search is
    /// one.
    pub parts: Vec<SearchPart>,
    /// The seeds that this answers for: those of its shard, or of all shards once they are added
    /// up.
    pub asked: Vec<Range<u64>>,
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
    /// The anomalies that were seen, by name and cause.
    pub anomalies: Vec<Sighting>,
}

/// A part of a search, as one command was asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPart {
    /// The seeds of all shards.
    pub whole: Range<u64>,
    /// The number of shards.
    pub of: u64,
    /// The number of this shard, from 1.
    pub shard: u64,
}

impl SearchPart {
    /// The seeds of this shard: all shards together have every seed once, in order.
    pub fn seeds(&self) -> Range<u64> {
        let Self { whole, shard, of } = self;
        let seeds = u128::from(whole.end.saturating_sub(whole.start));
        let edge = |n: u64| whole.start + (seeds * u128::from(n) / u128::from(*of)) as u64;
        edge(shard - 1)..edge(*shard)
    }

    /// The shard that has one of the seeds.
    fn shard_of(&self, seed: u64) -> u128 {
        let seeds = u128::from(self.whole.end - self.whole.start);
        let place = u128::from(seed - self.whole.start) + 1;
        (place * u128::from(self.of)).div_ceil(seeds)
    }

    /// Returns true if it is a part that a command can be asked for.
    fn is_sound(&self) -> bool {
        (1..=self.of).contains(&self.shard) && self.whole.start < self.whole.end
    }
}

/// Seeds that were asked for and not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The missing seeds, as a half-open range.
    pub seeds: Range<u64>,
    /// The shards that have them, if there are several.
    pub shards: Option<String>,
}

/// The settings of a search: results can be added up only where these are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Searched {
    /// The name of the lock.
    pub algo: LockName,
    /// The run of each seed, but for the seed.
    #[serde(flatten)]
    pub run: RunSpec,
}

/// The number of times that an anomaly was seen by one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// The name of the anomaly.
    pub anomaly: String,
    /// Its cause, as far as it is known; absent where none was found.
    #[serde(skip_serializing_if = "Causes::is_unknown", default)]
    pub cause: Causes,
    /// The property that it breaks.
    pub property: String,
    /// The number of schedules that show it.
    pub schedules: u64,
    /// The first seeds that show it, a few of them.
    pub seeds: Vec<u64>,
    /// The reason why it is expected; absent where it is a surprise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub known: Option<String>,
}

impl Sighting {
    /// Returns the key that distinguishes sightings and orders them.
    fn order(&self) -> (&str, Causes) {
        (&self.anomaly, self.cause)
    }

    fn add(&mut self, schedules: u64, seeds: &[u64]) {
        self.schedules += schedules;
        self.seeds.extend(seeds);
        self.seeds.sort_unstable();
        self.seeds.truncate(SEEDS);
    }
}

impl Tally {
    /// Makes a tally of nothing searched yet.
    pub fn new(setup: &Setup, part: SearchPart) -> Self {
        let (info, asked) = (setup.info_for("sim"), setup.asked());
        let run = RunSpec {
            seed: 0,
            topology: info.run.topology,
            ensemble: info.run.ensemble,
            think: Some(asked.think()),
            ..asked.clone()
        };
        Self {
            picklock_explore: VERSION,
            picklock: env!("CARGO_PKG_VERSION").into(),
            searched: Searched { algo: setup.lock.info.name.clone(), run },
            asked: vec![part.seeds()],
            parts: vec![part],
            seeds: Vec::new(),
            held: 0,
            violated: 0,
            inconclusive: 0,
            first_violation: None,
            anomalies: Vec::new(),
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
            Outcome::Inconclusive | Outcome::NotApplicable | Outcome::Measured => {
                self.inconclusive += 1;
            }
        }
        for breach in reports::interpretation::breaches(info, &judgement.verdicts) {
            let known = breach.known.map(|known| known.why.clone());
            self.see(Sighting {
                anomaly: breach.anomaly.name.clone(),
                cause: breach.anomaly.cause,
                property: breach.property.into(),
                schedules: 1,
                seeds: vec![seed],
                known,
            });
        }
    }

    /// Adds a sighting to those of its kind.
    fn see(&mut self, seen: Sighting) {
        match self.anomalies.binary_search_by(|known| known.order().cmp(&seen.order())) {
            Ok(place) => self.anomalies[place].add(seen.schedules, &seen.seeds),
            Err(place) => self.anomalies.insert(place, seen),
        }
    }

    /// Returns the number of schedules that were run.
    pub fn schedules(&self) -> u64 {
        self.held + self.violated + self.inconclusive
    }

    /// Returns the number of schedules up to the first violation, that one included.
    pub fn to_first(&self) -> Option<u64> {
        let first = self.first_violation?;
        let before = |range: &Range<u64>| first.min(range.end).saturating_sub(range.start);
        Some(self.seeds.iter().map(before).sum::<u64>() + 1)
    }

    /// The answer. One schedule that broke a promise is enough; that most of them kept it says
    /// something only where most could tell, they are many enough, and none is missing.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self { violated: 1.., .. } => Outcome::Violated,
            Self { held: MIN_HELD.., inconclusive, .. }
                if self.held > *inconclusive && self.missing().is_empty() =>
            {
                Outcome::Held
            }
            _ => Outcome::Inconclusive,
        }
    }

    /// Returns the bound of a clean search: the share of schedules that can break a promise is
    /// below this, with 95 % confidence (the rule of three: Hanley, Lippman-Hand, JAMA 249, 1983).
    /// Only schedules that could tell count.
    pub fn bound(&self) -> Option<f64> {
        (self.outcome() == Outcome::Held).then(|| 3.0 / self.held as f64)
    }

    /// Returns the number of schedules that were asked for.
    pub fn wanted(&self) -> u64 {
        self.asked.iter().map(|range| range.end - range.start).sum()
    }

    /// The seeds that were asked for and not searched.
    pub fn missing(&self) -> Vec<Missing> {
        let asked = self.asked.iter();
        let missing = asked.flat_map(|asked| without(asked.clone(), &self.seeds));
        missing.map(|seeds| Missing { shards: self.shards(&seeds), seeds }).collect()
    }

    /// The shards that have these seeds, if they were spread over several.
    fn shards(&self, seeds: &Range<u64>) -> Option<String> {
        let part = self.parts.iter().find(|part| part.whole.contains(&seeds.start))?;
        let (first, last) = (part.shard_of(seeds.start), part.shard_of(seeds.end - 1));
        match (part.of, first == last) {
            (1, _) => None,
            (of, true) => Some(format!("shard {first}/{of}")),
            (of, false) => Some(format!("shards {first}/{of} to {last}/{of}")),
        }
    }

    /// Answers for all shards from now on, and remembers which they are as long as one is missing.
    fn ask_for_all(&mut self) {
        self.parts.sort_by_key(|part| (part.whole.start, part.whole.end, part.of, part.shard));
        self.asked = self.parts.iter().map(|part| part.whole.clone()).collect();
        self.asked.dedup();
        let seeds = &self.seeds;
        let is_whole = |part: &SearchPart| without(part.whole.clone(), seeds).is_empty();
        for part in self.parts.iter_mut().filter(|part| is_whole(part)) {
            (part.of, part.shard) = (1, 1);
        }
        self.parts.dedup();
    }

    /// Returns true if a search can have had this result, as far as shards and seeds go.
    fn is_sound(&self) -> bool {
        let apart = self.seeds.is_sorted_by(|one, other| one.end < other.start);
        let some = |ranges: &[Range<u64>]| ranges.iter().all(|range| range.start < range.end);
        let parts = !self.parts.is_empty() && self.parts.iter().all(SearchPart::is_sound);
        let seeds = self.seeds.iter().map(|range| range.end - range.start);
        let counted = seeds.fold(0, u64::saturating_add) == self.schedules();
        parts && apart && some(&self.seeds) && counted
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// One line that says what it is instead.
    pub fn from_json(text: &str) -> Result<Self, NoTally> {
        let mut value: serde_json::Value = serde_json::from_str(text).map_err(NoTally::Json)?;
        // Its strings will be displayed line by line.
        base::show_strings(&mut value);
        let version = value.get("picklock_explore").and_then(serde_json::Value::as_u64);
        WrongVersion::check(version.ok_or(NoTally::Other)?, VERSION)?;
        let tally: Self = serde_json::from_value(value).map_err(NoTally::Data)?;
        match tally.is_sound() {
            true => Ok(tally),
            false => Err(NoTally::Unsound),
        }
    }
}

/// A text that is no result of a search, as a verb phrase to stand after the name of its file.
#[derive(Debug, thiserror::Error)]
pub enum NoTally {
    /// The text is not JSON.
    #[error("is not valid JSON: {0}")]
    Json(serde_json::Error),
    /// The text is something else.
    #[error("is not a result of `picklock explore --out`")]
    Other,
    /// The text is of another version.
    #[error(transparent)]
    Version(#[from] WrongVersion),
    /// A part of the result is missing, or is not what it should be.
    #[error("is not a result of `picklock explore --out`: {0}")]
    Data(serde_json::Error),
    /// No search has such a result.
    #[error("has impossible shard or seed numbers")]
    Unsound,
}

/// The reason why results cannot be added up. It names the two files that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// No results are given.
    #[error("there is nothing to merge")]
    Nothing,
    /// Two results are of different versions of picklock.
    #[error(
        "`{}` is of picklock {} and `{}` of {}: search both with one",
        .0[0].file, .0[0].value, .0[1].file, .0[1].value
    )]
    Picklock(Box<[FileValue; 2]>),
    /// Two searches had different settings.
    #[error(
        "`{}` and `{}` are of different searches: {setting} is {} and {}",
        .values[0].file, .values[1].file, .values[0].value, .values[1].value
    )]
    Searched {
        /// The first setting that differs.
        setting: String,
        /// The two files and their values of it.
        values: Box<[FileValue; 2]>,
    },
    /// Two results have the same seed.
    #[error("`{}` and `{}` both have seed {seed}", .files[0], .files[1])]
    Seed {
        /// The seed of the run that was found.
        seed: u64,
        /// The two files.
        files: [String; 2],
    },
}

/// A value, and the file that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileValue {
    /// The name of the file.
    pub file: String,
    /// Its value, as text.
    pub value: String,
}

impl FileValue {
    fn new(file: &str, value: impl ToString) -> Self {
        Self { file: file.to_owned(), value: value.to_string() }
    }
}

/// Adds up the results of several searches, each with the name of its file.
///
/// # Errors
/// One line that names the two files that do not go together.
pub fn merge(parts: Vec<(String, Tally)>) -> Result<Tally, MergeError> {
    let mut parts = parts;
    parts.sort_by_key(|(_, tally)| tally.seeds.first().map_or(0, |range| range.start));
    let mut parts = parts.into_iter();
    let (first_file, mut sum) = parts.next().ok_or(MergeError::Nothing)?;
    let mut ranges: Vec<(Range<u64>, String)> =
        sum.seeds.iter().map(|range| (range.clone(), first_file.clone())).collect();
    for (file, part) in parts {
        agree(&first_file, &sum, &file, &part)?;
        ranges.extend(part.seeds.iter().map(|range| (range.clone(), file.clone())));
        sum.parts.extend(part.parts);
        sum.held += part.held;
        sum.violated += part.violated;
        sum.inconclusive += part.inconclusive;
        sum.first_violation =
            [sum.first_violation, part.first_violation].into_iter().flatten().min();
        part.anomalies.into_iter().for_each(|sighting| sum.see(sighting));
    }
    sum.seeds = join(ranges)?;
    sum.ask_for_all();
    Ok(sum)
}

/// The parts of a range that lie in none of these, which are in order and apart from each other.
fn without(range: Range<u64>, taken: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut from = range.start;
    for taken in taken {
        if taken.start > from && from < range.end {
            left.push(from..taken.start.min(range.end));
        }
        from = from.max(taken.end);
    }
    if from < range.end {
        left.push(from..range.end);
    }
    left
}

fn agree(one_file: &str, one: &Tally, other_file: &str, other: &Tally) -> Result<(), MergeError> {
    if one.picklock != other.picklock {
        let values =
            [FileValue::new(one_file, &one.picklock), FileValue::new(other_file, &other.picklock)];
        return Err(MergeError::Picklock(values.into()));
    }
    if one.searched != other.searched {
        let what = |s: &Searched| {
            serde_json::to_value(s).ok().and_then(|v| v.as_object().cloned()).unwrap_or_default()
        };
        let (a, b) = (what(&one.searched), what(&other.searched));
        let differs = a.keys().find(|name| a.get(*name) != b.get(*name));
        let setting = differs.cloned().unwrap_or_default();
        let value = |of: &serde_json::Map<String, serde_json::Value>| {
            of.get(&setting).cloned().unwrap_or_default()
        };
        let values = [FileValue::new(one_file, value(&a)), FileValue::new(other_file, value(&b))];
        return Err(MergeError::Searched { setting, values: values.into() });
    }
    Ok(())
}

/// Ranges in order, those that touch as one.
fn join(mut ranges: Vec<(Range<u64>, String)>) -> Result<Vec<Range<u64>>, MergeError> {
    ranges.sort_by_key(|(range, _)| (range.start, range.end));
    let mut joined: Vec<(Range<u64>, String)> = Vec::new();
    for (range, file) in ranges {
        match joined.last_mut() {
            Some((last, other)) if range.start < last.end => {
                let files = [other.clone(), file];
                return Err(MergeError::Seed { seed: range.start, files });
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
    use base::EnsembleSpec;
    use expect_test::expect;

    fn tally(seeds: Range<u64>, violated: &[u64]) -> Tally {
        let part = SearchPart { whole: seeds.clone(), of: 1, shard: 1 };
        let lock = workloads::lock("zk-rw").expect("a lock of the list");
        let setup = Setup::new(&lock, lock.info.run("pause", 0)).expect("a run");
        let mut tally = Tally::new(&setup, part);
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
    fn a_seed_of_a_search_has_its_settings() {
        let lock = workloads::lock("zk-rw").expect("a lock of the list");
        let ensemble = EnsembleSpec { tick_ns: Some(500_000_000), sync_limit: Some(5) };
        let topology = Some("zookeeper-x5".to_owned());
        let run = RunSpec { topology, ensemble, ..lock.info.run("pause", 0) };
        let setup = Setup::new(&lock, run).expect("a run");
        let part = SearchPart { whole: 0..1, of: 1, shard: 1 };
        let again = Tally::new(&setup, part).searched.run;
        let flags = crate::options::flags(&again, &lock.info);
        assert_eq!(flags, " --on zookeeper-x5 --tick 500ms --sync-limit 5");
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
        let one = tally(0..10, &[]);
        let mut other = tally(10..20, &[]);
        other.searched.run.nemesis = "crash".into();
        let mut old = tally(10..20, &[]);
        old.picklock = "0.0.1".into();
        let errors = [tally(9..12, &[]), one.clone(), other, old]
            .map(|two| merge(named(&[one.clone(), two])).expect_err("refused").to_string());
        let errors = errors.join("\n").replace(&one.picklock, "VERSION");
        expect![[r#"
            `0.json` and `1.json` both have seed 9
            `0.json` and `1.json` both have seed 0
            `0.json` and `1.json` are of different searches: nemesis is "pause" and "crash"
            `0.json` is of picklock VERSION and `1.json` of 0.0.1: search both with one"#]]
        .assert_eq(&errors);
    }

    #[test]
    fn only_a_clean_search_supports_a_bound() {
        let clean = tally(0..3_000, &[]);
        assert_eq!((clean.outcome(), clean.bound()), (Outcome::Held, Some(0.001)));
        assert_eq!(tally(0..100, &[7]).bound(), None);
        let mut unclear = tally(0..10, &[]);
        (unclear.held, unclear.inconclusive) = (5, 5);
        assert_eq!(unclear.outcome(), Outcome::Inconclusive);
        let stored = serde_json::to_string(&clean).unwrap();
        assert_eq!(Tally::from_json(&stored).expect("what was written"), clean);
        let wrong = stored.replace("\"of\":1", "\"of\":0");
        let errors = [&wrong, "{}", "{\"picklock_explore\":9}"]
            .map(|text| Tally::from_json(text).expect_err("refused").to_string());
        expect![[r#"
            has impossible shard or seed numbers
            is not a result of `picklock explore --out`
            has version 9, of a newer picklock; this one reads version 5"#]]
        .assert_eq(&errors.join("\n"));
    }

    /// Returns the result of a shard of seeds 0 to 29 that searched the first so many of its seeds.
    fn shard(number: u64, searched: u64) -> Tally {
        let part = SearchPart { whole: 0..30, of: 3, shard: number };
        let asked = part.seeds();
        let tally = tally(asked.start..asked.start + searched, &[]);
        Tally { parts: vec![part], asked: vec![asked], ..tally }
    }

    #[test]
    fn a_shard_that_is_missing_or_was_cut_short_is_named() {
        let summary = |tally: &Tally| {
            let missing = tally.missing().into_iter();
            let missing = missing.map(|m| (m.shards.unwrap_or_default(), m.seeds));
            (tally.outcome(), missing.collect::<Vec<_>>())
        };
        let sum = |parts: &[Tally]| summary(&merge(named(parts)).expect("they go together"));
        let whole = [shard(1, 10), shard(2, 10), shard(3, 10)];
        assert_eq!(sum(&whole), (Outcome::Held, vec![]));
        assert_eq!(summary(&shard(1, 10)), (Outcome::Held, vec![]), "a shard answers for itself");
        let lacks = |shards: &str, seeds| (Outcome::Inconclusive, vec![(shards.into(), seeds)]);
        assert_eq!(summary(&shard(2, 5)), lacks("shard 2/3", 15..20));
        assert_eq!(sum(&[shard(1, 10)]), lacks("shards 2/3 to 3/3", 10..30));
        assert_eq!(sum(&[shard(1, 10), shard(3, 10)]), lacks("shard 2/3", 10..20));
        assert_eq!(sum(&[shard(1, 10), shard(2, 5)]), lacks("shards 2/3 to 3/3", 15..30));
        // Added up in two steps, it is whole as well.
        let first = merge(named(&[shard(3, 10), shard(1, 10)])).expect("they go together");
        assert_eq!(sum(&[first, shard(2, 10)]), (Outcome::Held, vec![]));
    }

    #[test]
    fn a_few_schedules_support_nothing() {
        assert_eq!(tally(0..9, &[]).outcome(), Outcome::Inconclusive);
        assert_eq!(tally(0..9, &[]).bound(), None);
        assert_eq!(tally(0..10, &[]).outcome(), Outcome::Held);
        assert_eq!(tally(0..3, &[2]).outcome(), Outcome::Violated);
    }
}
