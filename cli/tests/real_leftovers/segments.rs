//! Shared memory of a PostgreSQL that was killed while it made its first data, when all its
//! processes have died before anybody cleans.

use super::{LIMIT, clean, files, place};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use testbed::owner::{own_name, stat_field};

/// A segment under a name as PostgreSQL gives it.
struct Segment(PathBuf);

impl Segment {
    fn make(number: u32) -> Self {
        let path = format!("/dev/shm/PostgreSQL.{}", (std::process::id() << 8) | number).into();
        fs::write(&path, [0; 64]).expect("it is written");
        Self(path)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Makes the folder of a run of nobody living, with a server that has no data yet.
fn make_abandoned_folder(temporary: &Path) {
    let started = stat_field(std::process::id(), 22).expect("it lives");
    let name = own_name().replacen(&format!("_{started}_"), "_1_", 1);
    let data = temporary.join(name).join("server-0/new.part");
    fs::create_dir_all(data).expect("it is made");
}

#[test]
fn a_segment_of_a_run_that_is_removed_goes_with_it_and_no_other() {
    let (_place, temporary) = place();
    let older = Segment::make(0);
    // The kernel's clock for files has a tick.
    sleep(Duration::from_millis(20));
    make_abandoned_folder(&temporary);
    let (left, used) = (Segment::make(1), Segment::make(2));
    let script = "import mmap,sys\nfile=open(sys.argv[1],'r+b')\n\
                  mapped=mmap.mmap(file.fileno(),0)\ninput()";
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(&used.0).stdin(Stdio::piped());
    let mut user = python.spawn().expect("it starts");
    let (begun, name) = (Instant::now(), used.0.display().to_string());
    let maps = || fs::read_to_string(format!("/proc/{}/maps", user.id())).expect("it lives");
    while !maps().contains(&name) {
        assert!(begun.elapsed() < LIMIT, "it is not mapped");
        sleep(Duration::from_millis(10));
    }
    let report = clean(&temporary);
    let there = [&older, &used, &left].map(|segment| segment.0.exists());
    user.kill().expect("it lives");
    user.wait().expect("a child");
    assert!(report.contains("1 folder") && files(&temporary) == 0, "{report}");
    assert_eq!(there, [true, true, false], "older, used, left");
}
