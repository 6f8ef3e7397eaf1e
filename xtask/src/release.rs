//! `cargo xtask release X.Y.Z`: the version of the workspace, its section of `CHANGELOG.md`, a
//! commit and a tag.

use crate::shell::{Result, cargo, program, read, write};

const MANIFEST: &str = "Cargo.toml";
const CHANGELOG: &str = "CHANGELOG.md";
const UNRELEASED: &str = "## Unreleased\n";

/// Releases a version, or only says what it would do.
pub fn run(version: &str, dry: bool) -> Result<()> {
    let tag = format!("v{version}");
    if !program("git", &["status", "--porcelain"]).read()?.is_empty() {
        return Err("there are changes that are not committed".into());
    }
    if !program("git", &["tag", "--list", &tag]).read()?.is_empty() {
        return Err(format!("the tag {tag} is there already"));
    }
    let today = program("date", &["-u", "+%F"]).read()?;
    let manifest = with_version(&read(MANIFEST)?, version)?;
    let changelog = with_section(&read(CHANGELOG)?, version, &today)?;
    if dry {
        println!("would set the version {version}, commit and tag {tag}, with this section:\n");
        println!("{}", section(&changelog, version));
        return Ok(());
    }
    write(MANIFEST, &manifest)?;
    write(CHANGELOG, &changelog)?;
    for workspace in [MANIFEST, "fuzz/Cargo.toml"] {
        cargo(&["update", "--workspace", "--offline", "--manifest-path", workspace]).run()?;
    }
    program("git", &["commit", "--all", "--message", &format!("Release {version}")]).run()?;
    program("git", &["tag", "--annotate", &tag, "--message", &format!("picklock {version}")]).run()
}

/// Returns the three numbers of a version.
fn numbers(version: &str) -> Result<[u64; 3]> {
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    let three = numbers.and_then(|numbers| numbers.try_into().ok());
    three.ok_or_else(|| format!("`{version}` is no version such as 1.2.3"))
}

/// Returns the workspace's manifest with a new version, which must be higher than the last one, or
/// the same if that one was never released.
fn with_version(manifest: &str, version: &str) -> Result<String> {
    let key = "[workspace.package]\nversion = \"";
    let (before, rest) = manifest.split_once(key).ok_or("the workspace has no version")?;
    let (last, after) = rest.split_once('"').ok_or("the version has no end")?;
    if numbers(version)? < numbers(last)? {
        return Err(format!("{version} is lower than {last}"));
    }
    // The packages of the workspace ask for each other in the same version.
    let own = |version: &str| format!("version = \"{version}\", path = ");
    let after = after.replace(&own(last), &own(version));
    Ok(format!("{before}{key}{version}\"{after}"))
}

/// Returns the changelog with what is unreleased as the section of a version, and a new empty
/// section above it.
fn with_section(changelog: &str, version: &str, date: &str) -> Result<String> {
    let (before, rest) = changelog.split_once(UNRELEASED).ok_or("no section is unreleased")?;
    let entries = rest.split("\n## ").next().unwrap_or_default();
    if !entries.contains("\n* ") {
        return Err("nothing is unreleased".into());
    }
    Ok(format!("{before}{UNRELEASED}\n## {version} ({date})\n{rest}"))
}

/// Returns the section of a version.
fn section<'a>(changelog: &'a str, version: &str) -> &'a str {
    let begin = changelog.find(&format!("## {version} ")).unwrap_or(0);
    let rest = &changelog[begin..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: &str =
        "# Changelog\n\n## Unreleased\n\n* New.\n\n## 0.1.0 (2026-01-02)\n\n* Old.\n";

    #[test]
    fn what_is_unreleased_becomes_a_section_below_an_empty_one() {
        let released = with_section(CHANGES, "0.2.0", "2026-03-04").expect("released");
        assert_eq!(
            released,
            "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-03-04)\n\n* New.\n\n\
             ## 0.1.0 (2026-01-02)\n\n* Old.\n"
        );
        assert_eq!(section(&released, "0.2.0"), "## 0.2.0 (2026-03-04)\n\n* New.\n");
        assert_eq!(section(&released, "0.1.0"), "## 0.1.0 (2026-01-02)\n\n* Old.\n");
        let again = with_section(&released, "0.3.0", "2026-03-05");
        assert_eq!(again, Err("nothing is unreleased".into()));
        assert!(with_section("# Changelog\n", "0.2.0", "2026-03-04").is_err());
    }

    #[test]
    fn only_the_version_of_the_workspace_and_its_packages_is_set_and_it_grows() {
        let manifest = |version: &str| {
            format!(
                "[workspace.package]\nversion = \"{version}\"\n\n[d]\na = {{ version = \"1.0\" }}\n\
                 b = {{ version = \"{version}\", path = \"b\" }}\n"
            )
        };
        let set = |last: &str, version: &str| with_version(&manifest(last), version);
        assert_eq!(set("0.1.0", "0.2.0"), Ok(manifest("0.2.0")));
        assert_eq!(set("0.9.0", "0.10.0"), Ok(manifest("0.10.0")));
        assert_eq!(set("0.1.0", "0.1.0"), Ok(manifest("0.1.0")), "never released");
        assert_eq!(set("0.2.0", "0.1.9"), Err("0.1.9 is lower than 0.2.0".into()));
        for wrong in ["0.2", "0.2.0.1", "v0.2.0", "0.2.x", ""] {
            assert_eq!(set("0.1.0", wrong), Err(format!("`{wrong}` is no version such as 1.2.3")));
        }
    }
}
