//! Expected or not, and the last word on a run.

mod common;

use base::{Cause, Known, Outcome, Verdict};
use common::{Sample, double_hold};
use expect_test::expect;
use picklock_reports::card::{Card, CardRow};
use picklock_reports::interpretation::{
    Surprise, breaches, expectation, expectations, grouped, last_word, properties, sentence,
    surprise,
};
use picklock_reports::terminal::Style;

fn word(sample: &Sample) -> String {
    last_word(&sample.run.info, &sample.verdicts, sample.outcome)
}

fn surprised(sample: &Sample) -> Surprise {
    surprise(sample.outcome, &breaches(&sample.run.info, &sample.verdicts))
}

#[test]
fn a_known_breach_is_expected_and_its_reason_is_given_once() {
    let sample = double_hold();
    assert_eq!(surprised(&sample), Surprise::Expected);
    assert_eq!(
        word(&sample),
        "double hold, stale write accepted — a known weakness of this lock (H7: a paused holder outlives its ttl and writes on, docs/hazards.md#h7)"
    );
    let breaches = breaches(&sample.run.info, &sample.verdicts);
    let whys: Vec<String> = expectations(&breaches).into_iter().map(|(_, why)| why).collect();
    let first = "because the holder was paused for longer than its lock lives. A ttl lock cannot tell a paused holder from a dead one (H7) (docs/hazards.md#h7).";
    assert_eq!(
        whys,
        [
            first,
            "for the same reason as above, H7: a paused holder outlives its ttl and writes on (docs/hazards.md#h7)."
        ]
    );
}

#[test]
fn one_unknown_breach_makes_it_a_surprise() {
    let mut sample = double_hold();
    sample.run.info.lock.known.pop();
    assert_eq!(surprised(&sample), Surprise::Unexpected);
    assert_eq!(
        word(&sample),
        "double hold, stale write accepted — not expected of this lock: stale write accepted"
    );
    sample.run.info.lock.known.clear();
    assert_eq!(word(&sample), "double hold, stale write accepted — not expected of this lock");
}

#[test]
fn a_card_tells_known_weaknesses_from_others() {
    let mut sample = double_hold();
    let card = |sample: &Sample| {
        let mut row = CardRow::of("pause-client", "");
        row.add(&sample.run.info, &sample.verdicts, sample.outcome);
        Card { rows: vec![row], ..Card::of(&sample.run.info, String::new()) }
    };
    assert_eq!(card(&sample).outcome(), Outcome::Violated);
    assert_eq!(card(&sample).outcome_beyond_known(), Outcome::Held);
    sample.run.info.lock.known.pop();
    assert_eq!(card(&sample).outcome_beyond_known(), Outcome::Violated);
}

#[test]
fn a_card_names_each_cause_once_with_its_faults_and_how_often() {
    let sample = double_hold();
    let row = |nemesis: &str, runs: usize| {
        let mut row = CardRow::of(nemesis, "");
        for _ in 0..runs {
            row.add(&sample.run.info, &sample.verdicts, sample.outcome);
        }
        row
    };
    let mut held = CardRow::of("none", "");
    let kept =
        Verdict { outcome: Outcome::Held, anomalies: Vec::new(), ..sample.verdicts[0].clone() };
    held.add(&sample.run.info, &[kept], Outcome::Held);
    let rows = vec![held, row("pause-client", 2), row("pause-server", 1)];
    let card = Card { rows, ..Card::of(&sample.run.info, String::new()) };
    let words = card.words();
    let heads: Vec<&str> = words.iter().map(|(head, _)| *head).collect();
    assert_eq!(heads, ["Safe against", "Not safe against", "What to do"]);
    let rests_on = "in a run each; more runs (--runs) or all nemeses (--deep) may show more";
    assert_eq!(words[0].1, [format!("runs without faults, {rests_on}")]);
    assert_eq!(
        words[1].1,
        [
            "pause-client (2 of 2 runs), pause-server (1 of 1 runs): double hold, stale write accepted, \
             as the holder was paused for longer than its lock lives (known)"
        ]
    );
    assert_eq!(words[2].1.len(), 1);
    let text = picklock_reports::card::markdown(&card);
    let safe = text.lines().find(|line| line.starts_with("**Safe against**")).unwrap();
    expect!["**Safe against**: runs without faults, in a run each; more runs (--runs) or all nemeses (--deep) may show more"].assert_eq(safe);
    let part = Card { interrupted_of: Some(9), ..card };
    let interrupted =
        ("Interrupted", vec!["4 of 9 runs were made, and no more is known".to_owned()]);
    assert_eq!(part.words()[0], interrupted);
}

