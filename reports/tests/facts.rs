//! Tests of what is read from a history: waits, holds, overlaps, faults, and the numbers.

mod common;

use base::{Change, F, Fault, Kind, Ledger, Mode, Run};
use common::{Story, double_hold, empty, info, pause};
use picklock_reports::facts::{AcquireOutcome, HistoryFacts, HoldEnding, percentile};

fn run(story: Story) -> Run {
    Run { info: info("redis-set-nx-px", "pause"), history: story.history, ledger: None }
}

const MS: u64 = 1_000_000;

#[test]
fn a_hold_ends_with_its_release_its_loss_or_its_process() {
    let mut s = Story::new();
    for process in 0..4 {
        s.event(10, process, Kind::Invoke, F::Acquire);
        s.event(20, process, Kind::Ok, F::Acquire);
    }
    s.event(30, 0, Kind::Invoke, F::Release);
    s.event(40, 1, Kind::Info, F::Lost);
    s.with(50, 2, Kind::Info, F::Death, |e| e.key = None);
    s.event(60, 0, Kind::Info, F::Release);
    let run = run(s);
    let facts = HistoryFacts::of(&run);
    let ends: Vec<_> = facts.holds.iter().map(|h| (h.until / MS, h.ending)).collect();
    let expected = [
        (30, HoldEnding::Released),
        (40, HoldEnding::Lost),
        (50, HoldEnding::Died),
        (60, HoldEnding::Open),
    ];
    assert_eq!(ends, expected);
    assert!(!facts.stopped);
}

#[test]
fn a_conversion_parts_a_hold_and_the_weaker_mode_is_drawn_throughout() {
    let mode = |mode| move |event: &mut base::Event| event.mode = Some(mode);
    let (shared, exclusive) = (Mode::Shared, Mode::Exclusive);
    let mut s = Story::new();
    s.with(10, 0, Kind::Invoke, F::Acquire, mode(exclusive));
    s.with(20, 0, Kind::Ok, F::Acquire, mode(exclusive));
    s.with(30, 0, Kind::Invoke, F::Convert, mode(shared));
    s.with(40, 0, Kind::Ok, F::Convert, mode(shared));
    s.with(50, 0, Kind::Invoke, F::Convert, mode(exclusive));
    s.with(60, 0, Kind::Ok, F::Convert, mode(exclusive));
    s.with(70, 0, Kind::Invoke, F::Release, mode(exclusive));
    let run = run(s);
    let facts = HistoryFacts::of(&run);
    let holds = facts.holds.iter().map(|h| (h.mode, h.from / MS, h.until / MS, h.ending));
    let expected = [
        (exclusive, 20, 30, HoldEnding::Converted),
        (shared, 30, 60, HoldEnding::Converted),
        (exclusive, 60, 70, HoldEnding::Released),
    ];
    assert_eq!(holds.collect::<Vec<_>>(), expected);
}

#[test]
fn a_wait_ends_as_its_acquire_does() {
    let mut s = Story::new();
    for process in 0..5 {
        s.event(10, process, Kind::Invoke, F::Acquire);
    }
    s.event(20, 0, Kind::Ok, F::Acquire);
    s.with(30, 1, Kind::Fail, F::Acquire, |e| e.error = Some("too late".into()));
    s.event(40, 2, Kind::Info, F::Acquire);
    s.with(50, 3, Kind::Info, F::Death, |e| e.key = None);
    s.event(60, 0, Kind::Invoke, F::Release);
    let run = run(s);
    let facts = HistoryFacts::of(&run);
    let ends: Vec<_> = facts.waits.iter().map(|w| (w.until / MS, w.answer)).collect();
    let expected = [
        (20, AcquireOutcome::Granted),
        (30, AcquireOutcome::Failed),
        (40, AcquireOutcome::Unknown),
        (50, AcquireOutcome::Open),
        (60, AcquireOutcome::Open),
    ];
    assert_eq!(ends, expected);
    assert_eq!(facts.waits[1].error, Some("too late"));
    assert_eq!(facts.latencies(), [10 * MS]);
}

#[test]
fn the_index_decides_whether_holds_meet_and_readers_share() {
    let grant = |s: &mut Story, ms, process, mode| {
        for kind in [Kind::Invoke, Kind::Ok] {
            s.with(ms, process, kind, F::Acquire, |e| e.mode = Some(mode));
        }
    };
    let mut s = Story::new();
    // Touching at one time, in order: no conflict.
    grant(&mut s, 10, 0, Mode::Exclusive);
    s.event(20, 0, Kind::Invoke, F::Release);
    grant(&mut s, 20, 1, Mode::Shared);
    // Readers together: no conflict. A writer beside them: one with each.
    grant(&mut s, 30, 2, Mode::Shared);
    grant(&mut s, 40, 3, Mode::Exclusive);
    s.event(50, 1, Kind::Invoke, F::Release);
    s.event(60, 3, Kind::Invoke, F::Release);
    let run = run(s);
    let overlaps: Vec<_> = HistoryFacts::of(&run)
        .overlaps()
        .into_iter()
        .map(|o| (o.process, o.from / MS, o.until / MS))
        .collect();
    assert_eq!(overlaps, [(1, 40, 50), (2, 40, 60), (3, 40, 50), (3, 40, 60)]);
}

