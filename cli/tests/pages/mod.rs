//! The pages of the documentation that are made from the registries, the suite and the
//! counterexamples.

pub mod catalogue;
pub mod counterexamples;
pub mod hazards;
pub mod html;
pub mod libraries;
pub mod survey;
pub mod table;

use std::collections::BTreeMap;
use std::path::Path;

/// Files by their path from the root of the repository.
pub type Pages = BTreeMap<String, String>;

/// A text as code in Markdown.
pub fn code(text: &str) -> String {
    format!("`{text}`")
}

/// The work to do on the pages, as `PICKLOCK_PAGES` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageWork {
    /// They are held against what they should be.
    Hold,
    /// `write`: they are written, from the survey that there is.
    Write,
    /// `survey`: the survey is made again as well, which takes minutes.
    Survey,
}

/// Reads what is to be done.
///
/// # Panics
/// Panics when the variable says something else.
pub fn work() -> PageWork {
    match std::env::var("PICKLOCK_PAGES").as_deref() {
        Err(_) => PageWork::Hold,
        Ok("write") => PageWork::Write,
        Ok("survey") => PageWork::Survey,
        Ok(other) => panic!("PICKLOCK_PAGES is `write` or `survey`, and not `{other}`"),
    }
}

/// Holds a file against what it should be, or writes it.
///
/// # Panics
/// Panics when the file is stale.
pub fn hold(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    if work() != PageWork::Hold {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder is made");
        std::fs::write(&file, text).expect("written");
        return;
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(there == text, "{path} is stale: cargo xtask pages");
}