#[test]
fn a_card_says_in_words_which_causes_are_possible() {
    let mut sample = double_hold();
    for anomaly in sample.verdicts.iter_mut().flat_map(|verdict| &mut verdict.anomalies) {
        anomaly.cause = [Cause::HolderPaused, Cause::LateGrant].into_iter().collect();
    }
    let mut row = CardRow::of("pause-client", "");
    row.add(&sample.run.info, &sample.verdicts, sample.outcome);
    let card = Card { rows: vec![row], ..Card::of(&sample.run.info, String::new()) };
    expect!["pause-client (1 of 1 runs): double hold, stale write accepted; one of: the holder was paused for longer than its lock lives; the grant reached its client too late (known)"].assert_eq(&card.words()[0].1[0]);
}

#[test]
fn a_card_says_on_how_many_runs_it_rests() {
    let sample = double_hold();
    let kept =
        Verdict { outcome: Outcome::Held, anomalies: Vec::new(), ..sample.verdicts[0].clone() };
    let row = |nemesis: &str, runs: usize| {
        let mut row = CardRow::of(nemesis, "");
        for _ in 0..runs {
            row.add(&sample.run.info, std::slice::from_ref(&kept), Outcome::Held);
        }
        row
    };
    let safe = |rows| {
        let card = Card { rows, ..Card::of(&sample.run.info, String::new()) };
        card.words()[0].1[0].clone()
    };
    let even = safe(vec![row("none", 2), row("pause-client", 2)]);
    let part = safe(vec![row("none", 2), row("pause-client", 1)]);
    expect![[r#"
        runs without faults, pause-client, in 2 runs each; more runs (--runs) or all nemeses (--deep) may show more
        runs without faults, pause-client, in 1 to 2 runs each; more runs (--runs) or all nemeses (--deep) may show more"#]].assert_eq(&[even, part].join("\n"));
}

/// Its columns come one below the other then, each with all faults.
#[test]
fn the_table_of_a_card_keeps_to_a_narrow_terminal() {
    let sample = double_hold();
    let mut row = CardRow::of("crash-server-lose-data", "");
    row.add(&sample.run.info, &sample.verdicts, sample.outcome);
    let card = Card {
        rows: vec![CardRow::of("none", ""), row],
        ..Card::of(&sample.run.info, String::new())
    };
    let style = Style { colour: false, unicode: true, width: 44, piped: false };
    let text = picklock_reports::card::terminal(&card, style);
    assert!(text.lines().all(|line| line.chars().count() <= 44), "{text}");
    expect![[r#"
        redis-set-nx-px:
        on redis (sim), ttl 1 s

                                exclusion  vault
        none                        ·        ·
        crash-server-lose-data      ✗        ✗

                                progress  runs
        none                       ·       0
        crash-server-lose-data     ✓       1

                                grants/s
        none                      0.0
        crash-server-lose-data    0.0

                                after a death
        none
        crash-server-lose-data

        Not safe against: crash-server-lose-data
          (1 of 1 runs): double hold, stale write
          accepted, as the holder was paused for
          longer than its lock lives (known)

        Could not tell: runs without faults

        What to do: Have the guarded resource
          refuse writes with an old fencing token:
          no ttl is longer than every pause.
    "#]]
    .assert_eq(&text);
    let wide = picklock_reports::card::terminal(&card, Style { width: 120, ..style });
    assert_eq!(wide.matches("crash-server-lose-data  ").count(), 1, "{wide}");
}

#[test]
fn of_several_possible_causes_the_first_gives_the_reason() {
    let long_hold = Known {
        cause: Cause::LongHold,
        anomaly: "double hold".into(),
        why: "H8: the work took longer".into(),
    };
    let reason = |causes: &[Cause]| {
        let mut sample = double_hold();
        sample.run.info.lock.known.insert(0, long_hold.clone());
        sample.verdicts[0].anomalies[0].cause = causes.iter().copied().collect();
        let breaches = breaches(&sample.run.info, &sample.verdicts);
        breaches[0].known.map(|known| known.cause)
    };
    let (paused, long) = (Cause::HolderPaused, Cause::LongHold);
    assert_eq!(reason(&[long, paused]), Some(paused));
    assert_eq!(reason(&[long]), Some(long));
    assert_eq!(reason(&[Cause::Recovery, long]), Some(long), "the first that is known");
    assert_eq!(reason(&[Cause::Recovery]), None);
}

#[test]
fn what_is_known_by_another_cause_is_a_surprise() {
    let with_cause = |cause: Option<Cause>| {
        let mut sample = double_hold();
        sample.verdicts[0].anomalies[0].cause = cause.into();
        let breaches = breaches(&sample.run.info, &sample.verdicts);
        (surprised(&sample), expectation(&breaches[0]).1)
    };
    let (surprise, why) = with_cause(Some(Cause::ServersApart));
    assert_eq!(surprise, Surprise::Unexpected);
    assert!(why.starts_with("of this lock: servers were down"), "{why}");
    // One that nobody can explain is a surprise, whatever the lock is known for.
    let (surprise, why) = with_cause(None);
    assert_eq!(surprise, Surprise::Unexpected);
    assert!(why.ends_with("its cause could not be found."), "{why}");
}

#[test]
fn a_run_that_held_needs_no_last_word() {
    let mut sample = double_hold();
    sample.verdicts = vec![Verdict::new("exclusion", Outcome::Held, "never two holders")];
    sample.outcome = Outcome::Held;
    assert_eq!(word(&sample), "");
    assert_eq!(surprised(&sample), Surprise::None);
}

#[test]
fn an_inconclusive_run_says_why() {
    assert_eq!(word(&common::empty()), "coverage: nobody asked for the lock");
}

#[test]
fn an_expected_breach_is_explained_with_its_cause_and_the_reason() {
    let sample = double_hold();
    let breaches = breaches(&sample.run.info, &sample.verdicts);
    let (expected, why) = expectation(&breaches[0]);
    assert_eq!(expected, "Expected");
    let cause = "because the holder was paused for longer than its lock lives. A ttl lock";
    assert!(why.starts_with(cause), "{why}");
}

#[test]
fn an_explanation_becomes_a_sentence() {
    assert_eq!(sentence("process 1 acquired at 2.638 s"), "Process 1 acquired at 2.638 s.");
    assert_eq!(sentence("Done."), "Done.");
    assert_eq!(sentence(""), "");
}

#[test]
fn what_there_is_nothing_to_say_about_is_named_together() {
    let verdict =
        |name: &str, outcome, decisive| Verdict { decisive, ..Verdict::new(name, outcome, "") };
    let verdicts = [
        verdict("coverage", Outcome::Inconclusive, true),
        verdict("herd", Outcome::Inconclusive, false),
        verdict("fencing", Outcome::NotApplicable, false),
        verdict("availability", Outcome::Inconclusive, false),
        verdict("vault", Outcome::Held, true),
    ];
    let groups = grouped(&verdicts);
    assert_eq!(properties(&groups.detailed), "coverage, fencing, vault");
    assert_eq!(properties(&groups.untested), "herd, availability");
    assert_eq!(properties(&groups.not_applicable), "");
    assert_eq!(last_word(&double_hold().run.info, &verdicts, Outcome::Inconclusive), "coverage: ");
}
