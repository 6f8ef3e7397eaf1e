//! The example of docs/rust-lock.md, as a crate of somebody else: in a folder of its own, with
//! picklock as a dependency.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &copied),
            false => drop(fs::copy(&path, &copied).expect("copied")),
        }
    }
}

#[test]
fn the_example_is_tested_outside_of_the_workspace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = TempDir::new().expect("a folder");
    let example = root.join("examples/own-lock");
    for part in ["src", "tests"] {
        copy(&example.join(part), &folder.path().join(part));
    }
    let manifest = fs::read_to_string(example.join("Cargo.toml")).expect("a manifest");
    let harness = fs::canonicalize(root.join("harness")).expect("a folder");
    let manifest = manifest.replace("../../harness", &harness.display().to_string());
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("written");
    // The versions of the workspace, which are there already.
    fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("copied");
    // Built once, and next to everything else.
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("own-crate");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--offline"]).current_dir(folder.path()).env("CARGO_TARGET_DIR", target);
    let output = cargo.output().expect("it runs");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("6 passed") && printed.contains("4 passed"), "{printed}");
    let kept = folder.path().join("picklock-regressions");
    assert_eq!(fs::read_dir(kept).expect("kept").count(), 7, "a folder for each lock that broke");
}
