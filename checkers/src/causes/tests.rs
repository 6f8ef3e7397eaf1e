//! The causes that pictures have, with a ledger and without.

use crate::picture::picture;
use crate::{CHECKERS, Case};
use base::{CANCELLED, Cause, Ensemble, F, History, Kind, Run};

/// The causes of an anomaly in a run, in the order in which they are reported.
fn causes_in(run: &Run, anomaly: &str) -> Vec<Option<Cause>> {
    let case = Case::of(run);
    let verdicts = CHECKERS.iter().map(|checker| checker.check(&case));
    let anomalies = verdicts.flat_map(|verdict| verdict.anomalies);
    anomalies.filter(|seen| seen.name == anomaly).map(|seen| seen.cause.only()).collect()
}

#[track_caller]
fn shows(text: &str, anomaly: &str, cause: Cause) {
    assert_eq!(causes_in(&picture(text), anomaly), [Some(cause)], "{text}");
}

/// Asserts that a picture without a ledger leaves this cause open.
#[track_caller]
fn allows(text: &str, anomaly: &str, cause: Cause) {
    let open = open_causes(&picture(text), anomaly);
    assert!(open.contains(&cause), "{open:?} {text}");
}

/// The same of a lock that is a queue, whose grants have a place in it.
fn queue(text: &str) -> Run {
    let mut run = picture(text);
    run.info.lock.promises.fifo = true;
    run
}

#[test]
fn a_holder_that_is_paused_past_its_ttl() {
    let text = "
        p0       | a-A=====================R
        p1       |    a-----------A==R
        pause c0 |      [               ]
        ttl      | -
        store    |  0          x 1";
    shows(text, "double hold", Cause::HolderPaused);
    let ledger = text.find("        store").expect("the last row");
    allows(&text[..ledger], "double hold", Cause::HolderPaused);
    // A clock that ended it before its time made no difference.
    let early = text.replace("0          x 1", "0    x       1") + "\n        jump s0  |    [  ]";
    shows(&early, "double hold", Cause::HolderPaused);
}

#[test]
fn a_lock_that_is_renewed_and_runs_out() {
    let text = "
        p0       | a-A=====================R
        p1       |    a-----------A==R
        pause c0 |      [               ]
        store    |  0          x 1";
    shows(text, "double hold", Cause::HolderPaused);
    shows(&text.replace("pause", "freeze"), "double hold", Cause::ClientClock);
    let jumped = text.replace("pause c0 |      [               ]", "jump s0  |      [  ]");
    shows(&jumped, "double hold", Cause::ServerClock);
}

#[test]
fn a_lock_that_its_holder_has_written_anew() {
    let text = "
        p0       | a-A=====================R
        p1       |    a-----------A==R
        pause c0 |      [               ]
        store    |  0 00       x 1";
    shows(text, "double hold", Cause::HolderPaused);
}

#[test]
fn work_that_takes_longer_than_the_ttl_needs_no_fault() {
    let text = "
        p0       | a-A==================R
        p1       |    a---------A==R
        ttl      | -
        store    |  0          x1";
    shows(text, "double hold", Cause::LongHold);
    // Nor is it the cause that a clock ended the lock before its time, if it outlived that, too.
    let jumped = text.replace("        ttl", "        jump s0  |    [  ]\n        ttl");
    let early = jumped.replace("           x1", "    x       1");
    shows(&early, "double hold", Cause::LongHold);
    // A pause that is too short to have made the difference is not the cause.
    let paused = text.replace("        ttl", "        pause c0 |      [ ]\n        ttl");
    shows(&paused, "double hold", Cause::LongHold);
}

#[test]
fn a_ttl_that_ends_too_early_under_a_wrong_clock() {
    let text = "
        p0       | a-A=======R
        p1       |    a--A==R
        jump s0  |    [         ]
        ttl      | -
        store    |  0   x1";
    shows(text, "double hold", Cause::ServerClock);
}

#[test]
fn a_grant_whose_news_is_late() {
    let text = "
        p0       | a----------A===R
        p1       |   a------A======R
        ttl      | -
        store    |  0      x1";
    shows(text, "double hold", Cause::LateGrant);
    // It made no difference to work that takes longer than the lock lives.
    let long = "
        p0       | a---A===============R
        p1       |       a---------A===R
        ttl      | -
        store    |  0         x   1";
    shows(long, "double hold", Cause::LongHold);
}

#[test]
fn a_server_that_forgets() {
    let text = "
        p0       | a-A==========R
        p1       |    a-----A==R
        wipe s0  |     [ ]
        store    |  0    l 1";
    shows(text, "double hold", Cause::ServerForgets);
    let ledger = text.find("        store").expect("the last row");
    allows(&text[..ledger], "double hold", Cause::ServerForgets);
}

#[test]
fn a_server_that_evicts() {
    let text = "
        p0       | a-A==========R
        p1       |    a-----A==R
        evict s0 |     [ ]
        store    |  0    v 1";
    shows(text, "double hold", Cause::Evicted);
    let ledger = text.find("        store").expect("the last row");
    allows(&text[..ledger], "double hold", Cause::Evicted);
    // A fault that evicted nothing explains nothing.
    let vain = text[..ledger].replace("[ ]", "[ }");
    assert_eq!(causes_in(&picture(&vain), "double hold"), [Some(Cause::Recipe)]);
}

#[test]
fn a_session_that_ends_while_its_client_is_paused_or_cut_off() {
    let paused = "
        p0       | a-A=====================R
        p1       |    a-----------A==R
        pause c0 |      [               ]
        store    |  0          z
        store b  |     1";
    shows(paused, "double hold", Cause::HolderPaused);
    let cut = paused.replace("pause c0 ", "cut c0-s0");
    shows(&cut, "double hold", Cause::HolderCutOff);
    let apart = paused.replace("pause c0 ", "cut s0-s1");
    shows(&apart, "double hold", Cause::ServersApart);
    let frozen = apart.clone() + "\n        freeze s0|      [               ]";
    shows(&frozen, "double hold", Cause::ServerClock);
    let silent = apart.clone() + "\n        pause s0 |               [   ]";
    shows(&silent, "double hold", Cause::ServerSilent);
    // With no fault nobody can say why.
    let rows = paused.lines().filter(|row| !row.contains("pause"));
    let quiet: Vec<&str> = rows.collect();
    assert_eq!(causes_in(&picture(&quiet.join("\n")), "double hold"), [None]);
}

/// A client that reaches no server for a session has lost it, whatever is wrong with the servers;
/// and a clock that only jumped keeps its rate, by which sessions go.
#[test]
fn a_writer_is_paused_while_it_becomes_a_reader() {
    let mut run = picture(
        "
        p0       | A==v                      !
        p1       |     a----------------A====R
        pause c0 |     [                     ]
        store    | 0   a                1
        store b  |    0               z",
    );
    run.info.lock.promises.downgrades = true;
    assert_eq!(causes_in(&run, "reader-writer overlap"), [Some(Cause::HolderPaused)]);
}

#[test]
fn a_place_that_was_given_up_for_another_one_is_no_loss() {
    let mut run = queue(
        "
        p0       | A1===================R
        p1       |   a----------A2=A2=R
        pause c0 |   [                ]
        store    | 0          z
        store b  |    1  z
        store c  |        1",
    );
    run.info.lock.promises.reentrant = true;
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::HolderPaused)]);
}

