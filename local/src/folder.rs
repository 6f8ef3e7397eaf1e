//! The folder of a run, below that of the system for temporary files. Its name says which process has
//! to remove it, so that there is no moment in which nobody knows whose it is.

use base::BackendError;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use testbed::{broken, owner};

const PREFIX: &str = "picklock_";

/// A folder of this process. It is removed, with all that is in it, when it is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it, for the eyes of this user only.
    pub fn make() -> Result<Self, BackendError> {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let owner = owner::label().replace(' ', "_");
        let name = format!("{PREFIX}{owner}_{}", FOLDERS.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|e| broken(format!("cannot make the folder `{}`", path.display()), e))?;
        Ok(Self(path))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is removed by the next start.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders whose owner has ended. Returns the number of them.
pub fn remove_abandoned() -> usize {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let abandoned = entries.filter(|entry| is_abandoned(&entry.file_name().to_string_lossy()));
    // Another one that cleans may be quicker, and a folder may be another user's.
    abandoned.filter(|entry| fs::remove_dir_all(entry.path()).is_ok()).count()
}

fn is_abandoned(name: &str) -> bool {
    let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('_'));
    owner.is_some_and(|(owner, _)| owner::is_gone(Some(&owner.replace('_', " "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_as_long_as_it_lives_and_nobody_else_s_is_touched() {
        let folder = Folder::make().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "text").unwrap();
        remove_abandoned();
        assert!(path.join("file").exists());
        drop(folder);
        assert!(!path.exists());
        assert!(!is_abandoned("picklock_of_somebody"));
        assert!(!is_abandoned("picklock"));
    }
}
