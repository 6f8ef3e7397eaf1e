//! Sets of configurations against a plain list of them, on random ways; and what they take.

use super::{Bits, Config, Frontier, Way};
use crate::search::{Budget, Meter};
use base::Rng;

/// Slots of each sort: what is pure leaves no trace, what is constant may leave none, and what is
/// firm is on the line or not.
const PURE: [usize; 2] = [0, 200];
const CONSTANT: [usize; 2] = [1, 201];
const FIRM: [usize; 2] = [2, 202];

fn firm() -> Bits {
    let mut bits = Bits::default();
    FIRM.iter().for_each(|slot| bits.set(*slot));
    bits
}

fn random(rng: &mut Rng) -> Config<u64> {
    let mut way = Way::default();
    for slot in PURE.into_iter().chain(CONSTANT).chain(FIRM) {
        if rng.chance(0.5) {
            continue;
        }
        way.done.set(slot);
        if FIRM.contains(&slot) || CONSTANT.contains(&slot) && rng.chance(0.5) {
            way.used.set(slot);
        }
    }
    (0..rng.below(5)).for_each(|_| way.spend(rng.below(3) as usize));
    Config { state: rng.below(2), way }
}

/// Computes [`Way::serves`] slot by slot and kind by kind.
fn serves(one: &Way, other: &Way, fewer: bool) -> bool {
    let slots = || PURE.into_iter().chain(CONSTANT).chain(FIRM);
    slots().all(|slot| !one.used.has(slot) || other.used.has(slot))
        && (fewer || slots().all(|slot| one.done.has(slot) || !other.done.has(slot)))
        && (0..3).all(|kind| one.spent(kind) <= other.spent(kind))
}

/// Adds a configuration to a plain list as to a set of them.
fn insert(list: &mut Vec<Config<u64>>, config: Config<u64>, fewer: bool) -> bool {
    let same = |known: &Config<u64>| known.state == config.state;
    if list.iter().any(|known| same(known) && serves(&known.way, &config.way, fewer)) {
        return false;
    }
    list.retain(|known| !same(known) || !serves(&config.way, &known.way, fewer));
    list.push(config);
    true
}

fn sorted(configs: &[Config<u64>]) -> Vec<String> {
    let mut all: Vec<String> = configs.iter().map(|config| format!("{config:?}")).collect();
    all.sort();
    all
}

#[test]
fn of_two_configurations_the_one_that_can_go_wherever_the_other_can_is_kept() {
    let firm = firm();
    let mut largest = 0;
    for seed in 0..300 {
        let mut rng = Rng::fork(11, seed);
        let (fewer, mut budget) =
            (seed % 3 == 0, Budget { memory: usize::MAX, expired: &mut || false });
        let mut meter = Meter::new(&mut budget);
        let (mut list, mut set) = (Vec::new(), Frontier::new(fewer, |_: &u64| 0));
        for _ in 0..rng.below(120) {
            let config = random(&mut rng);
            let expected = insert(&mut list, config.clone(), fewer);
            assert_eq!(set.insert(config, &firm, &mut meter), Ok(expected), "seed {seed}");
        }
        largest = largest.max(list.len());
        assert_eq!(set.is_empty(), list.is_empty());
        let (mut configs, mut bytes) = (Vec::new(), 0);
        set.drain_into(&mut configs, &mut bytes, &mut meter);
        assert_eq!(sorted(&configs), sorted(&list), "seed {seed}");
    }
    assert!(largest > 2 * super::FEW, "{largest}");
}

#[test]
fn what_is_taken_for_configurations_is_given_back_with_them() {
    let firm = firm();
    let mut rng = Rng::fork(12, 0);
    let mut budget = Budget { memory: usize::MAX, expired: &mut || false };
    let mut meter = Meter::new(&mut budget);
    let (mut set, mut configs, mut bytes) = (Frontier::new(false, |_| 1_000), Vec::new(), 0);
    for _ in 0..100 {
        set.insert(random(&mut rng), &firm, &mut meter).unwrap();
    }
    set.drain_into(&mut configs, &mut bytes, &mut meter);
    assert!(meter.used() == bytes && bytes > configs.len() * 1_100, "{bytes}");
    set.insert(random(&mut rng), &firm, &mut meter).unwrap();
    assert!((1_000..2_000).contains(&(meter.used() - bytes)));
    set.clear(&mut meter);
    assert_eq!(meter.used(), bytes);
    set.drain_into(&mut configs, &mut bytes, &mut meter);
    assert_eq!((meter.used(), bytes, configs.len()), (0, 0, 0));
}

#[test]
fn slots_and_kinds_beyond_a_few_are_counted_in_bytes() {
    let mut way = Way::default();
    assert_eq!(way.heap(), 0);
    (0..100).for_each(|kind| way.spend(kind));
    assert!((800..1_600).contains(&way.heap()), "{}", way.heap());
    way.used.set(128 + 64 * 99);
    assert!((1_600..3_200).contains(&way.heap()), "{}", way.heap());
    way.done.set(128 + 64 * 99);
    assert!((2_400..4_800).contains(&way.heap()), "{}", way.heap());
}
