//! Tests of the stories of anomalies: of their content and their words.

use super::*;
use crate::causes::Case;
use crate::picture::{Gallery, judge, picture};
use crate::words::count;
use crate::{Availability, Exclusion, ForeignRelease, Reentrancy, ReleaseErrors};
use base::{ClockChange, Data, Direction, LinkFault};
use expect_test::expect;

const ANY: Gallery = Gallery { checker: &Exclusion, info: |_| {} };

fn explanation(text: &str) -> String {
    explanation_by(&ANY, text)
}

fn explanation_by(gallery: &Gallery, text: &str) -> String {
    gallery.judge(text).anomalies[0].explanation.clone()
}

/// Returns the explanation of an inner release that frees the outer hold, in a run with these rows.
fn freed_by_inner(rows: &str) -> String {
    let again = Gallery { checker: &Reentrancy, info: |info| info.lock.promises.reentrant = true };
    let text = format!(
        "
        p0 | A==A==R=====R
        p1 | a-------A=R
        {rows}"
    );
    explanation_by(&again, &text)
}

#[test]
fn numbers_are_written_as_people_read_them() {
    assert_eq!(moment(61_002_999_999), "61.002 s");
    assert_eq!(moment(1_999_999), "0.001 s");
    assert_eq!([count(0, "grant"), count(1, "grant"), count(2, "grant")].join(", "), {
        "0 grants, 1 grant, 2 grants"
    });
}

#[test]
fn a_story_goes_on_as_long_as_its_steps_last_and_no_longer() {
    let run = picture("p0 | A=R");
    let case = Case::of(&run);
    let mut story = Story::new(&case, Causes::UNKNOWN, 10);
    assert_eq!([4, 6, 0, 1, 0].map(|steps| story.pay(steps)), [true, true, true, false, false]);
}