#[test]
fn a_hold_that_the_store_counts_is_lost_with_the_thing_that_its_owner_wrote_again() {
    let mut run = picture(
        "
        p0       | A==A================R
        p1       |            a--A==R
        pause c0 |     [            ]
        store    | 0  0       x  1",
    );
    run.info.lock.promises.reentrant = true;
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::HolderPaused)]);
}

#[test]
fn a_fast_server_ends_a_session_that_its_client_would_have_let_go_in_time() {
    let text = "
        store     | 0          z
        store b   |            1
        p0        | A===========L
        p1        |  a---------A==R
        cut c0-s0 |   [          ]
        drift s0  | [            ]";
    shows(text, "double hold", Cause::ServerClock);
    shows(&text.replace("drift s0  | [            ]", ""), "double hold", Cause::HolderCutOff);
    shows(&text.replace("===L", "======L"), "double hold", Cause::HolderCutOff);
}

#[test]
fn a_majority_that_has_lost_its_data_serves_nobody() {
    let on_three = |text: &str| {
        let mut run = picture(text);
        run.info.servers = 3;
        stuck_in(&run)
    };
    let text = "
        store   | 0
        p0      | A==r-----------?
        p1      |     a----------------------------------
        wipe s0 |    []
        wipe s1 |    []
        run     |          Q                            E";
    assert_eq!(on_three(text), Some(Cause::ServerForgets));
    assert_eq!(on_three(&text.replace("wipe s1", "wipe s0")), Some(Cause::ReleaseLost));
    assert_eq!(on_three(&text.replace("| 0", "| 0        1")), Some(Cause::ReplyLost));
}

#[test]
fn a_holders_own_trouble_comes_before_that_of_the_servers() {
    let cut_off = "
        p0       | a-A====================R
        p1       |    a--------------A==R
        cut c0-s0|    [               ]
        pause s0 |        [      ]
        jump s0  |     [            ]
        store    |  0             z 1";
    shows(cut_off, "double hold", Cause::HolderCutOff);
    let jumped = cut_off.replace("        cut c0-s0|    [               ]\n", "");
    shows(&jumped, "double hold", Cause::ServersApart);
}

#[test]
fn two_clients_that_both_have_what_they_took_go_by_a_wrong_recipe() {
    let text = "
        p0       | a-A==========R
        p1       |    a--A==R
        store    |  0
        store b  |     1";
    shows(text, "double hold", Cause::Recipe);
    // A fault that changes nothing in the store is no cause.
    let paused = text.to_owned() + "\n        pause c0 |    [      ]";
    shows(&paused, "double hold", Cause::Recipe);
}

#[test]
fn a_client_that_believes_with_nothing_in_the_store() {
    let text = "
        p0       | a-A==========R
        p1       |    a--A==R
        store    |  0";
    shows(text, "double hold", Cause::NothingTaken);
    // In a queue a place in the store is not enough: the grant has to be for it.
    let text = "
        p0       | a-A1=========R
        p1       |    a--A==R
        store    |  0
        store b  |     1";
    assert_eq!(causes_in(&queue(text), "double hold"), [Some(Cause::NothingTaken)]);
}

#[test]
fn what_another_client_removes() {
    // Process 2 outlived its ttl, and its release frees process 0's lock.
    let text = "
        p2       | a-A===============r--D
        p0       |              a-A========R
        p1       |                  a-----A==R
        pause c2 |    [               ]
        ttl      | -
        store    |  2         x  0      c 1";
    // So does one that writes: it sets a counter of holds to what it was before, say.
    for text in [text.to_owned(), text.replace("c 1", "2 1")] {
        let run = picture(&text);
        let seen = causes_in(&run, "double hold");
        assert!(seen.contains(&Some(Cause::ForeignRelease)), "{seen:?}");
        assert!(!seen.contains(&Some(Cause::Recovery)), "{seen:?}");
        assert_eq!(causes_in(&run, "foreign release"), [Some(Cause::HolderPaused)]);
    }
    // A write after which nobody else gets in has freed nothing.
    let text = text.replace("c 1", "2  ").replace("p1       |                  a-----A==R\n", "");
    assert_eq!(causes_in(&picture(&text), "foreign release"), []);
    // A client that asks removes a lock that has not run out.
    let text = "
        p0       | a-A=======R
        p1       |    a---A==R
        store    |  0   b1";
    shows(text, "double hold", Cause::Recovery);
    // The release had been given up before it took effect.
    let text = "
        p2       | a-A=r-?
        p0       |         a-A=====R
        p1       |            a--A==R
        store    |  2    x  0   c1";
    shows(text, "double hold", Cause::LateRequest);
}

#[test]
fn what_others_overwrite_in_vain_is_no_loss() {
    // Both clients recover an expired lock, and the one that comes second overwrites the first's.
    let text = "
        p0       | a-A=====================R
        p1       | a---------!  a----A==R
        pause c0 |      [               ]
        ttl      | -
        store    |  01              1";
    shows(text, "double hold", Cause::HolderPaused);
}

#[test]
fn what_a_release_leaves_for_those_who_wait_is_no_lock() {
    // The second thing that process 0 writes, a list that wakes others, is popped by somebody.
    let text = "
        p2       | a-A=R
        p0       |        a-A======r----R
        store    |  2  c   0       a 0 c";
    assert_eq!(causes_in(&picture(text), "foreign release"), []);
    // What it took the lock with is one.
    let stolen = text.replace("0       a 0 c", "0     c     ");
    shows(&stolen, "foreign release", Cause::LateRequest);
}

#[test]
fn what_a_library_keeps_beside_its_locks_is_no_lock() {
    // Process 0 writes it beside the key that is wiped.
    let text = "
        p0       | a-A==========R
        p1       |       a-A==R
        wipe s0  |     []
        store k0 |  0  l   1
        store z  |  0x     1";
    shows(text, "double hold", Cause::ServerForgets);
}

#[test]
fn the_last_of_several_readers_may_remove_what_they_all_wrote() {
    // The release of process 1, whose grant was the last, leaves the member of process 0.
    let text = "
        p0       | s-S==============r-R
        p1       |     s-S======r-R
        store    |  0    1       1   a";
    assert_eq!(causes_in(&picture(text), "foreign release"), []);
    let stolen = text.replace(
        "r-R\n        store    |  0    1       1   a",
        "====r\n        store    |  0    1           a",
    );
    assert_eq!(causes_in(&picture(&stolen), "foreign release").len(), 1);
}

#[test]
fn a_lock_that_runs_out_in_the_middle_of_its_release() {
    let text = "
        p0       | a-A========r---D
        p1       |       a-----A==R
        ttl      | -
        store    |  0          x1 a";
    shows(text, "foreign release", Cause::RanOutWhileReleasing);
    // No reply says so: without the ledger nobody knows.
    let ledger = text.find("        store").expect("the last row");
    assert_eq!(causes_in(&picture(&text[..ledger]), "foreign release"), []);
}

