//! The folder of a run, below that of the system for temporary files. Its name says which process
//! has to remove it, so that there is no moment in which nobody knows whose it is. That process
//! holds a lock on it as long as it lives: so it is known of one in another container, too, if both
//! see the folder.

use super::{faked_clock, system_v};
use base::BackendError;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use testbed::broken;
use testbed::owner::{self, Certainty, Fate};

/// A folder of this process. It is removed, with all that is in it, when it is dropped.
pub struct Folder {
    path: PathBuf,
    _lock: Flock<File>,
}

/// The end of the name of a folder that its owner has yet to lock.
const DRAFT: &str = ".draft";

impl Folder {
    /// Makes it, for the eyes of this user only.
    pub fn make() -> Result<Self, BackendError> {
        let path = std::env::temp_dir().join(owner::own_name());
        let made = make(&path);
        let lock =
            made.map_err(|e| broken(format!("cannot make the folder `{}`", path.display()), e))?;
        Ok(Self { path, _lock: lock })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is removed by the next start.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Makes a folder and locks it. It has its name only then, so that it is never without a lock.
fn make(path: &Path) -> io::Result<Flock<File>> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(DRAFT);
    DirBuilder::new().mode(0o700).create(&draft)?;
    let lock = Flock::lock(File::open(&draft)?, FlockArg::LockExclusiveNonblock);
    let lock = lock.map_err(|(_, error)| error)?;
    fs::rename(&draft, path)?;
    Ok(lock)
}

/// Returns true if the owner of a folder lives, wherever that is: it holds the lock.
fn is_locked(path: &Path) -> bool {
    let lock = |folder| Flock::lock(folder, FlockArg::LockExclusiveNonblock);
    matches!(File::open(path).map(lock), Ok(Err((_, Errno::EWOULDBLOCK))))
}

/// The folders that were removed, and those that were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanedFolders {
    /// The number of those that were removed.
    pub removed: usize,
    /// The reason why one was not that is ours, for each.
    pub failures: Vec<String>,
    /// A line about each that is another user's to remove.
    pub others: Vec<String>,
}

/// The folders of the servers of runs whose owner has ended, with this certainty, as far as they are
/// this user's to remove.
pub fn abandoned_servers(certainty: Certainty) -> impl Iterator<Item = PathBuf> {
    abandoned(certainty).filter(|folder| owner::is_ours(folder)).flat_map(|folder| inside(&folder))
}

/// The folders whose owner has ended, with this certainty.
fn abandoned(certainty: Certainty) -> impl Iterator<Item = PathBuf> {
    inside(&std::env::temp_dir()).filter(move |folder| is_abandoned(folder, certainty))
}

/// The paths of what is in a folder.
fn inside(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Removes the folders whose owner has ended, with this certainty.
pub fn remove_abandoned(certainty: Certainty) -> CleanedFolders {
    let mut cleaned = CleanedFolders::default();
    for path in abandoned(certainty) {
        cleaned.take(&path, owner::is_ours(&path));
    }
    cleaned
}

impl CleanedFolders {
    /// Removes a folder of a run that has ended, if that is for us to do.
    fn take(&mut self, path: &Path, is_ours: bool) {
        match (is_ours, fs::symlink_metadata(path)) {
            (true, _) => match remove(path) {
                Ok(()) => self.removed += 1,
                // Another one that cleans may be quicker.
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => {
                    self.failures.push(format!("cannot remove `{}`: {why}", path.display()))
                }
            },
            (false, Ok(about)) if about.is_dir() => self.others.push(format!(
                "`{}` was left by a run of the user {}, who alone may remove it: run `picklock \
                 clean` as that user",
                path.display(),
                about.uid()
            )),
            (false, _) => {}
        }
    }
}

/// Returns true if the owner that the name of a folder names has ended, with this certainty.
fn is_abandoned(folder: &Path, certainty: Certainty) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_over = |fate| match fate {
        Fate::Unseen if !name.ends_with(DRAFT) => true,
        fate => certainty.allows(fate),
    };
    owner::fate_of_name(&name).is_some_and(is_over) && !is_locked(folder)
}

/// Removes the folder of a run, and what its servers have left elsewhere.
fn remove(folder: &Path) -> io::Result<()> {
    for server in fs::read_dir(folder)?.flatten() {
        faked_clock::remove_shared_memory(&server.path());
        // One that was killed while it made its first data has them elsewhere.
        for data in fs::read_dir(server.path()).into_iter().flatten().flatten() {
            system_v::remove_shared_memory(&data.path());
        }
    }
    fs::remove_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_another_user_to_remove_is_named_and_stays() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let mut cleaned = CleanedFolders::default();
        cleaned.take(folder.path(), false);
        let [line] = &cleaned.others[..] else { panic!("{cleaned:?}") };
        assert!(line.contains(&folder.path().display().to_string()), "{line}");
        assert!(folder.path().exists() && line.contains("run `picklock clean` as that user"));
        cleaned.take(folder.path(), true);
        assert!(!folder.path().exists() && cleaned.removed == 1, "{cleaned:?}");
    }

    #[test]
    fn a_folder_is_there_as_long_as_it_lives_and_nobody_else_s_is_touched() {
        let folder = Folder::make().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "text").unwrap();
        remove_abandoned(Certainty::NotSeen);
        assert!(path.join("file").exists());
        assert!(is_locked(&path));
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let elsewhere = PathBuf::from(path.to_string_lossy().replace(boot.trim(), "other"));
        fs::rename(&path, &elsewhere).unwrap();
        assert!(!is_abandoned(&elsewhere, Certainty::NotSeen), "it lives on another machine");
        fs::rename(&elsewhere, &path).unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
