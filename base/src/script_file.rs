//! A fault script as a file: what a run was asked for, before it is read for that run.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The ending of the names of fault scripts.
const ENDING: &str = ".toml";

/// The text of a fault script, and where it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFile {
    /// The path, as it was given.
    pub path: PathBuf,
    /// Everything that stands in it.
    pub text: String,
}

impl ScriptFile {
    /// The name under which runs of it are known in the place of a nemesis: that of its file.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{}{ENDING}", name.strip_suffix(ENDING).unwrap_or(&name))
    }

    /// Returns true if a name in the place of a nemesis is that of a script.
    pub fn is_name(name: &str) -> bool {
        name.len() > ENDING.len() && name.ends_with(ENDING) && !name.contains('/')
    }
}
