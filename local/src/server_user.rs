//! The user that a server runs as where picklock is root and the server refuses to be.

use base::BackendError;
use nix::unistd::{Uid, User};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use stores::StoreId;
use testbed::broken;
use tokio::process::Command;

/// A user whose process a server becomes before its program starts. The kernel forgets with whom a
/// process is to die when that changes its user, so that is set afterwards.
#[derive(Clone, Debug)]
pub struct ServerUser {
    name: &'static str,
    uid: u32,
    gid: u32,
}

impl ServerUser {
    /// The user for servers of a store; `None` if they can be what picklock is.
    ///
    /// # Errors
    /// Fails when there has to be one, and this machine has none of those that would do.
    pub fn of(store: StoreId) -> Result<Option<Self>, BackendError> {
        if store.users().is_empty() || !Uid::effective().is_root() {
            return Ok(None);
        }
        Self::first(store.users()).map(Some).ok_or_else(|| {
            BackendError(format!(
                "{} refuses to be root, and this machine has no user {}; fix: run picklock as another \
                 user, or --backend docker",
                store.name(),
                store.users().join(" or ")
            ))
        })
    }

    fn first(names: &[&'static str]) -> Option<Self> {
        let known = |name: &&'static str| {
            let user = User::from_name(name).ok()??;
            Some(Self { name, uid: user.uid.as_raw(), gid: user.gid.as_raw() })
        };
        names.iter().find_map(known)
    }

    /// The name of the user.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Gives a file or folder to the user.
    pub fn give(&self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }

    /// Lets the user pass through the folder of a run, and nobody look into it. Checks that the
    /// user gets that far.
    ///
    /// # Errors
    /// Fails when a folder above lets nobody pass.
    pub fn admit(&self, folder: &Path) -> Result<(), BackendError> {
        let admitted = fs::set_permissions(folder, Permissions::from_mode(0o711));
        admitted.map_err(|e| broken(format!("cannot open `{}`", folder.display()), e))?;
        match folder.ancestors().find(|above| !self.passes(above)) {
            None => Ok(()),
            Some(above) => Err(BackendError(format!(
                "the user {} cannot get to `{}` through `{}`; fix: TMPDIR=/tmp",
                self.name,
                folder.display(),
                above.display()
            ))),
        }
    }

    fn passes(&self, folder: &Path) -> bool {
        let everybody = |it: fs::Metadata| it.mode() & 0o001 != 0 || it.uid() == self.uid;
        fs::metadata(folder).is_ok_and(everybody)
    }

    /// Makes a command run as the user.
    pub fn take(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_user_that_there_is_is_taken_and_who_needs_none_gets_none() {
        let user = ServerUser::first(&["no-such-user", "nobody"]);
        assert_eq!(user.map(|user| user.name()), Some("nobody"));
        assert!(ServerUser::first(&["no-such-user"]).is_none());
        assert!(ServerUser::of(StoreId::Redis).unwrap().is_none());
    }

    #[test]
    fn a_folder_that_nobody_else_may_pass_is_refused_with_a_fix() {
        let user = ServerUser { name: "nobody", uid: u32::MAX - 2, gid: u32::MAX - 2 };
        let above = std::env::temp_dir().join(format!("closed-{}", std::process::id()));
        let folder = above.join("open");
        fs::create_dir_all(&folder).unwrap();
        assert!(user.admit(&folder).is_ok());
        fs::set_permissions(&above, Permissions::from_mode(0o700)).unwrap();
        let BackendError(error) = user.admit(&folder).unwrap_err();
        fs::remove_dir_all(&above).unwrap();
        assert!(
            error.contains("the user nobody cannot get to") && error.contains("; fix: TMPDIR=")
        );
    }
}
