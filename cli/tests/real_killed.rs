//! Runs on local servers that are killed, at moments that matter and at others, leave nothing once
//! `picklock clean` has run: no process, folder or shared memory. What is there is counted by
//! what the kernel says of it, and not by picklock's own marks.

#![expect(clippy::disallowed_methods, reason = "waits for what other processes do")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

const PICKLOCK: &str = env!("CARGO_BIN_EXE_picklock");

/// The things that a machine has, by what the kernel calls them.
#[derive(Debug, PartialEq, Eq)]
struct Things {
    /// The pieces of System V shared memory.
    system_v: BTreeSet<String>,
    /// The segments of POSIX shared memory.
    posix: BTreeSet<String>,
}

impl Things {
    fn now() -> Self {
        let table = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
        let id = |line: &str| line.split_whitespace().nth(1).map(String::from);
        let names = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        Self {
            system_v: table.lines().skip(1).filter_map(id).collect(),
            posix: names.map(|it| it.file_name().to_string_lossy().into_owned()).collect(),
        }
    }
}

/// The processes that work somewhere below a folder.
fn processes_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let works_there = |it: &fs::DirEntry| {
        fs::read_link(it.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    };
    let name = |it: fs::DirEntry| fs::read_to_string(it.path().join("comm")).unwrap_or_default();
    entries.filter(works_there).map(name).collect()
}

/// A place for runs, with a folder for temporary files of its own.
struct KilledRuns {
    folder: TempDir,
    before: Things,
}

impl KilledRuns {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        // Servers that are another user pass through it.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        fs::set_permissions(folder.path(), mode).expect("its mode");
        Self { folder, before: Things::now() }
    }

    fn picklock(&self, args: &[&str]) -> Child {
        let mut command = Command::new(PICKLOCK);
        command.args(args).current_dir(self.folder.path()).env("TMPDIR", self.folder.path());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    }

    /// Kills a run after a time, and cleans up.
    fn kill(&self, args: &[&str], after: Duration) {
        let mut run = self.picklock(&[&["test", "--backend", "local"], args].concat());
        sleep(after);
        assert_eq!(run.try_wait().expect("it is ours"), None, "{args:?} has ended by itself");
        run.kill().expect("it runs");
        run.wait().expect("it ends");
        let cleaned = self.picklock(&["clean"]).wait().expect("it ends");
        assert!(cleaned.success(), "{args:?}");
        let case = format!("{args:?} killed after {after:?}");
        assert_eq!(processes_in(self.folder.path()), Vec::<String>::new(), "{case}");
        let folders = fs::read_dir(self.folder.path()).expect("a folder").flatten();
        let folders = folders.map(|it| it.file_name().to_string_lossy().into_owned());
        let left: Vec<String> = folders.filter(|name| name.starts_with("picklock_")).collect();
        assert_eq!(left, Vec::<String>::new(), "{case}");
        assert_eq!(Things::now(), self.before, "{case}");
    }
}

/// Both look at all shared memory of the machine, so that one comes after the other.
#[test]
fn killed_runs_leave_nothing() {
    let runs = KilledRuns::new();
    let script = runs.folder.path().join("pause.toml");
    let pause =
        "[[fault]]\nat = \"1s\"\ntarget = \"server-0\"\naction = \"pause\"\nlasts = \"12s\"\n";
    fs::write(&script, pause).expect("written");
    let script = script.display().to_string();
    let paused = ["--algo", "postgres-advisory", "--script", &script];
    runs.kill(&paused, Duration::from_secs(5));
    let rounds = std::env::var("PICKLOCK_ROUNDS").map_or(3, |it| it.parse().expect("a number"));
    let locks = ["postgres-row", "zk-sequential", "etcd-lease", "redis-set-nx-px", "memcached-add"];
    let mut rng = base::Rng::new(u64::from(std::process::id()));
    for _ in 0..rounds {
        // What a PostgreSQL makes for its first start takes the first second.
        runs.kill(&["--algo", locks[0]], Duration::from_millis(100 + rng.below(1_500)));
        let lock = locks[1 + rng.below(4) as usize];
        runs.kill(&["--algo", lock, "--nemesis", "pause"], Duration::from_millis(rng.below(5_000)));
    }
}
