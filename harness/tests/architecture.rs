//! The arrows that are absent stay absent: which crate may depend on which.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What each crate may depend on, of the workspace's own. Absent on purpose: workloads and nemesis
/// know nothing of each other, nor of the checkers; the simulator knows no lock; nothing depends on
/// the harness.
const ARROWS: &[(&str, &[&str])] = &[
    ("picklock-base", &[]),
    ("picklock-stores", &["picklock-base"]),
    ("picklock-workloads", &["picklock-base", "picklock-stores"]),
    ("picklock-nemesis", &["picklock-base"]),
    ("picklock-checkers", &["picklock-base"]),
    ("picklock-reports", &["picklock-base", "picklock-checkers"]),
    ("picklock-sim", &["picklock-base", "picklock-stores"]),
    ("picklock-docker", &["picklock-base", "picklock-stores"]),
    (
        "picklock",
        &[
            "picklock-base",
            "picklock-stores",
            "picklock-workloads",
            "picklock-nemesis",
            "picklock-checkers",
            "picklock-reports",
            "picklock-sim",
            "picklock-docker",
        ],
    ),
];

/// The workspace's crates and which of the others each depends on, from the manifests.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &serde_json::Value| value["name"].as_str().expect("a name").to_owned();
    let own: BTreeSet<String> = packages.iter().map(name).collect();
    let depends = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        dependencies.iter().map(name).filter(|dependency| own.contains(dependency)).collect()
    };
    packages.iter().map(|package| (name(package), depends(package))).collect()
}

#[test]
fn absent_arrows_stay_absent() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for (package, dependencies) in arrows() {
        let may = allowed.get(package.as_str());
        let may = may.unwrap_or_else(|| panic!("{package} is not in the list of arrows"));
        for dependency in dependencies {
            assert!(may.contains(&dependency.as_str()), "{package} must not know {dependency}");
        }
    }
}