/// A release that a fault holds up runs out by that fault, if it made the difference.
#[test]
fn a_release_that_a_fault_holds_up() {
    let text = "
        p0       | a-A========r---D
        p1       |       a-----A==R
        ttl      | -
        store    |  0          x1 a";
    let under = |fault: &str| text.replace("        ttl", &format!("        {fault}\n        ttl"));
    for (fault, cause) in [
        ("pause c0 |            [  ]", Cause::HolderPaused),
        ("pause c0 |    [   ]", Cause::HolderPaused),
        ("freeze c0|    [   ]", Cause::ClientClock),
        ("cut c0-s0|           [   ]", Cause::HolderCutOff),
        ("crash s0 |           [   ]", Cause::ServersApart),
        ("wipe s1  |           [   ]", Cause::ServersApart),
        // Too short, on another client, before the release: it would have run out all the same.
        ("pause c0 |            []", Cause::RanOutWhileReleasing),
        ("pause c1 |            [  ]", Cause::RanOutWhileReleasing),
        ("slow c0-s0|           [   ]", Cause::RanOutWhileReleasing),
        ("cut c0-s0|    [   ]", Cause::RanOutWhileReleasing),
        ("crash s0 |    [   ]", Cause::RanOutWhileReleasing),
    ] {
        shows(&under(fault), "foreign release", cause);
    }
    let wiped = under("wipe s0  |            []").replace("0          x1", "0          l1");
    shows(&wiped, "foreign release", Cause::ServerForgets);
}

/// Whatever takes a lock from a client that has outlived it in any case made no difference.
#[test]
fn what_a_holder_has_outlived_in_any_case() {
    let text = "
        p2       | A=r?
        p0       |     a-A=====================R
        p1       |        a---------------A==R
        pause c0 |          [               ]
        ttl      | -
        store    | 2    0        c      1";
    shows(text, "double hold", Cause::HolderPaused);
    shows(&text.replace("  c  ", "  l  "), "double hold", Cause::HolderPaused);
    shows(&text.replace("  c  ", "  v  "), "double hold", Cause::HolderPaused);
    let sooner = text.replace("a---------------A==R", "a----A==========R");
    let sooner = sooner.replace("0        c      1", "0  c 1");
    shows(&sooner, "double hold", Cause::HolderPaused);
    shows(&sooner.replace("0  c", "0  l"), "double hold", Cause::HolderPaused);
    // It did if its client would have let go in time.
    let short = sooner.replace("a-A=====================R", "a-A=======R");
    let short = short.replace("[               ]", "[   ]");
    shows(&short, "double hold", Cause::LateRequest);
    shows(&short.replace("0  c", "0  l"), "double hold", Cause::ServerForgets);
}

/// A release that comes late frees no other lock than it would have freed in time, if that was
/// there when it began.
#[test]
fn a_late_release_that_would_have_freed_the_same_in_time() {
    let text = "
        p2       | a-A==============r-?
        p0       |              a-A=======R
        p1       |                  a----A==R
        ttl      | -
        store    |  2         x  0      c1";
    assert_eq!(causes_in(&picture(text), "foreign release"), [Some(Cause::LongHold)]);
    let seen = causes_in(&picture(text), "double hold");
    assert_eq!(seen, [Some(Cause::LongHold), Some(Cause::ForeignRelease)]);
}

/// A loss long before the lock was due is a cause, though its holder has outlived the lock in the
/// end.
#[test]
fn an_overlap_long_before_the_lock_was_due() {
    let text = "
        p0       | a-A===================R
        p1       |    a-A===R
        wipe s0  |    []
        ttl      | -
        store    |  0 l1";
    shows(text, "double hold", Cause::ServerForgets);
    // Nor does it matter that it was paused later, when the other had got in.
    let paused = text.replace("        ttl", "        pause c0 |         [        ]\n        ttl");
    shows(&paused, "double hold", Cause::ServerForgets);
}

/// Work that is short in itself would have been done in time with a grant in time, however late its
/// release is; and work that is long would not, however soon another gets in.
#[test]
fn a_grant_that_is_late_for_long_and_for_short_work() {
    let short = "
        p0       | a--------A=r---D
        p1       |   a--------A==R
        ttl      | -
        store    |  0        x1   a";
    shows(short, "foreign release", Cause::LateGrant);
    let long = "
        p0       | a------A=================R
        p1       |   a-----------A==========R
        ttl      | -
        store    |  0         x  1";
    shows(long, "double hold", Cause::LongHold);
}

/// A client whose clock stands still when its session ends goes on, whoever was silent before.
#[test]
fn a_session_lost_by_silence_that_its_client_has_no_clock_for() {
    let text = "
        p0       | a-A=====================R
        p1       |    a---------------A==R
        store    |  0               z 1
        pause s0 |    [                   ]
        freeze c0|            [             ]";
    let cause = |text: &str| causes_in(&picture(text), "double hold");
    assert_eq!(cause(text), [Some(Cause::ClientClock)]);
    let right = text.replace("        [             ]", "                       []");
    assert_eq!(cause(&right), [Some(Cause::ServersApart)]);
}

/// A session that its client sleeps through is lost by the pause, also where servers without a
/// leader end it later; and a link that is slow enough is as good as cut.
#[test]
fn a_session_lost_by_its_own_client_though_the_servers_were_apart() {
    let slept = "
        p0       | a-A============================R
        p1       |    a--------------------A==R
        pause c0 |      [            ]
        cut s0-s1|      [                ]
        store    |  0                   z
        store b  |                        1";
    shows(slept, "double hold", Cause::HolderPaused);
    let slow = slept.replace("pause c0 ", "slow c0-s0").replace("       z", "   z    ");
    let mut run = picture(&slow);
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::ServersApart)], "hardly slow");
    run.info.slowest_message_ns = run.info.run.ttl_ns / 3;
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::HolderCutOff)]);
}

/// Servers that have been silent for long enough that whoever obeys knows it.
#[test]
fn a_server_that_is_silent_for_most_of_a_session() {
    let text = "
        p0       | a-A=====================R
        p1       |    a-----------A==R
        cut s0-s1|    [                 ]
        pause s0 |     [                ]
        store    |  0          z
        store b  |     1";
    shows(text, "double hold", Cause::ServersApart);
    let late = text.replace("pause s0 |     [   ", "pause s0 |        [");
    shows(&late, "double hold", Cause::ServerSilent);
}

/// A server finds out some time later that a lock has run out, and by then its release had begun.
#[test]
fn a_lock_that_had_run_out_when_its_release_began() {
    let text = "
        p0       | a-A===========r-D
        p1       |    a---------A===R
        ttl      | -
        store    |  0          x1  a";
    shows(text, "foreign release", Cause::LongHold);
    // By a clock that stood still it had not.
    let frozen = text.to_owned() + "\n        freeze s0|      [           ]";
    let later = frozen.replace("x1  a", "  x1a").replace("a---------A===R", "a-----------A=R");
    shows(&later, "foreign release", Cause::RanOutWhileReleasing);
}

/// The clock by which a holder works makes it believe for longer if it is slow, by as much. One
/// that is set wrong does not.
#[test]
fn a_holders_clock_is_a_cause_if_it_made_it_believe_on() {
    let text = "
        p0       | a-A===============R
        p1       |    a---------A==R
        freeze c0|     [  ]
        ttl      | -
        store    |  0         x 1";
    shows(text, "double hold", Cause::ClientClock);
    for other in ["freeze c0|     []  ", "jump c0  |     [  ]", "freeze c1|     [  ]"] {
        let text = text.replace("freeze c0|     [  ]", other);
        shows(&text, "double hold", Cause::LongHold);
    }
}

/// A run of a lock on the majority of five servers.
fn on_five(text: &str) -> Run {
    let mut run = picture(text);
    run.info.servers = 5;
    run
}

/// A picture of servers of which one is the primary.
fn replicated(text: &str) -> Run {
    let mut run = picture(text);
    run.info.failover_ns = 300_000_000;
    run
}

