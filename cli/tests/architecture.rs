//! The arrows that ARCHITECTURE.md draws are the arrows that there are: which crate may depend on
//! which, and which module of the harness, and of the checkers, on which others. And the names of
//! types that it says are shared are those that are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads the table of ARCHITECTURE.md whose first column has this title.
fn drawn(title: &str) -> Arrows {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a document");
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("| {title} |")));
    assert!(lines.next().is_some(), "no table of `{title}`");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let on = cells[1].split(", ").filter(|on| *on != "none").map(String::from).collect();
        (cells[0].to_owned(), on)
    };
    rows.map(row).collect()
}

/// Reads the manifests of the workspace's crates, as cargo has them.
fn manifests() -> Vec<serde_json::Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// Reads which crates of the workspace each of them depends on from their manifests.
fn crates() -> Arrows {
    let own = |value: &serde_json::Value| match value["name"].as_str()? {
        "picklock" => Some("harness".to_owned()),
        "xtask" => Some("xtask".to_owned()),
        name => name.strip_prefix("picklock-").map(String::from),
    };
    let depends = |package: &serde_json::Value| {
        package["dependencies"].as_array().expect("dependencies").iter().filter_map(own).collect()
    };
    manifests().iter().map(|it| (own(it).expect("a crate of ours"), depends(it))).collect()
}

/// Reads the sources of a crate, beside their tests, with their paths in the crate.
fn sources(member: &str) -> Vec<(PathBuf, String)> {
    let src = root().join(member).join("src");
    let (mut folders, mut sources) = (vec![src.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("tests.rs") && path.extension().is_some_and(|it| it == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                let code =
                    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                sources.push((path.strip_prefix(&src).expect("inside").to_owned(), code));
            }
        }
    }
    sources
}

/// Returns the identifier at the beginning of a text.
fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// Returns the names that follow `crate::`: one, or those of a list in braces.
fn first_names(text: &str) -> Vec<&str> {
    match text.strip_prefix('{').and_then(|list| list.split_once('}')) {
        Some((list, _)) => {
            // Behind the last one there may be a comma.
            let names = list.split(',').map(str::trim).map(identifier);
            names.filter(|name| !name.is_empty()).collect()
        }
        None => vec![identifier(text)],
    }
}

/// Reads the names that a crate's root takes from its modules, each with its module.
fn reexported(member: &str) -> BTreeMap<String, String> {
    let root = root().join(member).join("src/lib.rs");
    let text = std::fs::read_to_string(root).expect("a source");
    let mut names = BTreeMap::new();
    for item in text.split("\npub use ").skip(1) {
        let item = item.split(';').next().unwrap_or_default();
        let Some((module, taken)) = item.split_once("::") else { continue };
        let taken = taken.trim_matches(['{', '}']).split(',').map(str::trim);
        names.extend(taken.map(|name| (name.to_owned(), module.to_owned())));
    }
    names
}

/// Reads which modules of a crate each of them names, beside its tests, from their sources.
fn modules(member: &str) -> Arrows {
    let mut arrows = Arrows::new();
    let reexported = reexported(member);
    for (path, code) in sources(member) {
        let module = path.iter().next().expect("a part").to_string_lossy();
        let module = module.trim_end_matches(".rs").to_owned();
        if ["lib", "main", "picture"].contains(&module.as_str()) {
            continue;
        }
        let code: String =
            code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let on = arrows.entry(module.clone()).or_default();
        let named = code.split("crate::").skip(1).flat_map(first_names);
        let named = named.map(|name| reexported.get(name).map_or(name, String::as_str));
        on.extend(named.filter(|name| *name != module).map(String::from));
    }
    arrows
}

/// Returns the name of the type that a line at the left margin declares.
fn declared(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let (keyword, rest) = line.split_once(' ')?;
    ["struct", "enum", "trait", "type", "union"].contains(&keyword).then(|| identifier(rest))
}

/// Reads the files that declare each type, from the sources.
fn types() -> Arrows {
    let mut types = Arrows::new();
    for member in crates().keys() {
        for (path, code) in sources(member) {
            let place = Path::new(member).join(path).display().to_string();
            for name in code.lines().filter_map(declared) {
                types.entry(name.to_owned()).or_default().insert(place.clone());
            }
        }
    }
    types
}

/// The most packages of the library with its default features. Most come with `redis`, which a lock
/// that it tests has, too; `Cargo.lock` takes the `idna_adapter` that is one package and not
/// twenty.
const MOST_PACKAGES: usize = 90;

#[test]
fn the_library_for_cargo_test_is_made_of_few_packages() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let library = ["tree", "--package", "picklock", "--offline"];
    let listed = ["--edges", "normal,build", "--prefix", "none", "--no-dedupe"];
    let mut cargo = Command::new(cargo);
    let output = cargo.args(library).args(listed).current_dir(root()).output().expect("it runs");
    let tree = String::from_utf8(output.stdout).expect("text");
    let names: BTreeSet<&str> =
        tree.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert!(names.contains("redis") && !names.contains("clap"), "{names:?}");
    let fix = "cargo update -p idna_adapter --precise 1.1.0";
    assert!(names.len() <= MOST_PACKAGES, "{}: {names:?}; fix: {fix}", names.len());
}

