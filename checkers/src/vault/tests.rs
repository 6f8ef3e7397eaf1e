//! Pictures of histories that `vault` must reject, must accept, or cannot judge.

use super::VaultChecker;
use crate::picture::Gallery;
use expect_test::expect;

use base::{Outcome, Verdict};

const ANY: Gallery = Gallery { checker: &VaultChecker, info: |_| {} };
const FENCED: Gallery =
    Gallery { checker: &VaultChecker, info: |info| info.lock.promises.fenced = true };

fn found(verdict: &Verdict) -> Vec<(&str, u64)> {
    verdict.anomalies.iter().map(|a| (a.name.as_str(), a.count)).collect()
}

#[test]
fn a_paused_writer_overwrites_what_the_next_holder_wrote() {
    let verdict = ANY.judge(
        "
        p0       | Ag---------wR
        p1       |     Ag-wR
        pause c0 |   [      ]
        ",
    );
    assert_eq!(verdict.outcome, Outcome::Violated);
    assert_eq!(found(&verdict), [("lost update", 1), ("stale write accepted", 1)]);
    assert_eq!(verdict.summary, "2 writes accepted, among them 1 lost update and 1 stale write");
    let explanations: Vec<_> = verdict.anomalies.iter().map(|a| a.explanation.as_str()).collect();
    assert_eq!(
        explanations,
        [
            "process 0 acquired exclusively at 0.000 s, read 0 at 0.100 s and was paused at \
             0.200 s while it held; process 1 wrote 1 at 0.700 s; process 0 ran on at 0.900 s and \
             wrote 1 at 1.100 s over what process 1 had written",
            "process 0 acquired exclusively at 0.000 s and was paused at 0.200 s while it held; \
             process 1 acquired exclusively at 0.400 s and read 0 at 0.500 s; process 0 ran on \
             at 0.900 s and wrote 1 at 1.100 s, and the vault accepted it"
        ]
    );
}

#[test]
fn a_write_after_the_next_holder_has_only_read_is_stale() {
    ANY.rejects(
        "
        p0 | Ag-----wR
        p1 |    Ag----R
        ",
        "stale write accepted",
        1,
    );
}

#[test]
fn a_write_beside_a_later_reader_is_stale() {
    ANY.rejects(
        "
        p0 | Ag-----wR
        p1 |    Sg----R
        ",
        "stale write accepted",
        1,
    );
}

#[test]
fn the_reader_that_was_overtaken_writes_first() {
    // The later grant wrote on what it had read; the earlier one wrote in between.
    let verdict = ANY.judge(
        "
        p0 | A--g-w-R
        p1 |  A--g-w-R
        ",
    );
    assert!(verdict.shows("lost update"));
    assert!(verdict.shows("stale write accepted"));
}