#[test]
fn of_several_copies_the_last_one_written_counts() {
    // Process 1 overwrote the lock in vain at one primary, and was granted it at another.
    let text = "
        p0       | a-A========R
        p1       | a-----A==R
        cut s0-s1|    [ ]
        ttl      | -
        store    | 10
        store s1 |      1
        store s1 |      l";
    assert_eq!(causes_in(&replicated(text), "double hold"), [Some(Cause::ServerForgets)]);
}

#[test]
fn a_route_may_lead_to_who_is_the_primary_no_longer() {
    // Between the grant and the release, long after the cut, the server became a replica.
    let text = "
        p0       | a-A==========r!
        p1       |      a-----------------
        cut s0-s1|     []
        run      |               Q            E
        store    |  0";
    let of = |run: &Run| causes_in(run, "deadlock");
    assert_eq!(of(&replicated(text)), [Some(Cause::ReleaseLost)]);
    assert_eq!(of(&picture(text)), [Some(Cause::Recipe)]);
}

#[test]
fn of_several_losses_the_one_that_breaks_the_majority() {
    // Of four servers one forgets, and three are left; the second loss is one too many.
    let four = "
        p0       | a-A========R
        p1       |     a----A==R
        wipe s0  |    []
        jump s1  |       [     ]
        wipe s2  |         []
        ttl      | -
        store    |  0 l    1
        store s1 |  0     x1
        store s2 |  0       l
        store s3 |  0
        store s4 |         1";
    assert_eq!(causes_in(&on_five(four), "double hold"), [Some(Cause::ServerClock)]);
    // Of three servers none may.
    let three = four.replace("        store s3 |  0\n", "");
    assert_eq!(causes_in(&on_five(&three), "double hold"), [Some(Cause::ServerForgets)]);
    // What the other claim did not take made no room for it.
    let spare = four.replace("0 l    1", "0 l     ").replace("0       l", "0     l 1");
    assert_eq!(causes_in(&on_five(&spare), "double hold"), [Some(Cause::ServerForgets)]);
    // A request that is granted after the answer counts as well.
    let late = four.replace("store s3 |  0", "store s3 |    0");
    assert_eq!(causes_in(&on_five(&late), "double hold"), [Some(Cause::ServerClock)]);
}

/// The news of the second grant came when its lock had run out and was another's again.
#[test]
fn of_two_that_lost_it_the_one_that_made_room_for_the_other() {
    let text = "
        p0       |              a-A===========R
        p1       | a-------------------------A=R
        ttl      | -
        store    |   1         x 0         x";
    shows(text, "double hold", Cause::LateGrant);
}

/// A vault that checks tokens takes a late write if the token was given twice, and then it does not
/// matter why its writer was late.
#[test]
fn a_token_that_is_given_twice() {
    let mut run = picture(
        "
        p0       |   a-A3=g====================w=R
        p1       |      a-----------A3=g=w==R
        pause c0 |         [                 ]
        ttl      | -
        wipe s0  |             []
        store    |    0          x 1
        store b  | 2           l",
    );
    run.info.lock.promises.fenced = true;
    assert_eq!(causes_in(&run, "stale write accepted"), [Some(Cause::ServerForgets)]);
    run.info.lock.promises.fenced = false;
    assert_eq!(causes_in(&run, "stale write accepted"), [Some(Cause::HolderPaused)]);
}

#[test]
fn a_write_that_is_on_its_way_while_the_lock_changes_hands() {
    let text = "
        p0       | a-A=gW===L        w
        p1       |    a--------A=g=W=w===R
        store    |  0         z
        store b  |     1";
    let causes = causes_in(&picture(text), "stale write accepted");
    assert_eq!(causes.first(), Some(&Some(Cause::WriteDelayed)), "{causes:?}");
}

/// The cause of the first lock that stays taken.
fn stuck(text: &str) -> Option<Cause> {
    stuck_in(&picture(text))
}

fn stuck_in(run: &Run) -> Option<Cause> {
    let case = Case::of(run);
    let stop = case.phase.expect("it has come to its end").stop.time;
    super::of_stuck(&case, 0, stop).only()
}

#[test]
fn a_lock_that_stays_taken_is_explained_by_what_stands_there() {
    let died = "
        p0       | a-A===X
        p1       |      a-----------------
        run      |          Q            E
        store    |  0";
    assert_eq!(stuck(died), Some(Cause::ClientDied));
    let lost = "
        p0       | a----?
        p1       |      a-----------------
        run      |          Q            E
        store    |  0";
    assert_eq!(stuck(lost), Some(Cause::ReplyLost));
    let late = lost.replace("store    |  0", "store    |       0");
    assert_eq!(stuck(&late), Some(Cause::LateRequest));
    let release = "
        p0       | a-A==r-?
        p1       |      a-----------------
        run      |          Q            E
        store    |  0";
    assert_eq!(stuck(release), Some(Cause::ReleaseLost));
    let refused = "
        p0       | a-A==r-!
        p1       |      a-----------------
        cut c0-s0|     [   ]
        run      |          Q            E
        store    |  0";
    assert_eq!(stuck(refused), Some(Cause::ReleaseLost));
    let by_itself = refused.replace("[   ]", "");
    assert_eq!(stuck(&by_itself), Some(Cause::Recipe));
    // The server was down when the release began, and up again when its client was answered.
    let refused = release.replace("a-A==r-?", "a-A==r--!") + "\n        crash s0 |      []";
    assert_eq!(stuck(&refused), Some(Cause::ReleaseLost));
    let back = died.replace("store    |  0", "store    |  0   l s");
    assert_eq!(stuck(&back), Some(Cause::ServerForgets));
    // Nothing stands there: whoever waits was forgotten.
    let free = died.replace("store    |  0", "store    |  0   a");
    assert_eq!(stuck(&free), Some(Cause::Recipe));
    // Nor is there anything to ask with: the session ended while its client slept.
    let session = "
        p0       | a-A====r!a---------------
        pause c0 |    [  ]
        run      |          Q            E
        store    |  0   z";
    assert_eq!(stuck(session), Some(Cause::HolderPaused));
    // So it did for the next process of the same client, if the client has not died meanwhile.
    let next = session.replace("r!a---------------", "r!a-?")
        + "\n        p5       |              a------------";
    assert_eq!(stuck(&next), Some(Cause::HolderPaused));
    assert_eq!(stuck(&next.replace("r!a-?", "r!a-X")), Some(Cause::Recipe));
}

/// The cause for which a lock is stuck at a column of a picture, in the middle of the run.
fn stuck_at(run: &Run, column: u64) -> Option<Cause> {
    super::of_stuck(&Case::of(run), 0, column * 100_000_000).only()
}

#[test]
fn a_client_that_waits_behind_its_own_lost_node_is_judged_as_it_waits() {
    // In the end it is given up, its nodes go with it, and others come to their turn.
    let text = "
        p0       | a------------------------?
        p1       |    a----------------------A=r-?
        store    |  0                       z
        store b  |    0                     z
        store c  |      1";
    assert_eq!(stuck_at(&queue(text), 20), Some(Cause::ReplyLost));
    let known = queue(&text.replace("        store    |  0 ", "        store    |    "));
    assert_eq!(stuck_at(&known, 20), Some(Cause::Recipe));
}

