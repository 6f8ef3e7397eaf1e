//! The packages of the workspace that differ from the main branch.

use crate::shell::{Result, program, read};

/// A member of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkspaceMember {
    /// Its folder.
    pub folder: String,
    /// Its package.
    pub package: String,
}

/// Files of the root that make a difference to every package.
const FOR_ALL: [&str; 3] = ["Cargo.toml", "Cargo.lock", "clippy.toml"];

/// Returns the packages with a file that the main branch does not have in this form, committed or
/// not.
pub fn packages() -> Result<Vec<String>> {
    let base = base()?;
    let tracked = program("git", &["diff", "--name-only", &base]).read()?;
    let new = program("git", &["ls-files", "--others", "--exclude-standard"]).read()?;
    let files: Vec<&str> = tracked.lines().chain(new.lines()).collect();
    Ok(packages_of(&files, &members()?))
}

/// Returns the commit at which this branch left the main one; without a main branch, the last
/// commit.
fn base() -> Result<String> {
    let left = |main| program("git", &["merge-base", "HEAD", main]).read();
    left("main").or_else(|_| left("origin/main")).or_else(|_| Ok("HEAD".into()))
}

fn members() -> Result<Vec<WorkspaceMember>> {
    let member = |folder: &str| {
        let manifest = read(&format!("{folder}/Cargo.toml"))?;
        let package = name(&manifest).ok_or_else(|| format!("{folder} has no name"))?;
        Ok(WorkspaceMember { folder: folder.to_owned(), package: package.to_owned() })
    };
    folders(&read("Cargo.toml")?).into_iter().map(member).collect()
}

/// Returns what stands behind the `=` of the first line with this key.
fn value<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('='));
    line.map(str::trim)
}

fn folders(manifest: &str) -> Vec<&str> {
    value(manifest, "members").unwrap_or_default().split('"').skip(1).step_by(2).collect()
}

fn name(manifest: &str) -> Option<&str> {
    Some(value(manifest, "name")?.trim_matches('"'))
}

fn packages_of(files: &[&str], members: &[WorkspaceMember]) -> Vec<String> {
    let all = files.iter().any(|file| FOR_ALL.contains(file));
    let has_one = |member: &&WorkspaceMember| {
        let folder = format!("{}/", member.folder);
        all || files.iter().any(|file| file.starts_with(&folder))
    };
    let changed = members.iter().filter(has_one).map(|member| member.package.clone());
    let mut changed: Vec<String> = changed.collect();
    // The library has its command line only beside the binary.
    if changed.iter().any(|it| it == "picklock") && !changed.iter().any(|it| it == "picklock-cli") {
        changed.push("picklock-cli".into());
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<WorkspaceMember> {
        [("base", "picklock-base"), ("harness", "picklock"), ("cli", "picklock-cli")]
            .map(|(folder, package)| WorkspaceMember {
                folder: folder.into(),
                package: package.into(),
            })
            .into()
    }

    #[test]
    fn a_file_belongs_to_the_package_of_its_folder() {
        assert_eq!(packages_of(&["base/src/a.rs"], &members()), ["picklock-base"]);
        assert_eq!(packages_of(&["harness/src/a.rs"], &members()), ["picklock", "picklock-cli"]);
        assert!(packages_of(&["README.md", "basement/a.rs"], &members()).is_empty());
    }

    #[test]
    fn a_dependency_or_a_lint_belongs_to_all() {
        assert_eq!(packages_of(&["Cargo.lock"], &members()).len(), 3);
        assert_eq!(packages_of(&["clippy.toml"], &members()).len(), 3);
        assert!(packages_of(&["fuzz/Cargo.lock"], &members()).is_empty());
    }

    #[test]
    fn manifests_are_read() {
        let workspace = "[workspace]\nmembers = [\"base\", \"sim\"]\ndefault-members = [\"sim\"]\n";
        assert_eq!(folders(workspace), ["base", "sim"]);
        assert_eq!(name("[package]\nname = \"picklock-base\"\n"), Some("picklock-base"));
        assert_eq!(name("[package]\n"), None);
    }
}
