//! `cargo xtask bench`: measures picklock itself, built as it is shipped but for the profile.

use crate::shell::{Result, cargo};

/// Measures a subject.
pub fn run(subject: &str, args: &[&str]) -> Result<()> {
    let subject = match subject {
        "check" => &["bench", "--package", "picklock-cli", "--bench", "check", "--"][..],
        "sim" => &["run", "--release", "--", "bench", "sim"],
        "real" => &["run", "--release", "--", "bench", "real"],
        _ => return Err(format!("no benchmark is called `{subject}`: check, sim or real")),
    };
    cargo(subject).args(args).run()
}
