//! The wall clock of a server's process in its container, which libfaketime tells it: as a file
//! there says.

use std::sync::{Mutex, PoisonError};
use stores::SettableClock;
use testbed::wall_clock::{ServerWallClock, environment};
use tokio::sync;

/// The folder of the file, in every container.
pub const FOLDER: &str = "/var/lib/picklock/clock";
/// The name of the file there.
pub const NAME: &str = "time";
/// The variable by which `node.sh` hears which libraries the server is to load before its own.
const LIBRARIES: &str = "PICKLOCK_PRELOAD";

/// The wall clock of one server, at each of its starts.
#[derive(Default)]
pub struct ContainerClock {
    clock: Mutex<ServerWallClock>,
    telling: sync::Mutex<()>,
}

impl ContainerClock {
    /// The clock as it is.
    pub fn clock(&self) -> ServerWallClock {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it once `tell` has notified the process, one change after the other.
    pub async fn change<E>(
        &self,
        act: impl FnOnce(&mut ServerWallClock) + Send,
        tell: impl AsyncFnOnce(String) -> Result<(), E>,
    ) -> Result<(), E> {
        let _order = self.telling.lock().await;
        let mut changed = self.clock();
        act(&mut changed);
        tell(changed.faketime_text()).await?;
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = changed;
        Ok(())
    }
}

/// The path of the file.
pub fn file() -> String {
    format!("{FOLDER}/{NAME}")
}

/// The environment of a container whose server goes by such a clock.
pub fn variables(clock: &SettableClock) -> Vec<(&'static str, String)> {
    let libraries = clock.libraries.iter().map(|it| it.what).collect::<Vec<_>>().join(" ");
    [(LIBRARIES, libraries)].into_iter().chain(environment(&file())).collect()
}

/// The command that replaces the file by one with this text: the process may read it at any moment,
/// so it is there as a whole or not at all.
pub fn replace(text: &str) -> String {
    let (file, text) = (file(), text.trim_end());
    format!("echo '{text}' >{file}.draft && mv {file}.draft {file}")
}

/// An archive with the file, for a container in which nothing runs.
pub fn archive(text: &str) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, NAME, text.as_bytes())?;
    archive.into_inner()
}
