//! A container of somebody else on the network of a run, which therefore cannot be removed.

use super::stubborn::{container_in_full_swing, exit_code};
use super::{clean, in_docker, picklock, place, test_on};
use docker::ensure_image;
use std::io::Read;
use std::process::Command;

/// Has Docker's client do this, and returns what it says.
fn docker(args: &[&str]) -> String {
    let output = Command::new("docker").args(args).output().expect("docker is there");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn what_a_run_cannot_remove_is_reported_and_removed_later() {
    ensure_image(&|_| ()).unwrap_or_else(|error| panic!("{error}"));
    let (_place, temporary) = place();
    let test = || {
        let mut test = test_on("docker", &temporary, "redis-set-nx-px", "2s");
        test.args(["--ttl", "1s"]);
        test
    };
    let mut run = test().spawn().expect("it starts");
    let container = container_in_full_swing(run.id(), &temporary);
    let networks = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}";
    let network = docker(&["inspect", "--format", networks, &container]);
    let image = docker(&["inspect", "--format", "{{.Image}}", &container]);
    let guest = docker(&["run", "--detach", "--network", &network, &image, "sleep", "120"]);
    let code = exit_code(&mut run);
    let mut why = String::new();
    run.stderr.take().expect("it is piped").read_to_string(&mut why).expect("it is text");
    let left = in_docker(run.id());
    let too_early = picklock(&temporary, &["clean"]).output().expect("it runs");
    let next = test().output().expect("it runs");
    docker(&["rm", "--force", &guest]);
    assert_eq!(code, Some(255), "{why}");
    assert!(why.contains("is removed by the next start, or by `picklock clean`"), "{why}");
    assert_eq!(left, 1, "the network");
    let why = String::from_utf8_lossy(&too_early.stderr);
    assert_eq!(too_early.status.code(), Some(255), "{why}");
    assert!(why.contains("cannot remove a network"), "{why}");
    // Its own verdict does not matter: a busy machine may grant too little in so short a time.
    let stdout = String::from_utf8_lossy(&next.stdout);
    assert!([Some(0), Some(2)].contains(&next.status.code()), "{stdout}");
    clean(&temporary);
    assert_eq!(in_docker(run.id()), 0);
}