#[test]
fn a_fault_on_a_server_is_reported_where_none_on_the_client_is_and_if_it_may_be_the_cause() {
    let explanation = |rows: &str| {
        let text = format!(
            "
        p0      | Ag---------wR
        p1      |     Ag-R
        {rows}"
        );
        ANY.judge(&text).anomalies[0].explanation.clone()
    };
    let both = |server| explanation(&format!("{server} s0 |   [ ]\n        pause c0 |   [ ]"));
    let explanations = [explanation("wipe s0 |   [ ]"), both("pause"), both("wipe")];
    expect![[r#"
        process 0 acquired exclusively at 0.000 s; server 0 crashed and lost its data at 0.200 s; process 1 acquired exclusively at 0.400 s; server 0 was started again at 0.400 s; process 1 read 0 at 0.500 s; process 0 wrote 1 at 1.100 s, and the vault accepted it
        process 0 acquired exclusively at 0.000 s; server 0 was paused at 0.200 s; process 0 was paused at 0.200 s while it held; process 1 acquired exclusively at 0.400 s; server 0 ran on at 0.400 s; process 0 ran on at 0.400 s; process 1 read 0 at 0.500 s; process 0 wrote 1 at 1.100 s, and the vault accepted it
        process 0 acquired exclusively at 0.000 s; server 0 crashed and lost its data at 0.200 s; process 0 was paused at 0.200 s while it held; process 1 acquired exclusively at 0.400 s; server 0 was started again at 0.400 s; process 0 ran on at 0.400 s; process 1 read 0 at 0.500 s; process 0 wrote 1 at 1.100 s, and the vault accepted it"#]].assert_eq(&explanations.join("\n"));
}

#[test]
fn a_write_that_arrives_after_its_hold_belongs_to_it_still() {
    let verdict = ANY.judge(
        "
        p0 | AgWR     A--w
        p1 |     AgwR
        ",
    );
    assert_eq!(found(&verdict), [("lost update", 1), ("stale write accepted", 1)]);
}

#[test]
fn who_was_never_granted_the_lock_writes() {
    let verdict = ANY.judge(
        "
        p0 | A=gw=R
        p1 |   a-!w",
    );
    assert_eq!(found(&verdict), [("unguarded write", 1)]);
    assert_eq!(verdict.summary, "2 writes accepted, among them 1 unguarded write");
    expect!["process 1 wrote at 0.500 s; its process had never been granted the lock"]
        .assert_eq(&verdict.anomalies[0].explanation);
    ANY.rejects("p0 | A=gwR\np1 |       gw", "unguarded write", 1);
}

#[test]
fn a_write_of_ones_last_grant_is_guarded_and_one_that_is_fenced_off_does_no_harm() {
    ANY.accepts("p0 | A=gwR w");
    ANY.accepts("p0 | A=gwR\np1 |       gf");
}

#[test]
fn holds_that_follow_each_other_lose_nothing() {
    let summary = ANY.accepts(
        "
        p0 | AgwR    AgwR
        p1 |     AgwR
        ",
    );
    assert_eq!(summary, "3 writes accepted, none of them stale");
}

#[test]
fn a_double_hold_that_touches_nothing_in_between_breaks_nothing() {
    // The later grant was never served before the write of the earlier one.
    ANY.accepts(
        "
        p0 | Ag-wR
        p1 |   A--gwR
        ",
    );
}

#[test]
fn several_writes_of_one_hold_build_on_each_other() {
    ANY.accepts(
        "
        p0 | AgwgwwR
        p1 |        AgwR
        ",
    );
}

#[test]
fn a_write_that_builds_on_nothing_loses_nothing() {
    ANY.accepts(
        "
        p0 | AgR      A-wR
        p1 |     AgwR
        ",
    );
}

#[test]
fn another_vault_is_another_matter() {
    ANY.accepts(
        "
        p0/k0 | Ag----wR
        p1/k1 |   AgwR
        ",
    );
}

#[test]
fn what_was_fenced_off_is_counted_by_what_it_was() {
    let summary = FENCED.accepts(
        "
        p0 | A1--g-----F--F--f
        p1 |     LA2-w
        ",
    );
    let off = "; 1 stale write and 2 stale reads fenced off";
    assert_eq!(summary, format!("1 write accepted, none of them stale{off}"));
}

#[test]
fn a_stale_write_that_was_fenced_off_breaks_nothing() {
    let summary = FENCED.accepts(
        "
        p0       | A1g--------fR
        p1       |      A2gwR
        pause c0 |    [    ]
        ",
    );
    assert_eq!(summary, "1 write accepted, none of them stale; 1 stale write fenced off");
}

#[test]
fn a_lower_token_after_a_higher_one_is_stale() {
    FENCED.rejects(
        "
        p0 | A1g-------wR
        p1 |      A2gR
        ",
        "stale write accepted",
        1,
    );
}

#[test]
fn tokens_know_better_which_grant_is_later() {
    // The news of the first grant came after that of the second; its read was served all the
    // same, because the vault had not seen the higher token yet. Its write was fenced off.
    let late = "
        p0 | a----A1g---f
        p1 |   A2-----gw-R
        ";
    assert_eq!(FENCED.judge(late).outcome, Outcome::Held);
    assert!(ANY.judge(late).shows("stale write accepted"));
}

#[test]
fn a_token_that_does_not_grow_cannot_hide_a_later_grant() {
    FENCED.rejects(
        "
        p0 | A2g--------wR
        p1 |     A1gR
        ",
        "stale write accepted",
        1,
    );
}

#[test]
fn without_an_accepted_write_nothing_can_be_decided() {
    ANY.unclear(
        "
        p0 | AgR
        p1 |     AgfR
        ",
        expect!["0 writes accepted: nothing could be lost; 1 stale write fenced off"],
    );
}

#[test]
fn a_write_that_was_delayed_on_its_way_is_stale_though_its_client_obeyed() {
    let verdict = ANY.judge(
        "
        p0 | AgW-tR     z
        p1 |       AgwR
        ",
    );
    assert_eq!(found(&verdict), [("lost update", 1), ("stale write accepted", 1)]);
    assert_eq!(
        verdict.anomalies[1].explanation,
        "process 0 acquired exclusively at 0.000 s, sent its write of 1 at 0.200 s and released \
         at 0.500 s; process 1 acquired exclusively at 0.600 s and read 0 at 0.700 s; the write \
         of process 0 arrived at 1.100 s, and the vault accepted it"
    );
}

#[test]
fn a_late_write_belongs_to_the_hold_in_which_it_was_sent() {
    // Its process holds the lock again, when the write of its first hold arrives.
    ANY.rejects(
        "
        p0 | AgWtR     A-z-gwR
        p1 |      AgR
        ",
        "stale write accepted",
        1,
    );
}

#[test]
fn a_late_write_before_anybody_else_was_served_breaks_nothing() {
    let summary = ANY.accepts(
        "
        p0 | AgWtR z
        p1 |          AgwR
        ",
    );
    assert_eq!(summary, "2 writes accepted, none of them stale");
}

#[test]
fn a_write_that_never_arrives_breaks_nothing() {
    ANY.accepts(
        "
        p0 | AgWtR
        p1 |       AgwR
        ",
    );
}

#[test]
fn a_late_write_that_was_fenced_off_breaks_nothing() {
    let summary = FENCED.accepts(
        "
        p0 | A1gWtR       Z
        p1 |        A2gwR
        ",
    );
    assert_eq!(summary, "1 write accepted, none of them stale; 1 stale write fenced off");
}

#[test]
fn a_late_write_had_left_though_its_client_was_paused_since() {
    let verdict = ANY.judge(
        "
        p0       | AgW-tR       z
        p1       |       AgwR
        pause c0 |        [   ]
        ",
    );
    let causes: Vec<_> = verdict.anomalies.iter().map(|anomaly| anomaly.cause).collect();
    assert!(causes.iter().all(|causes| causes.contains(base::Cause::WriteDelayed)), "{causes:?}");
}

#[test]
fn nothing_keeps_the_writes_of_several_holders_apart() {
    let semaphore = Gallery { checker: &VaultChecker, info: |info| info.lock.promises.permits = 2 };
    semaphore.does_not_apply(
        "
        p0 | A=g===w=R
        p1 |  A=g=w=R
        ",
    );
}
