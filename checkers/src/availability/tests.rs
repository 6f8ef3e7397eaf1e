//! Pictures of locks while servers are down.

use super::Availability;
use crate::picture::Gallery;
use expect_test::expect;

const THREE: Gallery = Gallery {
    checker: &Availability,
    info: |info| {
        info.lock.promises.available = true;
        info.servers = 3;
    },
};

#[test]
fn nobody_is_served_while_one_of_three_is_down() {
    THREE.rejects(
        "
        p0       | A=R                                  A=R
        p1       |     a----------------------------------A=R
        crash s0 |    [                               ]",
        "unavailable",
        1,
    );
}

#[test]
fn a_follower_that_is_cut_off_is_enough() {
    THREE.rejects(
        "
        p0        | A=R                                  A=R
        p1        |     a----------------------------------A=R
        cut s0-s1 |    [                               ]
        cut s0-s2 |    [                               ]",
        "unavailable",
        2,
    );
}

#[test]
fn each_time_counts() {
    THREE.rejects(
        "
        p0       | A=R a---------------------------------A=R a----------------------------------A=R
        pause s0 |    [                               ]
        pause s1 |                                         [                                ]",
        "unavailable",
        2,
    );
}

#[test]
fn who_held_it_before_it_was_due_or_is_served_at_the_heal_is_no_reason() {
    THREE.rejects(
        "
        p0       | A============R
        p1       |     a-------------------------A=R
        crash s0 |    [                          ]",
        "unavailable",
        1,
    );
    THREE.rejects(
        "
        p1       | A=R a-------------------------A=R
        crash s0 |    [                          ]",
        "unavailable",
        1,
    );
}

#[test]
fn a_grant_that_was_on_its_way_shows_nothing() {
    THREE.rejects(
        "
        p0       | A=R  a---A=R                              A=R
        p1       |         a----------------------------------A=R
        crash s0 |       [                                  ]",
        "unavailable",
        1,
    );
    THREE.accepts(
        "
        p0       | A=R  a----------------A=R                 A=R
        p1       |         a----------------------------------A=R
        crash s0 |       [                                  ]",
    );
}

#[test]
fn somebody_is_served() {
    let summary = THREE.accepts(
        "
        p0       | A=R                 A=R
        crash s0 |    [                               ]",
    );
    assert_eq!(summary, "granted 1 of 1 time that a minority was down long enough");
}

#[test]
fn an_election_takes_its_time() {
    THREE.accepts(
        "
        p0       | A=R a-----------------A=R
        crash s0 |    [                               ]",
    );
}

#[test]
fn one_of_two_times_was_long_enough_to_tell() {
    THREE.accepts(
        "
        p0       | A=R                 A=R                                a-------A=R
        crash s0 |    [                               ]
        crash s1 |                                                       [       ]",
    );
}

#[test]
fn with_a_majority_down_nothing_is_promised() {
    THREE.unclear(
        "
        p0       | A=R a----------------------------------A=R
        crash s0 |    [                               ]
        crash s1 |    [                               ]",
        expect!["no minority of the servers was down"],
    );
}

#[test]
fn half_of_them_are_no_minority() {
    let four = Gallery {
        checker: &Availability,
        info: |info| {
            info.lock.promises.available = true;
            info.servers = 4;
        },
    };
    four.unclear(
        "
        p0       | A=R a----------------------------------A=R
        crash s0 |    [                               ]
        crash s1 |    [                               ]",
        expect!["no minority of the servers was down"],
    );
}

#[test]
fn a_server_that_is_heard_and_does_not_hear_is_not_down() {
    THREE.unclear(
        "
        p0        | A=R                                  A=R
        p1        |     a----------------------------------A=R
        cut s0>s1 |    [                               ]
        cut s0>s2 |    [                               ]",
        expect!["no minority of the servers was down"],
    );
}

#[test]
fn a_server_whose_clock_is_wrong_is_not_down() {
    THREE.unclear(
        "
        p0        | A=R                                  A=R
        p1        |     a----------------------------------A=R
        freeze s0 |    [                               ]",
        expect!["no minority of the servers was down"],
    );
}

#[test]
fn too_short_to_tell() {
    THREE.unclear(
        "
        p0       | A=R a----------A=R
        crash s0 |    [        ]",
        expect!["a minority was down 1 time, never for the 2 s that would tell"],
    );
}

#[test]
fn whoever_held_it_throughout_is_a_reason() {
    THREE.unclear(
        "
        p0       | A=======================================R
        p1       |     a-------------------------------------A=R
        crash s0 |    [                               ]",
        expect!["a minority was down 1 time, never for the 2 s that would tell"],
    );
}

#[test]
fn a_lock_on_one_server_promises_nothing() {
    let plain = Gallery { checker: &Availability, info: |_| {} };
    plain.does_not_apply("p0 | A=R");
}

#[test]
fn whoever_goes_meanwhile_may_take_the_lock_with_him() {
    THREE.unclear(
        "
        p0       | A=R a---------------------------------------A=R
        p1       |       a-----------------------?
        crash s2 |    [                                     ]",
        expect!["a minority was down 1 time, never for the 2 s that would tell"],
    );
}

const ALONE: Gallery = Gallery {
    checker: &Availability,
    info: |info| {
        info.lock.promises.available = true;
        info.servers = 1;
    },
};

#[test]
fn a_lock_on_one_server_is_down_with_it() {
    ALONE.rejects(
        "
        p0       | A=R                                  A=R
        p1       |     a----------------------------------A=R
        crash s0 |    [                               ]",
        "unavailable",
        1,
    );
    ALONE.accepts(
        "
        p0       | A=R                 A=R
        pause s0 |    [                               ]",
    );
}

#[test]
fn who_asks_again_and_again_has_asked_all_the_time() {
    ALONE.rejects(
        "
        p0       | A=R                                  A=R
        p1       |     a-! a--! a-! a-! a--! a-! a-! a-!    A=R
        crash s0 |    [                               ]",
        "unavailable",
        1,
    );
    ALONE.unclear(
        "
        p0       | A=R                                  A=R
        p1       |     a-!            a-!            a-!    A=R
        crash s0 |    [                               ]",
        expect!["the only server was down 1 time, never for the 2 s that would tell"],
    );
}

/// A real ensemble did so: 10.3 s after its leader had been killed it served again, when the next
/// one, which nobody followed, had given up.
#[test]
fn an_ensemble_may_elect_a_leader_that_nobody_follows() {
    const ENSEMBLE: Gallery = Gallery {
        checker: &Availability,
        info: |info| {
            (THREE.info)(info);
            // Leaders wait for twenty ticks.
            info.run.ensemble = base::Ensemble { tick_ns: 100_000_000, sync_limit: 2 }.into();
        },
    };
    let short = "
        p0       | A=R                                  A=R
        p1       |     a----------------------------------A=R
        crash s0 |    [                               ]";
    let long = "
        p0       | A=R                                                    A=R
        p1       |     a----------------------------------------------------A=R
        crash s0 |    [                                                 ]";
    THREE.rejects(short, "unavailable", 1);
    assert_eq!(ENSEMBLE.judge(short).anomalies, []);
    ENSEMBLE.rejects(long, "unavailable", 1);
}
