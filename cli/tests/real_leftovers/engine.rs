//! An engine that is started anew in the middle of a run. `PICKLOCK_RESTART_DOCKER` is the command
//! that does it; nobody else should use that engine meanwhile.

use super::{
    LIMIT, clean, files, in_docker, place, processes, rounds, test_on, until_no_processes,
};
use base::Rng;
use docker::ensure_image;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Starts the engine anew, and waits until it answers.
fn restart() {
    let command = std::env::var("PICKLOCK_RESTART_DOCKER");
    let command = command.expect("PICKLOCK_RESTART_DOCKER says how to start the engine anew");
    let done = Command::new("sh").args(["-c", &command]).status().expect("sh is there");
    assert!(done.success(), "{command}: {done}");
    let begun = Instant::now();
    while !Command::new("docker").arg("info").output().expect("docker is there").status.success() {
        assert!(begun.elapsed() < LIMIT, "no engine answers");
        sleep(Duration::from_millis(100));
    }
}

#[test]
#[ignore = "others may use the engine; PICKLOCK_RESTART_DOCKER says how to start it anew"]
fn an_engine_that_is_started_anew_ends_the_run_and_keeps_nothing_of_it() {
    ensure_image(&|_| ()).unwrap_or_else(|error| panic!("{error}"));
    let mut rng = Rng::new(std::process::id().into());
    for round in 0..rounds(4) {
        let (_place, temporary) = place();
        let algo = ["redis-set-nx-px", "zk-sequential"][round % 2];
        let mut run = test_on("docker", &temporary, algo, "120s").spawn().expect("it starts");
        let moment = Duration::from_millis(rng.below(15_000));
        sleep(moment);
        let begun = Instant::now();
        restart();
        let restarted = begun.elapsed();
        while run.try_wait().expect("a child").is_none() {
            assert!(begun.elapsed() < LIMIT * 2, "{algo}, {moment:?}: it goes on");
            sleep(Duration::from_millis(20));
        }
        let (ended, owner) = (begun.elapsed(), run.id());
        let output = run.wait_with_output().expect("it has ended");
        let (code, left) = (output.status.code(), in_docker(owner));
        let why = String::from_utf8_lossy(&output.stderr);
        println!(
            "{algo}, restarted after {moment:.1?} within {restarted:.1?}: ended {ended:.1?} after the \
             begin of that, with {code:?} and {left} things left: {why}"
        );
        assert!(!matches!(code, Some(0 | 1)), "{code:?}: {why}");
        until_no_processes(&temporary);
        let mut clear = 0;
        while clear < 3 {
            assert!(begun.elapsed() < LIMIT * 2, "{} things are left", in_docker(owner));
            clean(&temporary);
            clear = if in_docker(owner) == 0 { clear + 1 } else { 0 };
            sleep(Duration::from_millis(300));
        }
        assert_eq!((processes(&temporary), files(&temporary)), (0, 0));
    }
}