#[test]
fn a_place_in_the_queue_is_not_kept_by_a_session_that_ended_elsewhere() {
    let text = "
        p0       | a---------------------------
        p1       |   a-------------------------
        pause c0 |    [     ]
        run      |             Q              E
        store    |  0     z";
    assert_eq!(stuck_in(&queue(text)), Some(Cause::HolderPaused));
    let waits = text.to_owned() + "\n        store b  |    1";
    assert_eq!(stuck_in(&queue(&waits)), Some(Cause::Recipe));
}

#[test]
fn a_client_that_is_given_up_takes_its_session_with_it() {
    let text = "
        p0       | a--------------------?
        p1       |   a-------------------------
        pause c0 |    [     ]
        store    |  0 a                 0 z";
    assert_eq!(stuck_at(&queue(text), 18), Some(Cause::Recipe));
}

#[test]
fn a_session_may_end_long_after_the_fault_from_which_its_servers_recover() {
    let mut run = picture(
        "
        p0       | a-A==r!a-----------------------------------
        pause s0 |   [  ]
        run      |                                  Q         E
        store    |  0                             z",
    );
    assert_eq!(stuck_in(&run), Some(Cause::Recipe));
    run.info.quiet_ns = 1_500_000_000;
    assert_eq!(stuck_in(&run), Some(Cause::ServersApart));
}

/// A slow link brings everything, and what was wrong with a client long ago keeps no session for
/// it.
#[test]
fn a_slow_link_ends_no_session_if_anything_else_does() {
    let text = "
        p0       | a-A==r!a-----------------------------------
        pause s0 |   [  ]
        slow c0-s0|  [        ]
        run      |                                  Q         E
        store    |  0                             z";
    let early = text.replace("                             z", "               z              ");
    assert_eq!(stuck_in(&picture(&early)), Some(Cause::ServersApart));
    let mut run = picture(&text.replace("slow c0-s0|", "cut c0-s0 |"));
    run.info.quiet_ns = 1_500_000_000;
    assert_eq!(stuck_in(&run), Some(Cause::ServersApart));
    let cut = early.replace("slow c0-s0|", "cut c0-s0 |");
    assert_eq!(stuck_in(&picture(&cut)), Some(Cause::HolderCutOff));
    let alone = early.replace("pause s0 |   [  ]", "pause c1 |   [  ]");
    assert_eq!(stuck_in(&picture(&alone)), Some(Cause::HolderCutOff));
}

/// A wrong clock keeps a lock for as long as it was wrong, and what has no expiry stays for ever,
/// which shows later.
#[test]
fn a_clock_keeps_a_lock_no_longer_than_it_was_wrong() {
    for (jump, cause) in [("jump s0", Cause::ServerClock), ("jump c0", Cause::ClientClock)] {
        let stays = format!(
            "
        p0       | a-A==R  a-A==X
        p1       |             a----------------------------
        {jump}  |       [     ]
        run      |               Q                         E
        ttl      | -
        store    |  0   a   0"
        );
        assert_eq!(stuck_at(&picture(&stays), 23), Some(Cause::ClientDied));
        let expires = stays.replace("  0   a   0", "  0   a   0              x");
        assert_eq!(stuck_at(&picture(&expires), 23), Some(cause));
    }
}

/// Clients that write and compare times of their own do so from when they ask until they believe.
#[test]
fn a_recoverer_goes_by_the_clock_that_it_had_while_it_tried() {
    // It is set ahead when the answer is on its way, and compared with that.
    let later = "
        p0       | a-A=======R
        p1       |  a-----A==R
        jump c1  |      [    ]
        store    |  0   1";
    shows(later, "double hold", Cause::ClientClock);
    let ledger = later.find("        store").expect("the last row");
    let says_so = later[..ledger].replace("A==R", "A/=R");
    allows(&says_so, "double hold", Cause::ClientClock);
    // It is set right when the time that it has written is on its way.
    let earlier = "
        p0       |   a-A=====R
        p1       | ak----A==R
        jump c1  | [ ]
        store    |    0 1";
    shows(earlier, "double hold", Cause::ClientClock);
    let right = earlier.replace("ak----A", "a--k--A");
    shows(&right, "double hold", Cause::Recovery);
}

/// A client that wakes reads the answer that came while it slept, and only then hears of the end
/// of its session.
#[test]
fn a_grant_that_was_slept_through() {
    let mut run = picture(
        "
        p0       |  a--------------------A==R
        p1       |    a-----------A========R
        pause c0 |           [          ]
        cut s0-s1| [                     ]
        store    |  0          z
        store b  |     1",
    );
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::ServersApart)]);
    // The same, if it had woken a millisecond before its grant.
    let grant = run.history.events().iter().rfind(|event| is_grant(event)).expect("the last");
    let before = grant.time_ns - 1_000_000;
    let woke = run.history.events().iter().find(|event| event.f == base::F::Heal);
    let woke = woke.expect("the end of the pause").time_ns;
    let events = run.history.events().to_vec();
    run.history = base::History::default();
    for mut event in events {
        if event.time_ns == woke && event.f == base::F::Heal {
            event.time_ns = before;
        }
        run.history.push(event);
    }
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::HolderPaused)]);
}

fn is_grant(event: &base::Event) -> bool {
    event.f == base::F::Acquire && event.kind == base::Kind::Ok
}

/// A client that waits in a queue may have made the queue's folder, too.
#[test]
fn a_folder_keeps_nobody_out() {
    let mut run = picture(
        "
        p0       | a-A=R
        p1       | a-----------------
        run      |      Q           E",
    );
    (run.info.lock.promises.fifo, run.info.lock.promises.wakes) = (true, Some(base::Wakes::Next));
    let mut ledger = base::Ledger::default();
    for (ns, name, process) in [(1, "/locks", 1), (2, "/locks/a", 0), (3, "/locks/b", 1)] {
        ledger.note(ns, 0, name, base::Change::Written(process));
    }
    ledger.note(400_000_000, 0, "/locks/a", base::Change::Deleted(0));
    run.ledger = Some(ledger);
    assert_eq!(causes_in(&run, "lost wake-up"), [Some(Cause::Recipe)]);
    assert_eq!(causes_in(&run, "deadlock"), []);
}

#[test]
fn a_phantom_that_needs_no_fault_needs_none_under_one() {
    let cut = "
        p0       |       a---~
        cut c0-s0|        []";
    allows(cut, "phantom holder", Cause::ReplyLost);
    let both = cut.replace("      a---~", "a---~ a---~");
    assert_eq!(causes_in(&picture(&both), "phantom holder"), [Some(Cause::Recipe)]);
}

#[test]
fn anomalies_of_one_name_and_two_causes_are_distinguished() {
    let text = "
        p0       | a-A==========R
        p1       |    a--A==R
        p2       |              a-A==========R
        p3       |                a--A==R
        wipe s0  |    []
        store    |  0  l1     b  2
        store b  |                 3";
    let seen = causes_in(&picture(text), "double hold");
    assert_eq!(seen, [Some(Cause::ServerForgets), Some(Cause::Recipe)]);
}

#[test]
fn a_link_that_a_holder_could_do_without_ended_no_session() {
    let text = "
        p0        |  a-A==============R
        p1        |    a-----------A==R
        cut c0-s1 | [                   ]
        cut s0-s1 |      [            ]
        cut s0-s2 |      [            ]
        store     |  0           z 1";
    let on_three = |text: &str| {
        let mut run = picture(text);
        run.info.servers = 3;
        run.info.lock.promises.fifo = false;
        run
    };
    assert_eq!(causes_in(&on_three(text), "double hold"), [Some(Cause::ServersApart)]);
    // That one it may have used when it was cut.
    let later = text.replace("cut c0-s1 | [    ", "cut c0-s1 |    [ ");
    assert_eq!(causes_in(&on_three(&later), "double hold"), [Some(Cause::HolderCutOff)]);
}

