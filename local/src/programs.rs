//! The programs that servers are started from: whether this machine has them.

use super::server_user::ServerUser;
use base::BackendError;
use std::env::{split_paths, var_os};
use std::fs::read_dir;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use stores::{Need, PROGRAM_FOLDERS, StoreId, Topology};
use testbed::Readiness;

/// Looks whether servers of a store could be started, and changes nothing.
pub fn ready(store: StoreId, topology: &Topology) -> Readiness {
    check(store, topology).map_or_else(|error| Readiness::not(&error), |()| Readiness::Ready)
}

/// Refuses to go on without the programs of a store, in one line that says what is missing and
/// which packages have it.
pub fn check(store: StoreId, topology: &Topology) -> Result<(), BackendError> {
    let needs = store
        .needs(topology)
        .map_err(|why| BackendError(format!("{why}; fix: --backend docker")))?;
    let missing: Vec<&Need> = needs.iter().filter(|need| !is_there(need.what)).collect();
    if !missing.is_empty() {
        return Err(BackendError(line(&missing)));
    }
    ServerUser::of(store).map(drop)
}

fn line(missing: &[&Need]) -> String {
    let what: Vec<&str> = missing.iter().map(|need| need.what).collect();
    let mut packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    packages.dedup();
    let are = if missing.len() == 1 { "is" } else { "are" };
    let plural = if packages.len() == 1 { "" } else { "s" };
    format!(
        "this machine has no {}, which {are} needed; fix: install the package{plural} {}",
        what.join(", no "),
        packages.join(" ")
    )
}

/// Returns true if there is such a file, or such a program on the PATH or where it is kept off it.
fn is_there(what: &str) -> bool {
    if what.contains('/') {
        return Path::new(what).is_file();
    }
    let path = var_os("PATH").unwrap_or_default();
    let off_path = PROGRAM_FOLDERS.iter().flat_map(|folder| versions(folder));
    split_paths(&path).chain(off_path).any(|folder| is_program(&folder.join(what)))
}

/// The folders of programs of all versions below a folder.
fn versions(folder: &str) -> impl Iterator<Item = PathBuf> {
    let versions = read_dir(folder).into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin"))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_its_package() {
        let no_server = Need { what: "no-such-server", package: "a" };
        let no_file = Need { what: "/no/such/file", package: "b" };
        assert!(!is_there(no_server.what) && !is_there(no_file.what));
        assert!(is_there("sh") && is_there("/proc/self/stat"));
        assert_eq!(
            line(&[&no_server]),
            "this machine has no no-such-server, which is needed; fix: install the package a"
        );
        let same_package = Need { package: "a", ..no_file };
        assert!(
            line(&[&no_server, &same_package]).ends_with("are needed; fix: install the package a")
        );
        assert_eq!(
            line(&[&no_server, &no_file]),
            "this machine has no no-such-server, no /no/such/file, which are needed; fix: install \
             the packages a b"
        );
    }
}
