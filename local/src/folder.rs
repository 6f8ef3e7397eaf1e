//! The folder of a run, below that of the system for temporary files. Its name says which process has
//! to remove it, so that there is no moment in which nobody knows whose it is.

use super::server::LocalServer;
use super::{faked_clock, system_v};
use base::BackendError;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use testbed::{broken, owner};

/// A folder of this process. It is removed, with all that is in it, when it is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it, for the eyes of this user only.
    pub fn make() -> Result<Self, BackendError> {
        let path = std::env::temp_dir().join(owner::own_name());
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
    let abandoned =
        entries.filter(|entry| owner::is_abandoned(&entry.file_name().to_string_lossy()));
    // Another one that cleans may be quicker, and a folder may be another user's.
    abandoned.filter(|entry| remove(&entry.path()).is_ok()).count()
}

/// Removes the folder of a run, and what its servers have left elsewhere.
fn remove(folder: &Path) -> io::Result<()> {
    for server in fs::read_dir(folder)?.flatten() {
        faked_clock::remove_shared_memory(&server.path());
        system_v::remove_shared_memory(&LocalServer::data(&server.path()));
    }
    fs::remove_dir_all(folder)
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
    }
}