#[test]
fn a_waiter_that_only_listens_does_not_hear_that_its_server_is_gone() {
    let text = "
        p0       | A==R
        p1       |  a----------------------------
        crash s0 |     []
        run      |       Q                      E
        store    | 0  a";
    let mut run = picture(text);
    run.info.lock.promises.wakes = Some(base::Wakes::Next);
    assert_eq!(causes_in(&run, "lost wake-up"), [Some(Cause::ServersApart)]);
    run.info.run.ensemble = Ensemble { tick_ns: 1, sync_limit: 1 }.into();
    assert_eq!(causes_in(&run, "lost wake-up"), [Some(Cause::Recipe)]);
    // Without a ledger: what a release left there, of which nobody knows what it did, would be
    // over.
    let (quiet, _) = text.split_once("\n        store").expect("the last row");
    for release in ["R", "r?"] {
        let mut run = picture(&quiet.replacen('R', release, 1));
        run.info.lock.promises.wakes = Some(base::Wakes::Next);
        assert!(open_causes(&run, "lost wake-up").contains(&Cause::ServersApart), "{release}");
        run.info.lock.promises.recovers = None;
        assert_eq!(open_causes(&run, "lost wake-up"), [], "{release}");
    }
}

#[test]
fn an_acquire_that_is_given_up_takes_back_what_its_client_holds() {
    let text = "
        p0       | a-A==a-!==R
        p1       |  a------A=R
        store    |  0    a1";
    shows(text, "double hold", Cause::SharedIdentity);
    // What another takes away, or it has taken back itself before it asked again, is no such thing.
    shows(&text.replace("a1", "b1"), "double hold", Cause::Recovery);
    shows(&text.replace("0    a", "0  a  "), "double hold", Cause::Recipe);
    // In a queue each has a place of its own.
    let queued = queue(&text.replace("A==a", "A1=a").replace("A=R", "A2R"));
    assert_eq!(causes_in(&queued, "double hold"), [Some(Cause::SharedIdentity)]);
}

#[test]
fn what_a_holder_takes_for_another_lock_is_no_copy_of_the_first() {
    let text = "
        p0       | a-A=======R
        p0/k1    |    aA===R
        p1       |     a--A==R
        jump s1  |    []
        ttl      | -
        store s1 |  0  x  1
        store s2 |  0
        store    |        1
        store b  |     0";
    let mut run = picture(text);
    run.info.servers = 3;
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::ServerClock)]);
}

/// The causes that a picture without a ledger leaves open.
fn open_causes(run: &Run, anomaly: &str) -> Vec<Cause> {
    let case = Case::of(run);
    assert!(case.ownership().is_none(), "its ledger tells whose a thing is");
    let verdicts = CHECKERS.iter().map(|checker| checker.check(&case));
    let anomalies = verdicts.flat_map(|verdict| verdict.anomalies);
    let named = anomalies.filter(|seen| seen.name == anomaly);
    let causes: base::Causes =
        named.flat_map(|seen| seen.cause.iter().collect::<Vec<_>>()).collect();
    causes.iter().collect()
}

#[test]
fn without_a_ledger_the_faults_in_force_say_which_causes_are_possible() {
    let text = "
        p0       | a-A=====================O
        p1       |    a-----------A==O
        FAULT    |      [               ]";
    let of = |fault: &str| open_causes(&picture(&text.replace("FAULT   ", fault)), "double hold");
    assert_eq!(of("pause c0"), [Cause::HolderPaused, Cause::LateGrant, Cause::LateRequest]);
    assert_eq!(of("pause c2"), [Cause::LateRequest, Cause::Recipe]);
    assert_eq!(of("freeze c0"), [Cause::ClientClock]);
    assert_eq!(of("freeze s0"), [Cause::ServerClock]);
    assert_eq!(of("evict s0"), [Cause::Evicted]);
    assert!(of("wipe s0 ").contains(&Cause::ServerForgets));
    assert!(!of("crash s0").contains(&Cause::ServerForgets));
    assert!(of("cut s0-s1").contains(&Cause::ServersApart));
    assert!(of("cut c0-s0").contains(&Cause::HolderCutOff));
    // One that did nothing, or that came when all was over, is no cause.
    let vain = text.replace("FAULT   ", "evict s0").replace("               ]", "               }");
    assert_eq!(open_causes(&picture(&vain), "double hold"), [Cause::Recipe]);
    let after =
        text.replace("FAULT    |      [               ]", "pause c0 |                   [   ]");
    assert_eq!(open_causes(&picture(&after), "double hold"), [Cause::Recipe]);
    // What is known of the recipe needs no fault, and may come with one.
    let mut known = picture(&text.replace("FAULT   ", "freeze c0"));
    let weakness = |anomaly: &str| {
        let (anomaly, why) = (anomaly.into(), "it is so".into());
        vec![base::Known { cause: Cause::Recipe, anomaly, why }]
    };
    known.info.lock.known = weakness("double hold");
    assert_eq!(open_causes(&known, "double hold"), [Cause::ClientClock, Cause::Recipe]);
    known.info.lock.known = weakness("deadlock");
    assert_eq!(open_causes(&known, "double hold"), [Cause::ClientClock]);
}

#[test]
fn without_a_ledger_the_claims_say_which_causes_need_no_fault() {
    let text = "
        p0       | a-A==========O
        p1       |    a--A==O";
    let of = |run: &Run| open_causes(run, "double hold");
    assert_eq!(of(&picture(text)), [Cause::Recipe]);
    let late = text.replace("==========O", "===============O").replace("a--A", "a---------A");
    let expired = picture(&(late + "\n        ttl      | -"));
    assert_eq!(of(&expired), [Cause::LongHold, Cause::LateGrant, Cause::Recipe]);
    let freed = text.to_owned() + "\n        p2       | AD";
    assert_eq!(of(&picture(&freed)), [Cause::ForeignRelease, Cause::Recipe]);
    let recovered = text.replace("A==O", "A/=O");
    assert_eq!(of(&picture(&recovered)), [Cause::Recovery, Cause::Recipe]);
    // Clients that tell no places at all say nothing about who has one.
    assert_eq!(of(&queue(text)), [Cause::Recipe]);
    let placed = text.replace("a-A==", "a-A1=");
    assert_eq!(of(&queue(&placed)), [Cause::NothingTaken, Cause::Recipe]);
    let mut shared = picture(text);
    shared.info.run.clients = 1;
    shared.info.workers = 2;
    assert_eq!(of(&shared), [Cause::SharedIdentity, Cause::Recipe]);
    // What two of one client share is freed twice, the second time from under somebody else.
    let mut twice = picture(
        "
        p0       | A====r-------------?
        p1       |  A==R
        p2       |         a-A=======R
        p4       |             a-A=======R",
    );
    (twice.info.run.clients, twice.info.workers) = (3, 2);
    let causes = [Cause::ForeignRelease, Cause::Recipe];
    assert!(causes.iter().all(|cause| of(&twice).contains(cause)), "{:?}", of(&twice));
}

