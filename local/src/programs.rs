//! The programs that servers are started from: whether this machine has them.

use super::server_user::ServerUser;
use base::BackendError;
use std::collections::BTreeMap;
use std::env::{split_paths, var_os};
use std::fs::read_dir;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;
use stores::{Need, PROGRAM_FOLDERS, StoreId, Topology};
use testbed::Readiness;
use tokio::process::Command;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Looks whether servers of a store could be started, and changes nothing.
pub fn ready(store: StoreId, topology: &Topology) -> Readiness {
    check(store, topology).map_or_else(|error| Readiness::not(&error), |()| Readiness::Ready)
}

/// Looks whether servers of a store could be started, and starts each of their programs once to see
/// whether it does.
pub fn tried(store: StoreId, topology: &Topology) -> Readiness {
    let ready = ready(store, topology);
    let needs = store.needs(topology).unwrap_or_default();
    let broken = || needs.iter().find_map(|need| Some((need, obstacle(need.what)?)));
    match broken().filter(|_| ready == Readiness::Ready) {
        None => ready,
        Some((Need { what, package }, why)) => Readiness::NotReady {
            reason: format!("{what} does not start: {why}"),
            fix: format!("install the package {package} anew"),
        },
    }
}

/// The longest time that a program may take to tell its version.
const LIMIT: Duration = Duration::from_secs(10);

/// Returns the reason why a program does not start, which is looked for once; of a file that is no
/// program, there is none.
fn obstacle(what: &'static str) -> Option<String> {
    static FOUND: Mutex<BTreeMap<&str, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(|error| error.into_inner());
    let look = || programs(what).next().and_then(|program| why_not(&program));
    found.entry(what).or_insert_with(look).clone()
}

/// Asks a program for its version, in the words that one or the other knows. Returns the reason
/// why none of them is answered.
fn why_not(program: &Path) -> Option<String> {
    let ask = |word: &&str| {
        let mut asked = Command::new(program);
        asked.arg(word).stdin(Stdio::null()).kill_on_drop(true);
        async move { timeout(LIMIT, asked.output()).await }
    };
    let answered = |runtime: Runtime| {
        let mut why = None;
        for word in ["--version", "version"] {
            why = match runtime.block_on(ask(&word)) {
                Ok(Ok(output)) if output.status.success() => return None,
                Ok(Ok(output)) => {
                    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                    let error = stderr.lines().next().unwrap_or_default();
                    why.or_else(|| Some(format!("{}: {error}", output.status)))
                }
                Ok(Err(error)) => return Some(error.to_string()),
                Err(_) => return Some(format!("it has not told its version within {LIMIT:?}")),
            };
        }
        why
    };
    testbed::runtime().map_or_else(|error| Some(error.to_string()), answered)
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
    programs(what).next().is_some()
}

/// The programs of a name on the PATH and where they are kept off it.
fn programs(what: &str) -> impl Iterator<Item = PathBuf> {
    let path = var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = split_paths(&path).collect();
    let off_path = PROGRAM_FOLDERS.iter().flat_map(|folder| versions(folder));
    let all = on_path.into_iter().chain(off_path).map(move |folder| folder.join(what));
    all.filter(|program| is_program(program))
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
    fn a_program_that_does_not_start_is_distinguished_from_one_that_does() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let program = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("changed");
            path
        };
        let starts = program("starts", "#!/bin/sh\n[ $1 = version ]\n");
        assert_eq!(why_not(&starts), None);
        let fails = program("fails", "#!/bin/sh\necho no libssl >&2\nexit 127\n");
        assert_eq!(why_not(&fails), Some("exit status: 127: no libssl".into()));
        assert!(why_not(&program("no-program", "\0")).is_some());
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
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
