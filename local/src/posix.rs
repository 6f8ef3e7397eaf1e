//! POSIX shared memory that outlives a PostgreSQL which was killed while it made its first data:
//! only then can it not be configured to do without. Nothing in its folder names a segment, so one
//! is known by what is true of it alone.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testbed::owner::processes;
use tokio::time::sleep;

/// The beginning of the names of all such segments; the handle of each follows.
const SEGMENTS: &str = "/dev/shm/PostgreSQL.";
/// The first data in the making, in the folder of a server.
const DRAFT: &str = "new.part";
/// The longest time in which a living server has made a segment and has yet to map it.
const SETTLING: Duration = Duration::from_millis(50);
/// The length up to which a segment may be the one in which a server keeps the handles of all.
const LONGEST_LIST: u64 = 1 << 24;

/// Removes the segments that a dead server with this folder has left, if it was making its first
/// data. Segments of its user are its own if they are no older than the folder, no living process
/// has them mapped, and no living server lists them.
pub async fn remove_shared_memory(server: &Path) {
    let Some(left) = left(server) else { return };
    if left.is_empty() {
        return;
    }
    sleep(SETTLING).await;
    for segment in self::left(server).unwrap_or_default().intersection(&left) {
        // Another one that cleans may be quicker.
        let _ = fs::remove_file(path(*segment));
    }
}

/// The handles of the segments that are left now; `None` if that cannot be known.
fn left(server: &Path) -> Option<BTreeSet<u32>> {
    fs::symlink_metadata(server.join(DRAFT)).ok()?;
    let maker = fs::symlink_metadata(server).ok()?;
    let mut left: BTreeSet<u32> = segments().filter(|it| may_be_of(&maker, *it)).collect();
    if left.is_empty() {
        return Some(left);
    }
    for living in all_mapped(maker.uid()).ok()? {
        let list = list(&path(living), maker.uid()).ok()?;
        left.retain(|it| *it != living && !list.contains(it));
    }
    Some(left)
}

/// The handles of all segments.
fn segments() -> impl Iterator<Item = u32> {
    let (folder, _) = SEGMENTS.rsplit_once('/').expect("a path");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| handle(entry.path().to_str()?))
}

fn handle(path: &str) -> Option<u32> {
    path.strip_prefix(SEGMENTS)?.parse().ok()
}

fn path(handle: u32) -> PathBuf {
    format!("{SEGMENTS}{handle}").into()
}

/// Returns true if a segment is of the user of this folder, and not older than it.
fn may_be_of(folder: &Metadata, segment: u32) -> bool {
    let is_of = |segment: Metadata| {
        let born = (segment.created().ok()?, folder.created().ok()?);
        Some(segment.is_file() && segment.uid() == folder.uid() && born.0 >= born.1)
    };
    fs::symlink_metadata(path(segment)).ok().and_then(is_of).unwrap_or(false)
}

/// The handles of the segments that living processes have mapped.
///
/// # Errors
/// Fails when a PostgreSQL of this user cannot be looked at.
fn all_mapped(uid: u32) -> io::Result<BTreeSet<u32>> {
    let mut all = BTreeSet::new();
    for id in processes() {
        match fs::read_to_string(format!("/proc/{id}/maps")) {
            Ok(maps) => all.extend(handles(&maps)),
            Err(error) if may_be_postgres(id, uid) => return Err(error),
            // It has ended, or is none that has such segments: a container's first process, or an
            // agent that keeps keys, lets nobody look.
            Err(_) => {}
        }
    }
    Ok(all)
}

/// The segments in the list of what a process has mapped.
fn handles(maps: &str) -> impl Iterator<Item = u32> {
    maps.lines().filter_map(|line| handle(&line[line.find(SEGMENTS)?..]))
}

/// Returns true if a process is a PostgreSQL of this user, by what everybody may read.
fn may_be_postgres(process: u32, uid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = |name| status.lines().find_map(|it| it.strip_prefix(name)).unwrap_or_default();
    let program = line("Name:");
    let is_postgres = ["postgres", "postmaster"].iter().any(|it| program.contains(it));
    is_postgres && line("Uid:").split_whitespace().any(|user| user.parse() == Ok(uid))
}

/// The numbers in a segment of this user: a living server may have one that none of its processes
/// has mapped just now, and has its handle among them.
fn list(segment: &Path, uid: u32) -> io::Result<BTreeSet<u32>> {
    let found = fs::symlink_metadata(segment);
    if found.is_ok_and(|it| it.uid() != uid || it.len() > LONGEST_LIST) {
        return Ok(BTreeSet::new());
    }
    let mut bytes = Vec::new();
    match File::open(segment) {
        Ok(file) => file.take(LONGEST_LIST).read_to_end(&mut bytes)?,
        // Its server has just removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let words = bytes.as_chunks().0.iter();
    Ok(words.map(|word| u32::from_ne_bytes(*word)).collect())
}

/// The segments that a process has mapped.
pub fn mapped(process: u32) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    handles(&maps).map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use tempfile::TempDir;

    /// A segment with this content.
    struct Segment(PathBuf);

    impl Segment {
        fn make(handle: u32, content: u32) -> Self {
            let path = path(handle);
            fs::write(&path, [0_u32, content].map(u32::to_ne_bytes).as_flattened()).unwrap();
            Self(path)
        }

        fn is_there(&self) -> bool {
            self.0.exists()
        }
    }

    impl Drop for Segment {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    /// Starts a process that has a segment mapped, and waits until it has.
    fn map(segment: &Segment) -> Child {
        let script = "import mmap,sys\nfile=open(sys.argv[1],'r+b')\n\
                      mapped=mmap.mmap(file.fileno(),0)\ninput()";
        let mut python = Command::new("python3");
        python.args(["-c", script]).arg(&segment.0).stdin(Stdio::piped());
        let mut child = python.spawn().expect("it starts");
        while mapped(child.id()).is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "it has ended");
            std::thread::yield_now();
        }
        child
    }

    #[tokio::test]
    async fn what_nobody_living_has_and_is_no_older_than_the_folder_is_removed() {
        let number = |number: u32| (std::process::id() << 8) | number;
        let older = Segment::make(number(0), 0);
        // The kernel's clock for files has a tick.
        sleep(Duration::from_millis(20)).await;
        let server = TempDir::new().unwrap();
        let (left, listed) = (Segment::make(number(1), 0), Segment::make(number(2), 0));
        let control = Segment::make(number(3), number(2));
        let mut living = map(&control);
        remove_shared_memory(server.path()).await;
        assert!(left.is_there(), "the folder has its data");
        fs::create_dir(server.path().join(DRAFT)).unwrap();
        remove_shared_memory(server.path()).await;
        let stay = [&older, &listed, &control].map(Segment::is_there);
        assert_eq!((left.is_there(), stay), (false, [true; 3]));
        living.kill().unwrap();
        living.wait().unwrap();
        remove_shared_memory(server.path()).await;
        assert_eq!([&older, &listed, &control].map(Segment::is_there), [true, false, false]);
    }
}
