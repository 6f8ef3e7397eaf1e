//! `cargo xtask dist`: the fastest picklock, `target/dist/picklock`. Everything is optimised
//! together, and laid out by a profile of the simulator and the checkers at work. On two cores that
//! takes some ten minutes, or five with `--no-default-features`, for a picklock
//! without real servers. On Debian, as root, it installs what it needs; otherwise it says what is
//! missing.

use std::env;
use std::fs;
use std::path::PathBuf;

use crate::shell::{Result, cargo, program};

/// Builds it, with these options for cargo.
pub fn run(options: &[&str]) -> Result<()> {
    let profdata = profdata()?;
    let target = target()?;
    let work = target.join("profile").display().to_string();
    build(&format!("-Cprofile-generate={work}/raw"), &["--target-dir", &work], options)?;
    train(&work)?;
    let merge = ["merge", "--output", &format!("{work}/profile"), &format!("{work}/raw")];
    program(&profdata, &merge).run()?;
    build(&format!("-Cprofile-use={work}/profile"), &[], options)?;
    println!("built {}", target.join("dist/picklock").display());
    Ok(())
}

fn target() -> Result<PathBuf> {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => Ok(folder.into()),
        None => Ok(env::current_dir().map_err(|error| error.to_string())?.join("target")),
    }
}

fn build(flags: &str, place: &[&str], options: &[&str]) -> Result<()> {
    let build = cargo(&["build", "--profile", "dist"]).args(place).args(options);
    build.env("RUSTFLAGS", flags).run()
}

/// Runs what runs often: the simulator, searches, the checkers and the search of the models.
fn train(work: &str) -> Result<()> {
    // Build scripts have left profiles, too.
    for folder in ["raw", "store"] {
        let folder = format!("{work}/{folder}");
        fs::remove_dir_all(&folder).or_else(absent).map_err(|e| format!("{folder}: {e}"))?;
    }
    let store = format!("{work}/store");
    let run = format!("{store}/latest");
    let test = ["test", "--backend", "sim", "--store", &store, "--algo"];
    let explore = ["explore", "--seeds", "100", "--algo"];
    let commands: [(&[&str], &[&str]); 8] = [
        (&["bench", "sim", "--time", "300ms", "--rounds", "2"], &[]),
        (&explore, &["redis-set-nx-px", "--nemesis", "pause"]),
        (&explore, &["zk-rw", "--nemesis", "partition"]),
        (&test, &["zk-sequential", "--nemesis", "crash"]),
        (&test, &["redis-set-nx-px", "--time-limit", "6h"]),
        (&["check", &run], &[]),
        (&["check", &run, "--model", "mutex"], &[]),
        (&["check", &run, "--model", "register"], &[]),
    ];
    for (command, more) in commands {
        // Whatever the verdict, it was at work.
        program(&format!("{work}/dist/picklock"), command).args(more).quiet().run_up_to(2)?;
    }
    Ok(())
}

fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Finds the program that reads profiles, which has to be as new as the compiler that writes them.
fn profdata() -> Result<String> {
    let rustc = program("rustc", &["-vV"]).read()?;
    let llvm = field(&rustc, "LLVM version: ").split('.').next().unwrap_or_default();
    let own = format!(
        "{}/lib/rustlib/{}/bin/llvm-profdata",
        program("rustc", &["--print", "sysroot"]).read()?,
        field(&rustc, "host: ")
    );
    let names = [own, format!("llvm-profdata-{llvm}")];
    let find = || names.iter().find(|name| program(name, &["--version"]).read().is_ok()).cloned();
    let package = format!("llvm-{llvm}");
    find().or_else(|| install(&package).ok().and_then(|()| find())).ok_or_else(|| {
        format!(
            "no llvm-profdata for LLVM {llvm}; fix: rustup component add llvm-tools, or install the \
             package {package}"
        )
    })
}

/// Returns the value of a line of `rustc -vV`.
fn field<'a>(output: &'a str, name: &str) -> &'a str {
    output.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default()
}

/// Installs a package, as root on Debian.
fn install(package: &str) -> Result<()> {
    if program("id", &["-u"]).read()? != "0" {
        return Err("only root installs packages".into());
    }
    program("apt-get", &["update", "-qq"]).run()?;
    program("apt-get", &["install", "-y", "-qq", "--no-install-recommends", package])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_names_its_host_and_its_llvm() {
        let output = "rustc 1.88.0\nhost: x86_64-unknown-linux-gnu\nLLVM version: 20.1.5";
        assert_eq!(field(output, "host: "), "x86_64-unknown-linux-gnu");
        assert_eq!(field(output, "LLVM version: "), "20.1.5");
        assert_eq!(field(output, "release: "), "");
    }
}
