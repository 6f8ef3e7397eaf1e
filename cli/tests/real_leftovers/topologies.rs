//! Runs on every topology, some with servers that are paused, are killed at drawn moments. What is
//! left after a cleaning is looked for in the kernel's own books, and not where picklock looks.

use super::{LIMIT, clean, ended, files, picklock, place, rounds};
use base::Rng;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};
use stores::StoreId;

/// A lock for each topology whose servers picklock knows how to start.
pub const LOCKS: [(&str, &str); 9] = [
    ("postgres", "postgres-advisory"),
    ("zookeeper-x3", "zk-sequential"),
    ("redis-cluster", "redis-set-nx-px"),
    ("memcached", "memcached-add"),
    ("etcd-x3", "etcd-lease"),
    ("redis-sentinel", "redis-set-nx-px"),
    ("zookeeper-x5", "zk-sequential"),
    ("redis-x5", "redlock"),
    ("redis", "redis-set-nx-px"),
];

/// Pauses all servers from the first moment to the end.
const PAUSE: &str = "[[fault]]\naction = \"pause\"\ntarget = \"servers\"\nat = \"200ms\"\n\
                     lasts = \"30s\"\noptional = true\n";

/// The things that the kernel has of processes.
#[derive(Debug, Default, PartialEq, Eq)]
struct KernelThings {
    processes: BTreeSet<u32>,
    /// Shared memory by its file or its number.
    shared: BTreeSet<String>,
    /// Ports that are listened at, as the kernel writes them.
    ports: BTreeSet<String>,
}

impl KernelThings {
    /// The things of those that have this folder for temporary files, or work in it.
    fn of(temporary: &Path) -> Self {
        let variable = format!("TMPDIR={}\0", temporary.display());
        let is_of_run = |id: &u32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let works_there = fs::read_link(format!("/proc/{id}/cwd"));
            String::from_utf8_lossy(&environment).contains(&variable)
                || works_there.is_ok_and(|folder| folder.starts_with(temporary))
        };
        let all = fs::read_dir("/proc").expect("processes").flatten();
        let numbers = all.filter_map(|it| it.file_name().to_str()?.parse().ok());
        let processes: BTreeSet<u32> = numbers.filter(is_of_run).collect();
        let shared = processes.iter().flat_map(|id| mapped(*id)).chain(
            segments().into_iter().filter(|(maker, _)| processes.contains(maker)).map(|it| it.1),
        );
        let sockets: BTreeSet<u64> = processes.iter().flat_map(|id| inodes(*id)).collect();
        let ports = listening().into_iter().filter(|(inode, _)| sockets.contains(inode));
        Self { shared: shared.collect(), ports: ports.map(|it| it.1).collect(), processes }
    }

    /// Returns those of them that are there now.
    fn left(&self) -> Self {
        let is_there = |id: &&u32| Path::new(&format!("/proc/{id}")).exists();
        let segments: BTreeSet<String> = segments().into_iter().map(|it| it.1).collect();
        let shared = |it: &&String| segments.contains(*it) || Path::new(it).exists();
        let listening: BTreeSet<String> = listening().into_iter().map(|it| it.1).collect();
        Self {
            processes: self.processes.iter().filter(is_there).copied().collect(),
            shared: self.shared.iter().filter(shared).cloned().collect(),
            ports: self.ports.intersection(&listening).cloned().collect(),
        }
    }
}

/// The files in `/dev/shm` that a process has mapped.
fn mapped(id: u32) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap_or_default();
    let files = maps.lines().filter_map(|line| Some(&line[line.find("/dev/shm/")?..]));
    files.filter(|file| !file.ends_with("(deleted)")).map(String::from).collect()
}

/// The segments of System V shared memory: who made each, and its number.
fn segments() -> Vec<(u32, String)> {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some((fields.get(4)?.parse().ok()?, (*fields.get(1)?).to_owned()))
    };
    table.lines().skip(1).filter_map(line).collect()
}

/// The inodes of the files that a process has open.
fn inodes(id: u32) -> Vec<u64> {
    let files = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| Some(fs::metadata(file.path()).ok()?.ino())).collect()
}

/// The sockets that listen: the inode and the address of each.
fn listening() -> Vec<(u64, String)> {
    let table = fs::read_to_string("/proc/net/tcp").expect("the kernel's table");
    let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let lines = lines.filter(|fields| fields[3] == "0A");
    lines.map(|fields| (fields[9].parse().expect("a number"), fields[1].to_owned())).collect()
}

#[test]
fn a_run_on_any_topology_that_is_killed_at_any_moment_leaves_nothing() {
    let names = StoreId::all_topologies().map(|on| on.name);
    let names: BTreeSet<&str> = names.filter(|name| *name != "custom").collect();
    assert_eq!(names, LOCKS.iter().map(|(on, _)| *on).collect(), "each topology has a lock");
    let mut rng = Rng::new(std::process::id().into());
    for round in 0..rounds(6) {
        let (on, algo) = LOCKS[round % LOCKS.len()];
        let (place, temporary) = place();
        let script = place.path().join("pause.toml");
        fs::write(&script, PAUSE).expect("it is written");
        let mut args = vec!["test", "--algo", algo, "--on", on, "--backend", "local"];
        args.extend(["--time-limit", "60s"]);
        if rng.below(2) == 1 {
            args.extend(["--script", script.to_str().expect("a name")]);
        }
        let moment = Duration::from_millis(rng.below(4_000));
        let mut run = picklock(&temporary, &args).spawn().expect("it starts");
        sleep(moment);
        // So it makes nothing more while it is looked at.
        ended(run.id(), "-STOP");
        let things = KernelThings::of(&temporary);
        ended(run.id(), "-KILL");
        run.wait().expect("it ends");
        let (begun, what) = (Instant::now(), format!("{} after {moment:?}", args.join(" ")));
        while files(&temporary) > 0 || things.left() != KernelThings::default() {
            let left = things.left();
            assert!(begun.elapsed() < LIMIT, "{what}: {left:?}");
            clean(&temporary);
        }
        assert_eq!(KernelThings::of(&temporary), KernelThings::default(), "{what}");
    }
}