#[test]
fn a_fault_lasts_from_its_being_in_force_to_its_heal() {
    let mut s = Story::new();
    s.fault(10, Kind::Invoke, F::Fault, 0, pause(1));
    s.fault(12, Kind::Info, F::Fault, 0, pause(1));
    s.fault(20, Kind::Invoke, F::Heal, 0, pause(1));
    s.fault(25, Kind::Info, F::Heal, 0, pause(1));
    s.fault(30, Kind::Invoke, F::Fault, 1, pause(2));
    let run = run(s);
    let facts = HistoryFacts::of(&run);
    let spans: Vec<_> =
        facts.faults.iter().map(|f| (f.from / MS, f.until.map(|t| t / MS))).collect();
    assert_eq!(spans, [(12, Some(25)), (30, None)]);
    assert_eq!(facts.effective_faults(), 1);
}

#[test]
fn a_history_that_makes_no_sense_is_read_all_the_same() {
    let mut s = Story::new();
    s.event(90, 1, Kind::Ok, F::Acquire);
    s.event(10, 1, Kind::Invoke, F::Release);
    s.event(50, 7, Kind::Invoke, F::Acquire);
    s.event(20, 7, Kind::Ok, F::Acquire);
    s.event(5, 7, Kind::Invoke, F::Release);
    s.fault(1, Kind::Info, F::Heal, 9, pause(1));
    let empty_cut = Fault::over(Vec::new(), base::Action::Cut(base::Direction::Both));
    s.fault(2, Kind::Info, F::Fault, 3, empty_cut);
    let run = run(s);
    let facts = HistoryFacts::of(&run);
    assert_eq!(facts.end, 90 * MS);
    // As the checkers read it: the answer without a question is a grant, the heal without a fault
    // says that there was one.
    assert_eq!((facts.holds.len(), facts.faults.len()), (2, 2));
    assert!(facts.holds.iter().all(|h| h.from <= h.until));
}

#[test]
fn percentiles_are_by_nearest_rank() {
    let values: Vec<u64> = (1..=200).collect();
    assert_eq!(percentile(&values, 50), Some(100));
    assert_eq!(percentile(&values, 99), Some(198));
    assert_eq!(percentile(&[7], 99), Some(7));
    assert_eq!(percentile(&[], 50), None);
}

#[test]
fn grants_are_counted_from_the_first_request_on() {
    let sample = double_hold();
    // Two grants, from 3.9 s to 36 s.
    assert_eq!(HistoryFacts::of(&sample.run).grant_rate().as_deref(), Some("0.06 a second"));
    assert_eq!(HistoryFacts::of(&empty().run).grant_rate(), None);
}

#[test]
fn the_ledger_says_when_a_lease_ended() {
    let end = |changes: &[(u64, Change)]| {
        let mut story = Story::new();
        story.event(0, 1, Kind::Invoke, F::Acquire);
        let (asked, expires) = (Some(0), Some(1_000_000_000));
        let known = base::Facts { asked_ns: asked, expires_ns: expires, ..base::Facts::default() };
        story.with(10, 1, Kind::Ok, F::Acquire, |e| e.facts = Some(Box::new(known)));
        story.event(5_000, 1, Kind::Invoke, F::Release);
        let mut run = run(story);
        let mut ledger = Ledger::default();
        changes.iter().for_each(|(ms, change)| ledger.note(ms * 1_000_000, 0, "lock:k0", *change));
        run.ledger = (!changes.is_empty()).then_some(ledger);
        HistoryFacts::of(&run).holds[0].ran_out.map(|end| (end.at_ns / 1_000_000, end.words()))
    };
    let taken = (5, Change::Written(1));
    assert_eq!(end(&[]), Some((1_000, "its lease expired")), "as its client knows it");
    assert_eq!(end(&[taken, (1_005, Change::Expired)]), Some((1_005, "its lease expired")));
    assert_eq!(end(&[taken, (700, Change::SessionEnded(1))]), Some((700, "its session ended")));
    assert_eq!(end(&[taken, (700, Change::Deleted(2)), (900, Change::Written(2))]), None);
    assert_eq!(end(&[taken, (5_001, Change::Deleted(1))]), None);
    assert_eq!(end(&[taken, (5_001, Change::Expired)]), None, "after its release");
}