/// A library does not say when its grant runs out.
#[test]
fn a_lock_that_runs_out_in_its_ttl_and_tells_no_end_was_held_for_too_long() {
    let text = "
        p0       | a-A================================O
        p1       |              aA==O
        store    |  0         x  1";
    assert_eq!(causes_in(&picture(text), "double hold"), [Some(Cause::LongHold)]);
    // Its server counts whole seconds, say: it was over before its ttl was.
    let short = "
        p0       | a-A=====O
        p1       |      aA==O
        store    |  0  x 1";
    assert_eq!(causes_in(&picture(short), "double hold"), [Some(Cause::Recipe)]);
    // It was renewed, and then no more: nothing says why.
    let renewed = text
        .replace("         x  1", "                   x  1")
        .replace("        p1       | ", "        p1       |           ");
    assert_eq!(causes_in(&picture(&renewed), "double hold"), [None]);
}

/// A run of one client with two workers, of which the store knows the client alone.
fn of_workers(text: &str) -> Run {
    let mut run = picture(text);
    (run.info.run.clients, run.info.workers) = (1, 2);
    run
}

#[test]
fn a_change_is_of_the_worker_that_asks() {
    let run = of_workers(
        "
        p0       | a-A================O
        p1       |             aA==O
        store    |  0         x 0
        ttl      | -",
    );
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::LongHold)]);
}

#[test]
fn of_several_workers_that_ask_each_writes_once_and_the_first_is_granted_first() {
    let run = of_workers(
        "
        p0       | ak-A==========O
        p1       | ak--A===r-O
        store    |   0
        store b  |   0       a",
    );
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::Recipe)]);
}

#[test]
fn where_nothing_tells_the_worker_the_causes_stay_open_and_a_lock_may_have_run_out() {
    let run = of_workers(
        "
        p0       | a-----A======O
        p1       | a-----------A==O
        store    |  0 x 0  x",
    );
    let causes = [Cause::LongHold, Cause::LateGrant, Cause::SharedIdentity, Cause::Recipe];
    assert_eq!(open_causes(&run, "double hold"), causes);
}

/// Whoever has made a node of its own waits behind those that were there before.
#[test]
fn of_two_nodes_that_were_left_behind_the_first_blocks() {
    let text = "
        p0       | a-?
        p1       |     a-----------------
        p2       |   a-?
        cut c0-s0| [ ]
        store    |  0
        store b  |       2
        run      |          Q            E";
    assert_eq!(causes_in(&picture(text), "deadlock"), [Some(Cause::ReplyLost)]);
}

#[test]
fn whoever_waits_in_a_queue_waits_for_nobody_behind_it() {
    let text = "
        p0       |     a---?
        p1       | a-----------------------
        p2       |            a-A==========
        store    |   1
        store b  |       0
        store c  |              2";
    assert_eq!(stuck_at(&queue(text), 22), Some(Cause::Recipe));
    let behind = text.replace("store    |   1", "store    |         1");
    assert_eq!(stuck_at(&queue(&behind), 22), Some(Cause::ReplyLost));
    // Nor has a holder left anything behind while it holds on.
    let held = text.replace("       0\n", "\n").replace("|   1\n", "|\n");
    assert_eq!(stuck_at(&picture(&held), 22), Some(Cause::Recipe));
}

/// ZooKeeper's `WriteLock` finds the node that it made by the name of its session, but does not see
/// that the first in the queue is that node.
#[test]
fn whoever_waits_in_front_without_a_reply_need_not_know_its_place() {
    let text = "
        p0        | a-----------------------
        p1        |     a-------------------
        cut c0-s0 |  [  ]
        store     |   0
        store b   |       1";
    assert_eq!(stuck_at(&queue(text), 22), Some(Cause::ReplyLost));
    for answered in ["|        [  ]", "|[]"] {
        let answered = text.replace("|  [  ]", answered);
        assert_eq!(stuck_at(&queue(&answered), 22), Some(Cause::Recipe), "{answered}");
    }
    // Nor does it matter that it does not, while somebody waits before it.
    let behind = text.replace("|   0\n", "|         0\n").replace("[  ]", "      [  ]");
    assert_eq!(stuck_at(&queue(&behind), 22), Some(Cause::Recipe));
}

#[test]
fn without_a_ledger_a_stuck_lock_may_have_been_left_by_whoever_asked_for_it() {
    let text = "
        p0       | a-A===X
        p1       |      a-----------------
        crash c0 |       [  ]
        run      |          Q            E";
    assert_eq!(open_causes(&picture(text), "deadlock"), [Cause::ClientDied]);
    let lost =
        text.replace("A===X", "A=r-?").replace("crash c0 |       [  ]", "cut c0-s0|     [     ]");
    let open = open_causes(&picture(&lost), "deadlock");
    assert!(open.contains(&Cause::ReleaseLost) && open.contains(&Cause::LateRequest), "{open:?}");
}

#[test]
fn a_foreign_release_is_never_inferred_from_an_overlap() {
    let text = "
        p0       | a-A=====r--?
        p1       |   a-A========O
        p2       |        A====O";
    assert!(!causes_in(&picture(text), "double hold").is_empty());
    assert_eq!(causes_in(&picture(text), "foreign release"), []);
}

/// The same run, in which callers stopped waiting for what ended in doubt.
fn cancelled(text: &str) -> Run {
    let mut run = picture(text);
    let mut history = History::default();
    for event in run.history.events() {
        let is_call = matches!(event.f, F::Acquire | F::Release) && event.kind == Kind::Info;
        let error = if is_call { Some(CANCELLED.into()) } else { event.error.clone() };
        history.push(base::Event { error, ..event.clone() });
    }
    run.history = history;
    run
}

#[test]
fn a_call_that_nobody_waits_for_leaves_the_lock_taken() {
    let release = "
        p0       | a-A==r-?
        p1       |      a-----------------
        run      |          Q            E
        store    |  0";
    let acquire = release.replace("a-A==r-?", "a-?     ");
    for text in [release, &acquire] {
        assert_eq!(causes_in(&cancelled(text), "deadlock"), [Some(Cause::CallCancelled)]);
        let (unobserved, _) = text.rsplit_once('\n').expect("the ledger is the last row");
        let run = cancelled(&format!("{unobserved}\n        cut c0-s0|     [ ]"));
        let open = open_causes(&run, "deadlock");
        assert!(open.contains(&Cause::CallCancelled) && open.len() > 1, "{open:?}");
    }
}

#[test]
fn whoever_went_without_its_part_of_what_all_share_keeps_the_lock() {
    let text = "
        store queue | 0  1  2  0 2  3
        crash c1    |     [  ]
        p0          | A========r-R
        p1          |   a-X
        p2          |      a------!
        p3          |            a------------!";
    assert_eq!(stuck_at(&picture(text), 20), Some(Cause::ClientDied));
    // Nor does the last to write it, where another left something of its own.
    let own = text.replace("0  1  2  0 2  3", "0     2  0 2  3") + "\n        store       |    1";
    assert_eq!(stuck_at(&picture(&own), 20), Some(Cause::ClientDied));
    // One that has taken its part out again keeps nothing.
    let tidy = text.replace("0  1  2 ", "0  11 2 ").replace("[  ]", " [ ]").replace("a-X", "a--X");
    assert_eq!(stuck_at(&picture(&tidy), 20), Some(Cause::Recipe));
}

/// A counter of tokens stays, and nobody waits for that.
#[test]
fn what_nobody_takes_out_again_of_what_all_share_keeps_no_lock() {
    let text = "
        store queue | 0      1     2
        store       | 0   x  1  b  2
        crash c0    |  [ ]
        p0          | A=X
        p1          |        A==r-R
        p2          |             aA==r-?
        p3          |                    a------!";
    assert_eq!(stuck_at(&picture(text), 26), Some(Cause::ReleaseLost));
}

