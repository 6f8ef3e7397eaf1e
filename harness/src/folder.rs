//! The run folder: `store/<algo>+<nemesis>/<time>/` with everything about one run, so that it can
//! be judged and drawn again at any time.

use crate::input;
use anyhow::{Context, Result, bail};
use base::{History, Parsed, Run, RunInfo};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A run folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The store that it stands in.
    store: PathBuf,
}

impl Folder {
    /// Makes a new one below `store`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(store: &Path, info: &RunInfo) -> Result<Self> {
        let time = humantime::format_rfc3339_millis(now()).to_string();
        let stamp = time.replace([':', '-'], "");
        let kind = format!("{}+{}", info.algo, info.nemesis);
        let help = || {
            format!(
                "cannot write the store folder `{}`; name another with --store",
                store.display()
            )
        };
        let parent = store.join(&kind);
        fs::create_dir_all(&parent).with_context(help)?;
        let name = unused(&parent, &stamp).with_context(help)?;
        let folder = Self { path: parent.join(&name), store: store.to_owned() };
        folder.write("run.json", &pretty(info)?)?;
        Ok(folder)
    }

    /// Points `store/latest` to it. A convenience: where links are not to be had, there is none.
    pub fn publish(&self) {
        let latest = self.store.join("latest");
        let part = self.store.join(format!(".latest-{}", std::process::id()));
        let Ok(target) = self.path.strip_prefix(&self.store) else { return };
        let linked = std::os::unix::fs::symlink(target, &part);
        if linked.is_ok() && fs::rename(&part, &latest).is_err() {
            let _ = fs::remove_file(&part);
        }
    }

    /// Removes it: the run never began, and there is nothing in it to judge.
    pub fn discard(self) {
        let _ = fs::remove_dir_all(&self.path);
        // The folder of its lock and nemesis goes with it, unless other runs stand there.
        let _ = self.path.parent().map(fs::remove_dir);
    }

    /// The folder of a stored run: the folder itself, or a file in it.
    pub fn find(path: &Path) -> Result<Self> {
        if !path.exists() {
            bail!("there is no `{}`; give a run folder, such as store/latest", path.display());
        }
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        if !folder.join("run.json").is_file() {
            bail!(
                "`{}` is no run folder: it has no run.json beside its history; any other history \
                 is judged with --model",
                folder.display()
            );
        }
        let store = folder.join("../..");
        Ok(Self { path: folder.to_owned(), store })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whole or not at all.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let target = self.file(name);
        let part = self.file(&format!("{name}.part"));
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&part)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&part, &target)
        };
        write().with_context(|| format!("cannot write `{}`", target.display()))
    }

    /// Writes a value as JSON.
    pub fn write_json(&self, name: &str, value: &impl serde::Serialize) -> Result<()> {
        self.write(name, &pretty(value)?)
    }

    /// Reads the run. Says as well whether its history was cut off.
    pub fn read(&self) -> Result<(Run, bool)> {
        let run_json = self.file("run.json");
        let text = fs::read_to_string(&run_json)
            .with_context(|| format!("cannot read `{}`", run_json.display()))?;
        let info: RunInfo = serde_json::from_str(&text)
            .with_context(|| format!("`{}` is no run.json of picklock", run_json.display()))?;
        if info.version != 1 {
            bail!("`{}` has version {}; this picklock reads 1", run_json.display(), info.version);
        }
        let path = self.file("history.jsonl");
        let (reader, bar) = input::open(&path)?;
        let read = History::read(reader);
        bar.finish_and_clear();
        let Parsed { history, cut_off } = read.with_context(|| format!("`{}`", path.display()))?;
        Ok((Run { info, history }, cut_off))
    }
}

#[expect(clippy::disallowed_methods, reason = "a run folder is named after the time of day")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// A new folder below `parent`; two runs of the same millisecond get different ones.
fn unused(parent: &Path, stamp: &str) -> std::io::Result<String> {
    for n in 1.. {
        let name = if n == 1 { stamp.to_owned() } else { format!("{stamp}-{n}") };
        match fs::create_dir(parent.join(&name)) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            outcome => return outcome.map(|()| name),
        }
    }
    unreachable!("there is always a next number")
}

fn pretty(value: &impl serde::Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