/// `test.sh` runs the targets that begin with `real_`, and beside them those that do not begin with
/// an `r`: it would pass over any other.
#[test]
fn test_sh_runs_every_test() {
    let targets = manifests();
    let targets = targets.iter().flat_map(|it| it["targets"].as_array().expect("targets"));
    let tests = targets.filter(|it| it["kind"][0] == "test").filter_map(|it| it["name"].as_str());
    let (real, other): (Vec<&str>, Vec<&str>) = tests.partition(|name| name.starts_with("real_"));
    assert!(real.len() > 5 && other.len() > 20, "{real:?}, {other:?}");
    for name in &other {
        assert!(!name.starts_with('r'), "test.sh would not run {name}: call it otherwise");
    }
    let read = |file: &str| std::fs::read_to_string(root().join(file)).expect("readable");
    let [script, ci, slow] =
        ["test.sh", ".github/workflows/ci.yml", ".github/workflows/slow.yml"].map(read);
    for name in real.into_iter().chain(other.into_iter().filter(|name| name.starts_with('o'))) {
        let is_in = |text: &&String| {
            text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|it| it == name)
        };
        assert!([&script, &ci, &slow].iter().any(is_in), "neither test.sh nor CI runs {name}");
    }
}

/// A tag can be moved to other code; a commit cannot.
#[test]
fn every_action_that_ci_takes_from_others_is_named_by_its_commit() {
    let root = root();
    let files = ["ci", "explore", "slow"].map(|name| format!(".github/workflows/{name}.yml"));
    let examples = ["gate", "own-lock"].map(|name| format!("docs/examples/{name}.yml"));
    let action = ".github/actions/gate/action.yml".to_owned();
    for file in files.iter().chain(&examples).chain([&action]) {
        let text = std::fs::read_to_string(root.join(file)).expect("a workflow");
        let used = text.lines().filter_map(|line| line.split_once("uses: "));
        for (_, action) in used.filter(|(_, action)| !action.starts_with("./")) {
            let commit = action.split(['@', ' ']).nth(1).expect("a version");
            let is_commit = commit.len() == 40 && commit.chars().all(|it| it.is_ascii_hexdigit());
            assert!(is_commit, "{file}: {action}");
        }
    }
}

#[test]
fn one_name_of_a_type_means_one_thing() {
    let (shared, types) = (drawn("shared name"), types());
    for (name, places) in types.iter().filter(|(_, places)| places.len() > 1) {
        assert!(shared.contains_key(name), "{name} is declared in {places:?}");
    }
    for name in shared.keys() {
        let places = types.get(name).map_or(0, BTreeSet::len);
        assert!(places > 1, "{name} is shared no longer: take it out of the table");
    }
}

#[test]
fn absent_arrows_between_crates_stay_absent() {
    assert_eq!(crates(), drawn("crate"));
}

#[test]
fn absent_arrows_between_modules_stay_absent_and_none_leads_back() {
    for (member, table) in [("harness", "module"), ("checkers", "checkers' module")] {
        let mut left = modules(member);
        assert_eq!(left, drawn(table));
        while let Some(leaf) = left.iter().find(|(_, on)| on.is_empty()).map(|(it, _)| it.clone()) {
            left.remove(&leaf);
            left.values_mut().for_each(|on| _ = on.remove(&leaf));
        }
        assert!(left.is_empty(), "a circle in {member}: {left:?}");
    }
}

/// The beginnings of the lines that show something to the user of a lab.
const SHOWN: [&str; 8] = [
    "pub fn ",
    "pub const fn ",
    "pub async fn ",
    "pub struct ",
    "pub enum ",
    "pub use base::",
    "pub use nemesis::",
    "pub use stores::",
];

/// Returns what a source shows without an example in the comment above it.
fn without_example(code: &str) -> Vec<&str> {
    let (mut has_example, mut missing) = (false, Vec::new());
    for line in code.lines().map(str::trim_start).filter(|line| !line.starts_with("#[")) {
        if SHOWN.iter().any(|it| line.starts_with(it)) && !has_example {
            missing.push(line);
        }
        has_example = line.starts_with("///") && (has_example || line.starts_with("/// ```"));
    }
    missing
}

#[test]
fn whatever_a_lab_shows_has_an_example() {
    let without = "/// A.\npub struct A;\n/// ```\n/// ```\n#[derive(Clone)]\npub struct B;";
    assert_eq!(without_example(without), ["pub struct A;"]);
    let of_lab = ["mod", "error", "outcome", "real", "site", "terms"].map(|it| format!("lab/{it}"));
    for file in of_lab.into_iter().chain(["foreign/promises".into()]) {
        let path = root().join(format!("harness/src/{file}.rs"));
        let code = std::fs::read_to_string(path).expect("a source");
        assert_eq!(without_example(&code), Vec::<&str>::new(), "no example, in {file}.rs");
    }
}