#[test]
fn a_cut_is_described_from_the_side_of_the_client() {
    let explanations = ["cut c0-s1", "cut c0>s1", "cut s1>c0"].map(|cut| {
        let text = explanation(&format!(
            "
            p0        | A=====R
            p1        |     A=R
            {cut} |  [   ]
            "
        ));
        format!("{cut}: {text}\n")
    });
    expect![[r#"
        cut c0-s1: process 0 acquired exclusively at 0.000 s and was cut off from server 1 at 0.100 s while it held; process 1 acquired exclusively at 0.400 s; process 0 was connected again at 0.500 s and released at 0.600 s
        cut c0>s1: process 0 acquired exclusively at 0.000 s and could not reach server 1 at 0.100 s while it held; process 1 acquired exclusively at 0.400 s; process 0 was connected again at 0.500 s and released at 0.600 s
        cut s1>c0: process 0 acquired exclusively at 0.000 s and could not hear server 1 at 0.100 s while it held; process 1 acquired exclusively at 0.400 s; process 0 was connected again at 0.500 s and released at 0.600 s
    "#]].assert_eq(&explanations.concat());
}

#[test]
fn a_grant_that_ran_out_while_its_client_believed_in_it_says_when() {
    let run_out = "
        ttl | *
        p0  | A==============R
        p1  |             A=R
        ";
    let in_time = "
        ttl | *
        p0  | A======R
        p1  |    A=R
        ";
    let just_in_time = "
        ttl | *
        p0  | ak-A=======R
        p1  |     A=R
        ";
    let explanations = [run_out, in_time, just_in_time].map(explanation);
    expect![[r#"
        process 0 acquired exclusively at 0.000 s (its lease expired at 1.000 s); process 1 acquired exclusively at 1.200 s; process 0 released at 1.500 s
        process 0 acquired exclusively at 0.000 s; process 1 acquired exclusively at 0.300 s; process 0 released at 0.700 s
        process 0 acquired exclusively at 0.300 s; process 1 acquired exclusively at 0.400 s; process 0 released at 1.100 s"#]].assert_eq(&explanations.join("\n"));
}

#[test]
fn events_are_described_with_the_faults_of_their_processes_or_else_with_those_of_servers() {
    let plain = "process 0 acquired at 0.000 s, acquired at 0.300 s and began to release at 0.600 s; \
                 process 1 acquired at 0.800 s; the outer hold had not been released";
    assert_eq!(freed_by_inner(""), plain);
    let pause = "pause c0 |     [ ]";
    expect!["process 0 acquired at 0.000 s, acquired at 0.300 s, was paused at 0.400 s while it held, began to release at 0.600 s and ran on at 0.600 s; process 1 acquired at 0.800 s; the outer hold had not been released"].assert_eq(&freed_by_inner(pause));
    let both = format!("{pause}\n crash s0 |     [ ]");
    assert_eq!(freed_by_inner(&both), freed_by_inner(pause));
    expect!["process 0 acquired at 0.000 s and acquired at 0.300 s; server 0 crashed at 0.400 s; process 0 began to release at 0.600 s; server 0 was started again at 0.600 s; process 1 acquired at 0.800 s; the outer hold had not been released"].assert_eq(&freed_by_inner("crash s0 |     [ ]"));
    // Nobody else's.
    assert_eq!(freed_by_inner("pause c3 |     [ ]\n p3 |     a---!"), plain);
}

#[test]
fn what_a_release_removed_and_what_a_fault_did_to_a_server_is_described() {
    let any = |checker| Gallery { checker, info: |_| {} };
    expect!["process 0 acquired at 0.000 s and released at 0.300 s, which removed nothing; its hold had not run out, no fault was near and nobody else had the lock"].assert_eq(&explanation_by(&any(&ReleaseErrors), "p0 | A==N"));
    let foreign = "
        p0       | A=====D
        p1       |    A==R
        ";
    expect!["process 0 acquired at 0.000 s; process 1 acquired at 0.300 s; process 0 released at 0.600 s, which removed whatever stood there; the release deleted the lock of another process"].assert_eq(&explanation_by(&any(&ForeignRelease), foreign));
    let three = Gallery {
        checker: &Availability,
        info: |info| {
            info.lock.promises.available = true;
            info.servers = 3;
        },
    };
    let down = "
        p0       | A=R                                  A=R
        p1       |     a----------------------------------A=R
        crash s0 |    [                               ]";
    expect!["server 0 crashed at 0.300 s; process 1 asked at 0.400 s; server 0 was started again at 3.500 s; a majority of its servers was up"].assert_eq(&explanation_by(&three, down));
}

#[test]
fn only_the_latest_two_faults_are_reported_and_none_without_effect() {
    let text = explanation(
        "
        p0       | A==================R
        p1       |                 A=R
        pause c0 |  [ ]
        cut c0-s0 |     [ ]
        cut c0-s1 |         [ ]
        cut c0-s2 |             [ }
        ",
    );
    expect!["process 0 acquired exclusively at 0.000 s, was cut off from server 0 at 0.400 s while it held, was connected again at 0.600 s, was cut off from server 1 at 0.800 s while it held and was connected again at 1.000 s; process 1 acquired exclusively at 1.600 s; process 0 released at 1.900 s"].assert_eq(&text);
}

/// A holder that was paused for long was then cut off from every server in turn for a moment.
#[test]
fn the_fault_that_is_the_cause_is_reported_though_others_came_later() {
    let text = explanation(
        "
        p0        | a-A==================R
        p1        |   a-----------------A=R
        pause c0  |    [           ]
        cut c0-s0 |                 [ ]
        cut c0-s1 |                   [ ]
        store     |  0        x
        store b   |                     1
        ",
    );
    expect!["process 0 acquired exclusively at 0.200 s, was paused at 0.300 s while it held, ran on at 1.500 s and was cut off from server 1 at 1.800 s while it held; process 1 acquired exclusively at 2.000 s; process 0 was connected again at 2.000 s and released at 2.100 s"].assert_eq(&text);
}

#[test]
fn a_fault_is_described_with_what_its_client_was_doing() {
    let text = explanation(
        "
        p0       | a--------A=====R
        p1       |       A=====R
        pause c0 |    [  ]
        ",
    );
    expect!["process 0 was paused at 0.300 s while it asked; process 1 acquired exclusively at 0.600 s; process 0 ran on at 0.600 s and acquired exclusively at 0.900 s; process 1 released at 1.200 s"].assert_eq(&text);
}

#[test]
fn a_fault_that_is_healed_later_is_reported_without_its_heal() {
    let verdict = ANY.judge(
        "
        p0      | A=====
        p1      |     A==R
        wipe s0 |  [           ]
        ",
    );
    expect!["process 0 acquired exclusively at 0.000 s; server 0 crashed and lost its data at 0.100 s; process 1 acquired exclusively at 0.400 s; process 0 never released"].assert_eq(&verdict.anomalies[0].explanation);
    assert_eq!(verdict.anomalies[0].faults, [2]);
}

#[test]
fn faults_on_servers_have_their_words() {
    let server = Node::Server(1);
    let cut = Fault::over(vec![(server, Node::Server(2))], Action::Cut(Direction::Both));
    for (fault, words) in [
        (Fault::at(server, Action::Pause), ("server 1", "was paused", "ran on")),
        (Fault::at(server, Action::Crash(Data::Kept)), {
            ("server 1", "crashed", "was started again")
        }),
        (Fault::at(server, Action::Crash(Data::Lost)), {
            ("server 1", "crashed and lost its data", "was started again")
        }),
        (Fault::at(server, Action::Crash(Data::Unsynced)), {
            ("server 1", "crashed and lost its last second", "was started again")
        }),
        (Fault::at(server, Action::Clock(ClockChange::Freeze)), {
            ("server 1", "had a clock that stood still", "had its clock set right")
        }),
        (cut.clone(), (&format!("{cut},")[..], "began", "ended")),
    ] {
        let (subject, begin, end) = on_servers(&fault);
        assert_eq!((&subject[..], &begin[..], end), words);
    }
}

#[test]
fn faults_on_clients_have_their_words() {
    let client = Node::Client(2);
    let link = |link_fault| Fault::over(vec![(client, Node::Server(0))], Action::Link(link_fault));
    for (fault, words) in [
        (Fault::at(client, Action::Pause), ("was paused", "ran on")),
        (Fault::at(client, Action::Kill), ("was killed", "was started again")),
        (Fault::at(client, Action::Clock(ClockChange::Freeze)), {
            ("had a clock that stood still", "had its clock set right")
        }),
        (link(LinkFault::Reset), ("had its connections reset", "had sound links again")),
        (link(LinkFault::Refuse), ("was refused new connections", "had sound links again")),
        (link(LinkFault::LoseRequest), ("was to lose a request", "had sound links again")),
        (link(LinkFault::LoseReply), ("was to lose a reply", "had sound links again")),
        (
            link(LinkFault::Jitter(5_000)),
            ("had links with a jitter of 5.0 ms", "had sound links again"),
        ),
        (link(LinkFault::Slow(3)), ("had links 3 times as slow", "had sound links again")),
    ] {
        assert_eq!((&fault.lasting(client)[..], fault.healed()), words);
    }
}

#[test]
fn the_dead_are_killed_by_a_fault_or_die_of_their_own() {
    for (row, how) in [("crash c0", "was killed"), ("crash c4", "died"), ("pause c0", "died")] {
        let text = explanation(&format!(
            "
            {row} |     [   ]
            p0       | A====X
            p1       |  A=R
            "
        ));
        assert!(text.ends_with(&format!("process 0 {how} at 0.500 s")), "{text}");
    }
}

#[test]
fn beliefs_are_the_holds_of_the_processes_of_the_story() {
    let run = picture(
        "
        ttl | *
        p0  | A=R   A====R
        p1  |          A====R
        p2  |             S=R",
    );
    let verdict = judge(&Exclusion, &run);
    let double = verdict.anomalies.iter().find(|a| a.name == "double hold").expect("one");
    let beliefs: Vec<_> =
        double.beliefs.iter().map(|b| (b.process, b.from_ns, b.until_ns)).collect();
    let tenths = |n: u64| n * 100_000_000;
    assert_eq!(beliefs, [(0, tenths(6), Some(tenths(11))), (1, tenths(9), Some(tenths(14)))]);
    assert_eq!(double.beliefs[0].expires_ns, Some(tenths(6) - 50_000_000 + tenths(10)));
}
