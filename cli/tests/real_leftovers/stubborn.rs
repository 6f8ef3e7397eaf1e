//! Clients and containers that do not end when they are asked to: their runs end all the same, and
//! leave nothing.

use super::{
    LIMIT, ended, files, in_docker, picklock, place, processes, test_on, until_in_full_swing,
    until_no_processes,
};
use base::{ProgramCommand, RunSpec};
use docker::ensure_image;
use drive::{DriveError, Recorder, Watcher, drive};
use local::LocalServers;
use picklock::setup::Setup;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};
use testbed::{RealBackend, owner};

/// A client that ignores signals, is never asked to exit, and lives on after its harness has hung
/// up.
const STUBBORN: &str = r#"trap '' TERM INT HUP
{
    while read -r line; do
        case $line in *'"op":"exit"'*) ;; *) printf '%s\n' "$line";; esac
    done
    sleep "$1"
} | "$0" client
sleep "$1""#;

/// The processes of which an argument is this word.
fn with_argument(word: &str) -> usize {
    let named = |id: &u32| {
        let arguments = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|it| it == word.as_bytes())
    };
    owner::processes().filter(named).count()
}

/// The folders for temporary files that this process has made.
fn own_folders() -> usize {
    let name = owner::own_name();
    let (mine, _) = name.rsplit_once('_').expect("its number stands behind the owner");
    let all = fs::read_dir(std::env::temp_dir()).expect("a folder").flatten();
    all.filter(|it| it.file_name().to_string_lossy().starts_with(mine)).count()
}

/// A watcher that ends a run, or lets it come to its end.
struct EndsAfter(usize);

impl Watcher for EndsAfter {
    fn goes_on(&mut self, _now: base::Mono, events: usize) -> bool {
        events < self.0
    }
}

#[test]
fn clients_that_ignore_signals_are_ended_with_their_run() {
    // As many seconds as nobody else sleeps.
    let mark = format!("{}", 200_000 + std::process::id());
    for (nemesis, events) in [("none", usize::MAX), ("crash-client", usize::MAX), ("none", 60)] {
        let lock = workloads::lock("redis-set-nx-px").expect("a lock of the list");
        let run = RunSpec { time_limit_ns: 2_000_000_000, ..lock.info.run(nemesis, 1) };
        let setup = Setup::new(&lock, run).unwrap_or_else(|why| panic!("{why}"));
        let picklock = env!("CARGO_BIN_EXE_picklock").to_owned();
        let args = ["-c".into(), STUBBORN.into(), picklock, mark.clone()].to_vec();
        let client = ProgramCommand::new("/bin/bash", args);
        let backend = RealBackend::<LocalServers>::start_with(&setup.world, client, &|_| ());
        let mut backend = backend.unwrap_or_else(|error| panic!("{error}"));
        let mut recorder = Recorder::in_memory();
        let mut watcher = EndsAfter(events);
        let ended = drive(&mut backend, &setup.plan, setup.nemeses(), &mut recorder, &mut watcher);
        match ended {
            Ok(()) => assert_eq!(events, usize::MAX),
            Err(DriveError::Interrupted) => assert_ne!(events, usize::MAX),
            Err(error) => panic!("{error}"),
        }
        assert!(with_argument(&mark) > 0, "they live on");
        let begun = Instant::now();
        drop(backend);
        println!("{nemesis}: stopped after {:?}", begun.elapsed());
        assert_eq!((with_argument(&mark), own_folders()), (0, 0), "{nemesis}");
    }
}

/// The containers of a run, by the process that owns it.
fn containers(owner: u32) -> Vec<String> {
    let format = "{{.ID}} {{.Label \"picklock.owner\"}}";
    let mut docker = Command::new("docker");
    let args = ["ps", "--filter", "label=picklock.owner", "--format", format];
    let listed = docker.args(args).output().expect("docker is there");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let of = |line: &str| {
        let (id, label) = line.split_once(' ')?;
        label.starts_with(&format!("{owner} ")).then(|| id.to_owned())
    };
    listed.lines().filter_map(of).collect()
}

