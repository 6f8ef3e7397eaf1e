//! Paths as people read them.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::nearest;

/// The path with every link followed: `store/latest` will be another run tomorrow.
pub fn real(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for part in path.components() {
        real.push(part);
        if let Ok(target) = std::fs::read_link(&real) {
            real.pop();
            real.push(target);
        }
    }
    real
}

/// Returns true for a FIFO with a name, which may never have somebody at its other end. A pipe that
/// a shell has made, as for `<(zcat history.gz)`, has one, and no name that leads to it.
pub fn is_named_fifo(path: &Path) -> bool {
    let is_fifo = std::fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo());
    is_fifo && path.canonicalize().is_ok()
}

/// An error line for a path that does not exist, with what is near it; else with other help.
pub fn missing(path: &Path, help: &str) -> String {
    if let Ok(target) = std::fs::read_link(path) {
        let (path, target) = (path.display(), target.display());
        return format!("`{path}` leads to `{target}`, which cannot be read; {help}");
    }
    let line = format!("there is no `{}`", path.display());
    let near = near(path);
    match near.is_empty() {
        true => format!("{line}; {help}"),
        false => format!("{line}; did you mean {}?", near.join(", ")),
    }
}

/// The names beside the first part of a path that does not exist.
fn near(path: &Path) -> Vec<String> {
    let mut missing = path;
    while let Some(parent) = missing.parent().filter(|parent| !exists(parent)) {
        missing = parent;
    }
    let parent = missing.parent().unwrap_or(Path::new(""));
    let (Some(name), Ok(entries)) = (missing.file_name(), std::fs::read_dir(folder(parent))) else {
        return Vec::new();
    };
    let names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = nearest::near(&name.to_string_lossy(), &known);
    near.iter().map(|name| format!("`{}`", parent.join(name).display())).collect()
}

fn exists(path: &Path) -> bool {
    folder(path).exists()
}

/// The parent of a bare name is the folder that we are in.
fn folder(path: &Path) -> &Path {
    if path == Path::new("") { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn links_are_followed() {
        let home = tempfile::TempDir::new().expect("a folder");
        let home = real(home.path());
        fs::create_dir_all(home.join("store/a+b/1")).expect("made");
        std::os::unix::fs::symlink("a+b/1", home.join("store/latest")).expect("linked");
        let file = home.join("store/latest/history.jsonl");
        assert_eq!(real(&file), home.join("store/a+b/1/history.jsonl"));
        assert_eq!(real(Path::new("nowhere/x")), Path::new("nowhere/x"));
    }

    #[test]
    fn what_is_near_is_named() {
        let home = tempfile::TempDir::new().expect("a folder");
        let path = |name: &str| home.path().join(name);
        fs::create_dir_all(path("store/latest")).expect("made");
        let says = |name: &str| missing(&path(name), "give a file");
        let near = format!("did you mean `{}`?", path("store/latest").display());
        assert!(says("store/latst").ends_with(&near), "{}", says("store/latst"));
        let near = format!("did you mean `{}`?", path("store").display());
        assert!(says("stroe/latest").ends_with(&near), "{}", says("stroe/latest"));
        assert!(says("qqq").ends_with("qqq`; give a file"), "{}", says("qqq"));
        std::os::unix::fs::symlink("gone", path("link")).expect("linked");
        let link = format!(
            "`{}` leads to `gone`, which cannot be read; give a file",
            path("link").display()
        );
        assert_eq!(says("link"), link);
    }
}