#[test]
fn what_one_reader_adds_to_what_all_share_takes_nothing_from_another() {
    let text = "
        store queue | 0 1   b
        store       |          2
        p0          | S===============
        p1          |   S==r-R
        p2          |        a-A====R";
    assert_eq!(causes_in(&picture(text), "reader-writer overlap"), [Some(Cause::ForeignRelease)]);
}

#[test]
fn a_count_that_was_lost_with_its_servers_data_is_wrong_for_good() {
    let text = "
        store queue | 0 1  l   0 1   3
        store       |                  2
        wipe s0     |     [  ]
        p0          | S========R
        p1          |   S========R
        p2          |                a-A========R
        p3          |              s-S========R";
    let of = |text: &str| causes_in(&picture(text), "reader-writer overlap");
    assert_eq!(of(text), [Some(Cause::ServerForgets)]);
    assert_eq!(of(&text.replace('l', " ")), [Some(Cause::Recipe)]);
}

#[test]
fn a_release_that_was_lost_and_called_a_success_was_lost() {
    let text = "
        store      | 0
        cut c0-s0  |     [   ]
        p0         | A====r--R
        p1         |            a------------";
    assert_eq!(stuck_at(&picture(text), 20), Some(Cause::ReleaseLost));
    let calm = text.replace("[   ]", "     ");
    assert_eq!(stuck_at(&picture(&calm), 20), Some(Cause::Recipe));
}

/// The run with an extension by process 0, asked for at a column and granted at the next one.
fn with_extension(run: Run, column: u64) -> Run {
    let of = |column: u64, kind| {
        base::Event::new(column * 100_000_000, base::Process::Client(0), kind, base::F::Extend)
    };
    let extension = [of(column, base::Kind::Invoke), of(column + 1, base::Kind::Ok)];
    let mut events: Vec<base::Event> =
        run.history.events().iter().cloned().chain(extension).collect();
    events.sort_by_key(|event| event.time_ns);
    let mut history = base::History::default();
    for event in events {
        history.push(event);
    }
    Run { history, ..run }
}

#[test]
fn an_extension_that_was_granted_and_gave_no_time_is_the_recipes_own() {
    let text = "
        p0       | a-A=====================O
        p1       |                aA==O
        store    |  0          x   1";
    let vain = with_extension(picture(text), 6);
    assert_eq!(causes_in(&vain, "double hold"), [Some(Cause::Recipe)]);
    // The time that it gave is over, or nobody asked for more.
    let used_up = with_extension(picture(text), 2);
    assert_eq!(causes_in(&used_up, "double hold"), [Some(Cause::LongHold)]);
    assert_eq!(causes_in(&picture(text), "double hold"), [Some(Cause::LongHold)]);
}

#[test]
fn what_its_release_left_is_what_a_process_is_refused_later() {
    let text = "
        crash s0 |    [      ]
        p0       | A===r--!     a-~
        store    | 0";
    let cause = |text: &str| {
        let run = picture(text);
        let case = Case::of(&run);
        super::of_phantom(&case, case.claims.claims.last().expect("a claim")).only()
    };
    assert_eq!(cause(text), Some(Cause::ReleaseLost));
    assert_eq!(cause(&text.replace("r--!", "r--R")), Some(Cause::Recipe));
}

fn semaphore(text: &str) -> Run {
    let mut run = picture(text);
    run.info.lock.promises.permits = 2;
    run
}

/// A third is granted one of two permits, since the first one's is gone by then.
const PERMIT_LOST: &str = "
        p0       | a-A==================O
        p1       | a-A===============O
        p2       |             a-A==O
        p4       |  a-----------------!
        FAULT    |     [           ]
        ttl      | -
        store b  |  0           o
        store c  |  1
        store d  |               2";

#[test]
fn of_the_holders_of_a_semaphore_the_one_that_lost_its_permit_says_why() {
    let cause = |text: &str, fault: &str| {
        causes_in(&semaphore(&text.replace("FAULT   ", fault)), "double hold")
    };
    assert_eq!(cause(PERMIT_LOST, "pause c0"), [Some(Cause::HolderPaused)]);
    assert_eq!(cause(PERMIT_LOST, "pause c1"), [Some(Cause::LongHold)]);
    // It does not matter which of them it is.
    let second = PERMIT_LOST.replace("0           o", "0").replace("  1\n", "  1           o\n");
    assert_eq!(cause(&second, "pause c1"), [Some(Cause::HolderPaused)]);
    // Its time was not over, but by a wrong clock.
    let early = PERMIT_LOST
        .replace("0           o", "0     o")
        .replace("             a-A==O", "       a-A==O")
        .replace("               2", "         2")
        .replace("==================O", "======O");
    assert_eq!(cause(&early, "jump c4 "), [Some(Cause::ClientClock)]);
    assert_eq!(cause(&early, "jump c0 "), [Some(Cause::ClientClock)]);
    assert_eq!(cause(&early, "jump s0 "), [Some(Cause::ServerClock)]);
    assert_eq!(cause(&early, "jump c2 "), [Some(Cause::Recovery)]);
    // What its server's clock lost as it stood still it gains at once when the last fault is over.
    let later = early.replace("| ", "|       ");
    let frozen =
        |drift: &str| format!("{later}\n        freeze s0| [     ]\n        drift s0 | {drift}");
    assert_eq!(cause(&frozen("  [         ]"), "jump c2 "), [Some(Cause::ServerClock)]);
    assert_eq!(cause(&frozen("       [    ]"), "jump c2 "), [Some(Cause::Recovery)]);
    // Nobody lost a permit: whoever asked by a wrong clock came before one who had one.
    let kept = early.replace("     o", "      ");
    assert_eq!(cause(&kept, "pause c2"), [Some(Cause::Recipe)]);
    assert_eq!(cause(&kept, "jump c2 "), [Some(Cause::ClientClock)]);
}

#[test]
fn a_release_that_takes_another_permit_than_its_own_is_foreign() {
    let text = "
        p0       | a-A==============O
        p1       |  aA=====rR
        p2       |              aA==O
        p3       |             aA==O
        store b  |  0       b
        store c  |  1
        store d  |               2
        store e  |              3";
    let run = semaphore(text);
    assert_eq!(causes_in(&run, "foreign release"), [Some(Cause::Recipe)]);
    assert_eq!(causes_in(&run, "double hold"), [Some(Cause::ForeignRelease)]);
    let own = semaphore(&text.replace("0       b", "0").replace("  1\n", "  1       b\n"));
    assert_eq!(causes_in(&own, "foreign release"), []);
}

#[test]
fn the_holders_of_a_semaphore_that_count_themselves_are_not_distinguished() {
    let counted = "
        pause c0 |     [           ]
        p0       | a-A==================O
        p1       | a-A===============O
        p2       |             a-A==O
        ttl      | -
        store b  |  01          x2";
    assert!(open_causes(&semaphore(counted), "double hold").contains(&Cause::HolderPaused));
    let queue = counted.replace("store b ", "store queue");
    assert!(open_causes(&semaphore(&queue), "double hold").contains(&Cause::HolderPaused));
    let some = PERMIT_LOST.replace("  1\n", "\n").replace("FAULT   ", "pause c0");
    assert!(open_causes(&semaphore(&some), "double hold").contains(&Cause::HolderPaused));
}