/// The number of the first process in a container.
fn first_process(container: &str) -> u32 {
    let mut docker = Command::new("docker");
    let asked = docker.args(["inspect", "--format", "{{.State.Pid}}", container]).output();
    let asked = asked.expect("docker is there");
    String::from_utf8_lossy(&asked.stdout).trim().parse().expect("a number")
}

/// Has a container stop at nothing that it is sent but SIGKILL.
type Act = fn(&str);

fn pause(container: &str) {
    let done = Command::new("docker").args(["pause", container]).output().expect("it is there");
    assert!(done.status.success());
}

fn freeze(container: &str) {
    ended(first_process(container), "-STOP");
}

/// Waits until the clients of a run are up, and returns its container.
pub fn container_in_full_swing(owner: u32, temporary: &Path) -> String {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < LIMIT, "it has not begun");
        if let [container] = &containers(owner)[..]
            && processes(temporary) > 3
        {
            return container.clone();
        }
        sleep(Duration::from_millis(20));
    }
}

/// Waits until a run has ended, and returns its exit code.
pub fn exit_code(run: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    while run.try_wait().expect("a child").is_none() {
        assert!(begun.elapsed() < LIMIT, "it goes on");
        sleep(Duration::from_millis(20));
    }
    run.wait().expect("it has ended").code()
}

/// Paused or frozen containers are removed, with or without a signal to the run.
#[test]
fn a_container_that_will_not_stop_is_removed() {
    ensure_image(&|_| ()).unwrap_or_else(|error| panic!("{error}"));
    for (what, act) in [("paused", pause as Act), ("frozen", freeze as Act)] {
        for signal in [None, Some("-INT"), Some("-TERM")] {
            let (_place, temporary) = place();
            let run = test_on("docker", &temporary, "redis-set-nx-px", "30s").spawn();
            let mut run = run.expect("it starts");
            act(&container_in_full_swing(run.id(), &temporary));
            signal.iter().for_each(|signal| ended(run.id(), signal));
            let begun = Instant::now();
            let code = exit_code(&mut run);
            println!("{what}, {signal:?}: ended with {code:?} after {:?}", begun.elapsed());
            assert!(!matches!(code, Some(0 | 1)), "{what}, {signal:?}: {code:?}");
            until_no_processes(&temporary);
            assert_eq!((in_docker(run.id()), files(&temporary)), (0, 0), "{what}, {signal:?}");
        }
    }
}

/// A fault whose file somebody has taken away cannot be injected.
#[test]
fn a_fault_that_cannot_be_injected_ends_the_run_and_leaves_nothing() {
    let (_place, temporary) = place();
    let what = ["test", "--algo", "redis-set-nx-px", "--script", "clock.toml"];
    let mut command = picklock(&temporary, &[&what[..], &["--backend", "local"]].concat());
    let script = "[[fault]]\naction = \"clock-jump\"\nby = \"5s\"\ntarget = \"server-0\"\n\
                  at = \"3s\"\nlasts = \"1s\"\n";
    fs::write(temporary.parent().expect("a folder").join("clock.toml"), script).expect("written");
    let run = command.spawn().expect("it starts");
    until_in_full_swing(&temporary);
    let folders = fs::read_dir(&temporary).expect("a folder").flatten();
    for folder in folders {
        for server in fs::read_dir(folder.path()).expect("a folder").flatten() {
            // The clock is written there, and then moved to its place.
            let draft = server.path().join("clock.draft");
            if server.path().join("clock").exists() {
                fs::create_dir(draft).expect("it is made");
            }
        }
    }
    let output = run.wait_with_output().expect("it ends");
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(255), "{why}");
    assert_eq!(why.matches("cannot inject").count(), 1, "{why}");
    assert_eq!((processes(&temporary), files(&temporary)), (0, 0));
}
